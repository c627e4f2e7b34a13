//! What is asked for, and flags that have no use for it. They are refused, since whoever gave one
//! would take the answer for something else.

use kymo_traceql::ast::{Body, Query};

use super::Args;
use crate::failure::Failure;

/// What the result is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Traces,
    Spans,
    Series,
    Groups,
}

impl Kind {
    pub(super) fn of(args: &Args, query: &Query) -> Self {
        match &query.body {
            _ if args.spans => Self::Spans,
            _ if !args.group_by.is_empty() || !args.agg.is_empty() => Self::Groups,
            Body::Metrics(_) => Self::Series,
            Body::Spans(_) => Self::Traces,
        }
    }

    /// Refuses flags that would be ignored.
    pub(super) fn refuse_flags(self, args: &Args) -> Result<(), Failure> {
        let is_search = matches!(self, Self::Traces | Self::Spans);
        let of_series = match self {
            Self::Groups => "groups are about all the time at once: leave it out",
            Self::Spans => "it is for series: leave out --spans, or this",
            _ => "it is for series: end the query with a function such as | rate()",
        };
        let of_traces = match self {
            Self::Groups => "the largest group comes first, by the first --agg: leave it out",
            _ => "it is for traces: end the query with | topk(10) for the greatest series",
        };
        let useless = [
            ("--step", args.times.has_step() && self != Self::Series, of_series),
            ("--instant", args.instant && self != Self::Series, of_series),
            ("--sort", args.sort.is_some() && !is_search, of_traces),
            ("--limit", args.limit.is_some() && self == Self::Series, of_traces),
            (
                "--spans-per-set",
                args.spans_per_set.is_some() && self != Self::Spans,
                "it is for spans: show them with --spans",
            ),
        ];
        match useless.into_iter().find(|(_, is_given, _)| *is_given) {
            Some((flag, _, why)) => Err(Failure::Usage(format!("{flag} has no use here: {why}"))),
            None => Ok(()),
        }
    }
}
