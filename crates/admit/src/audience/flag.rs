//! A flag: who is recorded, of which records.
//!
//! It promises that a [`Flag`] that was checked can be decided by ([`super::rule`]), stored and
//! written into a URL. It refuses keys that are no part of a URL, regular expressions that do not
//! compile within bounds, shares beyond 100 %, and lists beyond [`super::limits`].
//!
//! `Debug` of a flag tells how many users it lists, not which: logs are no place for people.

use std::collections::BTreeSet;
use std::fmt;

use kymo_wire::Signal;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::limits::{
    MAX_ATTRIBUTE_BYTES, MAX_ATTRIBUTES, MAX_CONDITION_BYTES, MAX_DESCRIPTION_BYTES, MAX_FLAGS,
    MAX_FLAGS_BYTES, MAX_KEY_BYTES, MAX_REGEX_BYTES, MAX_USER_BYTES, MAX_USERS,
};

/// Who is recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// No record that the flag is about is kept.
    #[default]
    Nobody,
    /// All are kept.
    Everybody,
    /// Those of selected users are kept.
    Selected,
}

impl Mode {
    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Nobody => "nobody",
            Self::Everybody => "everybody",
            Self::Selected => "selected",
        }
    }
}

/// What becomes of records whose user is not known, where users are selected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unknown {
    /// They are not kept.
    #[default]
    Nobody,
    /// They are kept.
    Everybody,
}

/// Who is recorded, of which records.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flag {
    /// Its name: 1 to 64 of `A-Z a-z 0-9 _ . -`.
    pub key: String,
    /// What it is for, in words.
    #[serde(default)]
    pub description: String,
    /// A flag that is not enabled decides nothing.
    pub enabled: bool,
    /// Who is recorded.
    pub mode: Mode,
    /// Users that are selected by name.
    #[serde(default)]
    pub users: BTreeSet<String>,
    /// The share of all users that is selected, from 0 to 100.
    #[serde(default)]
    pub percentage: f64,
    /// Users whose whole name matches are selected.
    #[serde(default)]
    pub regex: Option<String>,
    /// The attributes that name users. The user of a record is named by the first of these that it
    /// has; all others that it names have to be allowed too.
    pub attributes: Vec<String>,
    /// Whether records of unknown users are kept.
    pub unknown: Unknown,
    /// Which records the flag is about: a condition of TraceQL. All, if there is none.
    #[serde(rename = "where", default)]
    pub condition: Option<String>,
    /// Which signals it is about.
    #[serde(with = "signal_names")]
    pub signals: BTreeSet<Signal>,
    /// When it was last changed, in milliseconds since 1970.
    pub updated_at_millis: u64,
    /// Who changed it.
    pub updated_by: String,
}

/// Why a flag, a change of it, or a book of flags is refused.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum FlagError {
    /// Something in the flag is wrong.
    #[error("{field} {message}")]
    Invalid {
        /// The key of the flag's document.
        field: &'static str,
        /// What is expected.
        message: String,
    },
    /// There is no such flag.
    #[error("there is no flag {0:?}")]
    Missing(String),
    /// There is one already.
    #[error("there is a flag {0:?} already; update it, or delete it first")]
    Exists(String),
    /// There are as many flags as there can be.
    #[error("there are {MAX_FLAGS} flags, which is the most there can be; delete one first")]
    TooMany,
    /// All flags together take up too much.
    #[error(
        "the flags would take {size_bytes} bytes, {MAX_FLAGS_BYTES} is the most; list fewer users, \
         and select the rest by percentage or by regular expression"
    )]
    TooLarge {
        /// What they would take as JSON.
        size_bytes: usize,
    },
    /// A document cannot be read.
    #[error("the document cannot be read: {0}")]
    Document(String),
    /// A book was written by a later version.
    #[error(
        "the flags have format version {found}, this program reads version {known}; use a newer one"
    )]
    Newer {
        /// The version of the book.
        found: u32,
        /// The version that is read here.
        known: u32,
    },
}

impl FlagError {
    /// That a field is wrong.
    pub(crate) fn invalid(field: &'static str, message: impl Into<String>) -> Self {
        Self::Invalid { field, message: message.into() }
    }
}

impl Flag {
    /// Whether everything but regular expression and condition, which [`super::rule`] compiles, is
    /// as it must be.
    pub fn check(&self) -> Result<(), FlagError> {
        check_key(&self.key)?;
        check_attributes(&self.attributes)?;
        self.check_users()?;
        if !(0.0..=100.0).contains(&self.percentage) {
            return Err(FlagError::invalid("percentage", "must be a number from 0 to 100"));
        }
        if self.signals.is_empty() {
            return Err(FlagError::invalid("signals", "must name one of traces, metrics, logs"));
        }
        let regex = self.regex.as_deref().unwrap_or_default();
        let condition = self.condition.as_deref().unwrap_or_default();
        for (field, text, limit_bytes) in [
            ("regex", regex, MAX_REGEX_BYTES),
            ("where", condition, MAX_CONDITION_BYTES),
            ("description", &self.description, MAX_DESCRIPTION_BYTES),
        ] {
            if text.len() > limit_bytes {
                let message = format!("must have at most {limit_bytes} bytes");
                return Err(FlagError::invalid(field, message));
            }
        }
        Ok(())
    }

