//! A user's password as it is kept: never itself, always something that it can be compared with.
//!
//! A file is read again when a login is checked, at most once a second, on a thread that may block:
//! it may be on a disk that does not answer. While it cannot be read, or is empty, nobody logs in as
//! that user: a password that was taken away must not go on working. While the disk does not answer at
//! all, what was known holds.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use ring::hmac;
use subtle::ConstantTimeEq as _;

use crate::limits::{MAX_PASSWORD_BYTES, MAX_PASSWORD_FILE_BYTES, PASSWORD_FILE_LOOKED_AT_EVERY};
use crate::password::{PasswordHash, waste_rounds};
use crate::settings::{UserSettings, WrongSetting};

/// What a password is compared with.
pub(crate) enum Stored {
    /// The password, under a key of this process.
    Tag(hmac::Tag),
    /// Its hash.
    Hash(PasswordHash),
    /// Nothing: no password is right.
    Nothing,
}

impl Stored {
    fn plain(password: &str, key: &hmac::Key) -> Self {
        Self::Tag(hmac::sign(key, password.as_bytes()))
    }

    /// What a file has: a hash, or a password.
    fn read(path: &Path, key: &hmac::Key) -> Result<Self, String> {
        let mut text = String::new();
        File::open(path)
            .and_then(|file| file.take(MAX_PASSWORD_FILE_BYTES).read_to_string(&mut text))
            .map_err(|error| format!("{} cannot be read: {error}", path.display()))?;
        let line = text.lines().next().unwrap_or_default();
        if line.is_empty() || line.len() > MAX_PASSWORD_BYTES {
            return Err(format!(
                "{} has no password of 1 to {MAX_PASSWORD_BYTES} bytes on its first line",
                path.display()
            ));
        }
        if PasswordHash::is_meant(line) {
            return PasswordHash::parse(line)
                .map(Self::Hash)
                .map_err(|why| format!("{}: {why}", path.display()));
        }
        Ok(Self::plain(line, key))
    }

    /// How long a comparison takes, in rounds of hashing.
    pub(crate) fn rounds(&self) -> u32 {
        match self {
            Self::Hash(hash) => hash.rounds(),
            Self::Tag(_) | Self::Nothing => 0,
        }
    }

    /// Whether a password is the right one. Takes `rounds` in each case, so that it cannot be seen
    /// from outside whether there is such a user, and how his password is kept.
    pub(crate) fn is(&self, password: &str, key: &hmac::Key, rounds: u32) -> bool {
        let given = hmac::sign(key, password.as_bytes());
        let is_right = match self {
            Self::Tag(tag) => tag.as_ref().ct_eq(given.as_ref()).into(),
            Self::Hash(hash) => hash.is_of(password),
            Self::Nothing => false,
        };
        waste_rounds(rounds.saturating_sub(self.rounds()), password);
        is_right
    }

    /// Something that changes when the password does, for what is remembered of it.
    pub(crate) fn fingerprint(&self) -> Vec<u8> {
        match self {
            Self::Tag(tag) => tag.as_ref().to_vec(),
            Self::Hash(hash) => hash.to_text().into_bytes(),
            Self::Nothing => Vec::new(),
        }
    }
}

/// Where it comes from.
pub(crate) enum Source {
    /// The configuration.
    Fixed(Arc<Stored>),
    /// A file.
    File(PasswordFile),
}

impl Source {
    /// What the settings of a user say.
    pub(crate) fn of(
        user: &UserSettings,
        field: &str,
        key: &hmac::Key,
        now: Instant,
    ) -> Result<Self, WrongSetting> {
        if let Some(path) = &user.password_file {
            let stored = Stored::read(path, key)
                .map_err(|why| WrongSetting::new(format!("{field}.password_file"), why))?;
            let last = Mutex::new((now, Arc::new(stored)));
            let is_being_read = AtomicBool::new(false);
            return Ok(Self::File(PasswordFile { path: path.clone(), last, is_being_read }));
        }
        let stored = match (&user.password, &user.password_hash) {
            (Some(password), _) => Stored::plain(password.reveal(), key),
            (None, Some(hash)) => {
                PasswordHash::parse(hash.reveal()).map(Stored::Hash).map_err(|why| {
                    WrongSetting::new(format!("{field}.password_hash"), why.to_string())
                })?
            }
            (None, None) => Stored::Nothing,
        };
        Ok(Self::Fixed(Arc::new(stored)))
    }

