//! The service graph: requests between services, put together from both of their spans.
//!
//! | what is there | edge | `connection_type` |
//! |---|---|---|
//! | a client's span, and a server's below it | from one service to the other | |
//! | a producer's span, and a consumer's below it or linked to it | the same | `messaging_system` |
//! | a client's span with `db.…` | to the database | `database` |
//! | a client's span alone, that names its peer | to that | `virtual_node` |
//! | a server's span without a parent | from `user` | `virtual_node` |
//!
//! What waits in vain and names nobody is counted as unpaired.

use std::sync::Arc;

use kymo_wire::SpanView;

use crate::dimensions::{Dimensions, Values, push_value};
use crate::distribution::{Bounds, Distribution, Source};
use crate::labels::{LabelWriter, cut};
use crate::limits::MAX_LINKS;
use crate::pairs::{Connection, Half, Met, PairKey, Pairs, Side};
use crate::peer::Peer;
use crate::settings::Settings;
use crate::table::{Moment, NewRow, Table};

/// Who calls a server that nobody called.
const USER: &[u8] = b"user";

/// What is counted of requests between two services.
#[derive(Debug, Default)]
pub(crate) struct EdgeCounts {
    pub(crate) requests: u64,
    pub(crate) failed: u64,
    pub(crate) client: Distribution,
    pub(crate) server: Distribution,
}

/// What is counted of spans that gave no edge.
#[derive(Debug, Default)]
pub(crate) struct LostCounts {
    pub(crate) unpaired: u64,
    pub(crate) dropped: u64,
}

/// What became of spans, for who counts it.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) unpaired: u64,
    pub(crate) dropped: u64,
    pub(crate) overflowed: u64,
}

/// Requests between a tenant's services.
#[derive(Debug)]
pub(crate) struct Graph {
    pub(crate) is_on: bool,
    pub(crate) edges: Table<EdgeCounts>,
    pub(crate) lost: Table<LostCounts>,
    pub(crate) pairs: Pairs,
    pub(crate) dimensions: Dimensions,
    pub(crate) peer_keys: Box<[Box<[u8]>]>,
    pub(crate) bounds: Bounds,
    has_exemplars: bool,
    key: Vec<u8>,
    pub(crate) tally: Tally,
}

/// An edge that is complete.
struct Edge<'a> {
    client: &'a [u8],
    server: &'a [u8],
    connection: Connection,
    has_failed: bool,
    /// How long it took, as either side saw it.
    client_nanos: Option<(u64, Source)>,
    server_nanos: (u64, Source),
    client_dimensions: &'a [Box<[u8]>],
    server_dimensions: &'a [Box<[u8]>],
}

/// A span of one side of a request, with what was found out about it.
pub(crate) struct Seen<'a> {
    pub(crate) service: &'a Arc<[u8]>,
    pub(crate) span: &'a SpanView<'a>,
    pub(crate) peer: &'a Peer<'a>,
    pub(crate) dimensions: &'a Values<'a>,
    pub(crate) nanos: u64,
    pub(crate) source: Source,
}

/// Which side of a request spans of a kind are, and how they are connected.
pub(crate) fn side_of(kind: i32) -> Option<(Side, Connection)> {
    match kind {
        2 => Some((Side::Server, Connection::Call)),
        3 => Some((Side::Client, Connection::Call)),
        4 => Some((Side::Client, Connection::Messaging)),
        5 => Some((Side::Server, Connection::Messaging)),
        _ => None,
    }
}

impl Graph {
    pub(crate) fn new(settings: &Settings) -> Self {
        let has_exemplars = settings.exemplars;
        let dimensions = Dimensions::of_graph(settings);
        let settings = &settings.graph;
        let wait_nanos = u64::try_from(settings.wait.as_nanos()).unwrap_or(u64::MAX);
        let keys = settings.peer_attributes.iter().map(|key| key.as_bytes().into());
        Self {
            is_on: settings.enabled,
            edges: Table::new(),
            lost: Table::new(),
            pairs: Pairs::new(wait_nanos, settings.max_edges),
            dimensions,
            peer_keys: keys.collect(),
            bounds: Bounds::new(&settings.buckets, 1e9),
            has_exemplars,
            key: Vec::new(),
            tally: Tally::default(),
        }
    }

