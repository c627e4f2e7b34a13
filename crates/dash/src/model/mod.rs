//! A dashboard as the rest of this crate understands it.
//!
//! It is read from JSON that [`crate::migrate`] has brought up to date. Reading is lenient: what is
//! missing or of a wrong type gets its default, since one bad member must not cost the other panels. The
//! original JSON is kept elsewhere, unchanged.
//!
//! | module | what it holds |
//! |---|---|
//! | [`panel`] | panels, their queries, their place |
//! | [`variable`] | variables as they are written |
//! | [`annotation`] | annotations, and the queries that they ask |
//! | [`source`] | data sources, and who of us answers |
//! | [`mod@read`] | lenient reading of JSON |

pub mod annotation;
pub mod panel;
pub mod read;
pub mod source;
pub mod variable;

use serde::Serialize;
use serde_json::Value;

pub use annotation::{Annotation, PanelFilter};
pub use panel::{GridPos, Panel, Repeat, RepeatDirection, Row, Section, Target};
pub use source::{Answerer, Language, SourceRef};
pub use variable::{Choice, Variable, VariableKind};

use crate::limits::{MAX_PANELS, MAX_VARIABLES};
use read::Object;

/// A dashboard.
#[derive(Debug, Clone, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Dashboard {
    /// Its id; empty if it has none yet.
    pub uid: String,
    /// Its title.
    pub title: String,
    /// What it is for.
    pub description: String,
    /// Its tags.
    pub tags: Vec<String>,
    /// `browser`, `utc` or a name as `Europe/Berlin`; empty for the default.
    pub timezone: String,
    /// The time it begins with, as `now-6h`.
    pub time_from: String,
    /// The time it ends with, as `now`.
    pub time_to: String,
    /// How often it asks again, as `1m`.
    pub refresh: Option<String>,
    /// Whether the pointer is shown in all panels: 0 no, 1 its line, 2 also values.
    pub graph_tooltip: i64,
    /// The first day of a week, as `monday`.
    pub week_start: String,
    /// The month that a fiscal year begins with: 0 is January.
    pub fiscal_year_start_month: u32,
    /// Links, as they are written.
    pub links: Vec<Value>,
    /// Annotations, as they are written.
    pub annotations: Vec<Value>,
    /// Variables, in the order of the dashboard.
    #[serde(skip)]
    pub variables: Vec<Variable>,
    /// Rows and their panels, from top to bottom.
    #[serde(skip)]
    pub sections: Vec<Section>,
}

impl Dashboard {
    /// Reads a dashboard that is up to date.
    pub fn read(of: &Object) -> Self {
        let own_text = |key| read::text(of, key).unwrap_or_default().to_owned();
        let time = read::object(of, "time");
        let time_of = |key, otherwise: &str| {
            let given = time.and_then(|time| read::text_of(read::member(time, key)));
            given.filter(|text| !text.is_empty()).unwrap_or_else(|| otherwise.to_owned())
        };
        let inner = |outer, key: &str| {
            read::object(of, outer).map_or(&[][..], |inner| read::list(inner, key))
        };
        let variables = inner("templating", "list").iter().filter_map(Value::as_object);
        let variables = variables.filter_map(Variable::read).take(MAX_VARIABLES);
        Self {
            uid: own_text("uid"),
            title: own_text("title"),
            description: own_text("description"),
            tags: read::list(of, "tags").iter().filter_map(read::text_of).collect(),
            timezone: own_text("timezone"),
            time_from: time_of("from", "now-6h"),
            time_to: time_of("to", "now"),
            refresh: read::text(of, "refresh").map(str::to_owned),
            graph_tooltip: read::integer(of, "graphTooltip").unwrap_or(0).clamp(0, 2),
            week_start: own_text("weekStart"),
            fiscal_year_start_month: read::integer(of, "fiscalYearStartMonth")
                .and_then(|month| u32::try_from(month).ok())
                .filter(|month| *month < 12)
                .unwrap_or(0),
            links: read::list(of, "links").to_vec(),
            annotations: inner("annotations", "list").to_vec(),
            variables: variables.collect(),
            sections: sections(read::list(of, "panels")),
        }
    }

