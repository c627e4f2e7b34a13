//! Rows as plain structs, what a predicate means for them, and how they become
//! sources.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::Arc;

use kymo_wire::{KeyValueView, View};

use crate::block::read::Block;
use crate::block::source::Source;
use crate::block::write::{BlockInput, write};
use crate::chunk::ChunkBuilder;
use crate::objects::Objects;
use crate::origin::Origin;
use crate::pages::write_varint;
use crate::scan::{ColumnRef, Op, Predicate, Scalar, Scope};
use crate::schema::{Signal, ValueType};
use crate::tables::order;
use crate::tables::spans::{TABLE, field, list};

/// A value as it is sent.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    Empty,
    Text(String),
    Bool(bool),
    Int(i64),
    Double(f64),
    Bytes(Vec<u8>),
    /// An array of one integer below 128.
    Array(u8),
}

impl Value {
    pub(super) fn value_type(&self) -> Option<ValueType> {
        Some(match self {
            Value::Empty => return None,
            Value::Text(_) => ValueType::String,
            Value::Bool(_) => ValueType::Bool,
            Value::Int(_) => ValueType::Int,
            Value::Double(_) => ValueType::Double,
            Value::Bytes(_) | Value::Array(_) => ValueType::Any,
        })
    }

    fn encode(&self) -> Vec<u8> {
        let framed = |tag: u8, bytes: &[u8]| {
            let mut out = vec![tag << 3 | 2];
            write_varint(bytes.len() as u64, &mut out);
            out.extend_from_slice(bytes);
            out
        };
        match self {
            Value::Empty => Vec::new(),
            Value::Text(text) => framed(1, text.as_bytes()),
            Value::Bool(value) => vec![2 << 3, u8::from(*value)],
            Value::Int(value) => {
                let mut out = vec![3 << 3];
                write_varint(*value as u64, &mut out);
                out
            }
            Value::Double(value) => [&[4 << 3 | 1][..], &value.to_le_bytes()].concat(),
            Value::Array(value) => framed(5, &[1 << 3 | 2, 2, 3 << 3, *value]),
            Value::Bytes(bytes) => framed(7, bytes),
        }
    }

    /// An encoded `KeyValue`.
    pub(super) fn attribute(&self, key: &str) -> Vec<u8> {
        let value = self.encode();
        let mut out = vec![1 << 3 | 2];
        write_varint(key.len() as u64, &mut out);
        out.extend_from_slice(key.as_bytes());
        out.push(2 << 3 | 2);
        write_varint(value.len() as u64, &mut out);
        out.extend_from_slice(&value);
        out
    }

    pub(super) fn shown(&self) -> String {
        match self {
            Value::Empty => String::new(),
            Value::Text(text) => text.clone(),
            Value::Bool(value) => value.to_string(),
            Value::Int(value) => value.to_string(),
            Value::Double(value) => value.to_string(),
            Value::Array(value) => format!("[{value}]"),
            Value::Bytes(bytes) => {
                use base64::prelude::{BASE64_STANDARD, Engine};
                BASE64_STANDARD.encode(bytes)
            }
        }
    }

    fn json(&self) -> String {
        match self {
            Value::Empty => "null".to_owned(),
            Value::Text(_) | Value::Bytes(_) => serde_json::to_string(&self.shown()).unwrap(),
            Value::Double(value) if value.is_nan() => "\"NaN\"".to_owned(),
            Value::Double(value) if value.is_infinite() => {
                format!("\"{}Infinity\"", if *value < 0.0 { "-" } else { "" })
            }
            Value::Double(value) => format!("{value:?}"),
            other => other.shown(),
        }
    }
}

/// Attributes as a JSON object.
pub(super) fn json<K: AsRef<str>>(attributes: &[(K, Value)]) -> String {
    let entry = |(key, value): &(K, Value)| {
        format!("{}:{}", serde_json::to_string(key.as_ref()).unwrap(), value.json())
    };
    format!("{{{}}}", attributes.iter().map(entry).collect::<Vec<_>>().join(","))
}

