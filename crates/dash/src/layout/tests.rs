//! Repeated panels and rows, and what they push down.

use serde_json::{Value, json};

use super::*;

fn laid_out(panels: Value, values: &[&str]) -> Vec<String> {
    let dashboard = json!({"panels": panels});
    let dashboard = Dashboard::read(dashboard.as_object().unwrap());
    let held = Held {
        values: values.iter().map(|value| Choice::plain(*value)).collect(),
        ..Held::default()
    };
    let variables = BTreeMap::from([("v".to_owned(), held)]);
    let laid_out = lay_out(&dashboard, &variables);
    let mut shown = Vec::new();
    for section in laid_out.sections {
        if let Some(row) = &section.row {
            let value = row.scope.get("v").map_or("", |choice| &choice.value);
            shown.push(format!("row {} {} {value}", row.key, section.top).trim_end().to_owned());
        }
        for panel in section.panels {
            let GridPos { x, y, w, h } = panel.grid;
            let value = panel.scope.get("v").map_or("", |choice| &choice.value);
            shown.push(format!("{} {x},{y} {w}x{h} {value}", panel.key).trim_end().to_owned());
        }
    }
    shown
}

fn panel(id: i64, x: i64, y: i64, w: i64, h: i64) -> Value {
    json!({"id": id, "type": "stat", "gridPos": {"x": x, "y": y, "w": w, "h": h}})
}

fn repeated(mut panel: Value, direction: &str, max_per_row: i64) -> Value {
    panel["repeat"] = json!("v");
    panel["repeatDirection"] = json!(direction);
    panel["maxPerRow"] = json!(max_per_row);
    panel
}

#[test]
fn copies_beside_each_other_fill_lines_and_push_what_is_below() {
    let panels = json!([repeated(panel(1, 0, 0, 6, 4), "h", 2), panel(2, 0, 4, 24, 3)]);
    assert_eq!(
        laid_out(panels.clone(), &["a", "b", "c"]),
        ["1.0 0,0 12x4 a", "1.1 12,0 12x4 b", "1.2 0,4 12x4 c", "2 0,8 24x3"]
    );
    assert_eq!(laid_out(panels.clone(), &["a"]), ["1.0 0,0 24x4 a", "2 0,4 24x3"]);
    assert_eq!(laid_out(panels, &[]), ["1 0,0 6x4", "2 0,4 24x3"]);
}

#[test]
fn copies_below_each_other_keep_their_place() {
    let panels = json!([repeated(panel(1, 6, 0, 6, 4), "v", 4), panel(2, 0, 4, 24, 3)]);
    assert_eq!(laid_out(panels, &["a", "b"]), ["1.0 6,0 6x4 a", "1.1 6,4 6x4 b", "2 0,8 24x3"]);
}

#[test]
fn a_row_is_repeated_with_its_panels() {
    let row = json!({"id": 9, "type": "row", "repeat": "v", "collapsed": false, "panels": []});
    let panels = json!([row, repeated(panel(1, 0, 5, 6, 4), "h", 4), {"id": 8, "type": "row"}, panel(2, 0, 20, 4, 2)]);
    assert_eq!(
        laid_out(panels, &["a", "b"]),
        [
            "row 9.r0 0 a",
            "1.r0 0,1 6x4 a",
            "row 9.r1 5 b",
            "1.r1 0,6 6x4 b",
            "row 8 10",
            "2 0,11 4x2"
        ]
    );
}

#[test]
fn panels_neither_overlap_nor_leave_gaps() {
    let lost = json!({"id": 3, "type": "stat"});
    let panels =
        json!([panel(1, 0, 0, 12, 8), lost, panel(2, 12, 0, 12, 4), panel(4, 0, 90, 24, 2)]);
    assert_eq!(laid_out(panels, &[]), ["1 0,0 12x8", "3 0,8 12x8", "2 12,0 12x4", "4 0,16 24x2"]);
}

#[test]
fn too_many_copies_are_cut_and_said() {
    let dashboard = json!({"panels": [repeated(panel(1, 0, 0, 6, 4), "h", 24)]});
    let dashboard = Dashboard::read(dashboard.as_object().unwrap());
    let values = (0..1_000).map(|n| Choice::plain(n.to_string())).collect();
    let variables = BTreeMap::from([("v".to_owned(), Held { values, ..Held::default() })]);
    let laid_out = lay_out(&dashboard, &variables);
    assert!(laid_out.is_cut);
    assert_eq!(laid_out.sections[0].panels.len(), MAX_REPEATS);
}

#[test]
fn rows_without_panels_are_cut_too() {
    let rows: Vec<Value> =
        (0..100).map(|id| json!({"id": id, "type": "row", "repeat": "v", "panels": []})).collect();
    let dashboard = json!({ "panels": rows });
    let dashboard = Dashboard::read(dashboard.as_object().unwrap());
    let values = (0..MAX_REPEATS).map(|n| Choice::plain(n.to_string())).collect();
    let variables = BTreeMap::from([("v".to_owned(), Held { values, ..Held::default() })]);
    let laid_out = lay_out(&dashboard, &variables);
    assert!(laid_out.is_cut);
    assert_eq!(laid_out.sections.len(), MAX_LAID_OUT_PANELS);
}

#[test]
fn a_key_names_its_panel() {
    assert_eq!([panel_of("12"), panel_of("12.r1.0"), panel_of("x")], [Some(12), Some(12), None]);
}

#[test]
fn what_follows_a_closed_row_is_below_it_and_not_in_it() {
    let row = json!({"id": 2, "type": "row", "collapsed": true, "panels": [panel(3, 0, 1, 12, 2)]});
    let panels = json!([panel(1, 0, 0, 24, 4), row, panel(4, 0, 5, 24, 3)]);
    assert_eq!(laid_out(panels, &[]), ["1 0,0 24x4", "row 2 4", "3 0,5 12x2", "4 0,7 24x3"]);
}
