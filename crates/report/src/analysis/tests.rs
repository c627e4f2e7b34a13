//! Figures that were computed by hand.

use serde_json::json;

use super::*;
use crate::fixture::{counter, event, only, span, task, ten_seconds};

#[test]
fn tasks_are_counted_by_state_and_running_is_never_negative() {
    let of = Analysis::of(&only(&ten_seconds()));
    let counts = of.tasks;
    assert_eq!((counts.total, counts.submitted, counts.started), (6, 6, 5));
    assert_eq!((counts.completed, counts.failed, counts.canceled), (4, 1, 0));
    assert_eq!((counts.running, counts.waiting, counts.unfinished), (0, 1, 1));
    assert_eq!((of.open_tasks.len(), &*of.open_tasks[0].id), (1, "t6"));
    assert_eq!(of.open_tasks[0].for_seconds, 4.0);
    // An end without a start takes nothing away.
    let of = Analysis::of(&only(&[event("s", "TaskCompleted", 1.0, json!({"task_id": "t"}))]));
    assert_eq!((of.tasks.running, of.tasks.ended_without_start), (0, 1));
}

#[test]
fn durations_and_waits_are_those_of_the_states() {
    let of = Analysis::of(&only(&ten_seconds()));
    // 2, 3, 2, 5, 1
    assert_eq!((of.duration.count, of.duration.total, of.duration.p50), (5, 13.0, 2.0));
    assert_eq!((of.duration.min, of.duration.max, of.duration.mean), (1.0, 5.0, 2.6));
    assert!((of.duration.p90 - 4.2).abs() < 1e-9);
    // Queued to started: 0.5, 0.5, 1.5, 2, 2; submitted to queued: 0.5 three times, 1 twice.
    assert_eq!((of.waits.queue.p50, of.waits.queue.max), (1.5, 2.0));
    assert_eq!((of.waits.routing.p50, of.waits.routing.max), (0.5, 1.0));
    assert_eq!((of.waits.end_to_end.max, of.waits.start.max), (8.0, 3.0));
    // One event of 35 was emitted half a second late.
    assert_eq!((of.waits.emit.max, of.waits.emit.p50), (0.5, 0.0));
    assert_eq!(of.clock, Clock::default());
    let by = of.by.iter().find(|groups| groups.field == "executable").unwrap();
    assert_eq!((&*by.groups[0].value, by.groups[0].duration.total), ("sim", 7.0));
    assert_eq!((by.groups[1].tasks, by.groups[1].failed), (3, 1));
}

#[test]
fn concurrency_is_a_step_curve_with_a_tail() {
    let of = Analysis::of(&only(&ten_seconds()));
    let found = &of.concurrency;
    // 1: two, 2: three, 3: two, 4: two end and two start, 5: one, 9: none.
    assert_eq!(found.steps, [(1.0, 2), (2.0, 3), (3.0, 2), (5.0, 1), (9.0, 0)]);
    assert_eq!((found.max, found.max_at_seconds), (3, 2.0));
    assert_eq!((found.busy_seconds, found.mean, found.idle_seconds), (8.0, 13.0 / 8.0, 0.0));
    let area: f64 = found.series.iter().map(|point| point.mean).sum::<f64>() * 10.0 / 120.0;
    assert!((area - 13.0).abs() < 1e-6, "{area}");
    assert_eq!((of.tail.at_seconds, of.tail.seconds, of.tail.share), (5.0, 4.0, 0.5));
    assert_eq!(of.tail.tasks, 1);
}

#[test]
fn throughput_counts_what_completed() {
    let of = Analysis::of(&only(&ten_seconds()));
    // Four in nine seconds; the last part of the curve has all.
    assert!((of.throughput.mean_per_second - 4.0 / 9.0).abs() < 1e-9);
    assert_eq!(of.throughput.bins.last().unwrap().completed_so_far, 4);
    assert_eq!(of.throughput.bins.iter().map(|bin| bin.failed).sum::<u64>(), 1);
    // Two ended at second 4, in a part of a sixth of a second.
    assert!((of.throughput.max_per_second - 12.0).abs() < 1e-9);
}

