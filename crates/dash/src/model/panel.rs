//! Panels, their queries and their place on the grid of 24 columns.

use serde::Serialize;
use serde_json::Value;

use super::read::{self, Object};
use super::source::SourceRef;
use crate::limits::{MAX_GRID_ROWS, MAX_TARGETS};

/// Columns of the grid.
pub const COLUMNS: i64 = 24;

/// Panels that are drawn as their authors meant them.
pub const DRAWN: [&str; 18] = [
    "timeseries",
    "stat",
    "gauge",
    "bargauge",
    "table",
    "barchart",
    "piechart",
    "text",
    "logs",
    "traces",
    "heatmap",
    "histogram",
    "state-timeline",
    "status-history",
    "trend",
    "xychart",
    "dashlist",
    "row",
];

/// Kinds of panels that show no data, whatever queries are written in them.
const WITHOUT_DATA: [&str; 2] = ["text", "dashlist"];

/// A row's heading, if there is one, and the panels below.
#[derive(Debug, Clone, Default)]
pub struct Section {
    /// The heading. Those at the top, and behind a closed row, are without.
    pub row: Option<Row>,
    /// The panels.
    pub panels: Vec<Panel>,
}

/// A row's heading.
#[derive(Debug, Clone, Default)]
pub struct Row {
    /// Its id in the dashboard.
    pub id: i64,
    /// Its title, with variables.
    pub title: String,
    /// Whether its panels are folded away.
    pub is_collapsed: bool,
    /// The variable it is repeated by.
    pub repeat: Option<String>,
    /// Where it stands.
    pub grid: GridPos,
}

/// A place on the grid.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct GridPos {
    /// Columns from the left.
    pub x: i64,
    /// Rows from the top, about 30 pixels each.
    pub y: i64,
    /// Columns that it takes.
    pub w: i64,
    /// Rows that it takes.
    pub h: i64,
}

/// How a panel is repeated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repeat {
    /// By which variable.
    pub variable: String,
    /// Beside or below each other.
    pub direction: RepeatDirection,
    /// Most copies beside each other.
    pub max_per_row: i64,
}

/// Where the copies of a panel go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RepeatDirection {
    /// Beside each other.
    Horizontal,
    /// Below each other.
    Vertical,
}

/// A panel.
#[derive(Debug, Clone, Default)]
pub struct Panel {
    /// Its id in the dashboard.
    pub id: i64,
    /// What it draws, as `timeseries`.
    pub kind: String,
    /// Its title, with variables.
    pub title: String,
    /// What is shown on demand, with variables.
    pub description: String,
    /// Whether it has no frame.
    pub is_transparent: bool,
    /// Where its data comes from, unless a query says otherwise.
    pub source: Option<SourceRef>,
    /// Its place.
    pub grid: GridPos,
    /// Its queries.
    pub targets: Vec<Target>,
    /// What is done with the data, as written.
    pub transformations: Vec<Value>,
    /// How fields are shown: `defaults` and `overrides`, as written.
    pub field_config: Value,
    /// How it is drawn, as written.
    pub options: Value,
    /// The least interval, as `10s`.
    pub interval: Option<String>,
    /// Points that it wants at most, if not as many as it has pixels.
    pub max_data_points: Option<i64>,
    /// Its own time, as `1h`, instead of the dashboard's.
    pub time_from: Option<String>,
    /// How much earlier its time is, as `1d`.
    pub time_shift: Option<String>,
    /// Whether its own time is not shown.
    pub hides_time_override: bool,
    /// How it is repeated.
    pub repeat: Option<Repeat>,
    /// Links in its heading.
    pub links: Vec<Value>,
}

/// A query of a panel.
#[derive(Debug, Clone, Default)]
pub struct Target {
    /// How others name its data: `A`.
    pub ref_id: String,
    /// Whether it is switched off.
    pub is_hidden: bool,
    /// Where its data comes from, if not from where the panel says.
    pub source: Option<SourceRef>,
    /// All that is written of it.
    pub query: Object,
}

/// Whether a panel is a row's heading.
pub fn is_row(panel: &Object) -> bool {
    read::text(panel, "type") == Some("row")
}

impl GridPos {
    /// Reads a place; what is outside the grid is pushed into it.
    pub fn read(of: Option<&Object>) -> Self {
        let part = |key, otherwise| of.and_then(|of| read::integer(of, key)).unwrap_or(otherwise);
        let w = part("w", 12).clamp(1, COLUMNS);
        Self {
            x: part("x", 0).clamp(0, COLUMNS - w),
            y: part("y", 0).clamp(0, MAX_GRID_ROWS),
            w,
            h: part("h", 8).clamp(1, 1_000),
        }
    }
}

