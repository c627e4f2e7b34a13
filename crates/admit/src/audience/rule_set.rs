//! The flags that are in force, arranged for a fast decision.
//!
//! Flags have numbers below 64, so that "which flags are about this record" and "which flags allow
//! this user" are words of bits, and a record is kept if the first has no bit that the second lacks.

use std::borrow::Cow;
use std::sync::Arc;

use kymo_condition::{Part, Record};
use kymo_wire::limits::MAX_NESTING;
use kymo_wire::{AnyValueView, Signal, array_values, kvlist_entries};

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

    /// Shows everybody whom a record names: in its own attributes, in those of its scope and its
    /// resource, with a rank, and in those of its events, links and exemplars, without one. The user
    /// of the record is the one with the least rank: attributes come in the flag's order, and of one
    /// attribute the record's before the scope's before the resource's. Labels of metrics cannot have
    /// dots, so that for those `user_id` is `user.id`.
    pub(crate) fn each_user<'a>(
        &self,
        record: &Record<'a>,
        mut show: impl FnMut(Option<usize>, Cow<'a, str>),
    ) {
        let is_metric = record.signal() == Some(Signal::Metrics);
        let label_names = if is_metric { self.label_names.as_slice() } else { &[] };
        let rank = |key: &[u8]| {
            let mut names = self.attributes.iter().chain(label_names);
            names.position(|name| name.as_bytes() == key)
        };
        let mut show = |part: Part, key: &[u8], value: AnyValueView<'a>| {
            let place = match part {
                Part::Own => Some(0),
                Part::Scope => Some(1),
                Part::Resource => Some(2),
                Part::Within => None,
            };
            let rank = place.and_then(|place| Some(rank(key)? * 3 + place));
            each_name(value, MAX_NESTING, &mut |name| show(rank, name));
        };
        record.each_attribute(|key| rank(key).is_some(), &mut show);
    }
}

/// Shows the names that a value has: of a list or a map those of all its members. An empty text names
/// nobody.
fn each_name<'a>(value: AnyValueView<'a>, levels_left: u32, show: &mut dyn FnMut(Cow<'a, str>)) {
    let name = match value {
        AnyValueView::String(bytes) | AnyValueView::Bytes(bytes) => match kymo_wire::text(bytes) {
            Cow::Borrowed(text) => Cow::Borrowed(bounded(text)),
            Cow::Owned(text) => Cow::Owned(bounded(&text).to_owned()),
        },
        AnyValueView::Int(value) => Cow::Owned(value.to_string()),
        AnyValueView::Double(value) => Cow::Owned(value.to_string()),
        AnyValueView::Bool(value) => Cow::Owned(value.to_string()),
        AnyValueView::Empty | AnyValueView::StringIndex(_) => return,
        AnyValueView::Array(_) | AnyValueView::KvList(_) => {
            // What is nested deeper was refused at admission.
            let Some(levels_left) = levels_left.checked_sub(1) else { return };
            match value {
                AnyValueView::Array(raw) => array_values(raw)
                    .flatten()
                    .for_each(|member| each_name(member, levels_left, show)),
                AnyValueView::KvList(raw) => kvlist_entries(raw)
                    .flatten()
                    .for_each(|entry| each_name(entry.value, levels_left, show)),
                _ => {}
            }
            return;
        }
    };
    if !name.is_empty() {
        show(name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kymo_condition::edit::value;
    use kymo_wire::View;

    fn names(value: AnyValueView<'_>) -> Vec<String> {
        let mut names = Vec::new();
        each_name(value, MAX_NESTING, &mut |name| names.push(name.into_owned()));
        names
    }

    #[test]
    fn values_of_other_types_name_a_user_by_their_text() {
        for (value, expected) in [
            (AnyValueView::String(b"ada"), Some("ada")),
            (AnyValueView::Int(-42), Some("-42")),
            (AnyValueView::Double(42.0), Some("42")),
            (AnyValueView::Bool(true), Some("true")),
            (AnyValueView::String(b""), None),
            (AnyValueView::Bytes(b"ada"), Some("ada")),
            (AnyValueView::Empty, None),
        ] {
            assert_eq!(names(value), Vec::from_iter(expected), "{value:?}");
        }
    }

    #[test]
    fn a_list_names_all_its_members() {
        let list = value::texts(["ada", "", "bob"]);
        assert_eq!(names(AnyValueView::parse(&list).unwrap()), ["ada", "bob"]);
    }
}
