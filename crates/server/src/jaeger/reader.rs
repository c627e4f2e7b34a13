//! The engine, asked for some tenants: what all of Jaeger's APIs are made of.

use std::ops::Range;

use futures::{Stream, StreamExt};
use http::HeaderMap;
use kymo_engine::traceql::{Dependency, FoundTrace, MetricsQuery, TagQuery};
use kymo_engine::{Engine, EngineError, Tenants};
use kymo_store::otlp::TraceResult;
use kymo_traceql::metrics::Series;
use kymo_wire::WireError;

use super::failed::{Failed, unreadable};
use super::fetch::{self, Fetched, Kept};
use super::question::Question;
use super::service::{self, quoted};
use crate::body::Reservation;
use crate::format::cell;
use crate::limits::{JAEGER_MAX_NAMES, JAEGER_OPERATIONS_LOOKBACK};
use crate::router::Shared;
use crate::telemetry::Timed;
use crate::tenant;

/// The id of a trace.
pub(super) type TraceId = [u8; 16];

/// An operation: spans of one name and kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Operation {
    pub(super) name: String,
    /// A lower-case word; `unspecified` if none was sent.
    pub(super) kind: String,
}

/// Asks for some tenants.
#[derive(Clone)]
pub(super) struct Reader {
    shared: Shared,
    tenants: Tenants,
}

impl Reader {
    pub(super) fn new(shared: Shared, tenants: Tenants) -> Self {
        Self { shared, tenants }
    }

    /// For whom the headers of a request name.
    pub(super) fn of(shared: &Shared, headers: &HeaderMap) -> Result<Self, Failed> {
        let tenants = tenant::readable(headers).map_err(Failed::Invalid)?;
        Ok(Self::new(shared.clone(), tenants))
    }

    pub(super) fn shared(&self) -> &Shared {
        &self.shared
    }

    /// Names of services. That there are spans without one is not told: all would have to be read.
    pub(super) async fn services(&self) -> Result<Vec<String>, EngineError> {
        let service = service::attribute();
        let query = TagQuery { limit: Some(JAEGER_MAX_NAMES), ..TagQuery::default() };
        let asked = self.shared.engine.tag_values(&self.tenants, service, query);
        let values = self.counted("tags", asked).await?;
        let names = values.into_iter().map(|value| value.text);
        Ok(names.filter(|name| !name.is_empty()).collect())
    }

    /// Operations of a service, or of all if its name is empty; of one of these kinds, if any. They
    /// are those of late; only if there are none is all read that is stored.
    pub(super) async fn operations(
        &self,
        service: &str,
        kinds: &[&str],
    ) -> Result<Vec<Operation>, EngineError> {
        let late = operations_query(service, kinds, true);
        let found = self.counted("sql", self.rows(&late)).await?;
        if !found.is_empty() {
            return Ok(found);
        }
        let ever = operations_query(service, kinds, false);
        self.counted("sql", self.rows(&ever)).await
    }

    async fn rows(&self, query: &str) -> Result<Vec<Operation>, EngineError> {
        let mut rows = self.shared.engine.sql(&self.tenants, query).await?;
        let mut operations = Vec::new();
        while let Some(batch) = rows.next().await {
            let batch = batch?;
            for row in 0..batch.num_rows() {
                let text = |nth: usize| {
                    let mut text = Vec::new();
                    let written = cell::write_text(batch.column(nth), row, &mut text);
                    let unwritten = |error| EngineError::Internal(format!("a name: {error}"));
                    written.map_err(unwritten)?;
                    Ok::<_, EngineError>(String::from_utf8_lossy(&text).into_owned())
                };
                operations.push(Operation { name: text(0)?, kind: text(1)? });
            }
        }
        Ok(operations)
    }

    /// Who calls whom, by spans that began within `time`.
    pub(super) async fn dependencies(
        &self,
        time: Range<i64>,
    ) -> Result<Vec<Dependency>, EngineError> {
        let asked = self.shared.engine.dependencies(&self.tenants, time);
        let found = self.counted("dependencies", asked).await?;
        let shown = found.into_iter().map(|link| Dependency {
            parent: service::shown(link.parent),
            child: service::shown(link.child),
            ..link
        });
        Ok(shown.collect())
    }

    /// Series of numbers.
    pub(super) async fn metrics(&self, query: MetricsQuery) -> Result<Vec<Series>, EngineError> {
        let asked = self.shared.engine.metrics(&self.tenants, query);
        Ok(self.counted("metrics", asked).await?.series)
    }

