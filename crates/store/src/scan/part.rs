//! One source of a scan: where its columns for each test are, and which of its
//! granules can be passed over without reading them.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::cache::ColumnCache;
use super::compile::{Compiled, Node, Target, Test, is_derived};
use super::derive::PartTraces;
use super::int_test::Verdict;
use super::keys::{RestKeys, Types, column_of};
use super::origins::OriginColumn;
use super::value_test::ValueTest;
use crate::block::filter::{Filters, value_hash};
use crate::block::read::Block;
use crate::block::source::Source;
use crate::block::text_filter::TextFilters;
use crate::block::trace_index;
use crate::error::StoreError;
use crate::pages::GRANULE_ROWS;
use crate::schema::{Kind, Signal, Table, ValueType};
use crate::tables::{logs, spans};

/// A column of a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Leaf {
    /// A fixed column.
    Field(usize),
    /// An attribute column, by its place in the source.
    Attribute(usize),
}

/// Which codes pass, and whether any or all do.
#[derive(Debug)]
pub(super) struct Marks {
    pub(super) passing: Vec<bool>,
    pub(super) verdict: Verdict,
}

impl Marks {
    pub(super) fn new(passing: Vec<bool>) -> Self {
        let count = passing.iter().filter(|mark| **mark).count();
        let verdict = match count {
            0 => Verdict::None,
            n if n == passing.len() => Verdict::All,
            _ => Verdict::Some,
        };
        Self { passing, verdict }
    }
}

/// A column that a test reads.
#[derive(Debug)]
pub(super) struct TestedColumn {
    pub(super) leaf: Leaf,
    pub(super) kind: Kind,
    pub(super) form: Form,
    required: bool,
    filtered: bool,
    /// What its texts are made of, if that tells whether they pass.
    text_filters: Option<Arc<TextFilters>>,
    /// Rows outside of these ranges, which ascend, do not pass.
    only: Option<Vec<Range<u32>>>,
}

/// What the bytes of a column are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// Values as they are.
    Plain,
    /// Encoded `AnyValue`s.
    Any,
    /// Encoded `AnyValue`s that are tested as the text they are shown as.
    Shown,
}

/// A test, bound to a source.
#[derive(Debug)]
pub(super) enum Bound {
    /// Decided for each origin.
    Origins(Marks),
    /// Passed by a value in one of the columns, or in `rest`.
    Columns {
        columns: Vec<TestedColumn>,
        /// Types in `rest` that matter.
        rest: Types,
        /// Hashes of which a filter must hold one, for texts.
        hashes: Option<Vec<u64>>,
    },
    /// Reads ids of parents.
    Parents,
    /// Adds starts and durations.
    EndTimes,
}

/// A source of a scan.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) nth: usize,
    pub(super) source: Source,
    pub(super) table: &'static Table,
    /// Empty unless the scan reads attributes of rows by key.
    pub(super) rest_keys: Arc<RestKeys>,
    pub(super) bound: Vec<Bound>,
    filters: Option<Arc<Filters>>,
    /// Values of whole traces, if the scan reads such.
    pub(super) traces: Option<PartTraces>,
    /// Set when reading showed damage: what is left of it is passed over.
    pub(super) damaged: AtomicBool,
}

impl Part {
    /// A source without tests.
    pub(super) fn bare(nth: usize, source: &Source) -> Self {
        Self {
            nth,
            source: source.clone(),
            table: source.table(),
            rest_keys: Arc::default(),
            bound: Vec::new(),
            filters: None,
            traces: None,
            damaged: AtomicBool::new(false),
        }
    }

    /// Binds the tests to a source.
    pub(super) fn new(
        nth: usize,
        source: &Source,
        compiled: &Compiled,
        reads_own: bool,
        traces: Option<PartTraces>,
        cache: &ColumnCache,
    ) -> Result<Self, StoreError> {
        let mut part = Self { traces, ..Self::bare(nth, source) };
        if reads_own {
            part.rest_keys = RestKeys::of(source, cache)?;
        }
        for test in &compiled.tests {
            let mut bound = part.bind(test, cache)?;
            part.add_text_filters(test, &mut bound)?;
            part.bound.push(bound);
        }
        let filtered = |bound: &Bound| matches!(bound, Bound::Columns { hashes: Some(_), .. });
        if let Source::Block(block) = source
            && part.bound.iter().any(filtered)
        {
            part.filters = Some(block.filters()?);
        }
        Ok(part)
    }

    fn add_text_filters(&self, test: &Test, bound: &mut Bound) -> Result<(), StoreError> {
        if let (Source::Block(block), Bound::Columns { columns, .. }) = (&self.source, bound)
            && test.need.tells()
        {
            for column in columns {
                column.text_filters = block.text_filters(leaf_number(block, column.leaf))?;
            }
        }
        Ok(())
    }

