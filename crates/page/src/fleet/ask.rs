//! Asking PromQL: a value of each series, or its values over time.

use std::collections::BTreeMap;

use kymo_engine::prometheus::PromQuery;
use kymo_engine::{Engine, EngineError, Tenants};
use kymo_promql::eval::{Outcome, Times, VectorSample};
use kymo_promql::parser::parse;
use kymo_promql::sample::Value;

/// Whom and about whose data.
#[derive(Debug)]
pub struct Asking<'a> {
    /// Whom.
    pub engine: &'a Engine,
    /// Whose data.
    pub tenants: &'a Tenants,
}

/// Labels of a series.
pub(crate) type Labels = BTreeMap<String, String>;

/// A series with its values at the times that were asked for.
#[derive(Debug)]
pub struct Found {
    /// Its labels.
    pub labels: Labels,
    /// Milliseconds since 1970, and the value.
    pub points: Vec<(i64, f64)>,
}

impl Asking<'_> {
    /// The value of each series at a time; what is no number is left out.
    pub(crate) async fn values(
        &self,
        query: &str,
        at_millis: i64,
    ) -> Result<Vec<(Labels, f64)>, EngineError> {
        let found = self.ask(query, Times::instant(at_millis)).await?;
        let Outcome::Vector { samples, .. } = found else { return Ok(Vec::new()) };
        let value = |sample: &VectorSample| match sample.value {
            Value::Float(value) if value.is_finite() => Some((labels(&sample.labels), value)),
            _ => None,
        };
        Ok(samples.iter().filter_map(value).collect())
    }

    /// Series with their values over time; what is no number, such as a part of nothing, is left out,
    /// and so are series without any.
    ///
    /// # Errors
    ///
    /// If the query cannot be read, or fails.
    pub async fn series(&self, query: &str, times: Times) -> Result<Vec<Found>, EngineError> {
        let Outcome::Matrix(series) = self.ask(query, times).await? else { return Ok(Vec::new()) };
        Ok(series
            .iter()
            .map(|series| Found {
                labels: labels(&series.labels),
                points: series.floats.iter().copied().filter(|(_, v)| v.is_finite()).collect(),
            })
            .filter(|series| !series.points.is_empty())
            .collect())
    }

    async fn ask(&self, query: &str, times: Times) -> Result<Outcome, EngineError> {
        let expr =
            parse(query).map_err(|error| EngineError::Internal(format!("{query}: {error}")))?;
        let query = PromQuery { expr, times, lookback: None, timeout: None };
        Ok(self.engine.promql(self.tenants.clone(), query).await?.outcome)
    }
}

fn labels(labels: &kymo_promql::labels::Labels) -> Labels {
    labels.iter().map(|label| (label.name.to_string(), label.value.to_string())).collect()
}
