//! A scan's predicate and time range, checked and brought to the form that is
//! evaluated: a tree over numbered tests, cheap ones first.

use std::ops::Range;

use super::int_test::IntTest;
use super::predicate::{ColumnRef, Op, Predicate, Scalar, Scope};
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
    /// What only depends on the origin.
    Origin(OriginValue),
    /// An attribute of the row itself.
    Own { key: Vec<u8>, value_type: Option<ValueType> },
}

/// A value that rows of the same origin share.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum OriginValue {
    Service,
    Resource,
    ScopeName,
    ScopeVersion,
    ResourceAttribute { key: Vec<u8>, value_type: Option<ValueType> },
    ScopeAttribute { key: Vec<u8>, value_type: Option<ValueType> },
}

/// A test of one column.
#[derive(Debug)]
pub(super) struct Test {
    pub(super) target: Target,
    pub(super) test: ValueTest,
    /// The same for integers.
    pub(super) ints: IntTest,
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

/// Checks a column and says where its values are.
pub(super) fn target(table: &Table, column: &ColumnRef) -> Result<Target, StoreError> {
    let common = &table.common;
    Ok(match column {
        ColumnRef::Field(field) => match *field {
            f if f == common.service => Target::Origin(OriginValue::Service),
            f if f == common.resource => Target::Origin(OriginValue::Resource),
            f if f == common.scope_name => Target::Origin(OriginValue::ScopeName),
            f if f == common.scope_version => Target::Origin(OriginValue::ScopeVersion),
            f if table.signal == Signal::Spans && f == spans::field::PARENT_SPAN_ID => {
                Target::Parent
            }
            f if f < table.fields.len() => Target::Field(f),
            f => {
                let name = table.signal.name();
                return Err(StoreError::Query(format!("the table `{name}` has no field {f}")));
            }
        },
        ColumnRef::Attribute { scope, key, value_type } => {
            let (key, value_type) = (key.clone().into_bytes(), *value_type);
            match scope {
                Scope::Own => Target::Own { key, value_type },
                Scope::Resource => {
                    Target::Origin(OriginValue::ResourceAttribute { key, value_type })
                }
                Scope::Scope => Target::Origin(OriginValue::ScopeAttribute { key, value_type }),
                Scope::Field | Scope::Event | Scope::Link => {
                    return Err(StoreError::Query(
                        "a scan reads attributes of rows, resources and scopes only".to_owned(),
                    ));
                }
            }
        }
    })
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
        let ints = test.ints();
        self.tests.push(Test { target, test, ints });
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
            Predicate::Exists(column) => (column, ValueTest::Exists),
        };
        let target = target(table, column)?;
        if let (Target::Parent, ValueTest::Exists) = (&target, &test) {
            // A parent is there if either column has it: no need for its id.
            let fields = [spans::field::PARENT_ROW, spans::field::PARENT_SPAN_ID];
            let either = fields.map(|field| self.test(Target::Field(field), ValueTest::Exists));
            return Ok(Node::Or(either.into_iter().collect::<Result<_, _>>()?));
        }
        self.test(target, test)
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
                Target::Parent => 16,
            },
        }
    }
}