    fn bind(&self, test: &Test, cache: &ColumnCache) -> Result<Bound, StoreError> {
        let columns = |columns| Bound::Columns { columns, rest: Types::default(), hashes: None };
        Ok(match &test.target {
            Target::Origin(value) => {
                let column = OriginColumn::of(&self.source, value, cache)?;
                Bound::Origins(column.marks(&test.test))
            }
            Target::Parent => Bound::Parents,
            Target::EndTime => Bound::EndTimes,
            Target::Field(field) => {
                let mut column = self.field_column(*field);
                column.only = self.rows_of_traces(*field, &test.test)?;
                let hashes = self.trace_hashes(*field, &test.test);
                column.filtered = hashes.is_some();
                Bound::Columns { columns: vec![column], rest: Types::default(), hashes }
            }
            Target::Body => {
                let mut other = self.field_column(logs::field::BODY_ANY);
                other.form = Form::Shown;
                columns(vec![self.field_column(logs::field::BODY), other])
            }
            Target::Own { key, value_type } => self.bind_own(key, *value_type, &test.test),
            Target::Status
            | Target::OwnJson
            | Target::Member(_)
            | Target::MemberAttribute { .. }
            | Target::Point(_) => {
                return Err(StoreError::Query("a column that no predicate can test".to_owned()));
            }
        })
    }

    fn field_column(&self, field: usize) -> TestedColumn {
        let described = &self.table.fields[field];
        TestedColumn {
            leaf: Leaf::Field(field),
            kind: described.kind,
            form: Form::Plain,
            required: !described.optional,
            filtered: false,
            text_filters: None,
            only: None,
        }
    }

