//! A part of a trace: `q` of `/tempo/api/v2/traces/{id}` keeps the spans that pass a filter, and
//! with them what lies above or below.
//!
//! | parameter | what is kept with each span that passes |
//! |---|---|
//! | `match_depth` | so many levels of descendants; -1 for all, 0 if it is not given |
//! | `keep_hierarchy=true` | its ancestors |
//! | `ancestor_depth` | so many levels of them; -1 for all, as if it is not given |

use std::collections::{HashMap, HashSet};

use kymo_engine::Tenants;
use kymo_engine::traceql::{Search, Sort};
use kymo_traceql::ast::{
    BinaryOp, Body, Expr, Intrinsic, Literal, Name, Pipeline, Query, Spansets, Stage,
};
use kymo_wire::encode::Writer;
use kymo_wire::{Reader, WireError};

use super::asked::{self, Unanswered};
use super::complete::between;
use crate::parameters::Parameters;
use crate::router::Shared;

type SpanId = Vec<u8>;

/// How much of a trace is asked for.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Subset {
    query: String,
    /// Levels below a span that passes.
    below: usize,
    /// Levels above it.
    above: usize,
}

impl Subset {
    /// What the parameters ask for; `None` for the whole trace.
    pub(super) fn of(parameters: &Parameters) -> Result<Option<Self>, String> {
        let Some(query) = parameters.get("q") else { return Ok(None) };
        let depth = |name| {
            parameters.read(name, "a number of levels or -1", |text| match text {
                "-1" => Some(usize::MAX),
                _ => text.parse().ok(),
            })
        };
        let below = depth("match_depth")?.unwrap_or(0);
        let above = match parameters.switch("keep_hierarchy")? {
            true => depth("ancestor_depth")?.unwrap_or(usize::MAX),
            false => 0,
        };
        Ok(Some(Self { query: query.to_owned(), below, above }))
    }

    /// Ids of the spans of a trace that pass.
    pub(super) async fn matching(
        &self,
        shared: &Shared,
        tenants: &Tenants,
        trace_id: [u8; 16],
    ) -> Result<HashSet<SpanId>, Unanswered> {
        let say = |error| format!("invalid TraceQL query: {error}");
        let query = asked::parse(shared, self.query.clone(), say).await?;
        let search = Search {
            query: of_trace(query, trace_id)?,
            time: None,
            limit: 1,
            spans_per_set: usize::MAX,
            sort: Sort::default(),
            after: None,
        };
        let found = shared.engine.search(tenants, search).await?.all().await?;
        let sets = found.traces.into_iter().flat_map(|trace| trace.span_sets);
        Ok(sets.flat_map(|set| set.spans).map(|span| span.span_id.to_vec()).collect())
    }

    /// A trace (an encoded `TracesData`) with these spans and their relatives alone, and whether
    /// that is less than there was.
    pub(super) fn cut(
        &self,
        trace: &[u8],
        matching: &HashSet<SpanId>,
    ) -> Result<(Vec<u8>, bool), WireError> {
        let tree = Tree::read(trace)?;
        let mut kept = matching.clone();
        tree.walk(matching, &tree.children, self.below, &mut kept);
        tree.walk(matching, &tree.parents, self.above, &mut kept);
        let mut out = Writer::with_capacity(trace.len());
        let is_cut = copy(Reader::new(trace), &mut out, &LEVELS, &kept)?;
        Ok((out.into_bytes(), is_cut))
    }
}

