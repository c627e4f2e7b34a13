//! A report as one page of HTML that needs nothing else: no server, no network, no library.
//!
//! Drawings are SVG, made here; a dozen lines of script show what lies under the pointer. Light or
//! dark as the reader's system is, and fit for paper. Its size is bounded: of many tasks, sums are
//! drawn. All text from data is escaped, and a policy in the page forbids it to load anything.

mod charts;
mod frame;
mod timeline;

use std::fmt::Write as _;

use super::tables::{self, Table};
use crate::analysis::{Analysis, Comparison, NodeUse};
use crate::units::{bytes, count, number, percent, printable, seconds};

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");
/// Sessions that a page shows whole; a comparison has all.
const MAX_SESSIONS: usize = 20;
/// Nodes that are drawn with lines of their own; more are rows of cells.
const MAX_NODES_DRAWN: usize = 8;

/// Sessions as one page.
#[must_use]
pub fn render(sessions: &[Analysis], comparison: Option<&Comparison>) -> String {
    let title = match sessions {
        [only] => format!("{} · {}", only.session.name, only.session.id),
        _ => format!("{} sessions", sessions.len()),
    };
    let mut out = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
         style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n\
         <meta name=\"generator\" content=\"kymo report\">\n<title>{}</title>\n\
         <style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n",
        escaped(&title)
    );
    let shown = &sessions[..sessions.len().min(MAX_SESSIONS)];
    if let Some(comparison) = comparison {
        write_comparison(&mut out, comparison, shown);
    }
    for (nth, session) in shown.iter().enumerate() {
        write_session(&mut out, session, nth);
    }
    if sessions.len() > shown.len() {
        let more = sessions.len() - shown.len();
        let _ = write!(out, "<p class=\"soft\">{more} more sessions are only compared above.</p>");
    }
    let _ = write!(
        out,
        "<footer>Made by <b>kymo report</b>. Times of tasks: a quantile between two tasks is \
         interpolated. A straggler took longer than 95 of a hundred of its kind and more than three \
         times their median. A GPU is idle below 5 %.</footer>\n</main>\n<div id=\"tip\"></div>\n\
         <script>\n{SCRIPT}</script>\n</body>\n</html>\n"
    );
    out
}

/// Text with no meaning in HTML, inside an element or an attribute. Line breaks stay: only what is
/// shown under the pointer has them.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let (line, end) = line.strip_suffix('\n').map_or((line, ""), |line| (line, "&#10;"));
        for c in printable(line).chars() {
            match c {
                '&' => safe.push_str("&amp;"),
                '<' => safe.push_str("&lt;"),
                '>' => safe.push_str("&gt;"),
                '"' => safe.push_str("&quot;"),
                '\'' => safe.push_str("&#39;"),
                _ => safe.push(c),
            }
        }
        safe.push_str(end);
    }
    safe
}

fn write_comparison(out: &mut String, of: &Comparison, shown: &[Analysis]) {
    let _ = write!(out, "<section><header><h1>{} sessions</h1></header><nav>", of.sessions.len());
    for (nth, session) in shown.iter().enumerate() {
        let _ = write!(out, "<a href=\"#session-{nth}\">{}</a>", escaped(&session.session.id));
    }
    out.push_str("</nav><div class=\"panels\"><div class=\"panel wide\">");
    let source = tables::comparison(of);
    out.push_str("<h2>Compared <small>changes are from the first</small></h2><div class=\"scroll\"><table><tr><th></th>");
    for session in &of.sessions {
        let _ = write!(out, "<th class=\"n\">{}</th>", escaped(&crate::units::fit(session, 32)));
    }
    out.push_str("</tr>");
    for (nth, figure) in of.figures.iter().enumerate() {
        let _ = write!(out, "<tr><td>{}</td>", figure.name);
        for row in &source.rows {
            let cell = row.get(nth + 1).map(String::as_str).unwrap_or_default();
            let _ = write!(out, "<td class=\"n\">{}</td>", escaped(cell));
        }
        out.push_str("</tr>");
    }
    out.push_str("</table></div></div></div></section>\n");
}

