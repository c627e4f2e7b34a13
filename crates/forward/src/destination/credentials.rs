//! Who we say we are: the header `authorization`, of settings or of files that may change.
//!
//! A file is looked at at most every [`CREDENTIALS_CHECK`]. One that cannot be read any more leaves
//! what it said before in use: whoever replaces a file may remove it first.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Instant, SystemTime};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::HeaderValue;

use super::settings::DestinationSettings;
use crate::limits::{CREDENTIALS_CHECK, MAX_CREDENTIAL_BYTES};

/// What tells versions of a file apart: its time and its size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stamp(Option<(SystemTime, u64)>);

impl Stamp {
    pub(crate) fn of(path: &Path) -> Self {
        let found = fs::metadata(path).ok();
        Self(found.and_then(|found| Some((found.modified().ok()?, found.len()))))
    }
}

/// Where the header comes from.
pub(crate) struct Credentials {
    source: Source,
    /// The user, for a password.
    username: Option<String>,
    held: Mutex<Held>,
}

enum Source {
    Nothing,
    Text(String),
    File(PathBuf),
}

struct Held {
    value: Option<HeaderValue>,
    stamp: Option<Stamp>,
    checked: Option<Instant>,
}

impl Credentials {
    /// Those of a destination.
    pub(crate) fn new(settings: &DestinationSettings) -> Self {
        let text = |secret: &kymo_yaml::Secret| Source::Text(secret.reveal().to_owned());
        let (username, source) = match (&settings.basic, &settings.bearer, &settings.bearer_file) {
            (Some(basic), _, _) => {
                let source = match (&basic.password, &basic.password_file) {
                    (_, Some(path)) => Source::File(path.clone()),
                    (Some(password), None) => text(password),
                    (None, None) => Source::Text(String::new()),
                };
                (Some(basic.username.clone()), source)
            }
            (None, _, Some(path)) => (None, Source::File(path.clone())),
            (None, Some(token), None) => (None, text(token)),
            (None, None, None) => (None, Source::Nothing),
        };
        let held = Mutex::new(Held { value: None, stamp: None, checked: None });
        Self { source, username, held }
    }

    /// The header's value as it is now; none if there are no credentials.
    ///
    /// # Errors
    /// A file that cannot be read and never could, or what cannot stand in a header.
    pub(crate) fn header(&self) -> Result<Option<HeaderValue>, String> {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        match &self.source {
            Source::Nothing => return Ok(None),
            Source::Text(text) => {
                if held.value.is_none() {
                    held.value = Some(self.value(text)?);
                }
            }
            Source::File(path) => {
                let is_due = held.checked.is_none_or(|at| at.elapsed() >= CREDENTIALS_CHECK);
                if is_due {
                    self.look(path, &mut held)?;
                }
            }
        }
        Ok(held.value.clone())
    }

    fn look(&self, path: &Path, held: &mut Held) -> Result<(), String> {
        let stamp = Stamp::of(path);
        if held.value.is_none() || held.stamp != Some(stamp) {
            match read(path).and_then(|text| self.value(&text)) {
                Ok(value) => {
                    held.value = Some(value);
                    held.stamp = Some(stamp);
                }
                Err(why) if held.value.is_none() => return Err(why),
                Err(_) => {}
            }
        }
        held.checked = Some(Instant::now());
        Ok(())
    }

    fn value(&self, secret: &str) -> Result<HeaderValue, String> {
        let text = match &self.username {
            Some(user) => format!("Basic {}", STANDARD.encode(format!("{user}:{secret}"))),
            None => format!("Bearer {secret}"),
        };
        let mut value = HeaderValue::from_str(&text)
            .map_err(|_| "the token cannot stand in a header; expected one line".to_owned())?;
        value.set_sensitive(true);
        Ok(value)
    }
}

/// The text of a small file, without the line's end.
fn read(path: &Path) -> Result<String, String> {
    let failed = |why: String| format!("cannot read {}: {why}", path.display());
    let mut text = String::new();
    File::open(path)
        .and_then(|file| file.take(MAX_CREDENTIAL_BYTES).read_to_string(&mut text))
        .map_err(|error| failed(error.to_string()))?;
    let text = text.trim_end_matches(['\r', '\n']);
    if text.is_empty() {
        return Err(failed("it is empty".to_owned()));
    }
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::destination::settings::{BasicSettings, DestinationProtocol};

    fn shown(credentials: &Credentials) -> Option<String> {
        credentials.header().unwrap().map(|value| value.to_str().unwrap().to_owned())
    }

    #[test]
    fn users_and_tokens_become_headers() {
        let mut settings = DestinationSettings::new("a", DestinationProtocol::Http);
        assert_eq!(shown(&Credentials::new(&settings)), None);
        settings.bearer = Some(kymo_yaml::Secret::new("t0ken"));
        assert_eq!(shown(&Credentials::new(&settings)).as_deref(), Some("Bearer t0ken"));
        settings.basic = Some(BasicSettings {
            username: "me".to_owned(),
            password: Some(kymo_yaml::Secret::new("p@ss")),
            password_file: None,
        });
        let value = Credentials::new(&settings).header().unwrap().unwrap();
        assert_eq!(value, "Basic bWU6cEBzcw==");
        assert!(value.is_sensitive());
        settings.basic = None;
        settings.bearer = Some(kymo_yaml::Secret::new("two\nlines"));
        let wrong = Credentials::new(&settings).header().unwrap_err();
        assert!(!wrong.contains("two"), "{wrong}");
    }

    #[test]
    fn a_file_is_read_again_when_it_changes_and_its_last_words_stay() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("token");
        let mut settings = DestinationSettings::new("a", DestinationProtocol::Http);
        settings.bearer_file = Some(path.clone());
        let credentials = Credentials::new(&settings);
        assert!(credentials.header().unwrap_err().contains("token"));
        fs::write(&path, "one\n").unwrap();
        assert_eq!(shown(&credentials).as_deref(), Some("Bearer one"));
        let look = || credentials.held.lock().unwrap().checked = None;
        fs::write(&path, "three").unwrap();
        assert_eq!(shown(&credentials).as_deref(), Some("Bearer one"), "not looked at yet");
        look();
        assert_eq!(shown(&credentials).as_deref(), Some("Bearer three"));
        fs::remove_file(&path).unwrap();
        look();
        assert_eq!(shown(&credentials).as_deref(), Some("Bearer three"));
    }
}
