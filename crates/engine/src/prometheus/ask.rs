//! Asking for metrics.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use kymo_promql::ast::Expr;
use kymo_promql::eval::{EvalError, Evaluation, Times, evaluate};
use kymo_promql::labels::Labels;
use kymo_promql::source::{Select, Series};

use super::catalog::{Cardinality, SeriesQuery};
use super::exemplars::Exemplar;
use super::metadata::Metadata;
use super::options::PrometheusOptions;
use super::view::View;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::running::Question;
use crate::tenants::Tenants;

/// A query in PromQL.
#[derive(Debug, Clone)]
pub struct PromQuery {
    /// The expression.
    pub expr: Expr,
    /// When it is evaluated.
    pub times: Times,
    /// How old a sample may be to count as current, if not as usual.
    pub lookback: Option<Duration>,
    /// How long the query may take, if not as long as any.
    pub timeout: Option<Duration>,
}

impl Engine {
    /// Settings of PromQL.
    pub fn prometheus(&self) -> &PrometheusOptions {
        &self.core().options.prometheus
    }

    /// Evaluates an expression over what was acknowledged for some tenants.
    pub async fn promql(
        &self,
        tenants: impl Into<Tenants>,
        query: PromQuery,
    ) -> Result<Evaluation, EngineError> {
        let options = self.core().options.prometheus.clone();
        let threads = self.core().options.threads.max(1);
        let (timeout, lookback) = (query.timeout, query.lookback);
        let question = Question::new("promql", &query.expr.to_string());
        let asking = move |view: &View| {
            let options = options.evaluation(query.lookback, threads);
            evaluate(&query.expr, query.times, view, &options, view).map_err(failed)
        };
        self.view_with(tenants.into(), question, timeout, lookback, asking).await
    }

    /// Series with their samples, as they are stored: for remote read and federation.
    pub async fn prom_select(
        &self,
        tenants: impl Into<Tenants>,
        selects: Vec<Select>,
    ) -> Result<Vec<Vec<Series>>, EngineError> {
        let asking = move |view: &View| {
            selects.iter().map(|select| view.select_series(select)).collect::<Result<Vec<_>, _>>()
        };
        self.view(tenants.into(), asking).await
    }

    /// The label sets of series, in order.
    pub async fn prom_series(
        &self,
        tenants: impl Into<Tenants>,
        query: SeriesQuery,
    ) -> Result<Vec<Labels>, EngineError> {
        self.view(tenants.into(), move |view| view.series(&query)).await
    }

    /// The names of labels, in order.
    pub async fn prom_label_names(
        &self,
        tenants: impl Into<Tenants>,
        query: SeriesQuery,
    ) -> Result<Vec<String>, EngineError> {
        self.view(tenants.into(), move |view| view.label_names(&query)).await
    }

    /// The values of a label, in order.
    pub async fn prom_label_values(
        &self,
        tenants: impl Into<Tenants>,
        name: String,
        query: SeriesQuery,
    ) -> Result<Vec<String>, EngineError> {
        self.view(tenants.into(), move |view| view.label_values(&name, &query)).await
    }

    /// How many series there are, by what.
    pub async fn prom_cardinality(
        &self,
        tenants: impl Into<Tenants>,
        query: SeriesQuery,
    ) -> Result<Cardinality, EngineError> {
        self.view(tenants.into(), move |view| view.cardinality(&query)).await
    }

    /// What is known of metrics, by name.
    pub async fn prom_metadata(
        &self,
        tenants: impl Into<Tenants>,
        metric: Option<String>,
        query: SeriesQuery,
    ) -> Result<BTreeMap<String, BTreeSet<Metadata>>, EngineError> {
        self.view(tenants.into(), move |view| view.metadata(metric.as_deref(), &query)).await
    }

    /// Exemplars by labels of their series.
    pub async fn prom_exemplars(
        &self,
        tenants: impl Into<Tenants>,
        query: SeriesQuery,
    ) -> Result<BTreeMap<Labels, Vec<Exemplar>>, EngineError> {
        self.view(tenants.into(), move |view| view.exemplars(&query)).await
    }

    async fn view<T: Send + 'static>(
        &self,
        tenants: Tenants,
        answer: impl Fn(&View) -> Result<T, EngineError> + Send + 'static,
    ) -> Result<T, EngineError> {
        let question = Question::new("promql", "names and labels");
        self.view_with(tenants, question, None, None, answer).await
    }

    async fn view_with<T: Send + 'static>(
        &self,
        tenants: Tenants,
        question: Question,
        timeout: Option<Duration>,
        lookback: Option<Duration>,
        answer: impl Fn(&View) -> Result<T, EngineError> + Send + 'static,
    ) -> Result<T, EngineError> {
        let lookback = lookback.unwrap_or(self.prometheus().lookback);
        self.answered_in_turn(tenants, question, timeout, move |core, tenants, clock| {
            answer(&View::new(core, tenants, clock, lookback)?)
        })
        .await
    }
}

/// What an error of the evaluation is to the engine.
fn failed(error: EvalError) -> EngineError {
    match error {
        EvalError::Source(error) => match error.downcast::<EngineError>() {
            Ok(error) => *error,
            Err(error) => EngineError::Internal(error.to_string()),
        },
        EvalError::Canceled => EngineError::Cancelled,
        error => EngineError::Evaluation(Arc::new(error)),
    }
}
