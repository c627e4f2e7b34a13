//! The Model Context Protocol over a real socket: by hand, and with the client of its own SDK, which
//! is there after `scripts/clients install`.

#![allow(clippy::unwrap_used, clippy::panic, unreachable_pub, reason = "a test")]

mod harness;

use harness::programs::{clients, python, repository, run};
use harness::traces::{CART, requests, server};
use harness::{Answer, Server, Signal};
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use prost::Message;
use reqwest::blocking::RequestBuilder;
use serde_json::{Value, json};

const PATH: &str = "/tempo/api/mcp";
const ON: [&str; 2] = ["--query-mcp", "true"];
/// A time that all the traces lie in.
const START: &str = "2026-01-02T00:00:00Z";
const END: &str = "2026-01-03T00:00:00Z";

/// A request to be changed before it is sent.
fn post(server: &Server, message: &Value) -> RequestBuilder {
    let request = server.client.post(server.url(PATH)).header("content-type", "application/json");
    let request = request.header("accept", "application/json, text/event-stream");
    request.body(message.to_string())
}

#[track_caller]
fn send(server: &Server, message: &Value) -> Answer {
    Answer::of(post(server, message))
}

fn request(id: u64, method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

/// The result of a request that works.
#[track_caller]
fn result(server: &Server, method: &str, params: Value) -> Value {
    let answer = send(server, &request(5, method, params)).expect(200);
    assert_eq!(answer.header("content-type"), "application/json");
    let document = answer.json();
    assert_eq!((&document["id"], &document["jsonrpc"]), (&json!(5), &json!("2.0")), "{document}");
    assert!(document["error"].is_null(), "{document}");
    document["result"].clone()
}

/// The text that a tool gives, and whether it is an error.
#[track_caller]
fn call(server: &Server, tool: &str, arguments: Value) -> (String, bool) {
    let params = json!({"name": tool, "arguments": arguments});
    told(&result(server, "tools/call", params))
}

#[track_caller]
fn told(result: &Value) -> (String, bool) {
    let content = result["content"].as_array().unwrap();
    assert_eq!((content.len(), &content[0]["type"]), (1, &json!("text")), "{result}");
    let text = content[0]["text"].as_str().unwrap().to_owned();
    (text, result["isError"].as_bool().unwrap())
}

/// What a tool gives, as JSON.
#[track_caller]
fn given(server: &Server, tool: &str, arguments: Value) -> Value {
    let (text, is_error) = call(server, tool, arguments);
    assert!(!is_error, "{text}");
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// What a tool says is wrong.
#[track_caller]
fn wrong(server: &Server, tool: &str, arguments: Value) -> String {
    let (text, is_error) = call(server, tool, arguments);
    assert!(is_error, "{text}");
    text
}

/// Code and message of a refusal.
#[track_caller]
fn refused(answer: Answer, status: u16) -> (i64, String) {
    let error = answer.expect(status).json()["error"].clone();
    (error["code"].as_i64().unwrap(), error["message"].as_str().unwrap().to_owned())
}

fn cart() -> String {
    format!("{CART:032x}")
}

#[test]
fn it_is_off_unless_a_setting_switches_it_on() {
    let server = Server::start();
    let initialize = request(1, "initialize", json!({"protocolVersion": "2025-11-25"}));
    for answer in [send(&server, &initialize), server.get(PATH)] {
        let text = answer.expect(404).text();
        assert!(text.contains("query.mcp") && text.contains("--query-mcp"), "{text}");
    }
}

#[test]
fn a_client_of_old_begins_with_a_handshake() {
    let server = Server::with(&ON);
    for (asked, agreed) in [
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("2024-11-05", "2025-11-25"),
    ] {
        let params = json!({
            "protocolVersion": asked, "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        });
        let begun = result(&server, "initialize", params);
        assert_eq!(begun["protocolVersion"], agreed);
        assert_eq!(begun["capabilities"], json!({"tools": {}, "resources": {}}));
        assert_eq!(begun["serverInfo"]["name"], "kymograph");
        assert!(begun["instructions"].as_str().unwrap().contains("traceql-search"));
    }
    let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let answer = send(&server, &initialized).expect(202);
    assert!(answer.body.is_empty() && answer.header("mcp-session-id").is_empty());
    assert_eq!(result(&server, "ping", json!({})), json!({}));
    send(&server, &json!({"jsonrpc": "2.0", "id": 1, "result": {}})).expect(202);
}

#[test]
fn streams_and_sessions_are_not_offered() {
    let server = Server::with(&ON);
    let answer = server.get(PATH).expect(405);
    assert_eq!(answer.header("allow"), "POST");
    Answer::of(server.client.delete(server.url(PATH))).expect(405);
    let ping = request(1, "ping", json!({}));
    Answer::of(post(&server, &ping).header("mcp-session-id", "unknown")).expect(200);
}

#[test]
fn tools_and_resources_are_listed() {
    let server = Server::with(&ON);
    let tools = result(&server, "tools/list", json!({}))["tools"].clone();
    let tools = tools.as_array().unwrap();
    assert_eq!(tools.len(), 10);
    let search = tools.iter().find(|tool| tool["name"] == "traceql-search").unwrap();
    assert_eq!(search["inputSchema"]["required"], json!(["query"]));
    assert_eq!(search["annotations"]["readOnlyHint"], true);

    let resources = result(&server, "resources/list", json!({}))["resources"].clone();
    for resource in resources.as_array().unwrap() {
        let read = result(&server, "resources/read", json!({"uri": resource["uri"]}));
        let contents = &read["contents"][0];
        assert_eq!(contents["uri"], resource["uri"]);
        assert_eq!(contents["mimeType"], "text/markdown");
        assert!(contents["text"].as_str().unwrap().starts_with("# "), "{contents}");
    }
    let templates = result(&server, "resources/templates/list", json!({}));
    assert_eq!(templates, json!({"resourceTemplates": []}));
    let paged = send(&server, &request(1, "tools/list", json!({"cursor": "x"})));
    assert_eq!(refused(paged, 200).0, -32602);
    let unknown = send(&server, &request(1, "resources/read", json!({"uri": "docs://x"})));
    assert_eq!(refused(unknown, 200).0, -32002);
}

#[test]
fn tools_answer_what_the_api_answers() {
    let server = server(&ON);
    let found = given(
        &server,
        "traceql-search",
        json!({"query": "{ status = error }", "start": START, "end": END}),
    );
    let cart = cart();
    let shown = found["traces"][0]["traceID"].as_str().unwrap();
    assert_eq!((found["traces"].as_array().unwrap().len(), shown), (1, &cart[1..]), "{found}");

    let count = json!({"query": "{ } | count_over_time()", "start": START, "end": END});
    let counted = given(&server, "traceql-metrics-instant", count.clone());
    assert_eq!(counted["series"][0]["value"], 7.0, "{counted}");
    let counted = given(&server, "traceql-metrics-range", count);
    assert!(counted["series"][0]["samples"].as_array().unwrap().len() > 1, "{counted}");

    let (trace, is_error) = call(&server, "get-trace", json!({"trace_id": cart}));
    assert!(!is_error && trace.contains("SELECT") && trace.contains("render"), "{trace}");
    let part = json!({"trace_id": cart, "q": "{ status = error }"});
    let (part, is_error) = call(&server, "get-trace", part);
    assert!(!is_error && part.contains("SELECT") && !part.contains("render"), "{part}");

    let names = given(&server, "get-attribute-names", json!({"scope": "resource"}));
    assert_eq!(names["scopes"][0]["tags"], json!(["service.name"]), "{names}");
    let filter = json!({"name": "resource.service.name", "filter-query": "{ status = error }"});
    let (values, is_error) = call(&server, "get-attribute-values", filter);
    assert!(!is_error && values.contains("db") && !values.contains("shop"), "{values}");

    let rows = given(&server, "sql", json!({"query": "SELECT count(*) FROM spans"}));
    assert_eq!(rows["rows"], json!([[7]]), "{rows}");
    let (guide, is_error) = call(&server, "docs-traceql", json!({"name": "metrics"}));
    assert!(!is_error && guide.contains("rate()"));
}

#[test]
fn traces_are_compared() {
    let server = server(&ON);
    let arguments = json!({"base_trace_id": cart(), "compare_trace_id": cart()});
    let compared = given(&server, "trace-diff", arguments);
    assert!(compared.is_object(), "{compared}");
    let arguments = json!({"base_trace_id": cart(), "compare_trace_id": "zz"});
    wrong(&server, "trace-diff", arguments);
}

#[test]
fn what_a_tool_cannot_do_is_told_to_the_model() {
    let server = server(&ON);
    for (tool, arguments, word) in [
        ("traceql-search", json!({"query": "{ status = 'error' }"}), "docs-traceql"),
        ("traceql-search", json!({"query": "{ } | rate()"}), "traceql-metrics-instant"),
        ("traceql-search", json!({}), "query is required"),
        ("traceql-search", json!({"query": "{ }", "start": "now"}), "2026-01-02T03:04:05Z"),
        ("traceql-metrics-instant", json!({"query": "{ }"}), "not a metrics query"),
        ("get-trace", json!({"trace_id": "xyz"}), "invalid character"),
        ("get-trace", json!({"trace_id": "abc"}), "no trace of that id"),
        ("get-trace", json!({"trace_id": "1", "depth": 3}), "no argument \"depth\""),
        ("sql", json!({"query": "SELECT nothing FROM spans"}), "nothing"),
        ("sql", json!({"query": "DROP TABLE spans"}), "error"),
    ] {
        let text = wrong(&server, tool, arguments);
        assert!(text.contains(word), "{tool}: {text}");
    }
    let unknown = send(&server, &request(1, "tools/call", json!({"name": "rm"})));
    let (code, message) = refused(unknown, 200);
    assert!(code == -32602 && message.contains("traceql-search"), "{message}");
}

#[test]
fn an_answer_that_is_too_long_says_to_narrow_the_query() {
    let server = server(&ON);
    let long = "SELECT value, repeat('x', 1000) FROM generate_series(1, 10000)";
    let text = wrong(&server, "sql", json!({"query": long}));
    assert!(text.contains("narrow the query"), "{text}");
    let short = given(&server, "sql", json!({"query": format!("{long} LIMIT 1000")}));
    assert_eq!(short["row_count"], 1000);
}

#[test]
fn tools_see_the_data_of_the_tenant_that_asks() {
    let server = Server::with(&ON);
    let body = requests().remove(0).encode_to_vec();
    let sent = server.request(Signal::Traces, harness::Encoding::Protobuf, body);
    Answer::of(sent.header("x-scope-orgid", "ml")).expect(200);
    let count = json!({"name": "sql", "arguments": {"query": "SELECT count(*) FROM spans"}});
    let count = request(1, "tools/call", count);
    for (tenant, spans) in [("ml", 2), ("default", 0)] {
        let answer = Answer::of(post(&server, &count).header("x-scope-orgid", tenant)).expect(200);
        let (text, is_error) = told(&answer.json()["result"]);
        let rows: Value = serde_json::from_str(&text).unwrap();
        assert_eq!((is_error, &rows["rows"]), (false, &json!([[spans]])), "{tenant}");
    }
    let bad = Answer::of(post(&server, &count).header("x-scope-orgid", "x".repeat(65)));
    let (text, is_error) = told(&bad.expect(200).json()["result"]);
    assert!(is_error && text.contains("65 bytes"), "{text}");
}

#[test]
fn paths_lie_under_the_base_path() {
    let server = Server::with(&["--query-mcp", "true", "--base-path", "/kymo"]);
    let request: ExportTraceServiceRequest = requests().remove(0);
    server.store(Signal::Traces, request.encode_to_vec());
    let body = r#"{"jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "sql", "arguments": {"query": "SELECT count(*) FROM spans"}}}"#;
    let url = server.url("/kymo/tempo/api/mcp");
    let answer = Answer::of(server.client.post(url).body(body)).expect(200);
    let (text, is_error) = told(&answer.json()["result"]);
    assert!(!is_error && text.contains("[2]"), "{text}");
    Answer::of(server.client.post(server.url(PATH)).body(body)).expect(404);
}

#[test]
fn web_pages_may_ask_only_if_their_origin_is_configured() {
    let ping = request(1, "ping", json!({}));
    let from =
        |server: &Server, origin: &str| Answer::of(post(server, &ping).header("origin", origin));
    let server = Server::with(&ON);
    let same = server.url("");
    for origin in ["http://evil.example:3200", same.as_str(), "null"] {
        let (_, message) = refused(from(&server, origin), 403);
        assert!(message.contains("cors.allowed_origins"), "{message}");
    }
    let allowed = "https://chat.example";
    let server = Server::with(&["--query-mcp", "true", "--cors-allowed-origins", allowed]);
    let answer = from(&server, allowed).expect(200);
    assert_eq!(answer.header("access-control-allow-origin"), allowed);
    from(&server, "https://other.example").expect(403);
}

#[test]
fn batches_are_answered_in_the_version_that_has_them() {
    let server = Server::with(&ON);
    let batch = json!([
        request(1, "ping", json!({})),
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        request(2, "no/such", json!({})),
        "nonsense",
    ]);
    let answers = send(&server, &batch).expect(200).json();
    let answers = answers.as_array().unwrap();
    assert_eq!(answers.len(), 3);
    assert_eq!(answers[0], json!({"jsonrpc": "2.0", "id": 1, "result": {}}));
    assert_eq!((&answers[1]["id"], &answers[1]["error"]["code"]), (&json!(2), &json!(-32601)));
    assert_eq!(answers[2]["error"]["code"], -32600);

    let silent = json!([{"jsonrpc": "2.0", "method": "notifications/initialized"}]);
    assert!(send(&server, &silent).expect(202).body.is_empty());
    assert_eq!(refused(send(&server, &json!([])), 400).0, -32600);
    let many = Value::Array(vec![request(1, "ping", json!({})); 33]);
    assert!(refused(send(&server, &many), 400).1.contains("32"));
    let newer = post(&server, &batch).header("mcp-protocol-version", "2025-06-18");
    assert!(refused(Answer::of(newer), 400).1.contains("2025-06-18"));

    let long = "SELECT value, repeat('x', 1000) FROM generate_series(1, 2500)";
    let long = json!({"name": "sql", "arguments": {"query": long}});
    let both = json!([request(1, "tools/call", long.clone()), request(2, "tools/call", long)]);
    let answers = send(&server, &both).expect(200).json();
    assert!(!told(&answers[0]["result"]).1);
    assert!(told(&answers[1]["result"]).0.contains("narrow the query"), "they share the room");
}

#[test]
fn what_is_not_a_request_is_refused() {
    let server = Server::with(&ON);
    let sent = |body: &str| Answer::of(server.client.post(server.url(PATH)).body(body.to_owned()));
    assert_eq!(refused(sent("{"), 400).0, -32700);
    assert_eq!(refused(sent("{}"), 400).0, -32600);
    assert_eq!(refused(sent(&"[".repeat(100_000)), 400).0, -32700);
    assert!(refused(sent(&" ".repeat((1 << 20) + 1)), 413).1.contains("larger"));
    let unknown = request(1, "prompts/list", json!({}));
    assert_eq!(refused(send(&server, &unknown), 200).0, -32601);
    let old = post(&server, &unknown).header("mcp-protocol-version", "1900-01-01");
    let answer = Answer::of(old).expect(400);
    let error = &answer.json()["error"];
    assert_eq!(
        (&error["code"], &error["data"]["supported"][0]),
        (&json!(-32022), &json!("2026-07-28"))
    );
}

/// A request that says all about itself, as version 2026-07-28 has it.
fn stateless(server: &Server, method: &str, name: &str, mut params: Value) -> RequestBuilder {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let request = post(server, &request(9, method, params));
    let request = request.header("mcp-protocol-version", "2026-07-28");
    let request = request.header("mcp-method", method);
    if name.is_empty() { request } else { request.header("mcp-name", name) }
}

#[test]
fn a_client_without_handshake_is_answered_too() {
    let server = server(&ON);
    let answered = |method: &str, name: &str, params: Value| {
        let answer = Answer::of(stateless(&server, method, name, params)).expect(200);
        let result = answer.json()["result"].clone();
        assert_eq!(result["resultType"], "complete");
        let info = &result["_meta"]["io.modelcontextprotocol/serverInfo"];
        assert_eq!(info["name"], "kymograph");
        result
    };
    let discovered = answered("server/discover", "", json!({}));
    assert_eq!(discovered["supportedVersions"][0], "2026-07-28");
    assert_eq!(discovered["capabilities"], json!({"tools": {}, "resources": {}}));
    assert!(discovered["ttlMs"].as_u64().unwrap() > 0);
    let tools = answered("tools/list", "", json!({}));
    assert_eq!(
        (tools["cacheScope"].as_str(), tools["tools"][0]["name"].as_str()),
        (Some("public"), Some("traceql-search"))
    );
    let count = json!({"name": "sql", "arguments": {"query": "SELECT count(*) FROM spans"}});
    let counted = answered("tools/call", "sql", count.clone());
    assert!(told(&counted).0.contains("[7]"), "{counted}");
    assert_eq!(counted["_meta"]["type"], "rows");
    let read = answered("resources/read", "docs://sql", json!({"uri": "docs://sql"}));
    assert!(read["ttlMs"].is_u64());

    let ping = Answer::of(stateless(&server, "ping", "", json!({})));
    assert_eq!(refused(ping, 404).0, -32601);
    let elsewhere = Answer::of(stateless(&server, "tools/call", "get-trace", count));
    assert_eq!(refused(elsewhere, 400).0, -32020);
    let unknown = json!({"uri": "docs://x"});
    let unknown = Answer::of(stateless(&server, "resources/read", "docs://x", unknown));
    assert_eq!(refused(unknown, 200).0, -32602);
    let bare = post(&server, &request(1, "tools/list", json!({})));
    let bare = Answer::of(bare.header("mcp-protocol-version", "2026-07-28"));
    assert_eq!(refused(bare, 400).0, -32602);
}

#[test]
fn the_python_sdk_uses_the_tools() {
    let Some(clients) = clients("the MCP SDK for Python") else { return };
    let server = server(&ON);
    for (mode, version) in [("legacy", "2025-11-25"), ("auto", "2026-07-28")] {
        let mut command = python(&clients);
        command.arg(repository("tests/clients/tools.py"));
        let ran = run(command.args([&server.url(PATH), &cart(), mode])).expect(0);
        let printed: Value = serde_json::from_str(&ran.stdout).unwrap();
        assert_eq!(printed["version"], version);
        assert_eq!(printed["tools"].as_array().unwrap().len(), 10);
        assert!(printed["resources"].as_array().unwrap().contains(&json!("docs://sql")));
        assert!(printed["read"].as_str().unwrap().starts_with("# SQL"));
        let words = [
            ("traceql-search", false, "GET /cart"),
            ("traceql-search", true, "docs-traceql"),
            ("traceql-metrics-instant", false, "worker"),
            ("traceql-metrics-range", false, "samples"),
            ("get-trace", false, "SELECT"),
            ("get-attribute-names", false, "http.status_code"),
            ("get-attribute-values", false, "shop"),
            ("sql", false, "[7]"),
            ("docs-traceql", false, "# TraceQL"),
        ];
        let calls = printed["calls"].as_array().unwrap();
        assert_eq!(calls.len(), words.len());
        for (call, (tool, is_error, word)) in calls.iter().zip(words) {
            assert_eq!((&call["tool"], &call["is_error"]), (&json!(tool), &json!(is_error)));
            assert!(call["text"].as_str().unwrap().contains(word), "{mode}: {call}");
        }
    }
    let mut other = python(&clients);
    other.arg(repository("tests/clients/tools.py"));
    let ran = run(other.args([&server.url(PATH), &cart(), "auto", "someone"])).expect(0);
    let printed: Value = serde_json::from_str(&ran.stdout).unwrap();
    let called = |nth: usize| printed["calls"][nth]["text"].as_str().unwrap();
    assert!(called(0).contains("\"traces\":[]"), "{}", called(0));
    assert!(called(7).contains("[0]"), "{}", called(7));
}
