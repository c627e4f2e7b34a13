//! A tree as text again.

use crate::tree::{Entry, Node};

/// What stands for a value that is hidden.
pub const HIDDEN: &str = "***";

/// Keys and values as YAML, each level two spaces further in than its key. What `is_hidden` says of
/// a path (`destinations.headers.authorization`, lists without numbers) is shown as [`HIDDEN`].
#[must_use]
pub fn write(entries: &[Entry], is_hidden: &dyn Fn(&str) -> bool) -> String {
    let mut writer = Writer { text: String::new(), is_hidden };
    writer.map(entries, "", 0);
    writer.text
}

struct Writer<'a> {
    text: String,
    is_hidden: &'a dyn Fn(&str) -> bool,
}

impl Writer<'_> {
    fn map(&mut self, entries: &[Entry], path: &str, depth: usize) {
        for (nth, entry) in entries.iter().enumerate() {
            if nth > 0 || !self.text.ends_with("- ") {
                self.indent(depth);
            }
            let path = match path {
                "" => entry.key.clone(),
                path => format!("{path}.{}", entry.key),
            };
            self.text.push_str(&scalar(&entry.key));
            self.text.push(':');
            self.value(&entry.node, &path, depth);
        }
    }

    fn value(&mut self, node: &Node, path: &str, depth: usize) {
        match node {
            _ if (self.is_hidden)(path) => self.line(HIDDEN),
            Node::Null => self.text.push('\n'),
            Node::Scalar(value) if value.is_typed => self.line(&value.text),
            Node::Scalar(value) => self.line(&scalar(&value.text)),
            Node::List(items) if items.is_empty() => self.line("[]"),
            Node::Map(entries) if entries.is_empty() => self.line("{}"),
            Node::List(items) => {
                self.text.push('\n');
                for item in items {
                    self.indent(depth + 1);
                    self.text.push('-');
                    match &item.node {
                        Node::Map(entries) if !entries.is_empty() => {
                            self.text.push(' ');
                            self.map(entries, path, depth + 2);
                        }
                        node => self.value(node, path, depth + 1),
                    }
                }
            }
            Node::Map(entries) => {
                self.text.push('\n');
                self.map(entries, path, depth + 1);
            }
        }
    }

    fn indent(&mut self, depth: usize) {
        for _ in 0..depth {
            self.text.push_str("  ");
        }
    }

    fn line(&mut self, value: &str) {
        self.text.push(' ');
        self.text.push_str(value);
        self.text.push('\n');
    }
}

/// A text as YAML reads it back: bare if nothing in it could mean something else.
#[must_use]
pub fn scalar(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_./-".contains(c);
    let is_word = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/' || c == '_')
        && text.chars().all(is_plain);
    let means_something = matches!(
        text.to_ascii_lowercase().as_str(),
        "true" | "false" | "yes" | "no" | "on" | "off" | "null" | "y" | "n"
    );
    if is_word && !means_something {
        return text.to_owned();
    }
    if text.chars().all(|c| !c.is_control()) {
        return format!("'{}'", text.replace('\'', "''"));
    }
    let mut quoted = String::from('"');
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            c if c.is_control() => quoted.push_str(&format!("\\U{:08x}", u32::from(c))),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::parse;

    #[test]
    fn what_is_written_reads_back_and_secrets_are_hidden() {
        let text = "a: 007\nb:\n  - c: 'it''s'\n    d: [x, 'on', \"\\n\\u0007\"]\n  - 5\n  - {}\n\
                    e: {f: }\ng: {password: x, h: [[1, 2], []]}\n";
        let written = write(&parse(text).unwrap(), &|path| path == "g.password");
        assert!(written.contains("password: ***") && written.contains("  - c: 'it''s'\n    d:"));
        let normal = |text: &str| write(&parse(text).unwrap(), &|_| false);
        let shown = normal(&text.replace("password: x", "password: '***'"));
        assert_eq!(normal(&written.replace("***", "'***'")), shown);
    }
}