    /// Rows of the traces that a test of trace ids asks for by name, which the
    /// index of a block knows; `None` where others may pass.
    fn rows_of_traces(
        &self,
        field: usize,
        test: &ValueTest,
    ) -> Result<Option<Vec<Range<u32>>>, StoreError> {
        let is_trace_id = self.table.signal == Signal::Spans && field == spans::field::TRACE_ID;
        match (&self.source, test.equal_ids()) {
            (Source::Block(block), Some(ids))
                if is_trace_id && block.footer().trace_index.is_some() =>
            {
                rows_of_traces(block, &ids).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// Hashes of the traces that a test asks for by name, if the granule filters
    /// know those of log records.
    fn trace_hashes(&self, field: usize, test: &ValueTest) -> Option<Vec<u64>> {
        let Source::Block(block) = &self.source else { return None };
        let is_trace_id = self.table.signal == Signal::Logs && field == logs::field::TRACE_ID;
        if !is_trace_id || !block.footer().trace_ids_filtered {
            return None;
        }
        let ids = test.equal_ids()?;
        Some(ids.iter().map(trace_index::trace_hash).collect())
    }

    fn bind_own(&self, key: &[u8], value_type: Option<ValueType>, test: &ValueTest) -> Bound {
        let mut wanted = Types::default();
        for concerned in ValueType::ALL.into_iter().filter(|t| test.concerns(*t)) {
            wanted.add(concerned);
        }
        let wanted = wanted.only(value_type);
        let mut columns = Vec::new();
        let mut rest = Types::default();
        let in_rest = self.rest_keys.possible(key);
        for value_type in ValueType::ALL.into_iter().filter(|t| wanted.has(*t)) {
            if let Some(nth) = column_of(&self.source, key, value_type) {
                let filtered = match &self.source {
                    Source::Block(block) => block.attributes()[nth].filtered,
                    Source::Chunk(_) => false,
                };
                columns.push(TestedColumn {
                    leaf: Leaf::Attribute(nth),
                    kind: value_type.kind(),
                    form: if value_type == ValueType::Any { Form::Any } else { Form::Plain },
                    required: false,
                    filtered,
                    text_filters: None,
                    only: None,
                });
            }
            if in_rest.has(value_type) {
                rest.add(value_type);
            }
        }
        let uses_filter = columns.iter().any(|c| c.filtered) || rest.has(ValueType::String);
        let hashes = test
            .equal_texts()
            .filter(|_| uses_filter)
            .map(|texts| texts.iter().map(|text| value_hash(key, text)).collect());
        Bound::Columns { columns, rest, hashes }
    }

    /// Granules; those of chunks are cut like those of blocks.
    pub(super) fn granules(&self) -> usize {
        self.source.rows().div_ceil(GRANULE_ROWS)
    }

    /// Rows of a granule.
    pub(super) fn rows(&self, granule: usize) -> Range<usize> {
        let first = granule * GRANULE_ROWS;
        first..(first + GRANULE_ROWS).min(self.source.rows())
    }

    /// What the tree does in a granule, as far as it is known without reading.
    pub(super) fn verdict(&self, compiled: &Compiled, node: &Node, granule: usize) -> Verdict {
        match node {
            Node::And(parts) => parts.iter().fold(Verdict::All, |so_far, part| match so_far {
                Verdict::None => so_far,
                _ => so_far.and(self.verdict(compiled, part, granule)),
            }),
            Node::Or(parts) => parts.iter().fold(Verdict::None, |so_far, part| match so_far {
                Verdict::All => so_far,
                _ => so_far.or(self.verdict(compiled, part, granule)),
            }),
            Node::Not(part) => self.verdict(compiled, part, granule).not(),
            Node::Test(nth) => match &self.bound[*nth] {
                Bound::Origins(marks) => marks.verdict,
                Bound::Parents => Verdict::Some,
                Bound::EndTimes => self.end_verdict(&compiled.tests[*nth], granule),
                Bound::Columns { columns, hashes, .. } => {
                    let test = &compiled.tests[*nth];
                    columns.iter().fold(self.rest_verdict(*nth, granule), |so_far, column| {
                        so_far.or(self.column_verdict(test, column, hashes.as_deref(), granule))
                    })
                }
            },
        }
    }

    /// What `rest` does in a granule for a test of attributes.
    pub(super) fn rest_verdict(&self, test: usize, granule: usize) -> Verdict {
        let Bound::Columns { rest, hashes, .. } = &self.bound[test] else { return Verdict::Some };
        let mut texts = Types::default();
        texts.add(ValueType::String);
        if rest.is_empty() {
            Verdict::None
        } else if *rest == texts {
            self.filter_verdict(hashes.as_deref(), granule)
        } else {
            Verdict::Some
        }
    }

    /// What one column does in a granule.
    pub(super) fn column_verdict(
        &self,
        test: &Test,
        column: &TestedColumn,
        hashes: Option<&[u64]>,
        granule: usize,
    ) -> Verdict {
        let Source::Block(block) = &self.source else { return Verdict::Some };
        if !self.may_hold(column.only.as_deref(), granule) {
            return Verdict::None;
        }
        if let (Leaf::Field(field), Some(traces)) = (column.leaf, &self.traces)
            && is_derived(self.table.signal, field)
            && traces.touches(self.rows(granule))
        {
            return Verdict::Some;
        }
        if let Some(filters) = &column.text_filters
            && !test.need.may_be_in(filters, granule)
        {
            return Verdict::None;
        }
        if column.filtered {
            return self.filter_verdict(hashes, granule);
        }
        let verdict = match column.kind {
            Kind::Int | Kind::Time => {
                match block.int_bounds(leaf_number(block, column.leaf), granule) {
                    Some(Some((low, high))) => test.ints.verdict(low, high),
                    Some(None) => Verdict::None,
                    None => Verdict::Some,
                }
            }
            _ if column.form == Form::Shown => Verdict::Some,
            _ if matches!(test.test, ValueTest::Exists) => Verdict::All,
            _ => Verdict::Some,
        };
        match verdict {
            Verdict::All if !column.required => Verdict::Some,
            verdict => verdict,
        }
    }

    fn may_hold(&self, only: Option<&[Range<u32>]>, granule: usize) -> bool {
        let Some(only) = only else { return true };
        let rows = self.rows(granule);
        let next = only.partition_point(|range| range.end as usize <= rows.start);
        only.get(next).is_some_and(|range| (range.start as usize) < rows.end)
    }

    /// What the ends of a granule do: they lie between the sums of the bounds of
    /// starts and durations, also where a duration is negative.
    fn end_verdict(&self, test: &Test, granule: usize) -> Verdict {
        let Source::Block(block) = &self.source else { return Verdict::Some };
        let bounds = |field| block.int_bounds(field, granule).flatten();
        let starts = bounds(spans::field::START_TIME);
        let sums = starts.zip(bounds(spans::field::DURATION)).and_then(|(starts, durations)| {
            starts.0.checked_add(durations.0).zip(starts.1.checked_add(durations.1))
        });
        sums.map_or(Verdict::Some, |(low, high)| test.ints.verdict(low, high))
    }

    fn filter_verdict(&self, hashes: Option<&[u64]>, granule: usize) -> Verdict {
        match (&self.filters, hashes) {
            (Some(filters), Some(hashes))
                if !hashes.iter().any(|hash| filters.may_hold(granule, *hash)) =>
            {
                Verdict::None
            }
            _ => Verdict::Some,
        }
    }
}

/// The Parquet leaf of a column.
fn leaf_number(block: &Block, leaf: Leaf) -> usize {
    match leaf {
        Leaf::Field(field) => field,
        Leaf::Attribute(nth) => block.attributes()[nth].leaf,
    }
}

fn rows_of_traces(block: &Block, ids: &[[u8; 16]]) -> Result<Vec<Range<u32>>, StoreError> {
    let index = block.trace_index()?;
    let mut firsts: Vec<u32> =
        ids.iter().flat_map(|id| trace_index::find(&index, trace_index::trace_hash(id))).collect();
    if firsts.is_empty() {
        return Ok(Vec::new());
    }
    firsts.sort_unstable();
    firsts.dedup();
    Ok(trace_index::extents(&index, &firsts, block.rows() as u32))
}
