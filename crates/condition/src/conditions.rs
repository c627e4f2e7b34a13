//! Several conditions that look at a record once.
//!
//! Whoever has many (rules, routes) adds all to one set: an attribute that several ask for is looked
//! up once for each record, and so is a resource for all its records.

use kymo_traceql::ast::{Attribute, Body, Expr, Intrinsic, Name, Scope, Spansets, Stage};
use kymo_traceql::{Expression, Slots, Structure};

use crate::error::ConditionError;
use crate::limits::{MAX_CONDITION_BYTES, MAX_QUOTED_CHARS};
use crate::plan::Plan;
use crate::reading::Reading;
use crate::shortcut::Shortcut;

/// Conditions with numbers from 0, in the order in which they were added.
#[derive(Debug, Clone, Default)]
pub struct Conditions {
    slots: Slots,
    plan: Plan,
    compiled: Vec<Compiled>,
    /// No condition asks how spans are nested, so that it stays empty.
    structure: Structure,
}

#[derive(Debug, Clone)]
struct Compiled {
    expression: Expression,
    shortcut: Shortcut,
    is_resource_only: bool,
    is_about_spans: bool,
    reads_groups: bool,
    text: String,
}

impl Conditions {
    /// None yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a condition and gives its number. The text is what stands between the braces of a
    /// TraceQL filter, with the braces or without.
    ///
    /// # Errors
    ///
    /// It is no condition, or one that a record alone cannot answer.
    pub fn add(&mut self, text: &str) -> Result<usize, ConditionError> {
        let expr = parse(text)?;
        let expression = Expression::new(&expr, &mut self.slots)
            .map_err(|error| ConditionError::new(error.message()))?;
        refuse_unknowable(text, &expr, &expression)?;
        let attributes = expr.attributes();
        let compiled = Compiled {
            shortcut: Shortcut::new(&expr, &expression, &mut self.slots),
            expression,
            is_resource_only: attributes.iter().all(|attribute| is_of_resource(attribute)),
            is_about_spans: attributes.iter().any(|attribute| is_of_span(attribute)),
            reads_groups: attributes
                .iter()
                .any(|attribute| is_of_resource(attribute) || is_of_scope(attribute)),
            text: expr.to_string(),
        };
        self.plan = Plan::new(&self.slots);
        self.compiled.push(compiled);
        Ok(self.compiled.len() - 1)
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.compiled.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.compiled.is_empty()
    }

    /// Whether a condition asks for attributes of the resource alone, so that it holds for all
    /// records of a resource or for none.
    #[must_use]
    pub fn is_resource_only(&self, nth: usize) -> bool {
        self.compiled.get(nth).is_some_and(|compiled| compiled.is_resource_only)
    }

    /// Whether a condition asks for something that only spans have, as `span.x`, `status` or
    /// `event.x`.
    #[must_use]
    pub fn is_about_spans(&self, nth: usize) -> bool {
        self.compiled.get(nth).is_some_and(|compiled| compiled.is_about_spans)
    }

    /// Whether a condition asks for something of the resource or the scope, which a series of
    /// remote-write does not have.
    #[must_use]
    pub fn reads_groups(&self, nth: usize) -> bool {
        self.compiled.get(nth).is_some_and(|compiled| compiled.reads_groups)
    }

    /// A condition as text, in one spelling.
    #[must_use]
    pub fn text(&self, nth: usize) -> &str {
        self.compiled.get(nth).map_or("", |compiled| &compiled.text)
    }

    /// Where records are read for these conditions.
    #[must_use]
    pub fn reading<'a>(&self) -> Reading<'_, 'a> {
        Reading::new(self)
    }

    pub(crate) fn plan(&self) -> &Plan {
        &self.plan
    }

    pub(crate) fn shortcut(&self, nth: usize) -> Option<&Shortcut> {
        self.compiled.get(nth).map(|compiled| &compiled.shortcut)
    }

    /// Whether a condition holds for the record that was read.
    pub(crate) fn holds(&self, nth: usize, reading: &Reading<'_, '_>) -> bool {
        self.compiled
            .get(nth)
            .is_some_and(|compiled| compiled.expression.matches_in(reading, &self.structure, 0))
    }
}

