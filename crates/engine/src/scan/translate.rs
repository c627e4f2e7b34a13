//! Filters of SQL to what the store can test: a time range and a predicate.
//!
//! SQL knows three truth values and rows pass where a filter is true. A [`Predicate`] knows two,
//! so each expression is translated twice: to the rows where it *is true*, and to those where it
//! *is false*; `NOT` swaps the two, `AND` and `OR` do so by De Morgan, and NULL is in neither.
//!
//! A translation passes at least the rows that it should. It is *exact* if it passes no other;
//! otherwise the filter is tested again on the batches. Fixed columns are exact. Attributes are
//! not: a row may have a key twice, of which SQL sees one value and the predicate any, and a
//! column of mixed types is text, where the predicate sees the values as they were sent.
//!
//! Doubles in SQL are in total order, NaN the greatest and equal to itself, -0 less than 0; the
//! predicate's are not. The translations of such comparisons are widened accordingly. One row is
//! out of their reach: one that has the same key twice, as NaN and as a number.

use std::ops::Range;

use arrow_schema::DataType;
use datafusion::common::ScalarValue;
use datafusion::logical_expr::expr::InList;
use datafusion::logical_expr::{BinaryExpr, Expr, Like, Operator};
use kymo_store::scan::{ColumnRef, Op, Predicate, Scalar, Scope};
use kymo_store::schema::ValueType;

use crate::limits::{PREDICATE_MAX_DEPTH, PREDICATE_MAX_TESTS, REGEX_PUSHED_MAX_BYTES};
use crate::tables::{TableShape, is_text, time_column};

use super::operands::{keeps_values, literal, negated, regex_operator, scalar_of, sides, text_of};
use super::pattern;

/// What the store tests.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Pushed {
    /// Nanoseconds since 1970.
    pub(crate) time: Option<Range<i64>>,
    pub(crate) predicate: Option<Predicate>,
}

/// Values in a `NOT IN` over an attribute, each of which is a test of its own.
const NOT_IN_MAX_VALUES: usize = 16;
/// Integers beyond are not all doubles.
const DOUBLE_EXACT: f64 = (1u64 << 53) as f64;

/// Translates filters that must all hold; returns those, too, that are to be tested again.
pub(crate) fn translate(shape: &TableShape, filters: &[&Expr]) -> (Pushed, Vec<Expr>) {
    translate_with(shape, filters, false)
}

/// The same for attributes that have values of one type only, as the caller knows. Then a test of
/// values as they were sent is the filter itself, but for rows that have a key twice: these pass if
/// one of the values does.
pub(crate) fn translate_plainly(shape: &TableShape, filters: &[&Expr]) -> (Pushed, Vec<Expr>) {
    translate_with(shape, filters, true)
}

fn translate_with(shape: &TableShape, filters: &[&Expr], is_plain: bool) -> (Pushed, Vec<Expr>) {
    let mut translator = Translator { shape, tests: 0, is_plain };
    let mut time = None;
    let mut predicates = Vec::new();
    let mut left = Vec::new();
    for filter in filters {
        if let Some(bounds) = translator.time_bounds(filter) {
            let so_far = time.get_or_insert(i64::MIN..i64::MAX);
            so_far.start = so_far.start.max(bounds.start);
            so_far.end = so_far.end.min(bounds.end);
            continue;
        }
        let tests_before = translator.tests;
        match translator.holds(filter, true, PREDICATE_MAX_DEPTH) {
            Some(found) if translator.tests <= PREDICATE_MAX_TESTS => {
                if !found.exact {
                    left.push((*filter).clone());
                }
                predicates.push(found.predicate);
            }
            _ => {
                translator.tests = tests_before;
                left.push((*filter).clone());
            }
        }
    }
    let predicate = match predicates.len() {
        0 => None,
        1 => predicates.pop(),
        _ => Some(Predicate::And(predicates)),
    };
    (Pushed { time, predicate }, left)
}

/// A predicate that passes at least the rows that it should.
#[derive(Debug, Clone, PartialEq)]
struct Found {
    predicate: Predicate,
    /// Whether it passes no other row.
    exact: bool,
}

impl Found {
    fn exact(predicate: Predicate) -> Self {
        Self { predicate, exact: true }
    }

    fn wider(predicate: Predicate) -> Self {
        Self { predicate, exact: false }
    }

    fn never() -> Self {
        Self::exact(Predicate::Or(Vec::new()))
    }
}

