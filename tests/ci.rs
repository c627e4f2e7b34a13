//! `kymo ci`: the binary as a workflow runs it, and as people ask it.

#![allow(clippy::unwrap_used, clippy::panic, unreachable_pub, reason = "a test")]

mod harness;

use std::net::TcpListener;
use std::time::{Duration, Instant};

use harness::actions::{GitHub, Job, Known, zip};
use harness::programs::{kymo, run};
use harness::{Answer, Server};
use serde_json::{Value, json};

const TRACE: &str = "b32e21fdbca9c03f05dc7b268c84d791";

/// Jobs of a run: one that went well, one that failed, one that was skipped, one that still runs.
fn jobs() -> Value {
    let step = |name: &str, number: u64, conclusion: &str, from: &str, to: &str| {
        json!({"name": name, "number": number, "status": "completed", "conclusion": conclusion,
               "started_at": format!("2026-01-01T00:{from}Z"), "completed_at": format!("2026-01-01T00:{to}Z")})
    };
    let job = |id: u64, name: &str, conclusion: &str, times: [&str; 3], labels: &[&str]| {
        let [created, started, completed] = times.map(|time| format!("2026-01-01T00:{time}Z"));
        json!({"id": id, "run_id": 777, "run_attempt": 2, "name": name, "status": "completed",
               "workflow_name": "pr", "head_branch": "pull-request/1", "conclusion": conclusion,
               "created_at": created, "started_at": started, "completed_at": completed,
               "labels": labels, "runner_name": format!("runner-{}", id - 100),
               "html_url": format!("https://github.com/rapidsai/cudf/actions/runs/777/job/{id}"),
               "steps": []})
    };
    let mut setup =
        job(101, "telemetry-setup", "success", ["00:00", "00:05", "00:20"], &["ubuntu"]);
    setup["steps"] = json!([step("Set up job", 1, "success", "00:05", "00:06")]);
    let mut build = job(
        103,
        "conda-cpp-build / build / 12.9.1, amd64",
        "failure",
        ["00:21", "01:21", "10:00"],
        &["linux-amd64-gpu", "self-hosted"],
    );
    build["steps"] = json!([
        step("C++ build", 1, "success", "01:30", "08:00"),
        step("Run tests", 2, "failure", "08:00", "09:50"),
    ]);
    let skipped = job(104, "docs", "skipped", ["00:21", "00:21", "00:21"], &[]);
    let mut summarize =
        job(105, "telemetry-summarize", "success", ["10:01", "10:03", "10:03"], &["ubuntu"]);
    summarize["status"] = "in_progress".into();
    summarize["conclusion"] = Value::Null;
    summarize["completed_at"] = Value::Null;
    json!([setup, build, skipped, summarize])
}

fn write_jobs(job: &Job) {
    std::fs::write(job.workspace().join("all_jobs.json"), jobs().to_string()).unwrap();
}

fn job_for(server: &Server) -> Job {
    let mut job = Job::new();
    job.set("OTEL_EXPORTER_OTLP_ENDPOINT", &format!("http://{}", server.otlp_grpc()));
    job.set("KYMO_URL", &server.url(""));
    job
}

#[test]
fn traceparent_is_that_of_the_existing_system() {
    let job = Job::new();
    let expected = format!("00-{TRACE}-5e401f0bd8aa6d75-01\n");
    let printed = |arguments: &[&str]| run(&mut job.kymo(arguments)).expect(0).stdout;
    assert_eq!(printed(&["ci", "traceparent", "pr-cudf"]), expected);
    let by_flags = run(kymo().args([
        "ci",
        "traceparent",
        "pr-cudf",
        "--repo",
        "rapidsai/cudf",
        "--run",
        "777",
        "--attempt",
        "2",
    ]));
    assert_eq!(by_flags.expect(0).stdout, expected);
    assert_ne!(printed(&["ci", "traceparent", "pr-cudf", "a step"]), expected);
    run(&mut job.kymo(&["ci", "traceparent", ""])).expect(2);
    let unknown = run(kymo().args(["ci", "traceparent", "x"])).expect(0);
    assert!(unknown.stdout.is_empty() && unknown.stderr.contains("--repo"), "{}", unknown.stderr);
    run(kymo().args(["ci", "traceparent", "x", "--strict"])).expect(1);
}

