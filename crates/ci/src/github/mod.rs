//! A small client of GitHub's REST API: workflow runs, their jobs, their artifacts.
//!
//! | module | holds |
//! |---|---|
//! | `connection` | where the API is, who gets the token |
//! | `http` | asking again until the deadline |
//! | `refusal` | what an answer other than success means, rate limits |
//! | `pages` | lists |
//! | `artifact`, `unpack` | downloads |
//! | `names` | what may stand in an address or a path |
//! | `limits` | every bound, with its reason |
//!
//! It promises to end by the deadline, to keep the token to the API's own host, and to leave
//! whole directories or none. It changes nothing at GitHub but for [`GitHub::delete`]. It blocks,
//! so it is not for threads of an async runtime.

use std::fmt;
use std::path::Path;
use std::time::Instant;

use reqwest::Method;

use crate::warnings::Warnings;

mod artifact;
mod connection;
mod error;
mod http;
mod limits;
mod names;
mod pages;
mod refusal;
mod unpack;

pub use artifact::Artifact;
pub use error::GitHubError;

use http::{Http, Question};
use limits::ANSWER_TIMEOUT;
use names::checked_repository;

/// How to reach GitHub.
#[derive(Clone)]
pub struct GitHubOptions {
    /// Where the API is: `https://api.github.com`, or `https://<host>/api/v3` of an Enterprise
    /// server.
    pub api_url: String,
    /// A token with `actions: read`, and `actions: write` to delete. Without one, only public
    /// repositories can be read, 60 requests an hour. An empty one is none.
    pub token: Option<String>,
    /// The end of everything, waits included.
    pub deadline: Instant,
    /// Who asks. GitHub refuses those who do not say.
    pub user_agent: String,
}

impl fmt::Debug for GitHubOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GitHubOptions")
            .field("api_url", &self.api_url)
            .field("has_token", &self.token.is_some())
            .field("deadline", &self.deadline)
            .field("user_agent", &self.user_agent)
            .finish()
    }
}

/// A client of one API.
#[derive(Debug)]
pub struct GitHub {
    http: Http,
}

impl GitHub {
    /// Checks the options and reads the system's certificates. Asks nothing yet.
    pub fn new(options: GitHubOptions) -> Result<Self, GitHubError> {
        Ok(Self { http: Http::new(&options)? })
    }

    /// A run, or one attempt of it, as the JSON text that GitHub sent.
    pub fn run(
        &self,
        repository: &str,
        run: u64,
        attempt: Option<u64>,
    ) -> Result<Vec<u8>, GitHubError> {
        let path = run_path(repository, run, attempt)?;
        pages::get(&self.http, &path, &run_subject(repository, run, attempt))
    }

    /// All jobs of an attempt, or of the latest one, as the text of one JSON array. Each job is
    /// as GitHub sent it.
    pub fn jobs(
        &self,
        repository: &str,
        run: u64,
        attempt: Option<u64>,
    ) -> Result<Vec<u8>, GitHubError> {
        let path = run_path(repository, run, attempt)?;
        let filter = if attempt.is_none() { "?filter=latest" } else { "" };
        let subject = format!("jobs of {}", run_subject(repository, run, attempt));
        let jobs = pages::list(&self.http, &format!("{path}/jobs{filter}"), &subject)?;
        let jobs: Vec<&str> = jobs.iter().map(|job| job.get()).collect();
        Ok(format!("[{}]", jobs.join(",")).into_bytes())
    }

    /// The artifacts of a run whose names begin so, in GitHub's order, those that expired
    /// included. Attempts may have left several of one name.
    pub fn artifacts(
        &self,
        repository: &str,
        run: u64,
        prefix: &str,
    ) -> Result<Vec<Artifact>, GitHubError> {
        let path = run_path(repository, run, None)?;
        let subject = format!("artifacts of {}", run_subject(repository, run, None));
        let listed = pages::list(&self.http, &format!("{path}/artifacts"), &subject)?;
        let artifacts = listed.iter().map(|json| artifact::parse(json.get()));
        let wrong = |error: serde_json::Error| GitHubError::Json {
            subject: subject.clone(),
            cause: error.to_string(),
        };
        let has_prefix = |artifact: &Artifact| artifact.name.starts_with(prefix);
        let artifacts = artifacts.collect::<Result<Vec<_>, _>>().map_err(wrong)?;
        Ok(artifacts.into_iter().filter(has_prefix).collect())
    }

    /// Downloads an artifact and unpacks it into `into/<name of the artifact>/`, which must not
    /// be there yet. Entries that are not safe to unpack are skipped with a warning.
    ///
    /// [`GitHubError::Gone`] is for an artifact that expired.
    pub fn download(
        &self,
        repository: &str,
        artifact: &Artifact,
        into: &Path,
        warnings: &mut Warnings,
    ) -> Result<(), GitHubError> {
        let path = format!("{}/zip", artifact_path(repository, artifact)?);
        let subject = artifact_subject(repository, artifact);
        artifact::download(&self.http, &path, artifact, &subject, into, warnings)
    }

    /// Deletes an artifact.
    pub fn delete(&self, repository: &str, artifact: &Artifact) -> Result<(), GitHubError> {
        let question = Question {
            method: Method::DELETE,
            url: self.http.url(&artifact_path(repository, artifact)?)?,
            subject: &artifact_subject(repository, artifact),
            permission: "actions: write",
            timeout: ANSWER_TIMEOUT,
        };
        self.http.ask(&question, |_| Ok(()))
    }
}

fn run_path(repository: &str, run: u64, attempt: Option<u64>) -> Result<String, GitHubError> {
    let repository = checked_repository(repository)?;
    let attempt = attempt.map(|attempt| format!("/attempts/{attempt}")).unwrap_or_default();
    Ok(format!("repos/{repository}/actions/runs/{run}{attempt}"))
}

fn run_subject(repository: &str, run: u64, attempt: Option<u64>) -> String {
    let attempt = attempt.map(|attempt| format!("attempt {attempt} of ")).unwrap_or_default();
    format!("{attempt}run {run} of {repository}")
}

fn artifact_path(repository: &str, artifact: &Artifact) -> Result<String, GitHubError> {
    let repository = checked_repository(repository)?;
    Ok(format!("repos/{repository}/actions/artifacts/{}", artifact.id))
}

fn artifact_subject(repository: &str, artifact: &Artifact) -> String {
    format!("artifact {:?} of {repository}", artifact.name)
}
