//! `kymo sql` and `kymo trace` against servers that are absent, refuse, or break off.

#![allow(clippy::unwrap_used, clippy::panic, unreachable_pub, reason = "a test")]

mod common;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use arrow_ipc::writer::StreamWriter;
use common::{Place, Ran};

/// Answers one request with these bytes and hangs up; gives the request back.
fn server(answer: Vec<u8>) -> (String, JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let served = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let request = read_request(&mut stream);
        stream.write_all(&answer).unwrap();
        request
    });
    (url, served)
}

fn read_request(stream: &mut TcpStream) -> String {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        assert!(reader.read_line(&mut head).unwrap() > 0, "a whole request");
    }
    let lower = head.to_lowercase();
    let length = lower.lines().find_map(|line| line.strip_prefix("content-length: "));
    let mut body = vec![0; length.map_or(0, |length| length.trim().parse().unwrap())];
    reader.read_exact(&mut body).unwrap();
    format!("{lower}{}", String::from_utf8(body).unwrap())
}

fn response(status: &str, content_type: &str, body: &[u8]) -> Vec<u8> {
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: {content_type}\r\ncontent-length: {length}\r\n\r\n"
    );
    [head.as_bytes(), body].concat()
}

/// Three batches of two rows as Arrow IPC, and where each message ends.
fn stream() -> (Vec<u8>, Vec<usize>) {
    let numbers = Arc::new(Int64Array::from(vec![1, 2])) as ArrayRef;
    let batch = RecordBatch::try_from_iter([("n", numbers)]).unwrap();
    let mut writer = StreamWriter::try_new(Vec::new(), &batch.schema()).unwrap();
    let mut ends = vec![writer.get_ref().len()];
    for _ in 0..3 {
        writer.write(&batch).unwrap();
        ends.push(writer.get_ref().len());
    }
    writer.finish().unwrap();
    (writer.into_inner().unwrap(), ends)
}

fn sql(place: &Place, url: &str, more: &[&str]) -> Ran {
    place.kymo(&[&["sql", "SELECT n FROM t", "--url", url], more].concat())
}

#[test]
fn rows_of_a_server_are_written_in_every_format() {
    let place = Place::new();
    let answer = response("200 OK", "application/vnd.apache.arrow.stream", &stream().0);
    let formats = [
        ("table", "n\n1\n2\n1\n2\n1\n2\n(6 rows)\n"),
        ("json", "[\n{\"n\":1},\n{\"n\":2},\n{\"n\":1},\n{\"n\":2},\n{\"n\":1},\n{\"n\":2}\n]\n"),
        ("jsonl", "{\"n\":1}\n{\"n\":2}\n{\"n\":1}\n{\"n\":2}\n{\"n\":1}\n{\"n\":2}\n"),
        ("csv", "n\r\n1\r\n2\r\n1\r\n2\r\n1\r\n2\r\n"),
    ];
    for (format, expected) in formats {
        let (url, served) = server(answer.clone());
        let ran = sql(&place, &url, &["--format", format, "--tenant", "team-a"]).expect(0);
        assert_eq!(ran.stdout, expected);
        let request = served.join().unwrap();
        assert!(request.starts_with("post /api/sql http/1.1"), "{request}");
        assert!(request.contains("accept: application/vnd.apache.arrow.stream"), "{request}");
        assert!(request.contains("x-scope-orgid: team-a"), "{request}");
        assert!(request.ends_with("SELECT n FROM t"), "{request}");
    }
}

#[test]
fn arrow_is_passed_on_as_a_stream() {
    let place = Place::new();
    let (url, _served) = server(response("200 OK", "x/y", &stream().0));
    let mut command = place.command();
    let output = command.args(["sql", "SELECT 1", "--format", "arrow", "--url", &url]).output();
    let output = output.unwrap().stdout;
    let reader = arrow_ipc::reader::StreamReader::try_new(&output[..], None).unwrap();
    assert_eq!(reader.map(|batch| batch.unwrap().num_rows()).sum::<usize>(), 6);
}

#[test]
fn an_answer_that_breaks_off_is_an_error_not_a_short_result() {
    let place = Place::new();
    let (bytes, ends) = stream();
    // Between two messages, where a reader of Arrow sees nothing wrong, and inside of one; in
    // chunks without an end, and as a body that ends with the connection.
    for end in [ends[1], ends[3], ends[2] + 20] {
        let part = &bytes[..end];
        let chunked = [
            b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n".as_slice(),
            format!("{:x}\r\n", part.len()).as_bytes(),
            part,
            b"\r\n",
        ]
        .concat();
        let closed = [b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n".as_slice(), part].concat();
        for answer in [chunked, closed] {
            let (url, _served) = server(answer);
            let ran = sql(&place, &url, &["--format", "csv"]).expect(1);
            let error = "error: the server ended the answer in the middle";
            assert!(ran.stderr.starts_with(error), "{}", ran.stderr);
            assert!(ran.stderr.ends_with(": its log says why\n"), "{}", ran.stderr);
        }
    }
}

#[test]
fn what_a_server_refuses_is_said_in_its_words() {
    let place = Place::new();
    let error = br#"{"error":"no table t; there are spans, logs"}"#;
    let (url, _served) = server(response("400 Bad Request", "application/json", error));
    let ran = sql(&place, &url, &[]).expect(1);
    assert_eq!(ran.stderr, "error: no table t; there are spans, logs\n");
    let (url, _served) = server(response("502 Bad Gateway", "text/html", b"<html></html>"));
    let ran = sql(&place, &url, &[]).expect(1);
    assert_eq!(ran.stderr, format!("error: {url} answered 502 Bad Gateway\n"));
}

#[test]
fn no_server_says_what_to_do() {
    let place = Place::new();
    // A port that was free a moment ago.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    for args in [&["sql", "SELECT 1"][..], &["trace", "1"]] {
        let mut command = place.command();
        // A proxy is never asked for this machine.
        command.args(args).env("KYMO_URL", &url).env("HTTP_PROXY", "http://127.0.0.1:9");
        let output = command.output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{stderr}");
        let expected = format!(
            "error: cannot reach {url}: connection refused; is kymo serve running? start it, name \
             another server with --url, or read a directory with --data DIR\n"
        );
        assert_eq!(stderr, expected);
    }
}