#[test]
fn a_run_becomes_a_trace_with_all_that_its_jobs_sent_below_them() {
    let server = Server::start();
    let mut running = jobs().as_array().unwrap().clone();
    running[1]["status"] = "in_progress".into();
    running[1]["conclusion"] = Value::Null;
    let github = GitHub::start(Known {
        jobs: running,
        run: json!({"id": 777, "name": "pr", "run_attempt": 2, "event": "pull_request",
                    "head_branch": "pull-request/1", "status": "in_progress", "jobs_url": "x",
                    "run_started_at": "2026-01-01T00:00:00Z"}),
        ..Known::default()
    });

    // The first job.
    let job = job_for(&server);
    run(&mut job.kymo(&["ci", "setup"])).expect(0);
    let file = std::fs::read_to_string(job.workspace().join("telemetry-env-vars")).unwrap();
    assert!(file.contains("OTEL_SERVICE_NAME=pr-cudf\n"), "{file}");
    assert!(job.written("GITHUB_OUTPUT").contains(&format!("trace_id={TRACE}\n")));

    // Another, which finds out who it is.
    let mut job = job_for(&server);
    job.set("GITHUB_API_URL", &github.url()).set("GITHUB_TOKEN", "t0ken");
    std::fs::write(job.workspace().join("vars"), file).unwrap();
    run(&mut job.kymo(&["ci", "load", "vars"])).expect(0);
    job.take_over();
    run(&mut job.kymo(&["ci", "attrs", "--lookup", "rapids.CUDA_VER=12.9.1"])).expect(0);
    job.take_over();
    let environment = job.written("GITHUB_ENV");
    for expected in [
        "JOB_ID=103\n",
        "OTEL_SERVICE_NAME=conda-cpp-build / build / 12.9.1, amd64\n",
        "git.job_url=https://github.com/rapidsai/cudf/actions/runs/777/job/103",
        "rapids.labels=linux-amd64-gpu self-hosted,rapids.CUDA_VER=12.9.1",
    ] {
        assert!(environment.contains(expected), "{expected} in\n{environment}");
    }
    let child = "echo $TRACEPARENT; exit 3";
    let ran = run(&mut job.kymo(&["ci", "exec", "--", "sh", "-c", child, "--token", "hush"]));
    let child = ran.expect(3).stdout.trim().to_owned();
    let statistics = "Compile requests 20\nCache hits (CUDA) 6\nCache misses (CUDA) 2\n";
    run(&mut job.kymo(&["ci", "record", "sccache-stats.txt", "--", "printf", statistics]))
        .expect(0);
    run(&mut job.kymo(&["ci", "stash"])).expect(0);
    let stash = job.workspace().join("telemetry-artifacts");
    let read = |name: &str| std::fs::read(stash.join(name)).unwrap();
    assert_eq!(read("sccache-stats.txt"), statistics.as_bytes());
    let artifact = zip(&[
        ("attrs", &read("attrs")),
        ("traceparent", &read("traceparent")),
        ("sccache-stats.txt", &read("sccache-stats.txt")),
        ("junit.xml", b"<testsuite name='s'><testcase classname='m' name='t' time='2'><failure message='1 is not 2'/></testcase></testsuite>"),
    ]);
    github.known.lock().unwrap().artifacts =
        vec![("telemetry-tools-artifacts-103".into(), artifact), ("other".into(), Vec::new())];

    // The last.
    github.known.lock().unwrap().jobs = jobs().as_array().unwrap().clone();
    let mut job = job_for(&server);
    job.set("GITHUB_API_URL", &github.url()).set("GITHUB_TOKEN", "t0ken");
    let ran = run(&mut job.kymo(&["ci", "summarize", "--fetch", "--delete-artifacts"])).expect(0);
    assert!(ran.stdout.starts_with(&format!("trace {TRACE}: 4 jobs, 3 steps")), "{}", ran.stdout);
    assert!(ran.stdout.contains("in 1 request"), "{}", ran.stdout);
    assert!(ran.stderr.contains("the job \"telemetry-summarize\" has not ended"), "{}", ran.stderr);
    let deleted: Vec<String> =
        github.asked().into_iter().filter(|asked| asked.starts_with("DELETE")).collect();
    assert_eq!(deleted, ["DELETE /repos/rapidsai/cudf/actions/artifacts/1"]);

    let orphans = server.number(&format!(
        "SELECT count(*) FROM spans s LEFT JOIN spans p ON s.parent_span_id = p.span_id \
         WHERE s.trace_id = '{TRACE}' AND s.parent_span_id IS NOT NULL AND p.span_id IS NULL"
    ));
    assert_eq!(orphans, 0, "everything hangs below something");
    let command = server.sql(&format!(
        "SELECT s.\"span.process.command_line\", p.name, s.status, s.\"resource.rapids.CUDA_VER\" \
         FROM spans s JOIN spans p ON s.parent_span_id = p.span_id WHERE s.trace_id = '{TRACE}' \
         AND s.span_id = '{}'",
        child.split('-').nth(2).unwrap()
    ));
    let expected = json!([
        "sh -c echo $TRACEPARENT; exit 3 --token ***",
        "build / 12.9.1, amd64",
        "error",
        "12.9.1"
    ]);
    assert_eq!(Value::from(command.rows[0].clone()), expected);
    let build = server.sql(
        "SELECT \"span.sccache.main_process.cuda.hit_rate\", \"span.sccache.main_process.requests\", \
         \"resource.rapids.labels\", \"resource.vcs.repository.name\" FROM spans WHERE name = 'C++ build'",
    );
    assert_eq!(
        Value::from(build.rows[0].clone()),
        json!([0.75, 20, "linux-amd64-gpu self-hosted", "cudf"])
    );
    let test = server.sql("SELECT name, status_message FROM spans WHERE \"span.ci.kind\" = 'test'");
    assert_eq!(Value::from(test.rows[0].clone()), json!(["m.t", "1 is not 2"]));

    // What could not be got is not deleted.
    github.known.lock().unwrap().artifacts[0].1 = b"not a zip".to_vec();
    let before = github.asked().len();
    let ran = run(&mut job.kymo(&["ci", "summarize", "--fetch", "--delete-artifacts"])).expect(0);
    assert!(
        ran.stderr.contains("the artifact telemetry-tools-artifacts-103 is left out"),
        "{}",
        ran.stderr
    );
    assert!(!github.asked()[before..].iter().any(|asked| asked.starts_with("DELETE")));
    // In debug mode artifacts stay.
    job.set("RUNNER_DEBUG", "1");
    let before = github.asked().len();
    run(&mut job.kymo(&["ci", "summarize", "--fetch", "--delete-artifacts"])).expect(0);
    assert!(!github.asked()[before..].iter().any(|asked| asked.starts_with("DELETE")));
}

