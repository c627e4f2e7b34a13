//! How `EXPLAIN` shows a scan: what it reads, what the store tests, what it can leave out.

use std::fmt;
use std::ops::Range;

use arrow_array::temporal_conversions::timestamp_ns_to_datetime;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType};
use kymo_store::scan::{Op, Order, Predicate, Scalar};
use kymo_store::schema::Table;

use super::{BlockScan, ScanPlan};

/// Values of a list that are shown.
const LIST_SHOWN: usize = 8;

impl DisplayAs for BlockScan {
    fn fmt_as(&self, format: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let facts = facts(self.plan());
        match format {
            DisplayFormatType::TreeRender => {
                for (name, value) in facts {
                    writeln!(f, "{name}={value}")?;
                }
                Ok(())
            }
            _ => {
                let facts: Vec<String> =
                    facts.into_iter().map(|(name, value)| format!("{name}={value}")).collect();
                write!(f, "BlockScan: {}", facts.join(", "))
            }
        }
    }
}

/// What there is to say of a scan, by name.
fn facts(plan: &ScanPlan) -> Vec<(&'static str, String)> {
    let fields = plan.read_schema.fields().iter();
    let columns: Vec<&str> = fields.map(|field| field.name().as_str()).collect();
    let mut facts = vec![
        ("table", plan.shape.name.name().to_owned()),
        ("columns", format!("[{}]", columns.join(", "))),
    ];
    let table = plan.shape.name.signal().table();
    if let Some(predicate) = &plan.pushed.predicate {
        facts.push(("predicate", Shown { predicate, table }.to_string()));
    }
    if !plan.residual.tests.is_empty() {
        let tests: Vec<String> = plan.residual.tests.iter().map(|t| t.to_string()).collect();
        facts.push(("tested again", tests.join(" AND ")));
    }
    let blocks = plan.snapshot.blocks().count();
    let mut in_time = blocks;
    if let Some(time) = &plan.pushed.time {
        facts.push(("time", time_text(time)));
        let outside = |min: i64, max: i64| max < time.start || min >= time.end;
        let metas = plan.snapshot.blocks();
        in_time = metas.filter(|b| !outside(b.min_time_nanos, b.max_time_nanos)).count();
    }
    if let Some(top) = plan.top {
        let order = match top.order {
            Order::OldestFirst => "oldest",
            Order::LongestFirst => "longest",
            Order::ShortestFirst => "shortest",
            Order::NewestFirst | Order::Any => "newest",
        };
        facts.push((order, top.rows.to_string()));
    }
    if let Some(limit) = plan.limit {
        facts.push(("limit", limit.to_string()));
    }
    let in_memory: usize = plan.snapshot.chunks().map(|chunk| chunk.rows).sum();
    facts.push(("blocks", format!("{in_time} of {blocks}")));
    facts.push(("rows in memory", in_memory.to_string()));
    facts
}

fn time_text(time: &Range<i64>) -> String {
    match (time.start, time.end) {
        _ if time.is_empty() => "never".to_owned(),
        (first, i64::MAX) => format!("from {}", Time(first)),
        (i64::MIN, last) => format!("before {}", Time(last)),
        (first, last) => format!("from {} before {}", Time(first), Time(last)),
    }
}

struct Time(i64);

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match timestamp_ns_to_datetime(self.0) {
            Some(time) => write!(f, "{}", time.format("%Y-%m-%dT%H:%M:%S%.fZ")),
            None => write!(f, "{}", self.0),
        }
    }
}

/// A predicate as text.
struct Shown<'a> {
    predicate: &'a Predicate,
    table: &'a Table,
}

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let table = self.table;
        match self.predicate {
            Predicate::And(parts) if parts.is_empty() => write!(f, "true"),
            Predicate::Or(parts) if parts.is_empty() => write!(f, "false"),
            Predicate::And(parts) => joined(f, parts, table, " AND "),
            Predicate::Or(parts) => joined(f, parts, table, " OR "),
            Predicate::Not(part) => write!(f, "NOT {}", Shown { predicate: part, table }),
            Predicate::Compare { column, op, value } => {
                write!(f, "{} {} {}", column.name(table), symbol(*op), value_text(value))
            }
            Predicate::In { column, values } => {
                let mut shown: Vec<String> =
                    values.iter().take(LIST_SHOWN).map(value_text).collect();
                if values.len() > LIST_SHOWN {
                    shown.push(format!("… {} in all", values.len()));
                }
                write!(f, "{} IN ({})", column.name(table), shown.join(", "))
            }
            Predicate::Match { column, regex, negated } => {
                let symbol = if *negated { "!~" } else { "~" };
                write!(f, "{} {symbol} '{regex}'", column.name(table))
            }
            Predicate::Contains { column, text, negated } => {
                let word = if *negated { "LACKS" } else { "CONTAINS" };
                write!(f, "{} {word} '{text}'", column.name(table))
            }
            Predicate::Exists(column) => write!(f, "{} IS NOT NULL", column.name(table)),
        }
    }
}

fn joined(
    f: &mut fmt::Formatter<'_>,
    parts: &[Predicate],
    table: &Table,
    separator: &str,
) -> fmt::Result {
    let parts: Vec<String> =
        parts.iter().map(|predicate| Shown { predicate, table }.to_string()).collect();
    write!(f, "({})", parts.join(separator))
}

fn symbol(op: Op) -> &'static str {
    match op {
        Op::Eq => "=",
        Op::Ne => "<>",
        Op::Lt => "<",
        Op::Le => "<=",
        Op::Gt => ">",
        Op::Ge => ">=",
    }
}

fn value_text(value: &Scalar) -> String {
    match value {
        Scalar::String(text) => format!("'{text}'"),
        Scalar::Bool(value) => value.to_string(),
        Scalar::Int(value) => value.to_string(),
        Scalar::Double(value) => value.to_string(),
        Scalar::Bytes(bytes) => bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
    }
}
