//! Tasks over time, and devices over time: bars in lanes, and rows of cells.

use std::fmt::Write as _;

use super::frame::{WIDTH, tip_of};
use crate::analysis::{Analysis, Bar, HeatRow, Resources, Timeline};
use crate::units::{axis_seconds, count, fit, number, percent, seconds};

/// A timeline is as wide as the page.
const WIDE: f64 = WIDTH * 2.0;
const LABEL: f64 = 150.0;
const ROW: f64 = 16.0;
const BOTTOM: f64 = 22.0;
/// Heights of all lanes together, and of one.
const LANES_HEIGHT: f64 = 520.0;
const LANE: f64 = 18.0;
const MIN_LANE: f64 = 4.0;
/// Shades of a cell.
const SHADES: f64 = 10.0;
/// Devices that are drawn; all are in the table.
const MAX_ROWS: usize = 64;

/// What is drawn, and what it is called.
pub(super) fn tasks(of: &Analysis) -> (String, String) {
    match &of.timeline {
        Timeline::Bars { bars, .. } if bars.is_empty() => (String::new(), String::new()),
        Timeline::Bars { bars, lanes } => {
            let title = format!("{} in {} lanes", count(bars.len() as u64), count(*lanes as u64));
            (drawn_bars(bars, *lanes, of.window.secs()), title)
        }
        Timeline::Heat { by, rows } => {
            let most = rows.iter().flat_map(|row| row.running.iter().copied()).fold(0.0, f64::max);
            let title = format!("tasks running by {by}, darkest is {}", number(most));
            let rows: Vec<Row<'_>> = rows.iter().map(|row| heat_row(row, most)).collect();
            (drawn_rows(&rows, of.window.secs()), title)
        }
    }
}

fn drawn_bars(bars: &[Bar], lanes: usize, window_secs: f64) -> String {
    let lane = (LANES_HEIGHT / lanes.max(1) as f64).clamp(MIN_LANE, LANE);
    let height = lanes as f64 * lane + BOTTOM;
    let place = |secs: f64| secs / window_secs.max(1e-9) * WIDE;
    let mut out = format!(
        "<svg viewBox=\"0 0 {WIDE} {height:.0}\" role=\"img\" aria-label=\"Tasks over time\">"
    );
    axis(&mut out, 0.0, height - BOTTOM, window_secs);
    for bar in bars {
        let (from, to) = (place(bar.from), place(bar.to));
        let node = bar.node.as_deref().map(|node| format!(" on {node}")).unwrap_or_default();
        let waited = match bar.from - bar.known_at {
            secs if secs > 0.0 => format!(", after {}", seconds(secs)),
            _ => String::new(),
        };
        let tip = format!(
            "{} {}\n{}{node}\n+{} to +{} ({}{waited})",
            bar.name,
            bar.id,
            bar.status.name(),
            seconds(bar.from),
            seconds(bar.to),
            seconds(bar.to - bar.from)
        );
        let _ = write!(
            out,
            "<rect class=\"{}\" x=\"{from:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" rx=\"{}\"{}/>",
            bar.status.name(),
            bar.lane as f64 * lane + 0.5,
            (to - from).max(1.0),
            lane - 1.0,
            if lane > 8.0 { 2 } else { 0 },
            tip_of(&tip)
        );
    }
    out.push_str("</svg>");
    out
}

fn axis(out: &mut String, left: f64, base: f64, window_secs: f64) {
    let step = crate::analysis::nice_seconds(window_secs / 10.0);
    if step <= 0.0 {
        return;
    }
    for nth in 0..=20 {
        let at = f64::from(nth) * step;
        if at > window_secs {
            break;
        }
        let x = left + at / window_secs * (WIDE - left);
        let anchor = match nth {
            0 => "start",
            _ if x > WIDE - 40.0 => "end",
            _ => "middle",
        };
        let shown = axis_seconds(at);
        let _ = write!(
            out,
            "<line class=\"grid\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"0\" y2=\"{base:.1}\"/>\
             <text class=\"tick\" x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\">{shown}</text>",
            base + 15.0
        );
    }
}

