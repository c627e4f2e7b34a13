//! Conditions on spans as predicates of the store.
//!
//! What the store cannot test (events, parents, arithmetic, arrays) is left open.
//!
//! A span may have a key more than once. The store passes it if one of the values does; the
//! evaluation sees the first. Such spans are few, and no API shows more than one value.

use kymo_store::StoreError;
use kymo_store::scan::{ColumnRef, Op, Predicate, Scalar, Scope as StoreScope};
use kymo_store::schema::ValueType;
use kymo_store::tables::spans::field;
use kymo_traceql::ast::{Attribute, BinaryOp, Expr, Intrinsic, Kind, Literal, Name, Scope, Status};
use kymo_traceql::eval::constant;

use super::look::Look;
use super::tested::Tested;

/// Makes predicates for what a [`Look`] sees.
pub(super) struct Translator<'l> {
    pub(super) look: &'l Look,
}

impl Translator<'_> {
    /// What the store tests of a condition.
    pub(super) fn condition(&self, expr: &Expr) -> Result<Tested, StoreError> {
        if !self.look.pushes_down {
            return Ok(Tested::open());
        }
        Ok(self.translate(expr)?.bounded())
    }

    fn translate(&self, expr: &Expr) -> Result<Tested, StoreError> {
        Ok(match expr {
            Expr::Literal(Literal::Bool(true)) => Tested::always(),
            Expr::Literal(_) => Tested::never(),
            Expr::Attribute(attribute) => {
                self.compare(attribute, BinaryOp::Equal, &Literal::Bool(true))?
            }
            Expr::Not(inner) => {
                let (mut inner, mut is_negated) = (&**inner, true);
                while let Expr::Not(deeper) = inner {
                    (inner, is_negated) = (deeper, !is_negated);
                }
                match inner {
                    // Nothing is the opposite of a value that is not there.
                    Expr::Attribute(attribute) => {
                        self.compare(attribute, BinaryOp::Equal, &Literal::Bool(!is_negated))?
                    }
                    inner if is_negated => self.translate(inner)?.not(),
                    inner => self.translate(inner)?,
                }
            }
            Expr::Negate(_) => Tested::never(),
            Expr::Binary { op: BinaryOp::And, left, right } => {
                self.translate(left)?.and(self.translate(right)?)
            }
            Expr::Binary { op: BinaryOp::Or, left, right } => {
                self.translate(left)?.or(self.translate(right)?)
            }
            Expr::Binary { op, left, right } => match (&**left, &**right) {
                (Expr::Attribute(attribute), Expr::Literal(literal)) => {
                    self.compare(attribute, *op, literal)?
                }
                // `"text" =~ .attribute` is refused by the check of types.
                (Expr::Literal(literal), Expr::Attribute(attribute)) => {
                    self.compare(attribute, op.mirrored(), literal)?
                }
                (left, right) => self.other(left, right, expr)?,
            },
        })
    }

    /// A comparison of something that is computed: constants are decided; of arithmetic, what it is
    /// computed from must be there, unless it is asked whether it is.
    fn other(&self, left: &Expr, right: &Expr, whole: &Expr) -> Result<Tested, StoreError> {
        if let Some(is_true) = constant(whole) {
            return Ok(if is_true { Tested::always() } else { Tested::never() });
        }
        let is_nil = |expr: &Expr| *expr == Expr::Literal(Literal::Nil);
        let mut tested = Tested::open();
        if is_nil(left) || is_nil(right) {
            return Ok(tested);
        }
        let mut operands = Vec::new();
        collect_operands(left, &mut operands);
        collect_operands(right, &mut operands);
        for attribute in operands {
            if let (false, Name::Keyed { .. }) = (attribute.of_parent, &attribute.name) {
                tested = tested.and(self.compare(attribute, BinaryOp::NotEqual, &Literal::Nil)?);
            }
        }
        Ok(Tested { is_exact: false, ..tested })
    }

    fn compare(
        &self,
        attribute: &Attribute,
        op: BinaryOp,
        literal: &Literal,
    ) -> Result<Tested, StoreError> {
        if attribute.of_parent {
            return Ok(Tested::open());
        }
        match &attribute.name {
            Name::Intrinsic(intrinsic) => self.intrinsic(*intrinsic, op, literal),
            Name::Keyed { scope, key } => match scope {
                Scope::Any => self.unscoped(key, op, literal),
                Scope::Span => self.keyed(StoreScope::Own, key, op, literal),
                Scope::Resource => self.keyed(StoreScope::Resource, key, op, literal),
                Scope::Instrumentation => self.keyed(StoreScope::Scope, key, op, literal),
                Scope::Event => self.of_elements(StoreScope::Event, key, literal),
                Scope::Link => self.of_elements(StoreScope::Link, key, literal),
            },
        }
    }

    /// The store cannot test elements. But where no element has the key, there is none to find.
    fn of_elements(
        &self,
        scope: StoreScope,
        key: &str,
        literal: &Literal,
    ) -> Result<Tested, StoreError> {
        let is_unknown = self.look.types(scope, key)?.is_empty();
        Ok(if is_unknown && *literal != Literal::Nil { Tested::never() } else { Tested::open() })
    }

    fn keyed(
        &self,
        scope: StoreScope,
        key: &str,
        op: BinaryOp,
        literal: &Literal,
    ) -> Result<Tested, StoreError> {
        let types = self.look.types(scope, key)?;
        let column = ColumnRef::attribute(scope, key);
        if *literal == Literal::Nil {
            return Ok(match op {
                BinaryOp::Equal if types.is_empty() => Tested::always(),
                BinaryOp::NotEqual if types.is_empty() => Tested::never(),
                BinaryOp::Equal => Tested::exact(Predicate::Not(Box::new(exists(column)))),
                BinaryOp::NotEqual => Tested::exact(exists(column)),
                _ => Tested::never(),
            });
        }
        if types.is_empty() {
            return Ok(Tested::never());
        }
        let Some(plain) = test(column, op, literal) else { return Ok(Tested::never()) };
        if !types.contains(&ValueType::Any) {
            return Ok(Tested::exact(plain));
        }
        // What is in an array is looked at later.
        let column =
            ColumnRef::Attribute { scope, key: key.to_owned(), value_type: Some(ValueType::Any) };
        let predicate = Predicate::Or(vec![plain, exists(column)]);
        Ok(Tested { predicate, is_exact: false })
    }

    /// `.key`: the first scope that has it.
    fn unscoped(&self, key: &str, op: BinaryOp, literal: &Literal) -> Result<Tested, StoreError> {
        let mut tested = Tested::never();
        let mut is_missing = Tested::always();
        for scope in [StoreScope::Own, StoreScope::Resource, StoreScope::Scope] {
            if self.look.types(scope, key)?.is_empty() {
                continue;
            }
            if *literal != Literal::Nil {
                let here = self.keyed(scope, key, op, literal)?;
                tested = tested.or(is_missing.clone().and(here));
            }
            let absent = Predicate::Not(Box::new(exists(ColumnRef::attribute(scope, key))));
            is_missing = is_missing.and(Tested::exact(absent));
        }
        let mut is_in_elements = false;
        for scope in [StoreScope::Event, StoreScope::Link] {
            is_in_elements |= !self.look.types(scope, key)?.is_empty();
        }
        let tested = match (literal, op) {
            (Literal::Nil, BinaryOp::Equal) => is_missing.clone(),
            (Literal::Nil, BinaryOp::NotEqual) => is_missing.clone().not(),
            (Literal::Nil, _) => Tested::never(),
            _ => tested,
        };
        Ok(match is_in_elements {
            false => tested,
            true => Tested { is_exact: false, ..tested.or(is_missing) },
        })
    }

    fn intrinsic(
        &self,
        intrinsic: Intrinsic,
        op: BinaryOp,
        literal: &Literal,
    ) -> Result<Tested, StoreError> {
        if *literal == Literal::Nil {
            let number = match intrinsic {
                Intrinsic::RootName | Intrinsic::RootServiceName
                    if !self.look.knows_whole_traces() =>
                {
                    return Ok(Tested::open());
                }
                Intrinsic::RootName => field::ROOT_NAME,
                Intrinsic::RootServiceName => field::ROOT_SERVICE,
                Intrinsic::InstrumentationName => field::SCOPE_NAME,
                Intrinsic::InstrumentationVersion => field::SCOPE_VERSION,
                // Others are always there, or have to be looked for.
                Intrinsic::Duration | Intrinsic::Name | Intrinsic::Status | Intrinsic::Kind => {
                    let is_there = op == BinaryOp::NotEqual;
                    return Ok(if is_there { Tested::always() } else { Tested::never() });
                }
                _ => return Ok(Tested::open()),
            };
            let there = Tested::exact(exists(ColumnRef::Field(number)));
            return Ok(match op {
                BinaryOp::NotEqual => there,
                BinaryOp::Equal => there.not(),
                _ => Tested::never(),
            });
        }
        let of_field = |number: usize| match test(ColumnRef::Field(number), op, literal) {
            Some(predicate) => Tested::exact(predicate),
            None => Tested::never(),
        };
        Ok(match intrinsic {
            Intrinsic::Duration => of_field(field::DURATION),
            Intrinsic::TraceDuration | Intrinsic::RootName | Intrinsic::RootServiceName
                if !self.look.knows_whole_traces() =>
            {
                Tested::open()
            }
            Intrinsic::TraceDuration => of_field(field::TRACE_DURATION),
            Intrinsic::Name => of_field(field::NAME),
            Intrinsic::RootName => of_field(field::ROOT_NAME),
            Intrinsic::RootServiceName => of_field(field::ROOT_SERVICE),
            Intrinsic::InstrumentationName => of_field(field::SCOPE_NAME),
            Intrinsic::InstrumentationVersion => of_field(field::SCOPE_VERSION),
            Intrinsic::Status => self.word(field::STATUS, op, literal),
            Intrinsic::Kind => self.word(field::KIND, op, literal),
            // Where none was sent it is empty.
            Intrinsic::StatusMessage => {
                let sent = of_field(field::STATUS_MESSAGE);
                let empty = Expr::Literal(Literal::Text(String::new()));
                let on_empty = Expr::compare(op, empty, Expr::Literal(literal.clone()));
                let is_empty_passing = constant(&on_empty) == Some(true);
                match is_empty_passing {
                    false => sent,
                    true => {
                        let column = ColumnRef::Field(field::STATUS_MESSAGE);
                        sent.or(Tested::exact(Predicate::Not(Box::new(exists(column)))))
                    }
                }
            }
            Intrinsic::TraceId => id(field::TRACE_ID, op, literal, 16),
            Intrinsic::SpanId => id(field::SPAN_ID, op, literal, 8),
            Intrinsic::SpanParentId => match (op, literal) {
                (BinaryOp::Equal, Literal::Text(text)) if text.is_empty() => root(),
                (BinaryOp::NotEqual, Literal::Text(text)) if text.is_empty() => root().not(),
                _ => id(field::PARENT_SPAN_ID, op, literal, 8),
            },
            // A root has -1, all others at least 0.
            Intrinsic::NestedSetParent => match (op, literal) {
                (BinaryOp::Less, Literal::Int(0))
                | (BinaryOp::LessEqual | BinaryOp::Equal, Literal::Int(-1)) => root(),
                (BinaryOp::GreaterEqual, Literal::Int(0))
                | (BinaryOp::Greater | BinaryOp::NotEqual, Literal::Int(-1)) => root().not(),
                _ => Tested::open(),
            },
            _ => Tested::open(),
        })
    }

    /// A status or a kind. Numbers that have no word are none of either.
    fn word(&self, field: usize, op: BinaryOp, literal: &Literal) -> Tested {
        let (word, all): (&str, Vec<&str>) = match literal {
            Literal::Status(status) => {
                (status.name(), [Status::Unset, Status::Ok, Status::Error].map(Status::name).into())
            }
            Literal::Kind(kind) => (kind.name(), KINDS.map(Kind::name).into()),
            _ => return Tested::never(),
        };
        let text = |word: &str| Scalar::String(word.to_owned());
        let column = ColumnRef::Field(field);
        Tested::exact(match op {
            BinaryOp::Equal => Predicate::equal(column, text(word)),
            BinaryOp::NotEqual => {
                let values = all.into_iter().filter(|other| *other != word).map(text).collect();
                Predicate::In { column, values }
            }
            _ => return Tested::never(),
        })
    }
}

