//! Which streams there are, and how much of them.

use std::collections::BTreeSet;
use std::ops::Range;

use hashbrown::{HashMap, HashSet};
use kymo_logql::labels::Labels;
use kymo_logql::matcher::LabelMatcher;
use kymo_logql::selection::{Names, Needs, Selection};

use super::answer::{StreamStats, Volume};
use super::streams::{Streams, is_selected};
use super::view::View;
use crate::error::EngineError;

/// By what bytes are counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum VolumeBy {
    /// By the values of these labels; all labels if there are none.
    Series(Vec<String>),
    /// By the names of labels, of these or of all.
    Labels(Vec<String>),
}

/// A question for the volume of lines.
#[derive(Debug, Clone)]
pub struct VolumeQuery {
    /// Of which streams.
    pub matchers: Vec<LabelMatcher>,
    /// Nanoseconds since 1970.
    pub time: Range<i64>,
    /// How long a step is; one step for all without.
    pub step_nanos: Option<i64>,
    /// By what.
    pub by: VolumeBy,
    /// How many groups, the largest first.
    pub limit: usize,
}

/// What is selected by matchers alone.
fn selection(matchers: &[LabelMatcher], time: &Range<i64>, reads_line: bool) -> Selection {
    let needs = Needs { labels: Names::default(), line: reads_line };
    Selection {
        matchers: matchers.to_vec(),
        start_nanos: time.start,
        end_nanos: time.end,
        conditions: Vec::new(),
        needs_if_tested: needs.clone(),
        needs,
    }
}

/// What was counted of a stream.
#[derive(Debug, Clone, Copy, Default)]
struct Counted {
    entries: u64,
    bytes: u64,
}

/// What is counted of the streams that matchers select, by stream and step.
fn counted(
    view: &View,
    matchers: &[LabelMatcher],
    time: &Range<i64>,
    reads_line: bool,
    step_of: impl Fn(i64) -> usize + Sync,
) -> Result<HashMap<(Labels, usize), Counted>, EngineError> {
    let Some((extent, _)) = view.extent(time) else { return Ok(HashMap::new()) };
    let mut streams = Streams::new(&view.options().index_labels);
    let selection = selection(matchers, time, reads_line);
    let candidates = view.candidates(&mut streams, &selection, extent)?;
    let pieces = view.pieces(candidates, &selection.needs)?;
    let mut workers: Vec<HashMap<(Labels, usize), Counted>> =
        (0..view.threads()).map(|_| HashMap::new()).collect();
    view.read(&pieces, &mut workers, |worker, batch| {
        // Rows of one origin and step lie together.
        let mut run: Option<((usize, usize), Counted)> = None;
        let mut end = |run: Option<((usize, usize), Counted)>| {
            let Some(((origin, step), counted)) = run else { return };
            let Some(belonging) = batch.piece.belongings.get(origin) else { return };
            let sum = worker.entry((belonging.stream.clone(), step)).or_default();
            sum.entries += counted.entries;
            sum.bytes += counted.bytes;
        };
        for row in 0..batch.count {
            let key = (batch.rows.origin(row), step_of(batch.rows.time_nanos(row)));
            if run.as_ref().is_none_or(|(known, _)| *known != key) {
                end(run.replace((key, Counted::default())));
            }
            if let Some((_, counted)) = &mut run {
                counted.entries += 1;
                counted.bytes += batch.rows.line(row).len() as u64;
            }
        }
        end(run);
        Ok(())
    })?;
    let mut workers = workers.into_iter();
    let mut all = workers.next().unwrap_or_default();
    for (key, counted) in workers.flatten() {
        let sum = all.entry(key).or_default();
        sum.entries += counted.entries;
        sum.bytes += counted.bytes;
    }
    Ok(all)
}

/// Streams that have lines within `time` and that one of the selectors selects; all without any.
pub(super) fn series(
    view: &View,
    selectors: &[Vec<LabelMatcher>],
    time: &Range<i64>,
) -> Result<BTreeSet<Labels>, EngineError> {
    // Several are looked for at once, among all.
    let matchers = if let [only] = selectors { &only[..] } else { &[] };
    let counted = counted(view, matchers, time, false, |_| 0)?;
    let is_wanted = |labels: &Labels| {
        selectors.is_empty() || selectors.iter().any(|matchers| is_selected(labels, matchers))
    };
    Ok(counted.into_keys().map(|(labels, _)| labels).filter(is_wanted).collect())
}

/// How much there is of some streams.
pub(super) fn stats(
    view: &View,
    matchers: &[LabelMatcher],
    time: &Range<i64>,
) -> Result<StreamStats, EngineError> {
    let counted = counted(view, matchers, time, true, |_| 0)?;
    let mut stats = StreamStats { streams: counted.len(), ..StreamStats::default() };
    for of_stream in counted.values() {
        stats.entries += of_stream.entries;
        stats.bytes += of_stream.bytes;
    }
    if stats.entries > 0 {
        stats.chunks = view.sources(time)?.len();
    }
    Ok(stats)
}

/// Bytes of lines by labels, the largest first.
pub(super) fn volume(view: &View, query: &VolumeQuery) -> Result<Vec<Volume>, EngineError> {
    let VolumeQuery { time, step_nanos, .. } = query;
    let step = step_nanos.unwrap_or(i64::MAX).max(1);
    let steps = match step_nanos {
        Some(_) => (time.end.saturating_sub(time.start).max(1) - 1) / step + 1,
        None => 1,
    };
    let step_of = |nanos: i64| (nanos.saturating_sub(time.start) / step) as usize;
    let counted = counted(view, &query.matchers, time, true, step_of)?;
    let mut groups: HashMap<Labels, Vec<u64>> = HashMap::new();
    for ((stream, step), of_stream) in &counted {
        for labels in grouped(stream, &query.by) {
            let bytes = groups.entry(labels).or_insert_with(|| vec![0; steps as usize]);
            if let Some(bytes) = bytes.get_mut(*step) {
                *bytes += of_stream.bytes;
            }
        }
    }
    let mut volumes: Vec<Volume> =
        groups.into_iter().map(|(labels, bytes)| Volume { labels, bytes }).collect();
    let total = |volume: &Volume| volume.bytes.iter().sum::<u64>();
    volumes.sort_by(|a, b| total(b).cmp(&total(a)).then_with(|| a.labels.cmp(&b.labels)));
    volumes.truncate(query.limit);
    Ok(volumes)
}

/// The groups that a stream belongs to.
fn grouped(stream: &Labels, by: &VolumeBy) -> HashSet<Labels> {
    match by {
        VolumeBy::Series(names) => {
            let is_wanted =
                |name: &str| names.is_empty() || names.iter().any(|wanted| wanted == name);
            let labels = stream.filtered(|name, _| is_wanted(name));
            // A stream that has none of the labels belongs nowhere.
            (names.is_empty() || !labels.is_empty()).then_some(labels).into_iter().collect()
        }
        VolumeBy::Labels(names) => stream
            .iter()
            .filter(|(name, _)| names.is_empty() || names.iter().any(|wanted| wanted == name))
            .map(|(name, _)| Labels::of([(name, "")]))
            .collect(),
    }
}
