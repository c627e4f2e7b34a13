//! Values of settings: how they are written, and how a field of the configuration takes them.
//!
//! A text, whether from a flag, a variable or a file, is read by the setting's [`Kind`] into a
//! [`Value`]; a field of any type that implements [`Slot`] takes it. What [`Value::text`] writes,
//! [`Kind::read`] reads.

use std::path::PathBuf;
use std::time::Duration;

use kymo_admit::audience::Unknown;
use kymo_journal::Durability;
use kymo_spanmetrics::Naming;
use kymo_store::commit::node::valid_node;
use kymo_store::limits::NODE_MAX_BYTES;
use kymo_wire::metric_names::Strategy;
use kymo_yaml::{Secret, amounts};

use super::log;
use super::log::LogFormat;

/// The word for an optional value that is not set.
pub(crate) const NONE: &str = "none";
/// The largest size that a setting takes: no disk has as much, and sums and multiples of it are
/// numbers still.
pub(crate) const MAX_BYTES: u64 = 1 << 50;

/// What may be written for a setting.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Kind {
    /// `true` or `false`.
    Switch,
    /// A number, within bounds.
    Count { least: u64, most: u64 },
    /// A number of bytes, within bounds.
    Bytes { least: u64, most: u64 },
    /// A time span, of some length.
    Duration { least: Duration },
    /// `HOST:PORT`.
    Address,
    /// A directory.
    Path,
    /// A file.
    File,
    /// Any text.
    Text,
    /// A text that is not to be shown.
    Secret,
    /// A place of blocks: a directory or a URL, which may carry a password.
    Place,
    /// One of some words.
    Choice(&'static [&'static str]),
    /// A node's name.
    Name,
    /// What is logged.
    LogFilter,
    /// A prefix of URL paths.
    UrlPath,
    /// Where people reach something.
    Url,
    /// Texts separated by commas, or a YAML list.
    List,
    /// Time spans, written like those.
    Durations,
}

/// A value that was read.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    None,
    Switch(bool),
    Count(u64),
    Bytes(u64),
    Duration(Duration),
    Text(String),
    List(Vec<String>),
}

