//! The client of GitHub's API against servers that play it: one thread each on a free port, which
//! answers as a test says and keeps what it was asked.
#![allow(clippy::unwrap_used, clippy::panic, unreachable_pub, reason = "a test")]

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use flate2::Compression;
use flate2::write::DeflateEncoder;
use kymo_ci::github::{Artifact, GitHub, GitHubError, GitHubOptions};
use kymo_ci::warnings::Warnings;
use rawzip::path::EntryPath;
use rawzip::{CompressionMethod, ZipArchiveWriter};
use serde_json::Value;

const TOKEN: &str = "ghp_secret";
const REPOSITORY: &str = "octocat/hello";

#[derive(Debug, Clone)]
struct Asked {
    method: String,
    target: String,
    headers: HashMap<String, String>,
}

#[derive(Debug, Default)]
struct Reply {
    status: u16,
    headers: Vec<(&'static str, String)>,
    body: Vec<u8>,
    /// What is sent of the body. The connection then ends, or stays silent.
    sent_bytes: Option<usize>,
    is_silent: bool,
}

impl Reply {
    fn new(status: u16, body: impl Into<Vec<u8>>) -> Self {
        Self { status, body: body.into(), ..Self::default() }
    }

    fn with(mut self, name: &'static str, value: impl ToString) -> Self {
        self.headers.push((name, value.to_string()));
        self
    }

    fn silent_after(mut self, sent_bytes: usize) -> Self {
        (self.sent_bytes, self.is_silent) = (Some(sent_bytes), true);
        self
    }

    fn broken_after(mut self, sent_bytes: usize) -> Self {
        self.sent_bytes = Some(sent_bytes);
        self
    }

    fn send(&self, stream: &mut TcpStream) {
        let mut head = format!("HTTP/1.1 {} x\r\nconnection: close\r\n", self.status);
        for (name, value) in &self.headers {
            head += &format!("{name}: {value}\r\n");
        }
        head += &format!("content-length: {}\r\n\r\n", self.body.len());
        let body = &self.body[..self.sent_bytes.unwrap_or(self.body.len())];
        // A client that reached its deadline is no longer there, which is no fault of the server.
        let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body));
    }
}

/// A server whose thread ends with the test's process.
struct Server {
    url: String,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl Server {
    /// `answer` is given a request and the number of those before it.
    fn start(answer: impl Fn(&Asked, usize) -> Option<Reply> + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let asked = Arc::new(Mutex::new(Vec::new()));
        let kept = asked.clone();
        std::thread::spawn(move || {
            let mut silent = Vec::new();
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let request = read_request(&stream);
                let reply = answer(&request, kept.lock().unwrap().len());
                kept.lock().unwrap().push(request);
                match reply {
                    Some(reply) => {
                        reply.send(&mut stream);
                        if reply.is_silent {
                            silent.push(stream);
                        }
                    }
                    None => silent.push(stream),
                }
            }
        });
        Self { url, asked }
    }

    fn always(status: u16, body: &'static str) -> Self {
        Self::start(move |_, _| Some(Reply::new(status, body)))
    }

    fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }

    fn targets(&self) -> Vec<String> {
        self.asked().into_iter().map(|asked| asked.target).collect()
    }

    fn client(&self) -> GitHub {
        self.client_for(Duration::from_secs(30))
    }

    fn client_for(&self, time: Duration) -> GitHub {
        client(&self.url, Some(TOKEN), time)
    }
}

fn client(api_url: &str, token: Option<&str>, time: Duration) -> GitHub {
    let options = GitHubOptions {
        api_url: api_url.to_owned(),
        token: token.map(str::to_owned),
        deadline: Instant::now() + time,
        user_agent: "kymo-test".into(),
    };
    GitHub::new(options).unwrap()
}

