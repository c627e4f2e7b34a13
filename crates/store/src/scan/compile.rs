//! A scan's predicate and time range, checked and brought to the form that is
//! evaluated: a tree over numbered tests, cheap ones first.

use std::ops::Range;

use super::int_test::IntTest;
use super::need::Need;
use super::predicate::{ColumnRef, Elements, Op, Predicate, Scalar, Scope};
use super::value_test::{Choices, ValueTest};
use crate::error::StoreError;
use crate::limits::{PREDICATE_MAX_DEPTH, PREDICATE_MAX_TESTS};
use crate::schema::{Kind, Signal, Table, ValueType};
use crate::tables::{logs, series, spans};

/// The tree; leaves are places in [`Compiled::tests`].
#[derive(Debug)]
pub(super) enum Node {
    And(Vec<Node>),
    Or(Vec<Node>),
    Not(Box<Node>),
    Test(usize),
}

/// Where the tested value is.
#[derive(Debug, Clone)]
pub(super) enum Target {
    /// A fixed column, as it is stored.
    Field(usize),
    /// Ids of parents, which are put together from other columns.
    Parent,
    /// The status, which is `unset` where none was sent.
    Status,
    /// The body of a log record as text.
    Body,
    /// The end of a span.
    EndTime,
    /// What only depends on the origin.
    Origin(OriginValue),
    /// An attribute of the row itself.
    Own { key: Vec<u8>, value_type: Option<ValueType> },
    /// All attributes of the row itself, as JSON.
    OwnJson,
    /// A member of a list's elements.
    Member(usize),
    /// An attribute of a list's elements, which are the member at that place.
    MemberAttribute { member: usize, key: Vec<u8>, value_type: Option<ValueType> },
    /// A member of a point.
    Point(usize),
}

/// The word for a status that was not sent.
pub(super) const UNSET: &str = "unset";

impl Target {
    /// Whether it is derived from the whole trace, see [`super::derive`].
    pub(super) fn is_derived(&self, signal: Signal) -> bool {
        matches!(self, Self::Field(field) if is_derived(signal, *field))
    }
}

/// Whether a field is derived from the whole trace.
pub(super) fn is_derived(signal: Signal, field: usize) -> bool {
    use spans::field::{ROOT_NAME, TRACE_DURATION};
    signal == Signal::Spans && (ROOT_NAME..=TRACE_DURATION).contains(&field)
}

/// A value that rows of the same origin share.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum OriginValue {
    Service,
    Resource,
    ScopeName,
    ScopeVersion,
    /// Attributes of the scope as JSON.
    Scope,
    ResourceAttribute {
        key: Vec<u8>,
        value_type: Option<ValueType>,
    },
    ScopeAttribute {
        key: Vec<u8>,
        value_type: Option<ValueType>,
    },
}

/// A test of one column.
#[derive(Debug)]
pub(super) struct Test {
    pub(super) target: Target,
    pub(super) test: ValueTest,
    /// The same for integers.
    pub(super) ints: IntTest,
    /// What a text must have to pass.
    pub(super) need: Need,
}

/// A predicate ready to be evaluated.
#[derive(Debug)]
pub(super) struct Compiled {
    pub(super) root: Node,
    pub(super) tests: Vec<Test>,
}

/// Fields of a row's earliest and latest time.
pub(super) fn time_fields(signal: Signal) -> (usize, usize) {
    match signal {
        Signal::Spans => (spans::field::START_TIME, spans::field::START_TIME),
        Signal::Logs => (logs::field::TIME, logs::field::TIME),
        Signal::Series => (series::field::MIN_TIME, series::field::MAX_TIME),
    }
}

