//! Which services call which: a span whose parent belongs to another service is a call.

use std::ops::Range;

use hashbrown::HashMap;
use kymo_store::scan::{Scan, Walk};
use kymo_traceql::ast::{Expr, Literal, Pipeline, Spansets, Stage};
use kymo_traceql::eval::{Slots, Trace};

use super::answer::Dependency;
use super::evaluate::{Evaluation, each_matching};
use super::look::Look;
use crate::error::EngineError;

type Calls = HashMap<(String, String), u64>;

/// Calls of spans that began within `time`.
pub(super) fn answer(look: &Look, time: &Range<i64>) -> Result<Vec<Dependency>, EngineError> {
    let all = Pipeline {
        stages: vec![Stage::Spansets(Spansets::Filter(Expr::Literal(Literal::Bool(true))))],
    };
    let evaluation = Evaluation::new(look, &all, Slots::default(), false)?;
    let scan = Scan { time: Some(time.clone()), ..Scan::default() };
    let walk = Walk::new(&look.sources, &scan, look.context());
    let mut walk = walk.map_err(|error| look.failed(error))?;
    let parts = each_matching(&evaluation, &mut walk, Calls::new, |calls, trace, spans| {
        for span in spans {
            let span = *span as usize;
            let Some(parent) = trace.parent(span) else { continue };
            if !time.contains(&trace.start_of(span)) {
                continue;
            }
            let names = (trace.service_of(parent), trace.service_of(span));
            if let (Some(caller), Some(called)) = names
                && caller != called
            {
                *calls.entry_ref(&Pair(caller, called)).or_default() += 1;
            }
        }
        Ok(calls.capacity() * 64)
    })?;
    let mut all = Calls::new();
    for part in parts {
        for (pair, calls) in part {
            *all.entry(pair).or_default() += calls;
        }
    }
    let mut found: Vec<Dependency> = all
        .into_iter()
        .map(|((parent, child), calls)| Dependency { parent, child, calls })
        .collect();
    found.sort_by(|a, b| (&a.parent, &a.child).cmp(&(&b.parent, &b.child)));
    Ok(found)
}

/// Two names that are looked up without being copied.
#[derive(Hash)]
struct Pair<'n>(&'n str, &'n str);

impl hashbrown::Equivalent<(String, String)> for Pair<'_> {
    fn equivalent(&self, key: &(String, String)) -> bool {
        key.0 == self.0 && key.1 == self.1
    }
}

impl From<&Pair<'_>> for (String, String) {
    fn from(pair: &Pair<'_>) -> Self {
        (pair.0.to_owned(), pair.1.to_owned())
    }
}
