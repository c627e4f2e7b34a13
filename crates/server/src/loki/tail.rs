//! Lines as they come, over a WebSocket: `/tail`.
//!
//! First the newest lines since `start`, the oldest of them first, then every line that is stored and
//! that the query selects. Who tails is let in before the look back: nothing lies between the two,
//! and what came meanwhile is told once. Lines wait for a reader that is slow, but not many: those
//! beyond are left out and told as dropped.
//!
//! A ping goes out every second. What ends it otherwise than by the reader is said in a close frame.

use std::collections::{HashSet, VecDeque};
use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use axum::body::Body;
use axum::extract::State;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade};
use axum::response::Response;
use futures::stream::SplitStream;
use futures::{SinkExt, StreamExt};
use http::Request;
use kymo_admit::{Signal, unpack};
use kymo_engine::Tenants;
use kymo_engine::logql::LogqlValue;
use kymo_logql::ast::{Expr, LogExpr};
use kymo_logql::labels::Labels;
use kymo_logql::plan::{Found, LogWorker, Plan, plan};
use kymo_logql::request;
use kymo_logql::selection::Tested;
use tokio::sync::mpsc;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval};

use super::asked::{Asked, Unanswered};
use super::json::{Categories, write_flags, write_labels, write_streams};
use crate::limits::{
    LIVE_MAX_REQUEST_BYTES, LOKI_TAIL_DROPPED, LOKI_TAIL_FRAME_LINES, LOKI_TAIL_MAX_DELAY,
    LOKI_TAIL_MESSAGE_BYTES, LOKI_TAIL_PING_EVERY, LOKI_TAIL_WAITING_BYTES, PEER_TIMEOUT,
};
use crate::live::{Heard, Stored, Watching};
use crate::prometheus::write_list;
use crate::question;
use crate::router::Shared;

/// The code of a close frame: something went wrong here.
const INTERNAL: u16 = 1011;
/// The server stops.
const GOING_AWAY: u16 = 1001;
/// The longest reason that a close frame can carry.
const REASON_BYTES: usize = 123;

/// What is tailed.
struct Tail {
    tenants: Tenants,
    expr: Expr,
    start_nanos: i64,
    limit: usize,
    delay: Duration,
    categories: Categories,
}

/// `/api/v1/tail`
pub(super) async fn answer(
    State(shared): State<Shared>,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
    request: Request<Body>,
) -> Response {
    let answering = async {
        let tail = Tail::of(&shared, &Asked::read(&shared, request).await?)?;
        let upgrade = upgrade.map_err(|rejection| {
            Unanswered::Wrong(format!("expected a WebSocket: {}", rejection.body_text()))
        })?;
        let upgrade = upgrade.max_message_size(LOKI_TAIL_MESSAGE_BYTES);
        let shared = shared.clone();
        Ok::<_, Unanswered>(upgrade.on_upgrade(move |socket| async move {
            let telling = tell(shared.clone(), tail, socket);
            // On the threads of queries, where it delays no acknowledgement. If they are gone the
            // connection ends.
            let _ = shared.engine.spawn(telling);
        }))
    };
    question::counted(&shared, "loki_tail", answering).await
}

impl Tail {
    fn of(shared: &Shared, asked: &Asked) -> Result<Self, Unanswered> {
        let max_delay = LOKI_TAIL_MAX_DELAY.as_secs();
        let delay = asked.parameters.number::<u64>("delay_for")?.unwrap_or(0);
        if delay > max_delay {
            return Err(format!("delay_for can't be greater than {max_delay}").into());
        }
        Ok(Self {
            tenants: asked.tenants.clone(),
            expr: asked.expression()?,
            start_nanos: asked.range()?.start,
            limit: asked.limit(shared.engine.logql_options().max_lines)?,
            delay: Duration::from_secs(delay),
            categories: Categories::of(&asked.headers),
        })
    }
}

/// Why a tail ends.
enum End {
    /// The reader has gone.
    Gone,
    /// Something else, with what is said of it.
    Closed(u16, String),
}

impl End {
    fn failed(why: impl std::fmt::Display) -> Self {
        Self::Closed(INTERNAL, why.to_string())
    }
}

/// Tells one reader, until the end.
async fn tell(shared: Shared, tail: Tail, socket: WebSocket) {
    let (mut sink, stream) = socket.split();
    let (messages, mut outgoing) = mpsc::channel::<Message>(1);
    let sending = async move {
        while let Some(message) = outgoing.recv().await {
            let sent = tokio::time::timeout(PEER_TIMEOUT, sink.send(message)).await;
            if !matches!(sent, Ok(Ok(()))) {
                return;
            }
        }
    };
    let following = async move {
        let end = follow(&shared, tail, stream, &messages).await;
        if let End::Closed(code, reason) = end {
            let mut reason = reason;
            reason.truncate(reason.floor_char_boundary(REASON_BYTES));
            let frame = CloseFrame { code, reason: reason.into() };
            // Who has gone need not be told.
            let _ = messages.send(Message::Close(Some(frame))).await;
        }
    };
    // Sending ends when there is nobody left who has something to send.
    tokio::join!(sending, following);
}

