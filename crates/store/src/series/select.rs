//! Finding the series that a query asks for.
//!
//! Conditions are tested once for each distinct name, origin and label value of
//! a source, then on their codes; points are read of the rows that remain, and
//! of blocks only in the granules where these lie.

use std::borrow::Cow;
use std::ops::RangeInclusive;
use std::sync::Arc;

use hashbrown::{HashMap, HashSet};

use super::columns::{SeriesColumns, granule_runs, int_at};
use super::data::{SeriesChunk, SeriesData};
use super::label_filter::LabelFilter;
use super::matcher::{Matcher, Target, value_text};
use crate::block::source::Source;
use crate::column::{Column, Values};
use crate::error::StoreError;
use crate::origin::Origin;
use crate::tables::series::field;

/// What a query found.
#[derive(Debug, Default)]
pub struct Selection {
    /// The series, by name and identity.
    pub series: Vec<SeriesData>,
    /// Blocks that could not be read and are missing from the result.
    pub damaged_blocks: usize,
}

/// The series that all `matchers` let through, with their rows that have points
/// in `range_nanos`. A block that is damaged is left out and counted.
pub fn select(
    sources: &[Source],
    matchers: &[Matcher],
    range_nanos: RangeInclusive<i64>,
) -> Result<Selection, StoreError> {
    let mut selection = Selection::default();
    let mut found = Found { range_nanos, ..Found::default() };
    for source in sources {
        let result = matching_rows(source, matchers, &found.range_nanos)
            .and_then(|rows| read_rows(source, &visible(source, rows)));
        match (result, source) {
            (Ok(rows), _) => rows.into_iter().for_each(|row| found.add(row)),
            (Err(error @ StoreError::Corrupt(_)), Source::Block(block)) => {
                tracing::warn!(block = block.path(), %error, "left a damaged block out of a query");
                selection.damaged_blocks += 1;
            }
            (Err(error), _) => return Err(error),
        }
    }
    selection.series = found.finish();
    Ok(selection)
}

/// A row that was found: the series as this row describes it.
struct FoundRow {
    series: SeriesData,
    chunk: SeriesChunk,
}

/// Rows by series.
struct Found {
    range_nanos: RangeInclusive<i64>,
    series: Vec<SeriesData>,
    by_identity: HashMap<[u8; 16], usize>,
    /// For each series the sequences of the rows that its description and its metadata are of.
    told: Vec<[i64; 2]>,
    texts: HashSet<Arc<[u8]>>,
}

impl Default for Found {
    fn default() -> Self {
        Self {
            range_nanos: i64::MIN..=i64::MAX,
            series: Vec::new(),
            by_identity: HashMap::new(),
            told: Vec::new(),
            texts: HashSet::new(),
        }
    }
}

impl Found {
    fn add(&mut self, row: FoundRow) {
        let FoundRow { mut series, chunk } = row;
        let number = *self.by_identity.entry(series.identity).or_insert(self.series.len());
        let Some(known) = self.series.get_mut(number) else {
            series.range_nanos = self.range_nanos.clone();
            for text in [
                &mut series.name,
                &mut series.unit,
                &mut series.description,
                &mut series.metadata,
                &mut series.origin,
            ] {
                *text = self.texts.get_or_insert_with(text, |_| text.clone()).clone();
            }
            self.told.push([chunk.sequence; 2]);
            series.chunks.push(chunk);
            return self.series.push(series);
        };
        // A row may have been written before anything was said about its metric.
        let [description_of, metadata_of] = &mut self.told[number];
        for (told, told_of, text) in [
            (&mut known.description, description_of, series.description),
            (&mut known.metadata, metadata_of, series.metadata),
        ] {
            if told.is_empty() || (!text.is_empty() && *told_of < chunk.sequence) {
                (*told, *told_of) = (text, chunk.sequence);
            }
        }
        known.chunks.push(chunk);
    }

    fn finish(mut self) -> Vec<SeriesData> {
        for series in &mut self.series {
            series.chunks.sort_by_key(|chunk| (chunk.min_time_nanos, chunk.sequence));
        }
        self.series.sort_by(|a, b| (&a.name, a.identity).cmp(&(&b.name, b.identity)));
        self.series
    }
}