    /// Traces that answer a question, newest first.
    pub(super) async fn find(&self, question: &Question) -> Result<Vec<FoundTrace>, EngineError> {
        let searching = async {
            let searching = self.shared.engine.search(&self.tenants, question.search()).await?;
            searching.all().await
        };
        Ok(self.counted("search", searching).await?.traces)
    }

    /// Their ids.
    pub(super) async fn find_ids(&self, question: &Question) -> Result<Vec<TraceId>, EngineError> {
        Ok(self.find(question).await?.iter().map(|trace| trace.trace_id).collect())
    }

    /// One trace, whole.
    pub(super) async fn trace(&self, id: TraceId) -> Result<Option<TraceResult>, EngineError> {
        self.counted("trace", self.shared.engine.trace(&self.tenants, id)).await
    }

    /// Whole traces in the order of their ids, each made into something on the engine's threads,
    /// which `size_of` tells the bytes of. A trace that is not there is `None`.
    pub(super) fn traces<T, F>(
        &self,
        ids: Vec<TraceId>,
        make: F,
        size_of: fn(&T) -> usize,
    ) -> impl Stream<Item = Fetched<T>> + Send + use<T, F>
    where
        T: Send + 'static,
        F: Fn(&TraceResult) -> Result<T, WireError> + Clone + Send + Sync + 'static,
    {
        let (reader, engine) = (self.clone(), self.shared.engine.clone());
        let fetch = move |id| {
            let (reader, make) = (reader.clone(), make.clone());
            async move {
                let Some(trace) = reader.trace(id).await? else { return Ok((id, None)) };
                let room = reader.shared.jaeger.clone();
                // It is there until something is made of it.
                let raw = Reservation::of(&room.budget, trace.body.len());
                let making = move || {
                    let made = make(&trace)?;
                    let size_bytes = size_of(&made);
                    drop((trace, raw));
                    Ok(Kept::new(made, size_bytes, &room))
                };
                let made = reader.shared.engine.blocking(making).await?;
                Ok((id, Some(made.map_err(unreadable)?)))
            }
        };
        fetch::in_order(ids, self.shared.jaeger.clone(), move |task| engine.spawn(task), fetch)
    }

    /// Counts a query with its outcome and time.
    async fn counted<T>(
        &self,
        kind: &'static str,
        query: impl Future<Output = Result<T, EngineError>>,
    ) -> Result<T, EngineError> {
        let timed = Timed::new(&self.shared.telemetry, kind);
        let answer = query.await;
        timed.ended(answer.as_ref().err().map_or("ok", EngineError::kind));
        answer
    }

    /// The engine.
    pub(super) fn engine(&self) -> &Engine {
        &self.shared.engine
    }
}

/// SQL for operations, of late or ever.
fn operations_query(service: &str, kinds: &[&str], of_late: bool) -> String {
    let mut conditions = Vec::new();
    if !service.is_empty() {
        conditions.push(service::condition(service));
    }
    if !kinds.is_empty() {
        let kinds: Vec<String> = kinds.iter().map(|kind| quoted(kind)).collect();
        conditions.push(format!("kind IN ({})", kinds.join(", ")));
    }
    if of_late {
        let secs = JAEGER_OPERATIONS_LOOKBACK.as_secs();
        conditions.push(format!("start_time > now() - INTERVAL '{secs} seconds'"));
    }
    let condition = match conditions.is_empty() {
        true => String::new(),
        false => format!(" WHERE {}", conditions.join(" AND ")),
    };
    format!(
        "SELECT DISTINCT name, kind FROM spans{condition} ORDER BY name, kind LIMIT {JAEGER_MAX_NAMES}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_cannot_leave_its_quotes() {
        assert_eq!(
            operations_query("it's' OR 1=1 --", &["server"], false),
            "SELECT DISTINCT name, kind FROM spans WHERE \"resource.service.name\" = \
             'it''s'' OR 1=1 --' AND kind IN ('server') ORDER BY name, kind LIMIT 10000"
        );
        let all = "SELECT DISTINCT name, kind FROM spans ORDER BY name, kind LIMIT 10000";
        assert_eq!(operations_query("", &[], false), all);
        let late = " WHERE start_time > now() - INTERVAL '604800 seconds' ORDER BY";
        assert!(operations_query("", &[], true).contains(late));
    }
}