#[test]
fn a_gpu_never_blanks_its_node() {
    let of = Analysis::of(&only(&ten_seconds()));
    let node = &of.resources.nodes[0];
    let cpu = node.cpu_percent.as_ref().unwrap();
    assert_eq!((cpu.mean, cpu.max, cpu.last, cpu.samples), (60.0, 100.0, 100.0, 3));
    assert_eq!(node.gpu_percent.as_ref().unwrap().last, 90.0);
    let disk = node.disk_read.as_ref().unwrap();
    assert_eq!((disk.total_bytes, disk.mean_per_second), (6000.0, 1000.0));
    assert!(node.net_sent.is_none());
    assert_eq!(of.resources.gpus.len(), 2);
    assert_eq!(of.resources.gpus[0].idle_share, Some(1.0));
    assert_eq!(of.resources.gpu_idle_share, Some(0.5));
}

#[test]
fn stragglers_are_found_and_their_cost_is_told() {
    let mut lines = Vec::new();
    for nth in 0..20 {
        let id = format!("t{nth:02}");
        lines.extend(task(
            "s",
            &id,
            [0.0, 0.0, 1.0, 2.0],
            "TaskCompleted",
            json!({"executable": "x"}),
        ));
    }
    lines.extend(task(
        "s",
        "slow",
        [0.0, 0.0, 1.0, 9.0],
        "TaskCompleted",
        json!({"executable": "x"}),
    ));
    let of = Analysis::of(&only(&lines)).stragglers;
    assert_eq!((of.count, of.excess_seconds, of.delay_seconds), (1, 7.0, 7.0));
    assert_eq!((&*of.tasks[0].id, of.tasks[0].times_median), ("slow", 8.0));
    assert_eq!(of.tasks[0].delay_seconds, 7.0);
    // Another kind that always takes so long has none.
    for nth in 0..6 {
        let id = format!("long{nth}");
        lines.extend(task(
            "s",
            &id,
            [0.0, 0.0, 1.0, 9.5],
            "TaskCompleted",
            json!({"executable": "y"}),
        ));
    }
    let of = Analysis::of(&only(&lines)).stragglers;
    assert_eq!((of.count, of.delay_seconds), (1, 0.0));
}

#[test]
fn failures_have_types_and_an_example() {
    let of = Analysis::of(&only(&ten_seconds()));
    assert_eq!(of.failures.len(), 1);
    assert_eq!((&*of.failures[0].error_type, of.failures[0].count), ("ValueError", 1));
    assert_eq!(of.failures[0].message.as_deref(), Some("no <b>data</b>"));
    assert_eq!(of.failures[0].first_at_seconds, Some(5.0));
}

#[test]
fn counters_are_checked_and_a_difference_is_noted() {
    let of = Analysis::of(&only(&ten_seconds()));
    let verdicts: Vec<(&str, bool)> = of.counters.iter().map(|c| (c.name, c.agrees)).collect();
    assert_eq!(verdicts, [("tasks_submitted", true), ("tasks_completed", false)]);
    assert!(of.notes.iter().any(|note| note.starts_with("1 counter disagrees")), "{:?}", of.notes);
    let loss = of.fields.iter().find(|summary| summary.field == "loss").unwrap();
    assert_eq!((loss.count, loss.mean, loss.last), (2, 0.375, 0.25));
}

#[test]
fn what_spans_do_not_tell_is_not_checked() {
    let lines = [
        span("s", (2, 1), "task", (0.0, 2.0), json!({"task_id": "t", "status": "completed"})),
        span("s", (1, 0), "session", (0.0, 3.0), json!({})),
        counter("s", "tasks_submitted", 3.0, 1),
        counter("s", "tasks_completed", 3.0, 1),
    ];
    let of = Analysis::of(&only(&lines));
    let verdicts: Vec<(&str, bool)> = of.counters.iter().map(|c| (c.name, c.agrees)).collect();
    assert_eq!(verdicts, [("tasks_completed", true)]);
}

#[test]
fn counters_are_not_said_to_disagree_before_the_end() {
    let mut lines = ten_seconds();
    lines.retain(|line| !line.to_string().contains("SessionEnded"));
    let of = Analysis::of(&only(&lines));
    assert!(of.counters.iter().any(|check| !check.agrees));
    assert!(!of.notes.iter().any(|note| note.contains("disagree")), "{:?}", of.notes);
}

