//! Payloads of GitHub's webhooks: whether they are GitHub's, and what they say.

use ring::hmac;
use serde_json::Value;

use crate::environment::Environment;
use crate::identity::{Asked, Identity, service_of};
use crate::input;
use crate::model::Run;
use crate::span::Trace;
use crate::stash::Stash;
use crate::summary::{StoredJobs, Summary};
use crate::warnings::Warnings;

/// Whether a signature (`sha256=…`, the header `X-Hub-Signature-256`) is that of a body.
#[must_use]
pub fn is_signed(secret: &str, body: &[u8], signature: &str) -> bool {
    let Some(hex) = signature.trim().strip_prefix("sha256=") else { return false };
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
    unhex(hex).is_some_and(|tag| hmac::verify(&key, body, &tag).is_ok())
}

/// The signature of a body, as GitHub makes it.
#[must_use]
pub fn signature(secret: &str, body: &[u8]) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
    let tag = hmac::sign(&key, body);
    let hex: String = tag.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256={hex}")
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    if !text.is_ascii() || !text.len().is_multiple_of(2) {
        return None;
    }
    let digits = |at: usize| u8::from_str_radix(&text[at..at + 2], 16).ok();
    (0..text.len()).step_by(2).map(digits).collect()
}

/// What an event says.
#[derive(Debug)]
pub struct Event {
    /// What it is about: `workflow_job`, `workflow_run`.
    kind: Kind,
    /// What happened: `queued`, `in_progress`, `completed`, …
    action: String,
    run: Run,
    identity: Identity,
    /// What is odd about it.
    pub warnings: Warnings,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Job,
    Run,
}

impl Event {
    /// Reads an event. None if it is of a kind that tells nothing of runs; an error if it is not
    /// what its kind should be.
    pub fn read(kind: &str, body: &[u8]) -> Result<Option<Self>, String> {
        let kind = match kind {
            "workflow_job" => Kind::Job,
            "workflow_run" => Kind::Run,
            _ => return Ok(None),
        };
        let document: Value = serde_json::from_slice(body)
            .map_err(|error| format!("the payload is not JSON: {error}"))?;
        let member = if kind == Kind::Job { "workflow_job" } else { "workflow_run" };
        if !document.get(member).is_some_and(Value::is_object) {
            return Err(format!("the payload has no {member}"));
        }
        let action = document["action"].as_str().unwrap_or_default().to_owned();
        let (mut run, mut warnings) = (Run::default(), Warnings::new());
        input::read(&mut run, body, "payload", &mut warnings);
        if run.repository.is_none() || run.id.is_none() {
            return Err("the payload does not say of which repository and run it is".to_owned());
        }
        let service = service_of(run.workflow.as_deref(), run.repository.as_deref());
        let asked = Asked { service: Some(service), ..Asked::default() };
        let identity = Identity::resolve(&asked, &Environment::default(), &run, &mut warnings);
        Ok(Some(Self { kind, action, run, identity, warnings }))
    }

    /// The trace that it belongs to.
    #[must_use]
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Whether it says that the run has ended.
    #[must_use]
    pub fn ends_run(&self) -> bool {
        self.kind == Kind::Run && self.action == "completed"
    }

    /// The spans that are complete with it: of a job that has ended, all of it; of one that a runner
    /// took, how long it waited; of a run that has ended, the run itself, which covers
    /// `jobs` at least. None if nothing has come to an end.
    #[must_use]
    pub fn trace(&mut self, jobs: Option<&StoredJobs>) -> Option<Trace> {
        let environment = Environment::default();
        let summary = Summary {
            identity: &self.identity,
            run: &self.run,
            environment: &environment,
            stash: &|_, _| Stash::default(),
        };
        match self.kind {
            Kind::Run => (self.action == "completed").then(|| summary.run(jobs)),
            Kind::Job => {
                let job = self.run.jobs.first()?;
                let mut warnings = Warnings::new();
                if self.action == "completed" {
                    let trace = summary.job(job, &mut warnings);
                    self.warnings = warnings;
                    return Some(trace);
                }
                if self.action == "in_progress" { summary.queue(job) } else { None }
            }
        }
    }
}