/// What every span repeats of its trace.
#[derive(Debug, Clone, Default)]
pub(super) struct OfTrace {
    root_name: Option<String>,
    root_service: Option<String>,
    start: i64,
    duration: i64,
}

/// Tells each row what is to be known of its trace; of roots that began at once,
/// the row that came first is the root.
pub(super) fn derive(rows: &mut [Row]) {
    let mut traces: HashMap<u8, (OfTrace, i64, Option<i64>)> = HashMap::new();
    for row in rows.iter() {
        let known = traces.entry(row.trace).or_insert((
            OfTrace { start: i64::MAX, ..OfTrace::default() },
            i64::MIN,
            None,
        ));
        known.0.start = known.0.start.min(row.start);
        known.1 = known.1.max(row.start + row.duration.max(0));
        if row.parent.is_none() && known.2.is_none_or(|start| row.start < start) {
            known.2 = Some(row.start);
            known.0.root_name = Some(row.name.clone());
            let service = row.shown(&ColumnRef::Field(field::SERVICE));
            known.0.root_service = service.map(|service| service.shown());
        }
    }
    for row in rows {
        let (of_trace, end, _) = &traces[&row.trace];
        row.of_trace = OfTrace { duration: end - of_trace.start, ..of_trace.clone() };
    }
}

/// An event or a link of a span.
#[derive(Debug, Clone)]
pub(super) struct Element {
    /// The time of an event, the trace of a link.
    pub(super) number: u8,
    /// The name of an event; a link has none.
    pub(super) name: String,
    pub(super) attributes: Vec<(&'static str, Value)>,
}

impl Element {
    fn list(&self) -> Vec<u8> {
        let mut list = Vec::new();
        for (key, value) in &self.attributes {
            crate::chunk::push_rest(&value.attribute(key), &mut list);
        }
        list
    }
}

/// A span.
#[derive(Debug, Clone)]
pub(super) struct Row {
    pub(super) trace: u8,
    pub(super) id: u64,
    pub(super) parent: Option<u64>,
    pub(super) name: String,
    pub(super) start: i64,
    pub(super) duration: i64,
    pub(super) status: Option<&'static str>,
    pub(super) resource: Vec<(&'static str, Value)>,
    pub(super) attributes: Vec<(String, Value)>,
    pub(super) events: Vec<Element>,
    pub(super) links: Vec<Element>,
    pub(super) of_trace: OfTrace,
}

impl Row {
    fn append(&self, builder: &mut ChunkBuilder) {
        let mut resource = Vec::new();
        for (key, value) in &self.resource {
            crate::chunk::push_rest(&value.attribute(key), &mut resource);
        }
        let mut encoded = Vec::new();
        Origin { resource: Some(&resource), ..Origin::default() }.encode(&mut encoded);
        let origin = builder.origin(&encoded);
        builder.begin_row(origin);
        builder.id(field::TRACE_ID, &[self.trace; 16]);
        builder.id(field::SPAN_ID, &self.id.to_be_bytes());
        if let Some(parent) = self.parent {
            builder.id(field::PARENT_SPAN_ID, &parent.to_be_bytes());
        }
        builder.bytes(field::NAME, self.name.as_bytes());
        builder.bytes(field::KIND, b"server");
        builder.int(field::START_TIME, self.start);
        builder.int(field::DURATION, self.duration);
        if let Some(status) = self.status {
            builder.bytes(field::STATUS, status.as_bytes());
        }
        for (key, value) in &self.attributes {
            let raw = value.attribute(key);
            builder.attribute(&KeyValueView::parse(&raw).unwrap());
        }
        builder.end_attributes();
        for event in &self.events {
            builder.begin_element(list::EVENTS);
            builder.element_int(list::EVENTS, list::EVENT_TIME, i64::from(event.number));
            builder.element_bytes(list::EVENTS, list::EVENT_NAME, event.name.as_bytes());
            if !event.attributes.is_empty() {
                builder.element_bytes(list::EVENTS, list::EVENT_ATTRIBUTES, &event.list());
            }
        }
        for link in &self.links {
            builder.begin_element(list::LINKS);
            builder.element_id(list::LINKS, list::LINK_TRACE_ID, &[link.number; 16]);
            builder.element_id(list::LINKS, list::LINK_SPAN_ID, &[link.number; 8]);
            if !link.attributes.is_empty() {
                builder.element_bytes(list::LINKS, list::LINK_ATTRIBUTES, &link.list());
            }
        }
    }

