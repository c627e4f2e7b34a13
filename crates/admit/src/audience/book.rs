//! All flags with the audit of their changes: one document, changed as a whole.
//!
//! A book is a value. Who changes one takes a copy, changes it, makes it durable, and then hands it
//! to [`super::Audience::replace`]. Each change is checked before anything of it is seen: a call
//! that fails leaves the book as it was. The document is in `docs/formats/audience.md`.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::audit::AuditEntry;
use super::flag::{Flag, FlagError, check_key};
use super::limits::{
    MAX_AUDIT_BYTES, MAX_AUDIT_ENTRIES, MAX_AUTHOR_BYTES, MAX_BOOK_BYTES, MAX_FLAGS,
    MAX_FLAGS_BYTES,
};
use super::patch::FlagPatch;
use super::rule::Rule;
use super::settings::AudienceSettings;

/// The version of the document that is written, and the latest that is read.
pub const VERSION: u32 = 1;

/// Who changes something, and when.
#[derive(Debug, Clone, Copy)]
pub struct Author<'a> {
    /// The name of the user, or of what acts for one.
    pub by: &'a str,
    /// Milliseconds since 1970.
    pub at_millis: u64,
}

impl Author<'_> {
    /// The name as far as it is kept.
    pub(crate) fn name(&self) -> &str {
        self.by.get(..self.by.floor_char_boundary(MAX_AUTHOR_BYTES)).unwrap_or_default()
    }
}

/// What a change did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// There is a new flag.
    Created,
    /// A flag is another now.
    Updated,
    /// Everything is as it was: there is nothing to keep, and nothing in the audit.
    Nothing,
}

/// All flags, with the audit of their changes.
#[derive(Debug, Clone, Default)]
pub struct FlagBook {
    rules: BTreeMap<String, Arc<Rule>>,
    /// The oldest first.
    audit: VecDeque<AuditEntry>,
}

#[derive(Serialize)]
struct Written<'a> {
    version: u32,
    flags: Vec<&'a Flag>,
    audit: &'a VecDeque<AuditEntry>,
}

/// Read before anything else, since a later version may have anything else.
#[derive(Deserialize)]
struct Versioned {
    version: u32,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Read {
    #[serde(rename = "version")]
    _version: u32,
    flags: Vec<Flag>,
    #[serde(default)]
    audit: VecDeque<AuditEntry>,
}

impl FlagBook {
    /// Reads a document. It is refused as a whole if anything in it is wrong, since a flag that is
    /// left out would show people who are not to be seen.
    pub fn from_json(json: &[u8]) -> Result<Self, FlagError> {
        if json.len() > MAX_BOOK_BYTES {
            let message = format!("it has more than {MAX_BOOK_BYTES} bytes");
            return Err(FlagError::Document(message));
        }
        let unreadable = |error: serde_json::Error| FlagError::Document(error.to_string());
        let Versioned { version } = serde_json::from_slice(json).map_err(unreadable)?;
        if version > VERSION {
            return Err(FlagError::Newer { found: version, known: VERSION });
        }
        let read: Read = serde_json::from_slice(json).map_err(unreadable)?;
        if read.flags.len() > MAX_FLAGS {
            return Err(FlagError::TooMany);
        }
        let mut book = Self { rules: BTreeMap::new(), audit: read.audit };
        for flag in read.flags {
            let key = flag.key.clone();
            if book.rules.insert(key.clone(), Arc::new(Rule::new(flag)?)).is_some() {
                return Err(FlagError::Document(format!("the flag {key:?} is there twice")));
            }
        }
        book.forget_old();
        Ok(book)
    }

    /// Writes the document.
    pub fn to_json(&self) -> Result<Vec<u8>, FlagError> {
        let written =
            Written { version: VERSION, flags: self.flags().collect(), audit: &self.audit };
        serde_json::to_vec(&written).map_err(|error| FlagError::Document(error.to_string()))
    }

    /// All flags, by key.
    pub fn flags(&self) -> impl Iterator<Item = &Flag> {
        self.rules.values().map(|rule| rule.flag())
    }

    /// All flags, compiled, by key.
    pub(crate) fn rules(&self) -> impl Iterator<Item = &Arc<Rule>> {
        self.rules.values()
    }