#[test]
fn a_run_that_was_fetched_can_be_summarized_at_a_desk() {
    let statistics = b"Compile requests 4\nCache hits (Rust) 1\nCache misses (Rust) 3\n";
    let github = GitHub::start(Known {
        jobs: jobs().as_array().unwrap().clone(),
        run: json!({"id": 777, "name": "pr", "run_attempt": 2, "jobs_url": "x", "event": "push"}),
        artifacts: vec![(
            "telemetry-tools-artifacts-103".into(),
            zip(&[("sccache-stats.txt", &statistics[..])]),
        )],
        ..Known::default()
    });
    let place = tempfile::tempdir().unwrap();
    let desk = |arguments: &[&str]| {
        let mut command = kymo();
        command.arg("ci").args(arguments).current_dir(place.path());
        run(command.env("OTEL_TRACES_EXPORTER", "console")).expect(0)
    };
    let url = github.url();
    let which = ["--repo", "rapidsai/cudf", "--run", "777", "--attempt", "2"];
    let fetched = desk(&[&["fetch", "--out", "run", "--api-url", &url][..], &which].concat());
    assert_eq!(fetched.stdout, "4 jobs and 1 artifacts of rapidsai/cudf run 777 in run\n");
    let asked = github.asked();
    assert!(
        asked.contains(&"GET /repos/rapidsai/cudf/actions/runs/777/attempts/2".to_owned()),
        "{asked:?}"
    );
    let shown = desk(&["summarize", "run/all_jobs.json", "run/run.json"]).stdout;
    for expected in [TRACE, "sccache.main_process.rust.hit_rate", "\"push\"", "pr-cudf"] {
        assert!(shown.contains(expected), "{expected} in {shown}");
    }
}

