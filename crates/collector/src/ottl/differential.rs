//! Random conditions on random spans: what OTTL says of them, by an evaluator that does what its
//! documentation says, and what TraceQL says of their translation.

use std::cmp::Ordering;

use kymo_traceql::ast::{Body, Intrinsic, Name};
use kymo_traceql::{Evaluator, List, Slots, Trace, Value, parse};

use super::ast::{Comparison, Condition, Key, Literal, Operand};
use super::{Context, condition, parse_condition};

const KEYS: [&str; 3] = ["a", "b.c", "d e"];
const TEXTS: [&str; 5] = ["", "x", "/health", "a/healthz", "x\ny"];

/// A span: its name, and what its attributes are.
#[derive(Debug, Clone)]
struct Span {
    name: &'static str,
    attributes: [Value<'static>; 3],
}

impl Span {
    fn attribute(&self, key: &str) -> Value<'static> {
        let nth = KEYS.iter().position(|known| *known == key).unwrap();
        self.attributes[nth]
    }
}

/// The trace of one span, as TraceQL reads it.
struct One<'a> {
    span: &'a Span,
    names: Vec<Name>,
}

impl Trace for One<'_> {
    fn spans(&self) -> usize {
        1
    }

    fn value(&self, _span: usize, slot: usize) -> Value<'_> {
        match &self.names[slot] {
            Name::Intrinsic(Intrinsic::Name) => Value::Text(self.span.name),
            Name::Keyed { key, .. } => self.span.attribute(key),
            other => panic!("{other:?}"),
        }
    }

    fn elements(&self, _span: usize, _list: List) -> usize {
        0
    }

    fn element_value(&self, _span: usize, _slot: usize, _nth: usize) -> Value<'_> {
        Value::Nil
    }

    fn parent(&self, _span: usize) -> Option<usize> {
        None
    }

    fn is_root(&self, _span: usize) -> bool {
        true
    }
}

fn by_traceql(text: &str, span: &Span) -> bool {
    let query = parse(&format!("{{ {text} }}")).unwrap();
    let Body::Spans(pipeline) = &query.body else { panic!("{text}") };
    let mut slots = Slots::new();
    let mut evaluator = Evaluator::new(pipeline, &mut slots).unwrap();
    !evaluator.evaluate(&One { span, names: slots.names().to_vec() }).is_empty()
}

fn by_ottl(tree: &Condition, span: &Span) -> bool {
    match tree {
        Condition::All(all) => all.iter().all(|one| by_ottl(one, span)),
        Condition::Any(any) => any.iter().any(|one| by_ottl(one, span)),
        Condition::Not(inner) => !by_ottl(inner, span),
        Condition::Constant(value) => *value,
        Condition::Compare { op, left, right, .. } => {
            let (left, right) = (value(left, span), value(right, span));
            let order = order(&left, &right);
            match op {
                Comparison::Equal => order == Some(Ordering::Equal),
                Comparison::NotEqual => order != Some(Ordering::Equal),
                _ if left == Value::Nil || right == Value::Nil => false,
                Comparison::Less => order == Some(Ordering::Less),
                Comparison::LessEqual => order.is_some_and(Ordering::is_le),
                Comparison::Greater => order == Some(Ordering::Greater),
                Comparison::GreaterEqual => order.is_some_and(Ordering::is_ge),
            }
        }
        Condition::Call(call) => {
            let Operand::Literal(Literal::Text(searched)) = &call.arguments[1] else {
                panic!("{call:?}")
            };
            // Digits of numbers are searched as well by a collector; the page says that here they
            // are not.
            match value(&call.arguments[0], span) {
                Value::Text(text) => regex::Regex::new(searched).unwrap().is_match(text),
                _ => false,
            }
        }
    }
}

fn value(operand: &Operand, span: &Span) -> Value<'static> {
    match operand {
        Operand::Path(path) => match path.keys.as_slice() {
            [Key::Text(key)] => span.attribute(key),
            _ => Value::Text(span.name),
        },
        Operand::Literal(Literal::Nil) => Value::Nil,
        Operand::Literal(Literal::Bool(value)) => Value::Bool(*value),
        Operand::Literal(Literal::Text(text)) => {
            Value::Text(TEXTS.iter().find(|known| *known == text).unwrap())
        }
        Operand::Literal(Literal::Number(number)) => match number.parse() {
            Ok(number) => Value::Int(number),
            Err(_) => Value::Float(number.parse().unwrap()),
        },
        other => panic!("{other:?}"),
    }
}

