//! The book of tokens as JSON, as `docs/formats/tokens.md` describes it.
//!
//! A newer version is refused, and so is a key that is not known, which would be lost when the book
//! is written again. Errors say where, never what: it could be a secret.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::book::{Kept, TokenBook, TokenError, TokenRecord, is_name};
use super::text::{self, TokenHash};
use crate::limits::{MAX_BOOK_BYTES, MAX_TOKENS};
use crate::role::{Role, Tenants};

/// The version that is written, and the newest that is read.
pub(super) const VERSION: u32 = 1;

impl TokenBook {
    /// The book as JSON.
    ///
    /// # Errors
    ///
    /// It has more bytes than can be read again.
    pub fn to_json(&self) -> Result<Vec<u8>, TokenError> {
        let tokens = self.sorted().into_iter().map(Line::of);
        let book = Book { version: VERSION, tokens: tokens.collect() };
        let json = serde_json::to_vec(&book);
        let json = json.map_err(|why| TokenError::Unwritable(why.to_string()))?;
        if json.len() > MAX_BOOK_BYTES {
            return Err(TokenError::NoRoom { size_bytes: json.len() });
        }
        Ok(json)
    }

    /// A book of JSON.
    ///
    /// # Errors
    ///
    /// It is none, or a newer one.
    pub fn from_json(json: &[u8]) -> Result<Self, TokenError> {
        if json.len() > MAX_BOOK_BYTES {
            return Err(TokenError::TooLarge { size_bytes: json.len() });
        }
        let malformed = |error: serde_json::Error| TokenError::Malformed {
            line: error.line(),
            column: error.column(),
        };
        // The version first: what a newer one has beside it is not known.
        let Version { version } = serde_json::from_slice(json).map_err(malformed)?;
        if version > VERSION {
            return Err(TokenError::Newer { found: version });
        }
        let book: Book = serde_json::from_slice(json).map_err(malformed)?;
        if book.tokens.len() > MAX_TOKENS {
            return Err(TokenError::Full);
        }
        let mut tokens = BTreeMap::new();
        for (nth, line) in book.tokens.into_iter().enumerate() {
            let kept = line.kept().map_err(|why| TokenError::Record { nth: nth + 1, why })?;
            if tokens.insert(kept.record.id.clone(), kept).is_some() {
                return Err(TokenError::Record { nth: nth + 1, why: "its id is there twice" });
            }
        }
        Ok(Self { tokens })
    }
}

#[derive(Deserialize)]
struct Version {
    version: u32,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Book {
    version: u32,
    tokens: Vec<Line>,
}

/// A token in the book.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    id: String,
    name: String,
    roles: BTreeSet<Role>,
    tenants: Tenants,
    created_unix_secs: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    expires_unix_secs: Option<u64>,
    ending: String,
    sha256: String,
}

impl Line {
    fn of(kept: &Kept) -> Self {
        let TokenRecord { id, name, roles, tenants, created_unix_secs, expires_unix_secs, ending } =
            kept.record.clone();
        let sha256 = hex(&kept.hash);
        Self { id, name, roles, tenants, created_unix_secs, expires_unix_secs, ending, sha256 }
    }

