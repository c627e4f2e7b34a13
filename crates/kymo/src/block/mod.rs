//! `kymo block`: what is in a block, and what takes the room.

mod describe;
mod show;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::ValueEnum;
use kymo_journal::OsDisk;
use kymo_store::StoreError;
use kymo_store::block::read::Block;
use kymo_store::objects::LocalObjects;
use serde::Serialize;

use crate::cli::OutputFormat;
use crate::failure::Failure;
use crate::output;
use describe::Description;

const EXAMPLES: &str = "\
Examples:
  kymo block kymo-data/blocks/default/spans/2026-11-15/*.parquet
  kymo block --sort name x.parquet
  kymo block --format json x.parquet | jq '.columns[] | select(.kind == \"attribute\")'

A file that cannot be read is named with the reason, the others are shown, and the exit code is 1.";

/// Show what blocks hold: rows, columns, bytes per column and per row, indexes
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Parquet files that Kymograph wrote
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Order of the columns
    #[arg(long, value_enum, default_value_t)]
    sort: Sort,
    /// How the result is written; JSON is one object per line and file
    #[arg(long, value_enum, default_value_t)]
    format: OutputFormat,
}

/// Order of the columns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Sort {
    /// Largest first
    #[default]
    Bytes,
    /// By name
    Name,
}

/// A file that could not be described, for programs.
#[derive(Serialize)]
struct Unreadable<'a> {
    file: &'a Path,
    error: &'a str,
}

/// Shows every file; false if one could not be read.
pub(crate) fn run(args: &Args) -> Result<bool, Failure> {
    let mut all_read = true;
    let mut gap = "";
    for path in &args.files {
        match describe(path, args.sort) {
            Ok(description) if args.format == OutputFormat::Json => output::json(&description)?,
            Ok(description) => {
                output::text(&format!("{gap}{}", show::text(&description)))?;
                gap = "\n";
            }
            Err(why) => {
                all_read = false;
                output::error(&why);
                if args.format == OutputFormat::Json {
                    output::json(&Unreadable { file: path, error: &why })?;
                }
            }
        }
    }
    Ok(all_read)
}

/// Opens and describes a block; the error names the file.
fn describe(path: &Path, sort: Sort) -> Result<Description, String> {
    let shown = path.display();
    if path.is_dir() {
        return Err(format!("{shown} is a directory: name the .parquet files in it"));
    }
    let name = path.file_name().and_then(|name| name.to_str());
    let Some(name) = name else {
        return Err(format!("{shown} is not the name of a file"));
    };
    let parent = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // Not checked against the rules for objects: a person may have named the file.
    let files = LocalObjects::open_read_only(parent, Arc::new(OsDisk));
    Block::open(Arc::new(files), name, None)
        .and_then(|block| Description::of(path, name, &block, sort))
        .map_err(|error| reason(path, name, &error))
}

/// Why a block cannot be read, with its whole path where the store only knows its name.
fn reason(path: &Path, name: &str, error: &StoreError) -> String {
    let shown = path.display();
    match error {
        StoreError::Objects(error) if error.is_not_found() => format!("{shown} does not exist"),
        StoreError::Corrupt(why) => match why.strip_prefix(name) {
            Some(why) => format!("{shown}{why}"),
            None => format!("{shown}: {why}"),
        },
        error => format!("{shown}: {error}"),
    }
}
