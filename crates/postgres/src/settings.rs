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

/// Names in lower case, and values.
type Values = BTreeMap<String, String>;

/// How long a setting holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Holds {
    /// Until the end of the session.
    Session,
    /// The same, if the transaction is committed.
    IfCommitted,
    /// Until the end of the transaction.
    Transaction,
}

/// Settings of a session.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    now: Values,
    /// What they are reset to.
    first: Values,
    /// What holds after the transaction, if it was committed and if not; none if nothing was set in
    /// one.
    after: Option<Box<After>>,
    /// What the client was told.
    told: BTreeMap<&'static str, String>,
}

#[derive(Debug, Clone)]
struct After {
    committed: Values,
    rolled_back: Values,
}

impl Settings {
    /// Those of a new session of somebody.
    pub(crate) fn new(user: &str) -> Self {
        let known = KNOWN.iter().map(|(name, value, _)| (name.to_lowercase(), (*value).to_owned()));
        let mut now: Values = known.collect();
        now.insert("session_authorization".to_owned(), user.to_owned());
        Self { first: now.clone(), now, after: None, told: BTreeMap::new() }
    }

    /// What was set until now is what a reset goes back to: the client said it when it connected.
    pub(crate) fn begin(&mut self) {
        self.first = self.now.clone();
    }

    /// Names and values that the client is to be told and was not.
    pub(crate) fn untold(&mut self) -> Vec<(&'static str, String)> {
        let mut untold = Vec::new();
        for (name, _, is_told) in KNOWN {
            let value = self.get(name).unwrap_or_default();
            if is_told && self.told.get(name).map(String::as_str) != Some(value) {
                untold.push((name, value.to_owned()));
            }
        }
        self.told.extend(untold.iter().cloned());
        untold
    }

    /// The value of one.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.now.get(&name.to_lowercase()).map(String::as_str)
    }

    /// All of them.
    pub(crate) fn all(&self) -> &BTreeMap<String, String> {
        &self.now
    }

    /// Sets one; to what it was at first if there is no value.
    pub(crate) fn set(
        &mut self,
        name: &str,
        value: Option<&str>,
        holds: Holds,
    ) -> Result<(), PgError> {
        let lower = name.to_lowercase();
        let value = match value {
            Some(value) if !is_changed(&lower, value)? => return Ok(()),
            Some(value) => Some(value.to_owned()),
            None => self.first.get(&lower).cloned(),
        };
        let is_new = value.is_some() && !self.now.contains_key(&lower);
        if is_new && self.now.len() >= KNOWN.len() + MAX_SETTINGS {
            let message = format!("there are {MAX_SETTINGS} settings already");
            return Err(PgError::new(code::SETTING_VALUE, message));
        }
        self.change(holds, |values| match &value {
            Some(value) => drop(values.insert(lower.clone(), value.clone())),
            None => drop(values.remove(&lower)),
        });
        Ok(())
    }

    /// Gives all of them their first values.
    pub(crate) fn reset(&mut self, holds: Holds) {
        let first = self.first.clone();
        self.change(holds, |values| values.clone_from(&first));
    }

    fn change(&mut self, holds: Holds, change: impl Fn(&mut Values)) {
        if holds != Holds::Session {
            let now = &self.now;
            let after = self.after.get_or_insert_with(|| {
                Box::new(After { committed: now.clone(), rolled_back: now.clone() })
            });
            if holds == Holds::IfCommitted {
                change(&mut after.committed);
            }
        }
        change(&mut self.now);
    }

    /// A transaction has ended.
    pub(crate) fn end_transaction(&mut self, is_committed: bool) {
        if let Some(after) = self.after.take() {
            let After { committed, rolled_back } = *after;
            self.now = if is_committed { committed } else { rolled_back };
        }
    }

    /// How long a statement may take; none if as long as the engine lets it.
    pub(crate) fn statement_timeout(&self) -> Option<Duration> {
        let millis = self.get("statement_timeout").and_then(millis)?;
        (millis > 0).then(|| Duration::from_millis(millis))
    }
}

