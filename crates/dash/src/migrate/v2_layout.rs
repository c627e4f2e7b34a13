//! Layouts of Grafana's second schema, as panels on the grid. Tabs become rows; what arranges itself
//! gets places three abreast.

use serde_json::{Value, json};

use super::notes::Notes;
use crate::limits::MAX_PANELS;
use crate::model::panel::COLUMNS;
use crate::model::read::{self, Object};

/// How deep layouts may be within each other. Grafana has rows in tabs in rows.
const MAX_NESTING: usize = 8;

/// Panels as they are placed, from top to bottom.
pub(super) struct Layout<'a> {
    panels: Vec<Value>,
    top: i64,
    nesting: usize,
    general: &'a mut Notes,
}

impl<'a> Layout<'a> {
    pub(super) fn new(general: &'a mut Notes) -> Self {
        Self { panels: Vec::new(), top: 0, nesting: 0, general }
    }

    pub(super) fn finish(self) -> Vec<Value> {
        self.panels
    }

    /// Places what a layout holds, below what is there.
    pub(super) fn walk(&mut self, layout: &Object) {
        if self.nesting >= MAX_NESTING || self.panels.len() > MAX_PANELS {
            return self.general.lost("its layouts are nested too deep");
        }
        self.nesting += 1;
        let empty = Object::new();
        let spec = read::object(layout, "spec").unwrap_or(&empty);
        match read::text(layout, "kind").unwrap_or_default() {
            "GridLayout" => self.grid(spec),
            "AutoGridLayout" | "ResponsiveGridLayout" => self.auto(spec),
            "RowsLayout" => self.rows(read::list(spec, "rows")),
            "TabsLayout" => {
                self.general.changed("tabs are shown as rows");
                self.rows(read::list(spec, "tabs"));
            }
            other => self.general.lost(format!("the layout `{other}` is not known")),
        }
        self.nesting -= 1;
    }

    fn grid(&mut self, spec: &Object) {
        let (begin, mut bottom) = (self.top, self.top);
        for item in read::list(spec, "items").iter().filter_map(Value::as_object) {
            let Some(inner) = read::object(item, "spec") else { continue };
            let part = |key, otherwise| read::integer(inner, key).unwrap_or(otherwise);
            if read::text(item, "kind") == Some("GridLayoutRow") {
                self.top = bottom;
                self.heading(inner, read::is_true(inner, "collapsed"));
                self.grid(&json_object(json!({"items": read::list(inner, "elements")})));
                bottom = self.top;
                continue;
            }
            let y = part("y", 0).clamp(0, 100_000);
            let h = part("height", 8).clamp(1, 1_000);
            let place = json!({"x": part("x", 0), "y": begin + y, "w": part("width", 12), "h": h});
            bottom = bottom.max(begin + y + h);
            self.panel(inner, place);
        }
        self.top = bottom;
    }

    fn auto(&mut self, spec: &Object) {
        let abreast = read::integer(spec, "maxColumnCount").unwrap_or(3).clamp(1, 6);
        let (w, h) = (COLUMNS / abreast, 9);
        let mut count = 0;
        for item in read::list(spec, "items").iter().filter_map(Value::as_object) {
            let Some(inner) = read::object(item, "spec") else { continue };
            let (column, row) = (count % abreast, count / abreast);
            self.panel(inner, json!({"x": column * w, "y": self.top + row * h, "w": w, "h": h}));
            count += 1;
        }
        self.top += (count + abreast - 1) / abreast * h;
    }

    fn rows(&mut self, rows: &[Value]) {
        for row in rows.iter().filter_map(Value::as_object) {
            let Some(spec) = read::object(row, "spec") else { continue };
            let is_collapsed = read::is_true(spec, "collapse");
            let has_heading = !read::is_true(spec, "hideHeader");
            if has_heading {
                self.heading(spec, is_collapsed);
            }
            let place = self.panels.len();
            if let Some(layout) = read::object(spec, "layout") {
                self.walk(layout);
            }
            if is_collapsed && has_heading {
                self.fold(place);
            }
        }
    }

    /// Moves what was placed from there on into the heading before it. Rows within it cannot be there
    /// in the classic schema: they follow it, folded too.
    fn fold(&mut self, place: usize) {
        let mut headings = vec![(place.saturating_sub(1), Vec::new())];
        let mut kept = Vec::new();
        for panel in self.panels.split_off(place) {
            if panel["type"] == "row" {
                headings.push((place + kept.len(), Vec::new()));
                kept.push(panel);
            } else if let Some((_, panels)) = headings.last_mut() {
                panels.push(panel);
            }
        }
        if !kept.is_empty() {
            self.general.changed("rows within a folded row are shown below it");
        }
        self.panels.append(&mut kept);
        for (place, panels) in headings {
            let Some(Value::Object(heading)) = self.panels.get_mut(place) else { continue };
            heading.insert("collapsed".to_owned(), json!(true));
            // One that was folded before holds its panels already.
            if let Some(Value::Array(within)) = heading.get_mut("panels") {
                within.extend(panels);
            }
        }
    }

    fn heading(&mut self, spec: &Object, is_collapsed: bool) {
        let mut heading = json!({
            "type": "row",
            "title": read::text(spec, "title").unwrap_or_default(),
            "collapsed": is_collapsed,
            "gridPos": {"x": 0, "y": self.top, "w": COLUMNS, "h": 1},
            "panels": [],
        });
        if let Some(repeat) = read::object(spec, "repeat") {
            heading["repeat"] = read::member(repeat, "value").clone();
        }
        self.panels.push(heading);
        self.top += 1;
    }

    fn panel(&mut self, item: &Object, place: Value) {
        let name = read::object(item, "element").and_then(|element| read::text(element, "name"));
        let Some(name) = name else { return };
        let mut panel = json!({"__element": name, "gridPos": place});
        if let Some(repeat) = read::object(item, "repeat") {
            panel["repeat"] = read::member(repeat, "value").clone();
            panel["repeatDirection"] = read::member(repeat, "direction").clone();
            panel["maxPerRow"] = read::member(repeat, "maxPerRow").clone();
        }
        self.panels.push(panel);
    }
}

fn json_object(value: Value) -> Object {
    match value {
        Value::Object(of) => of,
        _ => Object::new(),
    }
}
