//! Sessions: recognised from any client, listed, shown, watched; spans that have not ended.

#![allow(clippy::unwrap_used, clippy::panic, unreachable_pub, reason = "a test")]

mod harness;

use std::io::{BufRead, BufReader};
use std::time::{Duration, Instant};

use harness::Server;
use harness::programs::{kymo, run};
use harness::sessions::{Client, ROOT};
use serde_json::{Value, json};

#[track_caller]
fn listed(server: &Server, parameters: &str) -> Vec<String> {
    let document = server.get(&format!("/api/sessions?{parameters}")).expect(200).json();
    let sessions = document["sessions"].as_array().unwrap();
    sessions.iter().map(|session| session["id"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_session_is_shown_while_it_runs_and_when_it_has_ended() {
    let server = Server::start();
    let client = Client::new(&server, "train.1", 0xa1, Duration::from_secs(60));
    client.events(client.life());
    client.spans(client.ended_spans());
    client.gauge("tasks_running", 30.0, 1.0);

    let document = server.get("/api/sessions").expect(200).json();
    let session = &document["sessions"][0];
    assert_eq!(session["id"], "train.1");
    assert_eq!(session["name"], "train");
    assert_eq!(session["service"], "trainer");
    assert_eq!(session["host"], "node1");
    assert_eq!(session["trace_id"], format!("{:032x}", 0xa1));
    assert_eq!((&session["state"], &session["ended"]), (&json!("running"), &Value::Null));
    // Metrics were heard last.
    assert_eq!(session["duration_seconds"], 30.0);
    let running = json!({
        "created": 4, "submitted": 3, "running": 1, "completed": 1, "failed": 1, "canceled": 0,
        "unfinished": 0,
    });
    assert_eq!(session["tasks"], running);
    assert_eq!((&session["spans"], &session["errors"]), (&json!(2), &json!(1)));
    assert!(document["range"]["since"].as_str().unwrap().ends_with('Z'), "{document}");
    assert_eq!(document["truncated"], false);

    let document = client.document();
    assert_eq!(document["session"]["resource"]["host.name"], "node1");
    assert_eq!(document["session"]["tasks"], running);
    let tasks = document["tasks"].as_array().unwrap();
    let told: Vec<(&str, &str)> = tasks
        .iter()
        .map(|task| (task["id"].as_str().unwrap(), task["status"].as_str().unwrap()))
        .collect();
    assert_eq!(told, [("t1", "completed"), ("t2", "failed"), ("t3", "running"), ("t4", "created")]);
    let first = &tasks[0];
    assert_eq!((&first["name"], &first["backend"]), (&json!("simulate"), &json!("local")));
    assert_eq!(first["span_id"], format!("{:016x}", 11));
    assert_eq!(first["parent_span_id"], format!("{ROOT:016x}"));
    assert_eq!(first["node_id"], "node1");
    assert_eq!(first["duration_seconds"], 3.5);
    assert_eq!(first["attributes"], json!({ "lr": 0.5 }));
    assert!(first["submitted"].as_str() < first["started"].as_str(), "{first}");
    assert_eq!(tasks[1]["error_type"], "ValueError");
    assert_eq!(tasks[1]["error_message"], "no such file");
    assert_eq!(tasks[2]["ended"], Value::Null);
    assert_eq!(document["resources"][0]["cpu_percent"], 55.5);
    let event = &document["events"][0];
    assert_eq!((&event["name"], &event["task_id"]), (&json!("myapp.Score"), &json!("t3")));
    assert_eq!(event["attributes"], json!({ "score": 0.9 }));
    let open = document["open_spans"].as_array().unwrap();
    let names: Vec<&Value> = open.iter().map(|span| &span["name"]).collect();
    assert_eq!(names, ["session", "train", "train"]);
    assert_eq!(open[1]["parent_span_id"], format!("{ROOT:016x}"));

    client.events(vec![client.event("SessionEnded", 40.0, ROOT, &[])]);
    client.spans(vec![client.span(ROOT, 0, "session", [0.0, 40.0], &[])]);
    let document = client.document();
    let session = &document["session"];
    assert_eq!((&session["state"], &session["duration_seconds"]), (&json!("ended"), &json!(40.0)));
    assert_eq!(
        (&session["tasks"]["unfinished"], &session["tasks"]["running"]),
        (&json!(2), &json!(0))
    );
    assert_eq!(document["tasks"][2]["status"], "unfinished");
}

#[test]
fn what_was_stored_twice_counts_once() {
    let server = Server::start();
    let client = Client::new(&server, "again", 0xb1, Duration::from_secs(60));
    client.events(client.life());
    client.spans(client.ended_spans());
    // A replay comes in other requests, so that nobody takes it for the same again.
    for event in client.life() {
        client.events(vec![event]);
    }
    for span in client.ended_spans() {
        client.spans(vec![span]);
    }
    let document = client.document();
    assert_eq!(document["session"]["tasks"]["created"], 4);
    assert_eq!(
        (&document["session"]["spans"], &document["session"]["errors"]),
        (&json!(2), &json!(1))
    );
    for (list, count) in [("tasks", 4), ("resources", 1), ("events", 1), ("open_spans", 3)] {
        assert_eq!(document[list].as_array().unwrap().len(), count, "{list}: {document}");
    }
}

#[test]
fn spans_of_the_programs_own_end_neither_a_session_nor_a_task() {
    let server = Server::start();
    let client = Client::new(&server, "own", 0xb2, Duration::from_secs(60));
    client.events(client.life());
    client.spans(vec![
        // A page of the program's own, within the session and beside it.
        client.span(51, ROOT, "session", [1.0, 2.0], &[]),
        client.span(52, 0, "session", [1.0, 2.0], &[]),
        // A step of a task that goes on.
        client.span(53, 13, "step", [5.0, 6.0], &[("task_id", json!("t3"))]),
    ]);
    let document = client.document();
    let session = &document["session"];
    assert_eq!((&session["state"], &session["ended"]), (&json!("running"), &Value::Null));
    assert_eq!(
        (&session["tasks"]["running"], &session["tasks"]["completed"]),
        (&json!(1), &json!(1))
    );
    let task = &document["tasks"][2];
    assert_eq!((&task["status"], &task["ended"]), (&json!("running"), &Value::Null));
    assert_eq!(
        (&task["name"], &task["span_id"]),
        (&json!("train"), &json!(format!("{:016x}", 13)))
    );
    // Those whose end was told are not open, though their spans are missing.
    let open = document["open_spans"].as_array().unwrap();
    let names: Vec<&Value> = open.iter().map(|span| &span["name"]).collect();
    assert_eq!(names, ["session", "train", "train"]);

    // Its own span ends it; run again, it has not ended.
    client.spans(vec![client.span(ROOT, 0, "session", [0.0, 20.0], &[])]);
    assert_eq!(client.document()["session"]["state"], "ended");
    let again = client.event("SessionStarted", 30.0, 60, &[("span_name", json!("session"))]);
    client.events(vec![again]);
    assert_eq!(client.document()["session"]["state"], "running");
}

/// RHAPSODY's exporters send spans and metrics, and no events.
#[test]
fn a_client_with_spans_and_metrics_alone_has_sessions_too() {
    let server = Server::start();
    let client = Client::new(&server, "rhapsody.session.1", 0xc1, Duration::from_secs(60));
    let task = |number: u64, status: &str| {
        let of = [
            ("session_id", json!(client.id)),
            ("task_id", json!(format!("task.{number:06}"))),
            ("backend", json!("")),
            ("executable", json!("None")),
            ("status", json!(status)),
        ];
        let start = number as f64;
        let mut span = client.span(20 + number, ROOT, "task", [start, start + 4.0], &of);
        let queued = client.nanos(start + 1.0).to_string();
        span["events"] = json!([{ "name": "TaskQueued", "timeUnixNano": queued }]);
        span
    };
    client.spans(vec![task(1, "completed"), task(2, "failed"), task(3, "canceled")]);
    client.gauge("node_cpu_utilization", 10.0, 78.3);
    let running = client.document();
    assert_eq!(running["session"]["state"], "running");

    client.spans(vec![client.span(ROOT, 0, "session", [0.0, 20.0], &[])]);
    let document = client.document();
    let session = &document["session"];
    assert_eq!((&session["state"], &session["duration_seconds"]), (&json!("ended"), &json!(20.0)));
    let tasks = &session["tasks"];
    assert_eq!((&tasks["created"], &tasks["completed"]), (&json!(3), &json!(1)));
    assert_eq!((&tasks["failed"], &tasks["canceled"]), (&json!(1), &json!(1)));
    let first = &document["tasks"][0];
    assert_eq!((&first["id"], &first["status"]), (&json!("task.000001"), &json!("completed")));
    assert_eq!((&first["backend"], &first["executable"]), (&Value::Null, &json!("None")));
    assert_eq!(first["duration_seconds"], 4.0);
    assert!(first["created"].as_str() < first["queued"].as_str(), "{first}");
    assert_eq!(document["open_spans"], json!([]));
}

#[test]
fn a_session_that_sent_metrics_alone_has_a_name_and_was_last_seen() {
    let server = Server::start();
    let client = Client::new(&server, "gauges", 0, Duration::from_secs(60));
    client.gauge("load", 0.0, 1.0);
    client.gauge("load", 30.0, 2.0);
    let document = client.document();
    let session = &document["session"];
    assert_eq!((&session["name"], &session["state"]), (&json!("train"), &json!("running")));
    assert_eq!((&session["trace_id"], &session["duration_seconds"]), (&Value::Null, &json!(30.0)));
    assert_eq!(session["resource"]["service.name"], "trainer");
    assert_eq!(document["tasks"], json!([]));
    assert_eq!(listed(&server, ""), ["gauges"]);
}

#[test]
fn sessions_are_listed_newest_first_by_state_and_time() {
    let server = Server::start();
    let begun = |id, trace, before: u64| {
        let client = Client::new(&server, id, trace, Duration::from_secs(before));
        let started = client.event("SessionStarted", 0.0, ROOT, &[("span_name", json!("session"))]);
        client.events(vec![started]);
        client
    };
    begun("new", 0xd1, 5);
    // Killed a quarter of an hour ago.
    begun("lost", 0xd2, 900);
    let ended = begun("ended", 0xd3, 300);
    ended.events(vec![ended.event("SessionEnded", 100.0, ROOT, &[])]);
    // Began before the time that is looked at, and goes on.
    let long = begun("long", 0xd4, 30 * 3600);
    let of = [("task_id", json!("t")), ("span_name", json!("task"))];
    long.events(vec![long.event("TaskCreated", 10.0, 30, &of)]);
    long.events(vec![long.event("ResourceUpdate", 30.0 * 3600.0, ROOT, &[])]);
    begun("old", 0xd5, 40 * 3600);

    assert_eq!(listed(&server, ""), ["new", "ended", "lost", "long"]);
    assert_eq!(listed(&server, "state=running"), ["new", "long"]);
    assert_eq!(listed(&server, "state=ended"), ["ended"]);
    assert_eq!(listed(&server, "state=lost"), ["lost"]);
    assert_eq!(listed(&server, "since=48h"), ["new", "ended", "lost", "long", "old"]);
    assert_eq!(listed(&server, "since=48h&until=35h"), ["old"]);
    // States are those of the end of that time.
    assert_eq!(listed(&server, "until=14m&since=20m&state=running"), ["lost"]);
    assert_eq!(listed(&server, "until=4m&since=10m&state=running"), ["ended"]);
    let document = server.get("/api/sessions?limit=2").expect(200).json();
    assert_eq!(document["sessions"].as_array().unwrap().len(), 2);
    assert_eq!(document["truncated"], true);

    // Where it began is found, and what it did then is counted.
    let document = server.get("/api/sessions?since=1h").expect(200).json();
    let sessions = document["sessions"].as_array().unwrap();
    let shown = sessions.iter().find(|session| session["id"] == "long").unwrap();
    let hours = shown["duration_seconds"].as_f64().unwrap() / 3600.0;
    assert!((29.9..30.1).contains(&hours), "{shown}");
    assert_eq!(shown["tasks"]["created"], 1);
    assert_eq!(long.document()["tasks"][0]["id"], "t");
    assert_eq!(server.get("/api/sessions/old").expect(200).json()["session"]["state"], "lost");
}

#[test]
fn lists_of_a_session_are_cut_where_it_is_asked() {
    let server = Server::start();
    let client = Client::new(&server, "cut", 0xe1, Duration::from_secs(60));
    client.events(client.life());
    let path = "/api/sessions/cut?tasks=2&events=0&resources=0";
    let document = server.get(path).expect(200).json();
    let tasks = document["tasks"].as_array().unwrap();
    // The last ones, in the order in which they began.
    assert_eq!((&tasks[0]["id"], &tasks[1]["id"]), (&json!("t3"), &json!("t4")));
    assert_eq!((&document["events"], &document["resources"]), (&json!([]), &json!([])));
    let truncated =
        json!({ "tasks": true, "events": true, "resources": true, "open_spans": false });
    assert_eq!(document["truncated"], truncated);
    assert_eq!(document["session"]["tasks"]["created"], 4);
}

#[test]
fn a_session_is_reported_on_as_a_page() {
    let server = Server::start();
    let client = Client::new(&server, "page", 0xe2, Duration::from_secs(60));
    client.events(client.life());
    client.spans(client.ended_spans());
    let page = server.get("/api/sessions/page/report").expect(200);
    assert_eq!(page.header("content-type"), "text/html; charset=utf-8");
    let text = page.text();
    assert!(text.starts_with("<!doctype html>") && text.contains("ValueError"), "{text}");
    server.get("/api/sessions/nobody/report").expect(404);
}

#[test]
fn wrong_questions_and_unknown_names_are_answered_in_words() {
    let server = Server::start();
    let unknown = server.get("/api/sessions/nobody").expect(404);
    assert_eq!(unknown.header("content-type"), "application/json");
    let error = unknown.json()["error"].as_str().unwrap().to_owned();
    assert!(error.contains("\"nobody\"") && error.contains("session_id"), "{error}");
    server.get("/api/sessions/nobody/events").expect(404);
    for (path, word) in [
        ("/api/sessions?since=soon", "since"),
        ("/api/sessions?limit=many", "limit"),
        ("/api/sessions?state=asleep", "running"),
        ("/api/sessions/a?tasks=1000000", "tasks"),
        ("/api/sessions/%2F/report?until=x", "until"),
    ] {
        let error = server.get(path).expect(400).json()["error"].as_str().unwrap().to_owned();
        assert!(error.contains(word), "{path}: {error}");
    }
    let empty = server.get("/api/sessions").expect(200).json();
    assert_eq!(empty["sessions"], json!([]));

    // A name may be anything.
    let id = "it's \"x\" OR 1=1 -- 100%";
    let client = Client::new(&server, id, 0xf1, Duration::from_secs(5));
    client.events(client.life());
    let path = "/api/sessions/it's%20%22x%22%20OR%201=1%20--%20100%25";
    assert_eq!(server.get(path).expect(200).json()["session"]["id"], id);
    assert_eq!(listed(&server, ""), [id]);
    server.get("/api/sessions/x'%20OR%20'1'='1").expect(404);
}

#[test]
fn tenants_see_their_own_sessions() {
    let server = Server::start();
    let mut red = Client::new(&server, "same", 0x111, Duration::from_secs(60));
    red.tenant = "red";
    red.events(red.life());
    let mut blue = Client::new(&server, "same", 0x222, Duration::from_secs(60));
    blue.tenant = "blue";
    blue.events(vec![blue.event("SessionStarted", 0.0, ROOT, &[("span_name", json!("session"))])]);
    assert_eq!(red.document()["session"]["tasks"]["created"], 4);
    assert_eq!(blue.document()["session"]["tasks"]["created"], 0);
    assert_eq!(listed(&server, ""), [] as [String; 0]);
    server.get("/api/sessions/same").expect(404);
    blue.tenant = "red|blue";
    assert_eq!(blue.document()["session"]["tasks"]["created"], 4);
}

/// Server-sent events as they come.
struct Events(BufReader<reqwest::blocking::Response>);

impl Events {
    #[track_caller]
    fn of(client: &Client<'_>) -> Self {
        let url = client.server.url(&format!("/api/sessions/{}/events", client.id));
        let request = client.server.client.get(url).header("x-scope-orgid", client.tenant);
        let response = request.header("accept-encoding", "gzip").send().unwrap();
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        assert!(!response.headers().contains_key("content-encoding"));
        Self(BufReader::new(response))
    }

    /// The next message but for comments: its name and its data; none at the end.
    #[track_caller]
    fn next(&mut self) -> Option<(String, Value)> {
        let (mut name, mut data) = (None, None);
        loop {
            let mut line = String::new();
            if self.0.read_line(&mut line).unwrap() == 0 {
                return None;
            }
            match line.trim_end().split_once(": ") {
                Some(("event", event)) => name = Some(event.to_owned()),
                Some(("data", json)) => data = Some(serde_json::from_str(json).unwrap()),
                _ if name.is_some() => return name.zip(data),
                _ => {}
            }
        }
    }
}

#[test]
fn a_session_is_watched_from_a_snapshot_to_its_end() {
    let server = Server::start();
    let client = Client::new(&server, "watched", 0x301, Duration::from_secs(60));
    client.events(client.life());
    let mut events = Events::of(&client);
    let (name, data) = events.next().unwrap();
    assert_eq!((&*name, &data["session"]["id"]), ("snapshot", &json!("watched")));
    assert_eq!(data["session"]["resource"]["host.name"], "node1");

    // What others send is theirs.
    let other = Client::new(&server, "other", 0x302, Duration::from_secs(60));
    other.events(other.life());
    let mut red = Client::new(&server, "watched", 0x303, Duration::from_secs(60));
    red.tenant = "red";
    red.events(red.life());

    client.events(vec![client.event("TaskStarted", 8.0, 14, &[("task_id", json!("t4"))])]);
    let (name, data) = events.next().unwrap();
    assert_eq!((&*name, &data["task_id"]), ("TaskStarted", &json!("t4")));
    assert_eq!(data["span_id"], format!("{:016x}", 14));
    client.spans(client.ended_spans());
    let (name, data) = events.next().unwrap();
    assert_eq!(
        (&*name, &data["name"], &data["status"]),
        ("span", &json!("simulate"), &json!("unset"))
    );
    assert_eq!((events.next().unwrap().1["status"]), "error");
    client.gauge("tasks_running", 9.0, 2.5);
    let (name, data) = events.next().unwrap();
    assert_eq!(
        (&*name, &data["name"], &data["value"]),
        ("metric", &json!("tasks_running"), &json!(2.5))
    );

    client.events(vec![client.event("SessionEnded", 40.0, ROOT, &[])]);
    assert_eq!(events.next().unwrap().0, "SessionEnded");
    let (name, data) = events.next().unwrap();
    assert_eq!((&*name, &data["id"]), ("end", &json!("watched")));
    assert_eq!(events.next(), None);

    // Who comes later is told at once.
    let mut late = Events::of(&client);
    let names: Vec<String> = std::iter::from_fn(|| late.next()).map(|(name, _)| name).collect();
    assert_eq!(names, ["snapshot", "end"]);
}

#[test]
fn an_id_that_is_no_text_counts_by_its_text_in_lists_documents_and_events() {
    let server = Server::start();
    let sends = |id, sent: Value, trace| Client {
        id_sent: sent,
        ..Client::new(&server, id, trace, Duration::from_secs(60))
    };
    let number = sends("42", json!({ "intValue": "42" }), 0x601);
    number.events(number.life());
    // Events have numbers alone here, spans have texts as well.
    number.spans(number.ended_spans());
    let text = Client::new(&server, "text", 0x602, Duration::from_secs(90));
    text.spans(text.ended_spans());
    assert_eq!(listed(&server, ""), ["42", "text"]);
    assert_shown_whole(&number);
    server.get("/api/sessions/nobody").expect(404);
    server.get("/api/sessions/4").expect(404);

    // Then events have values of all kinds.
    let bytes = sends("AQID", json!({ "bytesValue": "AQID" }), 0x603);
    for other in [&text, &bytes, &sends("true", json!({ "boolValue": true }), 0x604)] {
        other.events(other.life());
    }
    let mut all = listed(&server, "");
    all.sort();
    assert_eq!(all, ["42", "AQID", "text", "true"]);
    for client in [&number, &bytes] {
        client.spans(client.ended_spans());
        assert_shown_whole(client);
        let mut events = Events::of(client);
        let (name, data) = events.next().unwrap();
        assert_eq!((&*name, &data["session"]["id"]), ("snapshot", &json!(client.id)));
        text.events(vec![text.event("TaskStarted", 8.0, 14, &[("task_id", json!("t4"))])]);
        client.events(vec![client.event("SessionEnded", 40.0, ROOT, &[])]);
        assert_eq!(events.next().unwrap().0, "SessionEnded");
        let (name, data) = events.next().unwrap();
        assert_eq!((&*name, &data["id"]), ("end", &json!(client.id)));
    }
}

/// What `life` and `ended_spans` tell is all there.
#[track_caller]
fn assert_shown_whole(client: &Client<'_>) {
    let document = client.document();
    let session = &document["session"];
    assert_eq!((&session["id"], &session["state"]), (&json!(client.id), &json!("running")));
    assert_eq!((&session["tasks"]["created"], &session["spans"]), (&json!(4), &json!(2)));
    assert_eq!(session["resource"]["host.name"], "node1");
    for (list, count) in [("tasks", 4), ("resources", 1), ("events", 1), ("open_spans", 3)] {
        assert_eq!(document[list].as_array().unwrap().len(), count, "{list}: {document}");
    }
}

#[test]
fn ids_of_tasks_may_be_numbers_in_events_and_texts_in_spans() {
    let server = Server::start();
    let client = Client::new(&server, "tasks", 0x605, Duration::from_secs(60));
    let of = [("task_id", json!(7)), ("span_name", json!("train"))];
    client.events(vec![client.event("TaskCreated", 1.0, 11, &of)]);
    let of = [("task_id", json!("seven")), ("status", json!("completed"))];
    client.spans(vec![client.span(12, 0, "train", [1.0, 2.0], &of)]);
    let document = client.document();
    let tasks = document["tasks"].as_array().unwrap();
    let mut told: Vec<String> =
        tasks.iter().map(|task| format!("{} {}", task["id"], task["status"])).collect();
    told.sort();
    assert_eq!(told, [r#""7" "created""#, r#""seven" "completed""#]);
}

#[test]
fn who_watches_is_told_of_requests_that_are_too_large_to_be_told() {
    let server = Server::start();
    let client = Client::new(&server, "large", 0x606, Duration::from_secs(60));
    client.events(client.life());
    let mut events = Events::of(&client);
    assert_eq!(events.next().unwrap().0, "snapshot");
    let mut large = client.event("TaskStarted", 8.0, 14, &[("task_id", json!("t4"))]);
    let lines = vec!["x".repeat(64 << 10); 65];
    large["attributes"] = lines
        .iter()
        .map(|line| json!({ "key": "line", "value": { "stringValue": line } }))
        .collect();
    client.events(vec![large]);
    let (name, data) = events.next().unwrap();
    assert_eq!((&*name, &data), ("lagged", &json!({ "missed": 1 })));
    client.events(vec![client.event("SessionEnded", 40.0, ROOT, &[])]);
    assert_eq!(events.next().unwrap().0, "SessionEnded");
}

#[test]
fn who_watches_does_not_hold_up_the_end_of_the_server() {
    let mut server = Server::start();
    let mut events = {
        let client = Client::new(&server, "watched", 0x401, Duration::from_secs(60));
        client.events(client.life());
        Events::of(&client)
    };
    assert_eq!(events.next().unwrap().0, "snapshot");
    let began = Instant::now();
    let (status, took) = server.stop();
    assert!(status.success() && took < Duration::from_secs(8), "{status} after {took:?}");
    assert_eq!(events.next(), None);
    assert!(began.elapsed() < Duration::from_secs(10));
}

/// Name, parent and whether it is open, of each span in Tempo's answer.
#[track_caller]
fn tempo_spans(server: &Server, trace: u128) -> Vec<(String, bool)> {
    let answer = server.get(&format!("/tempo/api/v2/traces/{trace:032x}")).expect(200).json();
    let Some(groups) = answer["trace"]["resourceSpans"].as_array() else { return Vec::new() };
    let scopes = groups.iter().flat_map(|group| group["scopeSpans"].as_array().unwrap());
    let spans = scopes.flat_map(|scope| scope["spans"].as_array().unwrap());
    let mut shown: Vec<(String, bool)> = spans
        .map(|span| {
            let attributes = span["attributes"].as_array().into_iter().flatten();
            let is_open = attributes.into_iter().any(|attribute| {
                attribute["key"] == "kymo.open" && attribute["value"]["boolValue"] == true
            });
            (span["name"].as_str().unwrap().to_owned(), is_open)
        })
        .collect();
    shown.sort();
    shown
}

#[test]
fn spans_that_have_not_ended_are_in_their_trace_until_they_arrive() {
    let mut server = Server::start();
    let trace: u128 = 0x501_0000_0000_0000_0000_0000_0001;
    {
        let client = Client::new(&server, "open", trace, Duration::from_secs(60));
        client.events(client.life());
        let open = |name: &str| (name.to_owned(), true);
        let arrived = |name: &str| (name.to_owned(), false);
        // Events tell that some have ended, before or without their spans.
        let some = [
            open("session"),
            arrived("simulate"),
            arrived("simulate"),
            open("train"),
            open("train"),
        ];
        assert_eq!(tempo_spans(&server, trace), some);
        client.spans(client.ended_spans());
        assert_eq!(tempo_spans(&server, trace), some);

        // The same for Jaeger, whose tree hangs together.
        let jaeger = server.get(&format!("/jaeger/api/traces/{trace:032x}")).expect(200).json();
        let spans = jaeger["data"][0]["spans"].as_array().unwrap();
        assert_eq!(spans.len(), 5);
        let train = spans.iter().find(|span| span["operationName"] == "train").unwrap();
        assert_eq!(train["references"][0]["spanID"], format!("{ROOT:016x}"));
        // It lasts to the last moment that is known: the score, or the end of a span.
        let root = spans.iter().find(|span| span["operationName"] == "session").unwrap();
        assert_eq!(root["duration"], 7_000_000);
        let v1 = server.get(&format!("/tempo/api/traces/{trace:032x}")).expect(200).text();
        assert!(v1.contains("kymo.open"), "{v1}");
        let id = format!("{trace:032x}");
        let url = server.url("");
        let shown = run(kymo().args(["trace", &id, "--url", &url])).expect(0);
        assert!(shown.stdout.contains("train"), "{}", shown.stdout);
    }
    // Searches do not know of them.
    assert_eq!(server.search("{ name = \"train\" }"), [] as [String; 0]);

    // They outlive the server, and are in its directory.
    server.kill();
    server.start_again();
    assert_eq!(tempo_spans(&server, trace).iter().filter(|(_, is_open)| *is_open).count(), 3);
    server.stop();
    let data = server.data().display().to_string();
    let shown = run(kymo().args(["trace", &format!("{trace:032x}"), "--data", &data])).expect(0);
    assert!(shown.stdout.contains("train"), "{}", shown.stdout);
    server.start_again();
    let mut client = Client::new(&server, "open", trace, Duration::from_secs(60));
    client.start_nanos -= 1_000_000_000;
    client.spans(vec![
        client.span(ROOT, 0, "session", [0.0, 40.0], &[]),
        client.span(13, ROOT, "train", [4.0, 10.0], &[("task_id", json!("t3"))]),
        client.span(14, ROOT, "train", [6.0, 10.0], &[("task_id", json!("t4"))]),
    ]);
    let shown = tempo_spans(&server, trace);
    assert_eq!(shown.len(), 5);
    assert!(shown.iter().all(|(_, is_open)| !is_open), "{shown:?}");
}

#[test]
fn sessions_that_run_are_counted_however_long_ago_they_began() {
    let server = Server::start();
    let long = Client::new(&server, "train.1", 0xa1, Duration::from_secs(3_600));
    long.events(long.life());
    long.gauge("tasks_running", 3_590.0, 1.0);
    let ended = Client::new(&server, "train.2", 0xa2, Duration::from_secs(60));
    ended.events(vec![
        ended.event("SessionStarted", 0.0, ROOT, &[]),
        ended.event("SessionEnded", 50.0, ROOT, &[]),
    ]);
    let lost = Client::new(&server, "train.3", 0xa3, Duration::from_secs(3_600));
    lost.events(vec![lost.event("SessionStarted", 0.0, ROOT, &[])]);

    let live = server.client.get(server.url("/api/live")).send().unwrap();
    let lines = BufReader::new(live).lines().map(Result::unwrap);
    let told = lines.filter_map(|line| {
        let told: Value = serde_json::from_str(line.strip_prefix("data: ")?).unwrap();
        told["sessions_running"].as_u64()
    });
    // It is counted beside what is told each second.
    assert_eq!(told.take(60).next(), Some(1));
}
