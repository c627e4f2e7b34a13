//! Relabeling: rules that change, keep or drop label sets, with Prometheus' meaning.
//!
//! Regular expressions match the whole value, and `.` matches line breaks. In replacements `$1`
//! and `${name}` stand for groups, as in Go: `$1x` is the group named `1x`.

use md5::{Digest, Md5};
use regex::Regex;

use crate::labels::Labels;

/// What a rule does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RelabelAction {
    /// Sets the target to the replacement, if the sources match.
    Replace,
    /// Drops what does not match.
    Keep,
    /// Drops what matches.
    Drop,
    /// Sets the target to the hash of the sources modulo the modulus.
    HashMod,
    /// Copies labels whose names match to names after the replacement.
    LabelMap,
    /// Removes labels whose names match.
    LabelDrop,
    /// Removes labels whose names do not match.
    LabelKeep,
    /// Sets the target to the sources in lower case.
    Lowercase,
    /// Sets the target to the sources in upper case.
    Uppercase,
    /// Drops what has another value in the target than in the sources.
    KeepEqual,
    /// Drops what has the same value in the target as in the sources.
    DropEqual,
}

impl RelabelAction {
    /// All actions.
    pub const ALL: [Self; 11] = [
        Self::Replace,
        Self::Keep,
        Self::Drop,
        Self::HashMod,
        Self::LabelMap,
        Self::LabelDrop,
        Self::LabelKeep,
        Self::Lowercase,
        Self::Uppercase,
        Self::KeepEqual,
        Self::DropEqual,
    ];

    /// The word in the file.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Replace => "replace",
            Self::Keep => "keep",
            Self::Drop => "drop",
            Self::HashMod => "hashmod",
            Self::LabelMap => "labelmap",
            Self::LabelDrop => "labeldrop",
            Self::LabelKeep => "labelkeep",
            Self::Lowercase => "lowercase",
            Self::Uppercase => "uppercase",
            Self::KeepEqual => "keepequal",
            Self::DropEqual => "dropequal",
        }
    }
}

/// The regular expression of a rule that has none of its own.
pub(crate) const DEFAULT_REGEX: &str = "(.*)";
/// The replacement of a rule that has none of its own.
pub(crate) const DEFAULT_REPLACEMENT: &str = "$1";
/// What joins the values of the sources.
pub(crate) const DEFAULT_SEPARATOR: &str = ";";

/// One rule.
#[derive(Debug, Clone)]
pub struct RelabelRule {
    pub(crate) action: RelabelAction,
    pub(crate) source_labels: Vec<String>,
    pub(crate) separator: String,
    pub(crate) regex_text: String,
    pub(crate) regex: Regex,
    pub(crate) modulus: u64,
    pub(crate) target_label: String,
    pub(crate) replacement: String,
    /// Whether names of labels are confined to letters, digits and underscores.
    pub(crate) legacy_names: bool,
}

impl PartialEq for RelabelRule {
    fn eq(&self, other: &Self) -> bool {
        // The compiled expression follows from its text.
        let key = |rule: &Self| {
            (rule.action, rule.modulus, rule.legacy_names, rule.source_labels.clone())
        };
        let texts = |rule: &Self| {
            [
                rule.separator.clone(),
                rule.regex_text.clone(),
                rule.target_label.clone(),
                rule.replacement.clone(),
            ]
        };
        key(self) == key(other) && texts(self) == texts(other)
    }
}

/// Compiles an expression that matches whole values.
pub(crate) fn anchored(text: &str) -> Result<Regex, String> {
    let regex = kymo_pattern::regex(text, kymo_pattern::MAX_PATTERN_BYTES);
    regex.map_err(|error| error.to_string())
}

/// Whether a text may be the name of a label.
pub(crate) fn is_label_name(name: &str, legacy_names: bool) -> bool {
    if legacy_names {
        return kymo_wire::exposition::is_legacy_label_name(name);
    }
    !name.is_empty()
}

