//! Conditions of a query as the store tests them.
//!
//! Lines are bodies, and tested as such. A label of an entry is one of its stream, or else an
//! attribute or a field of its record, or else something of its resource or scope: which of these it
//! can be is known for each source, and what is decided by the origin of a row is decided here. A
//! condition that cannot be put this way is left to the pipeline.

use kymo_logql::ast::LabelFilter;
use kymo_logql::matcher::{LabelMatcher, MatchOp};
use kymo_logql::selection::{Condition, Test};
use kymo_store::StoreError;
use kymo_store::block::source::Source;
use kymo_store::scan::{ColumnCache, ColumnRef, Predicate, Scalar, Scope, value_types};
use kymo_store::schema::{Kind, Signal, ValueType};
use kymo_store::tables::logs;

use super::columns::{FIELDS, own_keys};
use super::names::label_name;
use super::streams::Belonging;

/// The label that is not stored, but found out.
pub(super) const DETECTED_LEVEL: &str = "detected_level";

/// Tests of the store, and whether they say all that the conditions say which are exact.
#[derive(Debug, Default)]
pub(super) struct Tests {
    pub(super) predicates: Vec<Predicate>,
    pub(super) are_exact: bool,
}

/// A source, as far as conditions are concerned.
pub(super) struct Bound<'s> {
    pub(super) source: &'s Source,
    pub(super) cache: &'s ColumnCache,
    /// Origins of which rows are wanted, by number.
    pub(super) selected: &'s [(usize, &'s Belonging)],
    /// Keys of attributes that its records have, found when they are first asked for.
    keys: std::cell::OnceCell<Vec<String>>,
}

