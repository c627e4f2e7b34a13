//! Which columns of the store the values of a query are read from.

use kymo_store::StoreError;
use kymo_store::scan::{ColumnRef, Elements, Scope as StoreScope};
use kymo_store::schema::ValueType;
use kymo_store::tables::spans::{field, list};
use kymo_traceql::ast::{Intrinsic, Name, Scope};

use super::look::Look;

/// How the value of a column is understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum How {
    Text,
    Int,
    Float,
    Bool,
    /// Arrays and the like, as JSON.
    Array,
    /// Nanoseconds.
    Duration,
    Status,
    Kind,
    /// An id, as hexadecimal text.
    Hex,
    /// A point in time, as the time since the span began.
    SinceStart,
}

/// A column and how it is understood.
pub(super) type Place = (usize, How);

/// Where the values of a name come from.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum From {
    /// From columns of the span: the first that has a value.
    Span(Vec<Place>),
    /// The same, or else the given text.
    SpanOr(Vec<Place>, &'static str),
    /// From columns of its events.
    Events(Vec<Place>),
    /// From columns of its links.
    Links(Vec<Place>),
    /// From columns of the span, or else from those of events, or else from those of links.
    Anywhere { span: Vec<Place>, events: Vec<Place>, links: Vec<Place> },
    /// From the whole trace.
    Trace(Whole),
    /// From the shape of the trace, which the evaluation knows by itself.
    Structure,
}

impl From {
    /// Columns of the span.
    pub(super) fn span_places(&self) -> &[Place] {
        match self {
            Self::Span(places) | Self::SpanOr(places, _) | Self::Anywhere { span: places, .. } => {
                places
            }
            _ => &[],
        }
    }

    /// Columns of events.
    pub(super) fn event_places(&self) -> &[Place] {
        match self {
            Self::Events(places) | Self::Anywhere { events: places, .. } => places,
            _ => &[],
        }
    }

    /// Columns of links.
    pub(super) fn link_places(&self) -> &[Place] {
        match self {
            Self::Links(places) | Self::Anywhere { links: places, .. } => places,
            _ => &[],
        }
    }
}

/// What is known of a whole trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Whole {
    Duration,
    RootName,
    RootService,
    Id,
}

/// Columns to read, and which values are in them.
#[derive(Debug, Clone, Default)]
pub(super) struct Layout {
    pub(super) columns: Vec<ColumnRef>,
    pub(super) event_columns: Vec<ColumnRef>,
    pub(super) link_columns: Vec<ColumnRef>,
    pub(super) slots: Vec<From>,
}

impl Layout {
    /// The columns of `base`, and those of `names`.
    pub(super) fn new(look: &Look, base: &[ColumnRef], names: &[Name]) -> Result<Self, StoreError> {
        let mut layout = Self { columns: base.to_vec(), ..Self::default() };
        for name in names {
            let from = match name {
                Name::Intrinsic(intrinsic) => layout.intrinsic(*intrinsic),
                Name::Keyed { scope, key } => layout.keyed(look, *scope, key)?,
            };
            layout.slots.push(from);
        }
        Ok(layout)
    }

    /// Columns as they are in the rows of a scan, with what is derived of whole traces from the
    /// columns that the store has for that. `None` if a name needs more than its own row.
    pub(super) fn of_rows(
        look: &Look,
        base: &[ColumnRef],
        names: &[Name],
    ) -> Result<Option<Self>, StoreError> {
        let mut layout = Self::new(look, base, names)?;
        for place in 0..layout.slots.len() {
            let whole = match &layout.slots[place] {
                From::Span(_) | From::SpanOr(..) => continue,
                From::Trace(whole) if look.knows_whole_traces() => *whole,
                _ => return Ok(None),
            };
            let (number, how) = match whole {
                Whole::Duration => (field::TRACE_DURATION, How::Duration),
                Whole::RootName => (field::ROOT_NAME, How::Text),
                Whole::RootService => (field::ROOT_SERVICE, How::Text),
                Whole::Id => return Ok(None),
            };
            let column = layout.field(number);
            layout.slots[place] = From::Span(vec![(column, how)]);
        }
        Ok(Some(layout))
    }

    /// The place of a fixed column.
    pub(super) fn field(&mut self, number: usize) -> usize {
        place_of(&mut self.columns, ColumnRef::Field(number))
    }