#[test]
fn queries_of_dashboards_find_the_right_rows() {
    let server = Server::start();
    let job = job_for(&server);
    write_jobs(&job);
    run(&mut job.kymo(&["ci", "summarize"])).expect(0);
    let spans = |query: &str| -> Vec<String> {
        let query = &format!("{query} | select(name)");
        let document =
            server.tempo("/api/search", &[("q", query), ("spss", "1000")]).expect(200).json();
        let traces = document["traces"].as_array().unwrap().iter();
        let sets = traces.flat_map(|trace| trace["spanSets"].as_array().unwrap().clone());
        let mut names: Vec<String> = sets
            .flat_map(|set| set["spans"].as_array().unwrap().clone())
            .map(|span| span["name"].as_str().unwrap_or("").to_owned())
            .collect();
        names.sort();
        names
    };
    let select = "{name = \"C++ build\"} | select(span:duration, name, resource.rapids.labels, resource.service.name, span.sccache.main_process.hit_rate)";
    assert_eq!(spans(select), ["C++ build"]);
    assert_eq!(spans("{trace:rootName !~ \"\"} && {trace:rootName !~ \"moby.*\"}").len(), 11);
    let long = [
        "C++ build",
        "Run tests",
        "Start delay time",
        "Top-level workflow root",
        "build / 12.9.1, amd64",
        "telemetry-setup",
    ];
    assert_eq!(spans("{duration>10s && duration<1d}"), long);
    assert_eq!(spans("{resource.git.job_url !~ \"\"}").len(), 11);
    let gpu = ["C++ build", "Run tests", "Start delay time", "build / 12.9.1, amd64"];
    assert_eq!(spans("{resource.rapids.labels =~ \".*gpu.*\"}"), gpu);
    let others = spans("{resource.rapids.labels !~ \".*gpu.*\" && resource.rapids.labels !~ \"\"}");
    assert_eq!(
        others,
        [
            "Set up job",
            "Start delay time",
            "Start delay time",
            "telemetry-setup",
            "telemetry-summarize"
        ]
    );
    // As the existing system sends it, a rate is an integer where it is zero and a double elsewhere.
    let folder = |id: u64| {
        job.workspace().join(format!("telemetry-artifacts/telemetry-tools-artifacts-{id}"))
    };
    for (id, counts) in [(101, "0\nCache misses (rust) 0"), (103, "1\nCache misses (rust) 3")] {
        std::fs::create_dir_all(folder(id)).unwrap();
        let text = format!("Compile requests 4\nCache hits (rust) {counts}\n");
        std::fs::write(folder(id).join("sccache-stats.txt"), text).unwrap();
    }
    let two = jobs().to_string().replace("Set up job", "Python build").replace("00:06Z", "00:16Z");
    std::fs::write(job.workspace().join("all_jobs.json"), two).unwrap();
    run(&mut job.kymo(&["ci", "summarize", "--compat", "rapids", "--run", "778"])).expect(0);
    let rate = "span.sccache.main_process.rust.hit_rate";
    assert_eq!(spans(&format!("{{{rate} = 0}}")), ["Python build"]);
    assert_eq!(spans(&format!("{{{rate} > 0.2}} | select({rate})")), ["C++ build"]);
    assert_eq!(spans(&format!("{{{rate} >= 0}}")), ["C++ build", "Python build"]);
    let average = server.sql(&format!("SELECT avg(\"{rate}\") FROM spans"));
    assert_eq!(average.rows[0][0], 0.125);
    let combined = "{duration<1d && duration>10s} && {resource.rapids.labels =~ \".*gpu.*\"} && {status = error} | select(name)";
    assert_eq!(
        server.tempo("/api/search", &[("q", combined)]).expect(200).json()["traces"][0]["traceID"],
        TRACE
    );
}