impl Row {
    pub(super) fn read(of: &Object) -> Self {
        Self {
            id: read::integer(of, "id").unwrap_or(0),
            title: read::text(of, "title").unwrap_or_default().to_owned(),
            is_collapsed: read::is_true(of, "collapsed"),
            repeat: read::text(of, "repeat").map(str::to_owned),
            grid: GridPos::read(read::object(of, "gridPos")),
        }
    }
}

impl Panel {
    /// Reads a panel that is up to date.
    pub fn read(of: &Object) -> Self {
        let own_text = |key| read::text(of, key).map(str::to_owned);
        let object = |key| match read::object(of, key) {
            Some(members) => Value::Object(members.clone()),
            None => Value::Object(Object::new()),
        };
        let targets = read::list(of, "targets").iter().filter_map(Value::as_object);
        Self {
            id: read::integer(of, "id").unwrap_or(0),
            kind: own_text("type").unwrap_or_default(),
            title: own_text("title").unwrap_or_default(),
            description: own_text("description").unwrap_or_default(),
            is_transparent: read::is_true(of, "transparent"),
            source: SourceRef::read(read::member(of, "datasource")),
            grid: GridPos::read(read::object(of, "gridPos")),
            targets: targets.take(MAX_TARGETS).enumerate().map(Target::read).collect(),
            transformations: read::list(of, "transformations").to_vec(),
            field_config: object("fieldConfig"),
            options: object("options"),
            interval: own_text("interval"),
            max_data_points: read::integer(of, "maxDataPoints").filter(|points| *points > 0),
            time_from: own_text("timeFrom"),
            time_shift: own_text("timeShift"),
            hides_time_override: read::is_true(of, "hideTimeOverride"),
            repeat: Repeat::read(of),
            links: read::list(of, "links").to_vec(),
        }
    }

    /// Whether it shows what queries give.
    pub fn shows_data(&self) -> bool {
        !WITHOUT_DATA.contains(&self.kind.as_str())
    }

    /// Where the data of one of its queries comes from.
    pub fn source_of<'a>(&'a self, target: &'a Target) -> Option<&'a SourceRef> {
        match &self.source {
            Some(source) if source.is_mixed() => target.source.as_ref(),
            Some(source) if source.is_dashboard() => Some(source),
            // The query's own: Grafana writes the panel's into each query as well.
            other => target.source.as_ref().or(other.as_ref()),
        }
    }
}

impl Repeat {
    fn read(of: &Object) -> Option<Self> {
        let variable = read::text(of, "repeat")?.to_owned();
        let direction = match read::text(of, "repeatDirection") {
            Some("v") => RepeatDirection::Vertical,
            _ => RepeatDirection::Horizontal,
        };
        let max_per_row = read::integer(of, "maxPerRow").unwrap_or(4).clamp(1, COLUMNS);
        Some(Self { variable, direction, max_per_row })
    }
}

impl Target {
    fn read((index, of): (usize, &Object)) -> Self {
        // Grafana names queries A, B, C: what has no name gets the one of its place.
        let letter = || char::from(b'A' + u8::try_from(index % 26).unwrap_or(0)).to_string();
        Self {
            ref_id: read::text(of, "refId").map_or_else(letter, str::to_owned),
            is_hidden: read::is_true(of, "hide"),
            source: SourceRef::read(read::member(of, "datasource")),
            query: of.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_place_outside_the_grid_is_pushed_into_it() {
        let place = |value: Value| GridPos::read(value.as_object());
        assert_eq!(place(Value::Null), GridPos { x: 0, y: 0, w: 12, h: 8 });
        let far = place(json!({"x": 23, "y": -4, "w": 30, "h": 1e12}));
        assert_eq!(far, GridPos { x: 0, y: 0, w: 24, h: 1_000 });
    }

    #[test]
    fn a_query_has_the_panels_source_unless_it_names_its_own() {
        let panel = |source: Value| {
            let panel = json!({
                "datasource": source,
                "targets": [{"datasource": {"type": "loki", "uid": "l"}}, {"refId": "Q"}]
            });
            Panel::read(panel.as_object().unwrap())
        };
        let of = |panel: &Panel| -> Vec<Option<String>> {
            let targets = panel.targets.iter();
            targets.map(|t| panel.source_of(t).map(|s| s.uid.clone())).collect()
        };
        let text = |t: &str| Some(t.to_owned());
        assert_eq!(of(&panel(json!("p"))), [text("l"), text("p")]);
        assert_eq!(of(&panel(json!("-- Mixed --"))), [text("l"), None]);
        assert_eq!(
            of(&panel(json!("-- Dashboard --"))),
            [text("-- Dashboard --"), text("-- Dashboard --")]
        );
        assert_eq!(panel(Value::Null).targets[0].ref_id, "A");
        assert_eq!(panel(Value::Null).targets[1].ref_id, "Q");
    }
}
