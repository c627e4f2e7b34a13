//! Queries of panels, in each language, to frames.
//!
//! | module | what it answers |
//! |---|---|
//! | `promql` | series and tables of PromQL, heat maps, exemplars |
//! | `traceql`, `found` | searches as tables of spans or traces; series of TraceQL; one trace |
//! | `search` | the forms of Tempo's and Jaeger's search, as TraceQL |
//! | `logql` | lines and series of LogQL |
//! | `sql`, `macros` | tables and series of SQL |
//! | `series` | names of series, and frames of them |

mod found;
mod logql;
mod macros;
mod promql;
mod search;
mod series;
mod sql;
mod traceql;

use kymo_dash::frame::{Frame, Notice};
use kymo_dash::interpolate::interval::parse;
use kymo_dash::interpolate::{Context, Style, TimeRange, names};
use kymo_dash::model::read::{self, Object};
use kymo_dash::model::{Language, Panel, Target};
use kymo_dash::variables::{Filter, adhoc};
use kymo_engine::{EngineError, Tenants};
use kymo_promql::ast::Expr;
use serde::Serialize;

use super::limits::{MAX_POINTS_ASKED, USUAL_POINTS};
use crate::Page;
use crate::answer::Position;
use crate::paces;

pub(super) use macros::filled as filled_sql;
pub(super) use series::filled as with_labels;
pub(super) use sql::columns as sql_columns;

/// What frames of exemplars are called.
pub(super) const EXEMPLARS: &str = "exemplar";
/// The interval that rates are computed over. As a query's own interval it is its step.
const RATE_INTERVAL: &str = "__rate_interval";

/// What a query gave.
#[derive(Debug, Default)]
pub(super) struct Given {
    pub(super) frames: Vec<Frame>,
    /// The query as it was asked.
    pub(super) query: String,
    pub(super) notices: Vec<Notice>,
}

/// Why a query gave nothing, for people and for the editor.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Wrong {
    pub(super) message: String,
    /// Where in the query, if that is known: units of UTF-16 before it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) position: Option<usize>,
    /// The same for people: line and column, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) place: Option<(usize, usize)>,
    /// The query as it was asked.
    pub(super) query: String,
    /// What a request of its own would have been answered with.
    pub(super) status: u16,
    pub(super) ref_id: String,
}

impl Wrong {
    fn invalid(query: &str, message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            position: None,
            place: None,
            query: query.to_owned(),
            status: 400,
            ref_id: String::new(),
        }
    }

    fn at(query: &str, message: impl Into<String>, line: usize, column: usize) -> Self {
        let position = Some(Position::of(query, line, column).offset);
        Self { position, place: Some((line, column)), ..Self::invalid(query, message) }
    }

    fn of(query: &str, error: EngineError) -> Self {
        let message = error.to_string();
        let status = crate::answer::Failed::from(error).status().as_u16();
        Self { status, ..Self::invalid(query, message) }
    }

    /// Of SQL, whose errors name their place in their words.
    fn of_sql(query: &str, error: EngineError) -> Self {
        let place = match &error {
            EngineError::Invalid(fault) | EngineError::NotAllowed(fault) => fault.place(),
            _ => None,
        };
        let position = place.map(|(line, column)| Position::of(query, line, column).offset);
        Self { position, place, ..Self::of(query, error) }
    }
}

/// A query that is asked.
pub(super) struct Question<'a> {
    pub(super) page: &'a Page,
    pub(super) tenants: &'a Tenants,
    pub(super) panel: &'a Panel,
    pub(super) target: &'a Target,
    /// Variables and time, those of the panel; intervals are those of the query.
    pub(super) context: Context,
    /// Points that are wanted.
    pub(super) points: i64,
    /// Conditions that are added.
    pub(super) filters: &'a [Filter],
    /// Whether other queries of the panel give frames as well.
    pub(super) is_one_of_several: bool,
}

impl Question<'_> {
    pub(super) fn query(&self) -> &Object {
        &self.target.query
    }

    fn time(&self) -> TimeRange {
        self.context.time
    }

    /// How far samples of the metrics that an expression names are apart.
    async fn pace(&self, expr: &Expr) -> Option<i64> {
        paces::pace(self.page, self.tenants, self.time().to_millis, expr).await
    }

    fn range_millis(&self) -> i64 {
        self.time().to_millis - self.time().from_millis
    }

    /// A member of the query.
    fn text(&self, key: &str) -> &str {
        read::text(self.query(), key).unwrap_or_default()
    }

    /// The least interval: of the query, else of the panel. One that is itself computed, as
    /// `$__interval`, sets no bound.
    fn least_interval(&self) -> Option<i64> {
        let written = [self.text("interval"), self.panel.interval.as_deref().unwrap_or_default()];
        let is_computed = |text: &str| {
            let names = names(text);
            ["__interval", "__interval_ms", RATE_INTERVAL].iter().any(|name| names.contains(*name))
        };
        let duration = |text: &str| parse(&self.context.fill(text, Style::Glob));
        written.into_iter().filter(|text| !is_computed(text)).find_map(duration)
    }

    /// A query with the conditions of the dashboard added. It was parsed before: what is wrong with it
    /// is said of what is written.
    fn with_conditions(&self, query: &str, language: Language) -> Result<String, Wrong> {
        let wrong = |why: String| {
            Wrong::invalid(query, format!("the dashboard's conditions cannot be added: {why}"))
        };
        adhoc::add(query, language, self.filters).map_err(wrong)
    }

    /// Asks it.
    pub(super) async fn ask(mut self, language: Language) -> Result<Given, Wrong> {
        let ref_id = self.target.ref_id.clone();
        let answered = match language {
            Language::Promql => promql::ask(&mut self).await,
            Language::Traceql => traceql::ask(&mut self).await,
            Language::Jaeger => traceql::ask_as_jaeger(&mut self).await,
            Language::Logql => logql::ask(&mut self).await,
            Language::Sql => sql::ask(&mut self).await,
        };
        answered
            .map(|mut given| {
                for frame in &mut given.frames {
                    frame.ref_id = Some(ref_id.clone());
                }
                given
            })
            .map_err(|wrong| Wrong { ref_id: ref_id.clone(), ..wrong })
    }
}

/// How many points a panel gets: what it says itself, else what the page has room for.
pub(super) fn points(panel: &Panel, asked: Option<i64>) -> i64 {
    panel.max_data_points.or(asked).unwrap_or(USUAL_POINTS).clamp(1, MAX_POINTS_ASKED)
}