#[test]
fn nothing_fails_a_build() {
    let unreachable = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let mut job = Job::new();
    job.set("OTEL_EXPORTER_OTLP_ENDPOINT", &format!("http://{unreachable}"));
    write_jobs(&job);
    let began = Instant::now();
    let ran = run(&mut job.kymo(&["ci", "summarize", "--timeout", "500ms"])).expect(0);
    assert!(
        ran.stderr.contains("could not be reached") && ran.stderr.contains("wait in"),
        "{}",
        ran.stderr
    );
    assert!(began.elapsed() < Duration::from_secs(20));
    run(&mut job.kymo(&["ci", "summarize", "--timeout", "500ms", "--strict"])).expect(1);
    // Now that it is known, commands do not try.
    let began = Instant::now();
    for status in [0, 9] {
        let script = format!("exit {status}");
        run(&mut job.kymo(&["ci", "exec", "--", "sh", "-c", &script])).expect(status);
    }
    assert!(began.elapsed() < Duration::from_secs(3));
    for arguments in [
        &["ci", "summarize", "missing.json"][..],
        &[
            "ci",
            "fetch",
            "--repo",
            "a/b",
            "--run",
            "1",
            "--api-url",
            "http://127.0.0.1:9",
            "--api-timeout",
            "300ms",
        ],
        &["ci", "load", "missing"],
        &["ci", "shift-time", "missing.json"],
        &["ci", "report", "--url", "http://127.0.0.1:9"],
    ] {
        let ran = run(&mut job.kymo(arguments)).expect(0);
        assert!(ran.stderr.starts_with("warning: "), "{arguments:?}: {}", ran.stderr);
        let strict = [arguments, &["--strict"]].concat();
        run(&mut job.kymo(&strict)).expect(1);
    }
    run(&mut job.kymo(&["ci", "exec", "--", "/no/such/program"])).expect(127);
    run(job.kymo(&["ci", "exec", "--", "sh", "-c", "exit 4"]).env("KYMO_LOG", "a=b=c")).expect(4);
    // Whoever reads slowly gets everything.
    let slowly = "kymo ci record out.txt -- seq 1 30000 | (sleep 1; wc -l)";
    assert_eq!(run(&mut job.shell(slowly)).expect(0).stdout.trim(), "30000");
    let kept =
        std::fs::read_to_string(job.workspace().join("telemetry-artifacts/out.txt")).unwrap();
    assert_eq!(kept.lines().count(), 30_000);

    // The next call that reaches a server sends what waits, each once.
    let server = Server::start();
    job.set("OTEL_EXPORTER_OTLP_ENDPOINT", &format!("http://{}", server.otlp_grpc()));
    let ran = run(&mut job.kymo(&["ci", "summarize"])).expect(0);
    assert!(ran.stdout.contains("of earlier calls"), "{}", ran.stdout);
    assert_eq!(server.number("SELECT count(*) FROM spans WHERE \"span.ci.kind\" = 'command'"), 5);
    assert_eq!(server.number("SELECT count(*) FROM spans WHERE \"span.ci.kind\" = 'run'"), 1);
    let ran = run(&mut job.kymo(&["ci", "exec", "--", "true"])).expect(0);
    assert_eq!(ran.stderr, "");
}

