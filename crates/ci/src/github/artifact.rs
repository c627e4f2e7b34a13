//! Artifacts: what jobs of a run left behind, as zip files.

use std::fs::{self, File};
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;

use chrono::{DateTime, Utc};
use reqwest::Method;
use serde::Deserialize;

use super::error::GitHubError;
use super::http::{Http, Question, read_body};
use super::limits::{DOWNLOAD_TIMEOUT, MAX_ZIP_BYTES};
use super::names::checked_artifact_name;
use super::pages::READ;
use super::refusal::Failure;
use super::unpack::{Unpacking, unpack};
use crate::warnings::Warnings;

/// An artifact of a run, as GitHub lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Artifact {
    /// GitHub's number of it.
    pub id: u64,
    /// Its name. Those of one attempt differ; attempts of the same run may repeat them.
    pub name: String,
    /// Its size as GitHub keeps it.
    pub size_bytes: u64,
    /// Whether it is listed and no longer there.
    pub expired: bool,
    /// When it was uploaded.
    pub created_at: Option<DateTime<Utc>>,
}

#[derive(Deserialize)]
struct Listed {
    id: u64,
    name: String,
    #[serde(default)]
    size_in_bytes: u64,
    #[serde(default)]
    expired: bool,
    created_at: Option<String>,
}

/// Reads an artifact of a list.
pub(super) fn parse(json: &str) -> Result<Artifact, serde_json::Error> {
    let listed: Listed = serde_json::from_str(json)?;
    let created_at = listed.created_at.as_deref().map(DateTime::parse_from_rfc3339);
    Ok(Artifact {
        id: listed.id,
        name: listed.name,
        size_bytes: listed.size_in_bytes,
        expired: listed.expired,
        created_at: created_at.and_then(Result::ok).map(|time| time.to_utc()),
    })
}

/// Downloads an artifact and unpacks it into a directory of its name. Both happen in a directory
/// beside it that vanishes whatever comes, so that what has the name is whole.
pub(super) fn download(
    http: &Http,
    path: &str,
    artifact: &Artifact,
    subject: &str,
    into: &Path,
    warnings: &mut Warnings,
) -> Result<(), GitHubError> {
    let target = into.join(checked_artifact_name(&artifact.name)?);
    if artifact.expired {
        return Err(GitHubError::Gone { subject: subject.to_owned() });
    }
    if fs::symlink_metadata(&target).is_ok() {
        return Err(GitHubError::Exists(target));
    }
    fs::create_dir_all(into).map_err(unwritable(into))?;
    let beside = tempfile::Builder::new().prefix(".artifact-").tempdir_in(into);
    let beside = beside.map_err(unwritable(into))?;
    let zip = fetch(http, path, subject, &beside.path().join("artifact.zip"))?;
    // The temporary directory is for its owner's eyes only; what it holds need not be.
    let unpacked = beside.path().join("unpacked");
    let unpacking = Unpacking::new(&artifact.name, http.deadline());
    unpack(zip, &unpacked, &unpacking, warnings)?;
    fs::rename(&unpacked, &target).map_err(unwritable(&target))
}

/// The zip file, on disk: memory would not do for the largest.
fn fetch(http: &Http, path: &str, subject: &str, into: &Path) -> Result<File, GitHubError> {
    let mut options = File::options();
    options.read(true).write(true).create_new(true);
    let mut file = options.open(into).map_err(unwritable(into))?;
    let question = Question {
        method: Method::GET,
        url: http.url(path)?,
        subject,
        permission: READ,
        timeout: DOWNLOAD_TIMEOUT,
    };
    http.ask(&question, |response| {
        // An earlier try may have left a beginning.
        let emptied = file.set_len(0).and_then(|()| file.seek(SeekFrom::Start(0)));
        emptied.map_err(|cause| Failure::Final(unwritable(into)(cause)))?;
        read_body(response, MAX_ZIP_BYTES, subject, |bytes| {
            file.write_all(bytes).map_err(unwritable(into))
        })
    })?;
    Ok(file)
}

/// The error of a path that cannot be written.
pub(super) fn unwritable(path: &Path) -> impl Fn(std::io::Error) -> GitHubError {
    let path = path.to_owned();
    move |cause| GitHubError::Write { path: path.clone(), cause }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_artifact_is_read_as_github_lists_it() {
        let json = r#"{"id":11,"node_id":"x","name":"telemetry-1","size_in_bytes":556,
            "expired":false,"created_at":"2020-01-10T14:59:22Z","digest":null}"#;
        let artifact = parse(json).unwrap();
        assert_eq!((artifact.id, artifact.name.as_str()), (11, "telemetry-1"));
        assert_eq!((artifact.size_bytes, artifact.expired), (556, false));
        assert_eq!(artifact.created_at.unwrap().timestamp(), 1_578_668_362);
        let least = parse(r#"{"id":1,"name":"a","created_at":null}"#).unwrap();
        assert_eq!(least.created_at, None);
        assert!(parse(r#"{"name":"a"}"#).is_err());
    }
}
