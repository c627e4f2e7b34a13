//! Runs that crate `ci` makes, asked over the paths.

use http::StatusCode;
use kymo_ci::attributes::Attributes;
use kymo_ci::encode;
use kymo_ci::environment::Environment;
use kymo_ci::identity::{Asked, Identity};
use kymo_ci::input;
use kymo_ci::model::{Job, Run};
use kymo_ci::stash::{Child, ChildStatus, Start, Stash};
use kymo_ci::summary::Summary;
use kymo_ci::warnings::Warnings;
use kymo_journal::Signal;
use serde_json::{Value, json};

use crate::tested::Place;

/// A morning, in seconds since 1970.
const BEGIN: u64 = 1_767_225_600;
const DAY: u64 = 24 * 3_600;

fn at(seconds: u64) -> String {
    kymo_ci::times::write((BEGIN + seconds) * 1_000_000_000)
}

/// A job: its name, when it was created, taken and ended, and how.
fn job(id: u64, name: &str, [created, taken, ended]: [u64; 3], conclusion: &str) -> Value {
    json!({
        "id": id, "name": name, "status": "completed", "conclusion": conclusion,
        "created_at": at(created), "started_at": at(taken), "completed_at": at(ended),
        "labels": ["linux", "gpu"], "runner_name": "runner-1",
        "steps": [
            {"name": "Set up job", "number": 1, "status": "completed", "conclusion": "success",
             "started_at": at(taken), "completed_at": at(taken + 5)},
            {"name": "Build", "number": 2, "status": "completed", "conclusion": conclusion,
             "started_at": at(taken + 5), "completed_at": at(ended)},
        ],
    })
}

/// A run as GitHub tells it.
struct Told {
    id: u64,
    attempt: u64,
    repository: &'static str,
    branch: &'static str,
    conclusion: &'static str,
    jobs: Vec<Value>,
    /// Hits of a hundred compilations.
    hits: u64,
}

impl Told {
    /// Two builds, then a test that waits for both; from a moment on.
    fn new(id: u64, from: u64, test_seconds: u64, conclusion: &'static str) -> Self {
        let jobs = vec![
            job(1, "build (a)", [from, from + 10, from + 100], "success"),
            job(2, "build (b)", [from, from + 20, from + 130], "success"),
            job(3, "test", [from + 131, from + 141, from + 141 + test_seconds], conclusion),
        ];
        let repository = "o/r";
        Self { id, attempt: 1, repository, branch: "main", conclusion, jobs, hits: 90 }
    }

    fn times(&self) -> (Value, Value) {
        let first = self.jobs[0]["created_at"].clone();
        let last = self.jobs.iter().map(|job| job["completed_at"].as_str().unwrap_or_default());
        (first, last.max().unwrap_or_default().into())
    }

    /// Its trace, as requests, and the trace's id.
    fn requests(&self) -> (Vec<Vec<u8>>, String) {
        let (created, updated) = self.times();
        let run = json!({
            "id": self.id, "name": "pr", "head_branch": self.branch, "run_attempt": self.attempt,
            "event": "push", "status": "completed", "conclusion": self.conclusion,
            "created_at": created, "run_started_at": created, "updated_at": updated,
            "repository": {"full_name": self.repository}, "head_sha": "abc",
        });
        let mut jobs = self.jobs.clone();
        for job in &mut jobs {
            job["run_id"] = self.id.into();
            job["run_attempt"] = self.attempt.into();
        }
        let variables = [
            ("GITHUB_REPOSITORY".to_owned(), self.repository.to_owned()),
            ("GITHUB_RUN_ID".to_owned(), self.id.to_string()),
            ("GITHUB_RUN_ATTEMPT".to_owned(), self.attempt.to_string()),
        ];
        let environment: Environment =
            variables.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let (mut told, mut warnings) = (Run::default(), Warnings::new());
        for document in [json!({"jobs": jobs}), run] {
            let text = document.to_string();
            input::read(&mut told, text.as_bytes(), "told.json", &mut warnings);
        }
        let identity = Identity::resolve(&Asked::default(), &environment, &told, &mut warnings);
        let stash = |job: &Job, _: &mut Warnings| left_behind(job, self.hits);
        let summary =
            Summary { identity: &identity, run: &told, environment: &environment, stash: &stash };
        let trace = summary.trace(&mut warnings);
        let id = trace.id.0.iter().map(|byte| format!("{byte:02x}")).collect();
        (encode::requests(&trace), id)
    }
}

