//! The text of a token: `kymo_<id>_<secret>`.
//!
//! The id (12 characters of `a-z2-7`) finds it and may be seen; the secret (43 characters, 256
//! random bits in base64url) may not, and only its hash is kept. The beginning lets scanners for
//! leaked secrets find tokens.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::digest::{SHA256, SHA256_OUTPUT_LEN, digest};
use ring::rand::{SecureRandom as _, SystemRandom};

/// What each token begins with.
pub const PREFIX: &str = "kymo_";
/// Characters of an id.
pub const ID_CHARS: usize = 12;
/// Random bytes of a secret.
const SECRET_BYTES: usize = 32;
/// Characters of a secret.
const SECRET_CHARS: usize = 43;
/// Characters at the end that are shown, so that people recognise their token: 24 of 256 bits.
const ENDING_CHARS: usize = 4;
const ID_ALPHABET: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";

/// The hash that a token is kept as: SHA-256 of its whole text.
pub type TokenHash = [u8; SHA256_OUTPUT_LEN];

/// A token that was just made. It can be shown now, and never again.
#[derive(Clone, PartialEq, Eq)]
pub struct TokenText(String);

impl TokenText {
    /// A new one; none if the system has no random numbers.
    pub(crate) fn random() -> Option<Self> {
        let random = SystemRandom::new();
        let (mut id, mut secret) = ([0; ID_CHARS], [0; SECRET_BYTES]);
        random.fill(&mut id).ok()?;
        random.fill(&mut secret).ok()?;
        let letter = |byte: &u8| ID_ALPHABET.get(usize::from(byte % 32)).copied().map(char::from);
        let id: String = id.iter().filter_map(letter).collect();
        Some(Self(format!("{PREFIX}{id}_{}", URL_SAFE_NO_PAD.encode(secret))))
    }

    /// The text, to be handed to its owner.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// What finds it.
    pub(crate) fn id(&self) -> &str {
        id_of(&self.0).unwrap_or_default()
    }

    /// Its last characters.
    pub(crate) fn ending(&self) -> &str {
        self.0.get(self.0.len().saturating_sub(ENDING_CHARS)..).unwrap_or_default()
    }
}

impl fmt::Debug for TokenText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}{}_***", self.id())
    }
}

/// The id of what looks like a token.
pub(crate) fn id_of(text: &str) -> Option<&str> {
    let (id, secret) = text.strip_prefix(PREFIX)?.split_once('_')?;
    let is_secret = secret.len() == SECRET_CHARS
        && secret.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
    (is_id(id) && is_secret).then_some(id)
}

/// Whether a text could be an id.
pub(crate) fn is_id(text: &str) -> bool {
    text.len() == ID_CHARS && text.bytes().all(|byte| ID_ALPHABET.contains(&byte))
}

/// The hash of a token.
pub(crate) fn hash(text: &str) -> TokenHash {
    let mut hash = TokenHash::default();
    for (to, from) in hash.iter_mut().zip(digest(&SHA256, text.as_bytes()).as_ref()) {
        *to = *from;
    }
    hash
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_has_its_form_and_is_new_each_time() {
        let token = TokenText::random().unwrap();
        assert_eq!(token.reveal().len(), 5 + 12 + 1 + 43);
        assert_eq!(id_of(token.reveal()), Some(token.id()));
        assert!(token.reveal().ends_with(token.ending()));
        assert_ne!(TokenText::random().unwrap(), token);
    }

    #[test]
    fn a_secret_with_underscores_is_read_whole() {
        let text = format!("kymo_abcdefghijkl_{}", "_".repeat(43));
        assert_eq!(id_of(&text), Some("abcdefghijkl"));
    }

    #[test]
    fn other_texts_are_no_tokens() {
        let secret = "s".repeat(43);
        for text in [
            String::new(),
            "kymo_".to_owned(),
            format!("kymo_abcdefghijk_{secret}"),
            format!("kymo_ABCDEFGHIJKL_{secret}"),
            format!("kymo_abcdefghijkl_{secret}s"),
            format!("kymo_abcdefghijkl_{}!", &secret[1..]),
            format!("kymo_abcdefghijkl{secret}"),
            format!("KYMO_abcdefghijkl_{secret}"),
        ] {
            assert_eq!(id_of(&text), None, "{text}");
        }
    }

    #[test]
    fn a_token_is_not_shown_by_debug() {
        let token = TokenText::random().unwrap();
        let secret = token.reveal().rsplit_once(token.id()).unwrap().1;
        assert!(!format!("{token:?}").contains(&secret[1..]));
    }
}
