//! Which columns of a source an entry is made of, and how its structured metadata is read off them.

use std::borrow::Cow;

use arrow_array::RecordBatch;
use kymo_logql::selection::{Names, Needs};
use kymo_store::StoreError;
use kymo_store::block::listing;
use kymo_store::block::source::Source;
use kymo_store::scan::{ColumnRef, Scope};
use kymo_store::schema::ValueType;
use kymo_store::tables::logs::field;

use super::json;
use super::names::label_name;
use super::streams::Belonging;
use crate::traceql::View;

/// Fields of a record that are structured metadata, with their names there. What was pushed in
/// Loki's protocol has ids only.
pub(super) const FIELDS: [(usize, &str); 8] = [
    (field::TRACE_ID, "trace_id"),
    (field::SPAN_ID, "span_id"),
    (field::SEVERITY_NUMBER, "severity_number"),
    (field::SEVERITY, "severity_text"),
    (field::FLAGS, "flags"),
    (field::EVENT_NAME, "event_name"),
    (field::DROPPED_ATTRIBUTES, "dropped_attributes_count"),
    (field::OBSERVED_TIME, "observed_timestamp"),
];

/// Places of the columns that every entry needs.
const TIME: usize = 0;
const ORIGIN: usize = 1;

/// Where the attributes of a record come from.
#[derive(Debug)]
enum Attributes {
    /// Nobody asks.
    None,
    /// All of them, as JSON.
    Json(usize),
    /// Those of these names.
    Columns(Vec<(usize, Box<str>)>),
}

/// Columns of a source, and what is where.
#[derive(Debug)]
pub(super) struct Layout {
    pub(super) columns: Vec<ColumnRef>,
    body: Option<usize>,
    fields: Vec<(usize, &'static str)>,
    /// Whether the record's time was sent: then its observed time is another one.
    time_sent: Option<usize>,
    attributes: Attributes,
}

impl Layout {
    /// The columns that `needs` names, as this source has them.
    pub(super) fn new(source: &Source, needs: &Needs) -> Result<Self, StoreError> {
        let mut layout = Self {
            columns: vec![ColumnRef::Field(field::TIME), ColumnRef::Field(field::ORIGIN)],
            body: None,
            fields: Vec::new(),
            time_sent: None,
            attributes: Attributes::None,
        };
        if needs.line {
            layout.body = Some(layout.add(ColumnRef::Field(field::BODY)));
        }
        for (number, name) in FIELDS {
            if needs.labels.has(name) {
                let place = layout.add(ColumnRef::Field(number));
                layout.fields.push((place, name));
                if number == field::OBSERVED_TIME {
                    layout.time_sent = Some(layout.add(ColumnRef::Field(field::TIME_SENT)));
                }
            }
        }
        layout.attributes = layout.attributes_of(source, needs)?;
        Ok(layout)
    }

    fn add(&mut self, column: ColumnRef) -> usize {
        self.columns.push(column);
        self.columns.len() - 1
    }

    fn attributes_of(&mut self, source: &Source, needs: &Needs) -> Result<Attributes, StoreError> {
        let Names::Only(names) = &needs.labels else {
            return Ok(Attributes::Json(self.add(ColumnRef::Attributes(Scope::Own))));
        };
        if names.is_empty() {
            return Ok(Attributes::None);
        }
        let mut columns = Vec::new();
        for key in own_keys(source)? {
            let name = label_name(&key);
            // A map becomes labels that begin with its name.
            let may_be_map = names.iter().any(|wanted| {
                wanted.strip_prefix(&*name).is_some_and(|rest| rest.starts_with('_'))
            });
            if may_be_map && has_maps(source, &key) {
                return Ok(Attributes::Json(self.add(ColumnRef::Attributes(Scope::Own))));
            }
            if names.contains(&*name) {
                let place = self.add(ColumnRef::attribute(Scope::Own, &*key));
                columns.push((place, name.into()));
            }
        }
        Ok(match columns.is_empty() {
            true => Attributes::None,
            false => Attributes::Columns(columns),
        })
    }
}

/// Keys of attributes that records of a source have themselves.
pub(super) fn own_keys(source: &Source) -> Result<Vec<String>, StoreError> {
    let keys = listing::keys(std::slice::from_ref(source))?;
    Ok(keys.into_iter().filter(|(scope, _)| *scope == Scope::Own).map(|(_, key)| key).collect())
}

/// Whether values of a key may be maps. What has no column may be anything.
fn has_maps(source: &Source, key: &str) -> bool {
    let columns = source.attributes();
    let mut of_key = columns.iter().filter(|(known, _)| *known.key == *key.as_bytes()).peekable();
    of_key.peek().is_none() || of_key.any(|(known, _)| known.value_type == ValueType::Any)
}

/// Entries of a batch, read row by row.
pub(super) struct Rows<'l> {
    layout: &'l Layout,
    views: Vec<View>,
}