    fn intrinsic(&mut self, intrinsic: Intrinsic) -> From {
        let span = |layout: &mut Self, number, how| From::Span(vec![(layout.field(number), how)]);
        let element = |columns: &mut Vec<ColumnRef>, elements, member, how| {
            let elements = Elements::List(elements);
            vec![(place_of(columns, ColumnRef::Element { elements, member }), how)]
        };
        match intrinsic {
            Intrinsic::Duration => span(self, field::DURATION, How::Duration),
            Intrinsic::Name => span(self, field::NAME, How::Text),
            Intrinsic::Status => span(self, field::STATUS, How::Status),
            Intrinsic::Kind => span(self, field::KIND, How::Kind),
            Intrinsic::StatusMessage => {
                From::SpanOr(vec![(self.field(field::STATUS_MESSAGE), How::Text)], "")
            }
            Intrinsic::SpanId => span(self, field::SPAN_ID, How::Hex),
            Intrinsic::SpanParentId => {
                From::SpanOr(vec![(self.field(field::PARENT_SPAN_ID), How::Hex)], "")
            }
            Intrinsic::InstrumentationName => span(self, field::SCOPE_NAME, How::Text),
            Intrinsic::InstrumentationVersion => span(self, field::SCOPE_VERSION, How::Text),
            Intrinsic::TraceDuration => From::Trace(Whole::Duration),
            Intrinsic::RootName => {
                self.field(field::NAME);
                From::Trace(Whole::RootName)
            }
            Intrinsic::RootServiceName => {
                self.field(field::SERVICE);
                From::Trace(Whole::RootService)
            }
            Intrinsic::TraceId => {
                self.field(field::TRACE_ID);
                From::Trace(Whole::Id)
            }
            Intrinsic::EventName => From::Events(element(
                &mut self.event_columns,
                list::EVENTS,
                list::EVENT_NAME,
                How::Text,
            )),
            Intrinsic::EventTimeSinceStart => From::Events(element(
                &mut self.event_columns,
                list::EVENTS,
                list::EVENT_TIME,
                How::SinceStart,
            )),
            Intrinsic::LinkTraceId => From::Links(element(
                &mut self.link_columns,
                list::LINKS,
                list::LINK_TRACE_ID,
                How::Hex,
            )),
            Intrinsic::LinkSpanId => From::Links(element(
                &mut self.link_columns,
                list::LINKS,
                list::LINK_SPAN_ID,
                How::Hex,
            )),
            _ => From::Structure,
        }
    }

    fn keyed(&mut self, look: &Look, scope: Scope, key: &str) -> Result<From, StoreError> {
        let span = |columns: &mut Vec<ColumnRef>, scope| typed(look, columns, scope, key);
        Ok(match scope {
            Scope::Span => From::Span(span(&mut self.columns, StoreScope::Own)?),
            Scope::Resource => From::Span(span(&mut self.columns, StoreScope::Resource)?),
            Scope::Instrumentation => From::Span(span(&mut self.columns, StoreScope::Scope)?),
            // How many elements there are is of interest even if none has the key.
            Scope::Event => {
                let (elements, member) = (Elements::List(list::EVENTS), list::EVENT_TIME);
                place_of(&mut self.event_columns, ColumnRef::Element { elements, member });
                From::Events(span(&mut self.event_columns, StoreScope::Event)?)
            }
            Scope::Link => {
                let (elements, member) = (Elements::List(list::LINKS), list::LINK_SPAN_ID);
                place_of(&mut self.link_columns, ColumnRef::Element { elements, member });
                From::Links(span(&mut self.link_columns, StoreScope::Link)?)
            }
            Scope::Any => {
                let mut places = span(&mut self.columns, StoreScope::Own)?;
                places.extend(span(&mut self.columns, StoreScope::Resource)?);
                places.extend(span(&mut self.columns, StoreScope::Scope)?);
                let events = span(&mut self.event_columns, StoreScope::Event)?;
                let links = span(&mut self.link_columns, StoreScope::Link)?;
                match events.is_empty() && links.is_empty() {
                    true => From::Span(places),
                    false => From::Anywhere { span: places, events, links },
                }
            }
        })
    }
}

/// A column for each type that values of an attribute have.
fn typed(
    look: &Look,
    columns: &mut Vec<ColumnRef>,
    scope: StoreScope,
    key: &str,
) -> Result<Vec<Place>, StoreError> {
    let places = look.types(scope, key)?.into_iter().map(|value_type| {
        let column =
            ColumnRef::Attribute { scope, key: key.to_owned(), value_type: Some(value_type) };
        let how = match value_type {
            ValueType::String => How::Text,
            ValueType::Bool => How::Bool,
            ValueType::Int => How::Int,
            ValueType::Double => How::Float,
            ValueType::Any => How::Array,
        };
        (place_of(columns, column), how)
    });
    Ok(places.collect())
}

fn place_of(columns: &mut Vec<ColumnRef>, column: ColumnRef) -> usize {
    match columns.iter().position(|known| *known == column) {
        Some(place) => place,
        None => {
            columns.push(column);
            columns.len() - 1
        }
    }
}