#[test]
fn the_query_may_be_in_a_file_or_on_stdin() {
    let place = Place::new();
    place.write("q.sql", "SELECT 7\n");
    let answer = response("200 OK", "x/y", &stream().0);
    let (url, served) = server(answer.clone());
    place.kymo(&["sql", "--file", "q.sql", "--url", &url]).expect(0);
    assert!(served.join().unwrap().ends_with("SELECT 7\n"));
    for args in [&["sql"][..], &["sql", "-"]] {
        let (url, served) = server(answer.clone());
        place.kymo_with(&[args, &["--url", &url]].concat(), b"SELECT 8").expect(0);
        assert!(served.join().unwrap().ends_with("SELECT 8"));
    }
}

/// Tempo's `TraceByIDResponse`, partial if it has a message.
fn answer(trace: &[u8], message: &str) -> Vec<u8> {
    let mut writer = kymo_wire::encode::Writer::new();
    writer.bytes_field(1, trace);
    writer.bytes_field(2, &[]);
    if !message.is_empty() {
        writer.varint_field(3, 1);
        writer.bytes_field(4, message.as_bytes());
    }
    writer.into_bytes()
}

#[test]
fn what_a_server_left_out_of_a_trace_is_told() {
    use prost::Message;
    let place = Place::new();
    let trace = common::traces(0, 4).encode_to_vec();
    let ask = |trace: &[u8]| {
        let body = answer(trace, "2 damaged blocks are left out\u{1b}[2J");
        let (url, _served) = server(response("200 OK", "application/protobuf", &body));
        place.kymo(&["trace", "1", "--url", &url])
    };
    let ran = ask(&trace).expect(0);
    assert!(ran.stdout.contains("└─ step 3"), "{}", ran.stdout);
    assert_eq!(ran.stderr, "warning: 2 damaged blocks are left out\\u{1b}[2J\n");
    let ran = ask(b"").expect(1);
    assert!(ran.stderr.contains("in what is readable: 2 damaged blocks"), "{}", ran.stderr);
    assert_eq!(ran.stdout, "");
}

#[test]
fn a_path_that_a_server_does_not_have_is_no_missing_trace() {
    let place = Place::new();
    let error = br#"{"error":"there is no /tempo here; is the base path missing?"}"#;
    let (url, _served) = server(response("404 Not Found", "application/json", error));
    let ran = place.kymo(&["trace", "ab", "--url", &url]).expect(1);
    assert_eq!(ran.stderr, "error: there is no /tempo here; is the base path missing?\n");
    let (url, _served) = server(response("404 Not Found", "text/plain", b""));
    let ran = place.kymo(&["trace", "ab", "--url", &url]).expect(1);
    assert!(ran.stderr.contains("is it a kymo server?"), "{}", ran.stderr);
}

#[test]
fn a_trace_is_asked_for_by_its_whole_id() {
    use prost::Message;
    let place = Place::new();
    let body = answer(&common::traces(0, 4).encode_to_vec(), "");
    let (url, served) = server(response("200 OK", "application/protobuf", &body));
    let ran = place.kymo(&["trace", "1", "--url", &url]).expect(0);
    assert!(ran.stdout.contains("└─ step 3"), "{}", ran.stdout);
    let request = served.join().unwrap();
    let path = "get /tempo/api/v2/traces/00000000000000000000000000000001 http/1.1";
    assert!(request.starts_with(path) && request.contains("accept: application/protobuf"));
    let (url, _served) = server(response("200 OK", "application/protobuf", &body));
    let json = place.kymo(&["trace", "1", "--format", "json", "--url", &url]).expect(0).stdout;
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let spans = &json["resourceSpans"][0]["scopeSpans"][0]["spans"];
    assert_eq!(spans.as_array().unwrap().len(), 4);
    let (url, _served) = server(response("200 OK", "application/protobuf", &answer(b"", "")));
    let ran = place.kymo(&["trace", "ab", "--url", &url]).expect(1);
    let id = "000000000000000000000000000000ab";
    assert_eq!(
        ran.stderr,
        format!(
            "error: there is no trace {id} of tenant default in {url}: check the id, or name \
             another tenant with --tenant\n"
        )
    );
}
