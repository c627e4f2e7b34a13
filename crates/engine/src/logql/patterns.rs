//! Templates of lines: what lines look like, how often, and which looked like nothing before.

use std::ops::Range;

use hashbrown::HashSet;
use kymo_logql::ast::LogExpr;
use kymo_logql::extract::pattern::PatternFilter;
use kymo_logql::miner::{Miner, MinerLimits, Pattern};
use kymo_logql::plan::{Plan, plan};
use kymo_logql::request::Request;
use kymo_logql::selection::Tested;

use super::level;
use super::streams::Streams;
use super::view::View;
use crate::error::EngineError;
use crate::limits::LOG_SAMPLE_LINES;

/// A question for templates.
#[derive(Debug, Clone)]
pub struct PatternQuery {
    /// Of which lines.
    pub log: LogExpr,
    /// Nanoseconds since 1970.
    pub time: Range<i64>,
    /// How long the spans are that lines are counted in.
    pub step_nanos: i64,
    /// Only those that no line of the time before looks like, which is as long as the time asked for.
    pub only_new: bool,
}

/// Templates, the most frequent first.
pub(super) fn mine(view: &View, query: &PatternQuery) -> Result<Vec<Pattern>, EngineError> {
    let mut patterns = mined(view, query, &query.time)?.patterns();
    if query.only_new {
        let length = query.time.end.saturating_sub(query.time.start);
        let before = query.time.start.saturating_sub(length)..query.time.start;
        let known = mined(view, query, &before)?.patterns();
        let texts: HashSet<&str> = known.iter().map(|pattern| pattern.text.as_str()).collect();
        // One that was narrower before has other words, but its lines look like the new one.
        let is_known = |pattern: &Pattern| {
            texts.contains(pattern.text.as_str())
                || PatternFilter::new(&pattern.text)
                    .is_ok_and(|filter| known.iter().any(|old| filter.matches(&old.sample)))
        };
        patterns.retain(|pattern| !is_known(pattern));
    }
    Ok(patterns)
}

/// Mines the lines of some time, each thread its share of them.
fn mined(view: &View, query: &PatternQuery, time: &Range<i64>) -> Result<Miner, EngineError> {
    let limits = MinerLimits { bucket_nanos: query.step_nanos.max(1), ..MinerLimits::default() };
    let mut streams = Streams::new(&view.options().index_labels);
    let Some((extent, rows)) = view.extent(time) else { return Ok(Miner::new(limits)) };
    let request = Request::range(extent.start, extent.end, 1);
    let expr = kymo_logql::ast::Expr::Log(query.log.clone());
    let plan = match plan(&expr, &request) {
        Ok(Plan::Log(plan)) => plan,
        Ok(Plan::Metric(_)) => return Ok(Miner::new(limits)),
        Err(error) => return Err(EngineError::Invalid(error.to_string().into())),
    };
    let selection = plan.selection();
    let candidates = view.candidates(&mut streams, selection, extent)?;
    let (needs, detects_level) = level::needs(&selection.needs, view.options());
    let pieces = view.pieces(candidates, &needs)?;
    // Of very many lines every so manieth stands for as many.
    let stride = rows.div_ceil(LOG_SAMPLE_LINES).max(1);
    let mut workers: Vec<_> =
        (0..view.threads()).map(|_| (plan.worker(Tested::No), Miner::new(limits), 0)).collect();
    view.read(&pieces, &mut workers, |(worker, miner, seen), batch| {
        batch.each_entry(&needs, detects_level, |entry| {
            *seen += 1;
            if *seen % stride == 0
                && let Some(found) = worker.apply(entry)
            {
                miner.add(&found.line, found.time_nanos, stride as u64);
            }
            Ok(())
        })
    })?;
    let mut miners = workers.into_iter().map(|(_, miner, _)| miner);
    let mut all = miners.next().unwrap_or_else(|| Miner::new(limits));
    miners.for_each(|miner| all.merge(miner));
    Ok(all)
}
