//! A real S3 server for tests: SeaweedFS, started on free ports in a temporary directory.
//!
//! It is found through `KYMO_TEST_WEED` or `scripts/seaweedfs path`. Where it is not installed, tests
//! that want it pass without it, and say so.
//!
//! The server is a child of a small shell that waits for its own standard input to close, and then
//! ends the server and removes its files. So nothing stays behind however the tests end, also when
//! the server is in a static, which is never dropped.

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    net::{TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::OnceLock,
    thread,
    time::{Duration, Instant},
};

const BUCKET: &str = "kymo";
const ACCESS_KEY: &str = "kymo-test-key";
const SECRET_KEY: &str = "kymo-test-secret";

/// Starting takes 2.5 seconds on two idle cores.
const START_DEADLINE: Duration = Duration::from_secs(30);

/// The server takes its ports seconds after they were found free, so that another may have been
/// quicker; it is then started again on other ports.
const ATTEMPTS: usize = 4;

/// Arguments: the directory, the ports of the sockets that the server puts into `/tmp` and leaves
/// there, `--`, the command. The server is killed and not asked, because it takes seconds to heed.
const KEEPER: &str = r#"
trap '' INT TERM HUP
dir=$1; shift
sockets=
while [ "$1" != -- ]; do sockets="$sockets /tmp/seaweedfs-$1.sock"; shift; done
shift
"$@" >"$dir/log" 2>&1 </dev/null &
read -r _
kill -9 $!
wait $!
rm -rf "$dir" $sockets
"#;

/// A running server with one empty bucket; it ends when this is dropped, or the process ends.
pub struct Seaweed {
    keeper: Child,
    s3_port: u16,
}

impl Seaweed {
    /// The server that all tests of a test binary share, each with a prefix of its own.
    pub fn shared() -> Option<&'static Seaweed> {
        static SHARED: OnceLock<Option<Seaweed>> = OnceLock::new();
        SHARED.get_or_init(Seaweed::start).as_ref()
    }

    /// Starts a server; `None` if SeaweedFS is not installed.
    pub fn start() -> Option<Seaweed> {
        let Some(weed) = find_weed() else {
            // Not `eprintln!`, which is shown of failures only.
            let _ =
                writeln!(std::io::stderr(), "left out: S3 tests (run scripts/seaweedfs install)");
            return None;
        };
        let mut log = String::new();
        for _ in 0..ATTEMPTS {
            match Seaweed::start_once(&weed) {
                Ok(server) => return Some(server),
                Err(its_log) => log = its_log,
            }
        }
        let last_lines = log.lines().rev().take(60).collect::<Vec<_>>();
        panic!("SeaweedFS did not start; its last lines, latest first: {last_lines:#?}");
    }

    /// Starts a server on ports that are free now; its log if it does not get ready.
    fn start_once(weed: &Path) -> Result<Seaweed, String> {
        let dir = tempfile::Builder::new().prefix("kymo-weed-").tempdir().expect("a directory");
        let dir = dir.keep();
        let ports = Ports::free();
        let mut keeper = Command::new("sh")
            .args(["-c", KEEPER, "keeper"])
            .arg(&dir)
            .args(ports.sockets())
            .arg("--")
            .arg(weed)
            .args(arguments(&dir, &ports))
            // For its log files.
            .env("TMPDIR", &dir)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("sh starts");
        let log = dir.join("log");
        if !wait_until_ready(&ports, &log) {
            let log = fs::read_to_string(log).unwrap_or_default();
            end(&mut keeper);
            return Err(log);
        }
        Ok(Seaweed { keeper, s3_port: ports.s3 })
    }

    /// The URL of a place in the bucket.
    pub fn url(&self, prefix: &str) -> String {
        format!("s3://{BUCKET}/{prefix}")
    }

    /// The variables that a process, or `S3Options::from_variables`, needs for the bucket.
    pub fn variables(&self) -> [(&'static str, String); 5] {
        [
            ("AWS_ENDPOINT_URL", format!("http://127.0.0.1:{}", self.s3_port)),
            ("AWS_ALLOW_HTTP", "true".to_owned()),
            ("AWS_REGION", "us-east-1".to_owned()),
            ("AWS_ACCESS_KEY_ID", ACCESS_KEY.to_owned()),
            ("AWS_SECRET_ACCESS_KEY", SECRET_KEY.to_owned()),
        ]
    }
}

impl Drop for Seaweed {
    fn drop(&mut self) {
        end(&mut self.keeper);
    }
}

/// Closes the input of the shell, which is its sign to end the server, and waits for it.
fn end(keeper: &mut Child) {
    drop(keeper.stdin.take());
    keeper.wait().expect("the shell ends");
}

fn find_weed() -> Option<PathBuf> {
    if let Some(weed) = std::env::var_os("KYMO_TEST_WEED") {
        return Some(weed.into());
    }
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().map(|dir| dir.join("scripts"));
    let script = scripts.map(|dir| dir.join("seaweedfs")).find(|script| script.is_file())?;
    let output = Command::new(script).arg("path").output().ok()?;
    let path = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| path.trim_end().into())
}