async fn follow(
    shared: &Shared,
    tail: Tail,
    mut stream: SplitStream<WebSocket>,
    messages: &mpsc::Sender<Message>,
) -> End {
    let mut follower = match Follower::new(shared, tail) {
        Ok(follower) => follower,
        Err(end) => return end,
    };
    if let Err(end) = follower.look_back(shared).await {
        return end;
    }
    let mut pings: Interval = interval(LOKI_TAIL_PING_EVERY);
    pings.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let due = follower.due();
        tokio::select! {
            heard = follower.watching.next() => match heard {
                None => return End::Closed(GOING_AWAY, "the server stops".to_owned()),
                Some(Heard::Missed(requests)) => follower.missed(requests),
                Some(Heard::Stored(stored)) => follower.stored(shared, stored),
            },
            room = messages.reserve(), if due => match room {
                Ok(room) => room.send(Message::Text(follower.frame().into())),
                Err(_) => return End::Gone,
            },
            // Lines that are held back become due with time; a reader that is slow has its ping
            // already.
            _ = pings.tick() => {
                if let Ok(room) = messages.try_reserve() {
                    room.send(Message::Ping(Default::default()));
                } else if messages.is_closed() {
                    return End::Gone;
                }
            }
            message = stream.next() => match message {
                None | Some(Err(_) | Ok(Message::Close(_))) => return End::Gone,
                // Nothing else is expected of a reader, and nothing is done with it.
                Some(Ok(_)) => {}
            },
        }
    }
}

/// What is selected of what comes.
struct Follower {
    watching: Watching,
    log: LogExpr,
    worker: LogWorker,
    tail: Tail,
    /// Lines that were told by the look back, by a hash: one that is heard of too is not told again.
    told: HashSet<u64>,
    hasher: RandomState,
    waiting: VecDeque<(Instant, Found)>,
    waiting_bytes: usize,
    dropped: Vec<(Labels, i64)>,
}

impl Follower {
    fn new(shared: &Shared, tail: Tail) -> Result<Self, End> {
        let Expr::Log(log) = tail.expr.clone() else {
            return Err(End::failed("only log queries can be tailed: this one gives numbers"));
        };
        let request = request::Request::range(0, i64::MAX, 1);
        let worker = match plan(&tail.expr, &request).map_err(End::failed)? {
            Plan::Log(plan) => plan.worker(Tested::No),
            Plan::Metric(_) => return Err(End::failed("only log queries can be tailed")),
        };
        let watching = shared.receiver.live.watch(tail.tenants.clone()).map_err(End::failed)?;
        Ok(Self {
            watching,
            log,
            worker,
            tail,
            told: HashSet::new(),
            hasher: RandomState::new(),
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            dropped: Vec::new(),
        })
    }

    /// The newest lines since the start, the oldest first.
    async fn look_back(&mut self, shared: &Shared) -> Result<(), End> {
        let mut request = request::Request::range(self.tail.start_nanos, i64::MAX, 1);
        request.limit = self.tail.limit;
        let (tenants, expr) = (self.tail.tenants.clone(), self.tail.expr.clone());
        let answer = shared.engine.logql(tenants, expr, request).await.map_err(End::failed)?;
        let LogqlValue::Lines(streams) = answer.value else { return Ok(()) };
        let now = Instant::now();
        for found in streams.entries.into_iter().rev() {
            self.told.insert(self.hash(&found));
            self.waiting_bytes += size_bytes(&found);
            self.waiting.push_back((now, found));
        }
        Ok(())
    }

    fn hash(&self, found: &Found) -> u64 {
        self.hasher.hash_one((
            found.time_nanos,
            &found.line,
            &found.stream,
            &found.metadata,
            &found.parsed,
        ))
    }

    /// Takes what a request has that is selected.
    fn stored(&mut self, shared: &Shared, stored: Stored) {
        if stored.signal != Signal::Logs {
            return;
        }
        let Ok(body) = unpack(stored.compression, stored.body, LIVE_MAX_REQUEST_BYTES) else {
            return self.missed(1);
        };
        let mut found: Vec<Found> = Vec::new();
        let (log, worker) = (&self.log, &mut self.worker);
        let now_nanos = crate::times::now_nanos();
        let read = shared.engine.each_log_entry(&body, now_nanos, &mut |entry| {
            let is_selected = |matcher: &kymo_logql::matcher::LabelMatcher| {
                matcher.matches(entry.stream.get(&matcher.name).unwrap_or(""))
            };
            if entry.time_nanos >= self.tail.start_nanos && log.matchers.iter().all(is_selected) {
                found.extend(worker.apply(entry));
            }
        });
        // It was admitted, so that it can be read.
        if let Err(error) = read {
            tracing::warn!(%error, "a request that was stored cannot be read");
        }
        let now = Instant::now();
        for found in found {
            if !self.told.is_empty() {
                let hash = self.hash(&found);
                if self.told.remove(&hash) {
                    continue;
                }
            }
            let bytes = size_bytes(&found);
            // One is always taken, however large.
            if self.waiting_bytes > 0 && self.waiting_bytes + bytes > LOKI_TAIL_WAITING_BYTES {
                self.drop_one(found.labels(), found.time_nanos);
                continue;
            }
            self.waiting_bytes += bytes;
            self.waiting.push_back((now, found));
        }
    }