/// Checks a column of the rows of `table`, or of elements of them, and says where
/// its values are.
pub(super) fn target(
    table: &Table,
    elements: Option<Elements>,
    column: &ColumnRef,
) -> Result<Target, StoreError> {
    let signal = table.signal;
    let refuse = |what: String| Err(StoreError::Query(what));
    Ok(match column {
        ColumnRef::Field(field) => match *field {
            f if f >= table.fields.len() => {
                return refuse(format!("the table `{}` has no field {f}", signal.name()));
            }
            f => field_target(table, f),
        },
        ColumnRef::Attribute { scope, key, value_type } => {
            let (key, value_type) = (key.clone().into_bytes(), *value_type);
            match scope {
                Scope::Own => Target::Own { key, value_type },
                Scope::Resource => {
                    Target::Origin(OriginValue::ResourceAttribute { key, value_type })
                }
                Scope::Scope => Target::Origin(OriginValue::ScopeAttribute { key, value_type }),
                Scope::Event | Scope::Link
                    if elements.and_then(|e| e.scope(table)) == Some(*scope) =>
                {
                    let member = match scope {
                        Scope::Event => spans::list::EVENT_ATTRIBUTES,
                        _ => spans::list::LINK_ATTRIBUTES,
                    };
                    Target::MemberAttribute { member, key, value_type }
                }
                Scope::Field | Scope::Event | Scope::Link => {
                    return refuse(
                        "attributes of events and links are read by a scan of these".to_owned(),
                    );
                }
            }
        }
        ColumnRef::Attributes(Scope::Own) => Target::OwnJson,
        ColumnRef::Attributes(Scope::Resource) => Target::Origin(OriginValue::Resource),
        ColumnRef::Attributes(Scope::Scope) => Target::Origin(OriginValue::Scope),
        ColumnRef::Attributes(_) => {
            return refuse("all attributes are those of rows, resources and scopes".to_owned());
        }
        ColumnRef::EndTime if signal == Signal::Spans => Target::EndTime,
        ColumnRef::EndTime => return refuse("only spans have an end".to_owned()),
        ColumnRef::Element { elements: of, member } => match of {
            _ if elements != Some(*of) => {
                return refuse("a member of elements that the scan does not read".to_owned());
            }
            Elements::List(list) if *member < table.lists[*list].members.len() => {
                Target::Member(*member)
            }
            Elements::Points if *member < series::POINT_MEMBERS.len() => Target::Point(*member),
            _ => return refuse(format!("there is no member {member}")),
        },
    })
}

fn field_target(table: &Table, field: usize) -> Target {
    let common = &table.common;
    match field {
        f if f == common.service => Target::Origin(OriginValue::Service),
        f if f == common.resource => Target::Origin(OriginValue::Resource),
        f if f == common.scope_name => Target::Origin(OriginValue::ScopeName),
        f if f == common.scope_version => Target::Origin(OriginValue::ScopeVersion),
        spans::field::PARENT_SPAN_ID if table.signal == Signal::Spans => Target::Parent,
        spans::field::STATUS if table.signal == Signal::Spans => Target::Status,
        logs::field::BODY if table.signal == Signal::Logs => Target::Body,
        f => Target::Field(f),
    }
}

impl Compiled {
    /// Checks and compiles what a scan asks for.
    pub(super) fn new(
        table: &Table,
        predicate: Option<&Predicate>,
        time: Option<&Range<i64>>,
    ) -> Result<Self, StoreError> {
        let mut compiled = Self { root: Node::And(Vec::new()), tests: Vec::new() };
        let mut all = Vec::new();
        if let Some(time) = time {
            let (earliest, latest) = time_fields(table.signal);
            for (field, op, value) in [(latest, Op::Ge, time.start), (earliest, Op::Lt, time.end)] {
                let test = ValueTest::Compare(op, Scalar::Int(value));
                all.push(compiled.test(Target::Field(field), test)?);
            }
        }
        if let Some(predicate) = predicate {
            all.push(compiled.node(table, predicate, PREDICATE_MAX_DEPTH)?);
        }
        compiled.root = compiled.flat_and(table, all);
        Ok(compiled)
    }

    fn test(&mut self, target: Target, test: ValueTest) -> Result<Node, StoreError> {
        if self.tests.len() >= PREDICATE_MAX_TESTS {
            return Err(StoreError::Query(format!(
                "a predicate has at most {PREDICATE_MAX_TESTS} tests"
            )));
        }
        let (ints, need) = (test.ints(), test.need());
        self.tests.push(Test { target, test, ints, need });
        Ok(Node::Test(self.tests.len() - 1))
    }

