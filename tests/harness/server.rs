//! A `kymo serve` of its own for a test: free ports, a temporary directory, ended with the test.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::programs::kymo;

/// Far more than a start takes, also on a machine that compiles beside it.
const START_TIMEOUT: Duration = Duration::from_secs(60);
/// Beyond this something hangs. A test of how long a stop takes measures for itself.
const STOP_TIMEOUT: Duration = Duration::from_secs(60);

/// A running server.
pub struct Server {
    child: Child,
    arguments: Vec<String>,
    place: TempDir,
    addresses: BTreeMap<&'static str, SocketAddr>,
    /// All of standard output until it was ready.
    pub start_lines: Vec<String>,
    log: Log,
    pub client: reqwest::blocking::Client,
}

impl Server {
    /// With the settings that everybody gets.
    #[track_caller]
    pub fn start() -> Self {
        Self::with(&[])
    }

    /// With more flags.
    #[track_caller]
    pub fn with(flags: &[&str]) -> Self {
        let place = tempfile::tempdir().unwrap();
        let data = place.path().join("data").display().to_string();
        let mut arguments = vec!["serve".to_owned(), "--data".to_owned(), data];
        for flag in ["--http", "--otlp-grpc", "--otlp-http"] {
            arguments.extend([flag.to_owned(), "127.0.0.1:0".to_owned()]);
        }
        // What the machine does is not what a test expects to find.
        arguments.push("--no-probe".to_owned());
        // Nor are metrics that nobody sent.
        arguments.push("--no-span-metrics".to_owned());
        arguments.extend(flags.iter().map(|flag| (*flag).to_owned()));
        // A test that waits for its answer longer than this has found something.
        let client = reqwest::blocking::Client::builder()
            .timeout(Duration::from_secs(120))
            .no_proxy()
            .build()
            .unwrap();
        let (child, stdout, log) = spawn(&arguments);
        let mut server = Self {
            child,
            arguments,
            place,
            addresses: BTreeMap::new(),
            start_lines: Vec::new(),
            log,
            client,
        };
        server.wait_until_ready(&stdout);
        server
    }

    /// Starts it again, on the same data; it must have ended.
    #[track_caller]
    pub fn start_again(&mut self) {
        assert!(!self.is_running(), "it has not ended");
        self.log.finish_without_panic();
        let (child, stdout, log) = spawn(&self.arguments);
        self.child = child;
        self.log = log;
        self.wait_until_ready(&stdout);
    }

    /// Sets a flag that it was started with otherwise, for the next start.
    #[track_caller]
    pub fn set_flag(&mut self, flag: &str, value: &str) {
        let at = self.arguments.iter().position(|argument| argument == flag).unwrap();
        self.arguments[at + 1] = value.to_owned();
    }

    /// Adds flags, for the next start.
    pub fn add_flags(&mut self, flags: &[&str]) {
        self.arguments.extend(flags.iter().map(|flag| (*flag).to_owned()));
    }

    #[track_caller]
    fn wait_until_ready(&mut self, stdout: &Receiver<String>) {
        self.addresses.clear();
        self.start_lines.clear();
        let deadline = Instant::now() + START_TIMEOUT;
        // The line about the data comes after those with addresses.
        while !self.start_lines.last().is_some_and(|line| line.starts_with("data ")) {
            let left = deadline.saturating_duration_since(Instant::now());
            let Ok(line) = stdout.recv_timeout(left) else {
                let printed = self.start_lines.join("\n");
                panic!("the server did not start\nstdout:\n{printed}\nstderr:\n{}", self.stderr());
            };
            if let Some((name, address)) = address_in(&line) {
                self.addresses.insert(name, address);
            }
            self.start_lines.push(line);
        }
        assert_eq!(self.addresses.len(), NAMES.len(), "{:?}", self.start_lines);
    }

    /// The main address.
    pub fn http(&self) -> SocketAddr {
        self.addresses["http"]
    }

    /// OTLP over gRPC.
    pub fn otlp_grpc(&self) -> SocketAddr {
        self.addresses["otlp grpc"]
    }

    /// OTLP over HTTP.
    pub fn otlp_http(&self) -> SocketAddr {
        self.addresses["otlp http"]
    }

