//! The drawings of a report.

use super::frame::{Frame, Scale};
use crate::analysis::{Analysis, Distribution, Groups, Histogram};
use crate::units::{axis_seconds, count, number, percent, seconds};

/// Steps that are drawn as they are; of more, means and peaks.
const MAX_STEPS: usize = 1_500;
/// A curve over more than this ratio has a logarithmic axis.
const LOG_FROM_RATIO: f64 = 50.0;

fn whole(value: f64) -> String {
    if value.fract().abs() < 1e-9 { count(value.max(0.0) as u64) } else { number(value) }
}

fn share(value: f64) -> String {
    percent(value * 100.0)
}

/// How long tasks ran.
pub(super) fn histogram(of: &Histogram, marks: &Distribution) -> String {
    let (Some(first), Some(last)) = (of.bins.first(), of.bins.last()) else {
        return String::new();
    };
    let (from, to) = (first.from, last.to);
    let x = match of.is_logarithmic {
        // A first bin that begins at nothing cannot be drawn to its begin.
        true => Scale::Log { from: if from > 0.0 { from } else { first.to / 2.0 }, to },
        false => Scale::time(from, to),
    };
    let most = of.bins.iter().map(|bin| bin.count).max().unwrap_or_default();
    let y = Scale::from_zero(most as f64);
    let mut frame = Frame::new("Histogram of durations", x, y, axis_seconds, whole);
    for bin in of.bins.iter().filter(|bin| bin.count > 0) {
        let part = share(bin.count as f64 / marks.count.max(1) as f64);
        let tip = format!(
            "{} – {}\n{} tasks, {part}",
            seconds(bin.from),
            seconds(bin.to),
            count(bin.count)
        );
        frame.bar("a", (bin.from, bin.to), (0.0, bin.count as f64), &tip);
    }
    for (nth, (word, at)) in [("p50", marks.p50), ("p95", marks.p95)].into_iter().enumerate() {
        frame.mark(at, &format!("{word} {}", seconds(at)), nth);
    }
    frame.finish()
}