    fn node(
        &mut self,
        table: &Table,
        predicate: &Predicate,
        depth_left: usize,
    ) -> Result<Node, StoreError> {
        let Some(depth_left) = depth_left.checked_sub(1) else {
            return Err(StoreError::Query(format!(
                "a predicate is at most {PREDICATE_MAX_DEPTH} deep"
            )));
        };
        let (column, test) = match predicate {
            Predicate::And(parts) => {
                let parts = parts.iter().map(|p| self.node(table, p, depth_left));
                let parts = parts.collect::<Result<Vec<_>, _>>()?;
                return Ok(self.flat_and(table, parts));
            }
            Predicate::Or(parts) => {
                let parts = parts.iter().map(|p| self.node(table, p, depth_left));
                let mut parts = parts.collect::<Result<Vec<_>, _>>()?;
                parts.sort_by_key(|part| self.cost(table, part));
                return Ok(Node::Or(parts));
            }
            Predicate::Not(part) => {
                return Ok(Node::Not(Box::new(self.node(table, part, depth_left)?)));
            }
            Predicate::Compare { column, op, value } => {
                (column, ValueTest::Compare(*op, value.clone()))
            }
            Predicate::In { column, values } => (column, ValueTest::In(Choices::new(values))),
            Predicate::Match { column, regex, negated } => {
                (column, ValueTest::regex(regex, *negated)?)
            }
            Predicate::Contains { column, text, negated } => {
                (column, ValueTest::contains(text, *negated)?)
            }
            Predicate::Exists(column) => (column, ValueTest::Exists),
        };
        match (target(table, None, column)?, test) {
            (Target::Parent, ValueTest::Exists) => {
                // A parent is there if either column has it: no need for its id.
                let fields = [spans::field::PARENT_ROW, spans::field::PARENT_SPAN_ID];
                let either = fields.map(|field| self.test(Target::Field(field), ValueTest::Exists));
                Ok(Node::Or(either.into_iter().collect::<Result<_, _>>()?))
            }
            (Target::Status, test) => self.status(test),
            (Target::OwnJson, _) => Err(StoreError::Query(
                "a predicate tests attributes by key, not all of them as JSON".to_owned(),
            )),
            (target, test) => self.test(target, test),
        }
    }

    /// A test of the status: rows that have none pass if `unset` does.
    fn status(&mut self, test: ValueTest) -> Result<Node, StoreError> {
        let field = Target::Field(spans::field::STATUS);
        if matches!(test, ValueTest::Exists) {
            return Ok(Node::And(Vec::new()));
        }
        let unset_passes = test.text(UNSET.as_bytes());
        let stored = self.test(field.clone(), test)?;
        if !unset_passes {
            return Ok(stored);
        }
        let exists = self.test(field, ValueTest::Exists)?;
        Ok(Node::Or(vec![stored, Node::Not(Box::new(exists))]))
    }

    /// All of these, nested ones unfolded, cheap ones first.
    fn flat_and(&self, table: &Table, parts: Vec<Node>) -> Node {
        let mut flat = Vec::with_capacity(parts.len());
        for part in parts {
            match part {
                Node::And(inner) => flat.extend(inner),
                other => flat.push(other),
            }
        }
        flat.sort_by_key(|part| self.cost(table, part));
        Node::And(flat)
    }

    /// What a test costs, in no unit: the order is what matters.
    fn cost(&self, table: &Table, node: &Node) -> u32 {
        match node {
            Node::And(parts) | Node::Or(parts) => {
                parts.iter().map(|part| self.cost(table, part)).sum()
            }
            Node::Not(part) => self.cost(table, part),
            Node::Test(nth) => match &self.tests[*nth].target {
                Target::Origin(_) => 1,
                Target::Field(field) => match table.fields[*field].kind {
                    Kind::Time | Kind::Int | Kind::Bool | Kind::Double => 2,
                    Kind::Text => 3,
                    Kind::Binary | Kind::Id8 | Kind::Id16 => 8,
                },
                Target::Own { .. } => match self.tests[*nth].test.equal_texts() {
                    // Granule filters may spare most of the reading.
                    Some(_) => 2,
                    None => 4,
                },
                Target::EndTime => 4,
                Target::Body => 6,
                Target::Parent => 16,
                // None of these is tested.
                Target::Status
                | Target::OwnJson
                | Target::Member(_)
                | Target::MemberAttribute { .. }
                | Target::Point(_) => 0,
            },
        }
    }
}