    /// Series of it.
    pub(crate) fn series(&self) -> usize {
        self.edges.len() + self.lost.len()
    }

    /// Takes a span that is one side of a request. Beyond `max_series` of the graph, what it gives is
    /// counted without labels.
    pub(crate) fn take(&mut self, seen: &Seen<'_>, moment: Moment, max_series: usize) {
        let Some((side, connection)) = side_of(seen.span.kind) else { return };
        let half = Half {
            side,
            service: Arc::clone(seen.service),
            connection,
            nanos: seen.nanos,
            has_failed: seen.span.status.is_some_and(|status| status.code == 2),
            source: seen.source,
            peer: None,
            dimensions: seen.dimensions.iter().map(|value| cut(value).into()).collect(),
        };
        match side {
            Side::Client => self.client(seen, half, moment, max_series),
            Side::Server => self.server(seen, half, moment, max_series),
        }
    }

    fn client(&mut self, seen: &Seen<'_>, mut half: Half, moment: Moment, max_series: usize) {
        if let Some(database) = seen.peer.database() {
            half.connection = Connection::Database;
            return self.call(&half, &database, moment, max_series);
        }
        half.peer = seen.peer.name().map(|name| cut(name).into());
        let Some(key) = pair_key(seen.span.trace_id, seen.span.span_id) else { return };
        self.meet(key, half, moment, max_series);
    }

    fn server(&mut self, seen: &Seen<'_>, half: Half, moment: Moment, max_series: usize) {
        let span = seen.span;
        if let Some(key) = pair_key(span.trace_id, span.parent_span_id) {
            return self.meet(key, half, moment, max_series);
        }
        if half.connection == Connection::Messaging && !span.links.is_empty() {
            // Whoever takes many messages at once has no parent, but a link to the sender of each.
            for link in span.links.iter().flatten().take(MAX_LINKS) {
                if let Some(key) = pair_key(link.trace_id, link.span_id) {
                    self.meet(key, half.clone(), moment, max_series);
                }
            }
            return;
        }
        self.edge(
            &Edge {
                client: USER,
                server: &half.service,
                connection: Connection::Virtual,
                has_failed: half.has_failed,
                client_nanos: None,
                server_nanos: (half.nanos, half.source),
                client_dimensions: &[],
                server_dimensions: &half.dimensions,
            },
            moment,
            max_series,
        );
    }

    fn meet(&mut self, key: PairKey, half: Half, moment: Moment, max_series: usize) {
        match self.pairs.meet(key, half, moment.now_nanos) {
            Met::Waits => {}
            Met::Pair(client, server) => {
                let is_messaging =
                    [&client, &server].iter().any(|half| half.connection == Connection::Messaging);
                let edge = Edge {
                    client: &client.service,
                    server: &server.service,
                    connection: if is_messaging { Connection::Messaging } else { Connection::Call },
                    has_failed: client.has_failed || server.has_failed,
                    client_nanos: Some((client.nanos, client.source)),
                    server_nanos: (server.nanos, server.source),
                    client_dimensions: &client.dimensions,
                    server_dimensions: &server.dimensions,
                };
                self.edge(&edge, moment, max_series);
            }
            Met::Second(half) => self.unpaired(&half, moment, max_series),
            Met::NoRoom(half) => {
                self.tally.dropped += 1;
                self.lost(&half, moment, max_series).dropped += 1;
            }
        }
    }

