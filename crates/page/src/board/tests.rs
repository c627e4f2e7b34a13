//! Sessions as programs send them, asked over the paths.

use http::StatusCode;
use kymo_engine::Tenants;
use kymo_journal::Signal;
use serde_json::{Map, Value, json};

use crate::tested::Place;

/// A morning, in seconds since 1970.
const BEGIN: f64 = 1_767_225_600.0;

fn attributes(fields: &Value) -> Value {
    let fields: &Map<String, Value> = fields.as_object().unwrap();
    let value = |value: &Value| match value {
        Value::String(text) => json!({"stringValue": text}),
        number => json!({"doubleValue": number}),
    };
    fields.iter().map(|(key, of)| json!({"key": key, "value": value(of)})).collect()
}

/// Tells of an event of a session, some seconds after the morning.
fn tell(place: &Place, session: &str, name: &str, at: f64, fields: Value) {
    let nanos = format!("{:.0}", (BEGIN + at) * 1e9);
    let resource = json!({"session_id": session, "service.name": "train", "host.name": "node1"});
    let record = json!({
        "timeUnixNano": nanos, "eventName": name, "attributes": attributes(&fields),
        "traceId": "0af7651916cd43dd8448eb211c80319c",
    });
    let request = json!({"resourceLogs": [{
        "resource": {"attributes": attributes(&resource)},
        "scopeLogs": [{"logRecords": [record]}],
    }]});
    place.send_json(Signal::Logs, &request);
}

/// Ten short tasks on two nodes, one that failed, one that goes on for long, one that waits.
fn place() -> Place {
    let place = Place::new();
    let task = |id: &str, node: &str, times: &[(&str, f64)]| {
        for (name, at) in times {
            let mut fields = json!({"task_id": id, "node_id": node, "span_name": "simulate"});
            if *name == "TaskFailed" {
                fields["error_type"] = "ValueError".into();
            }
            tell(&place, "s", name, *at, fields);
        }
    };
    tell(&place, "s", "SessionStarted", 0.0, json!({"span_name": "session"}));
    for nth in 0..10 {
        let at = f64::from(nth) * 10.0;
        let node = if nth % 2 == 0 { "node1" } else { "node2" };
        let id = format!("task.{nth}");
        let end = if nth == 9 { "TaskFailed" } else { "TaskCompleted" };
        task(&id, node, &[("TaskSubmitted", at), ("TaskStarted", at + 1.0), (end, at + 11.0)]);
    }
    task("task.long", "node1", &[("TaskSubmitted", 5.0), ("TaskStarted", 6.0)]);
    task("task.waits", "node1", &[("TaskSubmitted", 90.0)]);
    for at in [0.0, 30.0, 60.0, 101.0] {
        let use_of = |gpu: &str, percent: f64| {
            let fields = json!({"node_id": "node1", "gpu_id": gpu, "gpu_percent": percent});
            tell(&place, "s", "ResourceUpdate", at, fields);
        };
        use_of("0", 80.0);
        use_of("1", if at < 20.0 { 50.0 } else { 0.0 });
        let fields = json!({"node_id": "node1", "cpu_percent": 40.0, "memory_percent": 20.0});
        tell(&place, "s", "ResourceUpdate", at, fields);
    }
    place
}

fn at(seconds: f64) -> String {
    format!("{:.0}", (BEGIN + seconds) * 1e3)
}