/// Whether a setting gets this value, or stays as it is.
fn is_changed(lower: &str, value: &str) -> Result<bool, PgError> {
    let wrong = |message: String| Err(PgError::new(code::SETTING_VALUE, message));
    if lower.len() > SETTING_MAX_BYTES || value.len() > SETTING_MAX_BYTES {
        return wrong(format!("a setting has more than {SETTING_MAX_BYTES} bytes"));
    }
    match lower {
        "client_encoding" => match value.to_lowercase().replace('-', "").as_str() {
            "utf8" | "unicode" | "default" | "auto" => Ok(false),
            _ => wrong(format!("text is UTF-8 here, not {value}")),
        },
        "server_version" | "server_version_num" | "server_encoding" | "ssl" => {
            let message = format!("the setting {lower} cannot be changed");
            Err(PgError::new("55P02", message))
        }
        "statement_timeout" if millis(value).is_none() => {
            wrong(format!("statement_timeout is {value:?}: expected 0, 500, 500ms or 10s"))
        }
        _ => Ok(!FIXED.contains(&lower)),
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

    fn set(settings: &mut Settings, name: &str, value: &str) -> Result<(), PgError> {
        settings.set(name, Some(value), Holds::Session)
    }

    #[test]
    fn settings_are_found_in_any_case_and_some_stay() {
        let mut settings = Settings::new("ada");
        assert_eq!(settings.get("timezone"), Some("UTC"));
        set(&mut settings, "TimeZone", "Europe/Berlin").unwrap();
        assert_eq!(settings.get("TimeZone"), Some("UTC"));
        set(&mut settings, "Application_Name", "x").unwrap();
        assert_eq!(settings.get("application_name"), Some("x"));
        set(&mut settings, "client_encoding", "utf-8").unwrap();
        assert!(set(&mut settings, "client_encoding", "LATIN1").is_err());
        assert!(set(&mut settings, "server_version", "1").is_err());
        settings.reset(Holds::Session);
        assert_eq!(settings.get("application_name"), Some(""));
        assert_eq!(settings.get("session_authorization"), Some("ada"));
    }

    #[test]
    fn a_reset_goes_back_to_what_the_client_began_with() {
        let mut settings = Settings::new("ada");
        set(&mut settings, "statement_timeout", "5s").unwrap();
        settings.begin();
        set(&mut settings, "statement_timeout", "1s").unwrap();
        settings.set("statement_timeout", None, Holds::Session).unwrap();
        assert_eq!(settings.get("statement_timeout"), Some("5s"));
        set(&mut settings, "statement_timeout", "0").unwrap();
        settings.reset(Holds::Session);
        assert_eq!(settings.get("statement_timeout"), Some("5s"));
    }

    #[test]
    fn what_is_set_in_a_transaction_holds_as_long_as_it_should() {
        let mut settings = Settings::new("ada");
        let timeout = |settings: &mut Settings, value: &str, holds: Holds| {
            settings.set("statement_timeout", Some(value), holds).unwrap();
        };
        timeout(&mut settings, "1s", Holds::Session);
        timeout(&mut settings, "2s", Holds::Transaction);
        assert_eq!(settings.get("statement_timeout"), Some("2s"));
        settings.end_transaction(true);
        assert_eq!(settings.get("statement_timeout"), Some("1s"));
        timeout(&mut settings, "3s", Holds::IfCommitted);
        timeout(&mut settings, "4s", Holds::Transaction);
        settings.end_transaction(true);
        assert_eq!(settings.get("statement_timeout"), Some("3s"));
        timeout(&mut settings, "5s", Holds::IfCommitted);
        settings.end_transaction(false);
        assert_eq!(settings.get("statement_timeout"), Some("3s"));
    }

    #[test]
    fn a_client_is_told_what_has_changed() {
        let mut settings = Settings::new("ada");
        assert!(settings.untold().contains(&("session_authorization", "ada".to_owned())));
        assert!(settings.untold().is_empty());
        set(&mut settings, "application_name", "x").unwrap();
        set(&mut settings, "search_path", "x").unwrap();
        assert_eq!(settings.untold(), [("application_name", "x".to_owned())]);
        settings.reset(Holds::Session);
        assert_eq!(settings.untold(), [("application_name", String::new())]);
    }

    #[test]
    fn a_timeout_has_units() {
        let mut settings = Settings::new("");
        assert_eq!(settings.statement_timeout(), None);
        for (text, expected) in [("500", 500), ("2s", 2000), ("1min", 60_000), ("7 ms", 7)] {
            set(&mut settings, "statement_timeout", text).unwrap();
            assert_eq!(settings.statement_timeout(), Some(Duration::from_millis(expected)));
        }
        assert!(set(&mut settings, "statement_timeout", "soon").is_err());
    }

    #[test]
    fn a_client_cannot_set_without_end() {
        let mut settings = Settings::new("");
        let accepted = (0..2 * MAX_SETTINGS)
            .filter(|number| set(&mut settings, &format!("x.{number}"), "1").is_ok());
        assert_eq!(accepted.count(), MAX_SETTINGS);
        assert!(set(&mut settings, "x.0", &"x".repeat(SETTING_MAX_BYTES + 1)).is_err());
    }
}