#[test]
fn clocks_that_step_back_are_clamped_and_counted() {
    let lines = task("s", "t", [5.0, 4.0, 3.0, 2.0], "TaskCompleted", json!({}));
    let of = Analysis::of(&only(&lines));
    assert_eq!((of.duration.count, of.duration.max), (1, 0.0));
    assert_eq!((of.clock.negative_durations, of.clock.negative_queue, of.clock.total()), (1, 1, 5));
    assert!(of.notes.iter().any(|note| note.contains("5 times came out negative")));
}

#[test]
fn a_session_without_anything_has_figures_of_nothing() {
    let of = Analysis::of(&only(&[span("s", (1, 0), "session", (1.0, 1.0), json!({}))]));
    assert_eq!((of.tasks.total, of.duration.count, of.concurrency.max), (0, 0, 0));
    assert!(of.by.is_empty() && of.resources.nodes.is_empty() && of.stragglers.count == 0);
}

#[test]
fn sessions_are_compared_with_the_first() {
    let one = Analysis::of(&only(&ten_seconds()));
    let other =
        Analysis::of(&only(&task("b", "t", [0.0, 1.0, 2.0, 28.0], "TaskCompleted", json!({}))));
    assert!(compare(std::slice::from_ref(&one)).is_none());
    let comparison = compare(&[one, other]).unwrap();
    assert_eq!(comparison.sessions, ["train.1", "b"]);
    let sum = comparison.figures.iter().find(|figure| figure.name == "task time, sum").unwrap();
    assert_eq!((&sum.values[..], sum.changes[1]), (&[Some(13.0), Some(26.0)][..], Some(1.0)));
}

#[test]
fn bars_of_a_lane_do_not_overlap_and_many_tasks_are_summed() {
    let Timeline::Bars { bars, lanes } = Analysis::of(&only(&ten_seconds())).timeline else {
        panic!("six tasks are bars")
    };
    assert_eq!((bars.len(), lanes), (5, 3));
    for bar in &bars {
        let overlaps = bars.iter().filter(|other| {
            other.id != bar.id
                && other.lane == bar.lane
                && other.from < bar.to
                && bar.from < other.to
        });
        assert_eq!(overlaps.count(), 0);
    }
    let mut session = only(&ten_seconds());
    let one = session.tasks[0].clone();
    session.tasks = vec![one; 4000];
    let Timeline::Heat { rows, by } = Analysis::of(&session).timeline else { panic!("many") };
    assert_eq!((by, rows.len(), rows[0].tasks), ("kind", 1, 4000));
    let secs: f64 = rows[0].running.iter().sum::<f64>() * 10.0 / 200.0;
    assert!((secs - 8000.0).abs() < 1e-3, "{secs}");
}

#[test]
fn a_hundred_thousand_tasks_are_analysed_at_once() {
    let mut session = only(&ten_seconds());
    let template = session.tasks[0].clone();
    session.tasks = (0..100_000u64)
        .map(|nth| {
            let mut task = template.clone();
            let start = task.started_nanos.unwrap() + nth * 1_000_000;
            task.id = nth.to_string().into();
            task.started_nanos = Some(start);
            task.ended_nanos = Some(start + 1_000_000 * (nth * 7919 % 1000));
            task
        })
        .collect();
    let begin = std::time::Instant::now();
    let of = Analysis::of(&session);
    // A build for tests is some ten times slower than a release.
    assert!(begin.elapsed().as_secs() < 10, "{:?}", begin.elapsed());
    assert_eq!(of.duration.count, 100_000);
    let page = crate::render::html::render(&[of], None);
    assert!(page.len() < 3 << 20, "{}", page.len());
}

#[test]
fn a_counter_beyond_all_bounds_is_only_large() {
    let mut lines = task("s", "t", [0.0, 1.0, 2.0, 3.0], "TaskCompleted", json!({}));
    lines.push(event("s", "TaskStarted", 4.0, json!({"task_id": "t"})));
    let mut refused = counter("s", "session_events_after_end", 5.0, 0);
    let sum = &mut refused["resourceMetrics"][0]["scopeMetrics"][0]["metrics"][0]["sum"];
    sum["dataPoints"][0] = json!({"timeUnixNano": "5", "asDouble": 1e300});
    lines.push(refused);
    let notes = Analysis::of(&only(&lines)).notes.join("\n");
    assert!(notes.contains("events came after the end of their tasks"), "{notes}");
}
