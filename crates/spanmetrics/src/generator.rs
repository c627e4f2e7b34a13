//! Requests with spans in, requests with metrics out: one for each tenant.

use std::borrow::Cow;

use kymo_wire::{SpanView, TracesView, View, WireError};

use crate::dimensions::{Values, Wanted};
use crate::distribution::Source;
use crate::graph::{Graph, Seen, side_of};
use crate::limits::MIN_STEP_NANOS;
use crate::origin::Origin;
use crate::output::{self, Output, WriteTime};
use crate::pairs::Side;
use crate::peer::Peer;
use crate::settings::{Naming, Settings};
use crate::spans::SpanMetrics;
use crate::table::Moment;

const NANOS_PER_MILLI: u64 = 1_000_000;

/// What was counted, since it began.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Spans.
    pub spans: u64,
    /// Spans, and requests between services, that were counted without labels since there were too
    /// many series.
    pub overflowed: u64,
    /// Spans whose other side did not come, and that named nobody.
    pub unpaired: u64,
    /// Spans that could not wait for their other side since too many did.
    pub dropped: u64,
}

/// Attributes that are looked for at spans, by what the span is of a request.
#[derive(Debug)]
struct WantedOf {
    client: Wanted,
    server: Wanted,
    other: Wanted,
}

impl WantedOf {
    fn new(spans: &SpanMetrics, graph: &Graph) -> Self {
        let other = spans.dimensions.wanted();
        let server = other.or(graph.dimensions.wanted());
        Self { client: server.or(Peer::wanted(&graph.peer_keys)), server, other }
    }
}

/// What was found at a span and its resource. One is used for all spans of a resource, so that values
/// have their memory already.
#[derive(Debug, Default)]
struct Found<'a> {
    of_spans: Values<'a>,
    of_graph: Values<'a>,
    peer: Peer<'a>,
}

/// Makes metrics of a tenant's spans.
///
/// It has no clock: times are given, in nanoseconds since 1970. What it gives out is cumulative, so
/// what could not be written is in what is written next.
#[derive(Debug)]
pub struct Generator {
    settings: Settings,
    spans: SpanMetrics,
    graph: Graph,
    wanted: WantedOf,
    counted: u64,
    overflowed: u64,
    /// When metrics were last written, or when it began.
    written_nanos: u64,
    /// The time of those that were asked for and are not known to be written.
    writing_nanos: u64,
}

impl Generator {
    /// One that begins now.
    #[must_use]
    pub fn new(settings: &Settings, now_nanos: u64) -> Self {
        let nanos_per_unit = match settings.naming {
            Naming::Tempo => 1e9,
            Naming::Collector => 1e6,
        };
        let (spans, graph) = (SpanMetrics::new(settings, nanos_per_unit), Graph::new(settings));
        Self {
            settings: settings.clone(),
            wanted: WantedOf::new(&spans, &graph),
            spans,
            graph,
            counted: 0,
            overflowed: 0,
            written_nanos: now_nanos,
            writing_nanos: now_nanos,
        }
    }

    /// Counts the spans of a request in protobuf, as it was admitted. After an error, those before
    /// the place of it are counted.
    ///
    /// # Errors
    /// If the request cannot be read.
    pub fn add(&mut self, request: &[u8], now_nanos: u64) -> Result<(), WireError> {
        let moment = self.moment(now_nanos);
        for group in TracesView::parse(request)?.resources {
            let group = group?;
            let origin = self.spans.origin(&self.graph.dimensions, group.resource);
            let has_room = self.has_room();
            self.spans.target(&origin, (moment, has_room));
            let mut found = Found::default();
            for scope in group.scopes {
                for span in scope?.items {
                    self.span(&origin, &span?, &mut found, moment);
                }
            }
        }
        Ok(())
    }

    fn moment(&self, now_nanos: u64) -> Moment {
        Moment { now_nanos, start_nanos: self.written_nanos + NANOS_PER_MILLI }
    }

    /// Combinations of labels that are counted.
    #[must_use]
    pub fn series(&self) -> usize {
        self.spans.table.len() + self.spans.targets.len() + self.graph.series()
    }

    fn has_room(&self) -> bool {
        self.series() < self.settings.max_series
    }

    /// What series of spans and targets leave to the graph.
    fn max_graph_series(&self) -> usize {
        let others = self.spans.table.len() + self.spans.targets.len();
        self.settings.max_series.saturating_sub(others)
    }