fn write_session(out: &mut String, of: &Analysis, nth: usize) {
    let about = &of.session;
    let (badge, word) = match (&about.error, about.state) {
        (Some(_), _) => ("error", "failed"),
        (None, "ended") => ("", "ended"),
        (None, _) => ("running", "running"),
    };
    let _ = write!(
        out,
        "<section id=\"session-{nth}\"><header><h1>{}</h1><span class=\"badge {badge}\">{word}</span>\
         </header>\n<p class=\"facts\">",
        escaped(&about.name)
    );
    for (name, value) in tables::facts(of) {
        if name != "name" {
            let _ = write!(out, "<span>{name} <b>{}</b></span>", escaped(&value));
        }
    }
    out.push_str("</p>\n");
    write_cards(out, of);
    out.push_str("<div class=\"panels\">\n");
    write_states(out, of);
    write_notes(out, of);
    let (drawing, title) = timeline::tasks(of);
    panel(out, true, "Timeline", &title, &drawing.replacen("<svg ", "<svg class=\"big\" ", 1));
    write_charts(out, of);
    write_devices(out, of);
    for table in tables::all(of) {
        write_table(out, &table);
    }
    out.push_str("</div></section>\n");
}

fn write_cards(out: &mut String, of: &Analysis) {
    let tasks = &of.tasks;
    let mut cards: Vec<(&str, String, String, bool)> = vec![
        ("Duration", seconds(of.session.duration_seconds), String::new(), false),
        ("Tasks", count(tasks.total), format!("{} completed", count(tasks.completed)), false),
    ];
    if tasks.failed > 0 {
        let ended = tasks.completed + tasks.failed + tasks.canceled;
        let share = percent(tasks.failed as f64 / ended.max(1) as f64 * 100.0);
        cards.push(("Failed", count(tasks.failed), format!("{share} of ended"), true));
    }
    if tasks.completed > 0 {
        let max = format!("max {}/s", number(of.throughput.max_per_second));
        let mean = format!("{}/s", number(of.throughput.mean_per_second));
        cards.push(("Throughput", mean, max, false));
    }
    if !of.duration.is_empty() {
        let more = format!("p50 {}", seconds(of.duration.p50));
        cards.push(("Task p95", seconds(of.duration.p95), more, false));
    }
    if !of.waits.queue.is_empty() {
        let more = format!("p50 {}", seconds(of.waits.queue.p50));
        cards.push(("Queue p95", seconds(of.waits.queue.p95), more, false));
    }
    if of.concurrency.max > 0 {
        let more = format!("mean {}", number(of.concurrency.mean));
        cards.push(("Concurrency", count(of.concurrency.max), more, false));
        let share = format!("{} of busy time", percent(of.tail.share * 100.0));
        cards.push(("Tail", seconds(of.tail.seconds), share, false));
    }
    if of.stragglers.count > 0 {
        let more = format!("cost {}", seconds(of.stragglers.delay_seconds));
        cards.push(("Stragglers", count(of.stragglers.count), more, false));
    }
    if let Some(idle) = of.resources.gpu_idle_share {
        let gpus = of.resources.gpus.len();
        let more = if gpus > 0 { format!("of {gpus} GPUs") } else { "of the busiest".into() };
        cards.push(("GPU idle", percent(idle * 100.0), more, false));
    }
    out.push_str("<div class=\"cards\">");
    for (name, value, more, is_bad) in cards {
        let class = if is_bad { "card bad" } else { "card" };
        let _ = write!(
            out,
            "<div class=\"{class}\"><div class=\"name\">{name}</div><div class=\"value\">{value}</div>\
             <div class=\"more\">{more}</div></div>"
        );
    }
    out.push_str("</div>\n");
}

