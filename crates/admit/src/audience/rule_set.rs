//! The flags that are in force, arranged for a fast decision.
//!
//! Flags have numbers below 64, so that "which flags are about this record" and "which flags allow
//! this user" are words of bits, and a record is kept if the first has no bit that the second lacks.

use std::borrow::Cow;
use std::sync::Arc;

use kymo_condition::Record;
use kymo_wire::{AnyValueView, Signal};

use super::book::FlagBook;
use super::limits::MAX_FLAGS;
use super::rule::{Rule, bounded};

/// One bit for each flag.
pub(crate) type Bits = u64;

/// The flags that are enabled.
#[derive(Debug, Default)]
pub(crate) struct RuleSet {
    rules: Vec<Arc<Rule>>,
    sources: Vec<Source>,
    /// Those with a condition on records.
    conditional: Bits,
}

/// Where users are named, for the flags that look there.
#[derive(Debug)]
pub(crate) struct Source {
    /// The attributes, as flags have them.
    pub(crate) attributes: Vec<String>,
    /// The same, as Prometheus spells them.
    label_names: Vec<String>,
    /// The flags that look there.
    pub(crate) flags: Bits,
}

impl RuleSet {
    pub(crate) fn new(book: &FlagBook) -> Self {
        let mut set = Self::default();
        let enabled = book.rules().filter(|rule| rule.flag().enabled);
        for (nth, rule) in enabled.take(MAX_FLAGS).enumerate() {
            let bit = 1 << nth;
            if rule.has_condition() {
                set.conditional |= bit;
            }
            let attributes = &rule.flag().attributes;
            match set.sources.iter_mut().find(|source| source.attributes == *attributes) {
                Some(source) => source.flags |= bit,
                None => set.sources.push(Source::new(attributes.clone(), bit)),
            }
            set.rules.push(Arc::clone(rule));
        }
        set
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.rules.len()
    }

    pub(crate) fn sources(&self) -> &[Source] {
        &self.sources
    }

    /// The flags that allow a user.
    pub(crate) fn allowing(&self, user: Option<&str>) -> Bits {
        self.bits(|rule| rule.decide(user).is_recorded)
    }

    /// The flags that are about a signal, those with a condition on its records included.
    pub(crate) fn about_signal(&self, signal: Signal) -> Bits {
        self.bits(|rule| rule.is_about_signal(signal))
    }

    /// Of the flags that are about a record's signal, those that are about the record.
    pub(crate) fn about(&self, about_signal: Bits, record: &Record<'_>) -> Bits {
        if about_signal & self.conditional == 0 {
            return about_signal;
        }
        let is_about = |(nth, rule): &(usize, &Arc<Rule>)| {
            about_signal & (1 << nth) != 0 && rule.is_about(record)
        };
        self.rules.iter().enumerate().filter(is_about).fold(0, |bits, (nth, _)| bits | 1 << nth)
    }

    fn bits(&self, is_set: impl Fn(&Rule) -> bool) -> Bits {
        let rules = self.rules.iter().enumerate();
        rules.fold(0, |bits, (nth, rule)| bits | Bits::from(is_set(rule)) << nth)
    }
}

impl Source {
    fn new(attributes: Vec<String>, flags: Bits) -> Self {
        let label = |name: &String| {
            name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect()
        };
        let label_names = attributes.iter().map(label).collect();
        Self { attributes, label_names, flags }
    }

    /// The user that a record names: by the first of the attributes that it, its scope or its
    /// resource has. Labels of metrics cannot have dots, so that for those `user_id` is `user.id`.
    pub(crate) fn user<'a>(&self, record: &Record<'a>) -> Option<Cow<'a, str>> {
        let find = |name: &String| named_by(record, name.as_bytes());
        let found = self.attributes.iter().find_map(find);
        match record.signal() {
            Some(Signal::Metrics) => found.or_else(|| self.label_names.iter().find_map(find)),
            _ => found,
        }
    }
}

/// The user whom an attribute names: that of the record, else of its scope, else of its resource.
fn named_by<'a>(record: &Record<'a>, key: &[u8]) -> Option<Cow<'a, str>> {
    let value = record.attribute(key)?;
    // One that is there and names nobody does not hide one that does.
    name_of(value).or_else(|| {
        let scope = record.scope().map(|scope| scope.attributes);
        let resource = record.resource().map(|resource| resource.attributes);
        let outer = scope.into_iter().chain(resource).flatten().flatten();
        outer
            .filter(|attribute| attribute.key == key)
            .find_map(|attribute| name_of(attribute.value))
    })
}

/// The name that a value is. Lists, maps and bytes name nobody, and neither does an empty text.
fn name_of(value: AnyValueView<'_>) -> Option<Cow<'_, str>> {
    let name = match value {
        AnyValueView::String(bytes) => match kymo_wire::text(bytes) {
            Cow::Borrowed(text) => Cow::Borrowed(bounded(text)),
            Cow::Owned(text) => Cow::Owned(bounded(&text).to_owned()),
        },
        AnyValueView::Int(value) => Cow::Owned(value.to_string()),
        AnyValueView::Double(value) => Cow::Owned(value.to_string()),
        AnyValueView::Bool(value) => Cow::Owned(value.to_string()),
        _ => return None,
    };
    Some(name).filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_other_types_name_a_user_by_their_text() {
        let names = [
            AnyValueView::String(b"ada"),
            AnyValueView::Int(-42),
            AnyValueView::Double(42.0),
            AnyValueView::Bool(true),
            AnyValueView::String(b""),
            AnyValueView::Bytes(b"ada"),
            AnyValueView::Empty,
        ];
        let names = names.map(|value| name_of(value).map(Cow::into_owned));
        let expected = [Some("ada"), Some("-42"), Some("42"), Some("true"), None, None, None];
        assert_eq!(names, expected.map(|name| name.map(str::to_owned)));
    }
}