    /// All values of a column.
    pub(super) fn values(&self, column: &ColumnRef) -> Vec<Value> {
        let text = |text: &str| vec![Value::Text(text.to_owned())];
        match column {
            ColumnRef::Field(field::SPAN_ID) => vec![Value::Bytes(self.id.to_be_bytes().into())],
            ColumnRef::Field(field::TRACE_ID) => vec![Value::Bytes(vec![self.trace; 16])],
            ColumnRef::Field(field::PARENT_SPAN_ID) => {
                self.parent.iter().map(|id| Value::Bytes(id.to_be_bytes().into())).collect()
            }
            ColumnRef::Field(field::NAME) => text(&self.name),
            ColumnRef::Field(field::START_TIME) => vec![Value::Int(self.start)],
            ColumnRef::Field(field::DURATION) => vec![Value::Int(self.duration)],
            ColumnRef::Field(field::STATUS) => text(self.status.unwrap_or("unset")),
            ColumnRef::EndTime => vec![Value::Int(self.start + self.duration)],
            ColumnRef::Field(field::ROOT_NAME) => {
                self.of_trace.root_name.as_deref().map(text).unwrap_or_default()
            }
            ColumnRef::Field(field::ROOT_SERVICE) => {
                self.of_trace.root_service.as_deref().map(text).unwrap_or_default()
            }
            ColumnRef::Field(field::TRACE_START_TIME) => vec![Value::Int(self.of_trace.start)],
            ColumnRef::Field(field::TRACE_DURATION) => vec![Value::Int(self.of_trace.duration)],
            ColumnRef::Attributes(Scope::Own) => text(&json(&self.attributes)),
            ColumnRef::Attributes(Scope::Resource) => text(&json(&self.resource)),
            ColumnRef::Attributes(_) => Vec::new(),
            ColumnRef::Element { .. } => panic!("a row is no element"),
            ColumnRef::Field(field::SERVICE) => {
                self.values(&ColumnRef::attribute(Scope::Resource, "service.name"))
            }
            ColumnRef::Field(other) => panic!("the model has no field {other}"),
            ColumnRef::Attribute { scope, key, value_type } => {
                let of_type = |value: &&Value| {
                    value.value_type().is_some_and(|t| value_type.is_none_or(|wanted| t == wanted))
                };
                let own = self.attributes.iter().filter(|(k, _)| k == key).map(|(_, v)| v);
                let resource = self.resource.iter().filter(|(k, _)| k == key).map(|(_, v)| v);
                match scope {
                    Scope::Own => own.filter(of_type).cloned().collect(),
                    Scope::Resource => resource.filter(of_type).cloned().collect(),
                    _ => Vec::new(),
                }
            }
        }
    }

    /// The value that a batch shows.
    pub(super) fn shown(&self, column: &ColumnRef) -> Option<Value> {
        let values = self.values(column);
        let first = values.iter().filter_map(Value::value_type).min();
        values.into_iter().find(|value| value.value_type() == first)
    }