impl<'l> Rows<'l> {
    pub(super) fn new(layout: &'l Layout, batch: &RecordBatch) -> Self {
        Self { layout, views: batch.columns().iter().map(View::new).collect() }
    }

    /// The time of a row.
    pub(super) fn time_nanos(&self, row: usize) -> i64 {
        self.views[TIME].int(row).unwrap_or(0)
    }

    /// The number of a row's origin.
    pub(super) fn origin(&self, row: usize) -> usize {
        self.views[ORIGIN]
            .int(row)
            .and_then(|code| usize::try_from(code).ok())
            .unwrap_or(usize::MAX)
    }

    /// The line: empty where there is no body, or nobody asks.
    pub(super) fn line(&self, row: usize) -> &str {
        self.layout.body.and_then(|place| self.views[place].text(row)).unwrap_or("")
    }

    /// What tells the metadata of a row from that of others of its origin: codes of at most two
    /// columns, -1 where there is no value. `None` if there are more, or some without codes.
    pub(super) fn codes(&self, row: usize) -> Option<[i32; 2]> {
        let attributes: &[(usize, Box<str>)] = match &self.layout.attributes {
            Attributes::None => &[],
            Attributes::Columns(columns) => columns,
            Attributes::Json(_) => return None,
        };
        let places = attributes.iter().map(|(place, _)| *place);
        let mut codes = [-1; 2];
        let mut next = codes.iter_mut();
        for place in places.chain(self.layout.fields.iter().map(|(place, _)| *place)) {
            *next.next()? = self.views[place].code(row)?;
        }
        Some(codes)
    }

    /// Structured metadata of a row that was asked for, that of its origin included. What the row
    /// says itself counts.
    pub(super) fn metadata<'r>(
        &'r self,
        row: usize,
        belonging: &'r Belonging,
        needs: &Needs,
    ) -> Vec<(Cow<'r, str>, Cow<'r, str>)> {
        let mut found: Vec<(Cow<'r, str>, Cow<'r, str>)> = Vec::new();
        match &self.layout.attributes {
            Attributes::None => {}
            Attributes::Columns(columns) => {
                for (place, name) in columns {
                    if let Some(value) = self.views[*place].shown(row) {
                        found.push((Cow::Borrowed(name), value));
                    }
                }
            }
            Attributes::Json(place) => {
                if let Some(text) = self.views[*place].text(row) {
                    json::each_attribute(text, &mut |name, value| {
                        if needs.labels.has(&name) {
                            found.push((name.into(), value.into()));
                        }
                    });
                }
            }
        }
        self.fields(row, belonging.is_pushed, &mut found);
        for (name, value) in belonging.metadata.iter() {
            if needs.labels.has(name) && !found.iter().any(|(known, _)| **known == **name) {
                found.push((Cow::Borrowed(name), Cow::Borrowed(value)));
            }
        }
        found
    }

    fn fields<'r>(
        &'r self,
        row: usize,
        is_pushed: bool,
        found: &mut Vec<(Cow<'r, str>, Cow<'r, str>)>,
    ) {
        for (place, name) in &self.layout.fields {
            let is_id = matches!(*name, "trace_id" | "span_id");
            if is_pushed && !is_id {
                continue;
            }
            if *name == "observed_timestamp" {
                let sent = self.layout.time_sent.and_then(|place| self.views[place].int(row));
                if sent.is_some() {
                    // The time of the entry is the observed one already.
                    continue;
                }
            }
            if let Some(value) = self.views[*place].shown(row) {
                found.push((Cow::Borrowed(*name), value));
            }
        }
    }
}