    /// Ends the wait of what has waited long enough.
    pub(crate) fn expire(&mut self, until_nanos: u64, moment: Moment, max_series: usize) {
        while let Some((_, mut half)) = self.pairs.expired(until_nanos) {
            match half.peer.take() {
                Some(peer) => {
                    half.connection = Connection::Virtual;
                    self.call(&half, &peer, moment, max_series);
                }
                None => self.unpaired(&half, moment, max_series),
            }
        }
    }

    /// A request to somebody who sends no spans: what the client saw is all that is known.
    fn call(&mut self, half: &Half, server: &[u8], moment: Moment, max_series: usize) {
        let nanos = (half.nanos, half.source);
        let edge = Edge {
            client: &half.service,
            server: cut(server),
            connection: half.connection,
            has_failed: half.has_failed,
            client_nanos: Some(nanos),
            server_nanos: nanos,
            client_dimensions: &half.dimensions,
            server_dimensions: &[],
        };
        self.edge(&edge, moment, max_series);
    }

    fn edge(&mut self, edge: &Edge<'_>, moment: Moment, max_series: usize) {
        let has_room = self.series() < max_series;
        let key = &mut self.key;
        key.clear();
        push_value(edge.client, key);
        push_value(edge.server, key);
        key.push(edge.connection as u8);
        let sides = [edge.client_dimensions, edge.server_dimensions];
        for values in sides {
            key.push(u8::from(values.is_empty()));
            values.iter().for_each(|value| push_value(value, key));
        }
        let dimensions = &self.dimensions;
        let make = || {
            let mut labels = LabelWriter::default();
            labels.add(b"client", edge.client);
            labels.add(b"server", edge.server);
            labels.add(b"connection_type", edge.connection.word().as_bytes());
            for (values, side) in sides.into_iter().zip(["client", "server"]) {
                for (label, value) in dimensions.labels().zip(values) {
                    labels.add(format!("{side}_{label}").as_bytes(), value);
                }
            }
            NewRow { labels: labels.finish(), service: Arc::default() }
        };
        let (counts, is_overflow) = self.edges.value(key, moment, has_room, make);
        counts.requests += 1;
        counts.failed += u64::from(edge.has_failed);
        let observe = |distribution: &mut Distribution, (nanos, source): &(u64, Source)| {
            distribution.observe(&self.bounds, *nanos, Some(source).filter(|_| self.has_exemplars));
        };
        if let Some(seen) = &edge.client_nanos {
            observe(&mut counts.client, seen);
        }
        observe(&mut counts.server, &edge.server_nanos);
        self.tally.overflowed += u64::from(is_overflow);
    }

    fn unpaired(&mut self, half: &Half, moment: Moment, max_series: usize) {
        self.tally.unpaired += 1;
        self.lost(half, moment, max_series).unpaired += 1;
    }

    fn lost(&mut self, half: &Half, moment: Moment, max_series: usize) -> &mut LostCounts {
        let has_room = self.series() < max_series;
        let key = &mut self.key;
        key.clear();
        key.extend([half.side as u8, half.connection as u8]);
        key.extend_from_slice(&half.service);
        let make = || {
            let mut labels = LabelWriter::default();
            let side: &[u8] = match half.side {
                Side::Client => b"client",
                Side::Server => b"server",
            };
            labels.add(side, &half.service);
            labels.add(b"connection_type", half.connection.word().as_bytes());
            NewRow { labels: labels.finish(), service: Arc::default() }
        };
        let (counts, is_overflow) = self.lost.value(key, moment, has_room, make);
        self.tally.overflowed += u64::from(is_overflow);
        counts
    }
}

fn pair_key(trace_id: &[u8], span_id: &[u8]) -> Option<PairKey> {
    let mut key = [0; 24];
    let (trace, span) = key.split_at_mut(16);
    if trace_id.len() != trace.len() || span_id.len() != span.len() {
        return None;
    }
    trace.copy_from_slice(trace_id);
    span.copy_from_slice(span_id);
    Some(key)
}
