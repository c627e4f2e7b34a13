//! The OpenFeature SDKs for Python and JavaScript understand what is answered. They are there after
//! `scripts/clients install`; the server here is as small as one can be.
#![allow(clippy::unwrap_used, clippy::panic, unreachable_pub, reason = "a test")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use kymo_admit::audience::{AudienceSettings, Author, FlagBook, FlagPatch, ofrep};
use serde_json::{Value, json};

fn book() -> FlagBook {
    let mut book = FlagBook::default();
    let said: FlagPatch = serde_json::from_value(json!({
        "mode": "selected", "users": ["ada", "42"], "regex": "team-.*", "percentage": 10
    }))
    .unwrap();
    let author = Author { by: "root", at_millis: 7 };
    book.create("flag_ot_traces", said, &AudienceSettings::default(), &author).unwrap();
    book
}

/// Answers OFREP on a free port, for as long as the test runs.
fn serve(book: FlagBook) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let book = Arc::new(book);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let book = Arc::clone(&book);
            std::thread::spawn(move || answer(&book, &stream.unwrap()));
        }
    });
    address
}

/// One request and its answer.
fn answer(book: &FlagBook, mut stream: &TcpStream) {
    let mut reader = BufReader::new(stream);
    let mut request_line = String::new();
    reader.read_line(&mut request_line).unwrap();
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        let Some((name, value)) = line.split_once(':') else { break };
        if name.eq_ignore_ascii_case("content-length") {
            length = value.trim().parse().unwrap();
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    let path = request_line.split(' ').nth(1).unwrap();
    let key = path.strip_prefix("/ofrep/v1/evaluate/flags/").unwrap();
    let answer = ofrep::evaluate(book, key, &body);
    let head = format!(
        "HTTP/1.1 {} X\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        answer.status,
        answer.body.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(&answer.body).unwrap();
}

fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// Where the SDKs are, if they are installed.
fn clients() -> Option<PathBuf> {
    let named = std::env::var_os("KYMO_TEST_CLIENTS").filter(|dir| !dir.is_empty());
    let installed = || {
        let ran = Command::new(repository("scripts/clients")).arg("path").output().ok()?;
        let text = String::from_utf8(ran.stdout).ok()?;
        ran.status.success().then(|| text.trim_end().into())
    };
    let found = named.map(PathBuf::from).or_else(installed);
    if found.is_none() {
        // Said also when the test passes, which `eprintln!` would not be.
        let _ = writeln!(
            std::io::stderr(),
            "left out: the OpenFeature SDKs (run scripts/clients install)"
        );
    }
    found
}

/// What a client program makes of the answers.
fn ask(command: &mut Command, key: &str, contexts: &[Value]) -> Vec<Value> {
    let url = format!("http://{}", serve(book()));
    command.args([url.as_str(), key]).args(contexts.iter().map(Value::to_string));
    let ran = command.output().unwrap();
    let told = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{told}");
    serde_json::from_slice(&ran.stdout).unwrap()
}

fn check(start: impl Fn() -> Command) {
    let contexts = [
        json!({"targetingKey": "ada"}),
        json!({"targetingKey": "bob", "enduser.id": "team-red"}),
        json!({"user.id": 42}),
        json!({"targetingKey": "bob"}),
        json!({}),
    ];
    let answers = ask(&mut start(), "flag_ot_traces", &contexts);
    let summary = |answer: &Value| {
        assert_eq!(answer["error"], Value::Null, "{answer}");
        assert_eq!(answer["metadata"], json!({"mode": "selected", "updatedAtMillis": 7}));
        let text = |name: &str| answer[name].as_str().unwrap().to_owned();
        (answer["value"].as_bool().unwrap(), text("reason"), text("variant"))
    };
    let found: Vec<_> = answers.iter().map(summary).collect();
    let expected = [
        (true, "TARGETING_MATCH", "on"),
        (true, "TARGETING_MATCH", "on"),
        (true, "TARGETING_MATCH", "on"),
        (false, "SPLIT", "off"),
        (false, "DEFAULT", "off"),
    ];
    let expected =
        expected.map(|(value, reason, variant)| (value, reason.to_owned(), variant.to_owned()));
    assert_eq!(found, expected);

    let missing = ask(&mut start(), "no_such_flag", &[json!({"targetingKey": "ada"})]);
    let summary = ["value", "reason", "error"].map(|name| missing[0][name].clone());
    assert_eq!(summary, [json!(false), json!("ERROR"), json!("FLAG_NOT_FOUND")]);
}

#[test]
fn the_openfeature_sdk_for_python_understands_the_answers() {
    let Some(clients) = clients() else { return };
    check(|| {
        let mut command = Command::new(clients.join("python/bin/python"));
        command.arg(repository("tests/clients/ofrep.py"));
        command.env_remove("http_proxy").env("no_proxy", "127.0.0.1");
        command
    });
}

#[test]
fn the_openfeature_sdk_for_javascript_understands_the_answers() {
    let Some(clients) = clients() else { return };
    check(|| {
        let mut command = Command::new("node");
        command.arg(repository("tests/clients/ofrep.mjs")).env("KYMO_TEST_CLIENTS", &clients);
        command
    });
}