#[test]
fn spans_are_sent_over_every_protocol_or_shown() {
    let server = Server::start();
    let job = Job::new();
    write_jobs(&job);
    let grpc = format!("http://{}", server.otlp_grpc());
    let http = format!("http://{}", server.otlp_http());
    for (run_id, endpoint, protocol, compression) in [
        ("1", &grpc, "grpc", ""),
        ("2", &grpc, "grpc", "gzip"),
        ("3", &http, "http/protobuf", ""),
        ("4", &http, "http/protobuf", "gzip"),
        ("5", &http, "http/json", ""),
    ] {
        let arguments =
            ["ci", "summarize", "--endpoint", endpoint, "--protocol", protocol, "--run", run_id];
        let ran = run(job.kymo(&arguments).env("OTEL_EXPORTER_OTLP_COMPRESSION", compression));
        assert!(ran.expect(0).stdout.contains("in 1 request"));
        let query = format!("SELECT count(*) FROM spans WHERE \"span.ci.run_id\" = {run_id}");
        assert_eq!(server.number(&query), 8, "{protocol}: run, jobs, queues");
    }
    let shown =
        run(job.kymo(&["ci", "summarize"]).env("OTEL_TRACES_EXPORTER", "console")).expect(0);
    let document: Value = serde_json::from_str(shown.stdout.trim()).unwrap();
    assert_eq!(document["resourceSpans"].as_array().unwrap().len(), 5);
    let none = run(job.kymo(&["ci", "summarize"]).env("OTEL_TRACES_EXPORTER", "none")).expect(0);
    assert!(!none.stdout.contains("sent"), "{}", none.stdout);
    let refused = run(job
        .kymo(&[
            "ci",
            "summarize",
            "--endpoint",
            &server.url("/nowhere"),
            "--protocol",
            "http/protobuf",
        ])
        .env("KYMO_CI_SPOOL", job.workspace().join("spool")))
    .expect(0);
    assert!(refused.stderr.contains("refused the spans: it answered 404"), "{}", refused.stderr);
    assert!(!job.workspace().join("spool").exists(), "what is refused is not kept");
}

