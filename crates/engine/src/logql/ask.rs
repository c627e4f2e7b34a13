//! Asking for log records.

use std::ops::Range;

use kymo_logql::ast::Expr;
use kymo_logql::labels::Labels;
use kymo_logql::matcher::LabelMatcher;
use kymo_logql::miner::Pattern;
use kymo_logql::request::Request;

use super::answer::{LogqlAnswer, StreamStats, Volume};
use super::catalog::{self, VolumeQuery};
use super::evaluate;
use super::options::LogqlOptions;
use super::patterns::{self, PatternQuery};
use super::view::View;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::running::Question;
use crate::tenants::Tenants;

impl Engine {
    /// Settings of LogQL.
    pub fn logql_options(&self) -> &LogqlOptions {
        &self.core().options.logql
    }

    /// Answers a query in LogQL over what was acknowledged for some tenants.
    pub async fn logql(
        &self,
        tenants: impl Into<Tenants>,
        expr: Expr,
        request: Request,
    ) -> Result<LogqlAnswer, EngineError> {
        let question = Question::new("logql", &expr.to_string());
        let asking = move |view: &View| evaluate::answer(view, &expr, &request);
        self.log_view_of(tenants.into(), question, asking).await
    }

    /// Labels of the streams that have lines within a time and that one of the selectors selects; of
    /// all streams without selectors. In order.
    pub async fn log_series(
        &self,
        tenants: impl Into<Tenants>,
        selectors: Vec<Vec<LabelMatcher>>,
        time: Range<i64>,
    ) -> Result<Vec<Labels>, EngineError> {
        let asking = move |view: &View| catalog::series(view, &selectors, &time);
        Ok(self.log_view(tenants.into(), asking).await?.into_iter().collect())
    }

    /// How much there is of some streams.
    pub async fn log_stats(
        &self,
        tenants: impl Into<Tenants>,
        matchers: Vec<LabelMatcher>,
        time: Range<i64>,
    ) -> Result<StreamStats, EngineError> {
        self.log_view(tenants.into(), move |view| catalog::stats(view, &matchers, &time)).await
    }

    /// Bytes of lines by labels, the largest first.
    pub async fn log_volume(
        &self,
        tenants: impl Into<Tenants>,
        query: VolumeQuery,
    ) -> Result<Vec<Volume>, EngineError> {
        self.log_view(tenants.into(), move |view| catalog::volume(view, &query)).await
    }

    /// Templates of lines, the most frequent first.
    pub async fn log_patterns(
        &self,
        tenants: impl Into<Tenants>,
        query: PatternQuery,
    ) -> Result<Vec<Pattern>, EngineError> {
        self.log_view(tenants.into(), move |view| patterns::mine(view, &query)).await
    }

    async fn log_view<T: Send + 'static>(
        &self,
        tenants: Tenants,
        answer: impl Fn(&View) -> Result<T, EngineError> + Send + 'static,
    ) -> Result<T, EngineError> {
        let question = Question::new("logql", "streams and labels");
        self.log_view_of(tenants, question, answer).await
    }

    async fn log_view_of<T: Send + 'static>(
        &self,
        tenants: Tenants,
        question: Question,
        answer: impl Fn(&View) -> Result<T, EngineError> + Send + 'static,
    ) -> Result<T, EngineError> {
        self.answered_in_turn(tenants, question, None, move |core, tenants, clock| {
            answer(&View::new(core, tenants, clock)?)
        })
        .await
    }
}