    /// Some requests did not fit: what was in them nobody knows.
    fn missed(&mut self, requests: u64) {
        let now = crate::times::now_nanos();
        for _ in 0..requests.min(LOKI_TAIL_DROPPED as u64) {
            self.drop_one(Labels::default(), now);
        }
    }

    fn drop_one(&mut self, labels: Labels, time_nanos: i64) {
        if self.dropped.len() < LOKI_TAIL_DROPPED {
            self.dropped.push((labels, time_nanos));
        }
    }

    /// Whether there is something to tell now.
    fn due(&self) -> bool {
        let is_old = |(came, _): &(Instant, Found)| came.elapsed() >= self.tail.delay;
        self.waiting.front().is_some_and(is_old) || !self.dropped.is_empty()
    }

    /// What is due, in the order of time, as one frame.
    fn frame(&mut self) -> String {
        let delay = self.tail.delay;
        let is_due = |(came, _): &(Instant, Found)| came.elapsed() >= delay;
        let mut bytes = 0;
        // One is always told, however large.
        let mut fits = |(_, found): &(Instant, Found)| {
            let is_first = bytes == 0;
            bytes += size_bytes(found);
            is_first || bytes <= LOKI_TAIL_WAITING_BYTES
        };
        let waiting = self.waiting.iter().take(LOKI_TAIL_FRAME_LINES);
        let count = waiting
            .take_while(|waiting| is_due(waiting))
            .take_while(|waiting| fits(waiting))
            .count();
        let mut lines: Vec<Found> = self.waiting.drain(..count).map(|(_, found)| found).collect();
        self.waiting_bytes -= lines.iter().map(size_bytes).sum::<usize>();
        // Lines of one time stay in the order in which they came.
        lines.sort_by_key(|found| found.time_nanos);
        frame(&lines, self.tail.categories, &std::mem::take(&mut self.dropped))
    }
}

fn size_bytes(found: &Found) -> usize {
    let labels = [&found.stream, &found.metadata, &found.parsed].map(Labels::size_bytes);
    size_of::<Found>() + found.line.len() + labels.iter().sum::<usize>()
}

fn frame(lines: &[Found], categories: Categories, dropped: &[(Labels, i64)]) -> String {
    let mut streams: Vec<(Labels, Vec<&Found>)> = Vec::new();
    for found in lines {
        let labels = match categories {
            Categories::Merged => found.labels(),
            Categories::Apart => found.stream.clone(),
        };
        match streams.iter_mut().rev().find(|(known, _)| *known == labels) {
            Some((_, lines)) => lines.push(found),
            None => streams.push((labels, vec![found])),
        }
    }
    let mut out = String::from("{");
    write_flags(categories, &mut out);
    out.push_str("\"streams\":");
    write_streams(&streams, categories, &mut out);
    if !dropped.is_empty() {
        out.push_str(",\"dropped_entries\":");
        write_list(dropped, &mut out, |(labels, time_nanos), out| {
            out.push_str("{\"labels\":");
            write_labels(labels, out);
            out.push_str(&format!(",\"timestamp\":\"{time_nanos}\"}}"));
        });
    }
    out.push('}');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_has_lines_by_their_labels_and_what_was_dropped() {
        let found = |time_nanos, line: &str, level: &str| Found {
            time_nanos,
            sequence: 0,
            line: line.to_owned(),
            stream: Labels::of([("app", "x")]),
            metadata: Labels::of([("level", level)]),
            parsed: Labels::default(),
        };
        let lines = [found(1, "a", "info"), found(2, "b", "warn"), found(3, "c", "info")];
        let text = frame(&lines, Categories::Merged, &[(Labels::of([("app", "x")]), 9)]);
        let expected = concat!(
            r#"{"streams":["#,
            r#"{"stream":{"app":"x","level":"info"},"values":[["1","a"],["3","c"]]},"#,
            r#"{"stream":{"app":"x","level":"warn"},"values":[["2","b"]]}],"#,
            r#""dropped_entries":[{"labels":{"app":"x"},"timestamp":"9"}]}"#,
        );
        assert_eq!(text, expected);
        assert_eq!(frame(&[], Categories::Merged, &[]), r#"{"streams":[]}"#);
        let expected = concat!(
            r#"{"encodingFlags":["categorize-labels"],"streams":[{"stream":{"app":"x"},"#,
            r#""values":[["1","a",{"structuredMetadata":{"level":"info"}}]]}]}"#,
        );
        assert_eq!(frame(&lines[..1], Categories::Apart, &[]), expected);
    }
}