/// A column that can be tested.
struct Tested<'a> {
    column: &'a ColumnRef,
    data_type: &'a DataType,
}

impl Tested<'_> {
    fn is_attribute(&self) -> bool {
        matches!(self.column, ColumnRef::Attribute { .. })
    }

    fn is_text(&self) -> bool {
        *self.data_type == DataType::Utf8 || is_text(self.data_type)
    }

    fn compare(&self, op: Op, value: Scalar) -> Predicate {
        Predicate::Compare { column: self.column.clone(), op, value }
    }

    fn exists(&self) -> Predicate {
        Predicate::Exists(self.column.clone())
    }

    /// A test of the column's own values, as it is if the column is fixed. Of a text attribute,
    /// values of other types pass as well: SQL sees them as text, the predicate does not.
    fn found(&self, predicate: Predicate) -> Found {
        let ColumnRef::Attribute { scope, key, .. } = self.column else {
            return Found::exact(predicate);
        };
        if !self.is_text() {
            return Found::wider(predicate);
        }
        let others = [ValueType::Bool, ValueType::Int, ValueType::Double, ValueType::Any];
        let other = |value_type| {
            let (scope, key) = (*scope, key.clone());
            let column = ColumnRef::Attribute { scope, key, value_type: Some(value_type) };
            Predicate::Exists(column)
        };
        let either = std::iter::once(predicate).chain(others.map(other));
        Found::wider(Predicate::Or(either.collect()))
    }
}

struct Translator<'a> {
    shape: &'a TableShape,
    /// Tests so far.
    tests: usize,
    /// Whether attributes have values of one type only.
    is_plain: bool,
}

impl<'a> Translator<'a> {
    /// The rows where an expression is true, or those where it is false; `None` if nothing can be
    /// said of them.
    fn holds(&mut self, expr: &Expr, wanted: bool, depth_left: usize) -> Option<Found> {
        let depth_left = depth_left.checked_sub(1)?;
        match expr {
            Expr::Not(inner) => self.holds(inner, !wanted, depth_left),
            Expr::BinaryExpr(BinaryExpr { left, op: Operator::And, right }) => {
                self.join(left, right, wanted, wanted, depth_left)
            }
            Expr::BinaryExpr(BinaryExpr { left, op: Operator::Or, right }) => {
                self.join(left, right, wanted, !wanted, depth_left)
            }
            Expr::BinaryExpr(binary) => self.binary(binary, wanted),
            Expr::InList(list) => self.in_list(list, list.negated != wanted),
            Expr::Like(like) => self.like(like, like.negated != wanted),
            Expr::IsNull(inner) => self.is_null(inner, wanted),
            Expr::IsNotNull(inner) => self.is_null(inner, !wanted),
            Expr::IsTrue(inner) => self.is(inner, true, wanted, depth_left),
            Expr::IsNotTrue(inner) => self.is(inner, true, !wanted, depth_left),
            Expr::IsFalse(inner) => self.is(inner, false, wanted, depth_left),
            Expr::IsNotFalse(inner) => self.is(inner, false, !wanted, depth_left),
            Expr::Column(_) => {
                let tested = self.tested(expr)?;
                let is_bool = *tested.data_type == DataType::Boolean;
                let predicate = is_bool.then(|| tested.compare(Op::Eq, Scalar::Bool(wanted)))?;
                self.found(&tested, predicate)
            }
            Expr::Literal(ScalarValue::Boolean(value), _) => match value {
                Some(value) if *value == wanted => Some(Found::exact(Predicate::And(Vec::new()))),
                _ => Some(Found::never()),
            },
            _ => None,
        }
    }

    /// Both (or one) of two expressions, each true (or false).
    fn join(
        &mut self,
        left: &Expr,
        right: &Expr,
        wanted: bool,
        both: bool,
        depth_left: usize,
    ) -> Option<Found> {
        let sides = [left, right].map(|side| self.holds(side, wanted, depth_left));
        match (sides, both) {
            ([Some(left), Some(right)], _) => {
                let exact = left.exact && right.exact;
                let predicates = flattened([left.predicate, right.predicate], both);
                let predicate =
                    if both { Predicate::And(predicates) } else { Predicate::Or(predicates) };
                Some(Found { predicate, exact })
            }
            // If both must hold, knowing one is worth something.
            ([Some(one), None] | [None, Some(one)], true) => Some(Found::wider(one.predicate)),
            _ => None,
        }
    }

