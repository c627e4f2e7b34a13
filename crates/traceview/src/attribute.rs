//! One attribute over all spans of a trace, and which attributes there are.
//!
//! A key names its scope: `span.http.route`, `resource.host.name`, `scope.version`, `event.message`.
//! With a dot alone (`.http.route`) the span's own comes first, then that of its resource, as in
//! TraceQL.

use hashbrown::HashMap;
use kymo_wire::{AnyValueView, KeyValueView, Repeated, ResourceView, ScopeView, View, WireError};
use serde::Serialize;
use serde_json::Value;

use crate::error::TraceError;
use crate::limits::{COLUMN_MAX_BYTES, KEYS_MAX};
use crate::tree::TraceTree;
use crate::value::{json_of, type_name};

/// Where an attribute is looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    /// Of the span, else of its resource.
    Any,
    Span,
    Resource,
    Instrumentation,
    Event,
}

/// The name of an attribute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key {
    pub(crate) scope: Scope,
    pub(crate) name: String,
}

impl Key {
    /// Reads a key. One without a scope that is known is one of any scope.
    pub fn parse(text: &str) -> Self {
        for (prefix, scope) in [
            ("span.", Scope::Span),
            ("resource.", Scope::Resource),
            ("instrumentation.", Scope::Instrumentation),
            ("scope.", Scope::Instrumentation),
            ("event.", Scope::Event),
            (".", Scope::Any),
        ] {
            if let Some(name) = text.strip_prefix(prefix) {
                return Self { scope, name: unquoted(name) };
            }
        }
        Self { scope: Scope::Any, name: unquoted(text) }
    }
}

/// TraceQL writes names with odd letters in quotes.
fn unquoted(name: &str) -> String {
    let inner = name.strip_prefix('"').and_then(|name| name.strip_suffix('"'));
    inner.unwrap_or(name).to_owned()
}

/// Reads one attribute of many spans. What resources and scopes have is read once.
pub(crate) struct Reader<'t> {
    tree: &'t TraceTree,
    key: Key,
    of_resources: Vec<Option<AnyValueView<'t>>>,
    of_scopes: Vec<Option<AnyValueView<'t>>>,
}

impl<'t> Reader<'t> {
    pub(crate) fn new(tree: &'t TraceTree, key: Key) -> Result<Self, WireError> {
        let name = key.name.as_bytes();
        let of_resources = tree.resources.iter().map(|resource| {
            let view = ResourceView::parse(tree.bytes(resource.raw))?;
            lookup(view.attributes, name)
        });
        let of_resources = of_resources.collect::<Result<_, WireError>>()?;
        let of_scopes = tree.scopes.iter().map(|scope| {
            let view = ScopeView::parse(tree.bytes(scope.raw))?;
            match name {
                b"name" => Ok(Some(AnyValueView::String(view.name))),
                b"version" => Ok(Some(AnyValueView::String(view.version))),
                name => lookup(view.attributes, name),
            }
        });
        let of_scopes = of_scopes.collect::<Result<_, WireError>>()?;
        Ok(Self { tree, key, of_resources, of_scopes })
    }

    pub(crate) fn at(&self, row: usize) -> Result<Option<AnyValueView<'t>>, WireError> {
        let name = self.key.name.as_bytes();
        let span = &self.tree.spans[row];
        let of_span = || lookup(self.tree.view(row)?.attributes, name);
        let of_resource = self.of_resources[span.resource as usize];
        match self.key.scope {
            Scope::Any => Ok(of_span()?.or(of_resource)),
            Scope::Span => of_span(),
            Scope::Resource => Ok(of_resource),
            Scope::Instrumentation => Ok(self.of_scopes[span.scope as usize]),
            Scope::Event => {
                for event in self.tree.view(row)?.events {
                    if let Some(value) = lookup(event?.attributes, name)? {
                        return Ok(Some(value));
                    }
                }
                Ok(None)
            }
        }
    }

    /// Whether a row has a value that fits. Of its events any may have it.
    pub(crate) fn has(
        &self,
        row: usize,
        fits: impl Fn(&AnyValueView<'_>) -> bool,
    ) -> Result<bool, WireError> {
        if self.key.scope != Scope::Event {
            return Ok(self.at(row)?.is_some_and(|value| fits(&value)));
        }
        for event in self.tree.view(row)?.events {
            let value = lookup(event?.attributes, self.key.name.as_bytes())?;
            if value.is_some_and(|value| fits(&value)) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// The value of a key in a list of attributes.
pub(crate) fn lookup<'a>(
    attributes: Repeated<'a, KeyValueView<'a>>,
    name: &[u8],
) -> Result<Option<AnyValueView<'a>>, WireError> {
    for raw in attributes.raws() {
        let raw = raw?;
        if KeyValueView::usual_key(raw).is_some_and(|key| key != name) {
            continue;
        }
        let attribute = KeyValueView::parse(raw)?;
        if attribute.key == name {
            return Ok(Some(attribute.value));
        }
    }
    Ok(None)
}

/// An attribute over all rows: each value once, and its place by row.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AttributeColumn {
    /// See [`TraceTree::revision`].
    pub revision: String,
    /// The type of all values, or `mixed`.
    pub r#type: &'static str,
    /// The values that occur, by first row, with their types.
    pub values: Vec<Value>,
    /// For each row a place in `values`, -1 if it has none.
    pub rows: Vec<i32>,
    /// Whether values were left out for their size; their rows have -1.
    pub truncated: bool,
}

