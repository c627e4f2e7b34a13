//! Verifying a store: every block read whole, every log added up, every file
//! accounted for. Changes nothing.

use std::sync::Arc;

use crate::archive;
use crate::block::meta::{BlockMeta, decode_tenant, encode_tenant};
use crate::block::read::{Block, TailCheck};
use crate::commit::log::Log;
use crate::commit::node::{NodeObject, PREFIX};
use crate::deletion;
use crate::error::StoreError;
use crate::objects::{ObjectInfo, Objects};
use crate::schema::Signal;
use crate::settings;
use crate::snapshot::level_zero;

/// Something that is not as it should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Finding {
    /// A block, an archived trace or a setting cannot be read.
    Damaged {
        /// Its path.
        path: String,
        /// Why.
        why: String,
    },
    /// A file is named but not there.
    Missing {
        /// Its path.
        path: String,
    },
    /// A file is there but nothing names it. Harmless; it is deleted in time.
    Orphan {
        /// Its path.
        path: String,
        /// Its bytes.
        size_bytes: u64,
    },
    /// A log or node object cannot be read.
    Unreadable {
        /// What.
        what: String,
        /// Why.
        why: String,
    },
}

impl Finding {
    /// Whether data is lost or out of reach.
    pub fn is_serious(&self) -> bool {
        !matches!(self, Finding::Orphan { .. })
    }
}

/// What a check saw.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// Tenants.
    pub tenants: usize,
    /// Blocks read.
    pub blocks: usize,
    /// Rows in them.
    pub rows: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Pieces of archived traces read.
    pub archived: usize,
    /// Versions of tenants' settings read.
    pub settings: usize,
    /// Objects of deletions read.
    pub deletions: usize,
    /// What is not as it should be.
    pub findings: Vec<Finding>,
}

/// Checks everything below `objects`; `progress` is told each file's bytes.
pub fn check(
    objects: &Arc<dyn Objects>,
    mut progress: impl FnMut(&str, u64),
) -> Result<Report, StoreError> {
    let mut report = Report::default();
    let nodes = match NodeObject::all(&**objects) {
        Ok(nodes) => nodes,
        Err(error @ (StoreError::Corrupt(_) | StoreError::Newer { .. })) => {
            let why = error.to_string();
            report.findings.push(Finding::Unreadable { what: "node objects".into(), why });
            Vec::new()
        }
        Err(error) => return Err(error),
    };
    for name in objects.list_dirs("")? {
        if name == PREFIX {
            continue;
        }
        let Some(tenant) = decode_tenant(&name) else { continue };
        report.tenants += 1;
        for signal in Signal::ALL {
            check_log(objects, &nodes, &tenant, signal, &mut report, &mut progress)?;
        }
        let pieces = archive::pieces_of(&**objects, &tenant)?;
        let read = |info: &ObjectInfo| archive::check_piece(&**objects, info);
        report.archived += check_each(pieces, read, &mut report.findings, &mut progress)?;
    }
    let versions = settings::versions(&**objects)?;
    let read = |info: &ObjectInfo| settings::check_readable(&**objects, info);
    report.settings = check_each(versions, read, &mut report.findings, &mut progress)?;
    let deletions = deletion::objects_of(&**objects)?;
    let read = |info: &ObjectInfo| deletion::check_readable(&**objects, info);
    report.deletions = check_each(deletions, read, &mut report.findings, &mut progress)?;
    Ok(report)
}

/// Reads objects; returns how many are good. One that is gone meanwhile was deleted.
fn check_each(
    infos: impl Iterator<Item = ObjectInfo>,
    read: impl Fn(&ObjectInfo) -> Result<(), StoreError>,
    findings: &mut Vec<Finding>,
    progress: &mut impl FnMut(&str, u64),
) -> Result<usize, StoreError> {
    let mut good = 0;
    for info in infos {
        progress(&info.path, info.size_bytes);
        match read(&info) {
            Ok(()) => good += 1,
            Err(StoreError::Objects(error)) if error.is_not_found() => {}
            Err(
                error @ (StoreError::Corrupt(_) | StoreError::Wire(_) | StoreError::Newer { .. }),
            ) => findings.push(Finding::Damaged { path: info.path, why: error.to_string() }),
            Err(error) => return Err(error),
        }
    }
    Ok(good)
}

fn check_log(
    objects: &Arc<dyn Objects>,
    nodes: &[NodeObject],
    tenant: &str,
    signal: Signal,
    report: &mut Report,
    progress: &mut impl FnMut(&str, u64),
) -> Result<(), StoreError> {
    let files = objects.list(&format!("{}/{}", encode_tenant(tenant), signal.name()))?;
    let state = match (Log { objects: &**objects, tenant, signal }).read() {
        Ok(state) => state,
        Err(error @ (StoreError::Corrupt(_) | StoreError::Newer { .. })) => {
            let what = format!("commit log of {tenant}/{}", signal.name());
            report.findings.push(Finding::Unreadable { what, why: error.to_string() });
            return Ok(());
        }
        Err(error) => return Err(error),
    };
    let level_zero = level_zero(nodes, &state, tenant, signal);
    let mut named: hashbrown::HashSet<String> =
        state.removed.values().map(|r| r.block.path(tenant, signal)).collect();
    for block in state.blocks.values().chain(&level_zero) {
        let path = block.path(tenant, signal);
        progress(&path, block.size_bytes);
        check_block(objects, &path, block, report)?;
        named.insert(path);
    }
    for file in files {
        if file.path.ends_with(".parquet") && !named.contains(&file.path) {
            let (path, size_bytes) = (file.path, file.size_bytes);
            report.findings.push(Finding::Orphan { path, size_bytes });
        }
    }
    Ok(())
}

fn check_block(
    objects: &Arc<dyn Objects>,
    path: &str,
    meta: &BlockMeta,
    report: &mut Report,
) -> Result<(), StoreError> {
    let tail = TailCheck { bytes: meta.tail_bytes, crc: meta.tail_crc };
    let read = Block::open(objects.clone(), path, Some(tail)).and_then(|block| {
        if block.rows() as u64 != meta.rows || block.size_bytes() != meta.size_bytes {
            return Err(StoreError::corrupt("rows or bytes are not what was written"));
        }
        read_all(&block)
    });
    match read {
        Ok(()) => {
            report.blocks += 1;
            report.rows += meta.rows;
            report.bytes += meta.size_bytes;
        }
        Err(StoreError::Objects(error)) if error.is_not_found() => {
            report.findings.push(Finding::Missing { path: path.to_owned() });
        }
        Err(error @ (StoreError::Corrupt(_) | StoreError::Newer { .. })) => {
            let why = error.to_string();
            report.findings.push(Finding::Damaged { path: path.to_owned(), why });
        }
        Err(error) => return Err(error),
    }
    Ok(())
}

/// Decodes everything in a block.
pub(crate) fn read_all(block: &Block) -> Result<(), StoreError> {
    for field in 0..block.table().fields.len() {
        block.field(field, None)?;
    }
    for list in 0..block.table().lists.len() {
        block.list(list)?;
    }
    for nth in 0..block.attributes().len() {
        block.attribute(nth)?;
    }
    block.origins()?;
    block.shapes()?;
    block.trace_index()?;
    block.filters()?;
    for described in &block.footer().text_filters {
        block.text_filters(described.leaf as usize)?;
    }
    block.catalogue()?;
    Ok(())
}