/// The same filter, for one trace. Only a filter has a meaning here.
fn of_trace(query: Query, trace_id: [u8; 16]) -> Result<Query, String> {
    let refused = || {
        "invalid q: only a single { } filter selects spans of a trace; leave out pipelines, \
         operators between filters, and functions"
            .to_owned()
    };
    let Body::Spans(Pipeline { mut stages }) = query.body else { return Err(refused()) };
    let (Some(Stage::Spansets(Spansets::Filter(filter))), true) = (stages.pop(), stages.is_empty())
    else {
        return Err(refused());
    };
    let id = Expr::attribute(Name::Intrinsic(Intrinsic::TraceId));
    let hex = Literal::Text(format!("{:032x}", u128::from_be_bytes(trace_id)));
    let is_trace = Expr::compare(BinaryOp::Equal, id, Expr::Literal(hex));
    stages.push(Stage::Spansets(Spansets::Filter(Expr::all([is_trace, filter]))));
    Ok(Query { body: Body::Spans(Pipeline { stages }), hints: query.hints })
}

/// Tags of messages on the way to a span: resource groups, scope groups, spans.
const LEVELS: [u32; 3] = [message(1), message(2), message(2)];
/// Tags of `span_id` and `parent_span_id` in a span.
const SPAN_ID: u32 = message(2);
const PARENT_SPAN_ID: u32 = message(4);

const fn message(field: u32) -> u32 {
    field << 3 | 2
}

/// Who is related to whom.
#[derive(Default)]
struct Tree {
    parents: HashMap<SpanId, Vec<SpanId>>,
    children: HashMap<SpanId, Vec<SpanId>>,
}

impl Tree {
    fn read(trace: &[u8]) -> Result<Self, WireError> {
        let mut tree = Self::default();
        tree.spans(Reader::new(trace), &LEVELS)?;
        Ok(tree)
    }

    fn spans(&mut self, mut reader: Reader<'_>, levels: &[u32]) -> Result<(), WireError> {
        let Some((level, below)) = levels.split_first() else {
            let (id, parent) = ids(reader)?;
            if !parent.is_empty() {
                self.parents.entry(id.clone()).or_default().push(parent.clone());
                self.children.entry(parent).or_default().push(id);
            }
            return Ok(());
        };
        while let Some(tag) = reader.tag()? {
            match tag == *level {
                true => self.spans(reader.message()?, below)?,
                false => reader.skip(tag)?,
            }
        }
        Ok(())
    }

    /// Adds what is at most `depth` steps away.
    fn walk(
        &self,
        from: &HashSet<SpanId>,
        steps: &HashMap<SpanId, Vec<SpanId>>,
        depth: usize,
        kept: &mut HashSet<SpanId>,
    ) {
        let mut seen = from.clone();
        let mut level: Vec<&SpanId> = from.iter().collect();
        for _ in 0..depth {
            let next = level.iter().filter_map(|id| steps.get(*id)).flatten();
            level = next.filter(|id| seen.insert((*id).clone())).collect();
            if level.is_empty() {
                break;
            }
        }
        kept.extend(seen);
    }
}

/// Ids of a span and of its parent.
fn ids(mut span: Reader<'_>) -> Result<(SpanId, SpanId), WireError> {
    let (mut id, mut parent) = (Vec::new(), Vec::new());
    while let Some(tag) = span.tag()? {
        match tag {
            SPAN_ID => id = span.message()?.rest().to_vec(),
            PARENT_SPAN_ID => parent = span.message()?.rest().to_vec(),
            _ => span.skip(tag)?,
        }
    }
    Ok((id, parent))
}

/// Copies a message without the spans that are not kept, and without groups that have none left;
/// whether something was left out.
fn copy(
    mut reader: Reader<'_>,
    out: &mut Writer,
    levels: &[u32],
    kept: &HashSet<SpanId>,
) -> Result<bool, WireError> {
    let Some((level, below)) = levels.split_first() else { return Ok(false) };
    let mut is_cut = false;
    loop {
        let before = reader;
        let Some(tag) = reader.tag()? else { return Ok(is_cut) };
        if tag != *level {
            reader.skip(tag)?;
            out.raw(between(before, reader));
            continue;
        }
        let inner = reader.message()?;
        if !has_kept(inner, below, kept)? {
            is_cut = true;
        } else if below.is_empty() {
            out.raw(between(before, reader));
        } else {
            let field = *level >> 3;
            out.message(field, |out| copy(inner, out, below, kept).map(|cut| is_cut |= cut))?;
        }
    }
}