    /// Whether an expression is true (or false), which is never NULL itself.
    fn is(&mut self, inner: &Expr, value: bool, wanted: bool, depth_left: usize) -> Option<Found> {
        let found = self.holds(inner, value, depth_left)?;
        match (wanted, found.exact) {
            (true, _) => Some(found),
            (false, true) => Some(Found::exact(Predicate::Not(Box::new(found.predicate)))),
            (false, false) => None,
        }
    }

    fn is_null(&mut self, inner: &Expr, wanted: bool) -> Option<Found> {
        let tested = self.tested(inner)?;
        self.tests += 1;
        match (wanted, tested.is_attribute()) {
            (false, true) => Some(Found::wider(tested.exists())),
            (false, false) => Some(Found::exact(tested.exists())),
            (true, false) => Some(Found::exact(Predicate::Not(Box::new(tested.exists())))),
            // Values that a column cannot show are NULL although they exist.
            (true, true) => None,
        }
    }

    fn binary(&mut self, binary: &BinaryExpr, wanted: bool) -> Option<Found> {
        let BinaryExpr { left, op, right } = binary;
        if let Some((negated, case_insensitive)) = regex_operator(*op) {
            let tested = self.tested(left)?;
            let text = text_of(literal(right)?)?;
            let regex = format!("{}{}", if case_insensitive { "(?i)" } else { "" }, text?);
            return self.matches(&tested, regex, negated != wanted);
        }
        let (column, op, value) = sides(binary)?;
        let tested = self.tested(column)?;
        if value.is_null() {
            return Some(Found::never());
        }
        self.compare(&tested, if wanted { op } else { negated(op) }, value)
    }

    fn compare(&mut self, tested: &Tested<'_>, op: Op, value: &ScalarValue) -> Option<Found> {
        let scalar = scalar_of(tested.data_type, value)?;
        if let Scalar::Double(value) = scalar {
            let predicate = double_predicate(tested, op, value)?;
            self.tests += leaves(&predicate);
            return Some(Found::wider(predicate));
        }
        self.found(tested, tested.compare(op, scalar))
    }

    fn in_list(&mut self, list: &InList, wanted: bool) -> Option<Found> {
        let tested = self.tested(&list.expr)?;
        let values: Vec<&ScalarValue> = list.list.iter().map(literal).collect::<Option<_>>()?;
        let known = values.iter().filter(|value| !value.is_null());
        let scalars: Vec<Scalar> =
            known.map(|value| scalar_of(tested.data_type, value)).collect::<Option<_>>()?;
        let has_null = scalars.len() < values.len();
        let has_doubles = scalars.iter().any(|scalar| matches!(scalar, Scalar::Double(_)));
        if has_doubles {
            return None;
        }
        let column = tested.column.clone();
        let predicate = match (wanted, tested.is_attribute()) {
            // Not in a list with NULL: neither true nor false.
            (false, _) if has_null => return Some(Found::never()),
            (true, _) => Predicate::In { column, values: scalars },
            (false, false) => {
                let among = Predicate::In { column, values: scalars };
                Predicate::And(vec![tested.exists(), Predicate::Not(Box::new(among))])
            }
            // Each for itself: that one of several values is in the list does not mean that the
            // one that SQL sees is.
            (false, true) if scalars.len() <= NOT_IN_MAX_VALUES => Predicate::And(
                scalars.into_iter().map(|value| tested.compare(Op::Ne, value)).collect(),
            ),
            // Passes more than it should, which nothing would find out.
            (false, true) if self.is_plain => return None,
            (false, true) => tested.exists(),
        };
        self.found(&tested, predicate)
    }

    fn like(&mut self, like: &Like, wanted: bool) -> Option<Found> {
        let tested = self.tested(&like.expr)?;
        let Some(text) = text_of(literal(&like.pattern)?)? else { return Some(Found::never()) };
        let regex = pattern::of_like(text, like.escape_char, like.case_insensitive)?;
        self.matches(&tested, regex, wanted)
    }

    fn matches(&mut self, tested: &Tested<'_>, regex: String, wanted: bool) -> Option<Found> {
        if !tested.is_text() || regex.len() > REGEX_PUSHED_MAX_BYTES || !pattern::is_valid(&regex) {
            return None;
        }
        let column = tested.column.clone();
        let predicate = Predicate::Match { column, regex, negated: !wanted };
        self.found(tested, predicate)
    }

