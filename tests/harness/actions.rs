//! A place that looks like GitHub Actions to a program: directories, files, variables; and a server
//! that plays GitHub's API.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::programs::{clean, kymo};

/// A job of a run, as a program sees it.
pub struct Job {
    place: TempDir,
    variables: BTreeMap<String, String>,
}

impl Job {
    /// Of run 777 of rapidsai/cudf, second attempt.
    pub fn new() -> Self {
        let place = tempfile::tempdir().unwrap();
        let mut variables = BTreeMap::new();
        for name in ["GITHUB_ENV", "GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY"] {
            let path = place.path().join(name);
            std::fs::write(&path, "").unwrap();
            variables.insert(name.to_owned(), path.display().to_string());
        }
        let workspace = place.path().join("workspace");
        std::fs::create_dir(&workspace).unwrap();
        let workspace = workspace.display().to_string();
        let temporary = place.path().join("temporary").display().to_string();
        for (name, value) in [
            ("GITHUB_ACTIONS", "true"),
            ("GITHUB_REPOSITORY", "rapidsai/cudf"),
            ("GITHUB_RUN_ID", "777"),
            ("GITHUB_RUN_ATTEMPT", "2"),
            ("GITHUB_WORKFLOW", "pr"),
            ("GITHUB_REF", "refs/heads/pull-request/1"),
            ("GITHUB_REF_NAME", "pull-request/1"),
            ("GITHUB_SHA", "abc"),
            ("GITHUB_SERVER_URL", "https://github.com"),
            ("GITHUB_JOB", "build"),
            ("GITHUB_WORKSPACE", &workspace),
            ("RUNNER_NAME", "runner-3"),
            ("RUNNER_TEMP", &temporary),
            ("HOME", &temporary),
            ("TELEMETRY_ENABLED", "true"),
        ] {
            variables.insert(name.to_owned(), value.to_owned());
        }
        Self { place, variables }
    }

    pub fn set(&mut self, name: &str, value: &str) -> &mut Self {
        self.variables.insert(name.to_owned(), value.to_owned());
        self
    }

    pub fn workspace(&self) -> PathBuf {
        self.place.path().join("workspace")
    }

    /// `kymo` in this job.
    pub fn kymo(&self, arguments: &[&str]) -> Command {
        let mut command = kymo();
        command.args(arguments);
        self.prepare(&mut command);
        command
    }

    /// A shell in this job, whose `kymo` is the binary under test.
    pub fn shell(&self, script: &str) -> Command {
        let programs = self.place.path().join("programs");
        if !programs.exists() {
            std::fs::create_dir(&programs).unwrap();
            std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_kymo"), programs.join("kymo")).unwrap();
        }
        let path = std::env::var("PATH").unwrap();
        let mut command = Command::new("bash");
        clean(&mut command);
        command.args(["--noprofile", "--norc", "-eo", "pipefail", "-c", script]);
        self.prepare(&mut command);
        command.env("PATH", format!("{}:{path}", programs.display()));
        command
    }

    fn prepare(&self, command: &mut Command) {
        command.current_dir(self.workspace()).envs(&self.variables);
    }

    /// What was written to one of the files, such as `GITHUB_ENV`.
    pub fn written(&self, file: &str) -> String {
        std::fs::read_to_string(self.place.path().join(file)).unwrap()
    }

    /// Variables for later steps, as the runner would set them.
    pub fn take_over(&mut self) {
        let written = self.written("GITHUB_ENV");
        for line in written.lines() {
            let (name, value) = line.split_once('=').unwrap();
            self.variables.insert(name.to_owned(), value.to_owned());
        }
    }
}

/// What the server that plays GitHub's API knows, and what it was asked.
#[derive(Default)]
pub struct Known {
    pub jobs: Vec<Value>,
    pub run: Value,
    /// Names and zip files.
    pub artifacts: Vec<(String, Vec<u8>)>,
    /// Methods and paths, in order.
    pub asked: Vec<String>,
}

/// A server that plays GitHub's API.
pub struct GitHub {
    pub address: SocketAddr,
    pub known: Arc<Mutex<Known>>,
}