fn near(value: &Value, expected: f64) {
    let number = value.as_f64().unwrap_or(f64::NAN);
    assert!((number - expected).abs() < 1e-6, "{value} is not {expected}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_board_tells_where_tasks_stand_and_what_stands_out() {
    let place = place();
    let board = place.get(&format!("/api/board/s?at={}", at(100.5))).await;
    assert_eq!(board["session"]["state"], json!("running"));
    assert_eq!(
        board["funnel"],
        json!({"created": 12, "submitted": 12, "queued": 1, "running": 2, "completed": 9,
               "failed": 0, "canceled": 0, "unfinished": 0})
    );
    // Six ended in the last minute; three have not.
    near(&board["rate_per_second"], 0.1);
    near(&board["eta_seconds"], 30.0);
    let straggler = &board["stragglers"][0];
    assert_eq!((&straggler["id"], &straggler["is_running"]), (&json!("task.long"), &json!(true)));
    assert_eq!(board["stragglers_total"], json!(1));
    near(&straggler["median_seconds"], 10.0);
    near(&straggler["seconds"], 94.5);
    // Since the update at 30 s.
    assert_eq!(board["idle_gpus"].as_array().map(Vec::len), Some(1), "{}", board["idle_gpus"]);
    assert_eq!(
        (&board["idle_gpus"][0]["gpu"], &board["idle_gpus"][0]["node"]),
        (&json!("1"), &json!("node1"))
    );
    near(&board["idle_gpus"][0]["seconds"], 70.5);
    let node = &board["lanes"]["nodes"][0];
    assert_eq!(
        (&node["node"], &node["lanes"], &node["running"]),
        (&json!("node1"), &json!(2), &json!(1))
    );
    assert_eq!(node["lane"].as_array().map(Vec::len), Some(6), "five short ones and the long one");
    assert_eq!(node["gpus"].as_array().map(Vec::len), Some(2));
    near(&node["gpus"][0]["last_percent"], 80.0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replay_shows_what_was_known_then() {
    let place = place();
    let board = place.get(&format!("/api/board/s?at={}", at(15.0))).await;
    assert_eq!((&board["is_replay"], &board["funnel"]["created"]), (&json!(true), &json!(3)));
    let funnel = &board["funnel"];
    assert_eq!((&funnel["completed"], &funnel["running"]), (&json!(1), &json!(2)));
    near(&board["replay"]["start_ms"], BEGIN * 1e3);
    near(&board["replay"]["end_ms"], (BEGIN + 101.0) * 1e3);
    let started = board["replay"]["started"].as_array().unwrap();
    let sum: i64 = started.iter().filter_map(Value::as_i64).sum();
    assert_eq!((started.len(), sum), (200, 11));
    // Until the end it went on; then, and long after, nothing more was heard of it.
    let last = place.get(&format!("/api/board/s?at={}", at(100.999))).await;
    assert_eq!(last["session"]["state"], json!("running"));
    let end = place.get(&format!("/api/board/s?at={}", at(101.0))).await;
    assert_eq!(end["session"]["state"], json!("lost"));
    let now = place.get("/api/board/s").await;
    assert_eq!(now["session"]["state"], json!("lost"));
    assert_eq!((&now["funnel"]["failed"], &now["funnel"]["unfinished"]), (&json!(1), &json!(2)));
    assert_eq!(now["failures"][0]["error_type"], json!("ValueError"));
    assert_eq!(now["idle_gpus"], json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn at_the_end_of_its_slider_a_session_has_ended() {
    let place = Place::new();
    // Neither end of it is a whole millisecond.
    tell(&place, "e", "SessionStarted", 0.000_3, json!({"span_name": "session"}));
    let task = json!({"task_id": "t", "span_name": "simulate"});
    tell(&place, "e", "TaskStarted", 1.0, task.clone());
    tell(&place, "e", "TaskCompleted", 9.0, task);
    tell(&place, "e", "SessionEnded", 10.000_3, json!({}));
    let now = place.get("/api/board/e").await;
    near(&now["replay"]["start_ms"], BEGIN * 1e3);
    near(&now["replay"]["end_ms"], BEGIN * 1e3 + 10_001.0);
    let end = place.get(&format!("/api/board/e?at={}", at(10.001))).await;
    assert_eq!(
        (&end["session"]["state"], &end["is_replay"], &end["funnel"]),
        (&json!("ended"), &json!(true), &now["funnel"])
    );
    near(&end["at_ms"], BEGIN * 1e3 + 10_001.0);
    let before = place.get(&format!("/api/board/e?at={}", at(10.0))).await;
    assert_eq!(before["session"]["state"], json!("running"));
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_runs_in_a_session_that_does_not_go_on() {
    let place = place();
    let board = place.get("/api/board/s").await;
    assert_eq!(board["session"]["state"], json!("lost"));
    let node = &board["lanes"]["nodes"][0];
    assert_eq!((&node["running"], &node["task"][1]), (&json!(0), &json!("task.long")));
    assert_eq!(node["status"][1], json!("unfinished"));
    let straggler = &board["stragglers"][0];
    assert_eq!((&straggler["id"], &straggler["is_running"]), (&json!("task.long"), &json!(false)));
    for (state, ids) in [
        ("running", json!([])),
        ("submitted,queued", json!([])),
        ("unfinished", json!(["task.long", "task.waits"])),
        ("failed,unfinished", json!(["task.9", "task.long", "task.waits"])),
    ] {
        let told = place.get(&format!("/api/board/s/tasks?state={state}&sort=id")).await;
        let found: Vec<&Value> =
            told["tasks"].as_array().unwrap().iter().map(|task| &task["id"]).collect();
        assert_eq!(json!(found), ids, "{state}");
    }
    let told = place.get("/api/board/s/tasks?state=unfinished").await;
    assert_eq!(told["tasks"][0]["status"], json!("unfinished"));
    // Those that were handed over are as many as the funnel says, whatever became of them.
    tell(&place, "u", "TaskCreated", 0.0, json!({"task_id": "only.known"}));
    tell(&place, "u", "TaskSubmitted", 1.0, json!({"task_id": "handed.over"}));
    tell(&place, "u", "TaskCanceled", 2.0, json!({"task_id": "handed.over"}));
    let handed_over = place.get("/api/board/u/tasks?state=handed_over").await;
    assert_eq!(
        (&handed_over["total"], &handed_over["tasks"][0]["id"]),
        (&json!(1), &json!("handed.over"))
    );
    assert_eq!(place.get("/api/board/u").await["funnel"]["submitted"], json!(1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_was_read_is_let_go_of_though_nobody_asks() {
    let place = place();
    let held = super::held::Held::new();
    let tenants = Tenants::from("default");
    let session = {
        let read = held.session(&place.page.engine, &tenants, "s").await.unwrap();
        std::sync::Arc::downgrade(&read)
    };
    assert_eq!(session.strong_count(), 1);
    let begun = std::time::Instant::now();
    while session.strong_count() > 0 {
        assert!(begun.elapsed() < std::time::Duration::from_secs(20), "it is still there");
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_is_read_while_one_of_another_tenant_is() {
    let place = place();
    let held = super::held::Held::new();
    let within = std::time::Duration::from_secs(1);
    let reads = held.turns().take(&Tenants::from("other"), within).await;
    held.session(&place.page.engine, &Tenants::from("default"), "s").await.unwrap();
    assert!(reads.is_ok());
}

#[tokio::test(flavor = "multi_thread")]
async fn tasks_come_in_portions_filtered_and_in_order() {
    let place = place();
    let path = format!(
        "/api/board/s/tasks?at={}&state=completed&sort=started&order=desc&limit=2",
        at(100.5)
    );
    let told = place.get(&path).await;
    assert_eq!(told["total"], json!(9));
    assert_eq!(
        (&told["tasks"][0]["id"], &told["tasks"][1]["id"]),
        (&json!("task.8"), &json!("task.7"))
    );
    near(&told["tasks"][0]["seconds"], 10.0);
    near(&told["tasks"][0]["wait_seconds"], 1.0);
    let found = place.get("/api/board/s/tasks?q=valueerror").await;
    assert_eq!((&found["total"], &found["tasks"][0]["id"]), (&json!(1), &json!("task.9")));
    let longest = place.get("/api/board/s/tasks?sort=duration&order=desc&limit=1").await;
    assert_eq!(longest["tasks"][0]["id"], json!("task.long"));
}

#[tokio::test(flavor = "multi_thread")]
async fn two_sessions_are_told_beside_each_other() {
    let place = place();
    for nth in 0..4 {
        let at = f64::from(nth);
        let fields = json!({"task_id": format!("t{nth}"), "span_name": "simulate"});
        tell(&place, "u", "TaskStarted", at, fields.clone());
        tell(&place, "u", "TaskCompleted", at + 5.0, fields);
    }
    let told = place.get("/api/board/compare?a=s&b=u").await;
    let pair = &told["names"][0];
    assert_eq!((&pair["name"], &pair["b"]["tasks"]), (&json!("simulate"), &json!(4)));
    near(&pair["a"]["p50_seconds"], 10.0);
    near(&pair["change"], -0.5);
    let tasks = told["figures"]["figures"].as_array().unwrap();
    let tasks = tasks.iter().find(|figure| figure["name"] == "tasks").unwrap();
    assert_eq!(tasks["values"], json!([12.0, 4.0]));
    assert!(told["a"]["nodes"].as_array().is_some_and(|nodes| !nodes.is_empty()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_may_be_called_as_a_path_is() {
    let place = Place::new();
    tell(&place, "compare", "SessionStarted", 0.0, json!({"span_name": "session"}));
    let board = place.get("/api/board/compare").await;
    assert_eq!(board["session"]["id"], json!("compare"));
}

#[tokio::test(flavor = "multi_thread")]
async fn gpus_that_only_metrics_tell_of_are_on_the_board() {
    let place = place();
    let point = |gpu: &str, host: &str, seconds: f64, percent: f64| {
        json!({
            "timeUnixNano": format!("{:.0}", (BEGIN + seconds) * 1e9), "asDouble": percent,
            "attributes": attributes(&json!({"gpu": gpu, "Hostname": host})),
        })
    };
    let points: Vec<Value> = (0..=15)
        .flat_map(|nth| {
            let seconds = f64::from(nth) * 10.0;
            [point("0", "node2", seconds, 90.0), point("1", "node1", seconds, 10.0)]
        })
        .collect();
    let request = json!({"resourceMetrics": [{"scopeMetrics": [{"metrics": [
        {"name": "DCGM_FI_DEV_GPU_UTIL", "gauge": {"dataPoints": points}},
    ]}]}]});
    place.send_json(Signal::Metrics, &request);
    let board = place.get(&format!("/api/board/s?at={}", at(100.5))).await;
    let nodes = &board["lanes"]["nodes"];
    assert_eq!(nodes[1]["gpus"].as_array().map(Vec::len), Some(1), "{nodes}");
    near(&nodes[1]["gpus"][0]["last_percent"], 90.0);
    // What the session says of a node itself counts.
    assert_eq!(nodes[0]["gpus"].as_array().map(Vec::len), Some(2), "{nodes}");
    near(&nodes[0]["gpus"][0]["last_percent"], 80.0);
    // GPUs go on when their session does not.
    near(&board["replay"]["end_ms"], (BEGIN + 101.0) * 1e3);
    assert_eq!(place.get("/api/board/s").await["session"]["state"], json!("lost"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_sends_only_metrics_has_a_board_and_is_not_lost() {
    let place = Place::new();
    let now = crate::times::now_nanos();
    let point = |ago_seconds: i64| {
        let nanos = now - ago_seconds * 1_000_000_000;
        json!({"timeUnixNano": nanos.to_string(), "asDouble": 0.5})
    };
    let resource = json!({"session_id": "s", "service.name": "train"});
    let request = json!({"resourceMetrics": [{
        "resource": {"attributes": attributes(&resource)},
        "scopeMetrics": [{"metrics": [
            {"name": "loss", "gauge": {"dataPoints": [point(3600), point(1)]}},
        ]}],
    }]});
    place.send_json(Signal::Metrics, &request);
    let board = place.get("/api/board/s").await;
    let session = &board["session"];
    assert_eq!((&session["name"], &session["state"]), (&json!("train"), &json!("running")));
    assert!(session["seconds"].as_f64().is_some_and(|seconds| seconds >= 3599.0), "{session}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_runs_is_drawn_until_now_beside_use_that_is_known_until_then() {
    let place = place();
    let limits = kymo_report::limits::Limits::for_tasks(100);
    let stored = super::StoredSession::new("s", (BEGIN * 1e9) as i64, limits);
    let tenants = Tenants::from("default");
    let session = stored.read(&place.page.engine, &tenants).await.unwrap().unwrap();
    let second = 1_000_000_000;
    let now = (BEGIN as u64 + 160) * second;
    let when = super::document::When { now, ..super::document::When::default() };
    let board = json!(super::document::board(&session, when));
    let lanes = &board["lanes"];
    near(&lanes["series_end_ms"], (BEGIN + 101.0) * 1e3);
    assert_eq!(lanes["nodes"][0]["task"][1], json!("task.long"));
    near(&lanes["nodes"][0]["end_ms"][1], (BEGIN + 160.0) * 1e3);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_asked_is_refused_and_what_is_not_there_is_not_found() {
    let place = Place::new();
    for (path, status) in [
        ("/api/board/none", StatusCode::NOT_FOUND),
        ("/api/board/none?at=soon", StatusCode::BAD_REQUEST),
        ("/api/board/compare?a=none&b=none", StatusCode::NOT_FOUND),
        ("/api/board/compare?a=none", StatusCode::BAD_REQUEST),
        ("/api/board/compare", StatusCode::NOT_FOUND),
    ] {
        let (answered, document) = place.ask(path).await;
        assert_eq!(answered, status, "{path}: {document}");
    }
    let place = self::place();
    for path in ["/api/board/s/tasks?sort=colour", "/api/board/s/tasks?state=odd"] {
        assert_eq!(place.ask(path).await.0, StatusCode::BAD_REQUEST, "{path}");
    }
}
