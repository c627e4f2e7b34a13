//! What a deletion would remove, without doing anything.

use hashbrown::HashMap;

use super::Target;
use super::requests::Judge;
use crate::archive;
use crate::block::source::Source;
use crate::compact::is_unreadable;
use crate::error::StoreError;
use crate::scan::matching_rows;
use crate::schema::Signal;
use crate::series::columns::int_at;
use crate::store::Store;
use crate::tables::series::field;

/// What of a signal would go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Affected {
    /// The signal.
    pub signal: Signal,
    /// Spans, log records or points that match.
    pub records: u64,
    /// All that are visible.
    pub total_records: u64,
    /// Blocks that have some of them, and would be written again.
    pub blocks: u64,
    /// Bytes of these blocks.
    pub block_bytes: u64,
    /// Spans of archived traces that match.
    pub archived_spans: u64,
}

impl Store {
    /// What a deletion would remove now.
    pub fn preview_deletion(
        &self,
        tenant: &str,
        targets: &[Target],
    ) -> Result<Vec<Affected>, StoreError> {
        targets.iter().map(|target| self.preview(tenant, target)).collect()
    }

    fn preview(&self, tenant: &str, target: &Target) -> Result<Affected, StoreError> {
        let signal = target.signal;
        let snapshot = self.snapshot(tenant, signal)?;
        let sizes: HashMap<String, u64> =
            snapshot.blocks().map(|block| (block.name(), block.size_bytes)).collect();
        let mut affected = Affected {
            signal,
            records: 0,
            total_records: 0,
            blocks: 0,
            block_bytes: 0,
            archived_spans: 0,
        };
        for source in self.sources(&snapshot, None)? {
            self.check_interrupted()?;
            let (records, total) = match (self.matches_in(&source, target), &source) {
                (Ok(counts), _) => counts,
                // Nobody knows what it has: the deletion names it, and waits for it.
                (Err(error), Source::Block(block)) if is_unreadable(&error) => {
                    self.warn_damaged(block.path(), &error);
                    continue;
                }
                (Err(error), _) => return Err(error),
            };
            affected.records += records;
            affected.total_records += total;
            if let (Source::Block(block), true) = (&source, records > 0) {
                let name = block.path().rsplit('/').next().unwrap_or_default();
                affected.blocks += 1;
                affected.block_bytes += sizes.get(name).copied().unwrap_or(0);
            }
        }
        if signal == Signal::Spans {
            affected.archived_spans = self.archived_matches(tenant, target)?;
        }
        Ok(affected)
    }

    /// Records of a source that match, and all that it shows.
    fn matches_in(&self, source: &Source, target: &Target) -> Result<(u64, u64), StoreError> {
        let table = target.signal.table();
        let mut rows = matching_rows(source, table, &target.predicate, &self.columns)?;
        let mut all = vec![true; source.rows()];
        if let Some(hidden) = source.hidden() {
            let marks = rows.iter_mut().zip(&mut all);
            marks.zip(hidden).filter(|(_, hidden)| **hidden).for_each(|((row, all), _)| {
                (*row, *all) = (false, false);
            });
        }
        Ok((records_of(source, &rows)?, records_of(source, &all)?))
    }

    fn archived_matches(&self, tenant: &str, target: &Target) -> Result<u64, StoreError> {
        let judge = Judge::new(std::slice::from_ref(target));
        let mut spans = 0;
        for piece in archive::pieces_of(&*self.objects, tenant)? {
            let Some(body) = self.piece(&piece.path)? else { continue };
            let pruned = judge.without(Signal::Spans, crate::request::Protocol::Otlp, &body)?;
            spans += pruned.map_or(0, |pruned| pruned.removed as u64);
        }
        Ok(spans)
    }
}

/// Spans, log records or points of the rows that are marked.
pub(crate) fn records_of(source: &Source, marks: &[bool]) -> Result<u64, StoreError> {
    let rows = marks.iter().filter(|mark| **mark).count() as u64;
    if source.table().signal != Signal::Series || rows == 0 {
        return Ok(rows);
    }
    let Some(counts) = source.field(field::COUNT)? else { return Ok(0) };
    let marked = marks.iter().enumerate().filter(|(_, mark)| **mark);
    let points = marked.filter_map(|(row, _)| int_at(&counts, row as u32));
    Ok(points.map(|points| u64::try_from(points).unwrap_or(0)).sum())
}