    fn kept(self) -> Result<Kept, &'static str> {
        if !text::is_id(&self.id) {
            return Err("its id is not 12 characters of a-z and 2-7");
        }
        if !is_name(&self.name) {
            return Err("its name is empty, too long or not printable");
        }
        if self.roles.is_empty() {
            return Err("it has no roles");
        }
        if self.tenants.check().is_err() {
            return Err("its tenants cannot be tenants");
        }
        let hash = unhex(&self.sha256).ok_or("its sha256 is not 64 digits of 0-9 and a-f")?;
        let record = TokenRecord {
            id: self.id,
            name: self.name,
            roles: self.roles,
            tenants: self.tenants,
            created_unix_secs: self.created_unix_secs,
            expires_unix_secs: self.expires_unix_secs,
            ending: self.ending,
        };
        Ok(Kept { record, hash })
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Option<TokenHash> {
    let mut hash = TokenHash::default();
    if text.len() != 2 * hash.len() {
        return None;
    }
    let digit =
        |byte: &u8| char::from(*byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    for (to, pair) in hash.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
        let [high, low] = pair else { return None };
        *to = digit(high)? << 4 | digit(low)?;
    }
    Some(hash)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::token::NewToken;

    const NOW: u64 = 1_800_000_000;

    #[test]
    fn a_book_comes_back_from_json_and_the_json_has_no_secret() {
        let mut book = TokenBook::new();
        let asked = r#"{"name": "runner", "roles": ["write"], "tenants": ["ci"]}"#;
        let asked: NewToken = serde_json::from_str(asked).unwrap();
        let (token, record) = book.make(asked, NOW).unwrap();
        let json = String::from_utf8(book.to_json().unwrap()).unwrap();
        let (_, secret) = token.reveal().split_at(5 + 12 + 1);
        assert!(!json.contains(secret));
        assert!(!format!("{book:?}{record:?}{token:?}").contains(secret));
        let again = TokenBook::from_json(json.as_bytes()).unwrap();
        assert_eq!(again.list(), [&record]);
        assert!(again.find(token.reveal(), NOW).is_some());
        assert_eq!(again.to_json().unwrap(), json.as_bytes());
    }

    #[test]
    fn a_book_that_could_not_be_read_again_is_not_written() {
        let mut book = TokenBook::new();
        let tenants: Vec<String> = (0..1000).map(|nth| format!("{nth:064}")).collect();
        let asked = NewToken {
            name: "many".to_owned(),
            roles: [Role::Read].into(),
            tenants: tenants.into(),
            expires_unix_secs: None,
        };
        while let Ok(json) = book.to_json() {
            assert!(TokenBook::from_json(&json).is_ok());
            book.make(asked.clone(), NOW).unwrap();
        }
        assert!(matches!(book.to_json(), Err(TokenError::NoRoom { .. })));
    }

    #[test]
    fn a_newer_or_damaged_book_is_refused() {
        let newer = TokenBook::from_json(br#"{"version": 2, "tokens": {}, "more": 1}"#);
        assert!(matches!(newer, Err(TokenError::Newer { found: 2 })));
        let line = |id: &str, sha256: &str| {
            format!(
                r#"{{"id":"{id}","name":"n","roles":["read"],"tenants":["*"],"created_unix_secs":1,"ending":"abcd","sha256":"{sha256}"}}"#
            )
        };
        let read = |lines: &[String]| {
            let json = format!(r#"{{"version":1,"tokens":[{}]}}"#, lines.join(","));
            TokenBook::from_json(json.as_bytes()).map(|book| book.list().len())
        };
        let good = line("abcdefghijkl", &"0".repeat(64));
        assert_eq!(read(std::slice::from_ref(&good)).unwrap(), 1);
        for (nth, lines) in [
            (1, vec![line("abc", &"0".repeat(64))]),
            (1, vec![line("abcdefghijkl", &"g".repeat(64))]),
            (1, vec![line("abcdefghijkl", "\u{e9}00")]),
            (2, vec![good.clone(), good.clone()]),
            (1, vec![good.replace(r#"["read"]"#, "[]")]),
            (1, vec![good.replace(r#"["*"]"#, "[]")]),
        ] {
            let found = read(&lines);
            assert!(
                matches!(found, Err(TokenError::Record { nth: n, .. }) if n == nth),
                "{found:?}"
            );
        }
        for json in ["", "[]", "{", r#"{"version":1}"#, r#"{"version":1,"tokens":[],"x":1}"#] {
            let found = TokenBook::from_json(json.as_bytes());
            assert!(matches!(found, Err(TokenError::Malformed { .. })), "{json}");
        }
    }
}