/// What a build leaves behind: statistics of a cache, and a target.
fn left_behind(job: &Job, hits: u64) -> Stash {
    if !job.name.starts_with("build") {
        return Stash::default();
    }
    let mut build = Attributes::new();
    build.set("sccache.main_process.hits", hits);
    build.set("sccache.main_process.misses", 100 - hits);
    build.set("sccache.main_process.errors", 1u64);
    let target = Child {
        name: "gather.cu.o".into(),
        start: Start::AfterParent(0),
        duration_nanos: 7_000_000_000,
        attributes: Attributes::new(),
        status: ChildStatus::Ok,
    };
    Stash { build, targets: vec![target], ..Stash::default() }
}

/// Three runs a week ago, four now, of which one failed; the last is slower and its cache colder.
fn place() -> (Place, Vec<String>) {
    let place = Place::new();
    let mut traces = Vec::new();
    let mut send = |told: &Told| {
        let (requests, id) = told.requests();
        requests.into_iter().for_each(|request| place.send(Signal::Traces, request));
        traces.push(id);
    };
    for nth in 0..3 {
        send(&Told::new(100 + nth, nth * 1_000, 60, "success"));
    }
    let now = 8 * DAY;
    send(&Told::new(200, now, 60, "success"));
    send(&Told::new(201, now + 1_000, 60, "failure"));
    send(&Told { attempt: 2, ..Told::new(201, now + 2_000, 60, "success") });
    send(&Told { hits: 40, ..Told::new(202, now + 3_000, 200, "success") });
    (place, traces)
}

/// The last of those days.
fn range() -> String {
    format!("start={}&end={}", BEGIN + 7 * DAY, BEGIN + 9 * DAY)
}

fn near(value: &Value, expected: f64) {
    let number = value.as_f64().unwrap_or(f64::NAN);
    assert!((number - expected).abs() < 1e-6, "{value} is not {expected}");
}

