//! Asking GitHub: one question at a time, as often as it takes, until the deadline.
//!
//! A try that failed for a reason that may pass is repeated: after a wait that doubles, or the one
//! that GitHub names. Where the deadline does not leave the time for it, the error is that of the
//! last try. Answers are read as they come, up to a bound that the caller sets.

use std::error::Error;
use std::io::Read;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use kymo_forward::network::{cause, reqwest_error};
use reqwest::blocking::{Client, Response};
use reqwest::header::{ACCEPT, AUTHORIZATION, HeaderValue};
use reqwest::{Method, StatusCode, Url};
use serde::Deserialize;

use super::GitHubOptions;
use super::connection::{api_url, authorization, client};
use super::error::GitHubError;
use super::limits::{MAX_QUOTED_CHARS, MAX_REFUSAL_BYTES, MAX_TRIES, SHORTEST_TRY};
use super::refusal::{Failure, Refusal, backoff};

const MEDIA_TYPE: &str = "application/vnd.github+json";
const VERSION_HEADER: &str = "x-github-api-version";
const VERSION: &str = "2022-11-28";

/// What is asked for.
#[derive(Debug)]
pub(super) struct Question<'a> {
    pub(super) method: Method,
    pub(super) url: Url,
    /// As errors name it.
    pub(super) subject: &'a str,
    /// What the token must be allowed to do.
    pub(super) permission: &'static str,
    /// For one try, from connecting to the last byte.
    pub(super) timeout: Duration,
}

/// Connections to one API.
#[derive(Debug)]
pub(super) struct Http {
    client: Client,
    api: Url,
    /// Marked as sensitive, so that it is not printed with the rest.
    authorization: Option<HeaderValue>,
    deadline: Instant,
}

impl Http {
    pub(super) fn new(options: &GitHubOptions) -> Result<Self, GitHubError> {
        // What a pipeline sets to an unset secret is empty; what it reads from a file ends a line.
        let token = options.token.as_deref().map(str::trim).filter(|token| !token.is_empty());
        let api = api_url(&options.api_url, token.is_some())?;
        let authorization = token.map(authorization).transpose()?;
        let client = client(&api, &options.user_agent)?;
        Ok(Self { client, api, authorization, deadline: options.deadline })
    }

    /// The end of all asking.
    pub(super) fn deadline(&self) -> Instant {
        self.deadline
    }

    /// The address of a resource, whose path is made of checked names and numbers.
    pub(super) fn url(&self, path: &str) -> Result<Url, GitHubError> {
        let base = self.api.as_str().trim_end_matches('/');
        Url::parse(&format!("{base}/{path}"))
            .map_err(|_| GitHubError::ApiUrl("does not make an address with a path"))
    }

    /// Whether the token may go there.
    pub(super) fn is_api(&self, url: &Url) -> bool {
        url.origin() == self.api.origin() && url.username().is_empty() && url.password().is_none()
    }

    /// Asks until there is an answer that `read` accepts. It is called anew for each answer.
    pub(super) fn ask<T>(
        &self,
        question: &Question<'_>,
        mut read: impl FnMut(&mut Response) -> Result<T, Failure>,
    ) -> Result<T, GitHubError> {
        let mut tries = 0;
        loop {
            tries += 1;
            let answer = self.try_once(question, tries).and_then(|mut answer| read(&mut answer));
            let (wait, error) = match answer {
                Ok(answer) => return Ok(answer),
                Err(Failure::Final(error)) => return Err(error),
                Err(Failure::Passing(error)) => (backoff(tries), error),
                Err(Failure::Limited { wait, error }) => (wait, error),
            };
            if tries >= MAX_TRIES || wait.saturating_add(SHORTEST_TRY) > self.remaining() {
                return Err(error);
            }
            std::thread::sleep(wait);
        }
    }

    fn remaining(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }

    fn try_once(&self, question: &Question<'_>, tries: u32) -> Result<Response, Failure> {
        let remaining = self.remaining();
        if remaining.is_zero() {
            return Err(Failure::Final(late(question.subject)));
        }
        let mut request = self
            .client
            .request(question.method.clone(), question.url.clone())
            .timeout(question.timeout.min(remaining))
            .header(ACCEPT, MEDIA_TYPE)
            .header(VERSION_HEADER, VERSION);
        if let Some(authorization) = &self.authorization {
            request = request.header(AUTHORIZATION, authorization);
        }
        let response = request.send().map_err(|error| broken(&error, question.subject))?;
        // What an earlier try deleted without our hearing of it is not there now.
        let is_deleted = tries > 1
            && question.method == Method::DELETE
            && response.status() == StatusCode::NOT_FOUND;
        if response.status().is_success() || is_deleted {
            return Ok(response);
        }
        Err(self.refusal(response, question))
    }

    fn refusal(&self, response: Response, question: &Question<'_>) -> Failure {
        let status = response.status();
        let headers = response.headers().clone();
        let is_elsewhere = !self.is_api(response.url());
        let refusal = Refusal {
            subject: question.subject,
            permission: question.permission,
            has_token: self.authorization.is_some(),
            status,
            headers: &headers,
            message: self.message(response),
            is_elsewhere,
        };
        refusal.into_failure(now_secs())
    }

    /// What GitHub says in the body of a refusal: empty if it says nothing that can be read.
    fn message(&self, response: Response) -> String {
        #[derive(Deserialize)]
        struct Body {
            message: String,
        }
        let mut bytes = Vec::new();
        let is_read = response.take(MAX_REFUSAL_BYTES).read_to_end(&mut bytes).is_ok();
        let Some(body) = is_read.then(|| serde_json::from_slice::<Body>(&bytes).ok()).flatten()
        else {
            return String::new();
        };
        let is_shown = |character: &char| !character.is_control();
        let message: String = body.message.chars().filter(is_shown).collect();
        // Whoever stands between GitHub and us might repeat what they were sent.
        let message = match self.token() {
            Some(token) => message.replace(token, "(token)"),
            None => message,
        };
        message.chars().take(MAX_QUOTED_CHARS).collect()
    }

    fn token(&self) -> Option<&str> {
        self.authorization.as_ref()?.to_str().ok()?.strip_prefix("Bearer ")
    }
}

/// Reads the body of an answer, up to so many bytes, and hands on what came.
pub(super) fn read_body(
    response: &mut Response,
    limit_bytes: u64,
    subject: &str,
    mut take: impl FnMut(&[u8]) -> Result<(), GitHubError>,
) -> Result<(), Failure> {
    let too_large =
        || Failure::Final(GitHubError::TooLarge { subject: subject.to_owned(), limit_bytes });
    if response.content_length().is_some_and(|length| length > limit_bytes) {
        return Err(too_large());
    }
    let mut left_bytes = limit_bytes;
    let mut buffer = vec![0; 64 << 10];
    loop {
        let length = response.read(&mut buffer).map_err(|error| broken(&error, subject))?;
        if length == 0 {
            return Ok(());
        }
        left_bytes = left_bytes.checked_sub(length as u64).ok_or_else(too_large)?;
        take(&buffer[..length]).map_err(Failure::Final)?;
    }
}

fn now_secs() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

fn late(subject: &str) -> GitHubError {
    GitHubError::Deadline { subject: subject.to_owned() }
}

/// A connection that failed, or broke in the middle of an answer.
fn broken(error: &(dyn Error + 'static), subject: &str) -> Failure {
    let reqwest_error = reqwest_error(error);
    if reqwest_error.is_some_and(reqwest::Error::is_timeout) {
        return Failure::Passing(late(subject));
    }
    let error = GitHubError::Unreachable { subject: subject.to_owned(), cause: cause(error) };
    // A redirect that was not followed will not be followed the next time.
    if reqwest_error.is_some_and(|error| error.is_redirect() || error.is_builder()) {
        return Failure::Final(error);
    }
    Failure::Passing(error)
}