fn parse(text: &str) -> Result<Expr, ConditionError> {
    if text.len() > MAX_CONDITION_BYTES {
        let message = format!("the condition is longer than {MAX_CONDITION_BYTES} bytes");
        return Err(ConditionError::new(message));
    }
    let has_braces = text.trim_start().starts_with('{');
    let (query, added) = match has_braces {
        true => (kymo_traceql::parse(text), 0),
        false => (kymo_traceql::parse(&format!("{{{text}}}")), 1),
    };
    let query = query.map_err(|error| ConditionError::of_query(&error, text, added))?;
    if let Body::Spans(pipeline) = query.body
        && query.hints.is_empty()
        && let Ok([Stage::Spansets(Spansets::Filter(expr))]) =
            <[Stage; 1]>::try_from(pipeline.stages)
    {
        return Ok(expr);
    }
    Err(ConditionError::new(
        "expected one condition on one record, as in { span.a = 1 && status = error }: \
         what is behind the braces needs whole traces",
    ))
}

fn is_of_resource(attribute: &Attribute) -> bool {
    matches!(attribute.name, Name::Keyed { scope: Scope::Resource, .. })
}

fn is_of_scope(attribute: &Attribute) -> bool {
    matches!(
        attribute.name,
        Name::Keyed { scope: Scope::Instrumentation, .. }
            | Name::Intrinsic(Intrinsic::InstrumentationName | Intrinsic::InstrumentationVersion)
    )
}

fn is_of_span(attribute: &Attribute) -> bool {
    match attribute.name {
        Name::Keyed { scope, .. } => matches!(scope, Scope::Span | Scope::Event | Scope::Link),
        // Log records have a name and these ids too.
        Name::Intrinsic(Intrinsic::Name | Intrinsic::TraceId | Intrinsic::SpanId) => false,
        Name::Intrinsic(_) => !is_of_scope(attribute),
    }
}

/// Refuses what the rest of the trace would have to be known for.
fn refuse_unknowable(
    text: &str,
    expr: &Expr,
    expression: &Expression,
) -> Result<(), ConditionError> {
    for attribute in expr.attributes() {
        let is_known = !attribute.of_parent
            && match attribute.name {
                Name::Intrinsic(
                    Intrinsic::TraceDuration
                    | Intrinsic::RootName
                    | Intrinsic::RootServiceName
                    | Intrinsic::SpanChildCount
                    | Intrinsic::NestedSetLeft
                    | Intrinsic::NestedSetRight
                    | Intrinsic::Parent,
                ) => false,
                // `nestedSetParent < 0` asks for roots, which a span tells of itself.
                Name::Intrinsic(Intrinsic::NestedSetParent) => !expression.needs_structure(),
                _ => true,
            };
        if !is_known {
            return Err(unknowable(text, attribute));
        }
    }
    Ok(())
}

fn unknowable(text: &str, attribute: &Attribute) -> ConditionError {
    let shown: String = attribute.to_string().chars().take(MAX_QUOTED_CHARS).collect();
    let needs = if attribute.of_parent { "the span's parent" } else { "the whole trace" };
    let message = format!("{shown} cannot be known of one record alone: it needs {needs}");
    // Where it stands, in either spelling.
    let found = match &attribute.name {
        _ if attribute.of_parent => word(text, "parent."),
        Name::Intrinsic(intrinsic) => {
            let scoped = match intrinsic {
                Intrinsic::TraceDuration => "trace:duration",
                Intrinsic::RootName => "trace:rootName",
                Intrinsic::RootServiceName => "trace:rootService",
                _ => intrinsic.name(),
            };
            word(text, intrinsic.name()).or_else(|| word(text, scoped))
        }
        Name::Keyed { .. } => None,
    };
    match found {
        Some(offset) => ConditionError::at(text, offset, message),
        None => ConditionError::new(message),
    }
}

/// Where a name stands that is not the end of another one, as `rootName` is of `span.rootName`.
fn word(text: &str, name: &str) -> Option<usize> {
    let is_begin = |(offset, _): &(usize, &str)| {
        let before = text.get(..*offset).and_then(|before| before.chars().next_back());
        before.is_none_or(|c| !c.is_alphanumeric() && !matches!(c, '.' | '_' | ':' | '-' | '"'))
    };
    text.match_indices(name).find(is_begin).map(|(offset, _)| offset)
}