fn read_request(stream: &TcpStream) -> Asked {
    let mut lines = BufReader::new(stream).lines().map(|line| line.unwrap());
    let first = lines.next().unwrap();
    let mut words = first.split(' ').map(str::to_owned);
    let (method, target) = (words.next().unwrap(), words.next().unwrap());
    let headers = lines.take_while(|line| !line.is_empty()).map(|line| {
        let (name, value) = line.split_once(':').unwrap();
        (name.to_ascii_lowercase(), value.trim().to_owned())
    });
    Asked { method, target, headers: headers.collect() }
}

/// A page of jobs, each with a number that no double can hold and its keys out of order.
fn jobs_page(ids: std::ops::Range<u64>, total: u64) -> String {
    let jobs: Vec<String> =
        ids.map(|id| format!(r#"{{"z":1, "id":{id}, "big":12345678901234567890123}}"#)).collect();
    format!(r#"{{"total_count":{total},"jobs":[{}]}}"#, jobs.join(","))
}

fn job_ids(json: &[u8]) -> Vec<u64> {
    let jobs: Vec<Value> = serde_json::from_slice(json).unwrap();
    jobs.iter().map(|job| job["id"].as_u64().unwrap()).collect()
}

fn artifact(name: &str) -> Artifact {
    Artifact { id: 5, name: name.into(), size_bytes: 1, expired: false, created_at: None }
}

fn zip_of(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut writer = ZipArchiveWriter::new(Vec::new());
    for (name, bytes) in files {
        let file = writer.new_file(EntryPath::verbatim(name.as_bytes()));
        let file = file.compression_method(CompressionMethod::DEFLATE);
        let (mut entry, config) = file.start().unwrap();
        let mut data = config.wrap(DeflateEncoder::new(&mut entry, Compression::default()));
        data.write_all(bytes).unwrap();
        let (encoder, descriptor) = data.finish().unwrap();
        encoder.finish().unwrap();
        entry.finish(descriptor).unwrap();
    }
    writer.finish().unwrap()
}

fn download(github: &GitHub, name: &str, into: &Path) -> (Result<(), GitHubError>, Vec<String>) {
    let mut warnings = Warnings::new();
    let result = github.download(REPOSITORY, &artifact(name), into, &mut warnings);
    (result, warnings.all().to_vec())
}

fn names_in(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn a_run_is_asked_for_as_github_wants_it_and_given_as_it_sent_it() {
    let server = Server::always(200, r#"{"z":1.0, "id":7}"#);
    let api = format!("{}/api/v3/", server.url);
    let github = client(&api, Some("ghp_secret\n"), Duration::from_secs(30));
    assert_eq!(github.run(REPOSITORY, 7, None).unwrap(), br#"{"z":1.0, "id":7}"#);
    github.run(REPOSITORY, 7, Some(2)).unwrap();
    assert_eq!(
        server.targets(),
        [
            "/api/v3/repos/octocat/hello/actions/runs/7",
            "/api/v3/repos/octocat/hello/actions/runs/7/attempts/2"
        ]
    );
    let headers = &server.asked()[0].headers;
    assert_eq!(headers["authorization"], "Bearer ghp_secret");
    assert_eq!(headers["accept"], "application/vnd.github+json");
    assert_eq!(headers["x-github-api-version"], "2022-11-28");
    assert_eq!(headers["user-agent"], "kymo-test");
}

#[test]
fn without_a_token_none_is_sent() {
    let server = Server::always(200, "{}");
    let github = client(&server.url, Some(""), Duration::from_secs(30));
    github.run(REPOSITORY, 7, None).unwrap();
    assert!(!server.asked()[0].headers.contains_key("authorization"));
}

#[test]
fn jobs_of_three_pages_are_joined_by_their_links() {
    let server = Server::start(|asked, number| {
        let host = &asked.headers["host"];
        let link = |page: usize| format!(r#"<http://{host}/elsewhere?page={page}>; rel="next""#);
        let last = format!(r#"<http://{host}/elsewhere?page=1>; rel="first""#);
        Some(match number {
            0 => Reply::new(200, jobs_page(0..100, 230)).with("link", link(2)),
            // The list grew meanwhile: what ended one page begins the next.
            1 => Reply::new(200, jobs_page(99..199, 231)).with("Link", link(3)),
            _ => Reply::new(200, jobs_page(199..230, 231)).with("link", last),
        })
    });
    let json = server.client().jobs(REPOSITORY, 7, None).unwrap();
    assert_eq!(job_ids(&json), (0..230).collect::<Vec<_>>());
    let text = String::from_utf8(json).unwrap();
    assert!(text.starts_with(r#"[{"z":1, "id":0, "big":12345678901234567890123},{"z""#), "{text}");
    assert_eq!(
        server.targets(),
        [
            "/repos/octocat/hello/actions/runs/7/jobs?filter=latest&per_page=100",
            "/elsewhere?page=2",
            "/elsewhere?page=3"
        ]
    );
}

#[test]
fn jobs_are_counted_where_pages_have_no_links() {
    let server = Server::start(|_, number| {
        let first = number as u64 * 100;
        Some(Reply::new(200, jobs_page(first..(first + 100).min(201), 201)))
    });
    let json = server.client().jobs(REPOSITORY, 7, Some(3)).unwrap();
    assert_eq!(job_ids(&json), (0..201).collect::<Vec<_>>());
    let path = "/repos/octocat/hello/actions/runs/7/attempts/3/jobs?per_page=100";
    assert_eq!(
        server.targets(),
        [path.to_owned(), format!("{path}&page=2"), format!("{path}&page=3")]
    );
}

#[test]
fn lists_that_say_more_than_they_hold_still_end() {
    let empty = Server::start(|_, _| Some(Reply::new(200, jobs_page(0..0, 5))));
    assert_eq!(empty.client().jobs(REPOSITORY, 7, None).unwrap(), b"[]");
    let circle = Server::start(|_, _| {
        Some(Reply::new(200, jobs_page(0..1, 1)).with("link", r#"</again>; rel="next""#))
    });
    let error = circle.client().jobs(REPOSITORY, 7, None).unwrap_err();
    assert!(matches!(error, GitHubError::TooManyPages { .. }), "{error}");
}

#[test]
fn the_token_does_not_follow_a_link_to_another_host() {
    let other = Server::always(200, "{}");
    let link = format!(r#"<{}/jobs?page=2>; rel="next""#, other.url);
    let server = Server::start(move |_, _| {
        Some(Reply::new(200, jobs_page(0..1, 2)).with("link", link.clone()))
    });
    let error = server.client().jobs(REPOSITORY, 7, None).unwrap_err();
    assert!(matches!(error, GitHubError::ForeignLink { .. }), "{error}");
    assert!(other.asked().is_empty());
}

#[test]
fn what_fails_once_is_asked_again() {
    let server = Server::start(|_, number| {
        Some(match number {
            0 => Reply::new(502, "<html>bad gateway</html>"),
            1 => Reply::new(200, r#"{"id":7}"#).broken_after(4),
            2 => Reply::new(429, "").with("retry-after", 0),
            _ => Reply::new(200, r#"{"id":7}"#),
        })
    });
    assert_eq!(server.client().run(REPOSITORY, 7, None).unwrap(), br#"{"id":7}"#);
    assert_eq!(server.asked().len(), 4);
}

#[test]
fn a_wait_that_github_names_is_kept() {
    let server = Server::start(|_, number| {
        Some(match number {
            0 => Reply::new(429, "").with("retry-after", 1),
            _ => Reply::new(200, "{}"),
        })
    });
    let start = Instant::now();
    server.client().run(REPOSITORY, 7, None).unwrap();
    assert!(start.elapsed() >= Duration::from_secs(1));
}

#[test]
fn a_rate_limit_beyond_the_deadline_is_told_at_once() {
    let server = Server::start(|_, _| {
        let message = r#"{"message":"API rate limit exceeded for 127.0.0.1."}"#;
        let reply = Reply::new(403, message).with("x-ratelimit-remaining", 0);
        Some(reply.with("x-ratelimit-reset", 4_102_444_800_u64))
    });
    let start = Instant::now();
    let github = client(&server.url, None, Duration::from_secs(30));
    let error = github.run(REPOSITORY, 7, None).unwrap_err();
    assert!(start.elapsed() < Duration::from_secs(10));
    assert_eq!(server.asked().len(), 1);
    let text = error.to_string();
    assert!(text.contains("2100-01-01 00:00:00 UTC"), "{text}");
    assert!(text.contains("give a token, which raises the limit"), "{text}");
}

#[test]
fn a_secondary_limit_without_time_for_a_minute_is_told_at_once() {
    let server = Server::always(403, r#"{"message":"You have exceeded a secondary rate limit."}"#);
    let start = Instant::now();
    let error = server.client().run(REPOSITORY, 7, None).unwrap_err();
    assert!(matches!(error, GitHubError::RateLimited { .. }), "{error}");
    assert!(start.elapsed() < Duration::from_secs(10));
}

#[test]
fn refusals_say_what_to_do_and_never_the_token() {
    let cases = [
        (401, "", "it may have expired: give a new one"),
        (403, r#"{"message":"ghp_secret\nis not enough"}"#, "give it `actions: read`"),
        (404, "", "run 7 of octocat/hello is not there, or not visible to this token"),
        (410, "", "has expired"),
        (418, r#"{"message":"teapot"}"#, "HTTP status 418 for run 7 of octocat/hello (teapot)"),
        (200, "<html>welcome to this hotel</html>", "is not GitHub's"),
    ];
    for (status, body, expected) in cases {
        let server = Server::always(status, body);
        let error = server.client().run(REPOSITORY, 7, None).unwrap_err();
        let text = error.to_string();
        assert!(text.contains(expected), "{text}");
        assert!(!format!("{text} {error:?}").contains(TOKEN), "{error:?}");
        assert_eq!(server.asked().len(), 1, "{status} was asked again");
    }
    let server = Server::always(401, "");
    let github = client(&server.url, None, Duration::from_secs(30));
    let text = github.run(REPOSITORY, 7, None).unwrap_err().to_string();
    assert!(text.contains("only to holders of a token"), "{text}");
    assert!(!format!("{:?}", server.client()).contains(TOKEN));
}

#[test]
fn names_that_are_not_repositories_are_not_asked_for() {
    let server = Server::always(200, "{}");
    for name in ["hello", "octocat/../hello", "octocat/..", "octocat/a?b"] {
        let error = server.client().run(name, 7, None).unwrap_err();
        assert!(matches!(error, GitHubError::Repository(_)), "{error}");
    }
    assert!(server.asked().is_empty());
}

#[test]
fn artifacts_are_listed_by_the_beginning_of_their_names() {
    let server = Server::always(
        200,
        r#"{"total_count":3,"artifacts":[
            {"id":1,"name":"telemetry-a","size_in_bytes":9,"expired":false,"created_at":"2026-01-02T03:04:05Z"},
            {"id":2,"name":"wheels","size_in_bytes":9,"expired":false,"created_at":null},
            {"id":3,"name":"telemetry-b","size_in_bytes":8,"expired":true,"created_at":null}]}"#,
    );
    let artifacts = server.client().artifacts(REPOSITORY, 7, "telemetry-").unwrap();
    let shown: Vec<_> = artifacts.iter().map(|a| (a.id, a.size_bytes, a.expired)).collect();
    assert_eq!(shown, [(1, 9, false), (3, 8, true)]);
    let created_at = artifacts[0].created_at.unwrap();
    assert_eq!(created_at.to_rfc3339(), "2026-01-02T03:04:05+00:00");
    let path = "/repos/octocat/hello/actions/runs/7/artifacts?per_page=100";
    assert_eq!(server.targets(), [path]);
}

/// An API that sends whoever wants an artifact to a store.
fn api_before(store_url: &str) -> Server {
    let location = format!("{store_url}/blob?signature=hush");
    Server::start(move |_, _| Some(Reply::new(302, "").with("location", location.clone())))
}

#[test]
fn a_download_follows_to_the_store_without_the_token() {
    let zip = zip_of(&[("attrs", b"a=b"), ("logs/build.txt", &[b'x'; 100_000])]);
    let store = Server::start(move |_, _| Some(Reply::new(200, zip.clone())));
    let stores = [store.url.clone(), store.url.replace("127.0.0.1", "localhost")];
    for (number, url) in stores.iter().enumerate() {
        let api = api_before(url);
        let directory = tempfile::tempdir().unwrap();
        let (result, warnings) = download(&api.client(), "telemetry-1", directory.path());
        result.unwrap();
        assert!(warnings.is_empty(), "{warnings:?}");
        assert_eq!(names_in(directory.path()), ["telemetry-1"]);
        let unpacked = directory.path().join("telemetry-1");
        assert_eq!(std::fs::read(unpacked.join("attrs")).unwrap(), b"a=b");
        assert_eq!(std::fs::read(unpacked.join("logs/build.txt")).unwrap().len(), 100_000);
        assert_eq!(api.targets(), ["/repos/octocat/hello/actions/artifacts/5/zip"]);
        assert_eq!(api.asked()[0].headers["authorization"], "Bearer ghp_secret");
        let asked = &store.asked()[number];
        assert_eq!(asked.target, "/blob?signature=hush");
        assert!(!asked.headers.contains_key("authorization"), "{asked:?}");
        assert!(!asked.headers.contains_key("referer"), "{asked:?}");
    }
}

#[test]
fn a_download_that_breaks_is_begun_anew() {
    let zip = zip_of(&[("attrs", b"a=b")]);
    let store = Server::start(move |_, number| {
        Some(match number {
            0 => Reply::new(403, "<Error>signature expired</Error>"),
            1 => Reply::new(200, vec![7; 10_000]).broken_after(5_000),
            _ => Reply::new(200, zip.clone()),
        })
    });
    let api = api_before(&store.url);
    let directory = tempfile::tempdir().unwrap();
    download(&api.client(), "telemetry", directory.path()).0.unwrap();
    assert_eq!(api.asked().len(), 3);
    assert_eq!(names_in(directory.path()), ["telemetry"]);
}

#[test]
fn entries_that_are_not_safe_are_skipped_and_named() {
    let mut zip = zip_of(&[("large", b"1"), ("../evil", b"2"), ("good", b"3")]);
    let header = zip.windows(4).position(|bytes| bytes == b"PK\x01\x02").unwrap();
    zip[header + 24..header + 28].copy_from_slice(&0x7fff_ffff_u32.to_le_bytes());
    let api = Server::start(move |_, _| Some(Reply::new(200, zip.clone())));
    let directory = tempfile::tempdir().unwrap();
    let into = directory.path().join("new");
    let (result, warnings) = download(&api.client(), "telemetry", &into);
    result.unwrap();
    assert_eq!(names_in(directory.path()), ["new"]);
    assert_eq!(names_in(&into.join("telemetry")), ["good"]);
    assert_eq!(
        warnings,
        [
            r#"artifact "telemetry": skipped "large", which is too large"#,
            r#"artifact "telemetry": skipped "../evil", which leads out of its directory"#
        ]
    );
}

#[test]
fn a_download_that_fails_leaves_nothing_behind() {
    let directory = tempfile::tempdir().unwrap();
    let into = directory.path();
    let api = Server::always(200, "this is no zip file");
    let error = download(&api.client(), "telemetry", into).0.unwrap_err();
    assert!(error.to_string().contains(r#"artifact "telemetry" cannot be unpacked"#), "{error}");
    let gone = Server::always(410, "");
    let error = download(&gone.client(), "telemetry", into).0.unwrap_err();
    assert!(matches!(error, GitHubError::Gone { .. }), "{error}");
    let circle = Server::start(|_, _| Some(Reply::new(302, "").with("location", "/again")));
    let error = download(&circle.client(), "telemetry", into).0.unwrap_err();
    assert!(error.to_string().contains("too many redirects"), "{error}");
    assert!(circle.asked().len() < 10);
    assert!(names_in(into).is_empty());
}

#[test]
fn answers_that_are_too_large_are_not_read() {
    let json = Server::start(|_, _| Some(Reply::new(200, vec![0; (64 << 20) + 1]).broken_after(0)));
    let error = json.client().run(REPOSITORY, 7, None).unwrap_err();
    assert!(error.to_string().contains("larger than 67108864 bytes"), "{error}");
    let zip = Server::start(|_, _| Some(Reply::new(200, vec![0; (512 << 20) + 1]).broken_after(0)));
    let directory = tempfile::tempdir().unwrap();
    let error = download(&zip.client(), "telemetry", directory.path()).0.unwrap_err();
    assert!(error.to_string().contains("larger than 536870912 bytes"), "{error}");
}

#[test]
fn a_download_is_refused_before_it_is_asked_for() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::create_dir(directory.path().join("there")).unwrap();
    let server = Server::always(200, "");
    let github = server.client();
    for name in ["../evil", "a/b", "..", ""] {
        let error = download(&github, name, directory.path()).0.unwrap_err();
        assert!(matches!(error, GitHubError::ArtifactName(_)), "{error}");
    }
    let error = download(&github, "there", directory.path()).0.unwrap_err();
    assert!(matches!(error, GitHubError::Exists(_)), "{error}");
    let expired = Artifact { expired: true, ..artifact("old") };
    let mut warnings = Warnings::new();
    let result = github.download(REPOSITORY, &expired, directory.path(), &mut warnings);
    assert!(matches!(result, Err(GitHubError::Gone { .. })), "{result:?}");
    assert!(server.asked().is_empty());
}

#[test]
fn an_artifact_is_deleted_once() {
    let server = Server::start(|_, _| Some(Reply::new(204, "")));
    server.client().delete(REPOSITORY, &artifact("telemetry")).unwrap();
    let asked = &server.asked()[0];
    assert_eq!(asked.method, "DELETE");
    assert_eq!(asked.target, "/repos/octocat/hello/actions/artifacts/5");
    // The first try did its work, and its answer was lost.
    let lossy = Server::start(|_, number| Some(Reply::new([502, 404][number], "")));
    lossy.client().delete(REPOSITORY, &artifact("telemetry")).unwrap();
    let missing = Server::always(404, "");
    let error = missing.client().delete(REPOSITORY, &artifact("telemetry")).unwrap_err();
    assert!(error.to_string().contains("`actions: write`"), "{error}");
}

#[test]
fn silence_ends_with_the_deadline() {
    let never = Server::start(|_, _| None);
    let halfway = Server::start(|_, _| Some(Reply::new(200, "{\"id\":7}").silent_after(3)));
    for server in [never, halfway] {
        let start = Instant::now();
        let github = server.client_for(Duration::from_secs(1));
        let error = github.run(REPOSITORY, 7, None).unwrap_err();
        assert!(matches!(error, GitHubError::Deadline { .. }), "{error}");
        assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
        let asked = server.asked().len();
        let directory = tempfile::tempdir().unwrap();
        let error = download(&github, "telemetry", directory.path()).0.unwrap_err();
        assert!(matches!(error, GitHubError::Deadline { .. }), "{error}");
        assert_eq!(server.asked().len(), asked, "asked after the deadline");
    }
}

#[test]
fn a_server_that_keeps_failing_is_given_up_before_the_deadline() {
    let server = Server::always(502, "");
    let start = Instant::now();
    let github = server.client_for(Duration::from_secs(1));
    let error = github.run(REPOSITORY, 7, None).unwrap_err();
    assert!(error.to_string().contains("HTTP status 502"), "{error}");
    assert!(start.elapsed() < Duration::from_secs(5));
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", nobody.local_addr().unwrap());
    drop(nobody);
    let github = client(&url, None, Duration::from_secs(1));
    let error = github.run(REPOSITORY, 7, None).unwrap_err();
    assert!(error.to_string().contains("cannot reach GitHub"), "{error}");
    assert!(!error.to_string().contains("octocat/hello/actions"), "{error}");
}