#[tokio::test(flavor = "multi_thread")]
async fn workflows_are_told_against_the_time_before() {
    let (place, traces) = place();
    let told = place.get(&format!("/api/ci/pipelines?{}", range())).await;
    assert_eq!(told["repositories"], json!(["o/r"]));
    assert_eq!(told["branches"], json!(["main"]));
    let pipeline = &told["pipelines"][0];
    assert_eq!(told["pipelines"].as_array().map(Vec::len), Some(1), "{told}");
    assert_eq!((&pipeline["workflow"], &pipeline["repository"]), (&json!("pr"), &json!("o/r")));
    assert_eq!((&pipeline["runs"], &pipeline["failures"]), (&json!(4), &json!(1)));
    assert_eq!(pipeline["runs_before"], json!(3));
    near(&pipeline["failure_rate"], 0.25);
    // From the first job to the end of the test: three of 201 s, one of 341 s.
    near(&pipeline["median_seconds"], 201.0);
    near(&pipeline["median_change"], 0.0);
    near(&pipeline["queue_p95_seconds"], 20.0);
    // (3 · 90 + 40) of 400, twice; before 90 of a hundred.
    near(&pipeline["hit_rate"], 0.775);
    near(&pipeline["hit_rate_change"], 0.775 - 0.9);
    let last = pipeline["last_runs"].as_array().unwrap();
    assert_eq!(last.len(), 4);
    assert_eq!(last[3]["trace_id"], json!(traces[6]));
    near(&last[3]["seconds"], 341.0);
    let other = place.get(&format!("/api/ci/pipelines?{}&branch=other", range())).await;
    assert_eq!(other["pipelines"], json!([]));
    assert_eq!(other["branches"], json!(["main"]), "one can choose again");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_workflow_is_told_by_runs_jobs_runners_caches_and_failures() {
    let (place, traces) = place();
    let told = place.get(&format!("/api/ci/pipelines/pr/runs?{}&repository=o/r", range())).await;
    let runs = told["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 4);
    assert_eq!((&runs[0]["trace_id"], &runs[0]["jobs"]), (&json!(traces[6]), &json!(3)));
    near(&runs[0]["queue_seconds"], 20.0);
    // 90 s, 110 s and 200 s: two, two and four minutes are billed.
    near(&runs[0]["runner_minutes"], 400.0 / 60.0);
    near(&runs[0]["billed_minutes"], 8.0);
    near(&runs[0]["hit_rate"], 0.4);
    assert_eq!(runs[2]["failed_jobs"], json!(1));

    let jobs = told["jobs"].as_array().unwrap();
    let test = jobs.iter().find(|job| job["job"] == "test").unwrap();
    assert_eq!((&test["runs"], &test["failures"]), (&json!(4), &json!(1)));
    assert_eq!((&test["flaky"], &test["on_path"]), (&json!(1), &json!(4)));
    near(&test["median_seconds"], 60.0);
    let longer = jobs.iter().find(|job| job["job"] == "build (b)").unwrap();
    assert_eq!(longer["on_path"], json!(4));
    // Without it, the other build would have held up the test.
    near(&longer["saves_seconds"], 30.0);

    let runners = &told["runners"][0];
    assert_eq!((&runners["labels"], &runners["jobs"]), (&json!("linux gpu"), &json!(12)));
    near(&runners["queue_max_seconds"], 20.0);
    let cache = &told["caches"][0];
    near(&cache["hit_rate"], 0.775);
    assert_eq!(cache["points"].as_array().map(Vec::len), Some(4));
    let failure = &told["failures"][0];
    assert_eq!((&failure["kind"], &failure["name"]), (&json!("step"), &json!("Build")));
    assert_eq!((&failure["job"], &failure["trace_id"]), (&json!("test"), &json!(traces[4])));
    let trend = told["trend"].as_array().unwrap();
    let counted: i64 = trend.iter().filter_map(|bin| bin["runs"].as_i64()).sum();
    assert_eq!(counted, 4);
    for list in ["runs", "jobs", "runners", "caches", "failures"] {
        let listed = told[list].as_array().map(Vec::len);
        assert_eq!(told["totals"][list], json!(listed), "all {list} are listed");
    }
    assert_eq!((&told["is_of_newest"], &told["is_truncated"]), (&json!(false), &json!(false)));
    // Of one repository, its figures are those of all.
    for (name, figure) in told["pipelines"][0].as_object().unwrap() {
        assert_eq!(&told["figures"][name], figure, "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn figures_of_a_workflow_are_of_all_repositories_that_have_it() {
    let (place, _) = place();
    // The one that ran last ran once.
    let last =
        Told { repository: "o/other", hits: 40, ..Told::new(500, 8 * DAY + 4_000, 260, "failure") };
    let (requests, _) = last.requests();
    requests.into_iter().for_each(|request| place.send(Signal::Traces, request));
    let path = "/api/ci/pipelines/pr/runs";
    let told = place.get(&format!("{path}?{}", range())).await;
    assert_eq!(told["pipelines"].as_array().map(Vec::len), Some(2), "{told}");
    assert_eq!(told["pipelines"][0]["repository"], json!("o/other"));
    let figures = &told["figures"];
    assert_eq!((&figures["runs"], &figures["failures"]), (&json!(5), &json!(2)));
    assert_eq!((&figures["runs_before"], &figures["repository"]), (&json!(3), &Value::Null));
    near(&figures["failure_rate"], 0.4);
    // Three of 201 s, one of 341 s, one of 401 s.
    near(&figures["median_seconds"], 201.0);
    near(&figures["queue_p95_seconds"], 20.0);
    // (3 · 90 + 2 · 40) of 500, twice; before 90 of a hundred.
    near(&figures["hit_rate"], 0.7);
    near(&figures["hit_rate_change"], 0.7 - 0.9);
    let of_one = place.get(&format!("{path}?{}&repository=o/other", range())).await;
    assert_eq!(of_one["figures"]["runs"], json!(1));
    near(&of_one["figures"]["median_seconds"], 401.0);
    let none = place.get(&format!("{path}?{}&repository=o/none", range())).await;
    assert_eq!((&none["figures"], &none["pipelines"]), (&Value::Null, &json!([])));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_is_drawn_with_its_path_and_held_against_earlier_ones() {
    let (place, traces) = place();
    let told = place.get(&format!("/api/ci/runs/{}", traces[6])).await;
    let run = &told["run"];
    assert_eq!((&run["workflow"], &run["run_id"]), (&json!("pr"), &json!("202")));
    assert_eq!((&run["conclusion"], &run["is_running"]), (&json!("success"), &json!(false)));
    assert_eq!(told["groups"][0], json!({"name": "build", "jobs": [0, 1]}));
    let test = &told["jobs"][2];
    near(&test["queue_seconds"], 10.0);
    near(&test["dispatch_seconds"], 5.0);
    near(&test["run_seconds"], 200.0);
    near(&test["usual_seconds"], 60.0);
    near(&test["delta_seconds"], 140.0);
    assert_eq!(test["steps"][1]["name"], json!("Build"));
    let path: Vec<i64> =
        told["path"].as_array().unwrap().iter().filter_map(|on| on["job"].as_i64()).collect();
    assert_eq!(path, [1, 2]);
    near(&told["path"][0]["saves_seconds"], 30.0);
    near(&told["jobs"][0]["slack_seconds"], 31.0);
    near(&told["jobs"][2]["slack_seconds"], 0.0);
    let earlier = &told["earlier"];
    assert_eq!(earlier["runs"], json!(6));
    near(&earlier["median_seconds"], 201.0);
    near(&earlier["change"], 341.0 / 201.0 - 1.0);
    let cache = &told["caches"][0];
    assert_eq!((&cache["name"], &cache["hits"]), (&json!("main_process"), &json!(40.0)));
    near(&cache["hit_rate"], 0.4);
    near(&cache["usual_hit_rate"], 0.9);

    let build = &told["jobs"][0]["steps"][1];
    assert_eq!(build["below"], json!({"target": 1}));
    let span = build["span_id"].as_str().unwrap();
    let below = place.get(&format!("/api/ci/runs/{}/below?span={span}", traces[6])).await;
    assert_eq!(below["spans"][0]["name"], json!("gather.cu.o"));
    near(&below["spans"][0]["seconds"], 7.0);

    let failed = place.get(&format!("/api/ci/runs/{}", traces[4])).await;
    assert_eq!(failed["failures"][0]["job"], json!("test"));
    assert_eq!(failed["failures"].as_array().map(Vec::len), Some(1));
    assert_eq!((&failed["failures_total"], &failed["jobs_total"]), (&json!(1), &json!(3)));
}

#[tokio::test(flavor = "multi_thread")]
async fn two_runs_are_told_beside_each_other() {
    let (place, traces) = place();
    let told = place.get(&format!("/api/ci/compare?a={}&b={}", traces[3], traces[6])).await;
    near(&told["delta_seconds"], 140.0);
    let first = &told["jobs"][0];
    assert_eq!(first["job"], json!("test"));
    near(&first["delta_seconds"], 140.0);
    near(&first["steps"][0]["delta_seconds"], 140.0);
    near(&told["caches"][0]["b_hit_rate"], 0.4);
    let differing: Vec<&str> = told["attributes"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|pair| pair["name"].as_str())
        .collect();
    assert!(differing.contains(&"ci.run_id") && !differing.contains(&"ci.workflow"));
    assert_eq!(told["attributes_total"], json!(differing.len()));
    assert_eq!(told["is_truncated"], json!(false));
}

#[tokio::test(flavor = "multi_thread")]
async fn two_branches_are_told_by_the_medians_of_their_last_runs() {
    let place = Place::new();
    let send = |told: Told| {
        let (requests, _) = told.requests();
        requests.into_iter().for_each(|request| place.send(Signal::Traces, request));
    };
    // Two long ones came before the last twenty, and are no part of what is usual.
    for nth in 0..22 {
        let (test_seconds, conclusion) = match nth {
            0 | 1 => (500, "success"),
            2 => (60, "failure"),
            _ => (60, "success"),
        };
        send(Told::new(300 + nth, nth * 1_000, test_seconds, conclusion));
    }
    for (nth, conclusion) in ["success", "success", "cancelled"].into_iter().enumerate() {
        let nth = nth as u64;
        send(Told { branch: "fix", ..Told::new(400 + nth, nth * 1_000, 90, conclusion) });
    }
    let path = "/api/ci/pipelines/pr/branches";
    let end = BEGIN + DAY;
    let told = place.get(&format!("{path}?a=main&b=fix&repository=o/r&end={end}")).await;
    assert_eq!((&told["a"]["runs"], &told["a"]["failures"]), (&json!(20), &json!(1)), "{told}");
    near(&told["a"]["median_seconds"], 201.0);
    // What was called off tells nothing of how long it takes.
    assert_eq!((&told["b"]["branch"], &told["b"]["runs"]), (&json!("fix"), &json!(2)));
    near(&told["delta_seconds"], 30.0);
    near(&told["change"], 231.0 / 201.0 - 1.0);
    let test = &told["jobs"][0];
    assert_eq!((&test["job"], &test["b"]["runs"]), (&json!("test"), &json!(2)));
    near(&test["a"]["median_seconds"], 60.0);
    near(&test["delta_seconds"], 30.0);
    assert_eq!(told["jobs"].as_array().map(Vec::len), Some(3));
    let unknown = place.get(&format!("{path}?a=main&b=none&end={end}")).await;
    assert_eq!((&unknown["b"]["runs"], &unknown["jobs"][0]["b"]), (&json!(0), &Value::Null));
    assert_eq!(place.ask(&format!("{path}?a=main&b=")).await.0, StatusCode::BAD_REQUEST);
    assert_eq!(place.ask(&format!("{path}?a=main")).await.0, StatusCode::BAD_REQUEST);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_goes_on_is_told_by_its_jobs() {
    let place = Place::new();
    let now = crate::times::now_nanos() as u64 / 1_000_000_000;
    let begun = now - 100;
    let id = waited(&place, 1, begun, begun + 30);
    let told = place.get(&format!("/api/ci/runs/{id}")).await;
    let (run, job) = (&told["run"], &told["jobs"][0]);
    assert_eq!((&run["is_running"], &job["is_running"]), (&json!(true), &json!(true)));
    near(&job["queue_seconds"], 30.0);
    // Both have lasted until now.
    let lasts = |value: &Value, least: f64| {
        let seconds = value.as_f64().unwrap_or(f64::NAN);
        assert!((least..least + 60.0).contains(&seconds), "{value} is not {least} and a little");
    };
    lasts(&run["seconds"], 100.0);
    lasts(&job["run_seconds"], 70.0);
    assert_eq!(job["end_ms"], run["end_ms"]);
    let until = run["end_ms"].as_f64().unwrap() / 1e3;
    lasts(&json!(until - begun as f64), 100.0);
    near(&job["taken_ms"], (begun + 30) as f64 * 1e3);
    let range = format!("start={begun}&end={}", now + 100);
    let listed = place.get(&format!("/api/ci/pipelines?{range}")).await;
    assert_eq!(listed["pipelines"][0]["running"], json!(1), "{listed}");
    lasts(&listed["pipelines"][0]["last_runs"][0]["seconds"], 100.0);
    let workflow = place.get(&format!("/api/ci/pipelines/pr/runs?{range}")).await;
    lasts(&workflow["runs"][0]["seconds"], 100.0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_whose_end_was_never_told_lasted_as_long_as_was_heard_of_it() {
    let place = Place::new();
    let id = waited(&place, 2, BEGIN, BEGIN + 30);
    let told = place.get(&format!("/api/ci/runs/{id}")).await;
    assert_eq!(told["run"]["is_running"], json!(true));
    near(&told["run"]["seconds"], 30.0);
    near(&told["jobs"][0]["run_seconds"], 0.0);
    let range = format!("start={}&end={}", BEGIN, BEGIN + 100);
    let listed = place.get(&format!("/api/ci/pipelines?{range}")).await;
    assert_eq!(listed["pipelines"][0]["running"], json!(1), "{listed}");
    near(&listed["pipelines"][0]["last_runs"][0]["seconds"], 30.0);
}

/// Sends what a webhook tells when a runner takes the first job of a run: how long that waited, in
/// seconds since 1970. The id of the run's trace.
fn waited(place: &Place, nth: u64, from: u64, to: u64) -> String {
    let id = format!("{nth:032x}");
    let nanos = |seconds: u64| (seconds * 1_000_000_000).to_string();
    let text = |key: &str, value: &str| json!({"key": key, "value": {"stringValue": value}});
    let span = json!({
        "traceId": id, "spanId": "00000000000000a1", "parentSpanId": "00000000000000b1",
        "name": "Start delay time",
        "startTimeUnixNano": nanos(from), "endTimeUnixNano": nanos(to),
        "attributes": [
            text("ci.kind", "queue"), text("ci.job", "build"), text("ci.workflow", "pr"),
        ],
    });
    let request = json!({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]});
    place.send_json(Signal::Traces, &request);
    id
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_number_breaks_no_figure() {
    let (place, _) = place();
    let nanos = ((BEGIN + 8 * DAY) * 1_000_000_000).to_string();
    let text = |key: &str, value: &str| json!({"key": key, "value": {"stringValue": value}});
    let span = json!({
        "traceId": "000000000000000000000000000000aa", "spanId": "00000000000000a1",
        "name": "build", "startTimeUnixNano": nanos, "endTimeUnixNano": nanos,
        "attributes": [
            text("ci.kind", "job"), text("ci.workflow", "pr"), text("ci.repository", "o/r"),
            text("ci.queue_seconds", "soon"), text("sccache.main_process.hits", "many"),
        ],
    });
    place.send_json(
        Signal::Traces,
        &json!({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}),
    );
    let told = place.get(&format!("/api/ci/pipelines?{}", range())).await;
    near(&told["pipelines"][0]["queue_p95_seconds"], 20.0);
    near(&told["pipelines"][0]["hit_rate"], 0.775);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_ends_before_it_begins_takes_no_time() {
    let place = Place::new();
    let nanos = |seconds: u64| ((BEGIN + seconds) * 1_000_000_000).to_string();
    let text = |key: &str, value: &str| json!({"key": key, "value": {"stringValue": value}});
    let span = |id: &str, kind: &str, from: u64, to: u64| {
        json!({
            "traceId": "000000000000000000000000000000ab", "spanId": id, "name": kind,
            "startTimeUnixNano": nanos(from), "endTimeUnixNano": nanos(to),
            "attributes": [
                text("ci.kind", kind), text("ci.workflow", "pr"),
                text("ci.conclusion", "success"),
            ],
        })
    };
    let spans = [span("00000000000000a1", "run", 0, 100), span("00000000000000a2", "job", 50, 20)];
    let request = json!({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]});
    place.send_json(Signal::Traces, &request);
    let told = place.get("/api/ci/runs/000000000000000000000000000000ab").await;
    let job = &told["jobs"][0];
    assert_eq!(job["end_ms"], job["created_ms"], "{job}");
    near(&job["run_seconds"], 0.0);
    near(&told["path"][0]["share"], 0.0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_workflow_may_be_called_as_a_kind_is() {
    let place = Place::new();
    let nanos = (BEGIN * 1_000_000_000).to_string();
    let text = |key: &str, value: &str| json!({"key": key, "value": {"stringValue": value}});
    for (nth, workflow) in ["job", "queue"].into_iter().enumerate() {
        let span = json!({
            "traceId": format!("{:032x}", nth + 1), "spanId": format!("{:016x}", nth + 1),
            "name": "build", "startTimeUnixNano": nanos, "endTimeUnixNano": nanos,
            "attributes": [
                text("ci.kind", "job"), text("ci.workflow", workflow), text("ci.job", "build"),
            ],
        });
        let request = json!({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]});
        place.send_json(Signal::Traces, &request);
    }
    let range = format!("start={}&end={}", BEGIN, BEGIN + 100);
    let told = place.get(&format!("/api/ci/pipelines/job/runs?{range}")).await;
    let names: Vec<&Value> =
        told["pipelines"].as_array().unwrap().iter().map(|of| &of["workflow"]).collect();
    assert_eq!(names, [&json!("job")], "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_asked_is_refused_and_what_is_not_there_is_not_found() {
    let place = Place::new();
    for (path, status) in [
        ("/api/ci/runs/xyz", StatusCode::BAD_REQUEST),
        ("/api/ci/runs/00000000000000000000000000000001", StatusCode::NOT_FOUND),
        ("/api/ci/pipelines?start=yesterday", StatusCode::BAD_REQUEST),
        ("/api/ci/pipelines?start=20&end=10", StatusCode::BAD_REQUEST),
        ("/api/ci/pipelines", StatusCode::OK),
        ("/api/ci/pipelines/none/runs", StatusCode::OK),
    ] {
        let (answered, document) = place.ask(path).await;
        assert_eq!(answered, status, "{path}: {document}");
    }
}
