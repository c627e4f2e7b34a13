//! The configuration that a translation writes: keys in order, with comments, as YAML.

use std::net::SocketAddr;

use kymo_yaml::write::scalar;

use crate::references::refers;

/// A value to be written.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    /// A text, in quotes where it could mean something else.
    Text(String),
    /// A number, a truth, a duration: written as it is.
    Word(String),
    /// Values in order.
    List(Vec<Value>),
    /// Keys and values.
    Map(Map),
}

impl Value {
    pub(crate) fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    pub(crate) fn word(word: impl ToString) -> Self {
        Self::Word(word.to_string())
    }

    pub(crate) fn texts<T: Into<String>>(texts: impl IntoIterator<Item = T>) -> Self {
        Self::List(texts.into_iter().map(|text| Self::Text(text.into())).collect())
    }
}

impl From<Map> for Value {
    fn from(map: Map) -> Self {
        Self::Map(map)
    }
}

/// Keys and values in order. Comments stand above a key.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Map {
    entries: Vec<MapEntry>,
}

#[derive(Debug, Clone, PartialEq)]
struct MapEntry {
    key: String,
    comments: Vec<String>,
    value: Value,
}

impl Map {
    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// A map of one key.
    pub(crate) fn of(key: &str, value: Value) -> Self {
        let mut map = Self::default();
        map.set(key, value);
        map
    }

    /// Sets a key, in its old place if it is there.
    pub(crate) fn set(&mut self, key: &str, value: Value) -> &mut Self {
        match self.entries.iter_mut().find(|entry| entry.key == key) {
            Some(entry) => entry.value = value,
            None => {
                self.entries.push(MapEntry { key: key.to_owned(), comments: Vec::new(), value });
            }
        }
        self
    }

    /// The same, if there is a value.
    pub(crate) fn set_some(&mut self, key: &str, value: Option<Value>) -> &mut Self {
        if let Some(value) = value {
            self.set(key, value);
        }
        self
    }

    /// The same, if there is something in the map.
    pub(crate) fn set_filled(&mut self, key: &str, map: Map) -> &mut Self {
        if !map.is_empty() {
            self.set(key, map.into());
        }
        self
    }

    /// Sets a key and says something above it.
    pub(crate) fn set_with(&mut self, key: &str, value: Value, comment: &str) -> &mut Self {
        self.set(key, value);
        if let Some(entry) = self.entries.iter_mut().find(|entry| entry.key == key) {
            entry.comments.push(comment.to_owned());
        }
        self
    }

    /// Adds the keys of another map behind its own.
    pub(crate) fn append(&mut self, other: Map) {
        for entry in other.entries {
            match self.entries.iter_mut().find(|known| known.key == entry.key) {
                Some(known) => *known = entry,
                None => self.entries.push(entry),
            }
        }
    }

    pub(crate) fn get(&self, key: &str) -> Option<&Value> {
        self.entries.iter().find(|entry| entry.key == key).map(|entry| &entry.value)
    }

    /// All of it as YAML.
    pub(crate) fn to_yaml(&self) -> String {
        let mut text = String::new();
        write_map(&mut text, self, 0);
        text
    }
}

fn write_map(out: &mut String, map: &Map, depth: usize) {
    for (nth, entry) in map.entries.iter().enumerate() {
        // Behind the dash of a list, the first key stands on the dash's own line.
        let behind_dash = nth == 0 && out.ends_with("- ");
        for (line, comment) in entry.comments.iter().enumerate() {
            if !(behind_dash && line == 0) {
                indent(out, depth);
            }
            out.push_str(&format!("# {comment}\n"));
        }
        if !behind_dash || !entry.comments.is_empty() {
            indent(out, depth);
        }
        out.push_str(&key(&entry.key));
        out.push(':');
        write_value(out, &entry.value, depth);
    }
}

fn write_value(out: &mut String, value: &Value, depth: usize) {
    match value {
        Value::Map(map) if map.is_empty() => out.push_str(" {}\n"),
        Value::Map(map) => {
            out.push('\n');
            write_map(out, map, depth + 1);
        }
        Value::List(items) if items.iter().all(is_short) => {
            let items: Vec<_> = items.iter().map(inline).collect();
            out.push_str(&format!(" [{}]\n", items.join(", ")));
        }
        Value::List(items) => {
            out.push('\n');
            for item in items {
                indent(out, depth + 1);
                out.push('-');
                match item {
                    Value::Map(map) if !map.is_empty() => {
                        out.push(' ');
                        write_map(out, map, depth + 2);
                    }
                    item => write_value(out, item, depth + 1),
                }
            }
        }
        Value::Text(_) | Value::Word(_) => out.push_str(&format!(" {}\n", inline(value))),
    }
}

fn indent(out: &mut String, depth: usize) {
    for _ in 0..depth {
        out.push_str("  ");
    }
}

fn is_short(value: &Value) -> bool {
    match value {
        Value::Text(text) => text.len() <= 60,
        Value::Word(_) => true,
        Value::List(_) | Value::Map(_) => false,
    }
}

fn inline(value: &Value) -> String {
    match value {
        Value::Text(text) if is_plain(text) => text.clone(),
        Value::Text(text) => scalar(text),
        // What is known only where it runs may have anything in it.
        Value::Word(word) if refers(word) => scalar(word),
        Value::Word(word) => word.clone(),
        Value::List(_) | Value::Map(_) => String::new(),
    }
}

/// A key: `.system` needs no quotes, though a value that begins so has them.
fn key(text: &str) -> String {
    let plain = text.strip_prefix('.').unwrap_or(text);
    if scalar(plain) == plain { text.to_owned() } else { scalar(text) }
}

/// Addresses and URLs need no quotes.
fn is_plain(text: &str) -> bool {
    let is_url = text.starts_with("http://") || text.starts_with("https://");
    let is_safe = |c: char| c.is_ascii_alphanumeric() || "_./:-".contains(c);
    (is_url || text.parse::<SocketAddr>().is_ok_and(|address| address.is_ipv4()))
        && text.chars().all(is_safe)
        && !text.ends_with(':')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_comments_and_lists_are_yaml_that_reads_back() {
        let mut map = Map::default();
        map.set("otlp_grpc", Value::text("0.0.0.0:4317"));
        map.set_with("store", Map::of("enabled", Value::word(false)).into(), "nothing is kept");
        let mut rule = Map::default();
        rule.set_with("name", Value::text("a"), "the first");
        rule.set("where", Value::text("name = \"it's\""));
        let insert = Map::of(".system", Value::text("12"));
        rule.set("insert", insert.into());
        let other = Map::of("signals", Value::texts(["traces", "logs"]));
        map.set("rules", Value::List(vec![rule.into(), other.into()]));
        let text = map.to_yaml();
        assert_eq!(
            text,
            "otlp_grpc: 0.0.0.0:4317\n# nothing is kept\nstore:\n  enabled: false\nrules:\n  \
             - # the first\n    name: a\n    where: 'name = \"it''s\"'\n    insert:\n      \
             .system: '12'\n  - signals: [traces, logs]\n"
        );
        let entries = kymo_yaml::parse(&text).unwrap();
        assert_eq!(entries.len(), 3);
    }
}