impl GitHub {
    pub fn start(known: Known) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let known = Arc::new(Mutex::new(known));
        let shared = known.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                // One that ends early has nothing to tell.
                let _ = serve(stream, &shared);
            }
        });
        Self { address, known }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub fn asked(&self) -> Vec<String> {
        self.known.lock().unwrap().asked.clone()
    }
}

fn serve(stream: TcpStream, known: &Mutex<Known>) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut first = String::new();
    reader.read_line(&mut first)?;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 || line.trim().is_empty() {
            break;
        }
    }
    let mut words = first.split_whitespace();
    let (method, path) = (words.next().unwrap_or(""), words.next().unwrap_or("").to_owned());
    let mut known = known.lock().unwrap();
    known.asked.push(format!("{method} {path}"));
    let (status, body) = answer(&known, method, &path);
    drop(known);
    let mut stream = stream;
    let length = body.len();
    write!(stream, "HTTP/1.1 {status} x\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n")?;
    stream.write_all(&body)?;
    stream.flush()?;
    // Whoever asked may still be writing.
    stream.shutdown(std::net::Shutdown::Write)?;
    let _ = reader.read(&mut [0; 1024]);
    Ok(())
}

fn answer(known: &Known, method: &str, path: &str) -> (u16, Vec<u8>) {
    let path = path.split('?').next().unwrap_or("");
    let json = |value: Value| (200, value.to_string().into_bytes());
    if method == "DELETE" {
        return (204, Vec::new());
    }
    if path.ends_with("/jobs") {
        return json(json!({"total_count": known.jobs.len(), "jobs": known.jobs}));
    }
    if path.ends_with("/artifacts") {
        let listed: Vec<Value> = known
            .artifacts
            .iter()
            .enumerate()
            .map(|(id, (name, zip))| {
                json!({"id": id + 1, "name": name, "size_in_bytes": zip.len(), "expired": false,
                       "created_at": "2026-01-01T00:00:00Z"})
            })
            .collect();
        return json(json!({"total_count": listed.len(), "artifacts": listed}));
    }
    if let Some(id) = path.strip_suffix("/zip").and_then(|path| path.rsplit('/').next()) {
        let found = id.parse::<usize>().ok().and_then(|id| known.artifacts.get(id - 1));
        return found.map_or((404, Vec::new()), |(_, zip)| (200, zip.clone()));
    }
    json(known.run.clone())
}

/// A zip file of stored files.
pub fn zip(files: &[(&str, &[u8])]) -> Vec<u8> {
    let (mut body, mut directory) = (Vec::new(), Vec::new());
    for (name, content) in files {
        let offset = u32::try_from(body.len()).unwrap();
        let size = u32::try_from(content.len()).unwrap().to_le_bytes();
        let length = u16::try_from(name.len()).unwrap().to_le_bytes();
        // Version, flags, method, time, date, checksum, both sizes, length of name and extra.
        let mut common = vec![20, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        common.extend(crc32(content).to_le_bytes());
        common.extend([size, size].concat());
        common.extend(length);
        common.extend([0, 0]);
        body.extend(b"PK\x03\x04");
        body.extend(&common);
        body.extend(name.as_bytes());
        body.extend(*content);
        directory.extend(b"PK\x01\x02\x14\x00");
        directory.extend(&common);
        directory.extend([0; 10]);
        directory.extend(offset.to_le_bytes());
        directory.extend(name.as_bytes());
    }
    let (start, size) =
        (u32::try_from(body.len()).unwrap(), u32::try_from(directory.len()).unwrap());
    let count = u16::try_from(files.len()).unwrap().to_le_bytes();
    body.extend(directory);
    body.extend(b"PK\x05\x06\0\0\0\0");
    body.extend([count, count].concat());
    body.extend(size.to_le_bytes());
    body.extend(start.to_le_bytes());
    body.extend([0, 0]);
    body
}

fn crc32(bytes: &[u8]) -> u32 {
    let mut crc = flate2::Crc::new();
    crc.update(bytes);
    crc.sum()
}

/// The directory of one of the actions.
pub fn action(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/github-actions").join(name)
}