    /// Counts the tests of a leaf.
    fn found(&mut self, tested: &Tested<'_>, predicate: Predicate) -> Option<Found> {
        let found = match self.is_plain {
            true => Found::exact(predicate),
            false => tested.found(predicate),
        };
        self.tests += leaves(&found.predicate);
        Some(found)
    }

    /// The column that an expression is, if the store can test it.
    fn tested(&self, expr: &Expr) -> Option<Tested<'a>> {
        self.column(expr).filter(|tested| is_testable(tested.column))
    }

    /// The column that an expression is, also under casts that keep its values.
    fn column(&self, expr: &Expr) -> Option<Tested<'a>> {
        match expr {
            Expr::Column(column) => {
                let place = self.shape.schema.index_of(column.name()).ok()?;
                let column = self.shape.columns[place].stored()?;
                let data_type = self.shape.schema.field(place).data_type();
                Some(Tested { column, data_type })
            }
            Expr::Cast(cast) => {
                let tested = self.column(&cast.expr)?;
                keeps_values(tested.data_type, cast.field.data_type()).then_some(tested)
            }
            _ => None,
        }
    }

    /// The range that a comparison of the table's time stands for.
    fn time_bounds(&self, filter: &Expr) -> Option<Range<i64>> {
        let Expr::BinaryExpr(binary) = filter else { return None };
        let (column, op, value) = sides(binary)?;
        let tested = self.column(column)?;
        let is_time = time_column(self.shape.name).is_some_and(|time| *tested.column == time);
        if !is_time || value.is_null() {
            return None;
        }
        let Scalar::Int(nanos) = scalar_of(tested.data_type, value)? else { return None };
        // Times end in 2199, so that the last number of nanoseconds is never one.
        let after = nanos.saturating_add(1);
        Some(match op {
            Op::Eq => nanos..after,
            Op::Lt => i64::MIN..nanos,
            Op::Le => i64::MIN..after,
            Op::Gt => after..i64::MAX,
            Op::Ge => nanos..i64::MAX,
            Op::Ne => return None,
        })
    }
}

/// Whether the store can test a column: it tests what belongs to whole rows.
fn is_testable(column: &ColumnRef) -> bool {
    match column {
        ColumnRef::Field(_) | ColumnRef::EndTime => true,
        ColumnRef::Attribute { scope, .. } => {
            matches!(scope, Scope::Own | Scope::Resource | Scope::Scope)
        }
        ColumnRef::Attributes(_) | ColumnRef::Element { .. } => false,
    }
}

/// Parts of the same kind are brought to one level, so that a chain does not become deep.
fn flattened(parts: [Predicate; 2], both: bool) -> Vec<Predicate> {
    let unfold = |part| match part {
        Predicate::And(inner) if both => inner,
        Predicate::Or(inner) if !both => inner,
        other => vec![other],
    };
    parts.into_iter().flat_map(unfold).collect()
}

/// Tests in a predicate.
fn leaves(predicate: &Predicate) -> usize {
    match predicate {
        Predicate::And(parts) | Predicate::Or(parts) => parts.iter().map(leaves).sum(),
        Predicate::Not(part) => leaves(part),
        _ => 1,
    }
}

/// A comparison of doubles, widened by what SQL sees otherwise.
fn double_predicate(tested: &Tested<'_>, op: Op, value: f64) -> Option<Predicate> {
    // Larger integers are rounded by SQL, where they share a column with doubles.
    if value.is_nan() || value.abs() >= DOUBLE_EXACT {
        return None;
    }
    let compare = |op| tested.compare(op, Scalar::Double(value));
    Some(match op {
        Op::Eq | Op::Le => compare(op),
        // -0 is less than 0, and not equal to it.
        Op::Lt if value == 0.0 => compare(Op::Le),
        Op::Lt => compare(Op::Lt),
        Op::Ne if value == 0.0 => tested.exists(),
        Op::Ne => compare(Op::Ne),
        // NaN is the greatest: not less, and not equal.
        Op::Gt | Op::Ge => {
            let (op, opposite) = match op {
                Op::Gt if value != 0.0 => (Op::Gt, Op::Le),
                _ => (Op::Ge, Op::Lt),
            };
            let not_less = Predicate::Not(Box::new(compare(opposite)));
            Predicate::Or(vec![compare(op), Predicate::And(vec![tested.exists(), not_less])])
        }
    })
}
