//! The actions of `deploy/github-actions`, run as a runner would run them: conditions, inputs and
//! outputs are evaluated, scripts run by bash, artifacts are directories.

#![allow(clippy::unwrap_used, clippy::panic, unreachable_pub, reason = "a test")]

mod harness;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use harness::Server;
use harness::actions::{GitHub, Job, Known, action, zip};
use harness::programs::run;
use serde_json::{Value, json};

/// Artifacts of a run.
struct Artifacts(tempfile::TempDir);

impl Artifacts {
    fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.0.path()).unwrap().flatten();
        let mut names: Vec<String> =
            entries.map(|entry| entry.file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    fn upload(&self, name: &str, from: &Path) {
        let to = self.0.path().join(name);
        std::fs::create_dir_all(&to).unwrap();
        copy(from, &to);
    }

    /// False if there is none of that name.
    fn download(&self, name: &str, to: &Path) -> bool {
        let from = self.0.path().join(name);
        if from.is_dir() {
            std::fs::create_dir_all(to).unwrap();
            copy(&from, to);
        }
        from.is_dir()
    }

    fn as_zip(&self, name: &str) -> Vec<u8> {
        let entries = std::fs::read_dir(self.0.path().join(name)).unwrap().flatten();
        let files: Vec<(String, Vec<u8>)> = entries
            .map(|entry| {
                (entry.file_name().into_string().unwrap(), std::fs::read(entry.path()).unwrap())
            })
            .collect();
        zip(&files
            .iter()
            .map(|(name, bytes)| (name.as_str(), bytes.as_slice()))
            .collect::<Vec<_>>())
    }
}