    /// The flag with a key, compiled.
    #[must_use]
    pub fn rule(&self, key: &str) -> Option<&Rule> {
        self.rules.get(key).map(Arc::as_ref)
    }

    /// The flag with a key.
    #[must_use]
    pub fn flag(&self, key: &str) -> Option<&Flag> {
        self.rule(key).map(Rule::flag)
    }

    /// The changes that are remembered, the latest first.
    pub fn audit(&self) -> impl Iterator<Item = &AuditEntry> {
        self.audit.iter().rev()
    }

    /// Makes a new flag.
    pub fn create(
        &mut self,
        key: &str,
        said: FlagPatch,
        settings: &AudienceSettings,
        author: &Author<'_>,
    ) -> Result<Change, FlagError> {
        if self.rules.contains_key(key) {
            return Err(FlagError::Exists(key.to_owned()));
        }
        self.put(key, said.create(key, settings, author), author)
    }

    /// Makes a flag what is said, whether it is there or not.
    pub fn replace(
        &mut self,
        key: &str,
        said: FlagPatch,
        settings: &AudienceSettings,
        author: &Author<'_>,
    ) -> Result<Change, FlagError> {
        self.put(key, said.create(key, settings, author), author)
    }

    /// Changes some fields of a flag.
    pub fn update(
        &mut self,
        key: &str,
        said: FlagPatch,
        author: &Author<'_>,
    ) -> Result<Change, FlagError> {
        let flag = self.flag(key).ok_or_else(|| FlagError::Missing(key.to_owned()))?.clone();
        self.put(key, said.apply(flag, author), author)
    }

    /// Removes a flag.
    pub fn delete(&mut self, key: &str, author: &Author<'_>) -> Result<(), FlagError> {
        let rule = self.rules.get(key).ok_or_else(|| FlagError::Missing(key.to_owned()))?;
        let entry = AuditEntry::new(key, Some(rule.flag()), None, author)?;
        self.rules.remove(key);
        self.remember(entry);
        Ok(())
    }

    fn put(&mut self, key: &str, flag: Flag, author: &Author<'_>) -> Result<Change, FlagError> {
        check_key(key)?;
        let before = self.flag(key);
        let change = match before {
            None if self.rules.len() >= MAX_FLAGS => return Err(FlagError::TooMany),
            None => Change::Created,
            Some(before) if is_same(before, &flag) => return Ok(Change::Nothing),
            Some(_) => Change::Updated,
        };
        let rule = Rule::new(flag)?;
        rule.check_signals()?;
        let entry = AuditEntry::new(key, before, Some(rule.flag()), author)?;
        let others = self.flags().filter(|flag| flag.key != key);
        let size_bytes: usize =
            others.chain([rule.flag()]).map(json_bytes).sum::<Result<usize, FlagError>>()?;
        if size_bytes > MAX_FLAGS_BYTES {
            return Err(FlagError::TooLarge { size_bytes });
        }
        self.rules.insert(key.to_owned(), Arc::new(rule));
        self.remember(entry);
        Ok(change)
    }

    fn remember(&mut self, entry: AuditEntry) {
        self.audit.push_back(entry);
        self.forget_old();
    }

    /// Takes the oldest entries out until the rest is within bounds.
    fn forget_old(&mut self) {
        let mut room_bytes = MAX_AUDIT_BYTES;
        let fits = |entry: &&AuditEntry| {
            // One that cannot be written cannot be kept.
            let size_bytes = json_bytes(*entry).unwrap_or(usize::MAX);
            let is_within = size_bytes <= room_bytes;
            room_bytes = room_bytes.saturating_sub(size_bytes);
            is_within
        };
        let kept = self.audit.iter().rev().take(MAX_AUDIT_ENTRIES).take_while(fits).count();
        self.audit.drain(..self.audit.len() - kept);
    }
}

/// Whether two flags differ in who changed them at most.
fn is_same(before: &Flag, after: &Flag) -> bool {
    let unsigned = Flag {
        updated_at_millis: before.updated_at_millis,
        updated_by: before.updated_by.clone(),
        ..after.clone()
    };
    *before == unsigned
}

fn json_bytes<T: Serialize>(value: &T) -> Result<usize, FlagError> {
    let json = serde_json::to_vec(value).map_err(|error| FlagError::Document(error.to_string()))?;
    Ok(json.len())
}
