//! Attributes of OpenTelemetry as labels of Loki: names and texts.
//!
//! A label is named by letters, digits and underscores, and begins with none of the digits; all else
//! becomes an underscore. Maps become a label for each of their entries. Values are text.

use std::borrow::Cow;

use kymo_store::scan::shown_text;
use kymo_wire::{AnyValueView, kvlist_entries, text};

/// What a name gets that begins with a digit.
const DIGIT_PREFIX: &str = "key_";

/// The name of the label that an attribute is in Loki.
pub fn label_name(key: &str) -> Cow<'_, str> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let begins_with_digit = key.starts_with(|c: char| c.is_ascii_digit());
    if !begins_with_digit && key.chars().all(is_plain) {
        return Cow::Borrowed(key);
    }
    let mut name = String::with_capacity(key.len() + DIGIT_PREFIX.len());
    if begins_with_digit {
        name.push_str(DIGIT_PREFIX);
    }
    name.extend(key.chars().map(|c| if is_plain(c) { c } else { '_' }));
    Cow::Owned(name)
}

/// Hands over the labels of an attribute: one, or those of the entries of a map, however deep: how
/// deep it can be is bounded where it is received.
pub(super) fn each_label(
    key: &str,
    value: &AnyValueView<'_>,
    each: &mut dyn FnMut(&str, Cow<'_, str>),
) {
    match value {
        AnyValueView::KvList(entries) => {
            for entry in kvlist_entries(entries).flatten() {
                each_label(&format!("{key}_{}", text(entry.key)), &entry.value, each);
            }
        }
        value => {
            if let Some(shown) = shown_text(value) {
                let shown = match shown {
                    Cow::Borrowed(bytes) => text(bytes),
                    Cow::Owned(bytes) => Cow::Owned(text(&bytes).into_owned()),
                };
                each(&label_name(key), shown);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_what_loki_makes_of_them() {
        for (key, name) in [
            ("service.name", "service_name"),
            ("1st key", "key_1st_key"),
            ("plain_1", "plain_1"),
            ("größe", "gr__e"),
            ("", ""),
        ] {
            assert_eq!(label_name(key), name);
        }
    }
}
