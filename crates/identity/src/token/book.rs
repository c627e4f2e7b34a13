//! The book of tokens: made, listed, revoked; kept as hashes only.
//!
//! A book is a value: who changes it writes the changed one to where it is kept, and then makes it
//! effective ([`crate::Identity::set_tokens`]).

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use subtle::ConstantTimeEq as _;
use thiserror::Error;

use super::json::VERSION;
use super::text::{self, TokenHash, TokenText};
use crate::grant::Grant;
use crate::limits::{EXPIRED_TOKENS_LISTED_FOR, MAX_BOOK_BYTES, MAX_NAME_BYTES, MAX_TOKENS};
use crate::method::Method;
use crate::role::{Role, Tenants};

/// Why a token cannot be made, or a book not be read.
#[derive(Debug, Error)]
pub enum TokenError {
    /// A name that cannot be shown.
    #[error("a token's name has 1 to {MAX_NAME_BYTES} bytes without control characters")]
    Name,
    /// A token that could nothing.
    #[error("a token needs some of the roles write, read, admin")]
    NoRole,
    /// Tenants that are none.
    #[error("its tenants: {0}")]
    Tenants(String),
    /// It would never be valid.
    #[error("a token must expire in the future, or never")]
    Expired,
    /// There are too many.
    #[error("there are {MAX_TOKENS} tokens, which is as many as can be; revoke some")]
    Full,
    /// They would take too much.
    #[error(
        "the book would have {size_bytes} bytes, expected at most {MAX_BOOK_BYTES}; revoke some \
         tokens, or name fewer tenants"
    )]
    NoRoom {
        /// What it would have.
        size_bytes: usize,
    },
    /// The system has no random numbers.
    #[error("the system gave no random numbers")]
    NoRandom,
    /// A book that is too large.
    #[error("the book has {size_bytes} bytes, expected at most {MAX_BOOK_BYTES}")]
    TooLarge {
        /// Its size.
        size_bytes: usize,
    },
    /// A book of a newer program.
    #[error("the book has version {found}, this program reads up to {VERSION}; use a newer one")]
    Newer {
        /// Its version.
        found: u32,
    },
    /// Not a book. Where, but not what: it could be a secret.
    #[error(
        "the book is not what docs/formats/tokens.md describes, at line {line}, column {column}"
    )]
    Malformed {
        /// The line, from 1.
        line: usize,
        /// The column, from 1.
        column: usize,
    },
    /// A token in the book that cannot be one.
    #[error("token number {nth} of the book: {why}")]
    Record {
        /// Which, from 1.
        nth: usize,
        /// What is wrong with it.
        why: &'static str,
    },
    /// The book cannot be written as JSON.
    #[error("the book cannot be written: {0}")]
    Unwritable(String),
}

/// What is asked for of a new token.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewToken {
    /// What it is for, for people.
    pub name: String,
    /// What its owner may do.
    pub roles: BTreeSet<Role>,
    /// Where; everywhere unless said.
    #[serde(default)]
    pub tenants: Tenants,
    /// From when on it is not valid, in seconds since 1970; never unless said.
    #[serde(default)]
    pub expires_unix_secs: Option<u64>,
}

/// What is known of a token that was made. It can be shown: what would let somebody in is not here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TokenRecord {
    /// What finds it, and revokes it.
    pub id: String,
    /// What it is for.
    pub name: String,
    /// What its owner may do.
    pub roles: BTreeSet<Role>,
    /// Where.
    pub tenants: Tenants,
    /// When it was made, in seconds since 1970.
    pub created_unix_secs: u64,
    /// From when on it is not valid.
    pub expires_unix_secs: Option<u64>,
    /// Its last four characters.
    pub ending: String,
}

impl TokenRecord {
    /// Whether it is no longer valid.
    #[must_use]
    pub fn is_expired(&self, now_unix_secs: u64) -> bool {
        self.expires_unix_secs.is_some_and(|expires| expires <= now_unix_secs)
    }
}

/// All tokens.
#[derive(Clone, Default)]
pub struct TokenBook {
    pub(super) tokens: BTreeMap<String, Kept>,
}

