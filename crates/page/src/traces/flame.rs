//! `GET /api/traces/flame`: traces that match, merged by path.
//!
//! `q` names those of side A. With `qb`, or with `startb` and `endb`, there is a side B: the same query
//! or another, at the same time or another. What is wrong is told with the side that it is of:
//! `{"error":"…","position":{…},"parameter":"qb"}`. Answers `{"flame":{…},"a":{"matched","merged","truncated"},
//! "b":…}`, where `flame` is `kymo_traceview::flame`, and `truncated` says that more match or that there was
//! no time to read all.

use std::time::Instant;

use axum::extract::State;
use axum::response::Response;
use kymo_engine::Tenants;
use kymo_engine::traceql::{Search, Sort};
use kymo_traceview::TraceTree;
use kymo_traceview::flame::{Flame, Flames, Side};
use serde::Serialize;

use super::asked::{Parameters, parse, spans_of, time};
use super::limits::{FLAME_MAX_SPANS, FLAME_MAX_TIME, FLAME_MAX_TRACES, FLAME_TRACES};
use crate::Page;
use crate::answer::{Failed, Query, Whose, json};

#[derive(Serialize)]
struct Answer {
    flame: Flame,
    a: Merged,
    #[serde(skip_serializing_if = "Option::is_none")]
    b: Option<Merged>,
}

/// What became of one side.
#[derive(Serialize)]
struct Merged {
    /// Traces that were found.
    matched: usize,
    /// Those of them that are in the flame.
    merged: usize,
    truncated: bool,
}

pub(super) async fn flame(
    State(page): State<Page>,
    Whose(tenants): Whose,
    Query(asked): Query<Parameters>,
) -> Result<Response, Failed> {
    let given = |text: &Option<String>| text.clone().filter(|text| !text.trim().is_empty());
    let of_a = |failed: Failed| failed.of("q");
    let of_b = |failed: Failed| failed.of("qb");
    let a = search(&asked, asked.q.as_deref(), asked.start.as_deref(), asked.end.as_deref());
    let a = a.map_err(of_a)?;
    let (query_b, start_b, end_b) = (given(&asked.qb), given(&asked.startb), given(&asked.endb));
    let has_b = query_b.is_some() || start_b.is_some() || end_b.is_some();
    let b = search(
        &asked,
        query_b.as_deref().or(asked.q.as_deref()),
        start_b.as_deref().or(asked.start.as_deref()),
        end_b.as_deref().or(asked.end.as_deref()),
    );
    let b = if has_b { Some(b.map_err(of_b)?) } else { None };
    let sides = if has_b { 2 } else { 1 };
    let mut merging = Merging { page, tenants, flames: Flames::default(), sides };
    let a = merging.add(a, Side::A).await.map_err(of_a)?;
    let b = match b {
        Some(search) => Some(merging.add(search, Side::B).await.map_err(of_b)?),
        None => None,
    };
    let Merging { page, flames, .. } = merging;
    let answer = move || json(&Answer { flame: flames.finish(has_b), a, b });
    page.engine.blocking(answer).await?
}

fn search(
    asked: &Parameters,
    query: Option<&str>,
    start: Option<&str>,
    end: Option<&str>,
) -> Result<Search, Failed> {
    let mut query = parse(query)?;
    spans_of(&mut query)?;
    let limit = asked.limit.unwrap_or(FLAME_TRACES).clamp(1, FLAME_MAX_TRACES);
    let (sort, after) = (Sort::default(), None);
    Ok(Search { query, time: time(start, end)?, limit, spans_per_set: 1, sort, after })
}

/// Traces on their way into a flame.
struct Merging {
    page: Page,
    tenants: Tenants,
    flames: Flames,
    /// How many there are: each may take its part of the limits, so that A leaves some of them for B.
    sides: u32,
}

impl Merging {
    async fn add(&mut self, search: Search, side: Side) -> Result<Merged, Failed> {
        let (began, mut spans) = (Instant::now(), 0);
        let max_spans = FLAME_MAX_SPANS / u64::from(self.sides);
        let max_time = FLAME_MAX_TIME / self.sides;
        let found = self.page.engine.search(&self.tenants, search).await?.all().await?;
        let mut merged =
            Merged { matched: found.traces.len(), merged: 0, truncated: found.next.is_some() };
        for trace in found.traces {
            if spans >= max_spans || began.elapsed() >= max_time {
                merged.truncated = true;
                break;
            }
            // It may have expired since.
            let Some(found) = self.page.engine.trace(&self.tenants, trace.trace_id).await? else {
                continue;
            };
            let mut flames = std::mem::take(&mut self.flames);
            let merge = move || {
                let tree = TraceTree::read(found.body)?;
                flames.add(&tree, side);
                Ok::<_, Failed>((flames, tree.len()))
            };
            let (flames, merged_spans) = self.page.engine.blocking(merge).await??;
            self.flames = flames;
            spans += merged_spans as u64;
            merged.merged += 1;
        }
        Ok(merged)
    }
}