/// A row of cells.
struct Row<'a> {
    label: String,
    tip: String,
    /// Class of its colour.
    class: &'static str,
    /// Parts of the most, from 0 to 1.
    cells: Vec<Option<f64>>,
    show: Box<dyn Fn(usize) -> String + 'a>,
}

fn heat_row(row: &HeatRow, most: f64) -> Row<'_> {
    Row {
        label: row.label.to_string(),
        tip: format!("{}\n{} tasks, {} failed", row.label, count(row.tasks), count(row.failed)),
        class: "a",
        cells: row.running.iter().map(|running| Some(running / most.max(1e-9))).collect(),
        show: Box::new(|nth| format!("{} running", number(row.running[nth]))),
    }
}

/// Use of every GPU, or of every processor, one row each.
pub(super) fn devices(of: &Resources, window_secs: f64, are_gpus: bool) -> String {
    let row = |label: String, series: Vec<Option<f64>>| {
        let cells: Vec<Option<f64>> = series.iter().map(|value| value.map(|v| v / 100.0)).collect();
        let show = move |nth: usize| series[nth].map(percent).unwrap_or_default();
        let class = if are_gpus { "c" } else { "a" };
        Row { tip: label.clone(), label, class, cells, show: Box::new(show) }
    };
    let rows: Vec<Row<'_>> = if are_gpus {
        let gpus = of.gpus.iter().take(MAX_ROWS).filter_map(|gpu| {
            let label = format!("{} GPU {}", gpu.node, gpu.gpu);
            Some(row(label, gpu.gpu_percent.as_ref()?.held()))
        });
        gpus.collect()
    } else {
        let nodes = of.nodes.iter().take(MAX_ROWS);
        nodes
            .filter_map(|node| Some(row(node.node.clone(), node.cpu_percent.as_ref()?.held())))
            .collect()
    };
    drawn_rows(&rows, window_secs)
}

/// Neighbours of one shade are one cell: most of a row is quiet.
fn drawn_rows(rows: &[Row<'_>], window_secs: f64) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let height = rows.len() as f64 * ROW + BOTTOM;
    let mut out = format!(
        "<svg viewBox=\"0 0 {WIDE} {height:.0}\" role=\"img\" aria-label=\"Over time, by row\">"
    );
    axis(&mut out, LABEL, height - BOTTOM, window_secs);
    for (nth, row) in rows.iter().enumerate() {
        let y = nth as f64 * ROW;
        let _ = write!(
            out,
            "<text class=\"tick\" x=\"{:.0}\" y=\"{:.1}\" text-anchor=\"end\"{}>{}</text>",
            LABEL - 8.0,
            y + ROW - 4.5,
            tip_of(&row.tip),
            super::escaped(&fit(&row.label, 22))
        );
        let bins = row.cells.len().max(1) as f64;
        let shade =
            |cell: &Option<f64>| cell.map(|part| (part * SHADES).ceil().clamp(0.0, SHADES) as u32);
        let place = |bin: usize| LABEL + bin as f64 / bins * (WIDE - LABEL);
        let mut from = 0;
        while from < row.cells.len() {
            let now = shade(&row.cells[from]);
            let same = row.cells[from..].iter().take_while(|cell| shade(cell) == now).count();
            let to = from + same.max(1);
            if let Some(level) = now.filter(|level| *level > 0 || row.class == "c") {
                let at = from as f64 / bins * window_secs;
                let tip = format!("{}\n+{}: {}", row.label, seconds(at), (row.show)(from));
                let _ = write!(
                    out,
                    "<rect class=\"{}\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" \
                     fill-opacity=\"{}\"{}/>",
                    row.class,
                    place(from),
                    y + 0.5,
                    place(to) - place(from),
                    ROW - 1.0,
                    f64::from(level.max(1)) / SHADES * if level == 0 { 0.4 } else { 1.0 },
                    tip_of(&tip)
                );
            }
            from = to;
        }
    }
    out.push_str("</svg>");
    out
}
