//! Attributes that are labels, and those that name a peer: looked for in one walk over a span.

use std::borrow::Cow;

use kymo_wire::{KeyValueView, Repeated, View};

use crate::labels::{Names, cut, plain_name, value_text};
use crate::settings::{Naming, Settings};

/// Keys that are looked for, as bits: what has none of them is stepped over without being compared
/// with each, and without reading its value. Of attributes of real senders few more pass.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Wanted(u64);

impl Wanted {
    pub(crate) fn of<'k>(keys: impl IntoIterator<Item = &'k [u8]>) -> Self {
        Self(keys.into_iter().fold(0, |bits, key| bits | Self::bit(key)))
    }

    pub(crate) fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(crate) fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// An attribute that may be one of them.
    #[inline]
    pub(crate) fn entry<'a>(self, raw: &'a [u8]) -> Option<KeyValueView<'a>> {
        match KeyValueView::usual_key(raw) {
            Some(key) if self.0 & Self::bit(key) == 0 => None,
            _ => KeyValueView::parse(raw).ok(),
        }
    }

    #[inline]
    fn bit(key: &[u8]) -> u64 {
        let ends = match key {
            [first, .., last] => usize::from(*first) + usize::from(*last),
            _ => 0,
        };
        1 << ((key.len() + ends) & 63)
    }
}

/// Where an attribute is looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scope {
    /// At the resource, else at the span.
    Any,
    Resource,
    Span,
}

/// An attribute that is a label.
#[derive(Debug, Clone)]
struct Dimension {
    key: Box<[u8]>,
    scope: Scope,
    label: String,
}

impl Dimension {
    fn new(written: &str, naming: Naming) -> Self {
        let (scope, key) = match (written.strip_prefix("resource."), written.strip_prefix("span."))
        {
            (Some(key), _) => (Scope::Resource, key),
            (_, Some(key)) => (Scope::Span, key),
            _ => (Scope::Any, written),
        };
        let label = match naming {
            Naming::Tempo => plain_name(key),
            Naming::Collector => key.to_owned(),
        };
        Self { key: key.as_bytes().into(), scope, label }
    }
}

/// Attributes that are labels.
#[derive(Debug, Clone)]
pub(crate) struct Dimensions {
    all: Box<[Dimension]>,
}

/// Values of dimensions; empty for those that are not there.
pub(crate) type Values<'a> = Vec<Cow<'a, [u8]>>;

impl Dimensions {
    /// Those of spans' metrics. One that would be a label of spans already has `__` in front.
    pub(crate) fn of_spans(settings: &Settings) -> Self {
        let names = Names::of(settings.naming);
        let mut this = Self::new(&settings.dimensions, settings.naming);
        for dimension in &mut this.all {
            if names.contains(&dimension.label) {
                dimension.label.insert_str(0, "__");
            }
        }
        this
    }

    /// Those of the graph, which has Tempo's names in either scheme.
    pub(crate) fn of_graph(settings: &Settings) -> Self {
        Self::new(&settings.graph.dimensions, Naming::Tempo)
    }

    fn new(written: &[String], naming: Naming) -> Self {
        Self { all: written.iter().map(|key| Dimension::new(key, naming)).collect() }
    }

    pub(crate) fn labels(&self) -> impl Iterator<Item = &str> {
        self.all.iter().map(|dimension| dimension.label.as_str())
    }

    /// What a resource gives.
    pub(crate) fn of_resource<'a>(
        &self,
        attributes: Option<Repeated<'a, KeyValueView<'a>>>,
    ) -> Values<'a> {
        let mut values = vec![Cow::Borrowed(&[][..]); self.all.len()];
        if !self.all.is_empty() {
            for entry in attributes.into_iter().flatten().flatten() {
                self.take(&entry, Scope::Resource, &mut values);
            }
        }
        values
    }

    /// What is looked for at spans.
    pub(crate) fn wanted(&self) -> Wanted {
        let on_spans = self.all.iter().filter(|dimension| dimension.scope != Scope::Resource);
        Wanted::of(on_spans.map(|dimension| &*dimension.key))
    }

    /// Takes the value of an attribute, if it is one of these and there is none yet.
    pub(crate) fn take_of_span<'a>(&self, entry: &KeyValueView<'a>, values: &mut Values<'a>) {
        self.take(entry, Scope::Span, values);
    }

    fn take<'a>(&self, entry: &KeyValueView<'a>, scope: Scope, values: &mut Values<'a>) {
        for (dimension, value) in self.all.iter().zip(values) {
            let is_here = dimension.scope == Scope::Any || dimension.scope == scope;
            if is_here && value.is_empty() && *dimension.key == *entry.key {
                *value = value_text(&entry.value);
            }
        }
    }
}