/// How two values compare: not at all, if their types differ.
fn order(left: &Value<'_>, right: &Value<'_>) -> Option<Ordering> {
    match (left, right) {
        (Value::Nil, Value::Nil) => Some(Ordering::Equal),
        (Value::Bool(left), Value::Bool(right)) => Some(left.cmp(right)),
        (Value::Text(left), Value::Text(right)) => Some(left.cmp(right)),
        (Value::Int(left), Value::Int(right)) => Some(left.cmp(right)),
        (Value::Int(left), Value::Float(right)) => (*left as f64).partial_cmp(right),
        (Value::Float(left), Value::Int(right)) => left.partial_cmp(&(*right as f64)),
        (Value::Float(left), Value::Float(right)) => left.partial_cmp(right),
        _ => None,
    }
}

/// A generator that is the same in every run.
struct Random(u64);

impl Random {
    fn one_of<T: Clone>(&mut self, of: &[T]) -> T {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        of[(self.0 % of.len() as u64) as usize].clone()
    }

    fn span(&mut self) -> Span {
        let mut values = vec![Value::Nil, Value::Nil, Value::Bool(true), Value::Bool(false)];
        values.extend([Value::Int(200), Value::Int(-1), Value::Float(1.5), Value::Float(200.0)]);
        values.extend(TEXTS.map(Value::Text));
        Span {
            name: self.one_of(&TEXTS),
            attributes: [self.one_of(&values), self.one_of(&values), self.one_of(&values)],
        }
    }

    fn condition(&mut self, depth: usize) -> String {
        let kinds = if depth == 0 { 4..5 } else { 0..6 };
        match self.one_of(&kinds.collect::<Vec<_>>()) {
            0 => format!("({} and {})", self.condition(depth - 1), self.condition(depth - 1)),
            1 => format!("({} or {})", self.condition(depth - 1), self.condition(depth - 1)),
            2 => format!("not ({})", self.condition(depth - 1)),
            3 => format!("{} or {}", self.condition(depth - 1), self.condition(depth - 1)),
            4 => {
                let field = self.field();
                let literal = self.literal();
                let op = self.one_of(&["==", "!=", "<", "<=", ">", ">="]);
                match self.one_of(&[true, false]) {
                    true => format!("{field} {op} {literal}"),
                    false => format!("{literal} {op} {field}"),
                }
            }
            _ => {
                let searched =
                    self.one_of(&["^/health", "health", "x$", "x.y", "x|^$", "(?i)HEALTH.*"]);
                format!("IsMatch({}, {searched:?})", self.field())
            }
        }
    }

    fn field(&mut self) -> String {
        let key = self.one_of(&KEYS);
        self.one_of(&[
            format!("attributes[{key:?}]"),
            format!("span.attributes[{key:?}]"),
            "name".to_owned(),
        ])
    }

    fn literal(&mut self) -> String {
        let mut literals = ["nil", "true", "false", "200", "-1", "1.5"].map(str::to_owned).to_vec();
        literals.extend(TEXTS.map(|text| format!("{text:?}")));
        self.one_of(&literals)
    }
}

#[test]
fn what_is_said_in_traceql_means_what_the_collector_means() {
    let mut random = Random(0x2545_f491_4f6c_dd1d);
    let mut compared = 0;
    for _ in 0..2500 {
        let text = random.condition(3);
        let tree = parse_condition(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
        // What cannot be said is refused, and nothing is wrong then.
        let Ok(said) = condition(&tree, Context::Span) else { continue };
        for _ in 0..5 {
            let span = random.span();
            let expected = by_ottl(&tree, &span);
            assert_eq!(by_traceql(&said, &span), expected, "{text}\n{said}\n{span:?}");
            compared += 1;
        }
    }
    assert!(compared > 2000, "{compared}");
}