impl Kind {
    /// The word that stands for the value in help.
    pub(crate) fn placeholder(self) -> &'static str {
        match self {
            Self::Switch => "BOOL",
            Self::Count { .. } => "COUNT",
            Self::Bytes { .. } => "SIZE",
            Self::Duration { .. } => "DURATION",
            Self::Address => "HOST:PORT",
            Self::Path => "DIR",
            Self::File => "FILE",
            Self::Text | Self::Secret => "TEXT",
            Self::Place | Self::Url => "URL",
            Self::Choice(_) => "WORD",
            Self::Name => "NAME",
            Self::LogFilter => "FILTER",
            Self::UrlPath => "PATH",
            Self::List | Self::Durations => "LIST",
        }
    }

    /// What is expected, with an example.
    pub(crate) fn expected(self) -> String {
        match self {
            Self::Switch => "true or false".into(),
            Self::Count { least, most } => format!("a whole number from {least} to {most}"),
            Self::Bytes { least: 0, most: MAX_BYTES } => {
                "a size with its unit, such as 128MiB or 1GiB".into()
            }
            Self::Bytes { least, most: MAX_BYTES } => format!(
                "a size with its unit of at least {}, such as 128MiB or 1GiB",
                amounts::size_text(least)
            ),
            Self::Bytes { least, most } => {
                let (least, most) = (amounts::size_text(least), amounts::size_text(most));
                format!("a size with its unit, from {least} to {most}")
            }
            Self::Duration { least: Duration::ZERO } => {
                "a duration with its unit, such as 500ms, 10m or 1h30m".into()
            }
            Self::Duration { least } => format!(
                "a duration with its unit of at least {}, such as 10m or 1h30m",
                amounts::duration_text(least)
            ),
            Self::Address => "HOST:PORT, such as 127.0.0.1:3200 or [::1]:0".into(),
            Self::Path => "the path of a directory".into(),
            Self::File => "the path of a file".into(),
            Self::Text => "a text".into(),
            Self::Secret => "a text that is not empty".into(),
            Self::Place => "a directory or s3://BUCKET/PREFIX".into(),
            Self::Choice(words) => format!("one of {}", words.join(", ")),
            Self::Name => {
                format!("up to {NODE_MAX_BYTES} letters, digits, - and _, such as node-1")
            }
            Self::LogFilter => "error, warn, info, debug, trace, or kymo_store=debug,info".into(),
            Self::UrlPath => "a path such as /kymo, or nothing".into(),
            Self::Url => "a URL, such as https://hub.example/kymo".into(),
            Self::List => "texts, separated by commas".into(),
            Self::Durations => "durations, separated by commas, such as 2ms,50ms,1s".into(),
        }
    }

    /// The value of a text; none if the text is not of this kind.
    pub(crate) fn read(self, text: &str) -> Option<Value> {
        let text = text.trim();
        match self {
            Self::Switch => text.to_lowercase().parse().ok().map(Value::Switch),
            Self::Count { least, most } => {
                let count = amounts::count(text).filter(|count| (least..=most).contains(count));
                count.map(Value::Count)
            }
            Self::Bytes { least, most } => {
                let bytes = amounts::size(text).filter(|bytes| (least..=most).contains(bytes));
                bytes.map(Value::Bytes)
            }
            Self::Duration { least } => {
                let duration = amounts::duration(text).filter(|duration| *duration >= least);
                duration.map(Value::Duration)
            }
            Self::Address => is_address(text).then(|| Value::Text(text.to_owned())),
            Self::Path | Self::File | Self::Place => {
                (!text.is_empty()).then(|| Value::Text(text.to_owned()))
            }
            Self::Text => Some(Value::Text(text.to_owned())),
            Self::Secret => (!text.is_empty()).then(|| Value::Text(text.to_owned())),
            Self::Choice(words) => words.contains(&text).then(|| Value::Text(text.to_owned())),
            Self::Name => valid_node(text).then(|| Value::Text(text.to_owned())),
            Self::LogFilter => log::filter(text).is_ok().then(|| Value::Text(text.to_owned())),
            Self::UrlPath => read_url_path(text).map(Value::Text),
            Self::Url => is_url(text).then(|| Value::Text(text.to_owned())),
            Self::List => Some(Value::List(items(text))),
            Self::Durations => {
                let items = items(text);
                let is_good = items.iter().all(|item| amounts::duration(item).is_some());
                is_good.then_some(Value::List(items))
            }
        }
    }
}

impl Value {
    /// The value as it would be written in a flag, with secrets.
    pub(crate) fn text(&self) -> String {
        match self {
            Self::None => NONE.to_owned(),
            Self::Switch(on) => on.to_string(),
            Self::Count(count) => count.to_string(),
            Self::Bytes(bytes) => amounts::size_text(*bytes),
            Self::Duration(duration) => amounts::duration_text(*duration),
            Self::Text(text) => text.clone(),
            Self::List(items) => items.join(","),
        }
    }
}

/// A field of the configuration.
pub(crate) trait Slot {
    /// Its value; numbers come as [`Value::Count`], also where they are bytes.
    fn get(&self) -> Value;
    /// Takes a value; false if it does not fit.
    fn set(&mut self, value: Value) -> bool;
    /// Whether it can be without a value.
    fn is_optional(&self) -> bool {
        false
    }
}

macro_rules! number_slot {
    ($($number:ty),+) => {$(
        impl Slot for $number {
            fn get(&self) -> Value {
                Value::Count(u64::try_from(*self).unwrap_or(u64::MAX))
            }
            fn set(&mut self, value: Value) -> bool {
                let (Value::Count(number) | Value::Bytes(number)) = value else { return false };
                Self::try_from(number).map(|number| *self = number).is_ok()
            }
        }
    )+};
}
number_slot!(i32, u32, u64, usize);

