//! How a query would be answered, for people.

use std::fmt::Write;
use std::ops::Range;

use kymo_store::scan::{ColumnRef, Op, Predicate, Scalar};
use kymo_store::tables::spans::TABLE;
use kymo_traceql::ast::{Body, MetricsFunction, Query};
use kymo_traceql::metrics::Grid;

use super::compare;
use super::counting::Counting;
use super::layout::Layout;
use super::look::Look;
use super::measure::{Leaf, leaves};
use super::plan::Candidates;
use super::request::{Search, Sort};
use super::search::Searcher;
use crate::error::EngineError;

/// The plan of a query, as text.
pub(super) fn answer(
    look: &Look,
    query: &Query,
    time: Option<&Range<i64>>,
) -> Result<String, EngineError> {
    let mut text = String::new();
    // Writing to a text does not fail.
    let _ = writeln!(text, "{query}");
    match &query.body {
        Body::Spans(_) => search(look, query, time, &mut text)?,
        Body::Metrics(metrics) => {
            let mut found = Vec::new();
            leaves(metrics, &mut found);
            for leaf in &found {
                series(look, leaf, time, &mut text)?;
            }
        }
    }
    Ok(text)
}

fn search(
    look: &Look,
    query: &Query,
    time: Option<&Range<i64>>,
    text: &mut String,
) -> Result<(), EngineError> {
    let search = Search {
        query: query.clone(),
        time: time.cloned(),
        limit: 20,
        spans_per_set: 3,
        sort: Sort::Newest,
        after: None,
    };
    let searcher = Searcher::new(look, search)?;
    let _ = writeln!(text, "search, newest first");
    candidates(&searcher.candidates, text);
    let walk = searcher.candidates.walk(look, time).map_err(|error| look.failed(error))?;
    sources(look, Some(walk.progress().0), text);
    let what = "of whole candidate traces";
    columns(&searcher.evaluation.loading.layout, what, text);
    columns(searcher.late_layout(), "of spans that are shown", text);
    Ok(())
}

fn series(
    look: &Look,
    leaf: &Leaf<'_>,
    time: Option<&Range<i64>>,
    text: &mut String,
) -> Result<(), EngineError> {
    let found = Candidates::of(look, leaf.pipeline).map_err(|error| look.failed(error))?;
    // Which columns series are counted by does not depend on the time.
    let grid =
        Grid::instant(0, 1).map_err(|error| EngineError::Invalid(error.to_string().into()))?;
    let counting = Counting { look, leaf, grid: &grid, candidates: found, keeps_candidates: false };
    let (what, layout, rest) = match leaf.function {
        MetricsFunction::Compare { selection, .. } => {
            let layout = compare::row_layout(look, selection, &counting.candidates, time)?;
            ("comparison", layout, "; children over evaluated traces")
        }
        _ => ("series", counting.row_layout()?, ""),
    };
    let _ = match &layout {
        Some(_) => writeln!(text, "{what}, counted row by row while scanning{rest}"),
        None => writeln!(text, "{what}, counted over the spans of evaluated traces"),
    };
    candidates(&counting.candidates, text);
    sources(look, None, text);
    if let Some(layout) = &layout {
        columns(layout, "of spans that pass", text);
    }
    Ok(())
}

fn candidates(found: &Candidates, text: &mut String) {
    let kind = match found.is_answer {
        _ if found.is_never() => "nothing can pass",
        true => "exact: what passes is the answer",
        false if found.tested.is_open() => "all traces are evaluated",
        false => "traces with a span that passes are evaluated",
    };
    let _ = writeln!(text, "  store tests  {}  ({kind})", shown(&found.tested.predicate));
    if let Some(required) = &found.required {
        let what = "in the same trace, looked for first";
        let _ = writeln!(text, "               {}  ({what})", shown(&required.predicate));
    }
}

fn sources(look: &Look, granules: Option<usize>, text: &mut String) {
    let rows: usize = look.sources.iter().map(|source| source.rows()).sum();
    let blocks = look.snapshot.blocks().count();
    let chunks = look.snapshot.chunks().count();
    let _ = write!(text, "  rows         {rows} in {blocks} blocks and {chunks} batches in memory");
    if let Some(granules) = granules {
        let _ = write!(text, "; at most {granules} granules to read");
    }
    text.push('\n');
}

fn columns(layout: &Layout, what: &str, text: &mut String) {
    let all = [&layout.columns, &layout.event_columns, &layout.link_columns];
    let names: Vec<String> = all.into_iter().flatten().map(|column| column.name(&TABLE)).collect();
    let _ = writeln!(text, "  columns      {}  ({what})", names.join(", "));
}

/// A predicate for people.
fn shown(predicate: &Predicate) -> String {
    let name = |column: &ColumnRef| column.name(&TABLE);
    let joined = |parts: &[Predicate], word: &str, empty: &str| match parts.is_empty() {
        true => empty.to_owned(),
        false => {
            let parts: Vec<String> = parts.iter().map(shown).collect();
            format!("({})", parts.join(word))
        }
    };
    match predicate {
        Predicate::And(parts) => joined(parts, " and ", "true"),
        Predicate::Or(parts) => joined(parts, " or ", "false"),
        Predicate::Not(inner) => format!("not {}", shown(inner)),
        Predicate::Exists(column) => format!("{} exists", name(column)),
        Predicate::Match { column, regex, negated } => {
            format!("{} {} {regex:?}", name(column), if *negated { "!~" } else { "=~" })
        }
        Predicate::Contains { column, text, negated } => {
            format!("{} {} {text:?}", name(column), if *negated { "lacks" } else { "contains" })
        }
        Predicate::In { column, values } => {
            let values: Vec<String> = values.iter().map(scalar).collect();
            format!("{} in ({})", name(column), values.join(", "))
        }
        Predicate::Compare { column, op, value } => {
            let op = match op {
                Op::Eq => "=",
                Op::Ne => "!=",
                Op::Lt => "<",
                Op::Le => "<=",
                Op::Gt => ">",
                Op::Ge => ">=",
            };
            format!("{} {op} {}", name(column), scalar(value))
        }
    }
}

fn scalar(value: &Scalar) -> String {
    match value {
        Scalar::String(text) => format!("{text:?}"),
        Scalar::Bool(value) => value.to_string(),
        Scalar::Int(value) => value.to_string(),
        Scalar::Double(value) => value.to_string(),
        Scalar::Bytes(bytes) => bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
    }
}
