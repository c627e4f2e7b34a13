//! `kymo store check`.

use kymo_store::check::{self, Finding, Report};
use kymo_store::objects::Objects;
use kymo_store::{deletion, settings};
use serde::Serialize;
use std::sync::Arc;

use super::journal::{self, JournalReport};
use super::place::Place;
use super::{CheckArgs, show};
use crate::cli::OutputFormat;
use crate::failure::Failure;
use crate::output;
use crate::progress::Progress;

/// Everything that was found.
#[derive(Debug, Serialize)]
pub(crate) struct Checked {
    pub(crate) place: String,
    /// Whether nothing is damaged, missing or unreadable.
    pub(crate) good: bool,
    pub(crate) blocks: Option<BlocksReport>,
    pub(crate) journal: Option<JournalReport>,
}

/// Blocks and commit logs.
#[derive(Debug, Serialize)]
pub(crate) struct BlocksReport {
    pub(crate) tenants: usize,
    pub(crate) blocks: usize,
    pub(crate) rows: u64,
    pub(crate) size_bytes: u64,
    pub(crate) archived_pieces: usize,
    pub(crate) settings: usize,
    pub(crate) deletions: usize,
    pub(crate) damaged: usize,
    pub(crate) missing: usize,
    pub(crate) unreadable: usize,
    pub(crate) orphans: usize,
    pub(crate) findings: Vec<FindingReport>,
}

/// Something that is not as it should be.
#[derive(Debug, Serialize)]
pub(crate) struct FindingReport {
    pub(crate) kind: &'static str,
    pub(crate) what: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) why: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) size_bytes: Option<u64>,
}

pub(crate) fn run(args: &CheckArgs) -> Result<bool, Failure> {
    let place = Place::find(&args.place)?;
    let progress = Progress::new(Some(0));
    let blocks = place.blocks.map(|objects| check_blocks(&objects, &progress)).transpose()?;
    let journal = place.journal.map(|dir| journal::check(&dir, &progress)).transpose()?;
    progress.finish();
    let serious = blocks.as_ref().map_or(0, |b| b.damaged + b.missing + b.unreadable);
    let good = serious == 0 && journal.as_ref().is_none_or(JournalReport::is_good);
    let checked = Checked { place: args.place.clone(), good, blocks, journal };
    match args.format {
        OutputFormat::Json => output::json(&checked)?,
        OutputFormat::Table => output::text(&show::text(&checked))?,
    }
    Ok(good)
}

fn check_blocks(objects: &Arc<dyn Objects>, progress: &Progress) -> Result<BlocksReport, Failure> {
    progress.doing("listing");
    let files = objects.list("")?;
    let is_read = |path: &str| {
        path.ends_with(".parquet")
            || path.contains("/archive/")
            || path.starts_with(settings::PREFIX)
            || path.starts_with(deletion::PREFIX)
    };
    let read = files.iter().filter(|file| is_read(&file.path));
    progress.expect(read.map(|file| file.size_bytes).sum());
    progress.doing("blocks");
    // A block is announced before it is read.
    let mut last_bytes = 0;
    let report = check::check(objects, |_, bytes| {
        progress.advance(std::mem::replace(&mut last_bytes, bytes));
    })?;
    progress.advance(last_bytes);
    Ok(blocks_report(report))
}

fn blocks_report(report: Report) -> BlocksReport {
    let findings: Vec<FindingReport> = report.findings.into_iter().map(finding).collect();
    let count = |kind| findings.iter().filter(|f| f.kind == kind).count();
    BlocksReport {
        tenants: report.tenants,
        blocks: report.blocks,
        rows: report.rows,
        size_bytes: report.bytes,
        archived_pieces: report.archived,
        settings: report.settings,
        deletions: report.deletions,
        damaged: count("damaged"),
        missing: count("missing"),
        unreadable: count("unreadable"),
        orphans: count("orphan"),
        findings,
    }
}

fn finding(finding: Finding) -> FindingReport {
    match finding {
        Finding::Damaged { path, why } => {
            FindingReport { kind: "damaged", what: path, why: Some(why), size_bytes: None }
        }
        Finding::Missing { path } => {
            FindingReport { kind: "missing", what: path, why: None, size_bytes: None }
        }
        Finding::Orphan { path, size_bytes } => {
            FindingReport { kind: "orphan", what: path, why: None, size_bytes: Some(size_bytes) }
        }
        Finding::Unreadable { what, why } => {
            FindingReport { kind: "unreadable", what, why: Some(why), size_bytes: None }
        }
    }
}