/// Applies rules in their order. Says whether the label set is kept.
#[must_use]
pub fn relabel(labels: &mut Labels, rules: &[RelabelRule]) -> bool {
    rules.iter().all(|rule| rule.apply(labels))
}

impl RelabelRule {
    /// Applies the rule; `false` if the label set is dropped.
    fn apply(&self, labels: &mut Labels) -> bool {
        match self.action {
            RelabelAction::Keep => return self.regex.is_match(&self.joined(labels)),
            RelabelAction::Drop => return !self.regex.is_match(&self.joined(labels)),
            RelabelAction::KeepEqual => {
                return labels.get(&self.target_label) == self.joined(labels);
            }
            RelabelAction::DropEqual => {
                return labels.get(&self.target_label) != self.joined(labels);
            }
            RelabelAction::Replace => self.replace(labels),
            RelabelAction::Lowercase => {
                let value = self.joined(labels).to_lowercase();
                labels.set(&self.target_label, value);
            }
            RelabelAction::Uppercase => {
                let value = self.joined(labels).to_uppercase();
                labels.set(&self.target_label, value);
            }
            RelabelAction::HashMod => {
                let value = hash(&self.joined(labels)) % self.modulus.max(1);
                labels.set(&self.target_label, value.to_string());
            }
            RelabelAction::LabelMap => {
                let found = labels.clone();
                for (name, value) in found.iter() {
                    if self.regex.is_match(name) {
                        let name = self.regex.replace_all(name, self.replacement.as_str());
                        labels.set(&name, value);
                    }
                }
            }
            RelabelAction::LabelDrop => labels.retain(|name| !self.regex.is_match(name)),
            RelabelAction::LabelKeep => labels.retain(|name| self.regex.is_match(name)),
        }
        true
    }

    fn replace(&self, labels: &mut Labels) {
        let value = self.joined(labels);
        let Some(groups) = self.regex.captures(&value) else { return };
        let mut target = String::new();
        groups.expand(&self.target_label, &mut target);
        if !is_label_name(&target, self.legacy_names) {
            return;
        }
        let mut replacement = String::new();
        groups.expand(&self.replacement, &mut replacement);
        labels.set(&target, replacement);
    }

    fn joined(&self, labels: &Labels) -> String {
        let mut joined = String::new();
        for (index, name) in self.source_labels.iter().enumerate() {
            if index > 0 {
                joined.push_str(&self.separator);
            }
            joined.push_str(labels.get(name));
        }
        joined
    }
}