fn write_states(out: &mut String, of: &Analysis) {
    let states = tables::states(of);
    if states.is_empty() {
        return;
    }
    out.push_str("<div class=\"panel wide\"><div class=\"states\">");
    for (state, number) in &states {
        let tip = format!("{} {state}", count(*number));
        let _ = write!(out, "<i class=\"{state}\" style=\"flex:{number}\" data-tip=\"{tip}\"></i>");
    }
    out.push_str("</div><div class=\"legend\">");
    for (state, number) in &states {
        let share = percent(*number as f64 / of.tasks.total.max(1) as f64 * 100.0);
        let _ = write!(
            out,
            "<span class=\"t-{state}\"><b>{} {state}</b> ({share})</span>",
            count(*number)
        );
    }
    out.push_str("</div></div>\n");
}

fn write_notes(out: &mut String, of: &Analysis) {
    if of.notes.is_empty() {
        return;
    }
    out.push_str("<div class=\"panel wide\"><h2>Notes</h2><ul class=\"notes\">");
    for note in &of.notes {
        let _ = write!(out, "<li>{}</li>", escaped(note));
    }
    out.push_str("</ul></div>\n");
}

/// A drawing with its title; nothing if there is no drawing.
fn panel(out: &mut String, is_wide: bool, title: &str, more: &str, drawing: &str) {
    if drawing.is_empty() {
        return;
    }
    let class = if is_wide { "panel wide" } else { "panel" };
    let _ = writeln!(
        out,
        "<div class=\"{class}\"><h2>{} <small>{}</small></h2><div class=\"scroll\">{drawing}</div></div>",
        escaped(title),
        escaped(more)
    );
}

/// The same with a legend below.
fn panel_of_lines(
    out: &mut String,
    title: &str,
    more: &str,
    legend: &[(&str, &str)],
    drawing: &str,
) {
    let mut below = String::from("<div class=\"legend\">");
    for (name, class) in legend {
        let _ = write!(below, "<span class=\"t-{class}\"><b>{}</b></span>", escaped(name));
    }
    below.push_str("</div>");
    panel(out, false, title, more, &format!("{drawing}{below}"));
}

fn write_charts(out: &mut String, of: &Analysis) {
    if of.concurrency.max > 0 {
        let idle = match of.concurrency.idle_seconds {
            0.0 => String::new(),
            secs => format!("nothing ran for {}", seconds(secs)),
        };
        panel(out, false, "Running at once", &idle, &charts::concurrency(of));
    }
    if !of.throughput.bins.is_empty() {
        let width = format!("per {}", seconds(of.throughput.bin_seconds));
        panel(out, false, "Tasks that ended", &width, &charts::throughput(of));
    }
    if let Some(histogram) = of.duration.histogram.as_ref().filter(|_| of.duration.count > 1) {
        let scale = if histogram.is_logarithmic { "logarithmic" } else { "" };
        panel(out, false, "Duration of tasks", scale, &charts::histogram(histogram, &of.duration));
        let all = [
            ("duration", "a", &of.duration),
            ("queue wait", "d", &of.waits.queue),
            ("routing", "b", &of.waits.routing),
            ("end to end", "c", &of.waits.end_to_end),
        ];
        let known: Vec<_> = all.into_iter().filter(|(.., of)| !of.is_empty()).collect();
        let legend: Vec<(&str, &str)> =
            known.iter().map(|(name, class, _)| (*name, *class)).collect();
        panel_of_lines(out, "Share of tasks within", "", &legend, &charts::shares(&known));
    }
    if of.tasks.completed > 0 {
        panel(out, false, "Completed so far", "", &charts::completed(of));
    }
    if let Some(histogram) = of.waits.queue.histogram.as_ref().filter(|_| of.waits.queue.count > 1)
    {
        let drawing = charts::histogram(histogram, &of.waits.queue);
        panel(out, false, "Queue wait", "queued to started", &drawing);
    }
    for groups in of.by.iter().take(2) {
        let title = format!("Duration by {}", groups.field);
        panel(out, false, &title, "min to max, thick from p50 to p95", &charts::ranges(groups));
    }
}