/// Appends values to a key, so that no two lists of them are the same bytes.
pub(crate) fn push_values(values: &[Cow<'_, [u8]>], key: &mut Vec<u8>) {
    values.iter().for_each(|value| push_value(value, key));
}

/// The same for one value.
pub(crate) fn push_value(value: &[u8], key: &mut Vec<u8>) {
    let value = cut(value);
    // Values are cut to far less.
    key.extend_from_slice(&(value.len() as u16).to_le_bytes());
    key.extend_from_slice(value);
}

#[cfg(test)]
mod tests {
    use super::*;
    use kymo_wire::encode::{SpanFields, Writer};
    use kymo_wire::{AnyValueView, TracesView};

    fn values(settings: &Settings) -> Vec<(String, String)> {
        let mut w = Writer::new();
        w.resource_group(|w| {
            w.resource(|w| {
                w.resource_attribute(b"both", &AnyValueView::String(b"resource"));
                w.resource_attribute(b"kind", &AnyValueView::Int(7));
            });
            w.scope_group(|w| {
                w.span(&SpanFields::default(), |w| {
                    w.span_attribute(b"both", &AnyValueView::String(b"span"));
                    w.span_attribute(b"service", &AnyValueView::Bool(true));
                });
            });
        });
        let body = w.into_bytes();
        let group = TracesView::parse(&body).unwrap().resources.into_iter().next().unwrap();
        let group = group.unwrap();
        let scope = group.scopes.into_iter().next().unwrap().unwrap();
        let span = scope.items.into_iter().next().unwrap().unwrap();
        let dimensions = Dimensions::of_spans(settings);
        let mut values = dimensions.of_resource(group.resource.map(|one| one.attributes));
        let wanted = dimensions.wanted();
        for entry in span.attributes.raws().flatten().filter_map(|raw| wanted.entry(raw)) {
            dimensions.take_of_span(&entry, &mut values);
        }
        let texts = values.iter().map(|value| String::from_utf8_lossy(value).into_owned());
        dimensions.labels().map(str::to_owned).zip(texts).collect()
    }

    #[test]
    fn resources_come_first_unless_a_scope_is_named() {
        let dimensions = ["both", "span.both", "resource.both", "kind", "span.kind", "service"];
        let dimensions = dimensions.map(str::to_owned).to_vec();
        let settings = Settings { dimensions, ..Settings::default() };
        let expected = [
            ("both", "resource"),
            ("both", "span"),
            ("both", "resource"),
            ("kind", "7"),
            ("kind", ""),
            ("__service", "true"),
        ];
        let expected = expected.map(|(label, value)| (label.to_owned(), value.to_owned()));
        assert_eq!(values(&settings), expected);
    }

    #[test]
    fn what_is_not_looked_for_is_stepped_over_and_odd_forms_are_read() {
        let attribute = |key: &str, value: &str| {
            let mut w = Writer::new();
            w.key_value(1, key.as_bytes(), &AnyValueView::String(value.as_bytes()));
            let bytes = w.into_bytes();
            kymo_wire::kvlist_entries(&bytes).next().unwrap().unwrap().raw.to_vec()
        };
        let wanted = Wanted::of([&b"peer.service"[..], b"x"]);
        let long = "b".repeat(200);
        for (key, value) in [("peer.service", "bank"), ("peer.service", &*long), ("x", "")] {
            let raw = attribute(key, value);
            let entry = wanted.entry(&raw).unwrap();
            assert_eq!(entry.key, key.as_bytes());
            assert_eq!(entry.value, AnyValueView::String(value.as_bytes()));
        }
        let others = ["http.method", "http.route", "net.peer.name", "xx"];
        for key in others {
            assert!(wanted.entry(&attribute(key, "v")).is_none(), "{key}");
        }
        assert!(Wanted::default().is_empty() && !wanted.is_empty());
    }
}