/// Whether a message has a span that is kept.
fn has_kept(
    mut reader: Reader<'_>,
    levels: &[u32],
    kept: &HashSet<SpanId>,
) -> Result<bool, WireError> {
    let Some((level, below)) = levels.split_first() else {
        return Ok(kept.contains(&ids(reader)?.0));
    };
    while let Some(tag) = reader.tag()? {
        if tag != *level {
            reader.skip(tag)?;
        } else if has_kept(reader.message()?, below, kept)? {
            return Ok(true);
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span, TracesData};
    use prost::Message;

    /// 1 has the children 2 and 3, 3 has 4, 4 has 5, each in a group of its own.
    fn trace() -> Vec<u8> {
        let spans = [(1, 0), (2, 1), (3, 1), (4, 3), (5, 4)].map(|(id, parent): (u64, u64)| Span {
            span_id: id.to_be_bytes().to_vec(),
            parent_span_id: if parent == 0 { Vec::new() } else { parent.to_be_bytes().to_vec() },
            name: format!("s{id}"),
            ..Span::default()
        });
        let groups = spans.map(|span| ResourceSpans {
            scope_spans: vec![ScopeSpans { spans: vec![span], ..ScopeSpans::default() }],
            schema_url: "kept".to_owned(),
            ..ResourceSpans::default()
        });
        TracesData { resource_spans: groups.into() }.encode_to_vec()
    }

    fn cut(parameters: &str, matching: &[u64]) -> (Vec<String>, bool) {
        let subset = Subset::of(&Parameters::parse(parameters).unwrap()).unwrap().unwrap();
        let matching = matching.iter().map(|id| id.to_be_bytes().to_vec()).collect();
        let (bytes, is_cut) = subset.cut(&trace(), &matching).unwrap();
        let read = TracesData::decode(&*bytes).unwrap();
        assert!(read.resource_spans.iter().all(|group| group.schema_url == "kept"));
        let scopes = read.resource_spans.into_iter().flat_map(|group| group.scope_spans);
        (scopes.flat_map(|scope| scope.spans).map(|span| span.name).collect(), is_cut)
    }

    #[test]
    fn spans_that_pass_are_kept_with_their_relatives() {
        assert_eq!(cut("q=x", &[3]).0, ["s3"]);
        assert_eq!(cut("q=x&match_depth=1", &[3]).0, ["s3", "s4"]);
        assert_eq!(cut("q=x&match_depth=-1", &[3]).0, ["s3", "s4", "s5"]);
        assert_eq!(cut("q=x&keep_hierarchy=true", &[4]).0, ["s1", "s3", "s4"]);
        assert_eq!(cut("q=x&keep_hierarchy=true&ancestor_depth=1", &[4]).0, ["s3", "s4"]);
        assert_eq!(cut("q=x", &[]), (Vec::new(), true));
        assert!(!cut("q=x", &[1, 2, 3, 4, 5]).1);
    }

    #[test]
    fn only_a_filter_can_be_asked_for() {
        assert_eq!(Subset::of(&Parameters::default()), Ok(None));
        for bad in ["q=x&match_depth=-2", "q=x&keep_hierarchy=maybe"] {
            assert!(Subset::of(&Parameters::parse(bad).unwrap()).is_err(), "{bad}");
        }
        let parse = |text| of_trace(kymo_traceql::parse(text).unwrap(), [0; 16]);
        assert!(parse("{ .a = 1 }").is_ok());
        for bad in ["{ .a = 1 } && { .b = 1 }", "{ } | count() > 1", "{ } | rate()"] {
            assert!(parse(bad).unwrap_err().contains("single { } filter"), "{bad}");
        }
    }
}