    /// All panels, without rows, from top to bottom.
    pub fn panels(&self) -> impl Iterator<Item = &Panel> {
        self.sections.iter().flat_map(|section| &section.panels)
    }

    /// Annotations that ask a query, those that are switched off too.
    pub fn asking_annotations(&self) -> impl Iterator<Item = Annotation> {
        let written = self.annotations.iter().filter_map(Value::as_object);
        written.filter_map(Annotation::read)
    }

    /// A variable by its name.
    pub fn variable(&self, name: &str) -> Option<&Variable> {
        self.variables.iter().find(|variable| variable.name == name)
    }
}

/// Panels by the rows they belong to: those of a closed row are in it, those of an open one follow it.
/// What follows a closed one is of no row.
fn sections(panels: &[Value]) -> Vec<Section> {
    let mut sections: Vec<Section> = Vec::new();
    for panel in panels.iter().filter_map(Value::as_object).take(MAX_PANELS) {
        if panel::is_row(panel) {
            let within = read::list(panel, "panels").iter().filter_map(Value::as_object);
            let panels = within.take(MAX_PANELS).map(Panel::read).collect();
            sections.push(Section { row: Some(Row::read(panel)), panels });
            continue;
        }
        let panel = Panel::read(panel);
        let is_closed =
            |section: &Section| section.row.as_ref().is_some_and(|row| row.is_collapsed);
        match sections.last_mut() {
            Some(section) if !is_closed(section) => section.panels.push(panel),
            _ => sections.push(Section { row: None, panels: vec![panel] }),
        }
    }
    sections
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(of: Value) -> Dashboard {
        Dashboard::read(of.as_object().unwrap())
    }

    #[test]
    fn panels_belong_to_the_row_that_holds_or_precedes_them() {
        let dashboard = read(json!({"panels": [
            {"id": 1, "type": "stat"},
            {"id": 2, "type": "row", "collapsed": true, "panels": [{"id": 3, "type": "stat"}]},
            {"id": 4, "type": "row", "collapsed": false, "panels": []},
            {"id": 5, "type": "stat"},
            {"id": 6, "type": "row", "collapsed": true, "panels": [{"id": 7, "type": "stat"}]},
            {"id": 8, "type": "stat"},
            {"id": 9, "type": "stat"},
        ]}));
        let shape: Vec<(Option<i64>, Vec<i64>)> = dashboard
            .sections
            .iter()
            .map(|s| (s.row.as_ref().map(|r| r.id), s.panels.iter().map(|p| p.id).collect()))
            .collect();
        let rows = [(None, vec![1]), (Some(2), vec![3]), (Some(4), vec![5])];
        assert_eq!(shape[..3], rows);
        assert_eq!(shape[3..], [(Some(6), vec![7]), (None, vec![8, 9])]);
    }

    #[test]
    fn a_fiscal_year_begins_with_a_month_of_the_year() {
        for (written, month) in [(json!(3), 3), (json!("11"), 11), (json!(12), 0), (json!(-1), 0)] {
            assert_eq!(
                read(json!({"fiscalYearStartMonth": written})).fiscal_year_start_month,
                month
            );
        }
        assert_eq!(read(json!({})).fiscal_year_start_month, 0);
    }

    #[test]
    fn members_of_wrong_types_get_their_defaults() {
        let dashboard = read(json!({
            "title": 5, "tags": "x", "time": [], "panels": {"a": 1}, "templating": null,
            "graphTooltip": "9", "refresh": false, "links": 3
        }));
        assert_eq!(dashboard.title, "");
        assert_eq!((dashboard.time_from.as_str(), dashboard.graph_tooltip), ("now-6h", 2));
        assert!(dashboard.sections.is_empty() && dashboard.refresh.is_none());
    }
}