impl AttributeColumn {
    /// The values of a key in all rows.
    pub fn of(tree: &TraceTree, key: Key) -> Result<Self, TraceError> {
        let reader = Reader::new(tree, key)?;
        let mut column = Self {
            revision: tree.revision(),
            r#type: "empty",
            values: Vec::new(),
            rows: Vec::with_capacity(tree.len()),
            truncated: false,
        };
        let mut known: HashMap<(&'static str, String), i32> = HashMap::new();
        let mut left_bytes = COLUMN_MAX_BYTES;
        for row in 0..tree.len() {
            let Some(value) = reader.at(row)? else {
                column.rows.push(-1);
                continue;
            };
            let shown = json_of(&value);
            let id = (type_name(&value), shown.to_string());
            if let Some(code) = known.get(&id) {
                column.rows.push(*code);
                continue;
            }
            let Some(left) = left_bytes.checked_sub(id.1.len()) else {
                column.truncated = true;
                column.rows.push(-1);
                continue;
            };
            left_bytes = left;
            column.r#type = match column.r#type {
                "empty" => id.0,
                same if same == id.0 => same,
                _ => "mixed",
            };
            let code = column.values.len() as i32;
            column.values.push(shown);
            column.rows.push(code);
            known.insert(id, code);
        }
        Ok(column)
    }
}

/// A key that occurs in a trace.
#[derive(Debug, Serialize, PartialEq, Eq)]
pub struct FoundKey {
    /// With its scope: `span.http.route`.
    pub key: String,
    /// The type of the first value.
    pub r#type: &'static str,
    /// How many spans have it.
    pub spans: usize,
}

/// Which attributes spans and resources have, those of most spans first.
pub fn keys(tree: &TraceTree) -> Result<Vec<FoundKey>, TraceError> {
    let mut found: HashMap<(&'static str, &[u8]), (&'static str, usize)> = HashMap::new();
    let mut of_resources = vec![0usize; tree.resources.len()];
    for (row, span) in tree.spans.iter().enumerate() {
        of_resources[span.resource as usize] += 1;
        for attribute in tree.view(row)?.attributes {
            let attribute = attribute?;
            let entry = found.entry(("span.", attribute.key));
            entry.or_insert((type_name(&attribute.value), 0)).1 += 1;
        }
    }
    for (resource, spans) in tree.resources.iter().zip(of_resources) {
        for attribute in ResourceView::parse(tree.bytes(resource.raw))?.attributes {
            let attribute = attribute?;
            let entry = found.entry(("resource.", attribute.key));
            entry.or_insert((type_name(&attribute.value), 0)).1 += spans;
        }
    }
    let mut keys: Vec<FoundKey> = found
        .into_iter()
        .map(|((scope, key), (r#type, spans))| FoundKey {
            key: format!("{scope}{}", kymo_wire::text(key)),
            r#type,
            spans,
        })
        .collect();
    keys.sort_unstable_by(|a, b| b.spans.cmp(&a.spans).then_with(|| a.key.cmp(&b.key)));
    keys.truncate(KEYS_MAX);
    Ok(keys)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{sent, tree};
    use serde_json::json;

    fn example() -> TraceTree {
        let mut spans = vec![
            sent(1, 0, "shop", "a", 10, 90),
            sent(2, 1, "shop", "b", 20, 30),
            sent(3, 1, "db", "c", 40, 50),
        ];
        spans[0].attributes =
            vec![("n", AnyValueView::Int(0)), ("host.name", AnyValueView::Int(7))];
        spans[2].attributes = vec![("n", AnyValueView::Int(0)), ("s", AnyValueView::String(b""))];
        spans[1].events = vec![(25, "e")];
        tree(&spans)
    }

    fn column(key: &str) -> (Vec<Value>, Vec<i32>, &'static str) {
        let column = AttributeColumn::of(&example(), Key::parse(key)).unwrap();
        (column.values, column.rows, column.r#type)
    }

    #[test]
    fn a_column_has_each_value_once_and_zero_and_empty_text_are_values() {
        assert_eq!(column("span.n"), (vec![json!(0)], vec![0, -1, 0], "int"));
        assert_eq!(column("span.s"), (vec![json!("")], vec![-1, -1, 0], "string"));
        let services = (vec![json!("shop"), json!("db")], vec![0, 0, 1], "string");
        assert_eq!(column("resource.service.name"), services);
        assert_eq!(column("event.n"), (vec![json!(3)], vec![-1, 0, -1], "int"));
        assert_eq!(column("span.none"), (vec![], vec![-1; 3], "empty"));
    }

    #[test]
    fn without_a_scope_the_spans_own_comes_first() {
        let expected = (vec![json!(7), json!("node1")], vec![0, 1, 1], "mixed");
        assert_eq!(column(".host.name"), expected);
        assert_eq!(column("host.name"), expected);
        assert_eq!(Key::parse("span.\"a b\"").name, "a b");
    }

    #[test]
    fn keys_are_listed_with_how_many_spans_have_them() {
        let found = keys(&example()).unwrap();
        let shown: Vec<_> = found.iter().map(|key| (&*key.key, key.spans)).collect();
        let expected = [
            ("resource.host.name", 3),
            ("resource.service.name", 3),
            ("span.n", 2),
            ("span.host.name", 1),
            ("span.s", 1),
        ];
        assert_eq!(shown, expected);
    }
}
