//! Names that become parts of addresses and paths, and are therefore checked first.

use std::path::{Path, PathBuf};

use super::error::GitHubError;
use super::limits::{MAX_ENTRY_PATH_BYTES, MAX_FILE_NAME_BYTES, MAX_REPOSITORY_PART_BYTES};

/// The repository, if it is an owner and a name of the characters that GitHub allows.
pub(super) fn checked_repository(repository: &str) -> Result<&str, GitHubError> {
    let is_part = |part: &str| {
        let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        !matches!(part, "" | "." | "..")
            && part.len() <= MAX_REPOSITORY_PART_BYTES
            && part.bytes().all(is_allowed)
    };
    match repository.split_once('/') {
        Some((owner, name)) if is_part(owner) && is_part(name) => Ok(repository),
        _ => Err(GitHubError::Repository(repository.chars().take(MAX_FILE_NAME_BYTES).collect())),
    }
}

/// The artifact's name, if a directory can have it. GitHub refuses the same characters where
/// artifacts are uploaded; it may be another that answers here.
pub(super) fn checked_artifact_name(name: &str) -> Result<&str, GitHubError> {
    let is_separator = |character: char| matches!(character, '/' | '\\' | ':');
    let is_wrong = matches!(name, "" | "." | "..")
        || name.len() > MAX_FILE_NAME_BYTES
        || name.contains(|character: char| is_separator(character) || character.is_control());
    if is_wrong {
        return Err(GitHubError::ArtifactName(name.chars().take(MAX_FILE_NAME_BYTES).collect()));
    }
    Ok(name)
}

/// Why an entry of this name is not unpacked, if so. The name is judged as it is written: what it
/// would resolve to is not asked, since honest packers write neither roots nor `..`.
pub(super) fn entry_fault(name: &str) -> Option<&'static str> {
    let mut parts = name.split(['/', '\\']);
    if name.starts_with(['/', '\\']) || has_drive(name) {
        Some("has an absolute path")
    } else if parts.clone().any(|part| part == "..") {
        Some("leads out of its directory")
    } else if name.len() > MAX_ENTRY_PATH_BYTES
        || parts.clone().any(|part| part.len() > MAX_FILE_NAME_BYTES)
    {
        Some("has too long a name")
    } else if name.contains('\0') || Path::new(name).file_name().is_none() || parts.any(has_drive) {
        Some("has no usable name")
    } else {
        None
    }
}

/// Where an entry of this name goes, seen from where it is unpacked. For names without fault.
pub(super) fn entry_path(name: &str) -> PathBuf {
    name.split(['/', '\\']).filter(|part| !matches!(*part, "" | ".")).collect()
}

fn has_drive(name: &str) -> bool {
    matches!(name.as_bytes(), [letter, b':', ..] if letter.is_ascii_alphabetic())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repository_is_an_owner_and_a_name() {
        for name in ["octocat/hello-world", "a/b", "some_one/x.y_z-1", "o/.github"] {
            assert_eq!(checked_repository(name).unwrap(), name);
        }
        for name in ["", "a", "a/", "/b", "a/b/c", "a/..", "./b", "a/b?c", "a/b c", "a/é", "a/%2e"]
        {
            assert!(matches!(checked_repository(name), Err(GitHubError::Repository(_))), "{name}");
        }
        assert!(checked_repository(&format!("a/{}", "b".repeat(101))).is_err());
    }

    #[test]
    fn an_artifacts_name_is_that_of_one_directory() {
        for name in ["telemetry", "telemetry-linux (3.12)", ".hidden", "größe"] {
            assert_eq!(checked_artifact_name(name).unwrap(), name);
        }
        for name in ["", ".", "..", "a/b", "..\\a", "C:a", "a\0", "a\nb"] {
            assert!(checked_artifact_name(name).is_err(), "{name:?}");
        }
        assert!(checked_artifact_name(&"x".repeat(256)).is_err());
    }

    #[test]
    fn entries_stay_where_they_are_unpacked() {
        for name in ["a", "a/b.txt", "a/", "..a/b..", "a//b", "./a"] {
            assert_eq!(entry_fault(name), None, "{name}");
        }
        let faults =
            ["/a", "\\a", "C:\\a", "c:a", "../a", "a/../b", "a\\..\\b", "a\0b", "", ".", "a/c:b"];
        for name in faults {
            assert!(entry_fault(name).is_some(), "{name:?}");
        }
        assert!(entry_fault(&"x".repeat(256)).is_some());
        assert!(entry_fault(&"x/".repeat(600)).is_some());
    }

    #[test]
    fn an_entrys_path_is_made_of_its_parts() {
        for (name, path) in [("a/b", "a/b"), ("./a//b/", "a/b"), ("a\\b", "a/b"), ("a.", "a.")] {
            assert_eq!(entry_path(name), Path::new(path), "{name}");
        }
    }
}
