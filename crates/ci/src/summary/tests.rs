use std::collections::{HashMap, HashSet};

use serde_json::{Value as Json, json};

use super::*;
use crate::identity::Asked;
use crate::ids::{SpanId, TraceId};
use crate::input;
use crate::stash::{Child, ChildStatus, Start};

const VARIABLES: [(&str, &str); 4] = [
    ("GITHUB_REPOSITORY", "rapidsai/cudf"),
    ("GITHUB_RUN_ID", "777"),
    ("GITHUB_RUN_ATTEMPT", "2"),
    ("OTEL_SERVICE_NAME", "pr-cudf"),
];

fn summarize(document: &Json, stash: &dyn Fn(&Job, &mut Warnings) -> Stash) -> (Trace, Warnings) {
    let environment: Environment = VARIABLES.into_iter().collect();
    let (mut run, mut warnings) = (Run::default(), Warnings::new());
    input::read(&mut run, document.to_string().as_bytes(), "jobs.json", &mut warnings);
    let identity = Identity::resolve(&Asked::default(), &environment, &run, &mut warnings);
    let (identity, run, environment) = (&identity, &run, &environment);
    let trace = Summary { identity, run, environment, stash }.trace(&mut warnings);
    check(&trace);
    (trace, warnings)
}

fn plainly(document: &Json) -> (Trace, Warnings) {
    summarize(document, &|_, _| Stash::default())
}

/// What holds for every trace.
#[track_caller]
fn check(trace: &Trace) {
    let spans: HashMap<SpanId, &Span> = trace.spans().map(|span| (span.id, span)).collect();
    assert_eq!(spans.len(), trace.spans().count(), "ids are unique");
    assert_eq!(trace.spans().filter(|span| span.parent.is_none()).count(), 1);
    for span in trace.spans() {
        assert!(span.end_nanos >= span.start_nanos, "{span:?}");
        assert!(span.attributes.get("ci.kind").is_some());
        if let Some(parent) = span.parent {
            let parent = spans.get(&parent).expect("a parent that is there");
            let covers =
                parent.start_nanos <= span.start_nanos && parent.end_nanos >= span.end_nanos;
            assert!(covers, "{parent:?}\n{span:?}");
        }
    }
}

fn find<'a>(trace: &'a Trace, name: &str) -> &'a Span {
    trace.spans().find(|span| span.name == name).unwrap_or_else(|| panic!("no span {name}"))
}

fn at(seconds: u64) -> String {
    crate::times::write((1_767_225_600 + seconds) * 1_000_000_000)
}

fn job(id: u64, name: &str, times: [Option<u64>; 3], conclusion: &str) -> Json {
    let [created, started, completed] = times.map(|time| time.map(at));
    json!({
        "id": id, "run_id": 777, "run_attempt": 2, "name": name, "status": "completed",
        "conclusion": conclusion, "created_at": created, "started_at": started,
        "completed_at": completed, "labels": ["linux", "gpu"], "steps": [],
    })
}

/// Name, beginning, end and conclusion of a step.
type Told<'a> = (&'a str, Option<u64>, Option<u64>, &'a str);

