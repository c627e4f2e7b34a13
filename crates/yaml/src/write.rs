//! A tree as text again.

use crate::tree::{Entry, Node};

/// Keys and values as YAML, each level two spaces further in than its key.
#[must_use]
pub fn write(entries: &[Entry]) -> String {
    let mut writer = Writer::default();
    writer.map(entries, 0);
    writer.text
}

#[derive(Default)]
struct Writer {
    text: String,
}

impl Writer {
    fn map(&mut self, entries: &[Entry], depth: usize) {
        for (nth, entry) in entries.iter().enumerate() {
            if nth > 0 || !self.text.ends_with("- ") {
                self.indent(depth);
            }
            self.text.push_str(&scalar(&entry.key));
            self.text.push(':');
            self.value(&entry.node, depth);
        }
    }

    fn value(&mut self, node: &Node, depth: usize) {
        match node {
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
                            self.map(entries, depth + 2);
                        }
                        node => self.value(node, depth + 1),
                    }
                }
            }
            Node::Map(entries) => {
                self.text.push('\n');
                self.map(entries, depth + 1);
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
    fn what_is_written_reads_back_as_the_same() {
        let text = "a: 007\nb:\n  - c: 'it''s'\n    d: [x, 'on', \"\\n\\u0007\", '***', '12', '~']\n  \
                    - 5\n  - {}\ne: {f: }\ng: {h: [[1, 2], []], '${x}': ' y '}\n";
        let written = write(&parse(text).unwrap());
        assert!(written.contains("  - c: 'it''s'\n    d:"), "{written}");
        let again = parse(&written).unwrap();
        assert_eq!(write(&again), written);
        let values = again[1].node.clone();
        let Node::List(items) = values else { panic!("{again:?}") };
        let Some(Node::List(texts)) = items[0].node.get("d").map(|entry| &entry.node) else {
            panic!("{items:?}")
        };
        let texts: Vec<_> = texts.iter().map(|item| item.node.clone()).collect();
        let expected = ["x", "on", "\n\u{7}", "***", "12", "~"].map(Node::text);
        assert_eq!(texts, expected, "{written}");
    }
}
