//! Dashboards from before there was a grid: rows of a height, in which panels take spans of twelve.

use serde_json::{Value, json};

use crate::model::panel::COLUMNS;
use crate::model::read::{self, Object};

/// Pixels of a row of the grid, with the gap below.
const GRID_ROW_PIXELS: f64 = 38.0;
/// The height of a row that says none.
const ROW_PIXELS: f64 = 250.0;
/// The least height of a panel.
const LEAST_HEIGHT: i64 = 3;

/// Puts the panels of `rows` onto the grid. A dashboard that has panels already keeps them.
pub(super) fn to_grid(json: &mut Object) {
    let Some(Value::Array(rows)) = json.remove("rows") else { return };
    if !read::list(json, "panels").is_empty() {
        return;
    }
    let rows: Vec<&Object> = rows.iter().filter_map(Value::as_object).collect();
    // Headings matter if one row is folded, repeated or shows its title.
    let has_headings = rows.iter().any(|row| {
        read::is_true(row, "collapse")
            || read::is_true(row, "showTitle")
            || read::text(row, "repeat").is_some()
    });
    let mut panels = Vec::new();
    let mut top = 0;
    for row in rows {
        let is_collapsed = read::is_true(row, "collapse");
        if has_headings {
            panels.push(heading(row, is_collapsed, top));
            top += 1;
        }
        let (placed, bottom) = place(row, top);
        match panels.last_mut() {
            Some(heading) if is_collapsed => heading["panels"] = Value::Array(placed),
            _ => {
                panels.extend(placed);
                top = bottom;
            }
        }
    }
    json.insert("panels".to_owned(), Value::Array(panels));
}

fn heading(row: &Object, is_collapsed: bool, top: i64) -> Value {
    let mut heading = json!({
        "type": "row",
        "title": read::text(row, "title").unwrap_or_default(),
        "collapsed": is_collapsed,
        "gridPos": {"x": 0, "y": top, "w": COLUMNS, "h": 1},
        "panels": [],
    });
    if let Some(variable) = read::text(row, "repeat") {
        heading["repeat"] = json!(variable);
    }
    heading
}

/// The panels of a row, from left to right; one that has no room goes below.
fn place(row: &Object, top: i64) -> (Vec<Value>, i64) {
    let row_height = height(row.get("height")).unwrap_or_else(|| rows_of(ROW_PIXELS));
    let (mut x, mut y, mut bottom) = (0, top, top);
    let mut placed = Vec::new();
    for panel in read::list(row, "panels").iter().filter_map(Value::as_object) {
        let w = ((read::number(panel, "span").unwrap_or(4.0) * 2.0) as i64).clamp(1, COLUMNS);
        let h = height(panel.get("height")).unwrap_or(row_height);
        if x + w > COLUMNS {
            (x, y) = (0, bottom);
        }
        let mut panel = panel.clone();
        panel.insert("gridPos".to_owned(), json!({"x": x, "y": y, "w": w, "h": h}));
        if let Some(least) = read::number(&panel, "minSpan").filter(|least| *least >= 1.0) {
            panel.insert("maxPerRow".to_owned(), json!((12.0 / least).floor().max(1.0) as i64));
        }
        panel.remove("span");
        panel.remove("minSpan");
        placed.push(Value::Object(panel));
        x += w;
        bottom = bottom.max(y + h);
    }
    (placed, bottom)
}

/// `250px`, `250` or 250, in rows of the grid.
fn height(of: Option<&Value>) -> Option<i64> {
    let text = read::text_of(of?)?;
    let pixels: f64 = text.trim_end_matches("px").trim().parse().ok()?;
    Some(rows_of(pixels))
}

fn rows_of(pixels: f64) -> i64 {
    ((pixels / GRID_ROW_PIXELS).ceil() as i64).clamp(LEAST_HEIGHT, 1_000)
}