fn steps(mut job: Json, steps: &[Told<'_>]) -> Json {
    let mut told = Vec::new();
    for (number, (name, from, to, conclusion)) in (1..).zip(steps) {
        told.push(json!({
            "name": name, "number": number, "status": "completed", "conclusion": conclusion,
            "started_at": from.map(at), "completed_at": to.map(at),
        }));
    }
    job["steps"] = told.into();
    job
}

#[test]
fn what_is_broken_in_the_existing_summary_is_right() {
    let jobs = json!([
        steps(
            job(1, "setup", [Some(0), Some(5), Some(20)], "success"),
            &[("Set up job", Some(4), Some(6), "success")],
        ),
        steps(
            job(2, "cpp / build / 12.9, amd64", [Some(21), Some(81), Some(600)], "failure"),
            &[
                ("C++ build", Some(90), Some(570), "failure"),
                ("Dup", Some(570), Some(575), "success"),
                ("Dup", Some(575), Some(580), "cancelled"),
                ("Post", Some(598), Some(609), "success"),
            ],
        ),
        job(3, "wheel", [Some(21), None, None], "skipped"),
        job(4, "shard (8/20)", [Some(30), Some(40), Some(35)], "cancelled"),
        job(5, "twin", [Some(30), Some(40), Some(50)], "success"),
        job(6, "twin", [Some(30), Some(40), Some(50)], "timed_out"),
    ]);
    let (trace, _) = plainly(&jobs);
    let root = find(&trace, ROOT_NAME);
    assert_eq!(trace.id, TraceId::of_run("rapidsai/cudf", "777", "2"));
    assert_eq!(root.id.to_string(), "5e401f0bd8aa6d75", "what TRACEPARENT names");
    assert_eq!(root.duration_nanos(), 609_000_000_000);
    assert_eq!(root.status, Status::Error("failure".into()));
    let build = find(&trace, "build / 12.9, amd64");
    assert_eq!(build.id, SpanId::of(trace.id, &["cpp / build / 12.9, amd64"]));
    assert_eq!(build.attributes.get("ci.queue_seconds"), Some(&60.0.into()));
    assert_eq!(build.end_nanos - root.start_nanos, 609_000_000_000);
    let queue = trace.spans().find(|span| span.parent == Some(build.id)).unwrap();
    assert_eq!((queue.name.as_str(), queue.duration_nanos()), (QUEUE_NAME, 60_000_000_000));
    let shard = find(&trace, "shard (8/20)");
    assert_eq!(shard.attributes.text("cicd.pipeline.task.run.result"), Some("cancellation"));
    let skipped = find(&trace, "wheel");
    assert_eq!(skipped.attributes.text("cicd.pipeline.task.run.result"), Some("skip"));
    assert_eq!((skipped.duration_nanos(), &skipped.status), (0, &Status::Unset));
    let twins: HashSet<&Status> =
        trace.spans().filter(|s| s.name == "twin").map(|s| &s.status).collect();
    assert_eq!(twins, HashSet::from([&Status::Ok, &Status::Error("timed out".into())]));
    let services: HashSet<&str> =
        trace.groups.iter().filter_map(|group| group.resource.text("service.name")).collect();
    assert_eq!(
        services,
        HashSet::from(["pr-cudf", "setup", "cpp", "wheel", "shard (8/20)", "twin"])
    );
    assert_eq!(trace.groups[2].resource.text("rapids.labels"), Some("linux gpu"));
    assert_eq!(trace.groups[2].resource.text("git.repository"), Some("rapidsai/cudf"));
}

#[test]
fn a_repeated_attempt_links_to_the_one_before_and_counts_no_job_twice() {
    let mut kept = job(1, "kept", [Some(0), Some(5), Some(20)], "success");
    kept["run_attempt"] = 1.into();
    let again = job(2, "again", [Some(90_000), Some(90_005), Some(90_020)], "success");
    let (trace, _) = plainly(&json!([kept, again]));
    let root = find(&trace, ROOT_NAME);
    assert_eq!(root.duration_nanos(), 20_000_000_000);
    let first = TraceId::of_run("rapidsai/cudf", "777", "1");
    assert_eq!(root.links[0].trace, first);
    assert_eq!(root.links[0].span, SpanId::of(first, &["pr-cudf"]));
    assert_eq!(root.attributes.get("ci.runner_seconds"), Some(&15.0.into()));
    let kept = find(&trace, "kept");
    assert_eq!(kept.attributes.get("ci.carried_over"), Some(&true.into()));
    assert_eq!(kept.attributes.get("ci.attempt"), Some(&1_u64.into()));
    assert_eq!(kept.links[0].span, SpanId::of(first, &["kept"]));
    assert_eq!(find(&trace, "again").attributes.get("ci.carried_over"), None);
}

#[test]
fn a_file_of_an_earlier_attempt_is_not_all_carried_over() {
    let mut only = job(1, "only", [Some(0), Some(5), Some(20)], "success");
    only["run_attempt"] = 1.into();
    let (trace, _) = plainly(&json!([only]));
    assert_eq!(find(&trace, "only").duration_nanos(), 20_000_000_000);
}

#[test]
fn what_is_missing_is_named_and_everything_else_is_there() {
    let mut running = job(1, "running", [Some(0), Some(5), None], "success");
    running["conclusion"] = Json::Null;
    running["status"] = "in_progress".into();
    let running =
        steps(running, &[("first", Some(6), Some(9), "success"), ("next", Some(9), None, "")]);
    let lost = job(2, "lost", [None, None, None], "failure");
    let old = {
        let mut old = job(3, "old", [None, Some(7), Some(8)], "success");
        old.as_object_mut().unwrap().remove("created_at");
        old
    };
    let (trace, warnings) = plainly(&json!([running, lost, old]));
    assert_eq!(find(&trace, "running").attributes.text("ci.state"), Some("in_progress"));
    assert_eq!(find(&trace, "running").duration_nanos(), 9_000_000_000);
    assert_eq!(find(&trace, "old").attributes.get("ci.queue_seconds"), Some(&0.0.into()));
    assert_eq!(trace.spans().filter(|span| span.name == QUEUE_NAME).count(), 1);
    let warnings = warnings.all().join("\n");
    for expected in [
        "jobs.json: [0].status is in_progress",
        "jobs.json: [1].created_at is missing",
        "jobs.json: [1].completed_at is missing",
    ] {
        assert!(warnings.contains(expected), "{expected} in\n{warnings}");
    }
}

#[test]
fn a_job_that_waits_was_not_taken_though_github_gives_it_a_time() {
    let mut waiting = job(1, "waiting", [Some(0), Some(5), None], "success");
    waiting["conclusion"] = Json::Null;
    waiting["status"] = "queued".into();
    let (trace, _) = plainly(&json!([waiting]));
    assert_eq!(trace.spans().filter(|span| span.name == QUEUE_NAME).count(), 0);
    assert_eq!(find(&trace, "waiting").attributes.get("ci.run_seconds"), None);
}

#[test]
fn a_job_that_was_taken_at_once_is_told_of_while_it_runs() {
    let mut running = job(1, "running", [Some(5), Some(5), None], "success");
    running["conclusion"] = Json::Null;
    running["status"] = "in_progress".into();
    let environment: Environment = VARIABLES.into_iter().collect();
    let (mut run, mut warnings) = (Run::default(), Warnings::new());
    input::read(&mut run, json!([running]).to_string().as_bytes(), "jobs.json", &mut warnings);
    let identity = Identity::resolve(&Asked::default(), &environment, &run, &mut warnings);
    let (identity, environment) = (&identity, &environment);
    let stash = &|_: &Job, _: &mut Warnings| Stash::default();
    let summary = Summary { identity, run: &run, environment, stash };
    let trace = summary.queue(&run.jobs[0]).unwrap();
    let queue = find(&trace, QUEUE_NAME);
    assert_eq!((queue.duration_nanos(), queue.attributes.text("ci.job")), (0, Some("running")));
}

#[test]
fn no_jobs_are_one_span_and_a_warning() {
    let (trace, warnings) = plainly(&json!({"total_count": 0, "jobs": []}));
    assert_eq!(trace.spans().count(), 1);
    assert!(warnings.all().join("\n").contains("no jobs"), "{warnings:?}");
}

#[test]
fn what_a_job_left_behind_is_where_it_belongs() {
    let jobs = json!([steps(
        job(1, "cpp / build", [Some(0), Some(5), Some(100)], "failure"),
        &[
            ("Checkout", Some(5), Some(9), "success"),
            ("C++ build", Some(10), Some(60), "success"),
            ("Run tests", Some(60), Some(90), "failure")
        ],
    )]);
    let child = |name: &str, start: Start, seconds: u64, status: ChildStatus| Child {
        name: name.into(),
        start,
        duration_nanos: seconds * 1_000_000_000,
        status,
        attributes: Attributes::new(),
    };
    let chosen = format!("00-{}-00000000000000aa-01", TraceId::of_run("rapidsai/cudf", "777", "2"));
    let (trace, _) = summarize(&jobs, &|_, _| Stash {
        resource: [("rapids.CUDA_VER", "12.9"), ("list", "a%2Cb")].into_iter().collect(),
        traceparent: Some(chosen.clone()),
        job: [("package.total_size_bytes", 5_i64)].into_iter().collect(),
        build: [("sccache.main_process.hit_rate", 0.5)].into_iter().collect(),
        test: [("test.failed", 1_i64)].into_iter().collect(),
        targets: vec![child("a.o", Start::AfterParent(1_000_000_000), 3, ChildStatus::Unset)],
        tests: vec![
            // In local time, and longer than the step.
            child("t1", Start::At(1), 1, ChildStatus::Error("assert 1 == 2".into())),
            child("t2", Start::AfterParent(0), 3_000, ChildStatus::Ok),
        ],
    });
    let job = find(&trace, "build");
    assert_eq!(job.id, SpanId([0, 0, 0, 0, 0, 0, 0, 0xaa]), "what its commands hang below");
    assert!(job.attributes.get("package.total_size_bytes").is_some());
    let build = find(&trace, "C++ build");
    assert_eq!(build.attributes.get("sccache.main_process.hit_rate"), Some(&0.5.into()));
    assert_eq!(find(&trace, "a.o").parent, Some(build.id));
    let test = find(&trace, "t1");
    assert_eq!(test.parent, Some(find(&trace, "Run tests").id));
    assert_eq!(test.status, Status::Error("assert 1 == 2".into()));
    assert_eq!(find(&trace, "t2").duration_nanos(), 30_000_000_000);
    assert_eq!(trace.groups[1].resource.text("rapids.CUDA_VER"), Some("12.9"));
    assert_eq!(trace.groups[1].resource.text("list"), Some("a,b"));
    assert_eq!(job.duration_nanos(), 100_000_000_000);
}

#[test]
fn the_invariants_hold_for_times_in_any_order() {
    // Every order of five moments and nothing, for a job with a step.
    let moments = [None, Some(1), Some(2), Some(3)];
    for created in moments {
        for started in moments {
            for completed in moments {
                for from in moments {
                    for to in moments {
                        for conclusion in ["success", "skipped", "cancelled", "odd"] {
                            let job = job(1, "a", [created, started, completed], conclusion);
                            let job =
                                steps(job, &[("s", from, to, "success"), ("s", to, from, "x")]);
                            plainly(&json!([job]));
                        }
                    }
                }
            }
        }
    }
}