#[derive(Clone)]
pub(super) struct Kept {
    pub(super) record: TokenRecord,
    pub(super) hash: TokenHash,
}

impl TokenBook {
    /// An empty one.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes a token. Its text is returned here and nowhere else. Those that expired long ago make
    /// room for it, and so do all that have expired if there is no other.
    ///
    /// # Errors
    ///
    /// What is asked for cannot be, or there are no random numbers.
    pub fn make(
        &mut self,
        asked: NewToken,
        now_unix_secs: u64,
    ) -> Result<(TokenText, TokenRecord), TokenError> {
        if !is_name(&asked.name) {
            return Err(TokenError::Name);
        }
        if asked.roles.is_empty() {
            return Err(TokenError::NoRole);
        }
        asked.tenants.check().map_err(TokenError::Tenants)?;
        if asked.expires_unix_secs.is_some_and(|expires| expires <= now_unix_secs) {
            return Err(TokenError::Expired);
        }
        self.forget_expired(now_unix_secs.saturating_sub(EXPIRED_TOKENS_LISTED_FOR.as_secs()));
        if self.tokens.len() >= MAX_TOKENS && self.forget_expired(now_unix_secs) == 0 {
            return Err(TokenError::Full);
        }
        let token = self.unused()?;
        let record = TokenRecord {
            id: token.id().to_owned(),
            name: asked.name,
            roles: asked.roles,
            tenants: asked.tenants,
            created_unix_secs: now_unix_secs,
            expires_unix_secs: asked.expires_unix_secs,
            ending: token.ending().to_owned(),
        };
        let kept = Kept { record: record.clone(), hash: text::hash(token.reveal()) };
        self.tokens.insert(record.id.clone(), kept);
        Ok((token, record))
    }

    /// Ids have 60 bits, so the first is nearly always unused.
    fn unused(&self) -> Result<TokenText, TokenError> {
        (0..10)
            .filter_map(|_| TokenText::random())
            .find(|token| !self.tokens.contains_key(token.id()))
            .ok_or(TokenError::NoRandom)
    }

    /// Takes a token away; none if there is none of that id.
    pub fn revoke(&mut self, id: &str) -> Option<TokenRecord> {
        self.tokens.remove(id).map(|kept| kept.record)
    }

    /// Takes away those that expired before a time; how many those were.
    pub fn forget_expired(&mut self, before_unix_secs: u64) -> usize {
        let count = self.tokens.len();
        self.tokens.retain(|_, kept| !kept.record.is_expired(before_unix_secs));
        count - self.tokens.len()
    }

    /// All of them, the oldest first.
    #[must_use]
    pub fn list(&self) -> Vec<&TokenRecord> {
        self.sorted().into_iter().map(|kept| &kept.record).collect()
    }

    /// The oldest first.
    pub(super) fn sorted(&self) -> Vec<&Kept> {
        let mut tokens: Vec<_> = self.tokens.values().collect();
        // Those of one second stay in the order of their ids.
        tokens.sort_by_key(|kept| kept.record.created_unix_secs);
        tokens
    }

    /// What a token grants, if it is one of the book and has not expired.
    #[must_use]
    pub fn find(&self, token: &str, now_unix_secs: u64) -> Option<Grant> {
        let kept = self.tokens.get(text::id_of(token)?)?;
        let is_same: bool = kept.hash.ct_eq(&text::hash(token)).into();
        let Kept { record, .. } = kept;
        (is_same && !record.is_expired(now_unix_secs)).then(|| Grant {
            name: record.name.clone(),
            roles: record.roles.clone(),
            tenants: record.tenants.clone(),
            method: Some(Method::Bearer),
        })
    }
}

impl std::fmt::Debug for TokenBook {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.list()).finish()
    }
}