    /// All three.
    pub fn ports(&self) -> [SocketAddr; 3] {
        [self.http(), self.otlp_grpc(), self.otlp_http()]
    }

    pub fn data(&self) -> PathBuf {
        self.place.path().join("data")
    }

    /// A directory for files of the test, beside the data.
    pub fn place(&self) -> &Path {
        self.place.path()
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// What it logged so far.
    pub fn stderr(&self) -> String {
        self.log.text()
    }

    /// `kill -9`.
    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Sends a signal, such as `TERM`, and waits for nothing.
    #[track_caller]
    pub fn signal(&self, name: &str) {
        let id = self.child.id().to_string();
        let sent = Command::new("kill").args(["-s", name, &id]).status().unwrap();
        assert!(sent.success());
    }

    /// Asks it to stop and waits until it has; how it ended, and how long that took.
    #[track_caller]
    pub fn stop(&mut self) -> (ExitStatus, Duration) {
        let began = Instant::now();
        self.signal("TERM");
        (self.wait_for_end(), began.elapsed())
    }

    /// How it ended, once it has.
    #[track_caller]
    pub fn exit_code(&mut self) -> Option<i32> {
        self.wait_for_end().code()
    }

    /// All that it logged, once it has ended.
    #[track_caller]
    pub fn log_to_the_end(&mut self) -> String {
        self.wait_for_end();
        self.log.finish();
        self.log.text()
    }

    #[track_caller]
    fn wait_for_end(&mut self) -> ExitStatus {
        let began = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(began.elapsed() < STOP_TIMEOUT, "it does not end\n{}", self.stderr());
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    pub fn is_running(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    /// The most memory it had resident at once.
    pub fn peak_memory_bytes(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
        let kibibytes: u64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
        kibibytes * 1024
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended already; then there is nothing to kill.
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            self.log.finish();
            let text = self.log.text();
            let lines: Vec<&str> = text.lines().collect();
            let last = &lines[lines.len().saturating_sub(40)..];
            eprintln!("the server logged:\n{}", last.join("\n"));
        } else {
            self.log.finish_without_panic();
        }
    }
}

/// What a server writes to stderr, and the thread that reads it.
struct Log {
    text: Arc<Mutex<String>>,
    reader: Option<JoinHandle<()>>,
}

impl Log {
    fn text(&self) -> String {
        self.text.lock().unwrap().clone()
    }

    /// Reads to the end, which comes when the server has ended.
    fn finish(&mut self) {
        if let Some(reader) = self.reader.take() {
            reader.join().unwrap();
        }
    }

    #[track_caller]
    fn finish_without_panic(&mut self) {
        self.finish();
        let text = self.text();
        assert!(!text.contains("panicked"), "the server panicked:\n{text}");
    }
}

/// Lines with an address that a server prints when it starts.
const NAMES: [&str; 3] = ["http", "otlp grpc", "otlp http"];

/// Name and address of a line such as `otlp grpc  http://127.0.0.1:4317`.
fn address_in(line: &str) -> Option<(&'static str, SocketAddr)> {
    let (name, url) = line.split_once("  ")?;
    let name = NAMES.into_iter().find(|known| *known == name.trim())?;
    let (_, rest) = url.trim().split_once("://")?;
    let address = rest.split('/').next()?.parse().ok()?;
    Some((name, address))
}

/// Starts it, with a thread each that reads what it prints.
fn spawn(arguments: &[String]) -> (Child, Receiver<String>, Log) {
    let mut command = kymo();
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let stdout = BufReader::new(child.stdout.take().unwrap());
    let (sender, lines) = mpsc::channel();
    std::thread::spawn(move || {
        for line in stdout.lines().map_while(Result::ok) {
            // Nobody listens after the start, but the pipe must not fill.
            let _ = sender.send(line);
        }
    });
    let collected = Arc::new(Mutex::new(String::new()));
    let writer = collected.clone();
    let mut stderr = child.stderr.take().unwrap();
    let reader = std::thread::spawn(move || {
        let mut piece = [0; 4096];
        while let Ok(length @ 1..) = stderr.read(&mut piece) {
            writer.lock().unwrap().push_str(&String::from_utf8_lossy(&piece[..length]));
        }
    });
    (child, lines, Log { text: collected, reader: Some(reader) })
}