impl Slot for bool {
    fn get(&self) -> Value {
        Value::Switch(*self)
    }
    fn set(&mut self, value: Value) -> bool {
        let Value::Switch(on) = value else { return false };
        *self = on;
        true
    }
}

impl Slot for Duration {
    fn get(&self) -> Value {
        Value::Duration(*self)
    }
    fn set(&mut self, value: Value) -> bool {
        let Value::Duration(duration) = value else { return false };
        *self = duration;
        true
    }
}

impl Slot for String {
    fn get(&self) -> Value {
        Value::Text(self.clone())
    }
    fn set(&mut self, value: Value) -> bool {
        let Value::Text(text) = value else { return false };
        *self = text;
        true
    }
}

impl Slot for Secret {
    fn get(&self) -> Value {
        Value::Text(self.reveal().to_owned())
    }
    fn set(&mut self, value: Value) -> bool {
        let Value::Text(text) = value else { return false };
        *self = Self::new(text);
        true
    }
}

impl Slot for Unknown {
    fn get(&self) -> Value {
        let word = match self {
            Self::Nobody => "nobody",
            Self::Everybody => "everybody",
        };
        Value::Text(word.to_owned())
    }
    fn set(&mut self, value: Value) -> bool {
        let Value::Text(text) = value else { return false };
        *self = if text == "everybody" { Self::Everybody } else { Self::Nobody };
        true
    }
}

impl Slot for PathBuf {
    fn get(&self) -> Value {
        Value::Text(self.display().to_string())
    }
    fn set(&mut self, value: Value) -> bool {
        let Value::Text(text) = value else { return false };
        *self = text.into();
        true
    }
}

impl Slot for Vec<String> {
    fn get(&self) -> Value {
        Value::List(self.clone())
    }
    fn set(&mut self, value: Value) -> bool {
        let Value::List(items) = value else { return false };
        *self = items;
        true
    }
}

impl Slot for Vec<Duration> {
    fn get(&self) -> Value {
        Value::List(self.iter().map(|duration| amounts::duration_text(*duration)).collect())
    }
    fn set(&mut self, value: Value) -> bool {
        let Value::List(items) = value else { return false };
        let durations: Option<Self> = items.iter().map(|item| amounts::duration(item)).collect();
        durations.map(|durations| *self = durations).is_some()
    }
}

impl<T: Slot + Default> Slot for Option<T> {
    fn get(&self) -> Value {
        self.as_ref().map_or(Value::None, Slot::get)
    }
    fn set(&mut self, value: Value) -> bool {
        if value == Value::None {
            *self = None;
            return true;
        }
        let mut inner = T::default();
        let fits = inner.set(value);
        if fits {
            *self = Some(inner);
        }
        fits
    }
    fn is_optional(&self) -> bool {
        true
    }
}

/// Types with a word for each of their values.
macro_rules! word_slot {
    ($type:ty, $($word:literal => $value:path),+) => {
        impl Slot for $type {
            fn get(&self) -> Value {
                Value::Text(match self { $($value => $word),+ }.to_owned())
            }
            fn set(&mut self, value: Value) -> bool {
                let Value::Text(word) = value else { return false };
                match word.as_str() {
                    $($word => *self = $value,)+
                    _ => return false,
                }
                true
            }
        }
    };
}
word_slot!(Durability, "disk" => Durability::Disk, "memory" => Durability::Memory);
word_slot!(
    Strategy,
    "UnderscoreEscapingWithSuffixes" => Strategy::Escaped,
    "UnderscoreEscapingWithoutSuffixes" => Strategy::EscapedWithoutSuffixes,
    "NoUTF8EscapingWithSuffixes" => Strategy::Utf8,
    "NoTranslation" => Strategy::Untranslated
);
word_slot!(Naming, "tempo" => Naming::Tempo, "collector" => Naming::Collector);
word_slot!(
    LogFormat,
    "auto" => LogFormat::Auto, "human" => LogFormat::Human, "json" => LogFormat::Json
);

