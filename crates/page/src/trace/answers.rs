//! Answers about one trace. What takes time runs on the engine's threads.

use axum::extract::{Path, Query};
use axum::response::Response;
use http::header::CONTENT_DISPOSITION;
use http::{HeaderValue, StatusCode};
use kymo_traceview::attribute::{AttributeColumn, Key, keys as keys_of};
use kymo_traceview::compare::compare as compare_traces;
use kymo_traceview::details::Details;
use kymo_traceview::events::Events;
use kymo_traceview::find::find as find_in;
use kymo_traceview::flame::flame as flame_of;
use kymo_traceview::limits::{DETAILS_MAX_SPANS, EVENTS_MAX};
use kymo_traceview::perfetto::perfetto;
use kymo_traceview::statistics::{GroupBy, Statistics};
use kymo_traceview::{TraceError, TraceTree, columns as columns_of, hex};
use kymo_wire::Signal;
use serde::{Deserialize, Serialize};

use super::load::Traces;
use crate::answer::{Failed, json, typed};

/// Parameters of all answers.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Parameters {
    rows: Option<String>,
    ids: Option<String>,
    key: Option<String>,
    q: Option<String>,
    by: Option<String>,
    with: Option<String>,
    format: Option<String>,
    offset: Option<usize>,
    limit: Option<usize>,
}

type Asked = Query<Parameters>;
type Answer = Result<Response, Failed>;

pub(super) async fn columns(traces: Traces, Path(id): Path<String>) -> Answer {
    let loaded = traces.newest(&id).await?;
    let write = move || columns_of::columns(&loaded.tree, &loaded.id, loaded.damaged_blocks);
    let written = traces.page.engine.blocking(write).await?;
    let bytes = written.map_err(|error| Failed::Internal(error.to_string()))?;
    Ok(typed(StatusCode::OK, columns_of::CONTENT_TYPE, bytes))
}

pub(super) async fn spans(traces: Traces, Path(id): Path<String>, Query(asked): Asked) -> Answer {
    document(&traces, &id, move |tree| Details::of(tree, &asked.chosen_rows(tree)?)).await
}

pub(super) async fn keys(traces: Traces, Path(id): Path<String>) -> Answer {
    #[derive(Serialize)]
    struct Keys {
        keys: Vec<kymo_traceview::attribute::FoundKey>,
    }
    document(&traces, &id, |tree| Ok(Keys { keys: keys_of(tree)? })).await
}

pub(super) async fn column(traces: Traces, Path(id): Path<String>, Query(asked): Asked) -> Answer {
    let key = Key::parse(&needed("key", asked.key, "the key of an attribute: span.http.route")?);
    document(&traces, &id, |tree| AttributeColumn::of(tree, key)).await
}

pub(super) async fn find(traces: Traces, Path(id): Path<String>, Query(asked): Asked) -> Answer {
    let text = needed("q", asked.q, "words to look for")?;
    document(&traces, &id, move |tree| find_in(tree, &text)).await
}

pub(super) async fn stats(traces: Traces, Path(id): Path<String>, Query(asked): Asked) -> Answer {
    let by = GroupBy::parse(asked.by.as_deref().unwrap_or_default());
    document(&traces, &id, move |tree| Statistics::of(tree, &by)).await
}

pub(super) async fn flame(traces: Traces, Path(id): Path<String>) -> Answer {
    document(&traces, &id, |tree| Ok(flame_of(tree))).await
}

pub(super) async fn events(traces: Traces, Path(id): Path<String>, Query(asked): Asked) -> Answer {
    let (offset, limit) = (asked.offset.unwrap_or(0), asked.limit.unwrap_or(EVENTS_MAX));
    document(&traces, &id, move |tree| Events::of(tree, offset, limit)).await
}

pub(super) async fn compare(traces: Traces, Path(id): Path<String>, Query(asked): Asked) -> Answer {
    let with = needed("with", asked.with, "the id of another trace")?;
    let a = traces.same(&id).await?;
    let b = traces.same(&with).await?;
    let compare = move || compare_traces(&a.tree, &b.tree).map(|comparison| json(&comparison));
    traces.page.engine.blocking(compare).await??
}

pub(super) async fn export(traces: Traces, Path(id): Path<String>, Query(asked): Asked) -> Answer {
    let is_perfetto = match asked.format.as_deref() {
        None | Some("otlp") => false,
        Some("perfetto") => true,
        Some(other) => {
            let message = format!("format is {other:?}: expected otlp or perfetto");
            return Err(Failed::Invalid(message));
        }
    };
    let loaded = traces.same(&id).await?;
    let name = format!(
        "trace-{}.{}.json",
        hex(&loaded.tree.trace_id),
        if is_perfetto { "perfetto" } else { "otlp" }
    );
    let write = move || if is_perfetto { perfetto(&loaded.tree) } else { otlp(&loaded.tree) };
    let body = traces.page.engine.blocking(write).await??;
    let mut response = typed(StatusCode::OK, "application/json", body);
    let disposition = HeaderValue::from_str(&format!("attachment; filename=\"{name}\""));
    let disposition = disposition.map_err(|error| Failed::Internal(error.to_string()))?;
    response.headers_mut().insert(CONTENT_DISPOSITION, disposition);
    Ok(response)
}

fn otlp(tree: &TraceTree) -> Result<Vec<u8>, TraceError> {
    let mut out = Vec::with_capacity(tree.body().len() * 3);
    kymo_wire::json::encode(Signal::Traces, tree.body(), &mut out)?;
    Ok(out)
}

/// A document that is made of the trace as it was looked at last.
async fn document<D: Serialize>(
    traces: &Traces,
    id: &str,
    make: impl FnOnce(&TraceTree) -> Result<D, TraceError> + Send + 'static,
) -> Answer {
    let loaded = traces.same(id).await?;
    let write = move || make(&loaded.tree).map(|document| json(&document));
    traces.page.engine.blocking(write).await??
}

fn needed(name: &str, value: Option<String>, expected: &str) -> Result<String, Failed> {
    value.ok_or_else(|| Failed::Invalid(format!("{name} is missing: expected {expected}")))
}

impl Parameters {
    /// The rows that are named, by number or by the id of their span.
    fn chosen_rows(&self, tree: &TraceTree) -> Result<Vec<usize>, TraceError> {
        let refuse = |message: String| Err(TraceError::Query(message));
        let rows = self.rows.iter().flat_map(|rows| rows.split(',')).filter(|row| !row.is_empty());
        let ids = self.ids.iter().flat_map(|ids| ids.split(',')).filter(|id| !id.is_empty());
        let count = rows.clone().count() + ids.clone().count();
        match count {
            0 => {
                return refuse(
                    "rows or ids are missing: expected rows=1,2 or ids=00f067aa…".into(),
                );
            }
            1..=DETAILS_MAX_SPANS => {}
            _ => {
                return refuse(format!(
                    "more than {DETAILS_MAX_SPANS} spans: ask for fewer at once"
                ));
            }
        }
        let mut chosen = Vec::with_capacity(count);
        for row in rows {
            match row.trim().parse() {
                Ok(row) => chosen.push(row),
                Err(_) => return refuse(format!("rows has {row:?}: expected whole numbers")),
            }
        }
        let mut chosen_ids = Vec::new();
        for id in ids {
            match u64::from_str_radix(id.trim(), 16) {
                Ok(number) => chosen_ids.push(number.to_be_bytes()),
                Err(_) => return refuse(format!("ids has {id:?}: expected 16 hexadecimal digits")),
            }
        }
        chosen.extend(tree.rows_of(&chosen_ids));
        Ok(chosen)
    }
}