impl<'s> Bound<'s> {
    pub(super) fn new(
        source: &'s Source,
        cache: &'s ColumnCache,
        selected: &'s [(usize, &'s Belonging)],
    ) -> Self {
        Self { source, cache, selected, keys: std::cell::OnceCell::new() }
    }

    /// What the store tests of some conditions.
    pub(super) fn tests(&self, conditions: &[Condition]) -> Result<Tests, StoreError> {
        let mut tests = Tests { predicates: Vec::new(), are_exact: true };
        for condition in conditions {
            let found = match &condition.test {
                Test::Labels(filter) => self.labels(filter)?,
                of_line => Some(line(of_line)),
            };
            match found {
                Some(predicate) => tests.predicates.push(predicate),
                None => tests.are_exact &= !condition.is_exact,
            }
        }
        Ok(tests)
    }

    fn labels(&self, filter: &LabelFilter) -> Result<Option<Predicate>, StoreError> {
        Ok(match filter {
            LabelFilter::Text(matcher) => self.label(matcher)?,
            LabelFilter::And(left, right) => {
                let both = self.labels(left)?.zip(self.labels(right)?);
                both.map(|(left, right)| Predicate::And(vec![left, right]))
            }
            LabelFilter::Or(left, right) => {
                let both = self.labels(left)?.zip(self.labels(right)?);
                both.map(|(left, right)| Predicate::Or(vec![left, right]))
            }
            // Numbers are texts that have to be read.
            _ => None,
        })
    }

    fn label(&self, matcher: &LabelMatcher) -> Result<Option<Predicate>, StoreError> {
        if matcher.name == DETECTED_LEVEL {
            return Ok(None);
        }
        let columns = self.columns_of(&matcher.name)?;
        let (mut passing, mut by_row) = (Vec::new(), Vec::new());
        for (number, belonging) in self.selected {
            let of_stream = belonging.stream.get(&matcher.name);
            let of_origin = || {
                let found = belonging.metadata.iter().find(|(name, _)| **name == *matcher.name);
                found.map(|(_, value)| &**value)
            };
            match (of_stream, of_origin()) {
                (Some(value), _) => passing.extend(matcher.matches(value).then_some(*number)),
                (None, value) if columns.is_empty() => {
                    passing.extend(matcher.matches(value.unwrap_or("")).then_some(*number));
                }
                // The row may say something else.
                (None, Some(_)) => return Ok(None),
                (None, None) => by_row.push(*number),
            }
        }
        let mut either = Vec::new();
        if !passing.is_empty() {
            either.push(self.of_origins(&passing));
        }
        if !by_row.is_empty() {
            let Some(test) = self.first_of(&columns, matcher)? else { return Ok(None) };
            either.push(match by_row.len() == self.selected.len() {
                true => test,
                false => Predicate::And(vec![self.of_origins(&by_row), test]),
            });
        }
        Ok(Some(Predicate::Or(either)))
    }

    /// Rows of some origins.
    fn of_origins(&self, numbers: &[usize]) -> Predicate {
        if numbers.len() == self.selected.len() {
            return Predicate::And(Vec::new());
        }
        let values = numbers.iter().map(|number| Scalar::Int(*number as i64)).collect();
        Predicate::In { column: ColumnRef::Field(logs::field::ORIGIN), values }
    }

    /// Columns that a label may come from, in the order in which they count.
    fn columns_of(&self, name: &str) -> Result<Vec<ColumnRef>, StoreError> {
        let keys = match self.keys.get() {
            Some(keys) => keys,
            None => {
                let found = own_keys(self.source)?;
                self.keys.get_or_init(|| found)
            }
        };
        let own = keys.iter().filter(|key| label_name(key) == name);
        let mut columns: Vec<ColumnRef> =
            own.map(|key| ColumnRef::attribute(Scope::Own, key.as_str())).collect();
        let field = FIELDS.iter().find(|(_, known)| *known == name);
        columns.extend(field.map(|(number, _)| ColumnRef::Field(*number)));
        // A map becomes labels that begin with its name: its members have no columns.
        let is_of_map = |key: &String| {
            name.strip_prefix(&*label_name(key)).is_some_and(|rest| rest.starts_with('_'))
        };
        for key in keys.iter().filter(|key| is_of_map(key)) {
            columns.push(ColumnRef::Attribute {
                scope: Scope::Own,
                key: key.clone(),
                value_type: Some(ValueType::Any),
            });
        }
        Ok(columns)
    }

    /// The test of the first of some columns that has a value, or of the empty text.
    fn first_of(
        &self,
        columns: &[ColumnRef],
        matcher: &LabelMatcher,
    ) -> Result<Option<Predicate>, StoreError> {
        let Some((column, others)) = columns.split_first() else {
            return Ok(Some(constant(matcher.matches(""))));
        };
        if let ColumnRef::Attribute { value_type: Some(_), .. } = column {
            let types = self.types(column)?;
            return match types.is_empty() {
                true => self.first_of(others, matcher),
                false => Ok(None),
            };
        }
        let Some(test) = self.value(column, matcher)? else { return Ok(None) };
        let Some(otherwise) = self.first_of(others, matcher)? else { return Ok(None) };
        let exists = Predicate::Exists(column.clone());
        if otherwise == constant(false) {
            return Ok(Some(test));
        }
        let absent = Predicate::And(vec![Predicate::Not(Box::new(exists)), otherwise]);
        Ok(Some(Predicate::Or(vec![test, absent])))
    }

    fn types(&self, column: &ColumnRef) -> Result<Vec<ValueType>, StoreError> {
        let source = std::slice::from_ref(self.source);
        value_types(source, Signal::Logs, column, None, self.cache)
    }

    /// The test of a value that is there; false where it is not.
    fn value(
        &self,
        column: &ColumnRef,
        matcher: &LabelMatcher,
    ) -> Result<Option<Predicate>, StoreError> {
        let kind = match column {
            ColumnRef::Field(field) => logs::TABLE.fields[*field].kind,
            _ => match self.types(column)?[..] {
                [] => return Ok(Some(constant(false))),
                [ValueType::String] => Kind::Text,
                [ValueType::Int] => Kind::Int,
                _ => return Ok(None),
            },
        };
        let pattern = kymo_pattern::anchored(&matcher.value);
        let exists = || Predicate::Exists(column.clone());
        let equal = || match kind {
            Kind::Text => Some(Scalar::String(matcher.value.clone())),
            Kind::Int => whole(&matcher.value).map(Scalar::Int),
            Kind::Id16 => id(&matcher.value, 16).map(Scalar::Bytes),
            Kind::Id8 => id(&matcher.value, 8).map(Scalar::Bytes),
            _ => None,
        };
        let equals = |scalar: Option<Scalar>| match scalar {
            Some(scalar) => Predicate::equal(column.clone(), scalar),
            // No such value is written so.
            None => constant(false),
        };
        let is_known = matches!(kind, Kind::Text | Kind::Int | Kind::Id16 | Kind::Id8);
        Ok(match matcher.op {
            _ if !is_known => None,
            MatchOp::Equal => Some(equals(equal())),
            MatchOp::NotEqual => {
                let other = Predicate::Not(Box::new(equals(equal())));
                Some(Predicate::And(vec![exists(), other]))
            }
            MatchOp::Matches | MatchOp::NotMatches if kind == Kind::Text => {
                Some(Predicate::Match {
                    column: column.clone(),
                    regex: pattern,
                    negated: matcher.op == MatchOp::NotMatches,
                })
            }
            _ => None,
        })
    }
}