/// What stands between commas.
fn items(text: &str) -> Vec<String> {
    text.split(',').map(|item| item.trim().to_owned()).filter(|item| !item.is_empty()).collect()
}

/// Whether it is `HOST:PORT`, with a port and a host that is not empty.
fn is_address(text: &str) -> bool {
    let Some((host, port)) = text.rsplit_once(':') else { return false };
    let bracketed = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    let host_is_good = match bracketed {
        Some(host) => host.parse::<std::net::Ipv6Addr>().is_ok(),
        None => !host.is_empty() && !host.contains([':', '/', '[', ']', ' ', '@']),
    };
    host_is_good && port.parse::<u16>().is_ok() && port.bytes().all(|b| b.is_ascii_digit())
}

/// Whether it begins with a scheme that browsers know, and a host.
fn is_url(text: &str) -> bool {
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    rest.is_some_and(|rest| !rest.is_empty() && !rest.starts_with('/'))
        && !text.contains(char::is_whitespace)
}

/// `/x` without a slash at its end; `/` is the same as nothing.
fn read_url_path(text: &str) -> Option<String> {
    let path = text.trim_end_matches('/');
    let is_path = path.is_empty() || (path.starts_with('/') && !path.contains("//"));
    let is_plain = path.bytes().all(|b| b.is_ascii_alphanumeric() || b"/-_.~".contains(&b));
    (is_path && is_plain).then(|| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_have_a_host_and_a_port() {
        for good in ["127.0.0.1:3200", "localhost:0", "[::1]:4317", "0.0.0.0:65535"] {
            assert!(Kind::Address.read(good).is_some(), "{good}");
        }
        for bad in
            ["3200", ":3200", "host", "host:", "host:x", "host:65536", "::1:80", "http://h:1"]
        {
            assert!(Kind::Address.read(bad).is_none(), "{bad}");
        }
    }

    #[test]
    fn bounds_and_types_are_kept() {
        let kind = Kind::Count { least: 1, most: 10 };
        assert_eq!(kind.read("10"), Some(Value::Count(10)));
        assert_eq!(kind.read("0"), None);
        assert_eq!(kind.read("11"), None);
        let mut slot = 0u32;
        assert!(!slot.set(Value::Count(1 << 40)) && slot == 0);
        let mut slot = Some(5u64);
        assert!(slot.set(Value::None) && slot.is_none());
        assert!(!slot.set(Value::Text("x".into())));
    }

    #[test]
    fn a_node_has_a_name_that_the_store_takes() {
        assert!(Kind::Name.read(&"n".repeat(64)).is_some());
        for bad in [&"n".repeat(65), "", "a/b", "ü"] {
            assert!(Kind::Name.read(bad).is_none(), "{bad}");
        }
    }

    #[test]
    fn a_url_has_a_scheme_and_a_host() {
        for good in ["http://localhost", "https://hub.example:8443/kymo"] {
            assert!(Kind::Url.read(good).is_some(), "{good}");
        }
        for bad in ["", "hub.example", "/kymo", "ftp://x", "https://", "http:///x", "http://a b"] {
            assert!(Kind::Url.read(bad).is_none(), "{bad}");
        }
    }

    #[test]
    fn a_base_path_is_a_plain_prefix() {
        assert_eq!(read_url_path("/kymo/").as_deref(), Some("/kymo"));
        assert_eq!(read_url_path("/").as_deref(), Some(""));
        assert_eq!(read_url_path("kymo"), None);
        assert_eq!(read_url_path("/a//b"), None);
        assert_eq!(read_url_path("/a?b"), None);
    }
}