/// The last eight bytes of the MD5 sum, as a number.
fn hash(text: &str) -> u64 {
    let sum = Md5::digest(text.as_bytes());
    sum.iter().skip(8).fold(0, |number, byte| number << 8 | u64::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(action: RelabelAction) -> RelabelRule {
        RelabelRule {
            action,
            source_labels: vec!["a".into()],
            separator: DEFAULT_SEPARATOR.into(),
            regex_text: DEFAULT_REGEX.into(),
            regex: anchored(DEFAULT_REGEX).unwrap(),
            modulus: 0,
            target_label: String::new(),
            replacement: DEFAULT_REPLACEMENT.into(),
            legacy_names: false,
        }
    }

    fn with_regex(mut rule: RelabelRule, regex: &str) -> RelabelRule {
        rule.regex = anchored(regex).unwrap();
        rule
    }

    fn applied(rule: RelabelRule) -> Option<String> {
        let mut labels: Labels =
            [("a", "Foo"), ("b", "bar"), ("__meta_x", "baz")].into_iter().collect();
        relabel(&mut labels, &[rule]).then(|| labels.to_string())
    }

    const ALL: &str = r#"{__meta_x="baz", a="Foo", b="bar"}"#;

    #[test]
    fn replace_sets_the_target_to_what_the_groups_give() {
        let mut two = with_regex(rule(RelabelAction::Replace), "(?P<first>F.*);b(.*)");
        two.source_labels = vec!["a".into(), "b".into()];
        two.target_label = "n_$2".into();
        two.replacement = "${first}-$2-$3-x".into();
        assert_eq!(
            applied(two.clone()).unwrap(),
            r#"{__meta_x="baz", a="Foo", b="bar", n_ar="Foo-ar--x"}"#
        );
        two.replacement = "$9".into();
        two.target_label = "b".into();
        assert_eq!(
            applied(two.clone()).unwrap(),
            r#"{__meta_x="baz", a="Foo"}"#,
            "an empty value removes the label"
        );
        two.regex = anchored("F").unwrap();
        assert_eq!(applied(two).unwrap(), ALL, "a part of the value is no match");
        let mut invalid = rule(RelabelAction::Replace);
        invalid.target_label = "$1-".into();
        invalid.legacy_names = true;
        assert_eq!(applied(invalid).unwrap(), ALL, "a name that is none is not set");
    }

    #[test]
    fn keep_and_drop_look_at_the_whole_value() {
        assert!(applied(with_regex(rule(RelabelAction::Keep), "Fo+")).is_some());
        assert!(applied(with_regex(rule(RelabelAction::Keep), "o+")).is_none());
        assert!(applied(with_regex(rule(RelabelAction::Drop), "Foo|x")).is_none());
        assert!(applied(with_regex(rule(RelabelAction::Drop), "Fo")).is_some());
    }

    #[test]
    fn equal_values_are_kept_or_dropped() {
        for (action, target, is_kept) in [
            (RelabelAction::KeepEqual, "a", true),
            (RelabelAction::KeepEqual, "b", false),
            (RelabelAction::DropEqual, "a", false),
            (RelabelAction::DropEqual, "b", true),
        ] {
            let mut rule = rule(action);
            rule.target_label = target.into();
            assert_eq!(applied(rule).is_some(), is_kept, "{action:?} {target}");
        }
    }

    #[test]
    fn hashmod_is_that_of_prometheus() {
        let mut rule = rule(RelabelAction::HashMod);
        rule.target_label = "h".into();
        rule.modulus = 1000;
        // md5("Foo") = 1356c67d7ad1638d816bfb822dd2c25d, of which 0x816bfb822dd2c25d counts.
        assert_eq!(hash("Foo"), 0x816b_fb82_2dd2_c25d);
        let expected = 0x816b_fb82_2dd2_c25d_u64 % 1000;
        assert!(applied(rule).unwrap().contains(&format!("h=\"{expected}\"")));
    }

    #[test]
    fn labels_are_mapped_dropped_and_kept_by_name() {
        let map = with_regex(rule(RelabelAction::LabelMap), "__meta_(.*)");
        assert_eq!(applied(map).unwrap(), r#"{__meta_x="baz", a="Foo", b="bar", x="baz"}"#);
        let drop = with_regex(rule(RelabelAction::LabelDrop), "__.*");
        assert_eq!(applied(drop).unwrap(), r#"{a="Foo", b="bar"}"#);
        let keep = with_regex(rule(RelabelAction::LabelKeep), "a");
        assert_eq!(applied(keep).unwrap(), r#"{a="Foo"}"#);
    }

    #[test]
    fn letters_change_their_case() {
        let mut lower = rule(RelabelAction::Lowercase);
        lower.target_label = "a".into();
        assert_eq!(applied(lower).unwrap(), r#"{__meta_x="baz", a="foo", b="bar"}"#);
        let mut upper = rule(RelabelAction::Uppercase);
        upper.target_label = "c".into();
        assert_eq!(applied(upper).unwrap(), r#"{__meta_x="baz", a="Foo", b="bar", c="FOO"}"#);
    }

    #[test]
    fn an_expression_cannot_leave_its_anchors() {
        assert!(anchored("a)|(b").is_err());
        assert!(anchored("(").is_err());
        assert!(anchored("a.b").unwrap().is_match("a\nb"));
    }
}
