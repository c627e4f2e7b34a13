//! The client against a server that answers by script, for what a real one seldom does.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    thread::{self, JoinHandle},
};

use super::*;

const SECRET: &str = "hunter2-secret";

/// A server that expects one request after the other and answers as told.
struct Script {
    objects: S3Objects,
    server: JoinHandle<Vec<String>>,
}

/// `None` hangs up without an answer.
type Answer = Option<(u16, &'static str)>;

impl Script {
    fn new(answers: &'static [Answer]) -> Script {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let server = thread::spawn(move || {
            answers.iter().map(|answer| serve(listener.accept().unwrap().0, *answer)).collect()
        });
        Script { objects: open(port, Duration::from_secs(2)), server }
    }

    /// Ends the script, all of which must have been played; the request lines.
    fn requests(self) -> Vec<String> {
        self.server.join().unwrap()
    }
}

fn serve(stream: TcpStream, answer: Answer) -> String {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        assert!(reader.read_line(&mut head).unwrap() > 0);
    }
    let len = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    let mut body = vec![0; len.map_or(0, |len| len.parse().unwrap())];
    reader.read_exact(&mut body).unwrap();
    if let Some((status, body)) = answer {
        let len = body.len();
        let modified = "last-modified: Thu, 01 Jan 1970 00:00:10 GMT";
        write!(
            reader.get_mut(),
            "HTTP/1.1 {status} X\r\ncontent-length: {len}\r\netag: \"e\"\r\n{modified}\r\n\
             connection: close\r\n\r\n{body}"
        )
        .unwrap();
    }
    head.lines().next().unwrap().trim_end_matches(" HTTP/1.1").to_owned()
}

fn open(port: u16, retry_for: Duration) -> S3Objects {
    let options = S3Options::from_variables([
        ("AWS_ENDPOINT_URL", &*format!("http://127.0.0.1:{port}")),
        ("AWS_ALLOW_HTTP", "true"),
        ("AWS_ACCESS_KEY_ID", "key"),
        ("AWS_SECRET_ACCESS_KEY", SECRET),
    ]);
    S3Objects::open("s3://bucket/pre/fix", &options.retry_for(retry_for)).unwrap()
}

#[test]
fn put_new_knows_its_own_object_after_a_lost_answer() {
    let script = Script::new(&[Some((500, "")), Some((412, "")), Some((200, "ours"))]);
    assert!(script.objects.put_new("log/1", Bytes::from_static(b"ours")).unwrap());
    assert_eq!(
        script.requests(),
        ["PUT /bucket/pre/fix/log/1", "PUT /bucket/pre/fix/log/1", "GET /bucket/pre/fix/log/1"]
    );
}

#[test]
fn put_new_knows_its_own_object_after_a_broken_connection() {
    let script = Script::new(&[None, Some((412, "")), Some((200, "ours"))]);
    assert!(script.objects.put_new("log/1", Bytes::from_static(b"ours")).unwrap());
    assert_eq!(script.requests().len(), 3);
}

#[test]
fn put_new_loses_to_another_object_of_the_same_length() {
    let script = Script::new(&[Some((412, "")), Some((200, "them"))]);
    assert!(!script.objects.put_new("log/1", Bytes::from_static(b"ours")).unwrap());
    script.requests();
}

#[test]
fn put_new_tries_again_after_a_conflict_with_nothing() {
    let script = Script::new(&[Some((409, "")), Some((404, "")), Some((200, ""))]);
    assert!(script.objects.put_new("log/1", Bytes::from_static(b"ours")).unwrap());
    script.requests();
}

#[test]
fn a_get_is_repeated_after_a_server_error() {
    let script = Script::new(&[Some((503, "")), None, Some((200, "body"))]);
    assert_eq!(script.objects.get("a").unwrap(), &b"body"[..]);
    script.requests();
}