    fn check_users(&self) -> Result<(), FlagError> {
        if self.users.len() > MAX_USERS {
            let message = format!("must be at most {MAX_USERS}; use percentage or regex for more");
            return Err(FlagError::invalid("users", message));
        }
        let is_name = |user: &String| {
            (1..=MAX_USER_BYTES).contains(&user.len()) && !user.contains(char::is_control)
        };
        if !self.users.iter().all(is_name) {
            let message =
                format!("must have 1 to {MAX_USER_BYTES} bytes each, without control characters");
            return Err(FlagError::invalid("users", message));
        }
        Ok(())
    }
}

/// Whether a flag can have this key.
pub fn check_key(key: &str) -> Result<(), FlagError> {
    let is_right = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte);
    // A URL with one of these as a segment is another URL.
    let is_path = key == "." || key == "..";
    if (1..=MAX_KEY_BYTES).contains(&key.len()) && key.bytes().all(is_right) && !is_path {
        return Ok(());
    }
    let message = format!("must be 1 to {MAX_KEY_BYTES} of A-Z, a-z, 0-9, '_', '.' and '-'");
    Err(FlagError::invalid("key", message))
}

/// Whether these attributes can name a user.
pub(crate) fn check_attributes(attributes: &[String]) -> Result<(), FlagError> {
    if !(1..=MAX_ATTRIBUTES).contains(&attributes.len()) {
        let message = format!("must be 1 to {MAX_ATTRIBUTES} names of attributes");
        return Err(FlagError::invalid("attributes", message));
    }
    if !attributes.iter().all(|name| (1..=MAX_ATTRIBUTE_BYTES).contains(&name.len())) {
        let message = format!("must have 1 to {MAX_ATTRIBUTE_BYTES} bytes each");
        return Err(FlagError::invalid("attributes", message));
    }
    Ok(())
}

impl fmt::Debug for Flag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Flag")
            .field("key", &self.key)
            .field("enabled", &self.enabled)
            .field("mode", &self.mode)
            .field("users", &self.users.len())
            .field("percentage", &self.percentage)
            .field("has_regex", &self.regex.is_some())
            .field("attributes", &self.attributes)
            .field("unknown", &self.unknown)
            .field("signals", &self.signals)
            .finish_non_exhaustive()
    }
}

/// Signals by their names.
pub(crate) mod signal_names {
    use std::collections::BTreeSet;

    use kymo_wire::Signal;
    use serde::{Deserialize, Deserializer, Serializer, de};

    pub(crate) fn serialize<S: Serializer>(
        signals: &BTreeSet<Signal>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(signals.iter().map(|signal| signal.name()))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<BTreeSet<Signal>, D::Error> {
        let signal = |name: String| {
            let known = Signal::ALL.into_iter().find(|signal| signal.name() == name);
            known.ok_or_else(|| de::Error::unknown_variant(&name, &["traces", "metrics", "logs"]))
        };
        Vec::<String>::deserialize(deserializer)?.into_iter().map(signal).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flag() -> Flag {
        Flag {
            key: "flag_ot_traces".to_owned(),
            description: String::new(),
            enabled: true,
            mode: Mode::Selected,
            users: ["ada".to_owned()].into(),
            percentage: 10.0,
            regex: Some("b.*".to_owned()),
            attributes: vec!["user.id".to_owned()],
            unknown: Unknown::Nobody,
            condition: None,
            signals: Signal::ALL.into(),
            updated_at_millis: 1,
            updated_by: "root".to_owned(),
        }
    }

    #[test]
    fn a_flag_is_refused_with_the_field_that_is_wrong() {
        assert_eq!(flag().check(), Ok(()));
        type Spoil = fn(&mut Flag);
        let cases: [(&str, Spoil); 10] = [
            ("key", |flag| flag.key = "a/b".to_owned()),
            ("key", |flag| flag.key = "..".to_owned()),
            ("key", |flag| flag.key = "k".repeat(65)),
            ("users", |flag| flag.users = [String::new()].into()),
            ("users", |flag| flag.users = (0..=MAX_USERS).map(|n| n.to_string()).collect()),
            ("percentage", |flag| flag.percentage = f64::NAN),
            ("percentage", |flag| flag.percentage = 100.1),
            ("attributes", |flag| flag.attributes.clear()),
            ("signals", |flag| flag.signals.clear()),
            ("regex", |flag| flag.regex = Some("a".repeat(MAX_REGEX_BYTES + 1))),
        ];
        for (field, spoil) in cases {
            let mut spoiled = flag();
            spoil(&mut spoiled);
            let error = spoiled.check().unwrap_err();
            assert!(
                matches!(&error, FlagError::Invalid { field: found, .. } if *found == field),
                "{field}: {error}"
            );
        }
    }

    #[test]
    fn debug_tells_no_user() {
        let text = format!("{:?}", flag());
        assert!(!text.contains("ada") && !text.contains("b.*"), "{text}");
    }

    #[test]
    fn json_comes_back_as_it_was() {
        let text = serde_json::to_string(&flag()).unwrap();
        assert!(text.contains(r#""signals":["traces","metrics","logs"]"#), "{text}");
        assert_eq!(serde_json::from_str::<Flag>(&text).unwrap(), flag());
        assert!(serde_json::from_str::<Flag>(&text.replace("\"logs\"", "\"spans\"")).is_err());
        assert!(serde_json::from_str::<Flag>(&text.replace("\"mode\"", "\"mood\"")).is_err());
    }
}
