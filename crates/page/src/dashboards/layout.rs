//! `POST /api/dashboards/layout`: variables with what they offer, and a flat list of panels with their
//! places, repeated as the values say. Titles and texts have their variables put in; queries are asked
//! later, panel by panel, and annotations are only listed: nothing that is marked keeps panels waiting.

use std::collections::BTreeMap;

use axum::body::Bytes;
use axum::extract::State;
use axum::extract::rejection::BytesRejection;
use axum::response::Response;
use kymo_dash::effort;
use kymo_dash::interpolate::{Context, Held, Style};
use kymo_dash::layout::{LaidOut, PlacedPanel, PlacedRow, PlacedSection, Scope, lay_out};
use kymo_dash::limits::{MAX_LINK_BYTES, MAX_LINKS};
use kymo_dash::model::Choice;
use serde::de::IgnoredAny;
use serde_json::{Value, json};

use super::annotations::listed;
use super::asked::{self, About};
use super::limits::{LAID_OUT_WITHIN, MAX_LAYOUT_BYTES};
use super::resolve::{Options, Resolved, resolve};
use crate::Page;
use crate::answer::{Failed, Who, Whose, json as answer};

pub(super) async fn layout(
    State(page): State<Page>,
    Whose(tenants): Whose,
    Who(by): Who,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, Failed> {
    let (asked, IgnoredAny) = asked::read(&page, body).await?;
    let about = asked.about(&page, tenants, &by).await?;
    let (about, variables) = resolve(&page, about, Options::Wanted).await?;
    // Many panels become text on the engine's threads, not on those that acknowledge.
    let telling = move || effort::within(LAID_OUT_WITHIN, || told(&about, &variables));
    page.engine.blocking(telling).await?
}

fn told(about: &About, variables: &[Resolved]) -> Result<Response, Failed> {
    let dashboard = &about.inspected.dashboard;
    let laid_out = lay_out(dashboard, &about.context.variables);
    let mut room = Room { panels: Vec::new(), left_bytes: MAX_LAYOUT_BYTES };
    let is_whole = all(&laid_out, about, &mut room);
    let spans: Vec<_> = laid_out.sections.iter().map(PlacedSection::span).collect();
    let links: Vec<Value> =
        dashboard.links.iter().filter_map(|link| filled(link, &about.context)).collect();
    let time = about.context.time;
    answer(&json!({
        "title": about.context.fill(&dashboard.title, Style::Text),
        "dashboard": dashboard,
        "links": links,
        "from": time.from_millis,
        "to": time.to_millis,
        "variables": variables,
        "sections": spans,
        "panels": room.panels,
        "truncated": laid_out.is_cut || !is_whole,
        "annotations": listed(dashboard),
    }))
}

/// Panels and headings as the page gets them, as many as an answer has room for.
struct Room {
    panels: Vec<Value>,
    left_bytes: usize,
}

impl Room {
    /// Adds one, if there is room.
    fn add(&mut self, shown: Value) -> bool {
        let bytes = shown.to_string().len();
        let has_room = bytes <= self.left_bytes;
        if has_room {
            self.left_bytes -= bytes;
            self.panels.push(shown);
        }
        has_room
    }
}

/// Adds all panels and headings. Says whether there was room for them.
fn all(laid_out: &LaidOut<'_>, about: &About, room: &mut Room) -> bool {
    // One context for all copies: variables may have many values.
    let mut context = about.context.clone();
    for section in &laid_out.sections {
        if let Some(row) = &section.row {
            context.scoped = held(&about.context, &row.scope);
            if !room.add(heading(row, section.top, &context)) {
                return false;
            }
        }
        let row = section.row.as_ref().map(|row| row.key.as_str());
        for panel in &section.panels {
            context.scoped = held(&about.context, &panel.scope);
            if !room.add(shown(panel, row, about, &context)) {
                return false;
            }
        }
    }
    true
}

/// A context in which the values of one copy hold.
pub(super) fn scoped(context: &Context, scope: &Scope) -> Context {
    Context { scoped: held(context, scope), ..context.clone() }
}

/// What variables hold in one copy.
fn held(context: &Context, scope: &Scope) -> BTreeMap<String, Held> {
    let one = |(name, choice): (&String, &Choice)| {
        // As a list: within a query it is written as the variable is.
        let whole = context.variables.get(name);
        let is_list = whole.is_some_and(|held| held.is_list);
        let members = whole.map(|held| held.members.clone()).unwrap_or_default();
        let held = Held { values: vec![choice.clone()], members, is_list, ..Held::default() };
        (name.clone(), held)
    };
    scope.iter().map(one).collect()
}

fn heading(row: &PlacedRow<'_>, top: i64, context: &Context) -> Value {
    json!({
        "key": row.key,
        "id": row.row.id,
        "type": "row",
        "title": context.fill(&row.row.title, Style::Text),
        "collapsed": row.row.is_collapsed,
        "gridPos": {"x": 0, "y": top, "w": 24, "h": 1},
        "scope": row.scope,
    })
}

fn shown(placed: &PlacedPanel<'_>, row: Option<&str>, about: &About, context: &Context) -> Value {
    let panel = placed.panel;
    let report = about.inspected.report.panels.iter().find(|report| report.id == panel.id);
    json!({
        "key": placed.key,
        "id": panel.id,
        "row": row,
        "type": panel.kind,
        "title": context.fill(&panel.title, Style::Text),
        "description": context.fill(&panel.description, Style::Marked),
        "transparent": panel.is_transparent,
        "gridPos": placed.grid,
        "options": filled_texts(&panel.kind, &panel.options, context),
        "fieldConfig": panel.field_config,
        "links": panel
            .links
            .iter()
            .take(MAX_LINKS)
            .filter_map(|link| filled(link, context))
            .collect::<Vec<_>>(),
        "scope": placed.scope,
        "queries": panel.targets.iter().filter(|target| !target.is_hidden).count(),
        "timeFrom": filled_time(panel.time_from.as_deref(), context),
        "timeShift": filled_time(panel.time_shift.as_deref(), context),
        "hideTimeOverride": panel.hides_time_override,
        "interval": panel.interval,
        "maxDataPoints": panel.max_data_points,
        "status": report.map(|report| report.status),
        "reasons": report.map(|report| &report.reasons),
    })
}

/// A time of a panel's own with variables put in, if that leaves anything.
pub(super) fn filled_time(text: Option<&str>, context: &Context) -> Option<String> {
    let text = context.fill(text?, Style::Glob);
    (!text.trim().is_empty()).then_some(text)
}

/// A text panel shows its text with variables put in, whose values are no markup of it; what other
/// options say is put in where it is drawn, or by the fields.
fn filled_texts(kind: &str, options: &Value, context: &Context) -> Value {
    let mut options = options.clone();
    let is_plain = options.get("mode").and_then(Value::as_str) == Some("code");
    let style = if is_plain { Style::Text } else { Style::Marked };
    if kind == "text"
        && let Some(Value::String(content)) = options.get_mut("content")
    {
        *content = context.fill(content, style);
    }
    options
}

/// A link with variables put into its address and title; none if that makes it longer than links are.
fn filled(link: &Value, context: &Context) -> Option<Value> {
    let mut link = link.clone();
    for (key, style) in [("url", Style::Glob), ("title", Style::Text), ("tooltip", Style::Text)] {
        if let Some(Value::String(text)) = link.get_mut(key) {
            *text = context.fill(text, style);
            if text.len() > MAX_LINK_BYTES {
                return None;
            }
        }
    }
    Some(link)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_room_is_left_out_and_said() {
        let mut room = Room { panels: Vec::new(), left_bytes: 10 };
        assert!(room.add(json!("12345678")));
        assert!(!room.add(json!("1")));
        assert_eq!(room.panels, [json!("12345678")]);
    }

    #[test]
    fn times_of_panels_have_their_variables_put_in() {
        let held = |(name, value): (&str, &str)| (name.to_owned(), Held::one(value));
        let variables = BTreeMap::from([("span", "2h"), ("none", "")].map(held));
        let context = Context { variables, ..Context::default() };
        assert_eq!(filled_time(Some("now-$span"), &context).as_deref(), Some("now-2h"));
        assert_eq!(filled_time(Some("$none"), &context), None);
        assert_eq!(filled_time(None, &context), None);
    }

    #[test]
    fn a_link_that_variables_make_too_long_is_none() {
        let long = "x".repeat(MAX_LINK_BYTES);
        let variables = [("long", Held::one(long)), ("v", Held::one("a"))];
        let variables = variables.map(|(name, held)| (name.to_owned(), held)).into();
        let context = Context { variables, ..Context::default() };
        let link = json!({"url": "/d/$v", "title": "T $v"});
        assert_eq!(filled(&link, &context), Some(json!({"url": "/d/a", "title": "T a"})));
        assert_eq!(filled(&json!({"url": "/d/$long"}), &context), None);
    }

    #[test]
    fn values_are_told_from_the_markup_of_text_panels_and_from_nothing_in_plain_ones() {
        let held = Held::one("<h1>x</h1>");
        let variables = BTreeMap::from([("what".to_owned(), held)]);
        let context = Context { variables, ..Context::default() };
        let filled = |mode: &str| {
            let options = json!({"mode": mode, "content": "a $what"});
            filled_texts("text", &options, &context)["content"].clone()
        };
        assert_eq!(filled("code"), json!("a <h1>x</h1>"));
        for mode in ["markdown", "html"] {
            assert_eq!(filled(mode), json!("a \u{e000}<h1>x</h1>\u{e001}"));
        }
    }
}