/// Whether it can be shown to people.
pub(super) fn is_name(name: &str) -> bool {
    !name.is_empty() && name.len() <= MAX_NAME_BYTES && !name.chars().any(char::is_control)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: u64 = 1_800_000_000;

    fn asked(name: &str) -> NewToken {
        NewToken {
            name: name.to_owned(),
            roles: BTreeSet::from([Role::Write]),
            tenants: Tenants::from(vec!["ci".to_owned()]),
            expires_unix_secs: None,
        }
    }

    #[test]
    fn a_token_is_found_until_it_is_revoked() {
        let mut book = TokenBook::new();
        let (token, record) = book.make(asked("runner"), NOW).unwrap();
        let (other, _) = book.make(asked("other"), NOW + 1).unwrap();
        let grant = book.find(token.reveal(), NOW).unwrap();
        assert_eq!((grant.name.as_str(), grant.tenant(None)), ("runner", Ok("ci")));
        assert_eq!(book.list().first().unwrap().name, "runner");
        assert_eq!(book.revoke(&record.id), Some(record.clone()));
        assert_eq!(book.revoke(&record.id), None);
        assert!(book.find(token.reveal(), NOW).is_none());
        assert!(book.find(other.reveal(), NOW).is_some());
    }

    #[test]
    fn a_token_with_one_other_character_is_not_found() {
        let mut book = TokenBook::new();
        let (token, _) = book.make(asked("runner"), NOW).unwrap();
        for at in 0..token.reveal().len() {
            let mut changed = token.reveal().as_bytes().to_vec();
            changed[at] = if changed[at] == b'a' { b'b' } else { b'a' };
            let changed = String::from_utf8(changed).unwrap();
            assert!(book.find(&changed, NOW).is_none(), "character {at}");
        }
    }

    #[test]
    fn a_token_is_valid_before_the_second_in_which_it_expires() {
        let mut book = TokenBook::new();
        let mut wanted = asked("short");
        wanted.expires_unix_secs = Some(NOW);
        assert!(matches!(book.make(wanted.clone(), NOW), Err(TokenError::Expired)));
        wanted.expires_unix_secs = Some(NOW + 10);
        let (token, _) = book.make(wanted, NOW).unwrap();
        assert!(book.find(token.reveal(), NOW + 9).is_some());
        assert!(book.find(token.reveal(), NOW + 10).is_none());
        assert_eq!(book.forget_expired(NOW + 9), 0);
        assert_eq!(book.forget_expired(NOW + 10), 1);
    }

    #[test]
    fn expired_tokens_make_room_for_others() {
        let mut book = TokenBook::new();
        let mut short = asked("short");
        short.expires_unix_secs = Some(NOW + 10);
        book.make(short.clone(), NOW).unwrap();
        let listed_until = NOW + 9 + EXPIRED_TOKENS_LISTED_FOR.as_secs();
        book.make(asked("ci"), listed_until).unwrap();
        assert_eq!(book.list().len(), 2);
        book.make(asked("ci"), listed_until + 1).unwrap();
        assert!(book.list().iter().all(|token| token.name == "ci"));
        book.make(short, NOW).unwrap();
        while book.list().len() < MAX_TOKENS {
            book.make(asked("ci"), NOW).unwrap();
        }
        assert!(matches!(book.make(asked("more"), NOW), Err(TokenError::Full)));
        book.make(asked("more"), NOW + 10).unwrap();
        assert!(matches!(book.make(asked("more"), NOW + 10), Err(TokenError::Full)));
        assert!(book.to_json().is_ok(), "as many as can be can be kept");
    }

    #[test]
    fn what_cannot_be_a_token_is_not_made() {
        let mut book = TokenBook::new();
        let make = |book: &mut TokenBook, change: fn(&mut NewToken)| {
            let mut wanted = asked("x");
            change(&mut wanted);
            book.make(wanted, NOW).err()
        };
        assert!(matches!(make(&mut book, |t| t.name.clear()), Some(TokenError::Name)));
        assert!(matches!(make(&mut book, |t| t.name.push('\n')), Some(TokenError::Name)));
        assert!(matches!(make(&mut book, |t| t.roles.clear()), Some(TokenError::NoRole)));
        let none = make(&mut book, |t| t.tenants = Tenants::from(vec![]));
        assert!(matches!(none, Some(TokenError::Tenants(_))));
        assert!(book.list().is_empty());
    }
}
