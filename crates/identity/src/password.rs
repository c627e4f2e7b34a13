//! Hashes of passwords: `pbkdf2-sha256$<rounds>$<salt>$<hash>`, both in base64.
//!
//! Hashing is slow by intent, so whoever checks one does it on a thread that may block.

use std::num::NonZeroU32;

use base64::Engine as _;
use base64::alphabet::STANDARD as ALPHABET;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use ring::digest::SHA256_OUTPUT_LEN;
use ring::pbkdf2::{self, PBKDF2_HMAC_SHA256};
use ring::rand::{SecureRandom as _, SystemRandom};
use thiserror::Error;

use crate::limits::{
    MAX_PASSWORD_BYTES, MAX_PASSWORD_ROUNDS, MAX_SALT_BYTES, MIN_PASSWORD_ROUNDS, PASSWORD_ROUNDS,
    SALT_BYTES,
};

const SCHEME: &str = "pbkdf2-sha256";
/// Other programs write the padding or leave it out; both are read.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &ALPHABET,
    GeneralPurposeConfig::new()
        .with_encode_padding(false)
        .with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// Why a password cannot be hashed, or a text is no hash of one. Never has either.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PasswordError {
    /// A hash in another form.
    #[error("expected pbkdf2-sha256$<rounds>$<salt>$<hash>, as kymo token hash-password prints it")]
    Form,
    /// Too few or too many rounds.
    #[error("it has {0} rounds; expected {MIN_PASSWORD_ROUNDS} to {MAX_PASSWORD_ROUNDS}")]
    Rounds(u32),
    /// A salt that is too short to be one, or too long.
    #[error("its salt has {0} bytes; expected {SALT_BYTES} to {MAX_SALT_BYTES}")]
    Salt(usize),
    /// A password that is empty or too long.
    #[error("a password has 1 to {MAX_PASSWORD_BYTES} bytes")]
    Length,
    /// The system has no random numbers.
    #[error("the system gave no random numbers")]
    NoRandom,
}

/// The hash of a password.
#[derive(Clone, PartialEq, Eq)]
pub struct PasswordHash {
    rounds: NonZeroU32,
    salt: Vec<u8>,
    hash: [u8; SHA256_OUTPUT_LEN],
}

impl PasswordHash {
    /// Reads one.
    ///
    /// # Errors
    ///
    /// It is none, or one that is too weak or too costly.
    pub fn parse(text: &str) -> Result<Self, PasswordError> {
        let mut parts = text.trim().split('$');
        let (Some(SCHEME), Some(rounds), Some(salt), Some(hash), None) =
            (parts.next(), parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(PasswordError::Form);
        };
        let rounds: u32 = rounds.parse().map_err(|_| PasswordError::Form)?;
        let in_bounds = (MIN_PASSWORD_ROUNDS..=MAX_PASSWORD_ROUNDS).contains(&rounds);
        let rounds =
            NonZeroU32::new(rounds).filter(|_| in_bounds).ok_or(PasswordError::Rounds(rounds))?;
        let salt = BASE64.decode(salt).map_err(|_| PasswordError::Form)?;
        if !(SALT_BYTES..=MAX_SALT_BYTES).contains(&salt.len()) {
            return Err(PasswordError::Salt(salt.len()));
        }
        let hash = BASE64.decode(hash).map_err(|_| PasswordError::Form)?;
        let hash = hash.try_into().map_err(|_| PasswordError::Form)?;
        Ok(Self { rounds, salt, hash })
    }

    /// Whether a text is probably meant as one.
    #[must_use]
    pub fn is_meant(text: &str) -> bool {
        text.trim_start().strip_prefix(SCHEME).is_some_and(|rest| rest.starts_with('$'))
    }

    /// Hashes a password, with a salt of its own.
    ///
    /// # Errors
    ///
    /// The password is empty or too long, or there are no random numbers.
    pub fn of(password: &str) -> Result<Self, PasswordError> {
        if password.is_empty() || password.len() > MAX_PASSWORD_BYTES {
            return Err(PasswordError::Length);
        }
        let rounds = NonZeroU32::new(PASSWORD_ROUNDS).ok_or(PasswordError::Rounds(0))?;
        let mut salt = vec![0; SALT_BYTES];
        SystemRandom::new().fill(&mut salt).map_err(|_| PasswordError::NoRandom)?;
        let mut hash = [0; SHA256_OUTPUT_LEN];
        pbkdf2::derive(PBKDF2_HMAC_SHA256, rounds, &salt, password.as_bytes(), &mut hash);
        Ok(Self { rounds, salt, hash })
    }