/// A port for each of the server's parts, and one for its gRPC.
struct Ports {
    s3: u16,
    s3_grpc: u16,
    master: u16,
    master_grpc: u16,
    volume: u16,
    volume_grpc: u16,
    filer: u16,
    filer_grpc: u16,
}

impl Ports {
    fn free() -> Ports {
        // All are held until the last is found, so that they differ.
        let listeners = [(); 8].map(|()| TcpListener::bind("127.0.0.1:0").expect("a free port"));
        let [s3, s3_grpc, master, master_grpc, volume, volume_grpc, filer, filer_grpc] =
            listeners.each_ref().map(|listener| listener.local_addr().expect("an address").port());
        Ports { s3, s3_grpc, master, master_grpc, volume, volume_grpc, filer, filer_grpc }
    }

    fn sockets(&self) -> [String; 6] {
        [
            format!("s3-{}", self.s3),
            format!("s3-grpc-{}", self.s3_grpc),
            format!("master-grpc-{}", self.master_grpc),
            format!("volume-grpc-{}", self.volume_grpc),
            format!("filer-{}", self.filer),
            format!("filer-grpc-{}", self.filer_grpc),
        ]
    }
}

/// Writes the configuration and gives the command line.
fn arguments(dir: &Path, ports: &Ports) -> Vec<String> {
    let config = dir.join("s3.json");
    let identities = format!(
        r#"{{"identities": [{{"name": "kymo", "actions": ["Admin"],
            "credentials": [{{"accessKey": "{ACCESS_KEY}", "secretKey": "{SECRET_KEY}"}}]}}]}}"#
    );
    fs::write(&config, identities).expect("the configuration is written");
    let options = [
        ("dir", dir.display().to_string()),
        ("ip", "127.0.0.1".to_owned()),
        ("ip.bind", "127.0.0.1".to_owned()),
        ("master.port", ports.master.to_string()),
        ("master.port.grpc", ports.master_grpc.to_string()),
        // Alone, so that it need not wait for an election.
        ("master.peers", "none".to_owned()),
        ("master.telemetry", "false".to_owned()),
        ("master.volumeSizeLimitMB", "64".to_owned()),
        ("volume.port", ports.volume.to_string()),
        ("volume.port.grpc", ports.volume_grpc.to_string()),
        ("volume.max", "50".to_owned()),
        ("filer.port", ports.filer.to_string()),
        ("filer.port.grpc", ports.filer_grpc.to_string()),
        ("s3.port", ports.s3.to_string()),
        ("s3.port.grpc", ports.s3_grpc.to_string()),
        ("s3.config", config.display().to_string()),
        ("s3.autoCreateBucket", "false".to_owned()),
        ("s3.port.iceberg", "0".to_owned()),
        ("s3.port.lance", "0".to_owned()),
    ];
    let options = options.map(|(name, value)| format!("-{name}={value}"));
    ["server".to_owned(), "-s3".to_owned()].into_iter().chain(options).collect()
}

/// Waits until S3 answers and data can be stored, and creates the bucket; `false` if it took too
/// long, or a part of the server gave up.
fn wait_until_ready(ports: &Ports, log: &Path) -> bool {
    let deadline = Instant::now() + START_DEADLINE;
    let until = |done: &dyn Fn() -> bool| {
        while !done() {
            if Instant::now() > deadline || has_given_up(log) {
                return false;
            }
            thread::sleep(Duration::from_millis(20));
        }
        true
    };
    let probe = "--b\r\ncontent-disposition: form-data; name=f; filename=f\r\n\r\nx\r\n--b--\r\n";
    until(&|| request(ports.s3, "GET", "/", "").is_some())
        && until(&|| request(ports.filer, "POST", "/probe", probe) == Some(201))
        // A directory of the filer there is a bucket of S3.
        && until(&|| {
            let bucket = format!("/buckets/{BUCKET}/");
            request(ports.filer, "POST", &bucket, "") == Some(201)
        })
}

/// Whether a part of the server ended for an error, as for a port that is taken: the others may go on.
fn has_given_up(log: &Path) -> bool {
    let log = fs::read_to_string(log).unwrap_or_default();
    log.lines().any(|line| {
        line.strip_prefix('F').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    })
}

/// Sends a request, with `body` as a form if there is one, and gives the status of the answer, if there is one.
fn request(port: u16, method: &str, path: &str, body: &str) -> Option<u16> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(5))).ok()?;
    let len = body.len();
    let content_type = match body {
        "" => "",
        _ => "content-type: multipart/form-data; boundary=b\r\n",
    };
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\
         {content_type}content-length: {len}\r\n\r\n{body}"
    )
    .ok()?;
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).ok()?;
    line.split(' ').nth(1)?.parse().ok()
}