const KINDS: [Kind; 6] =
    [Kind::Unspecified, Kind::Internal, Kind::Server, Kind::Client, Kind::Producer, Kind::Consumer];

/// Spans without a parent.
fn root() -> Tested {
    Tested::exact(Predicate::Not(Box::new(exists(ColumnRef::Field(field::PARENT_SPAN_ID)))))
}

fn exists(column: ColumnRef) -> Predicate {
    Predicate::Exists(column)
}

/// An id in hexadecimal; leading zeros may be missing.
fn id(field: usize, op: BinaryOp, literal: &Literal, bytes: usize) -> Tested {
    let (BinaryOp::Equal, Literal::Text(text)) = (op, literal) else { return Tested::open() };
    let digits = 2 * bytes;
    let is_hex = !text.is_empty() && text.bytes().all(|b| b.is_ascii_hexdigit());
    let is_whole = field == field::TRACE_ID || text.len() == digits;
    if !is_hex || text.len() > digits || !is_whole {
        return Tested::open();
    }
    let Ok(number) = u128::from_str_radix(text, 16) else { return Tested::open() };
    let value = Scalar::Bytes(number.to_be_bytes()[16 - bytes..].to_vec());
    Tested::exact(Predicate::equal(ColumnRef::Field(field), value))
}

