//! `${…}` in values: variables of the environment stay references.
//!
//! | collector | here |
//! |---|---|
//! | `${env:X}`, `${env:X:-words}` | the same |
//! | `${X}`, `${X:-words}` | `${env:X}`, `${env:X:-words}` |
//! | `$$` | `$`; `$$` again where a reference would begin |
//! | `${file:…}`, `${yaml:…}`, `${http:…}` | not known: told |

/// A text with references as this configuration has them.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Referring {
    pub(crate) text: String,
    /// Whether it has references that are not to variables: they stay in the text, where nobody
    /// will follow them.
    pub(crate) has_unknown: bool,
    /// Whether it has `$X`, which old collectors took for a variable and new ones take for text.
    pub(crate) has_unbraced: bool,
}

/// Whether some of a text is known only where it runs.
pub(crate) fn refers(text: &str) -> bool {
    text.contains("${")
}

pub(crate) fn translated(text: &str) -> Referring {
    let mut referring = Referring { text: String::new(), has_unknown: false, has_unbraced: false };
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        let (before, from) = rest.split_at(at);
        referring.text.push_str(before);
        rest = referring.dollar(from);
    }
    referring.text.push_str(rest);
    referring
}

impl Referring {
    /// Takes what begins with a dollar, and gives what is behind it.
    fn dollar<'a>(&mut self, from: &'a str) -> &'a str {
        if let Some(escaped) = from.strip_prefix("$$") {
            // Where the text would be taken for a reference, the dollar stays doubled.
            self.text.push_str(if escaped.starts_with("{env:") { "$$" } else { "$" });
            let plain = escaped.find('$').unwrap_or(escaped.len());
            self.text.push_str(&escaped[..plain]);
            return &escaped[plain..];
        }
        let braced = from.strip_prefix("${").and_then(|inner| inner.split_once('}'));
        if let Some((inner, behind)) = braced {
            self.reference(inner);
            return behind;
        }
        let behind = &from[1..];
        self.has_unbraced |= behind.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        self.text.push('$');
        behind
    }

    fn reference(&mut self, inner: &str) {
        let (name, _) = inner.split_once(":-").unwrap_or((inner, ""));
        let is_name = |name: &str| {
            name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
                && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        };
        if name.strip_prefix("env:").is_some_and(is_name) {
            self.text.push_str(&format!("${{{inner}}}"));
        } else if is_name(name) {
            self.text.push_str(&format!("${{env:{inner}}}"));
        } else {
            self.has_unknown = true;
            self.text.push_str(&format!("${{{inner}}}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(collector: &str) -> String {
        translated(collector).text
    }

    #[test]
    fn variables_stay_references() {
        assert_eq!(
            text("a ${env:X} ${Y} ${env:Z:-1} ${W:-a b}"),
            "a ${env:X} ${env:Y} ${env:Z:-1} ${env:W:-a b}"
        );
        assert_eq!(text("^/health$"), "^/health$");
    }

    #[test]
    fn doubled_dollars_are_one_unless_a_reference_would_begin() {
        assert_eq!(text("cost$$"), "cost$");
        assert_eq!(text("$$1 $${env:X} $${X}"), "$1 $${env:X} ${X}");
        assert_eq!(text("$$$$"), "$$");
    }

    #[test]
    fn what_is_no_variable_is_told() {
        let other = translated("${file:/x} $HOME ${");
        assert!(other.has_unknown && other.has_unbraced);
        assert_eq!(other.text, "${file:/x} $HOME ${");
    }
}
