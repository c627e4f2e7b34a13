//! Loki's API over HTTP: LogQL, what Grafana asks, and lines as they come.

#![allow(clippy::unwrap_used, clippy::panic, unreachable_pub, reason = "a test")]

mod harness;

use harness::loki::{Frame, Line, Socket, Stream, as_json};
use harness::{Answer, Server};
use serde_json::{Value, json};

const TRACE: &str = "5b8efff798038103d269b633813fc60c";
const SPAN: &str = "eee19b7ec3c1b174";
const SECOND: i64 = 1_000_000_000;
/// A whole minute.
const START: i64 = 1_767_322_800 * SECOND;

const SHOP: [Line<'_>; 4] = [
    (
        START + 10 * SECOND,
        "level=info order=1001 took=42ms",
        &[("trace_id", TRACE), ("span_id", SPAN)],
    ),
    (START + 20 * SECOND, "level=warn order=1002 took=120ms", &[]),
    (START + 70 * SECOND, "level=info order=1003 took=40ms", &[("customer", "7")]),
    (START + 80 * SECOND, "level=error order=1004 took=1s", &[]),
];
const EDGE: [Line<'_>; 2] = [
    (START + 15 * SECOND, "{\"path\":\"/api\",\"status\":200}", &[]),
    (START + 75 * SECOND, "{\"path\":\"/api\",\"status\":500}", &[]),
];
const STREAMS: [Stream<'_>; 2] =
    [(&[("app", "shop"), ("env", "prod")], &SHOP), (&[("app", "edge"), ("env", "prod")], &EDGE)];

fn server() -> Server {
    let server = Server::start();
    server.push(&as_json(&STREAMS)).expect(204);
    server
}

/// With the times of the two minutes in which there are lines.
fn asked(server: &Server, path: &str, more: &[(&str, &str)]) -> Answer {
    let (start, end) = (START.to_string(), (START + 120 * SECOND).to_string());
    server.loki(path, &[more, &[("start", &start), ("end", &end)]].concat())
}

fn result(server: &Server, path: &str, more: &[(&str, &str)]) -> Value {
    let answer = asked(server, path, more).expect(200).json();
    assert_eq!(answer["status"], "success", "{answer}");
    answer["data"].clone()
}

fn lines(data: &Value) -> Vec<&str> {
    let streams = data["result"].as_array().unwrap().iter();
    let values = streams.flat_map(|stream| stream["values"].as_array().unwrap());
    values.map(|value| value[1].as_str().unwrap()).collect()
}

#[test]
fn lines_come_back_newest_first_with_their_labels() {
    let server = server();
    let data = result(&server, "query_range", &[("query", "{app=\"shop\"} |= \"info\"")]);
    assert_eq!(data["resultType"], "streams");
    assert_eq!(lines(&data).len(), 2);
    let merged = data["result"].as_array().unwrap();
    assert_eq!(merged.len(), 2, "metadata makes streams of its own: {data}");
    let query = ("query", "{app=\"shop\"} | logfmt | order=\"1001\"");
    let data = result(&server, "query_range", &[query]);
    let labels = json!({ "app": "shop", "env": "prod", "level": "info", "order": "1001",
        "took": "42ms", "trace_id": TRACE, "span_id": SPAN });
    assert_eq!(data["result"][0]["stream"], labels);
    let (first, all) = ("level=info order=1001 took=42ms", ("query", "{app=\"shop\"}"));
    let forward = result(&server, "query_range", &[all, ("direction", "FORWARD"), ("limit", "1")]);
    assert_eq!(lines(&forward), [first]);
    let backward = result(&server, "query_range", &[all, ("limit", "1")]);
    assert_eq!(lines(&backward), ["level=error order=1004 took=1s"]);
    let summary = &backward["stats"]["summary"];
    assert_eq!(summary["totalEntriesReturned"], 1);
    assert!(summary["execTime"].as_f64().unwrap() > 0.0);
    let read = summary["totalLinesProcessed"].as_u64().unwrap();
    assert!(read > 0 && summary["totalBytesProcessed"].as_u64().unwrap() > read, "{summary}");
}

#[test]
fn a_moment_is_exact_in_every_form() {
    let server = Server::start();
    let at = START + 123_000_000;
    server.push(&as_json(&[(&[("app", "a")], &[(at, "x", &[])])])).expect(204);
    let (secs, fraction) = (START / SECOND, "2026-01-02T03:00:00.123Z");
    for time in [at.to_string(), format!("{secs}.123"), fraction.to_owned()] {
        let query = ("query", "count_over_time({app=\"a\"}[1m])");
        let found = server.loki("query", &[query, ("time", &time)]).expect(200).json();
        assert_eq!(found["data"]["result"][0]["value"][1], "1", "{time}: {found}");
    }
    let end = format!("{secs}.124");
    let lines_in = |start: &str| {
        let asked = [("query", "{app=\"a\"}"), ("start", start), ("end", end.as_str())];
        lines(&server.loki("query_range", &asked).expect(200).json()["data"]).len()
    };
    assert_eq!((lines_in(&format!("{secs}.123")), lines_in(&format!("{secs}.1231"))), (1, 0));
}

#[test]
fn steps_as_long_as_time_itself_are_answered() {
    let server = server();
    let (query, numbers) = ("{app=\"shop\"}", "count_over_time({app=\"shop\"}[1m])");
    for (path, query) in [("index/volume_range", query), ("query_range", numbers)] {
        asked(&server, path, &[("query", query), ("step", "9100000000")]).expect(200);
    }
}

#[test]
fn labels_are_told_apart_if_grafana_asks() {
    let server = server();
    let (start, end) = (START.to_string(), (START + 120 * SECOND).to_string());
    let request = server
        .client
        .get(server.url("/loki/api/v1/query_range"))
        .header("X-Loki-Response-Encoding-Flags", "categorize-labels")
        .query(&[
            ("query", "{app=\"shop\"} | logfmt order"),
            ("start", &start),
            ("end", &end),
            ("step", "1000ms"),
            ("direction", "forward"),
            ("limit", "1000"),
        ]);
    let data = Answer::of(request).expect(200).json()["data"].clone();
    assert_eq!(data["encodingFlags"], json!(["categorize-labels"]));
    assert_eq!(data["result"].as_array().unwrap().len(), 1);
    let stream = &data["result"][0];
    assert_eq!(stream["stream"], json!({ "app": "shop", "env": "prod" }));
    let extra = json!({ "structuredMetadata": { "trace_id": TRACE, "span_id": SPAN },
        "parsed": { "order": "1001" } });
    assert_eq!(stream["values"][0][2], extra);
    assert_eq!(stream["values"][1][2], json!({ "parsed": { "order": "1002" } }));
}

#[test]
fn numbers_come_back_as_vectors_matrices_and_scalars() {
    let server = server();
    // As Grafana tests a data source.
    let health =
        [("query", "vector(1)+vector(1)"), ("time", "4000000000"), ("direction", "backward")];
    let health = server.loki("query", &health).expect(200).json()["data"].clone();
    assert_eq!(health["resultType"], "vector");
    assert_eq!(health["result"], json!([{ "metric": {}, "value": [4_000_000_000_i64, "2"] }]));
    let end = (START + 120 * SECOND).to_string();
    let count = [("query", "sum by (app) (count_over_time({env=\"prod\"}[2m]))"), ("time", &*end)];
    let vector = server.loki("query", &count).expect(200).json()["data"]["result"].clone();
    let at = START / SECOND + 120;
    let expected = json!([
        { "metric": { "app": "edge" }, "value": [at, "2"] },
        { "metric": { "app": "shop" }, "value": [at, "4"] },
    ]);
    assert_eq!(vector, expected);
    let scalar = server.loki("query", &[("query", "1 + 1"), ("time", &end)]).expect(200).json();
    assert_eq!(scalar["data"]["resultType"], "scalar");
    assert_eq!(scalar["data"]["result"], json!([at, "2"]));
    // The histogram above Grafana's lines.
    let query = "sum by (level, detected_level) (count_over_time({app=\"shop\"} | logfmt | drop __error__ [1m]))";
    let matrix = result(&server, "query_range", &[("query", query), ("step", "60000ms")]);
    assert_eq!(matrix["resultType"], "matrix");
    let minute = START / SECOND + 60;
    let of = |level: &str| {
        let series = matrix["result"].as_array().unwrap().iter();
        let mut of_level = series.filter(|series| series["metric"] == json!({ "level": level }));
        of_level.next().unwrap_or_else(|| panic!("no {level}: {matrix}"))["values"].clone()
    };
    assert_eq!(of("info"), json!([[minute, "1"], [minute + 60, "1"]]));
    assert_eq!(of("error"), json!([[minute + 60, "1"]]));
}

#[test]
fn a_form_asks_as_a_url_does() {
    let server = server();
    let form = format!("query=%7Bapp%3D%22edge%22%7D&start={START}&end={}", START + 120 * SECOND);
    let request = server
        .client
        .post(server.url("/loki/api/v1/query_range"))
        .header("content-type", "application/x-www-form-urlencoded")
        .body(form);
    let data = Answer::of(request).expect(200).json()["data"].clone();
    assert_eq!(lines(&data).len(), 2);
}

#[test]
fn bad_questions_are_refused_in_plain_text() {
    let server = server();
    for (path, parameters) in [
        ("query_range", vec![("query", "{app=")]),
        ("query_range", vec![("query", "{}")]),
        ("query_range", vec![("query", "")]),
        ("query_range", vec![("query", "{app=\"a\"}"), ("limit", "0")]),
        ("query_range", vec![("query", "{app=\"a\"}"), ("limit", "1000000")]),
        ("query_range", vec![("query", "{app=\"a\"}"), ("direction", "sideways")]),
        ("query_range", vec![("query", "{app=\"a\"}"), ("step", "0")]),
        ("query_range", vec![("query", "{app=\"a\"}"), ("start", "2000000000"), ("end", "1")]),
        ("query_range", vec![("query", "rate({app=\"a\"}[1m])"), ("start", "1"), ("step", "1s")]),
        ("query", vec![("query", "{app=\"shop\"}")]),
        (
            "query",
            vec![("query", "count_over_time({app=\"shop\"} | json [1h])"), ("time", "1767322920")],
        ),
        ("labels", vec![("query", "{app=\"a\"} | json")]),
        ("label/app/values", vec![("query", "{app=\"a\"} |= \"x\"")]),
        ("series", vec![("match[]", "{bad")]),
        ("index/stats", vec![("query", "{bad")]),
        ("index/volume", vec![("query", "{app=\"a\"}"), ("aggregateBy", "x")]),
        ("detected_fields", vec![("query", "rate({app=\"a\"}[1m])")]),
        ("patterns", vec![]),
        ("tail", vec![("query", "{app=\"a\"}")]),
    ] {
        let answer = server.loki(path, &parameters);
        assert_eq!(answer.status, 400, "{path} {parameters:?}: {}", answer.text());
        assert!(answer.header("content-type").starts_with("text/plain"), "{path}");
        assert!(!answer.text().is_empty());
    }
    // Without labels that are asked for no parser is run, so that none can fail.
    let lines = "sum(count_over_time({app=\"shop\"} | json [1h]))";
    let counted = server.loki("query", &[("query", lines), ("time", "1767322920")]).expect(200);
    assert_eq!(counted.json()["data"]["result"][0]["value"][1], "4");
    let format = server.loki("format_query", &[("query", "{a=")]).expect(400).json();
    assert_eq!(format["status"], "invalid-query");
}

#[test]
fn labels_streams_and_their_size_are_told() {
    let server = server();
    assert_eq!(result(&server, "labels", &[]), json!(["app", "env"]));
    assert_eq!(result(&server, "label", &[]), json!(["app", "env"]));
    assert_eq!(result(&server, "label/app/values", &[]), json!(["edge", "shop"]));
    let of_shop = [("query", "{app=\"shop\"}")];
    assert_eq!(result(&server, "label/app/values", &of_shop), json!(["shop"]));
    let none = asked(&server, "label/trace_id/values", &[]).expect(200).json();
    assert_eq!(none, json!({ "status": "success" }));
    let shop = json!({ "app": "shop", "env": "prod" });
    assert_eq!(result(&server, "series", &[("match[]", "{app=\"shop\"}")]), json!([shop]));
    assert_eq!(result(&server, "series", &[("match[]", "{app=\"x\"}")]), json!([]));
    assert_eq!(result(&server, "series", &[]).as_array().unwrap().len(), 2);
    let several = ["{app=\"shop\"}", "{env=\"prod\", app!=\"edge\"}", "{app=\"x\"}"];
    let several = several.map(|selector| ("match[]", selector));
    assert_eq!(result(&server, "series", &several), json!([shop]));
    let bytes = SHOP.iter().map(|(_, line, _)| line.len()).sum::<usize>();
    let stats = asked(&server, "index/stats", &of_shop).expect(200).json();
    assert_eq!((&stats["streams"], &stats["entries"]), (&json!(1), &json!(4)));
    assert_eq!(stats["bytes"], json!(bytes));
    let volume = result(&server, "index/volume", &[("query", "{app=~\".+\"}")]);
    assert_eq!(volume["resultType"], "vector");
    assert_eq!(volume["result"][0]["metric"], json!({ "app": "shop" }), "the largest first");
    assert_eq!(volume["result"][0]["value"][1], json!(bytes.to_string()));
    // More than there can be are as many as there can be.
    result(&server, "index/volume", &[("query", "{app=~\".+\"}"), ("limit", "5000")]);
    let by_label = [("query", "{app=~\".+\"}"), ("aggregateBy", "labels")];
    let by_label = result(&server, "index/volume", &by_label);
    assert_eq!(by_label["result"][0]["metric"], json!({ "app": "" }));
    let steps = [("query", "{app=\"shop\"}"), ("step", "60s")];
    let steps = result(&server, "index/volume_range", &steps);
    assert_eq!(steps["resultType"], "matrix");
    let values = steps["result"][0]["values"].as_array().unwrap();
    assert_eq!(values.len(), 2);
    assert_eq!(values[0][0].as_f64().unwrap(), (START / SECOND + 60) as f64 - 0.001);
}

#[test]
fn what_can_be_filtered_by_is_found() {
    let server = server();
    let labels = asked(&server, "detected_labels", &[]).expect(200).json();
    let expected =
        json!([{ "label": "app", "cardinality": 2 }, { "label": "env", "cardinality": 1 }]);
    assert_eq!(labels["detectedLabels"], expected);
    assert_eq!(asked(&server, "detected_labels", &[("query", "{app=\"x\"}")]).json(), json!({}));
    let shop = [("query", "{app=\"shop\"}")];
    let fields = asked(&server, "detected_fields", &shop).expect(200).json();
    assert_eq!(fields["limit"], 1000);
    let field = |name: &str| {
        let mut all = fields["fields"].as_array().unwrap().iter();
        all.find(|field| field["label"] == name).unwrap_or_else(|| panic!("{name}: {fields}"))
    };
    let took =
        json!({ "label": "took", "type": "duration", "cardinality": 4, "parsers": ["logfmt"] });
    assert_eq!(field("took"), &took);
    assert_eq!(field("trace_id")["parsers"], Value::Null);
    let edge = asked(&server, "detected_fields", &[("query", "{app=\"edge\"}")]).expect(200).json();
    let status =
        edge["fields"].as_array().unwrap().iter().find(|f| f["label"] == "status").unwrap();
    assert_eq!((&status["type"], &status["jsonPath"]), (&json!("int"), &json!(["status"])));
    let levels = asked(&server, "detected_field/level/values", &shop).expect(200).json();
    assert_eq!(levels["values"], json!(["error", "info", "warn"]));
    let patterns = result(&server, "patterns", &[shop[0], ("step", "60s")]);
    let pattern = &patterns[0];
    assert!(pattern["pattern"].as_str().unwrap().contains("<_>"), "{patterns}");
    let samples =
        patterns.as_array().unwrap().iter().flat_map(|p| p["samples"].as_array().unwrap());
    assert_eq!(samples.map(|sample| sample[1].as_i64().unwrap()).sum::<i64>(), 4);
}

#[test]
fn the_server_says_what_it_is() {
    let server = Server::start();
    assert_eq!(server.get("/loki/ready").expect(200).text(), "ready\n");
    assert_eq!(server.loki("status/buildinfo", &[]).expect(200).json()["version"], "3.7.6");
    let limits = server.loki("drilldown-limits", &[]).expect(200).json();
    assert_eq!(limits["pattern_ingester_enabled"], true);
    assert!(limits["limits"]["max_query_series"].as_u64().unwrap() > 500);
    let query = [("query", "sum by(app)(rate({app=\"a\",env=\"b\"}|=\"x\"[1m]))")];
    let formatted = server.loki("format_query", &query).expect(200).json()["data"].clone();
    assert_eq!(formatted, "sum by (app)(rate({app=\"a\", env=\"b\"} |= \"x\"[1m]))");
}

#[test]
fn lines_are_tailed_first_those_that_were_and_then_those_that_come() {
    let server = server();
    let query = "%7Bapp%3D%22shop%22%7D%20%7C%3D%20%22order%22";
    let path = format!("/loki/api/v1/tail?query={query}&start={START}&limit=2");
    let mut socket = Socket::open(&server, &path).unwrap();
    let before = socket.text();
    let times: Vec<&str> = before["streams"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|stream| stream["values"].as_array().unwrap())
        .map(|value| value[0].as_str().unwrap())
        .collect();
    let newest = [SHOP[2].0.to_string(), SHOP[3].0.to_string()];
    assert_eq!(times, newest, "{before}");
    let now = START + 200 * SECOND;
    let more: [Stream<'_>; 2] = [
        (&[("app", "shop")], &[(now, "order=1005", &[("a", "b")]), (now + 1, "other", &[])]),
        (&[("app", "edge")], &[(now, "order of another", &[])]),
    ];
    server.push(&as_json(&more)).expect(204);
    let live = socket.text();
    let expected = json!({ "streams": [
        { "stream": { "a": "b", "app": "shop" }, "values": [[now.to_string(), "order=1005"]] }
    ]});
    assert_eq!(live, expected);
    // Nothing comes, but pings do.
    assert_eq!(socket.next(), Frame::Ping);
    assert_eq!(socket.next(), Frame::Ping);
}

#[test]
fn who_tails_may_have_labels_told_apart() {
    let server = server();
    let path = format!("/loki/api/v1/tail?query=%7Bapp%3D%22shop%22%7D&start={START}&limit=4");
    let flags = "x-loki-response-encoding-flags: categorize-labels\r\n";
    let mut socket = Socket::open_with(&server, &path, flags).unwrap();
    let frame = socket.text();
    assert_eq!(frame["encodingFlags"], json!(["categorize-labels"]));
    assert_eq!(frame["streams"].as_array().unwrap().len(), 1, "{frame}");
    let extra = json!({ "structuredMetadata": { "trace_id": TRACE, "span_id": SPAN } });
    assert_eq!(frame["streams"][0]["values"][0][2], extra);
}

#[test]
fn who_tails_what_cannot_be_tailed_is_told_why() {
    let server = server();
    let numbers = "/loki/api/v1/tail?query=rate(%7Bapp%3D%22a%22%7D%5B1m%5D)";
    let mut socket = Socket::open(&server, numbers).unwrap();
    let Frame::Close(code, reason) = socket.next() else { panic!("not closed") };
    assert_eq!(code, 1011);
    assert!(reason.contains("log queries"), "{reason}");
    let answer = Socket::open(&server, "/loki/api/v1/tail?query=%7B").err().unwrap();
    assert!(answer.starts_with("HTTP/1.1 400 "), "{answer}");
    let late = "/loki/api/v1/tail?query=%7Ba%3D%22b%22%7D&delay_for=6";
    let answer = Socket::open(&server, late).err().unwrap();
    assert!(answer.starts_with("HTTP/1.1 400 "), "{answer}");
}

#[test]
fn who_tails_hears_when_the_server_stops() {
    let mut server = server();
    let mut socket = Socket::open(&server, "/loki/api/v1/tail?query=%7Ba%3D%22b%22%7D").unwrap();
    assert_eq!(socket.next(), Frame::Ping);
    server.signal("TERM");
    loop {
        match socket.next() {
            Frame::Ping => {}
            Frame::Close(code, _) => break assert_eq!(code, 1001),
            Frame::Text(text) => panic!("{text}"),
        }
    }
    server.stop();
}
