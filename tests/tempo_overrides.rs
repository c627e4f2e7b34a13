//! `/tempo/api/overrides`: what a tenant sets for itself.

#![allow(clippy::unwrap_used, clippy::panic, unreachable_pub, reason = "a test")]

mod harness;

use harness::programs::{kymo, run};
use harness::{Answer, Server};
use serde_json::{Value, json};

const PATH: &str = "/tempo/api/overrides";

fn server() -> Server {
    Server::with(&["--tempo-overrides", "true"])
}

/// Asks with a version, if there is one, and a body.
#[track_caller]
fn ask(server: &Server, method: &str, version: Option<&str>, body: &str) -> Answer {
    let request = server.client.request(method.parse().unwrap(), server.url(PATH));
    let request = request.body(body.to_owned());
    Answer::of(match version {
        Some(version) => request.header("if-match", version),
        None => request,
    })
}

#[track_caller]
fn get(server: &Server) -> Answer {
    ask(server, "GET", None, "")
}

fn version(answer: &Answer) -> &str {
    answer.headers["etag"].to_str().unwrap()
}

/// What is shown of a document, whose groups are always there.
fn shown(generator: Value) -> Value {
    let mut generator = generator;
    let processor = json!({"service_graphs": {}, "span_metrics": {}, "host_info": {}});
    let groups = generator.as_object_mut().unwrap();
    groups.entry("processor").or_insert(processor);
    json!({"cost_attribution": {}, "metrics_generator": generator})
}

#[test]
fn they_are_off_unless_switched_on() {
    let server = Server::start();
    for method in ["GET", "POST", "PATCH", "DELETE"] {
        let answer = ask(&server, method, Some("0"), "{}").expect(404);
        assert!(answer.text().contains("--tempo-overrides true"), "{}", answer.text());
    }
}

#[test]
fn what_is_set_is_kept_version_by_version() {
    let mut server = server();
    assert!(get(&server).expect(404).text().contains("no overrides"));
    let first = r#"{"metrics_generator":{"collection_interval":"60s"}}"#;
    ask(&server, "POST", None, first).expect(428);
    ask(&server, "POST", Some("7"), first).expect(412);
    ask(&server, "POST", Some("*"), first).expect(412);
    let done = ask(&server, "POST", Some("0"), first).expect(200);
    assert_eq!((version(&done), done.text()), ("1", String::new()));
    let set = get(&server).expect(200);
    assert_eq!(set.json(), shown(json!({"collection_interval": "1m0s"})));
    assert_eq!(
        (version(&set), &set.headers["content-type"]),
        ("1", &"application/json".parse().unwrap())
    );
    ask(&server, "POST", Some("0"), "{}").expect(412);

    // Another changes it between what one reads and what he writes.
    let by_other =
        ask(&server, "PATCH", None, r#"{"metrics_generator":{"disable_collection":true}}"#);
    let by_other = by_other.expect(200);
    let both = shown(json!({"collection_interval": "1m0s", "disable_collection": true}));
    assert_eq!((version(&by_other), by_other.json()), ("2", both.clone()));
    let late = ask(&server, "POST", Some("1"), "{}").expect(412);
    assert!(late.text().contains("2 holds"), "{}", late.text());
    ask(&server, "DELETE", Some("1"), "").expect(412);

    server.stop();
    server.start_again();
    assert_eq!(get(&server).expect(200).json(), both, "it outlives the server");
    let other = server.client.get(server.url(PATH)).header("x-scope-orgid", "other");
    Answer::of(other).expect(404);

    let less = r#"{"metrics_generator":{"collection_interval":null}}"#;
    let less = ask(&server, "PATCH", None, less).expect(200);
    assert_eq!(less.json(), shown(json!({"disable_collection": true})));
    ask(&server, "POST", Some("\"3\""), "{}").expect(200);
    ask(&server, "DELETE", None, "").expect(428);
    ask(&server, "DELETE", Some("0"), "").expect(412);
    ask(&server, "DELETE", Some("4"), "").expect(200);
    get(&server).expect(404);
    for version in ["0", "4", "5"] {
        ask(&server, "DELETE", Some(version), "").expect(404);
    }
    let anew = ask(&server, "PATCH", None, r#"{"forwarders":[]}"#).expect(200);
    assert_eq!(version(&anew), "6", "versions never come again");
    let data = server.data().display().to_string();
    server.stop();
    let checked = run(kymo().args(["store", "check", &data])).expect(0);
    assert_eq!(checked.fact("versions of settings"), "6");
}

#[test]
fn what_holds_has_defaults_too() {
    let server = server();
    let merged = |server: &Server| server.tempo("/api/overrides", &[("scope", "merged")]);
    merged(&server).expect(404);
    let wanted = r#"{"metrics_generator":{"processors":["span-metrics"],
        "processor":{"span_metrics":{"dimensions":["http.route"]}}}}"#;
    ask(&server, "POST", Some("0"), wanted).expect(200);
    let holds = merged(&server).expect(200);
    assert_eq!(version(&holds), "1");
    let generator = &holds.json()["metrics_generator"];
    assert_eq!(generator["processors"], json!(["span-metrics"]));
    assert_eq!(generator["native_histogram_bucket_factor"], 1.1);
    assert_eq!(generator["processor"]["span_metrics"]["dimensions"], json!(["http.route"]));
    assert_eq!(generator["processor"]["span_metrics"]["enable_instance_label"], true);
    server.tempo("/api/overrides", &[("scope", "api")]).expect(200);
    let wrong = server.tempo("/api/overrides", &[("scope", "all")]).expect(400);
    assert!(wrong.text().contains("api or merged"), "{}", wrong.text());
}