fn constant(value: bool) -> Predicate {
    match value {
        true => Predicate::And(Vec::new()),
        false => Predicate::Or(Vec::new()),
    }
}

/// The integer that is written so, and no other way.
fn whole(text: &str) -> Option<i64> {
    let value: i64 = text.parse().ok()?;
    (value.to_string() == text).then_some(value)
}

/// The id that is written so: lower-case hexadecimal.
fn id(text: &str, bytes: usize) -> Option<Vec<u8>> {
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    let pairs = text.as_bytes().chunks_exact(2);
    let is_whole = text.len() == 2 * bytes;
    let decoded: Option<Vec<u8>> =
        pairs.map(|pair| Some(digit(pair[0])? << 4 | digit(pair[1])?)).collect();
    decoded.filter(|_| is_whole)
}

/// A test of the line. A record without a body has an empty line.
fn line(test: &Test) -> Predicate {
    let body = || ColumnRef::Field(logs::field::BODY);
    let contains =
        |text: &String| Predicate::Contains { column: body(), text: text.clone(), negated: false };
    let matches =
        |regex: &String| Predicate::Match { column: body(), regex: regex.clone(), negated: false };
    let matches_nothing =
        |regex: &String| regex::Regex::new(regex).is_ok_and(|compiled| compiled.is_match(""));
    let or_absent = |mut tests: Vec<Predicate>, is_absent_enough: bool| {
        if is_absent_enough {
            tests.push(Predicate::Not(Box::new(Predicate::Exists(body()))));
        }
        Predicate::Or(tests)
    };
    let negated = |predicate: Predicate| Predicate::Not(Box::new(predicate));
    match test {
        Test::ContainsAny(texts) => {
            let takes_empty = texts.iter().any(String::is_empty);
            or_absent(texts.iter().map(contains).collect(), takes_empty)
        }
        Test::ContainsNone(texts) => {
            let takes_empty = texts.iter().any(String::is_empty);
            negated(or_absent(texts.iter().map(contains).collect(), takes_empty))
        }
        Test::MatchesAny(patterns) => {
            let takes_empty = patterns.iter().any(matches_nothing);
            or_absent(patterns.iter().map(matches).collect(), takes_empty)
        }
        Test::MatchesNone(patterns) => {
            let takes_empty = patterns.iter().any(matches_nothing);
            negated(or_absent(patterns.iter().map(matches).collect(), takes_empty))
        }
        // Asked elsewhere.
        Test::Labels(_) => constant(true),
    }
}
