use super::*;

const SECOND: Nanos = 1_000_000_000;

fn job(name: &str, created: u64, queue: u64, end: u64, labels: &str) -> Row {
    Row {
        kind: "job".into(),
        name: name.into(),
        job: Some(name.into()),
        start_nanos: created * SECOND,
        end_nanos: end * SECOND,
        labels: Some(labels.into()),
        queue_seconds: Some(queue as f64),
        conclusion: Some("success".into()),
        ..Row::default()
    }
}

fn step(job: &str, name: &str, from: u64, to: u64) -> Row {
    Row {
        kind: "step".into(),
        name: name.into(),
        job: Some(job.into()),
        start_nanos: from * SECOND,
        end_nanos: to * SECOND,
        ..Row::default()
    }
}

fn failed(row: Row, message: &str) -> Row {
    Row { is_error: true, message: Some(message.into()), conclusion: Some("failure".into()), ..row }
}

fn run(end: u64) -> Row {
    Row {
        conclusion: Some("failure".into()),
        ..Row { kind: "run".into(), ..job("root", 0, 0, end, "") }
    }
}

fn rows() -> Vec<Row> {
    let mut build = step("build", "C++ build", 20, 90);
    build.numbers = vec![
        ("sccache.main_process.hits".into(), 30.0),
        ("sccache.main_process.misses".into(), 10.0),
        ("sccache.main_process.hit_rate".into(), 0.75),
        ("sccache.empty.hits".into(), 0.0),
    ];
    vec![
        run(200),
        job("setup", 0, 5, 10, "cpu"),
        job("build", 10, 10, 100, "cpu"),
        build,
        job("lint", 10, 1, 30, "cpu"),
        failed(job("test", 101, 60, 200, "gpu"), "failure"),
        failed(step("test", "Run tests", 170, 199), "failure"),
        failed(
            Row { kind: "test".into(), ..step("test", "test_a.b", 171, 172) },
            "assert 1 == 2\nmore",
        ),
        Row { is_carried_over: true, ..failed(job("kept", 0, 0, 0, "cpu"), "failure") },
        Row {
            conclusion: Some("skipped".into()),
            queue_seconds: None,
            ..job("off", 0, 0, 0, "cpu")
        },
        failed(job("lost", 5, 0, 6, "cpu"), "timed out"),
    ]
}

#[test]
fn a_report_says_what_decided_how_long_a_run_took() {
    let report = Report::new(&rows(), &History::default());
    let path: Vec<&str> = report.critical_path.iter().map(|job| job.job.as_str()).collect();
    assert_eq!(path, ["setup", "build", "test"]);
    let last = &report.critical_path[2];
    assert_eq!((last.after_seconds, last.queue_seconds, last.run_seconds), (101.0, 60.0, 39.0));
    assert_eq!((report.jobs, report.skipped_jobs, report.carried_over_jobs), (5, 1, 1));
    let gpu = &report.queues[0];
    assert_eq!((gpu.labels.as_str(), gpu.jobs, gpu.max_seconds), ("gpu", 1, 60.0));
    assert_eq!(report.queues[1].median_seconds, 3.0);
    assert_eq!(report.slowest_jobs[0], Slow { job: "build".into(), step: None, seconds: 80.0 });
    assert_eq!(report.slowest_steps[0].step.as_deref(), Some("C++ build"));
}

#[test]
fn failures_are_named_by_their_smallest_part_and_of_this_attempt_only() {
    let report = Report::new(&rows(), &History::default());
    let shown: Vec<(&str, Option<&str>, &str)> = report
        .failures
        .iter()
        .map(|failure| (failure.job.as_str(), failure.what.as_deref(), failure.why.as_str()))
        .collect();
    assert_eq!(
        shown,
        [
            ("test", Some("test_a.b"), "assert 1 == 2\nmore"),
            ("test", Some("Run tests"), "failure"),
            ("lost", None, "timed out"),
        ]
    );
}

#[test]
fn a_run_is_compared_with_earlier_ones() {
    let history = History {
        seconds: vec![90.0, 110.0, 100.0],
        hit_rates: vec![("main_process".into(), 0.9)],
    };
    let report = Report::new(&rows(), &history);
    assert_eq!((report.median_seconds, report.earlier_runs), (Some(100.0), 3));
    let expected = Cache {
        name: "main_process".into(),
        requests: 40.0,
        hit_rate: 0.75,
        hit_rate_before: Some(0.9),
    };
    assert_eq!(report.caches, [expected]);
    let text = markdown("pr | main", &document(&report), Some("https://x/a b"));
    for expected in [
        "### pr \\| main\n",
        "failure after 3 m 20 s, 100 % longer than the median of 3 earlier runs (1 m 40 s); 5 jobs, 1 skipped, 1 of earlier attempts",
        "| main\\_process | 40 | 75.0 % | 90.0 % |",
        "| test | test | test\\_a.b | assert 1 == 2 |",
        "| test | +1 m 41 s | 1 m 00 s | 39 s |",
        "[View the trace](https://x/a%20b)",
    ] {
        assert!(text.contains(expected), "{expected} in\n{text}");
    }
}

#[test]
fn a_run_without_anything_is_a_short_report() {
    let report = Report::new(&[], &History::default());
    assert_eq!(markdown("x", &document(&report), None), "### x\n\nnot ended after 0 s; 0 jobs\n\n");
    assert_eq!(median(&[]), None);
    assert_eq!(median(&[1.0, 2.0]), Some(1.5));
}

#[test]
fn a_path_through_jobs_at_the_same_time_has_an_end() {
    let jobs: Vec<Row> = (0..100).map(|number| job(&number.to_string(), 5, 0, 5, "x")).collect();
    assert_eq!(Report::new(&jobs, &History::default()).critical_path.len(), 1);
}
