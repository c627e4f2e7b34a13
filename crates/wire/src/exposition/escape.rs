//! Names of metrics and labels, for readers that do not know all of them.
//!
//! A name may be any text. Readers from before that was so know letters, digits, underscores and,
//! in metrics, colons; a reader says in `escaping=` how it wants to get the others.

/// How names are sent that not every reader knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Escaping {
    /// As they are, quoted.
    AllowUtf8,
    /// With an underscore for each character that is not known.
    #[default]
    Underscores,
    /// With `_dot_` for dots, two underscores for one, and underscores for the rest.
    Dots,
    /// With the number of the character, after `U__`, so that the name can be told from it.
    Values,
}

impl Escaping {
    /// The word in headers.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::AllowUtf8 => "allow-utf-8",
            Self::Underscores => "underscores",
            Self::Dots => "dots",
            Self::Values => "values",
        }
    }

    /// The scheme a header names.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        let all = [Self::AllowUtf8, Self::Underscores, Self::Dots, Self::Values];
        all.into_iter().find(|scheme| scheme.name() == name)
    }

    /// Appends a name as this scheme has it.
    pub(super) fn push(self, out: &mut String, name: &str) {
        let is_known = is_legacy_metric_name(name);
        match self {
            Self::AllowUtf8 => out.push_str(name),
            Self::Underscores | Self::Values if is_known => out.push_str(name),
            Self::Underscores => {
                for (index, c) in name.chars().enumerate() {
                    out.push(if is_known_char(c, index) { c } else { '_' });
                }
            }
            Self::Dots => {
                for (index, c) in name.chars().enumerate() {
                    match c {
                        '_' => out.push_str("__"),
                        '.' => out.push_str("_dot_"),
                        c if is_known_char(c, index) => out.push(c),
                        _ => out.push_str("__"),
                    }
                }
            }
            Self::Values => {
                out.push_str("U__");
                for (index, c) in name.chars().enumerate() {
                    match c {
                        '_' => out.push_str("__"),
                        c if is_known_char(c, index) => out.push(c),
                        c => out.push_str(&format!("_{:x}_", u32::from(c))),
                    }
                }
            }
        }
    }
}

fn is_known_char(c: char, index: usize) -> bool {
    c.is_ascii_alphabetic() || c == '_' || c == ':' || index > 0 && c.is_ascii_digit()
}

/// Whether every reader knows this name of a metric.
#[must_use]
pub fn is_legacy_metric_name(name: &str) -> bool {
    !name.is_empty() && name.chars().enumerate().all(|(index, c)| is_known_char(c, index))
}

/// Whether every reader knows this name of a label.
#[must_use]
pub fn is_legacy_label_name(name: &str) -> bool {
    is_legacy_metric_name(name) && !name.contains(':')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_escaped_as_the_reader_asks() {
        for (scheme, name, escaped) in [
            (Escaping::AllowUtf8, "a.b", "a.b"),
            (Escaping::Underscores, "a.b-c_d", "a_b_c_d"),
            (Escaping::Underscores, "9lives", "_lives"),
            (Escaping::Dots, "a.b_c", "a_dot_b__c"),
            (Escaping::Values, "a.b_c", "U__a_2e_b__c"),
            (Escaping::Values, "a_b", "a_b"),
        ] {
            let mut out = String::new();
            scheme.push(&mut out, name);
            assert_eq!(out, escaped, "{scheme:?} {name}");
        }
        assert_eq!(Escaping::from_name("dots"), Some(Escaping::Dots));
        assert_eq!(Escaping::from_name("x"), None);
    }

    #[test]
    fn known_names_are_told_from_others() {
        assert!(is_legacy_metric_name("a:b_1") && !is_legacy_label_name("a:b_1"));
        for name in ["", "1a", "a.b", "ü"] {
            assert!(!is_legacy_metric_name(name), "{name}");
        }
    }
}