    /// Whether it is that of a password. Takes long, and equally long whatever the password is.
    #[must_use]
    pub fn is_of(&self, password: &str) -> bool {
        let password = password.as_bytes();
        pbkdf2::verify(PBKDF2_HMAC_SHA256, self.rounds, &self.salt, password, &self.hash).is_ok()
    }

    /// How long that takes.
    #[must_use]
    pub fn rounds(&self) -> u32 {
        self.rounds.get()
    }

    /// As text.
    #[must_use]
    pub fn to_text(&self) -> String {
        let (salt, hash) = (BASE64.encode(&self.salt), BASE64.encode(self.hash));
        format!("{SCHEME}${}${salt}${hash}", self.rounds)
    }
}

/// Takes as long as to check a hash of so many rounds.
pub(crate) fn waste_rounds(rounds: u32, password: &str) {
    let Some(rounds) = NonZeroU32::new(rounds) else { return };
    let mut hash = [0; SHA256_OUTPUT_LEN];
    pbkdf2::derive(PBKDF2_HMAC_SHA256, rounds, &[0; SALT_BYTES], password.as_bytes(), &mut hash);
    // Otherwise the compiler could see that nobody looks at it.
    std::hint::black_box(hash);
}

/// A hash can be guessed at by whoever sees it, so it is not shown.
impl std::fmt::Debug for PasswordHash {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{SCHEME}${}$***", self.rounds)
    }
}

/// The text for `password_hash` of a password.
///
/// # Errors
///
/// The password is empty or too long, or there are no random numbers.
pub fn hash_password(password: &str) -> Result<String, PasswordError> {
    PasswordHash::of(password).map(|hash| hash.to_text())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Made by Python: `hashlib.pbkdf2_hmac("sha256", b"correct horse", bytes(range(16)), 100000)`.
    const FOREIGN: &str = "pbkdf2-sha256$100000$AAECAwQFBgcICQoLDA0ODw==$V/LC8HOXSNUWQZsGKohGZjI8WD6krhZVBKgfe1PGKgk=";

    #[test]
    fn a_hash_is_that_of_its_password_only_and_differs_each_time() {
        let text = hash_password("correct horse").unwrap();
        let hash = PasswordHash::parse(&text).unwrap();
        assert!(hash.is_of("correct horse"));
        assert!(!hash.is_of("correct horsf"));
        assert_eq!(hash.rounds(), PASSWORD_ROUNDS);
        assert_eq!(hash.to_text(), text);
        assert_ne!(hash_password("correct horse").unwrap(), text);
    }

    #[test]
    fn hashes_of_other_programs_are_read_with_padding_and_without() {
        assert!(PasswordHash::parse(FOREIGN).unwrap().is_of("correct horse"));
        assert!(PasswordHash::parse(&FOREIGN.replace('=', "")).unwrap().is_of("correct horse"));
    }

    #[test]
    fn weak_costly_and_damaged_hashes_are_refused() {
        let with = |rounds: &str| PasswordHash::parse(&FOREIGN.replacen("100000", rounds, 1));
        assert_eq!(with("99999"), Err(PasswordError::Rounds(99_999)));
        assert_eq!(with("0"), Err(PasswordError::Rounds(0)));
        assert_eq!(with("10000001"), Err(PasswordError::Rounds(10_000_001)));
        assert_eq!(with("99999999999"), Err(PasswordError::Form));
        for text in ["", "hunter2", "pbkdf2-sha256$600000$AAAA", "scrypt$1$2$3", "a$b$c$d$e"] {
            assert_eq!(PasswordHash::parse(text), Err(PasswordError::Form), "{text}");
        }
        let short = FOREIGN.replace("AAECAwQFBgcICQoLDA0ODw==", "AAEC");
        assert_eq!(PasswordHash::parse(&short), Err(PasswordError::Salt(3)));
        assert_eq!(hash_password(""), Err(PasswordError::Length));
    }

    #[test]
    fn a_hash_is_not_shown() {
        let hash = PasswordHash::parse(FOREIGN).unwrap();
        assert_eq!(format!("{hash:?}"), "pbkdf2-sha256$100000$***");
    }
}