/// The rows that are not deleted.
fn visible(source: &Source, mut rows: Vec<u32>) -> Vec<u32> {
    if let Some(hidden) = source.hidden() {
        rows.retain(|row| !hidden[*row as usize]);
    }
    rows
}

fn read_rows(source: &Source, rows: &[u32]) -> Result<Vec<FoundRow>, StoreError> {
    let mut found = Vec::with_capacity(rows.len());
    for run in granule_runs(rows) {
        let columns = SeriesColumns::read(source, run)?;
        for row in run {
            let mut labels = Vec::new();
            columns.labels(*row, &mut labels)?;
            found.push(FoundRow {
                series: SeriesData {
                    identity: columns.identity(*row)?,
                    name: columns.name(*row)?.into(),
                    unit: columns.unit(*row).into(),
                    description: columns.description(*row).into(),
                    metadata: columns.metadata(*row).into(),
                    kind: columns.kind(*row)?,
                    origin: columns.origin(*row)?.into(),
                    labels: labels.into(),
                    chunks: Vec::new(),
                    range_nanos: i64::MIN..=i64::MAX,
                },
                chunk: SeriesChunk::new(&columns.points(*row)?),
            });
        }
    }
    Ok(found)
}

/// Rows that have points in the range and that all matchers let through.
fn matching_rows(
    source: &Source,
    matchers: &[Matcher],
    range_nanos: &RangeInclusive<i64>,
) -> Result<Vec<u32>, StoreError> {
    let mut rows: Vec<u32> = (0..source.rows() as u32).collect();
    let (starts, ends) = (required(source, field::MIN_TIME)?, required(source, field::MAX_TIME)?);
    rows.retain(|row| {
        int_at(&starts, *row).is_some_and(|start| start <= *range_nanos.end())
            && int_at(&ends, *row).is_some_and(|end| end >= *range_nanos.start())
    });
    // Names and origins first: they are cheap, and labels need more columns.
    let is_label = |m: &&Matcher| matches!(m.target(), Target::Label(_));
    let others = matchers.iter().filter(|m| !is_label(m));
    for matcher in others.chain(matchers.iter().filter(is_label)) {
        if rows.is_empty() {
            break;
        }
        match matcher.target() {
            Target::Name => keep_names(source, matcher, &mut rows)?,
            Target::Resource(key) => keep_origins(source, key, matcher, &mut rows)?,
            Target::Label(key) => LabelFilter::read(source, key, matcher)?.retain(&mut rows)?,
        }
    }
    Ok(rows)
}

fn required(source: &Source, field: usize) -> Result<Cow<'_, Column>, StoreError> {
    source
        .field(field)?
        .ok_or_else(|| StoreError::corrupt("a column is missing that every row of series has"))
}

fn keep_names(source: &Source, matcher: &Matcher, rows: &mut Vec<u32>) -> Result<(), StoreError> {
    let names = required(source, field::NAME)?;
    let Values::Bytes(codes, dict) = &names.values else {
        return Err(StoreError::corrupt("names are not texts"));
    };
    let passes: Vec<bool> = dict.iter().map(|name| matcher.matches(name)).collect();
    rows.retain(|row| {
        let code = codes.get(*row as usize).map(|code| *code as usize);
        code.and_then(|code| passes.get(code)).copied().unwrap_or(false)
    });
    Ok(())
}

fn keep_origins(
    source: &Source,
    key: &[u8],
    matcher: &Matcher,
    rows: &mut Vec<u32>,
) -> Result<(), StoreError> {
    let origins = source.origins()?;
    let passes: Vec<bool> = origins
        .iter()
        .map(|encoded| {
            let value = Origin::decode(encoded).resource_attribute(key).unwrap_or_default();
            matcher.matches(&value_text(&value))
        })
        .collect();
    let codes = required(source, field::ORIGIN)?;
    rows.retain(|row| {
        let code = int_at(&codes, *row).and_then(|code| usize::try_from(code).ok());
        code.and_then(|code| passes.get(code)).copied().unwrap_or(false)
    });
    Ok(())
}