    /// What is known, without a look at the disk.
    pub(crate) fn known(&self) -> Arc<Stored> {
        match self {
            Self::Fixed(stored) => Arc::clone(stored),
            Self::File(file) => Arc::clone(&file.last().1),
        }
    }

    /// Whether it is time to read it again, and nobody does yet.
    pub(crate) fn is_due(&self, now: Instant) -> bool {
        match self {
            Self::Fixed(_) => false,
            Self::File(file) => file.is_due(now) && !file.is_being_read.load(Ordering::Relaxed),
        }
    }

    /// What holds now. May block.
    pub(crate) fn read_again(&self, key: &hmac::Key, now: Instant) -> Arc<Stored> {
        if let Self::File(file) = self {
            file.read_again(key, now);
        }
        self.known()
    }
}

/// A file with a password or its hash.
pub(crate) struct PasswordFile {
    path: PathBuf,
    /// When it was read, and what it had. Nobody waits for the disk while he has it.
    last: Mutex<(Instant, Arc<Stored>)>,
    /// One at a time: where the disk does not answer, others must not wait for it as well.
    is_being_read: AtomicBool,
}

impl PasswordFile {
    fn is_due(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.last().0) >= PASSWORD_FILE_LOOKED_AT_EVERY
    }

    fn read_again(&self, key: &hmac::Key, now: Instant) {
        if !self.is_due(now) || self.is_being_read.swap(true, Ordering::Relaxed) {
            return;
        }
        let stored = Stored::read(&self.path, key).unwrap_or(Stored::Nothing);
        *self.last() = (now, Arc::new(stored));
        self.is_being_read.store(false, Ordering::Relaxed);
    }

    fn last(&self) -> MutexGuard<'_, (Instant, Arc<Stored>)> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn key() -> hmac::Key {
        hmac::Key::new(hmac::HMAC_SHA256, b"key of a test")
    }

    fn user(text: &str) -> UserSettings {
        kymo_yaml::from_str(&format!("{text}\nname: ada\nroles: [read]")).unwrap()
    }

    #[test]
    fn a_password_of_the_configuration_is_right_and_others_are_not() {
        let source =
            Source::of(&user("password: hunter2"), "users[0]", &key(), Instant::now()).unwrap();
        let stored = source.read_again(&key(), Instant::now());
        assert!(stored.is("hunter2", &key(), 0));
        assert!(!stored.is("hunter", &key(), 0));
        assert!(!Stored::Nothing.is("", &key(), 0));
    }

    #[test]
    fn a_file_is_read_again_after_a_second_and_locks_out_while_it_is_gone() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("password");
        std::fs::write(&path, "first\n").unwrap();
        let now = Instant::now();
        let settings = user(&format!("password_file: {}", path.display()));
        let source = Source::of(&settings, "users[0]", &key(), now).unwrap();
        let is = |password: &str, millis: u64| {
            let stored = source.read_again(&key(), now + Duration::from_millis(millis));
            stored.is(password, &key(), 0)
        };
        assert!(is("first", 0));
        std::fs::write(&path, "second").unwrap();
        assert!(is("first", 999));
        assert!(is("second", 1000));
        assert!(!is("first", 1000));
        std::fs::remove_file(&path).unwrap();
        assert!(!is("second", 2000));
        std::fs::write(&path, "").unwrap();
        assert!(!is("", 3000));
        std::fs::write(&path, "second").unwrap();
        assert!(is("second", 4000));
    }

    #[test]
    fn a_file_can_have_a_hash() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("password");
        std::fs::write(&path, crate::password::hash_password("hunter2").unwrap()).unwrap();
        let settings = user(&format!("password_file: {}", path.display()));
        let source = Source::of(&settings, "users[0]", &key(), Instant::now()).unwrap();
        let stored = source.known();
        assert_eq!(stored.rounds(), crate::limits::PASSWORD_ROUNDS);
        assert!(stored.is("hunter2", &key(), 0));
    }

    #[test]
    fn a_missing_or_empty_file_is_an_error_at_the_start() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("password");
        let settings = user(&format!("password_file: {}", path.display()));
        let wrong = |settings| Source::of(settings, "users[0]", &key(), Instant::now()).err();
        let why = wrong(&settings).unwrap().to_string();
        assert!(why.starts_with("users[0].password_file: "), "{why}");
        std::fs::write(&path, "\n").unwrap();
        assert!(wrong(&settings).unwrap().to_string().contains("no password"));
    }
}