#[test]
fn webhooks_build_the_trace_as_jobs_end() {
    let server = Server::with(&["--ci-github-webhook-secret", "s3cret"]);
    let all = jobs();
    let post = |event: &str, body: &str, secret: &str, content_type: &str| {
        let request = server.client.post(server.url("/api/ci/github"));
        let signature = kymo_ci::webhook::signature(secret, body.as_bytes());
        let request = request.header("x-github-event", event).header("content-type", content_type);
        Answer::of(request.header("x-hub-signature-256", signature).body(body.to_owned()))
    };
    let deliver =
        |event: &str, body: &Value| post(event, &body.to_string(), "s3cret", "application/json");
    let of_job = |mut job: Value, status: &str| {
        if status != "completed" {
            job["conclusion"] = Value::Null;
            job["completed_at"] = Value::Null;
            job["steps"] = json!([]);
        }
        job["status"] = status.into();
        json!({"action": status, "workflow_job": job, "repository": {"full_name": "rapidsai/cudf"}})
    };
    assert_eq!(deliver("ping", &json!({})).expect(200).json()["message"], "pong");
    deliver("push", &json!({})).expect(202);
    let build = all[1].clone();
    deliver("workflow_job", &of_job(build.clone(), "queued")).expect(202);
    let began = deliver("workflow_job", &of_job(build.clone(), "in_progress")).expect(200).json();
    assert_eq!((&began["trace_id"], &began["spans"]), (&json!(TRACE), &json!(1)));
    assert_eq!(server.search("{ name = \"Start delay time\" }"), [TRACE]);
    let ended = deliver("workflow_job", &of_job(build.clone(), "completed")).expect(200).json();
    assert_eq!(ended["spans"], 3);
    // As a form, and a second time.
    let form = format!("payload={}", percent(&of_job(build, "completed").to_string()));
    post("workflow_job", &form, "s3cret", "application/x-www-form-urlencoded").expect(200);
    assert_eq!(server.number("SELECT count(*) FROM spans"), 4);
    let run = json!({"action": "completed", "repository": {"full_name": "rapidsai/cudf"}, "workflow_run": {
        "id": 777, "name": "pr", "run_attempt": 2, "status": "completed", "conclusion": "failure",
        "run_started_at": "2026-01-01T00:00:30Z", "updated_at": "2026-01-01T00:09:00Z",
        "head_branch": "main", "repository": {"full_name": "rapidsai/cudf"}}});
    deliver("workflow_run", &run).expect(200);
    // Called a form, as curl does unless told otherwise.
    let form = "application/x-www-form-urlencoded";
    post("workflow_run", &run.to_string(), "s3cret", form).expect(200);
    let uncovered = server.number(
        "SELECT count(*) FROM spans WHERE start_time < (SELECT start_time FROM spans WHERE \"span.ci.kind\" = 'run') \
         OR end_time > (SELECT end_time FROM spans WHERE \"span.ci.kind\" = 'run')",
    );
    assert_eq!(uncovered, 0, "the run covers its jobs");
    let counted = server.sql("SELECT \"span.ci.jobs\", \"span.ci.failed_jobs\" FROM spans WHERE \"span.ci.kind\" = 'run'");
    assert_eq!(Value::from(counted.rows[0].clone()), json!([1, 1]));
    let orphans = server.number(
        "SELECT count(*) FROM spans s LEFT JOIN spans p ON s.parent_span_id = p.span_id \
         WHERE s.parent_span_id IS NOT NULL AND p.span_id IS NULL",
    );
    assert_eq!(orphans, 0);

    for (event, body, secret, expected) in [
        ("workflow_job", "{}", "wrong", 401),
        ("workflow_job", "{}", "s3cret", 400),
        ("workflow_job", "{\"workflow_job\": {", "s3cret", 400),
        ("workflow_run", "{\"workflow_run\": {\"id\": 5}}", "s3cret", 400),
    ] {
        let answer = post(event, body, secret, "application/json").expect(expected);
        assert!(answer.json()["error"].is_string(), "{}", answer.text());
    }
    assert!(!server.stderr().contains("s3cret"));
    let without = Server::start();
    let answer =
        Answer::of(without.client.post(without.url("/api/ci/github")).body("{}")).expect(404);
    assert!(answer.text().contains("ci.github.webhook_secret"), "{}", answer.text());
}