/// Which part takes at most how long.
pub(super) fn shares(lines: &[(&str, &'static str, &Distribution)]) -> String {
    let known = || lines.iter().filter(|(.., of)| !of.is_empty());
    let max = known().map(|(.., of)| of.max).fold(0.0, f64::max);
    let low = |of: &Distribution| of.curve.iter().copied().find(|value| *value > 0.0);
    let min = known().filter_map(|(.., of)| low(of)).fold(f64::INFINITY, f64::min);
    let x = match min > 0.0 && min.is_finite() && max / min > LOG_FROM_RATIO {
        true => Scale::Log { from: min, to: max },
        false => Scale::from_zero(max),
    };
    let y = Scale::linear(0.0, 1.0);
    let mut frame = Frame::new("Cumulative distribution", x, y, axis_seconds, share);
    for (_, class, of) in known() {
        let last = of.curve.len().saturating_sub(1).max(1) as f64;
        let point = |(nth, value): (usize, &f64)| Some((*value, nth as f64 / last));
        frame.line(class, of.curve.iter().enumerate().map(point));
    }
    // Strips of equal width: what part of each has ended by then.
    const STRIPS: usize = 80;
    let place = |nth: usize| match x {
        Scale::Linear { from, to, .. } => from + (to - from) * nth as f64 / STRIPS as f64,
        Scale::Log { from, to } => from * (to / from).powf(nth as f64 / STRIPS as f64),
    };
    for nth in 0..STRIPS {
        let (from, to) = (place(nth), place(nth + 1));
        let mut tip = format!("within {}", seconds(to));
        for (name, _, of) in known() {
            let below = of.curve.partition_point(|value| *value <= to);
            let part =
                below.saturating_sub(1) as f64 / of.curve.len().saturating_sub(1).max(1) as f64;
            tip.push_str(&format!("\n{name} {}", share(part)));
        }
        frame.strip((from, to), &tip);
    }
    frame.finish()
}

/// How many tasks ran at once.
pub(super) fn concurrency(of: &Analysis) -> String {
    let x = Scale::time(0.0, of.window.secs());
    let found = &of.concurrency;
    let mut frame =
        Frame::new("Tasks running", x, Scale::from_zero(found.max as f64), axis_seconds, whole);
    let width = of.window.secs() / found.series.len().max(1) as f64;
    if found.steps.len() <= MAX_STEPS {
        let steps: Vec<(f64, f64)> =
            found.steps.iter().map(|(at, running)| (*at, *running as f64)).collect();
        frame.stairs("a", &steps);
    } else {
        let most: Vec<(f64, f64)> =
            found.series.iter().map(|point| (point.at_seconds, point.max as f64)).collect();
        frame.stairs("a pale", &most);
        let middle = |at: f64| at + width / 2.0;
        let means = found.series.iter().map(|point| Some((middle(point.at_seconds), point.mean)));
        frame.line("a", means);
    }
    frame.mark(of.tail.at_seconds, &format!("tail {}", seconds(of.tail.seconds)), 0);
    for point in &found.series {
        let tip = format!(
            "+{}\nmean {}, max {}",
            seconds(point.at_seconds),
            number(point.mean),
            count(point.max)
        );
        frame.strip((point.at_seconds, point.at_seconds + width), &tip);
    }
    frame.finish()
}

/// How many tasks ended, by how.
pub(super) fn throughput(of: &Analysis) -> String {
    let width = of.throughput.bin_seconds;
    let sum = |bin: &crate::analysis::ThroughputBin| bin.completed + bin.failed + bin.canceled;
    let most = of.throughput.bins.iter().map(sum).max().unwrap_or_default();
    let x = Scale::time(0.0, of.window.secs());
    let y = Scale::from_zero(most as f64);
    let mut frame = Frame::new("Tasks that ended", x, y, axis_seconds, whole);
    for bin in &of.throughput.bins {
        let mut low = 0.0;
        for (class, number) in
            [("completed", bin.completed), ("failed", bin.failed), ("canceled", bin.canceled)]
        {
            if number > 0 {
                let high = low + number as f64;
                frame.bar(class, (bin.at_seconds, bin.at_seconds + width), (low, high), "");
                low = high;
            }
        }
        let tip = format!(
            "+{} to +{}\n{} completed ({}/s), {} failed, {} canceled",
            seconds(bin.at_seconds),
            seconds(bin.at_seconds + width),
            count(bin.completed),
            number(bin.completed as f64 / width.max(f64::MIN_POSITIVE)),
            count(bin.failed),
            count(bin.canceled)
        );
        frame.strip((bin.at_seconds, bin.at_seconds + width), &tip);
    }
    frame.finish()
}

/// How many tasks had completed by then.
pub(super) fn completed(of: &Analysis) -> String {
    let bins = &of.throughput.bins;
    let width = of.throughput.bin_seconds;
    let x = Scale::time(0.0, of.window.secs());
    let y = Scale::from_zero(of.tasks.completed as f64);
    let mut frame = Frame::new("Tasks completed so far", x, y, axis_seconds, whole);
    let ends = bins.iter().map(|bin| Some((bin.at_seconds + width, bin.completed_so_far as f64)));
    frame.line("completed", std::iter::once(Some((0.0, 0.0))).chain(ends));
    for bin in bins {
        let tip = format!(
            "by +{}\n{} completed",
            seconds(bin.at_seconds + width),
            count(bin.completed_so_far)
        );
        frame.strip((bin.at_seconds, bin.at_seconds + width), &tip);
    }
    frame.finish()
}

/// Numbers over time: name, class, series of equal parts. Without a top, they are bytes.
pub(super) fn series(
    label: &str,
    lines: &[(&str, &'static str, &[Option<f64>])],
    top: Option<f64>,
    window_secs: f64,
    show: fn(f64) -> String,
) -> String {
    let values = lines.iter().flat_map(|(.., series)| series.iter().flatten().copied());
    let most = values.fold(top.unwrap_or_default(), f64::max);
    let x = Scale::time(0.0, window_secs);
    let y = if top.is_some() { Scale::from_zero(most) } else { Scale::of_bytes(most) };
    let mut frame = Frame::new(label, x, y, axis_seconds, show);
    let bins = lines.first().map_or(1, |(.., series)| series.len()).max(1);
    let width = window_secs / bins as f64;
    for (_, class, series) in lines {
        let points = series
            .iter()
            .enumerate()
            .filter_map(|(nth, value)| Some(Some(((nth as f64 + 0.5) * width, (*value)?))));
        frame.line(class, points);
    }
    for nth in 0..bins {
        let known: Vec<String> = lines
            .iter()
            .filter_map(|(name, _, series)| Some((name, series.get(nth).copied().flatten()?)))
            .map(|(name, value)| format!("{name} {}", show(value)))
            .collect();
        if !known.is_empty() {
            let tip = format!("+{}\n{}", seconds(nth as f64 * width), known.join("\n"));
            frame.strip((nth as f64 * width, (nth + 1) as f64 * width), &tip);
        }
    }
    frame.finish()
}

/// Groups of tasks: from the shortest to the longest, thick from the median to where 95 of a
/// hundred have ended.
pub(super) fn ranges(of: &Groups) -> String {
    use std::fmt::Write as _;
    const ROW: f64 = 22.0;
    const LEFT: f64 = 150.0;
    const RIGHT: f64 = 70.0;
    let rows: Vec<_> = of.groups.iter().filter(|group| !group.duration.is_empty()).collect();
    let most = rows.iter().map(|group| group.duration.max).fold(0.0, f64::max);
    if rows.is_empty() || most <= 0.0 {
        return String::new();
    }
    let place = |value: f64| LEFT + value / most * (super::frame::WIDTH - LEFT - RIGHT);
    let height = rows.len() as f64 * ROW + 6.0;
    let mut out = format!(
        "<svg viewBox=\"0 0 {} {height:.0}\" role=\"img\" aria-label=\"Durations by {}\">",
        super::frame::WIDTH,
        of.field
    );
    for (nth, group) in rows.into_iter().enumerate() {
        let d = &group.duration;
        let y = nth as f64 * ROW + ROW / 2.0 + 3.0;
        let name = super::escaped(&crate::units::fit(&group.value, 22));
        let tip = format!(
            "{}\n{} tasks\nmin {}, p50 {}\np95 {}, max {}",
            group.value,
            count(group.tasks),
            seconds(d.min),
            seconds(d.p50),
            seconds(d.p95),
            seconds(d.max)
        );
        let _ = write!(
            out,
            "<g{}><rect class=\"strip\" x=\"0\" y=\"{:.1}\" width=\"{}\" height=\"{ROW}\"/>\
             <text class=\"tick\" x=\"{:.0}\" y=\"{:.1}\" text-anchor=\"end\">{name}</text>\
             <line class=\"range\" x1=\"{:.1}\" x2=\"{:.1}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>\
             <line class=\"range thick\" x1=\"{:.1}\" x2=\"{:.1}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>\
             <circle class=\"median\" cx=\"{:.1}\" cy=\"{y:.1}\" r=\"4\"/>\
             <text class=\"tick\" x=\"{:.1}\" y=\"{:.1}\">{}</text></g>",
            super::frame::tip_of(&tip),
            y - ROW / 2.0,
            super::frame::WIDTH,
            LEFT - 8.0,
            y + 3.5,
            place(d.min),
            place(d.max),
            place(d.p50),
            place(d.p95),
            place(d.p50),
            place(d.max) + 6.0,
            y + 3.5,
            seconds(d.max)
        );
    }
    out.push_str("</svg>");
    out
}
