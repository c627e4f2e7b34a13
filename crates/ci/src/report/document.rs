//! A report as headings, texts and tables, for whoever writes them down.

use super::{Cache, Report};

/// A part of a report.
#[derive(Debug, Clone, PartialEq)]
pub enum Part {
    /// The name of what follows.
    Heading(String),
    /// A sentence or two.
    Text(String),
    /// Rows.
    Table(Table),
}

/// A table.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// Names of columns, and whether they are numbers.
    pub columns: Vec<(&'static str, bool)>,
    /// Cells, as many in each row as there are columns.
    pub rows: Vec<Vec<String>>,
}

/// The parts of a report.
#[must_use]
pub fn document(report: &Report) -> Vec<Part> {
    let mut parts = vec![Part::Text(overview(report))];
    let mut add = |heading: &str, columns: &[(&'static str, bool)], rows: Vec<Vec<String>>| {
        if !rows.is_empty() {
            parts.push(Part::Heading(heading.to_owned()));
            parts.push(Part::Table(Table { columns: columns.to_vec(), rows }));
        }
    };
    let failures = report.failures.iter().map(|failure| {
        let what = failure.what.clone().unwrap_or_default();
        vec![failure.job.clone(), failure.kind.clone(), what, first_line(&failure.why)]
    });
    add(
        "Failures",
        &[("job", false), ("kind", false), ("what", false), ("why", false)],
        failures.collect(),
    );
    let path = report.critical_path.iter().map(|job| {
        let (queue, run) = (seconds(job.queue_seconds), seconds(job.run_seconds));
        vec![job.job.clone(), format!("+{}", seconds(job.after_seconds)), queue, run]
    });
    add(
        "Critical path",
        &[("job", false), ("created", true), ("queued", true), ("ran", true)],
        path.collect(),
    );
    let queues = report.queues.iter().map(|queue| {
        let (median, most) = (seconds(queue.median_seconds), seconds(queue.max_seconds));
        vec![queue.labels.clone(), queue.jobs.to_string(), median, most]
    });
    add(
        "Waiting for runners",
        &[("labels", false), ("jobs", true), ("median", true), ("longest", true)],
        queues.collect(),
    );
    let jobs = report.slowest_jobs.iter().map(|slow| vec![slow.job.clone(), seconds(slow.seconds)]);
    add("Slowest jobs", &[("job", false), ("ran", true)], jobs.collect());
    let steps = report.slowest_steps.iter().map(|slow| {
        vec![slow.job.clone(), slow.step.clone().unwrap_or_default(), seconds(slow.seconds)]
    });
    add("Slowest steps", &[("job", false), ("step", false), ("ran", true)], steps.collect());
    add(
        "Compiler caches",
        &[("cache", false), ("requests", true), ("hit rate", true), ("before", true)],
        report.caches.iter().map(cache).collect(),
    );
    if report.more_failures > 0 {
        parts.push(Part::Text(format!("{} more failures are in the trace.", report.more_failures)));
    }
    parts
}

fn cache(cache: &Cache) -> Vec<String> {
    let before = cache.hit_rate_before.map_or_else(String::new, percent);
    let requests = format!("{:.0}", cache.requests);
    vec![cache.name.clone(), requests, percent(cache.hit_rate), before]
}

fn overview(report: &Report) -> String {
    let conclusion = report.conclusion.as_deref().unwrap_or("not ended").replace('_', " ");
    let mut text = format!("{conclusion} after {}", seconds(report.seconds));
    if let Some(median) = report.median_seconds {
        let runs = report.earlier_runs;
        let change = change(report.seconds, median);
        text.push_str(&format!(
            ", {change} the median of {runs} earlier runs ({})",
            seconds(median)
        ));
    }
    text.push_str(&format!("; {} jobs", report.jobs));
    for (count, what) in
        [(report.skipped_jobs, "skipped"), (report.carried_over_jobs, "of earlier attempts")]
    {
        if count > 0 {
            text.push_str(&format!(", {count} {what}"));
        }
    }
    text
}

/// How one number is to another, in words.
fn change(now: f64, before: f64) -> String {
    if before <= 0.0 {
        return "against".to_owned();
    }
    let percent = ((now / before - 1.0) * 100.0).round();
    match percent {
        percent if percent >= 1.0 => format!("{percent:.0} % longer than"),
        percent if percent <= -1.0 => format!("{:.0} % shorter than", -percent),
        _ => "as long as".to_owned(),
    }
}

fn percent(rate: f64) -> String {
    format!("{:.1} %", rate * 100.0)
}

/// A time as people say it: `1 h 02 m`, `3 m 05 s`, `7 s`, `0.4 s`.
fn seconds(seconds: f64) -> String {
    let whole = seconds.round() as u64;
    match whole {
        0..10 if (seconds - whole as f64).abs() > 0.049 => format!("{seconds:.1} s"),
        0..60 => format!("{whole} s"),
        60..3600 => format!("{} m {:02} s", whole / 60, whole % 60),
        _ => format!("{} h {:02} m", whole / 3600, whole % 3600 / 60),
    }
}

fn first_line(text: &str) -> String {
    const SHOWN_CHARS: usize = 120;
    let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default().trim();
    if line.chars().count() <= SHOWN_CHARS {
        return line.to_owned();
    }
    line.chars().take(SHOWN_CHARS - 1).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_changes_are_said_as_people_say_them() {
        let texts: Vec<String> =
            [0.0, 0.4, 7.0, 59.4, 185.0, 3_725.0].into_iter().map(seconds).collect();
        assert_eq!(texts, ["0 s", "0.4 s", "7 s", "59 s", "3 m 05 s", "1 h 02 m"]);
        assert_eq!(change(110.0, 100.0), "10 % longer than");
        assert_eq!(change(90.0, 100.0), "10 % shorter than");
        assert_eq!(change(100.2, 100.0), "as long as");
        assert_eq!(change(1.0, 0.0), "against");
    }
}