    pub(super) fn passes(&self, predicate: &Predicate) -> bool {
        match predicate {
            Predicate::And(parts) => parts.iter().all(|part| self.passes(part)),
            Predicate::Or(parts) => parts.iter().any(|part| self.passes(part)),
            Predicate::Not(part) => !self.passes(part),
            Predicate::Compare { column, op, value } => {
                self.values(column).iter().any(|found| compares(found, *op, value))
            }
            Predicate::In { column, values } => self
                .values(column)
                .iter()
                .any(|found| values.iter().any(|value| compares(found, Op::Eq, value))),
            Predicate::Match { column, regex, negated } => {
                let regex = regex::Regex::new(regex).unwrap();
                self.values(column).iter().any(|found| match found {
                    Value::Text(text) => regex.is_match(text) != *negated,
                    _ => false,
                })
            }
            Predicate::Contains { column, text: part, negated } => {
                self.values(column).iter().any(|found| match found {
                    Value::Text(text) => text.contains(part) != *negated,
                    _ => false,
                })
            }
            Predicate::Exists(column) => !self.values(column).is_empty(),
        }
    }
}

fn compares(value: &Value, op: Op, scalar: &Scalar) -> bool {
    let order = match (value, scalar) {
        (Value::Text(a), Scalar::String(b)) => a.as_str().cmp(b),
        (Value::Bool(a), Scalar::Bool(b)) => a.cmp(b),
        (Value::Bytes(a), Scalar::Bytes(b)) => a.cmp(b),
        (Value::Int(a), Scalar::Int(b)) => a.cmp(b),
        (Value::Double(a), Scalar::Double(b)) => match a.partial_cmp(b) {
            Some(order) => order,
            None => return op == Op::Ne,
        },
        (Value::Int(a), Scalar::Double(b)) => match number(*a, *b) {
            Some(order) => order,
            None => return op == Op::Ne,
        },
        (Value::Double(a), Scalar::Int(b)) => match number(*b, *a) {
            Some(order) => order.reverse(),
            None => return op == Op::Ne,
        },
        _ => return false,
    };
    match op {
        Op::Eq => order == Ordering::Equal,
        Op::Ne => order != Ordering::Equal,
        Op::Lt => order == Ordering::Less,
        Op::Le => order != Ordering::Greater,
        Op::Gt => order == Ordering::Greater,
        Op::Ge => order != Ordering::Less,
    }
}

/// Small numbers compare as doubles; large doubles are whole.
fn number(int: i64, double: f64) -> Option<Ordering> {
    const WHOLE: f64 = 9_007_199_254_740_992.0;
    if double.abs() < WHOLE && int.unsigned_abs() < 1 << 53 {
        return (int as f64).partial_cmp(&double);
    }
    if double.is_nan() {
        return None;
    }
    Some(i128::from(int).cmp(&(double.floor() as i128)).then(if double.fract() > 0.0 {
        Ordering::Less
    } else {
        Ordering::Equal
    }))
}

/// Rows as a chunk.
pub(super) fn chunk(rows: &[Row]) -> Source {
    let mut builder = ChunkBuilder::new(&TABLE);
    rows.iter().for_each(|row| row.append(&mut builder));
    Source::Chunk(Arc::new(builder.finish()))
}

/// Rows as blocks, one for each day.
pub(super) fn blocks(rows: &[Row], objects: &Arc<dyn Objects>, name: &str) -> Vec<Source> {
    let sources: Vec<Source> = rows.chunks(3000).map(chunk).collect();
    let partitions = order::order(Signal::Spans, &sources, |_| true).unwrap();
    let blocks = partitions.iter().map(|partition| {
        let output = write(&BlockInput {
            table: &TABLE,
            sources: &sources,
            order: &partition.rows,
            journal: 0..0,
            zstd_level: 1,
        })
        .unwrap();
        let path = format!("{name}-{}.parquet", partition.day);
        objects.put(&path, output.bytes).unwrap();
        Source::Block(Arc::new(Block::open(objects.clone(), &path, None).unwrap()))
    });
    blocks.collect()
}