fn percent(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

#[test]
fn stored_runs_are_listed_compared_and_reported() {
    let server = Server::start();
    let mut job = job_for(&server);
    write_jobs(&job);
    let file = job.workspace().join("all_jobs.json");
    // Earlier runs, a day apart, and then the one in question, half as long again as they were.
    for number in 0..10 {
        let to = format!("2026-02-{:02}T00:00:00Z", number + 1);
        run(&mut job.kymo(&["ci", "shift-time", "--to", &to])).expect(0);
        let folder = job.workspace().join("telemetry-artifacts/telemetry-tools-artifacts-103");
        std::fs::create_dir_all(&folder).unwrap();
        let hits = 50 + number;
        let text = format!(
            "Compile requests 100\nCache hits (CUDA) {hits}\nCache misses (CUDA) {}\n",
            100 - hits
        );
        std::fs::write(folder.join("sccache-stats.txt"), text).unwrap();
        run(&mut job.kymo(&["ci", "summarize", "--run", &number.to_string(), "--attempt", "1"]))
            .expect(0);
    }
    let moved = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, moved.replace("T00:10:00Z", "T00:15:00Z")).unwrap();
    run(&mut job.kymo(&["ci", "shift-time", "--to", "2026-02-11T00:00:00Z"])).expect(0);
    run(&mut job.kymo(&["ci", "summarize"])).expect(0);

    let report = run(&mut job.kymo(&["ci", "report"])).expect(0).stdout;
    for expected in [
        "pr of rapidsai/cudf on pull-request/1 run 777\n",
        "failure after 15 m 00 s, 49 % longer than the median of 10 earlier runs (10 m 03 s)",
        "FAILURES",
        "Run tests",
        "CRITICAL PATH",
        "WAITING FOR RUNNERS",
        "SLOWEST JOBS",
        "SLOWEST STEPS",
        "COMPILER CACHES",
        TRACE,
    ] {
        assert!(report.contains(expected), "{expected} in\n{report}");
    }
    let cache = report.lines().find(|line| line.starts_with("main_process ")).unwrap();
    assert_eq!(
        cache.split_whitespace().collect::<Vec<_>>(),
        ["main_process", "100", "59.0", "%", "54.5", "%"]
    );
    let summary = job.written("GITHUB_STEP_SUMMARY");
    assert!(
        summary.starts_with("### pr of rapidsai/cudf") && summary.contains("| --- |"),
        "{summary}"
    );
    assert!(
        summary
            .contains(&format!("[View the trace]({}/tempo/api/v2/traces/{TRACE})", server.url("")))
    );
    let json = run(&mut job.kymo(&["ci", "report", "all_jobs.json", "--format", "json"])).expect(0);
    let json: Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!((&json["earlier_runs"], &json["median_seconds"]), (&json!(10), &json!(603.0)));
    job.set("KYMO_CI_TRACE_URL", "https://g/{trace_id}");
    let linked = run(&mut job.kymo(&["ci", "report", "--format", "markdown"])).expect(0).stdout;
    assert!(linked.contains(&format!("(https://g/{TRACE})")), "{linked}");

    let since = ["--start", "2026-01-01", "--end", "2026-03-01"];
    let ask = |arguments: &[&str]| -> String {
        let arguments = [&["ci"], arguments, &since].concat();
        let of_server = run(&mut job.kymo(&arguments)).expect(0).stdout;
        let data = server.data().display().to_string();
        let of_directory =
            run(job.kymo(&[&arguments[..], &["--data", &data]].concat()).env_remove("KYMO_URL"));
        assert_eq!(of_directory.expect(0).stdout, of_server);
        of_server
    };
    let runs = ask(&["runs", "--workflow", "pr", "--branch", "pull-request/1", "--format", "csv"]);
    assert_eq!(runs.lines().count(), 12, "{runs}");
    assert!(runs.lines().nth(1).unwrap().contains(TRACE), "the newest first: {runs}");
    assert_eq!(ask(&["runs", "--workflow", "o'brien", "--format", "json"]).trim(), "[]");
    let trend = ask(&["trend", "--format", "csv"]);
    assert_eq!(trend.lines().filter(|line| line.contains("12.9.1")).count(), 11, "{trend}");
    assert!(
        trend.contains(
            "conda-cpp-build / build / 12.9.1, amd64\",2026-02-01T00:00:00.000000000Z,1,519.0,519.0"
        ),
        "{trend}"
    );
    let table = ask(&["trend", "--job", "telemetry-setup"]);
    assert!(table.contains("telemetry-setup    11"), "{table}");
    let cache = ask(&["trend", "--cache", "main_process.cuda", "--format", "csv"]);
    assert!(cache.lines().nth(1).unwrap().ends_with("1,50,50,0.5"), "{cache}");
    let labels = ask(&["labels", "--format", "csv"]);
    assert!(
        labels.lines().nth(1).unwrap().starts_with("linux-amd64-gpu self-hosted,11,"),
        "{labels}"
    );
    let one = run(&mut job.kymo(&["ci", "run", "777"])).expect(0).stdout;
    assert!(one.contains("telemetry-setup") && one.contains("skipped"), "{one}");
    run(&mut job.kymo(&["ci", "run", "999"])).expect(1);
    run(&mut job.kymo(&["ci", "run", "not a run"])).expect(2);
    let sql = run(&mut job.kymo(&["ci", "trend", "--show-sql"])).expect(0).stdout;
    server.sql(&sql);
}
