//! Settings of a session: what clients set and ask for, and what they are told at the beginning.
//!
//! Few of them do anything: `statement_timeout` ends queries. Times are always those of UTC and text is
//! always UTF-8, so `TimeZone` and `client_encoding` stay as they are: the one silently, since drivers
//! send their own zone and read the offset of each time; the other with an error.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::error::{PgError, code};
use crate::limits::{MAX_SETTINGS, SETTING_MAX_BYTES};

/// The version of PostgreSQL whose catalogue and protocol this is like.
pub(crate) const SERVER_VERSION: &str = "15.0";

/// What is known from the beginning: name, value, and whether clients are told of it.
const KNOWN: [(&str, &str, bool); 27] = [
    ("server_version", SERVER_VERSION, true),
    ("server_encoding", "UTF8", true),
    ("client_encoding", "UTF8", true),
    ("application_name", "", true),
    ("DateStyle", "ISO, MDY", true),
    ("TimeZone", "UTC", true),
    ("IntervalStyle", "postgres", true),
    ("integer_datetimes", "on", true),
    ("standard_conforming_strings", "on", true),
    ("default_transaction_read_only", "on", true),
    ("in_hot_standby", "off", true),
    ("is_superuser", "off", true),
    ("session_authorization", "", true),
    ("server_version_num", "150000", false),
    ("search_path", "public", false),
    ("transaction_isolation", "read committed", false),
    ("default_transaction_isolation", "read committed", false),
    ("transaction_read_only", "on", false),
    ("statement_timeout", "0", false),
    ("extra_float_digits", "1", false),
    ("bytea_output", "hex", false),
    ("max_identifier_length", "63", false),
    ("max_index_keys", "32", false),
    ("lc_collate", "C", false),
    ("lc_ctype", "C", false),
    ("block_size", "8192", false),
    ("ssl", "off", false),
];

/// Those that stay as they are, whatever is asked for.
const FIXED: [&str; 4] = ["timezone", "datestyle", "intervalstyle", "bytea_output"];

/// Settings of a session, by name in lower case.
#[derive(Debug, Clone)]
pub(crate) struct Settings(BTreeMap<String, String>);

impl Settings {
    /// Those of a new session of somebody.
    pub(crate) fn new(user: &str) -> Self {
        let known = KNOWN.iter().map(|(name, value, _)| (name.to_lowercase(), (*value).to_owned()));
        let mut settings: BTreeMap<String, String> = known.collect();
        settings.insert("session_authorization".to_owned(), user.to_owned());
        Self(settings)
    }

    /// Names and values that a client is told at the beginning.
    pub(crate) fn told(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let told = KNOWN.iter().filter(|(_, _, is_told)| *is_told);
        told.filter_map(|(name, ..)| Some((*name, self.get(name)?)))
    }

    /// The value of one.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(&name.to_lowercase()).map(String::as_str)
    }

    /// All of them.
    pub(crate) fn all(&self) -> &BTreeMap<String, String> {
        &self.0
    }

    /// Sets one; says by which name clients are told of it, if they are.
    pub(crate) fn set(&mut self, name: &str, value: &str) -> Result<Option<&'static str>, PgError> {
        let lower = name.to_lowercase();
        let wrong = |message: String| Err(PgError::new(code::SETTING_VALUE, message));
        if lower.len() > SETTING_MAX_BYTES || value.len() > SETTING_MAX_BYTES {
            return wrong(format!("a setting has more than {SETTING_MAX_BYTES} bytes"));
        }
        if lower == "client_encoding" {
            let plain = value.to_lowercase().replace('-', "");
            return match plain.as_str() {
                "utf8" | "unicode" | "default" | "auto" => Ok(None),
                _ => wrong(format!("text is UTF-8 here, not {value}")),
            };
        }
        let is_read_only = ["server_version", "server_version_num", "server_encoding", "ssl"];
        if is_read_only.contains(&lower.as_str()) {
            let message = format!("the setting {name} cannot be changed");
            return Err(PgError::new("55P02", message));
        }
        if lower == "statement_timeout" && millis(value).is_none() {
            return wrong(format!("statement_timeout is {value:?}: expected 0, 500, 500ms or 10s"));
        }
        if FIXED.contains(&lower.as_str()) {
            return Ok(None);
        }
        if !self.0.contains_key(&lower) && self.0.len() >= KNOWN.len() + MAX_SETTINGS {
            return wrong(format!("there are {MAX_SETTINGS} settings already"));
        }
        self.0.insert(lower.clone(), value.to_owned());
        let told =
            KNOWN.iter().find(|(known, _, is_told)| *is_told && known.to_lowercase() == lower);
        Ok(told.map(|(name, ..)| *name))
    }

    /// Gives one its first value, or all of them.
    pub(crate) fn reset(&mut self, name: Option<&str>) {
        let user = self.get("session_authorization").unwrap_or_default().to_owned();
        let first = Self::new(&user);
        match name.map(str::to_lowercase) {
            None => *self = first,
            Some(name) => match first.0.get(&name) {
                Some(value) => drop(self.0.insert(name, value.clone())),
                None => drop(self.0.remove(&name)),
            },
        }
    }

    /// How long a statement may take; none if as long as the engine lets it.
    pub(crate) fn statement_timeout(&self) -> Option<Duration> {
        let millis = self.get("statement_timeout").and_then(millis)?;
        (millis > 0).then(|| Duration::from_millis(millis))
    }
}

/// Milliseconds, with or without a unit.
fn millis(text: &str) -> Option<u64> {
    let text = text.trim();
    let digits = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    let number: u64 = text[..digits].parse().ok()?;
    match text[digits..].trim() {
        "" | "ms" => Some(number),
        "s" => number.checked_mul(1000),
        "min" => number.checked_mul(60_000),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_found_in_any_case_and_some_stay() {
        let mut settings = Settings::new("ada");
        assert_eq!(settings.get("timezone"), Some("UTC"));
        assert_eq!(settings.set("TimeZone", "Europe/Berlin"), Ok(None));
        assert_eq!(settings.get("TimeZone"), Some("UTC"));
        assert_eq!(settings.set("Application_Name", "x"), Ok(Some("application_name")));
        assert_eq!(settings.get("application_name"), Some("x"));
        assert_eq!(settings.set("client_encoding", "'utf-8'".trim_matches('\'')), Ok(None));
        assert!(settings.set("client_encoding", "LATIN1").is_err());
        assert!(settings.set("server_version", "1").is_err());
        settings.reset(None);
        assert_eq!(settings.get("application_name"), Some(""));
        assert_eq!(settings.get("session_authorization"), Some("ada"));
    }

    #[test]
    fn a_timeout_has_units() {
        let mut settings = Settings::new("");
        assert_eq!(settings.statement_timeout(), None);
        for (text, expected) in [("500", 500), ("2s", 2000), ("1min", 60_000), ("7 ms", 7)] {
            settings.set("statement_timeout", text).unwrap();
            assert_eq!(settings.statement_timeout(), Some(Duration::from_millis(expected)));
        }
        assert!(settings.set("statement_timeout", "soon").is_err());
    }

    #[test]
    fn a_client_cannot_set_without_end() {
        let mut settings = Settings::new("");
        let set = (0..2 * MAX_SETTINGS)
            .filter(|number| settings.set(&format!("x.{number}"), "1").is_ok());
        assert_eq!(set.count(), MAX_SETTINGS);
        assert!(settings.set("x.0", &"x".repeat(SETTING_MAX_BYTES + 1)).is_err());
    }
}
