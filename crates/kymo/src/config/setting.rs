//! What a setting is: its key, and the flag and the variable that follow from it.

use super::value::{Kind, NONE, Slot, Value};
use super::{Config, log};

/// Settings that belong together, as a chapter of the help and of the documentation.
#[derive(Debug)]
pub(crate) struct Group {
    /// The heading.
    pub(crate) title: &'static str,
    /// The settings.
    pub(crate) settings: &'static [Setting],
}

/// One setting: the only place where it is described.
pub(crate) struct Setting {
    /// The YAML key, with a dot for each level: `store.flush_after`.
    pub(crate) key: &'static str,
    /// The flag and the variable after `KYMO_`, if they are not made of the key.
    pub(crate) names: Option<(&'static str, &'static str)>,
    /// What may be written.
    pub(crate) kind: Kind,
    /// What it does. The first sentence is all that short help shows.
    pub(crate) about: &'static str,
    /// Whether `tenants` may have a value of their own for it.
    pub(crate) per_tenant: bool,
    /// The default in words, where it depends on the machine.
    pub(crate) default: Option<&'static str>,
    /// Where it is kept.
    pub(crate) slot: fn(&mut Config) -> &mut dyn Slot,
}

/// A setting whose flag and variable are made of its key.
pub(crate) const fn setting(
    key: &'static str,
    kind: Kind,
    slot: fn(&mut Config) -> &mut dyn Slot,
    about: &'static str,
) -> Setting {
    Setting { key, names: None, kind, about, per_tenant: false, default: None, slot }
}

impl std::fmt::Debug for Setting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.key)
    }
}

impl Setting {
    /// With a flag and a variable that are not made of its key.
    pub(crate) const fn named(mut self, flag: &'static str, variable: &'static str) -> Self {
        self.names = Some((flag, variable));
        self
    }

    /// One that a tenant may have its own value for.
    pub(crate) const fn per_tenant(mut self) -> Self {
        self.per_tenant = true;
        self
    }

    /// One whose default depends on the machine.
    pub(crate) const fn by_machine(mut self, default: &'static str) -> Self {
        self.default = Some(default);
        self
    }

    /// `store-flush-after`.
    pub(crate) fn flag(&self) -> String {
        match self.names {
            Some((flag, _)) => flag.to_owned(),
            None => self.key.replace(['.', '_'], "-"),
        }
    }

    /// `KYMO_STORE_FLUSH_AFTER`.
    pub(crate) fn variable(&self) -> String {
        match self.names {
            Some((_, variable)) => format!("KYMO_{variable}"),
            None => format!("KYMO_{}", self.key.replace('.', "_").to_uppercase()),
        }
    }

    /// Reads a text; the error says what is expected.
    pub(crate) fn read(&self, text: &str) -> Result<Value, String> {
        if self.is_optional() && text.trim() == NONE {
            return Ok(Value::None);
        }
        if matches!(self.kind, Kind::LogFilter) {
            // Which of its parts is wrong says more than what a filter looks like.
            log::filter(text)?;
        }
        self.kind.read(text).ok_or_else(|| self.expected())
    }

    /// What may be written, with an example.
    pub(crate) fn expected(&self) -> String {
        let or_none = if self.is_optional() { ", or none" } else { "" };
        format!("expected {}{or_none}", self.kind.expected())
    }

    /// Puts a value into a configuration; false if its type is too small for it.
    pub(crate) fn set(&self, config: &mut Config, value: Value) -> bool {
        (self.slot)(config).set(value)
    }

    /// The value in a configuration.
    pub(crate) fn get(&self, config: &Config) -> Value {
        // A slot is a mutable place, so that one function is enough to read and to write.
        let mut config = config.clone();
        match ((self.slot)(&mut config).get(), self.kind) {
            (Value::Count(number), Kind::Bytes { .. }) => Value::Bytes(number),
            (value, _) => value,
        }
    }

    /// The default, as it would be written; in words where it depends on the machine.
    pub(crate) fn default_text(&self) -> String {
        match self.default {
            Some(words) => words.to_owned(),
            None => self.get(&Config::default()).text(),
        }
    }

    /// Whether it can be without a value.
    pub(crate) fn is_optional(&self) -> bool {
        (self.slot)(&mut Config::default()).is_optional()
    }
}