fn write_devices(out: &mut String, of: &Analysis) {
    let window = of.window.secs();
    let found = &of.resources;
    if found.nodes.len() <= MAX_NODES_DRAWN {
        for node in &found.nodes {
            write_node(out, node, window);
        }
    } else {
        let drawing = timeline::devices(found, window, false);
        panel(out, true, "CPU by node", "darker is busier", &drawing);
    }
    panel(out, true, "Use of GPUs", "darker is busier", &timeline::devices(found, window, true));
}

fn write_node(out: &mut String, node: &NodeUse, window: f64) {
    let gauges = [
        ("CPU", "a", &node.cpu_percent),
        ("memory", "b", &node.memory_percent),
        ("GPU", "c", &node.gpu_percent),
    ];
    let known: Vec<_> = gauges
        .into_iter()
        .filter_map(|(name, class, gauge)| Some((name, class, gauge.as_ref()?)))
        .collect();
    let title = format!("Node {}", node.node);
    if !known.is_empty() {
        let lines: Vec<(&str, &'static str, &[Option<f64>])> =
            known.iter().map(|(name, class, gauge)| (*name, *class, &gauge.series[..])).collect();
        let legend: Vec<(&str, &str)> =
            known.iter().map(|(name, class, _)| (*name, *class)).collect();
        let drawing = charts::series(&title, &lines, Some(100.0), window, percent);
        panel_of_lines(out, &title, "percent", &legend, &drawing);
    }
    let flows = [
        ("disk read", "a", &node.disk_read),
        ("disk write", "d", &node.disk_write),
        ("sent", "b", &node.net_sent),
        ("received", "c", &node.net_recv),
    ];
    let known: Vec<_> = flows
        .into_iter()
        .filter_map(|(name, class, flow)| Some((name, class, flow.as_ref()?)))
        .filter(|(.., flow)| flow.total_bytes > 0.0)
        .collect();
    if !known.is_empty() {
        let lines: Vec<(&str, &'static str, &[Option<f64>])> =
            known.iter().map(|(name, class, flow)| (*name, *class, &flow.series[..])).collect();
        let legend: Vec<(&str, &str)> =
            known.iter().map(|(name, class, _)| (*name, *class)).collect();
        let drawing = charts::series(&title, &lines, None, window, bytes);
        panel_of_lines(out, &title, "bytes per second", &legend, &drawing);
    }
}

fn write_table(out: &mut String, table: &Table) {
    let class = if table.columns.len() > 4 { "panel wide" } else { "panel" };
    let _ = write!(
        out,
        "<div class=\"{class}\"><h2>{}</h2><div class=\"scroll\"><table><tr>",
        escaped(&table.title)
    );
    let class = |is_number: bool| if is_number { " class=\"n\"" } else { "" };
    for (name, is_number) in &table.columns {
        let _ = write!(out, "<th{}>{}</th>", class(*is_number), escaped(name));
    }
    out.push_str("</tr>");
    for row in &table.rows {
        out.push_str("<tr>");
        for (cell, (heading, is_number)) in row.iter().zip(&table.columns) {
            // The verdicts on counters, which stand below an empty heading.
            let class = match (heading.is_empty(), cell.as_str()) {
                (true, "agrees") => " class=\"agrees\"",
                (true, "differs") => " class=\"differs\"",
                _ => class(*is_number),
            };
            let _ = write!(out, "<td{class}>{}</td>", escaped(cell));
        }
        out.push_str("</tr>");
    }
    out.push_str("</table></div>");
    if let Some(after) = &table.after {
        let _ = write!(out, "<p class=\"after\">{}</p>", escaped(after));
    }
    out.push_str("</div>\n");
}
