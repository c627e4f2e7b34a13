//! What somebody says about a flag: some of its fields.
//!
//! The same document creates a flag, replaces one and changes one. What differs is what becomes of
//! fields that it leaves out: they are as a new flag has them, or stay as they are.

use std::collections::BTreeSet;
use std::fmt;

use kymo_wire::Signal;
use serde::{Deserialize, Deserializer, Serialize};

use super::book::Author;
use super::flag::{Flag, Mode, Unknown, signal_names};
use super::settings::AudienceSettings;

/// Some fields of a flag. Names are those of [`Flag`].
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct FlagPatch {
    /// What it is for, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Whether it decides anything.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// Who is recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
    /// All users that are selected by name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub users: Option<BTreeSet<String>>,
    /// Users that are selected by name beside those that are already.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub add_users: BTreeSet<String>,
    /// Users that are no longer selected by name.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub remove_users: BTreeSet<String>,
    /// The share of all users that is selected, from 0 to 100.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub percentage: Option<f64>,
    /// The regular expression that selects users; `null` removes it.
    #[serde(deserialize_with = "nullable", skip_serializing_if = "Option::is_none")]
    pub regex: Option<Option<String>>,
    /// The attributes that name the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attributes: Option<Vec<String>>,
    /// Whether records of unknown users are kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unknown: Option<Unknown>,
    /// Which records the flag is about; `null` for all.
    #[serde(
        rename = "where",
        deserialize_with = "nullable",
        skip_serializing_if = "Option::is_none"
    )]
    pub condition: Option<Option<String>>,
    /// Which signals it is about.
    #[serde(with = "some_signals", skip_serializing_if = "Option::is_none")]
    pub signals: Option<BTreeSet<Signal>>,
}

impl FlagPatch {
    /// A new flag. What is left open is as the configuration says; it starts as nobody, for all
    /// signals, so that creating one never shows anybody.
    pub(crate) fn create(
        self,
        key: &str,
        settings: &AudienceSettings,
        author: &Author<'_>,
    ) -> Flag {
        let new = Flag {
            key: key.to_owned(),
            description: String::new(),
            enabled: true,
            mode: Mode::Nobody,
            users: BTreeSet::new(),
            percentage: 0.0,
            regex: None,
            attributes: settings.attributes.clone(),
            unknown: settings.unknown,
            condition: None,
            signals: Signal::ALL.into(),
            updated_at_millis: 0,
            updated_by: String::new(),
        };
        self.apply(new, author)
    }

    /// A flag with what is said here changed.
    pub(crate) fn apply(self, mut flag: Flag, author: &Author<'_>) -> Flag {
        set(&mut flag.description, self.description);
        set(&mut flag.enabled, self.enabled);
        set(&mut flag.mode, self.mode);
        set(&mut flag.users, self.users);
        flag.users.extend(self.add_users);
        flag.users.retain(|user| !self.remove_users.contains(user));
        set(&mut flag.percentage, self.percentage);
        set(&mut flag.regex, self.regex.map(given));
        set(&mut flag.attributes, self.attributes);
        set(&mut flag.unknown, self.unknown);
        set(&mut flag.condition, self.condition.map(given));
        set(&mut flag.signals, self.signals);
        flag.updated_at_millis = author.at_millis;
        flag.updated_by = author.name().to_owned();
        flag
    }
}

fn set<T>(field: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *field = value;
    }
}

/// An empty text says nothing: a form that is left empty is one.
fn given(text: Option<String>) -> Option<String> {
    text.filter(|text| !text.trim().is_empty())
}

/// A field that is there, if with nothing in it.
fn nullable<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Option<String>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}

mod some_signals {
    use std::collections::BTreeSet;

    use kymo_wire::Signal;
    use serde::{Deserializer, Serializer};

    use super::signal_names;

    pub(super) fn serialize<S: Serializer>(
        signals: &Option<BTreeSet<Signal>>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match signals {
            Some(signals) => signal_names::serialize(signals, serializer),
            None => serializer.serialize_none(),
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<BTreeSet<Signal>>, D::Error> {
        signal_names::deserialize(deserializer).map(Some)
    }
}

impl fmt::Debug for FlagPatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FlagPatch")
            .field("enabled", &self.enabled)
            .field("mode", &self.mode)
            .field("users", &self.users.as_ref().map(BTreeSet::len))
            .field("add_users", &self.add_users.len())
            .field("remove_users", &self.remove_users.len())
            .field("percentage", &self.percentage)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AUTHOR: Author<'_> = Author { by: "root", at_millis: 7 };

    fn patch(json: &str) -> FlagPatch {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn a_new_flag_starts_as_nobody() {
        let flag = patch("{}").create("a", &AudienceSettings::default(), &AUTHOR);
        assert_eq!(flag.check(), Ok(()));
        assert!(flag.enabled);
        assert_eq!(flag.mode, Mode::Nobody);
        assert_eq!(flag.attributes, ["user.id", "enduser.id"]);
        assert_eq!((flag.updated_by.as_str(), flag.updated_at_millis), ("root", 7));
    }

    #[test]
    fn a_patch_changes_what_it_names_and_null_removes() {
        let settings = AudienceSettings::default();
        let said = r#"{"users": ["ada", "bob"], "regex": "x.*", "where": "name = \"a\""}"#;
        let flag = patch(said).create("a", &settings, &AUTHOR);
        let said =
            r#"{"add_users": ["cyd"], "remove_users": ["ada"], "regex": null, "mode": "selected"}"#;
        let changed = patch(said).apply(flag.clone(), &AUTHOR);
        assert_eq!(changed.users, ["bob", "cyd"].map(str::to_owned).into());
        assert_eq!((changed.regex, changed.mode), (None, Mode::Selected));
        assert_eq!(changed.condition, flag.condition);
    }

    #[test]
    fn what_is_written_is_read_again() {
        let said = patch(r#"{"regex": null, "signals": ["logs"], "percentage": 2.5}"#);
        let text = serde_json::to_string(&said).unwrap();
        assert_eq!(text, r#"{"percentage":2.5,"regex":null,"signals":["logs"]}"#);
        assert_eq!(patch(&text), said);
    }
}
