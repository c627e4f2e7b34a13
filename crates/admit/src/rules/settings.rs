//! Rules as a configuration has them.
//!
//! ```yaml
//! rules:
//!   - {name: noise, signals: [traces], where: 'span.http.route =~ "/health.*"', drop: true}
//!   - {insert: {resource.system: graphistry}}
//!   - {redact: {attributes: ['*'], pattern: '\d{13,16}', with: '***'}}
//! ```

use std::fmt;

use kymo_wire::Signal;
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};

/// One rule.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RuleSettings {
    /// What counts are shown under; `rule-3` for the third, if nothing is said.
    pub name: Option<String>,
    /// Whether it is in force.
    pub enabled: bool,
    /// What it is about; everything that its condition can be about, if nothing is said.
    pub signals: Option<Vec<RuleSignal>>,
    /// Which records it is about: a condition as between the braces of a TraceQL filter.
    #[serde(rename = "where")]
    pub condition: Option<String>,
    /// Leaves out the records that it is about.
    pub drop: bool,
    /// Leaves out all others.
    pub keep: bool,
    /// Removes attributes.
    pub delete: Vec<String>,
    /// Gives attributes another name, from the left to the right.
    pub rename: Pairs<String>,
    /// Adds attributes where they are missing.
    pub insert: Pairs<ValueSetting>,
    /// Changes attributes where they are.
    pub update: Pairs<ValueSetting>,
    /// Changes attributes, or adds them.
    pub upsert: Pairs<ValueSetting>,
    /// Puts a hash in the place of values.
    pub hash: Vec<String>,
    /// Replaces parts of text.
    pub redact: Option<RedactSettings>,
}

impl Default for RuleSettings {
    fn default() -> Self {
        Self {
            name: None,
            enabled: true,
            signals: None,
            condition: None,
            drop: false,
            keep: false,
            delete: Vec::new(),
            rename: Pairs::default(),
            insert: Pairs::default(),
            update: Pairs::default(),
            upsert: Pairs::default(),
            hash: Vec::new(),
            redact: None,
        }
    }
}

/// What is replaced, and by what.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RedactSettings {
    /// In which attributes; `*` for all.
    #[serde(default)]
    pub attributes: Vec<String>,
    /// In bodies of log records too.
    #[serde(default)]
    pub body: bool,
    /// A regular expression; each match is replaced.
    pub pattern: String,
    /// What takes its place: `$1` is the first group.
    #[serde(default = "stars")]
    pub with: String,
}

fn stars() -> String {
    "***".to_owned()
}

/// A signal, by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs)]
pub enum RuleSignal {
    Traces,
    Metrics,
    Logs,
}

impl From<RuleSignal> for Signal {
    fn from(signal: RuleSignal) -> Self {
        match signal {
            RuleSignal::Traces => Self::Traces,
            RuleSignal::Metrics => Self::Metrics,
            RuleSignal::Logs => Self::Logs,
        }
    }
}

/// A value to set.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub enum ValueSetting {
    Text(String),
    Bool(bool),
    Int(i64),
    Float(f64),
    Texts(Vec<String>),
}

impl<'de> Deserialize<'de> for ValueSetting {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ValueVisitor)
    }
}

struct ValueVisitor;

impl<'de> Visitor<'de> for ValueVisitor {
    type Value = ValueSetting;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text, a number, true or false, or a list of texts")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<ValueSetting, E> {
        Ok(ValueSetting::Text(text.to_owned()))
    }

    fn visit_bool<E: serde::de::Error>(self, value: bool) -> Result<ValueSetting, E> {
        Ok(ValueSetting::Bool(value))
    }

    fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<ValueSetting, E> {
        Ok(ValueSetting::Int(value))
    }

    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<ValueSetting, E> {
        Ok(i64::try_from(value).map_or(ValueSetting::Float(value as f64), ValueSetting::Int))
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<ValueSetting, E> {
        Ok(ValueSetting::Float(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<ValueSetting, A::Error> {
        let mut texts = Vec::new();
        while let Some(text) = list.next_element()? {
            texts.push(text);
        }
        Ok(ValueSetting::Texts(texts))
    }
}

/// Keys and values in the order in which they are written.
#[derive(Debug, Clone, PartialEq)]
pub struct Pairs<T>(pub Vec<(String, T)>);

impl<T> Default for Pairs<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Pairs<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct PairsVisitor<T>(std::marker::PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for PairsVisitor<T> {
            type Value = Pairs<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("attributes with their values, as in {resource.system: graphistry}")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Pairs<T>, A::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = map.next_entry()? {
                    pairs.push(pair);
                }
                Ok(Pairs(pairs))
            }
        }
        deserializer.deserialize_map(PairsVisitor(std::marker::PhantomData))
    }
}