#[test]
fn what_is_wrong_is_told_and_changes_nothing() {
    let server = server();
    ask(&server, "POST", Some("0"), r#"{"forwarders":[]}"#).expect(200);
    let before = get(&server).expect(200).json();
    for (method, body, told) in [
        ("POST", "", "EOF"),
        ("POST", "{", "EOF"),
        ("POST", "[]", "not an object"),
        ("POST", r#"{"forwarder":[]}"#, "unknown field `forwarder`"),
        ("POST", r#"{"forwarders":["siem"]}"#, "none is configured"),
        ("POST", r#"{"metrics_generator":{"collection_interval":"1ms"}}"#, "15s to 5m"),
        ("PATCH", "[]", "not an object"),
        ("PATCH", "null", "invalid type: null"),
        ("PATCH", "\u{0}", "overrides"),
        ("PATCH", r#"{"nope":1}"#, "unknown field `nope`"),
        ("PATCH", r#"{"metrics_generator":{"processors":["x"]}}"#, "none of"),
    ] {
        let answer = ask(&server, method, Some("1"), body).expect(400);
        assert!(answer.text().contains(told), "{method} {body}: {}", answer.text());
    }
    let deep = "{\"a\":".repeat(10_000);
    ask(&server, "PATCH", None, &deep).expect(400);
    ask(&server, "POST", Some("1"), &" ".repeat(2 << 20)).expect(413);
    ask(&server, "PUT", None, "{}").expect(405);
    let many: Vec<Value> = vec![json!({"key": "name", "value": "\\pL{20}"}); 200];
    let filters = json!([{"include": {"match_type": "regex", "attributes": many}}]);
    let many =
        json!({"metrics_generator": {"processor": {"span_metrics": {"filter_policies": filters}}}});
    let many = ask(&server, "POST", Some("1"), &many.to_string()).expect(400);
    assert!(many.text().contains("200 attributes"), "{}", many.text());
    let several = server.client.get(server.url(PATH)).header("x-scope-orgid", "a|b");
    assert!(Answer::of(several).expect(400).text().contains("several tenants"));
    let unsure = format!("{PATH}?skip-conflicting-overrides-check=maybe");
    Answer::of(server.client.patch(server.url(&unsure)).body("{}")).expect(400);
    let after = get(&server).expect(200);
    assert_eq!((version(&after), after.json()), ("1", before));
}

#[test]
fn patches_do_not_add_up_to_more_than_can_be_set() {
    let server = server();
    let half = |letter: char| {
        let name = letter.to_string().repeat(70 << 10);
        json!({"cost_attribution": {"dimensions": {name: ""}}}).to_string()
    };
    ask(&server, "PATCH", None, &half('a')).expect(200);
    let refused = ask(&server, "PATCH", None, &half('b')).expect(400);
    assert!(refused.text().contains("more than 131072 bytes"), "{}", refused.text());
    assert_eq!(version(&get(&server).expect(200)), "1");
}

#[test]
fn changes_at_once_are_all_made() {
    let server = server();
    let keys = ["a", "b", "c", "d"];
    std::thread::scope(|scope| {
        for key in keys {
            let server = &server;
            scope.spawn(move || {
                let wanted = json!({"cost_attribution": {"dimensions": {key: ""}}}).to_string();
                // Who is told that others were quicker tries again.
                let mut tries = (0..100).map(|_| ask(server, "PATCH", None, &wanted).status);
                let done = tries.find(|status| *status != 409);
                assert_eq!(done, Some(200));
            });
        }
    });
    let set = get(&server).expect(200);
    let dimensions = set.json()["cost_attribution"]["dimensions"].clone();
    assert_eq!(dimensions, json!({"a": "", "b": "", "c": "", "d": ""}));
    assert_eq!(version(&set), keys.len().to_string());
}
