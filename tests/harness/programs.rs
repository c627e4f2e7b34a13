//! Programs that run to their end: `kymo` itself, and clients with real SDKs.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// What a program gave.
pub struct Ran {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

impl Ran {
    /// The value of a line of facts on stdout.
    pub fn fact(&self, name: &str) -> &str {
        let line = self.stdout.lines().find(|line| {
            line.trim_start().strip_prefix(name).is_some_and(|rest| rest.starts_with("  "))
        });
        line.map_or("", |line| line.trim_start()[name.len()..].trim())
    }

    #[track_caller]
    pub fn expect(self, code: i32) -> Self {
        assert_eq!(self.code, code, "stdout:\n{}\nstderr:\n{}", self.stdout, self.stderr);
        assert!(!self.stderr.contains("panicked"), "{}", self.stderr);
        self
    }
}

/// Runs a command to its end.
#[track_caller]
pub fn run(command: &mut Command) -> Ran {
    let output = command.stdin(Stdio::null()).output().unwrap_or_else(|error| {
        panic!("{:?} does not run: {error}", command.get_program());
    });
    output.into()
}

/// The binary, without the settings of whoever runs the tests.
pub fn kymo() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kymo"));
    clean(&mut command);
    command
}

/// Takes away what would change how programs behave.
pub fn clean(command: &mut Command) {
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy().to_lowercase();
        let settings = ["kymo_", "otel_", "github_", "runner_", "traceparent", "xdg_state_home"];
        let is_setting = settings.iter().any(|prefix| text.starts_with(prefix));
        if is_setting || text.ends_with("_proxy") {
            command.env_remove(name);
        }
    }
}

/// A directory of the repository.
pub fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// Says what is not tested, also when the test passes: `eprintln!` would be shown of failures only.
pub fn left_out(what: &str) {
    use std::io::Write;
    // Where nobody can be told, nobody need be.
    let _ = writeln!(std::io::stderr(), "left out: {what}");
}

/// Where the SDKs are, by `KYMO_TEST_CLIENTS` or as `scripts/clients` has installed them; without
/// them, says what is left out.
pub fn clients(what: &str) -> Option<PathBuf> {
    let named = std::env::var_os("KYMO_TEST_CLIENTS").filter(|dir| !dir.is_empty());
    let installed = || {
        let ran = run(Command::new(repository("scripts/clients")).arg("path"));
        (ran.code == 0).then(|| ran.stdout.trim_end().into())
    };
    let found = named.map(PathBuf::from).or_else(installed);
    if found.is_none() {
        left_out(&format!("{what} (run scripts/clients install)"));
    }
    found
}

/// Python with its OpenTelemetry SDK.
pub fn python(clients: &Path) -> Command {
    let mut command = Command::new(clients.join("python/bin/python"));
    clean(&mut command);
    command
}

/// Node.js, which finds its SDK through `KYMO_TEST_CLIENTS`.
pub fn node(clients: &Path) -> Command {
    let mut command = Command::new("node");
    clean(&mut command);
    command.env("KYMO_TEST_CLIENTS", clients);
    command
}
