//! `POST /api/dashboards/layout`: variables with what they offer, and a flat list of panels with their
//! places, repeated as the values say. Titles and texts have their variables put in; queries are asked
//! later, panel by panel.

use axum::Json;
use axum::extract::State;
use axum::extract::rejection::JsonRejection;
use axum::response::Response;
use kymo_dash::interpolate::{Context, Held, Style};
use kymo_dash::layout::{PlacedPanel, PlacedSection, Scope, lay_out};
use serde_json::{Value, json};

use super::asked::{About, Asked};
use super::resolve::{Options, resolve};
use crate::Page;
use crate::answer::{Failed, Who, Whose, json as answer};

pub(super) async fn layout(
    State(page): State<Page>,
    Whose(tenants): Whose,
    Who(by): Who,
    asked: Result<Json<Asked>, JsonRejection>,
) -> Result<Response, Failed> {
    let Json(asked) = asked.map_err(|error| Failed::Invalid(error.body_text()))?;
    let mut about = asked.about(&page, tenants, &by).await?;
    let variables = resolve(&page, &mut about, Options::Wanted).await;
    let dashboard = &about.inspected.dashboard;
    let laid_out = lay_out(dashboard, &about.context.variables);
    let mut panels = Vec::new();
    for section in &laid_out.sections {
        panels.extend(heading(section, &about.context));
        let row = section.row.as_ref().map(|row| row.key.as_str());
        panels.extend(section.panels.iter().map(|panel| shown(panel, row, &about)));
    }
    let spans: Vec<_> = laid_out.sections.iter().map(PlacedSection::span).collect();
    let links: Vec<Value> =
        dashboard.links.iter().map(|link| filled(link, &about.context)).collect();
    let time = about.context.time;
    answer(&json!({
        "title": about.context.fill(&dashboard.title, Style::Text),
        "dashboard": dashboard,
        "links": links,
        "from": time.from_millis,
        "to": time.to_millis,
        "variables": variables,
        "sections": spans,
        "panels": panels,
        "truncated": laid_out.is_cut,
    }))
}

/// A context in which the values of one copy hold.
pub(super) fn scoped(context: &Context, scope: &Scope) -> Context {
    let mut scoped = context.clone();
    for (name, choice) in scope {
        // As a list: within a query it is written as the variable is.
        let is_list = context.variables.get(name).is_some_and(|held| held.is_list);
        let held = Held { values: vec![choice.clone()], is_list, ..Held::default() };
        scoped.scoped.insert(name.clone(), held);
    }
    scoped
}

fn heading(section: &PlacedSection<'_>, context: &Context) -> Option<Value> {
    let row = section.row.as_ref()?;
    let context = scoped(context, &row.scope);
    Some(json!({
        "key": row.key,
        "id": row.row.id,
        "type": "row",
        "title": context.fill(&row.row.title, Style::Text),
        "collapsed": row.row.is_collapsed,
        "gridPos": {"x": 0, "y": section.top, "w": 24, "h": 1},
        "scope": row.scope,
    }))
}

fn shown(placed: &PlacedPanel<'_>, row: Option<&str>, about: &About) -> Value {
    let context = scoped(&about.context, &placed.scope);
    let panel = placed.panel;
    let report = about.inspected.report.panels.iter().find(|report| report.id == panel.id);
    json!({
        "key": placed.key,
        "id": panel.id,
        "row": row,
        "type": panel.kind,
        "title": context.fill(&panel.title, Style::Text),
        "description": context.fill(&panel.description, Style::Text),
        "transparent": panel.is_transparent,
        "gridPos": placed.grid,
        "options": filled_texts(&panel.kind, &panel.options, &context),
        "fieldConfig": panel.field_config,
        "links": panel.links.iter().map(|link| filled(link, &context)).collect::<Vec<_>>(),
        "scope": placed.scope,
        "queries": panel.targets.iter().filter(|target| !target.is_hidden).count(),
        "timeFrom": panel.time_from,
        "timeShift": panel.time_shift,
        "hideTimeOverride": panel.hides_time_override,
        "interval": panel.interval,
        "maxDataPoints": panel.max_data_points,
        "status": report.map(|report| report.status),
        "reasons": report.map(|report| &report.reasons),
    })
}

/// A text panel shows its text with variables put in; what other options say is put in where it is
/// drawn, or by the fields.
fn filled_texts(kind: &str, options: &Value, context: &Context) -> Value {
    let mut options = options.clone();
    if kind == "text"
        && let Some(Value::String(content)) = options.get_mut("content")
    {
        *content = context.fill(content, Style::Text);
    }
    options
}

/// A link with variables put into its address and title.
fn filled(link: &Value, context: &Context) -> Value {
    let mut link = link.clone();
    for (key, style) in [("url", Style::Glob), ("title", Style::Text), ("tooltip", Style::Text)] {
        if let Some(Value::String(text)) = link.get_mut(key) {
            *text = context.fill(text, style);
        }
    }
    link
}