/// Copies a file, or the files of a directory.
fn copy(from: &Path, to: &Path) {
    if from.is_file() {
        std::fs::copy(from, to.join(from.file_name().unwrap())).unwrap();
        return;
    }
    for entry in std::fs::read_dir(from).unwrap().flatten() {
        std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

/// What expressions can refer to.
struct Context {
    enabled: bool,
    inputs: BTreeMap<String, String>,
    outputs: BTreeMap<String, String>,
}

impl Context {
    /// The value of `env.X`, `inputs.x`, `steps.x.outputs.y` or a text in quotes.
    fn value(&self, expression: &str) -> String {
        let expression = expression.trim();
        if let Some(text) = expression.strip_prefix('\'') {
            return text.trim_end_matches('\'').to_owned();
        }
        if expression == "env.TELEMETRY_ENABLED" {
            return if self.enabled { "true" } else { "" }.to_owned();
        }
        if expression == "github.token" {
            return "t0ken".to_owned();
        }
        let input = expression.strip_prefix("inputs.").map(|name| &self.inputs[name]);
        let output = || {
            let (step, name) = expression.strip_prefix("steps.")?.split_once(".outputs.")?;
            Some(self.outputs.get(&format!("{step}.{name}")).cloned().unwrap_or_default())
        };
        input.cloned().or_else(output).unwrap_or_else(|| panic!("{expression} is not known here"))
    }

    fn holds(&self, condition: &str) -> bool {
        condition.split("&&").all(|part| match (part.split_once("=="), part.split_once("!=")) {
            (Some((left, right)), _) => self.value(left) == self.value(right),
            (None, Some((left, right))) => self.value(left) != self.value(right),
            _ => panic!("{part} is not understood"),
        })
    }

    /// A text with `${{ … }}` replaced.
    fn filled(&self, text: &str) -> String {
        let mut filled = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("${{") {
            let (expression, after) = after.split_once("}}").unwrap();
            filled.push_str(before);
            filled.push_str(&self.value(expression));
            rest = after;
        }
        filled + rest
    }
}

/// Runs an action in a job; how many of its steps ran.
#[track_caller]
fn perform(
    job: &mut Job,
    enabled: bool,
    name: &str,
    given: &[(&str, &str)],
    artifacts: &Artifacts,
) -> usize {
    let text = std::fs::read_to_string(action(name).join("action.yml")).unwrap();
    let action: Value = serde_saphyr::from_str(&text).unwrap();
    let mut context = Context { enabled, inputs: BTreeMap::new(), outputs: BTreeMap::new() };
    for (input, described) in action["inputs"].as_object().unwrap() {
        let default = context.filled(described["default"].as_str().unwrap());
        let given =
            given.iter().find(|(name, _)| name == input).map(|(_, value)| (*value).to_owned());
        context.inputs.insert(input.clone(), given.unwrap_or(default));
    }
    let mut count = 0;
    for step in action["runs"]["steps"].as_array().unwrap() {
        assert_eq!(step["continue-on-error"], true, "no step may fail a job: {step}");
        let condition = step["if"].as_str().unwrap();
        assert!(condition.starts_with("env.TELEMETRY_ENABLED == 'true'"), "{condition}");
        if !context.holds(condition) {
            continue;
        }
        count += 1;
        let with = |name: &str| context.filled(step["with"][name].as_str().unwrap());
        match step["uses"].as_str() {
            Some("actions/upload-artifact@v4") => {
                artifacts.upload(&with("name"), &job.workspace().join(with("path")));
            }
            Some("actions/download-artifact@v4") => {
                artifacts.download(&with("name"), &job.workspace().join(with("path")));
            }
            Some(other) => panic!("{other} is not known here"),
            None => script(job, step, &mut context),
        }
    }
    count
}

#[track_caller]
fn script(job: &mut Job, step: &Value, context: &mut Context) {
    let before = job.written("GITHUB_OUTPUT").len();
    let mut command = job.shell(step["run"].as_str().unwrap());
    for (name, value) in step["env"].as_object().unwrap() {
        command.env(name, context.filled(value.as_str().unwrap()));
    }
    run(&mut command).expect(0);
    job.take_over();
    let id = step["id"].as_str().unwrap();
    for line in job.written("GITHUB_OUTPUT")[before..].lines() {
        let (name, value) = line.split_once('=').unwrap();
        context.outputs.insert(format!("{id}.{name}"), value.to_owned());
    }
}

fn new_job(server: &Server, github: &GitHub) -> Job {
    let mut job = Job::new();
    job.set("OTEL_EXPORTER_OTLP_ENDPOINT", &format!("http://{}", server.otlp_grpc()));
    job.set("KYMO_URL", &server.url("")).set("GITHUB_API_URL", &github.url());
    job
}

fn github() -> GitHub {
    let job = |id: u64, name: &str, runner: &str, conclusion: Option<&str>| {
        let completed = conclusion.map(|_| "2026-01-01T00:05:00Z");
        let status = if conclusion.is_some() { "completed" } else { "in_progress" };
        json!({"id": id, "run_id": 777, "run_attempt": 2, "name": name, "status": status,
               "conclusion": conclusion, "created_at": "2026-01-01T00:00:00Z",
               "started_at": "2026-01-01T00:00:30Z", "completed_at": completed, "labels": ["gpu"],
               "runner_name": runner, "steps": []})
    };
    GitHub::start(Known {
        jobs: vec![
            job(102, "cpp / build", "runner-3", None),
            job(103, "telemetry-summarize", "runner-4", None),
        ],
        run: json!({"id": 777, "name": "pr", "run_attempt": 2, "jobs_url": "x"}),
        ..Known::default()
    })
}

#[test]
fn a_workflow_with_the_actions_is_a_trace_with_what_its_jobs_recorded() {
    let (server, github) = (Server::start(), github());
    let artifacts = Artifacts(tempfile::tempdir().unwrap());

    let mut first = new_job(&server, &github);
    assert_eq!(perform(&mut first, true, "setup", &[], &artifacts), 2);
    assert_eq!(artifacts.names(), ["telemetry-tools-env-vars"]);

    let mut build = new_job(&server, &github);
    let given = [("attributes", "rapids.CUDA_VER=12.9.1,rapids.ARCH=amd64")];
    assert_eq!(perform(&mut build, true, "job", &given, &artifacts), 3);
    run(&mut build
        .shell("kymo ci exec -- true; kymo ci record size.attrs -- echo binary.size_bytes=42"))
    .expect(0);
    assert_eq!(perform(&mut build, true, "job", &[("phase", "end")], &artifacts), 2);
    assert_eq!(artifacts.names(), ["telemetry-tools-artifacts-102", "telemetry-tools-env-vars"]);

    github.known.lock().unwrap().artifacts =
        artifacts.names().into_iter().map(|name| (name.clone(), artifacts.as_zip(&name))).collect();
    let mut last = new_job(&server, &github);
    last.set("RUNNER_NAME", "runner-4");
    {
        let mut known = github.known.lock().unwrap();
        known.jobs[0]["conclusion"] = "success".into();
        known.jobs[0]["status"] = "completed".into();
        known.jobs[0]["completed_at"] = "2026-01-01T00:05:00Z".into();
    }
    assert_eq!(perform(&mut last, true, "summarize", &[], &artifacts), 3);
    assert_eq!(github.asked().iter().filter(|asked| asked.starts_with("DELETE")).count(), 2);
    assert!(last.written("GITHUB_STEP_SUMMARY").contains("### pr of rapidsai/cudf"));

    let job = server.sql(
        "SELECT \"span.binary.size_bytes\", \"resource.rapids.CUDA_VER\", \"resource.rapids.ARCH\", \
         \"resource.rapids.labels\", \"resource.git.job_url\" FROM spans WHERE name = 'build'",
    );
    let url = "https://github.com/rapidsai/cudf/actions/runs/777/job/102";
    assert_eq!(Value::from(job.rows[0].clone()), json!([42, "12.9.1", "amd64", "gpu", url]));
    let commands = server.number(
        "SELECT count(*) FROM spans s JOIN spans p ON s.parent_span_id = p.span_id \
         WHERE s.\"span.ci.kind\" = 'command' AND p.name = 'build'",
    );
    assert_eq!(commands, 2);
}

#[test]
fn the_actions_do_nothing_unless_they_are_switched_on() {
    let (server, github) = (Server::start(), github());
    let artifacts = Artifacts(tempfile::tempdir().unwrap());
    let mut job = new_job(&server, &github);
    for (name, given) in
        [("setup", &[][..]), ("job", &[]), ("job", &[("phase", "end")]), ("summarize", &[])]
    {
        assert_eq!(perform(&mut job, false, name, given, &artifacts), 0, "{name}");
    }
    assert_eq!(github.asked(), Vec::<String>::new());
}

#[test]
fn the_actions_fail_no_job_where_things_are_missing() {
    let (server, github) = (Server::start(), github());
    let artifacts = Artifacts(tempfile::tempdir().unwrap());
    let mut job = new_job(&server, &github);
    let missing = ("kymo", "no-such-kymo");
    for (name, given) in [
        ("setup", &[missing][..]),
        ("job", &[missing]),
        ("job", &[missing, ("phase", "end")]),
        ("summarize", &[missing]),
    ] {
        perform(&mut job, true, name, given, &artifacts);
    }
    // No job has used setup: this one does it by itself.
    perform(&mut job, true, "job", &[], &artifacts);
    assert!(job.written("GITHUB_ENV").contains("JOB_ID=102\n"));
    // Nobody answers for GitHub.
    let mut job = new_job(&server, &github);
    job.set("GITHUB_API_URL", "http://127.0.0.1:9")
        .set("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9");
    perform(&mut job, true, "job", &[], &artifacts);
    perform(&mut job, true, "job", &[("phase", "end")], &artifacts);
    let workspace: PathBuf = job.workspace();
    std::fs::write(workspace.join("telemetry-artifacts/telemetry-env-vars"), "X=1\n").unwrap();
    assert_eq!(artifacts.names(), Vec::<String>::new());
}