fn failure(status: u16, body: &'static str) -> ObjectsError {
    let answers: &'static [Answer] = Vec::leak(vec![Some((status, body))]);
    let script = Script::new(answers);
    let error = script.objects.get("a/b").unwrap_err();
    script.requests();
    error
}

#[test]
fn failures_are_told_apart_by_status_and_code() {
    assert!(failure(404, "<Error><Code>NoSuchKey</Code></Error>").is_not_found());
    assert_eq!(
        failure(404, "<Error><Code>NoSuchBucket</Code></Error>").to_string(),
        "the bucket `bucket` does not exist: create it, or correct the store's URL"
    );
    let denied =
        failure(403, "<Error><Code>SignatureDoesNotMatch</Code><Key>hunter2</Key></Error>");
    assert!(matches!(denied, ObjectsError::Denied { .. }));
    assert!(
        denied.to_string().starts_with(
            "access to `s3://bucket/pre/fix/a/b` denied (HTTP status 403 SignatureDoesNotMatch)"
        ),
        "{denied}"
    );
    assert!(!format!("{denied:?}").contains("hunter2"));
    let expired = failure(400, "<Error><Code>ExpiredToken</Code></Error>");
    assert!(matches!(expired, ObjectsError::Denied { .. }));
    let region = failure(400, "<Error><Code>AuthorizationHeaderMalformed</Code></Error>");
    assert!(region.to_string().contains("set AWS_REGION"), "{region}");
    let other = failure(400, "no document");
    assert!(matches!(other, ObjectsError::Refused { .. }), "{other}");
}

#[test]
fn an_unreachable_server_is_unavailable_within_the_time_given() {
    // A reserved port: nobody listens there, and no other test is given it.
    let port = 1;
    let objects = open(port, Duration::from_millis(500));
    let start = Instant::now();
    for error in [
        objects.get("a").unwrap_err(),
        objects.put("a", Bytes::new()).unwrap_err(),
        objects.put_new("a", Bytes::new()).unwrap_err(),
        objects.list("").unwrap_err(),
        objects.delete("a").unwrap_err(),
    ] {
        assert!(error.is_retryable(), "{error:?}");
        assert!(error.to_string().contains("onnection refused"), "{error}");
    }
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
}

#[test]
fn urls_are_checked() {
    assert_eq!(split_url("s3://bucket"), Ok(("bucket", "")));
    assert_eq!(split_url("s3://bucket/"), Ok(("bucket", "")));
    assert_eq!(split_url("s3://my.bucket-1/a/b/"), Ok(("my.bucket-1", "a/b")));
    for url in ["s3://", "s3:///a", "s3://b?x=y", "s3://k:s@b/a", "s3://b/a//b", "s3://b/../a"] {
        assert!(split_url(url).is_err(), "{url}");
    }
}

#[test]
fn neither_messages_nor_debug_text_hold_secrets() {
    let none = S3Options::from_variables([("AWS_ENDPOINT_URL", "http://127.0.0.1:1")]);
    let error = S3Objects::open("s3://key:hunter2@bucket/a", &none).unwrap_err();
    assert!(!format!("{error} {error:?}").contains("hunter2"), "{error}");
    let error = S3Objects::open("s3://bucket/a", &none).unwrap_err();
    assert!(error.to_string().contains("AWS_ALLOW_HTTP=true"), "{error}");

    let objects = open(1, Duration::ZERO);
    assert_eq!(objects.describe(), "s3://bucket/pre/fix at http://127.0.0.1:1");
    let error = objects.get("a").unwrap_err();
    for text in [format!("{objects:?}"), format!("{error} {error:?}")] {
        assert!(!text.contains(SECRET), "{text}");
    }
}

#[test]
fn half_of_the_credentials_are_refused_at_open() {
    let half = S3Options::from_variables([("AWS_ACCESS_KEY_ID", "key")]);
    let error = S3Objects::open("s3://bucket/a", &half).unwrap_err();
    assert!(error.to_string().to_lowercase().contains("secret"), "{error}");
}