/// The test of a column; `None` if nothing passes.
fn test(column: ColumnRef, op: BinaryOp, literal: &Literal) -> Option<Predicate> {
    let value = match literal {
        Literal::Nil | Literal::Status(_) | Literal::Kind(_) => return None,
        Literal::Bool(value) => Scalar::Bool(*value),
        Literal::Int(value) | Literal::Duration(value) => Scalar::Int(*value),
        Literal::Float(value) => Scalar::Double(*value),
        Literal::Text(value) => Scalar::String(value.clone()),
    };
    let op = match op {
        BinaryOp::Equal => Op::Eq,
        BinaryOp::NotEqual => Op::Ne,
        BinaryOp::Less => Op::Lt,
        BinaryOp::LessEqual => Op::Le,
        BinaryOp::Greater => Op::Gt,
        BinaryOp::GreaterEqual => Op::Ge,
        BinaryOp::Match | BinaryOp::NotMatch => {
            let Literal::Text(pattern) = literal else { return None };
            let regex = kymo_traceql::anchored(pattern);
            return Some(Predicate::Match { column, regex, negated: op == BinaryOp::NotMatch });
        }
        _ => return None,
    };
    Some(Predicate::Compare { column, op, value })
}

/// Attributes that arithmetic is done with. What a comparison within makes of a missing value is
/// not missing.
fn collect_operands<'e>(expr: &'e Expr, found: &mut Vec<&'e Attribute>) {
    match expr {
        Expr::Attribute(attribute) => found.push(attribute),
        Expr::Negate(inner) => collect_operands(inner, found),
        Expr::Binary {
            op:
                BinaryOp::Add
                | BinaryOp::Subtract
                | BinaryOp::Multiply
                | BinaryOp::Divide
                | BinaryOp::Remainder
                | BinaryOp::Power,
            left,
            right,
        } => {
            collect_operands(left, found);
            collect_operands(right, found);
        }
        _ => {}
    }
}
