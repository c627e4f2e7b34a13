//! Where the time of a trace went: spans in groups, with counts, sums and quantiles.

use std::borrow::Cow;

use hashbrown::HashMap;
use kymo_wire::text;
use serde::Serialize;

use crate::attribute::{Key, Reader};
use crate::details::kind_name;
use crate::error::TraceError;
use crate::limits::STATISTICS_MAX_GROUPS;
use crate::tree::TraceTree;
use crate::value::text_of;

/// What spans are grouped by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GroupBy {
    /// Service and name.
    Operation,
    /// Service.
    Service,
    /// Name.
    Name,
    /// Kind.
    Kind,
    /// An attribute.
    Attribute(Key),
}

impl GroupBy {
    /// `operation`, `service`, `name`, `kind`, or the key of an attribute.
    pub fn parse(text: &str) -> Self {
        match text {
            "" | "operation" => Self::Operation,
            "service" => Self::Service,
            "name" => Self::Name,
            "kind" => Self::Kind,
            key => Self::Attribute(Key::parse(key)),
        }
    }
}

/// Statistics of a trace.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Statistics {
    /// See [`TraceTree::revision`].
    pub revision: String,
    /// Groups, those that took longest by themselves first.
    pub groups: Vec<Group>,
    /// How many there are.
    pub total: usize,
    /// Whether some are not in `groups`.
    pub truncated: bool,
}

/// Spans that have something in common.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Group {
    /// The service, where it is part of what they have in common.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service: Option<String>,
    /// Name, kind or value; `null` for spans without the attribute.
    pub name: Option<String>,
    /// How many.
    pub count: usize,
    /// How many have the status error.
    pub errors: usize,
    /// What they took, all together.
    pub total_nanos: i64,
    /// The same without their children.
    pub self_nanos: i64,
    /// What of the critical path is theirs.
    pub critical_nanos: i64,
    /// The shortest.
    pub min_nanos: i64,
    /// The longest.
    pub max_nanos: i64,
    /// What one took.
    pub mean_nanos: f64,
    /// Half took no longer.
    pub p50_nanos: i64,
    /// 95 % took no longer.
    pub p95_nanos: i64,
    /// 99 % took no longer.
    pub p99_nanos: i64,
    /// The row of the longest.
    pub longest_row: usize,
}

/// What spans have in common: their service, and a name or value.
type Common<'t> = (&'t [u8], Option<Cow<'t, str>>);

impl Statistics {
    /// Statistics of all spans.
    pub fn of(tree: &TraceTree, by: &GroupBy) -> Result<Self, TraceError> {
        let mut groups: HashMap<Common<'_>, Vec<usize>> = HashMap::new();
        let reader = match by {
            GroupBy::Attribute(key) => Some(Reader::new(tree, key.clone())?),
            _ => None,
        };
        for row in 0..tree.len() {
            let name = || Some(text(tree.name(row)));
            let key = match by {
                GroupBy::Operation => (tree.service(row), name()),
                GroupBy::Service => (tree.service(row), None),
                GroupBy::Name => (&[][..], name()),
                GroupBy::Kind => (&[][..], Some(kind_name(tree.spans[row].kind).into())),
                GroupBy::Attribute(_) => {
                    let value = reader.as_ref().map(|reader| reader.at(row)).transpose()?.flatten();
                    (&[][..], value.map(|value| text_of(&value)))
                }
            };
            groups.entry(key).or_default().push(row);
        }
        let has_service = matches!(by, GroupBy::Operation | GroupBy::Service);
        let mut groups: Vec<Group> = groups
            .into_iter()
            .map(|((service, name), rows)| Group {
                service: has_service.then(|| text(service).into_owned()),
                name: name.map(Cow::into_owned),
                ..Group::of(tree, &rows)
            })
            .collect();
        groups.sort_unstable_by(|a, b| {
            let order = b.self_nanos.cmp(&a.self_nanos).then(b.count.cmp(&a.count));
            order.then_with(|| (&a.service, &a.name).cmp(&(&b.service, &b.name)))
        });
        let total = groups.len();
        groups.truncate(STATISTICS_MAX_GROUPS);
        let truncated = groups.len() < total;
        Ok(Self { revision: tree.revision(), groups, total, truncated })
    }
}

impl Group {
    /// Numbers of some rows, at least one.
    fn of(tree: &TraceTree, rows: &[usize]) -> Self {
        let mut durations: Vec<i64> = rows.iter().map(|row| tree.nanos(*row)).collect();
        durations.sort_unstable();
        let sum = |nanos: &dyn Fn(usize) -> i64| {
            rows.iter().fold(0i64, |sum, row| sum.saturating_add(nanos(*row)))
        };
        let total_nanos = sum(&|row| tree.nanos(row));
        Self {
            service: None,
            name: None,
            count: rows.len(),
            errors: rows.iter().filter(|row| tree.is_error(**row)).count(),
            total_nanos,
            self_nanos: sum(&|row| tree.laid[row].self_nanos),
            critical_nanos: sum(&|row| tree.laid[row].critical_nanos),
            min_nanos: durations.first().copied().unwrap_or(0),
            max_nanos: durations.last().copied().unwrap_or(0),
            mean_nanos: total_nanos as f64 / rows.len().max(1) as f64,
            p50_nanos: quantile(&durations, 50),
            p95_nanos: quantile(&durations, 95),
            p99_nanos: quantile(&durations, 99),
            longest_row: rows.iter().copied().max_by_key(|row| tree.nanos(*row)).unwrap_or(0),
        }
    }
}

/// The least of the sorted that so many in a hundred do not exceed.
fn quantile(sorted: &[i64], percent: usize) -> i64 {
    let rank = (sorted.len() * percent).div_ceil(100).max(1);
    sorted.get(rank - 1).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{sent, tree};
    use kymo_wire::AnyValueView;

    #[test]
    fn groups_have_counts_sums_and_quantiles() {
        let mut spans = vec![sent(1, 0, "shop", "root", 1_000, 2_000)];
        for nth in 0..100u64 {
            let mut span = sent(nth + 2, 1, "db", "q", 1_000 + nth, 1_001 + nth * 2);
            span.is_error = nth < 3;
            span.attributes = vec![("even", AnyValueView::Bool(nth % 2 == 0))];
            spans.push(span);
        }
        let tree = tree(&spans);
        let found = Statistics::of(&tree, &GroupBy::Operation).unwrap();
        assert_eq!(found.total, 2);
        let queries = &found.groups[0];
        assert_eq!((queries.service.as_deref(), queries.name.as_deref()), (Some("db"), Some("q")));
        assert_eq!((queries.count, queries.errors, queries.total_nanos), (100, 3, 5_050));
        assert_eq!((queries.p50_nanos, queries.p95_nanos, queries.p99_nanos), (50, 95, 99));
        assert_eq!((queries.min_nanos, queries.max_nanos, queries.longest_row), (1, 100, 100));
        let by = GroupBy::parse("span.even");
        let found = Statistics::of(&tree, &by).unwrap();
        let shown: Vec<_> = found.groups.iter().map(|g| (g.name.as_deref(), g.count)).collect();
        assert_eq!(shown, [(Some("false"), 50), (Some("true"), 50), (None, 1)]);
    }

    #[test]
    fn a_trace_without_spans_has_no_groups() {
        assert!(Statistics::of(&tree(&[]), &GroupBy::Service).unwrap().groups.is_empty());
    }
}