    fn span<'a>(
        &mut self,
        origin: &'a Origin,
        span: &SpanView<'a>,
        found: &mut Found<'a>,
        moment: Moment,
    ) {
        self.counted += 1;
        let side = side_of(span.kind).map(|(side, _)| side);
        let side = side.filter(|_| self.graph.is_on && !origin.service.is_empty());
        self.find(origin, span, side, found);
        let nanos = duration_nanos(span);
        let source = source_of(span, moment.now_nanos);
        let exemplar = source.as_ref().filter(|_| self.settings.exemplars);
        let (of_span, room) = ((span, &found.of_spans), (moment, self.has_room()));
        let is_overflow = self.spans.count(origin, of_span, (nanos, exemplar), room);
        self.overflowed += u64::from(is_overflow);
        if let (Some(_), Some(source)) = (side, source) {
            let max_series = self.max_graph_series();
            let Found { peer, of_graph: dimensions, .. } = &*found;
            let seen = Seen { service: &origin.service, span, peer, dimensions, nanos, source };
            self.graph.take(&seen, moment, max_series);
        }
    }

    /// Looks for what is wanted of a span's attributes, beside what its resource gives.
    fn find<'a>(
        &self,
        origin: &'a Origin,
        span: &SpanView<'a>,
        side: Option<Side>,
        found: &mut Found<'a>,
    ) {
        fill(&mut found.of_spans, &origin.of_spans);
        let wanted = match side {
            None => self.wanted.other,
            Some(Side::Server) => self.wanted.server,
            Some(Side::Client) => self.wanted.client,
        };
        if side.is_some() {
            fill(&mut found.of_graph, &origin.of_graph);
        }
        if side == Some(Side::Client) {
            found.peer = Peer::default();
        }
        if wanted.is_empty() {
            return;
        }
        for entry in span.attributes.raws().flatten().filter_map(|raw| wanted.entry(raw)) {
            self.spans.dimensions.take_of_span(&entry, &mut found.of_spans);
            if side.is_some() {
                self.graph.dimensions.take_of_span(&entry, &mut found.of_graph);
            }
            if side == Some(Side::Client) {
                found.peer.take(&entry, &self.graph.peer_keys);
            }
        }
    }

    /// Ends the wait of spans whose other side has not come in time.
    pub fn expire(&mut self, now_nanos: u64) {
        self.expire_until(now_nanos, now_nanos);
    }

    /// Ends the wait of all, since nothing comes any more.
    pub fn expire_all(&mut self, now_nanos: u64) {
        self.expire_until(u64::MAX, now_nanos);
    }

    fn expire_until(&mut self, until_nanos: u64, now_nanos: u64) {
        let (moment, max_series) = (self.moment(now_nanos), self.max_graph_series());
        self.graph.expire(until_nanos, moment, max_series);
    }

    /// All metrics as they are now, as requests of OTLP; none if nothing has come. Their time is
    /// later than that of those before. Nothing is forgotten until [`Generator::written`] is called.
    #[must_use]
    pub fn requests(&mut self, now_nanos: u64) -> Vec<Vec<u8>> {
        // Whole milliseconds, so that no two times are one where they are read.
        let least = self.written_nanos.max(self.writing_nanos) + MIN_STEP_NANOS;
        let time_nanos = now_nanos.max(least) / NANOS_PER_MILLI * NANOS_PER_MILLI;
        self.writing_nanos = time_nanos;
        let idle_since_nanos = self.idle_since(time_nanos);
        let time = WriteTime { nanos: time_nanos, idle_since_nanos };
        let mut output = Output::new(time, &self.settings);
        output::spans(&mut output, &self.spans, self.settings.naming);
        output::graph(&mut output, &self.graph);
        output.finish()
    }

    /// What was given out last is stored.
    pub fn written(&mut self) {
        self.written_nanos = self.writing_nanos;
        let idle_since = self.idle_since(self.written_nanos);
        self.spans.table.written(idle_since, |counts| counts.latency.forget_exemplars());
        self.spans.targets.written(idle_since, |()| ());
        self.graph.lost.written(idle_since, |_| ());
        self.graph.edges.written(idle_since, |counts| {
            counts.client.forget_exemplars();
            counts.server.forget_exemplars();
        });
    }

    fn idle_since(&self, now_nanos: u64) -> u64 {
        let idle_nanos = u64::try_from(self.settings.idle_after.as_nanos()).unwrap_or(u64::MAX);
        now_nanos.saturating_sub(idle_nanos)
    }

    /// What was counted so far.
    #[must_use]
    pub fn counts(&self) -> Counts {
        Counts {
            spans: self.counted,
            overflowed: self.overflowed + self.graph.tally.overflowed,
            unpaired: self.graph.tally.unpaired,
            dropped: self.graph.tally.dropped,
        }
    }

    /// Spans that wait for their other side.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.graph.pairs.len()
    }

    /// Whether there is nothing that a later write would tell.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let tables = [self.spans.table.is_empty(), self.spans.targets.is_empty()];
        let graph = [self.graph.edges.is_empty(), self.graph.lost.is_empty(), self.waiting() == 0];
        tables.into_iter().chain(graph).all(|is_empty| is_empty)
    }
}

fn fill<'a>(values: &mut Values<'a>, given: &'a [Box<[u8]>]) {
    values.clear();
    values.extend(given.iter().map(|value| Cow::Borrowed(&**value)));
}

/// How long a span took: nothing, if it ends before it begins or does not say when it began.
fn duration_nanos(span: &SpanView<'_>) -> u64 {
    match span.start_time_unix_nano {
        0 => 0,
        start_nanos => span.end_time_unix_nano.saturating_sub(start_nanos),
    }
}

fn source_of(span: &SpanView<'_>, now_nanos: u64) -> Option<Source> {
    let trace_id = span.trace_id.try_into().ok()?;
    let span_id = span.span_id.try_into().ok()?;
    Some(Source { trace_id, span_id, seen_nanos: now_nanos })
}
