//! A session as it happens, as server-sent events.
//!
//! First what is known (`snapshot`), then every record of the session as it is stored, until the
//! session ends, the reader goes or the server stops. Who watches is let in before the snapshot is
//! taken: nothing lies between the two, and what came meanwhile may be in both. A reader that is
//! too slow is told what it missed (`lagged`). `Last-Event-ID` is not looked at: who comes again
//! gets another snapshot.

use std::io;
use std::time::Duration;

use axum::response::Response;
use bytes::Bytes;
use http::header::{CACHE_CONTROL, HeaderName, HeaderValue};
use kymo_admit::unpack;
use serde_json::json;
use tokio::sync::mpsc;

use super::asked::{Asked, Failed};
use super::document;
use super::find::{self, One};
use super::heard::{Announced, END, LAGGED, Message, SESSION_STARTED, SNAPSHOT, messages};
use super::summary::State;
use crate::limits::{
    LIVE_COMMENT_EVERY, LIVE_MAX_REQUEST_BYTES, PEER_TIMEOUT, RESPONSE_PIECES, STREAM_PIECE_BYTES,
};
use crate::live::{Heard, Stored, Watching};
use crate::reply::streamed;
use crate::router::Shared;

/// Says nothing, and keeps a connection alive.
const COMMENT: &[u8] = b": still here\n\n";
/// Asks proxies to pass on what comes as it comes.
const BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

type Piece = io::Result<Bytes>;

/// The reader has gone.
struct Gone;

/// Begins to tell of a session.
pub(super) async fn watch(shared: &Shared, asked: &Asked, id: &str) -> Result<Response, Failed> {
    let watching = shared.receiver.live.watch(asked.tenants.clone()).map_err(Failed::Watch)?;
    let One { session, which } = find::one(shared, asked, id).await?;
    let (state, ended) = (session.state, session.ended.clone());
    let announced = session.announced.clone();
    let whole = document::whole(shared, asked, &which, session).await?;
    let (sender, receiver) = mpsc::channel(RESPONSE_PIECES);
    let mut teller = Teller { id: id.to_owned(), announced, sender, text: Vec::new() };
    let telling = async move {
        let snapshot = Message::new(SNAPSHOT, json!({ "session": whole }));
        let told = async {
            teller.tell(&snapshot).await?;
            match state {
                State::Ended => teller.end(ended).await,
                State::Running | State::Lost => teller.follow(watching).await,
            }
        };
        // Who has gone need not be told.
        let _: Result<(), Gone> = told.await;
    };
    shared.engine.spawn(telling)?;
    let pieces = futures::stream::unfold(receiver, |mut receiver| async {
        receiver.recv().await.map(|piece: Piece| (piece, receiver))
    });
    let mut response = streamed("text/event-stream", pieces);
    let headers = response.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert(BUFFERING, HeaderValue::from_static("no"));
    Ok(response)
}

/// Tells one reader of one session.
struct Teller {
    id: String,
    /// What said that the session starts, if anything did.
    announced: Option<Announced>,
    sender: mpsc::Sender<Piece>,
    /// What was written and not sent.
    text: Vec<u8>,
}

impl Teller {
    /// Tells what is stored from now on.
    async fn follow(&mut self, mut watching: Watching) -> Result<(), Gone> {
        let mut comments = tokio::time::interval(LIVE_COMMENT_EVERY);
        comments.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        // The first comes at once, behind the snapshot.
        comments.tick().await;
        loop {
            let heard = tokio::select! {
                heard = watching.next() => heard,
                _ = comments.tick() => {
                    self.text.extend_from_slice(COMMENT);
                    self.send().await?;
                    continue;
                }
                () = self.sender.closed() => return Err(Gone),
            };
            let ended = match heard {
                // The server stops.
                None => return Ok(()),
                Some(Heard::Missed(missed)) => self.lagged(missed).await.map(|()| None)?,
                Some(Heard::Stored(stored)) => self.stored(stored).await?,
            };
            if ended.is_some() {
                return self.end(ended).await;
            }
        }
    }

    /// Tells what a request says; when the session ended, if it has.
    async fn stored(&mut self, stored: Stored) -> Result<Option<String>, Gone> {
        let Stored { signal, compression, body } = stored;
        let Ok(body) = unpack(compression, body, LIVE_MAX_REQUEST_BYTES) else {
            return self.lagged(1).await.map(|()| None);
        };
        let (id, announced) = (self.id.clone(), self.announced.clone());
        // It was admitted, so that it can be read.
        let Ok(messages) = messages(signal, &body, &id, announced.as_ref()) else {
            return Ok(None);
        };
        let mut ended = None;
        for message in messages {
            message.write(&mut self.text);
            if message.event == SESSION_STARTED {
                let span_id = message.data["span_id"].as_str().map(str::to_owned);
                self.announced = Some(Announced { span_id });
            }
            ended = ended.max(message.ends);
            if self.text.len() >= STREAM_PIECE_BYTES {
                self.send().await?;
            }
        }
        self.send().await?;
        Ok(ended)
    }

    async fn lagged(&mut self, missed: u64) -> Result<(), Gone> {
        self.tell(&Message::new(LAGGED, json!({ "missed": missed }))).await
    }

    async fn end(&mut self, ended: Option<String>) -> Result<(), Gone> {
        self.tell(&Message::new(END, json!({ "id": self.id, "ended": ended }))).await
    }

    async fn tell(&mut self, message: &Message) -> Result<(), Gone> {
        message.write(&mut self.text);
        self.send().await
    }

    /// Sends what was written, as soon as the reader has room for it.
    async fn send(&mut self) -> Result<(), Gone> {
        self.send_within(PEER_TIMEOUT).await
    }

    async fn send_within(&mut self, timeout: Duration) -> Result<(), Gone> {
        if self.text.is_empty() {
            return Ok(());
        }
        let piece = Bytes::from(std::mem::take(&mut self.text));
        self.sender.send_timeout(Ok(piece), timeout).await.map_err(|_| Gone)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::sync::Arc;

    use flate2::write::GzEncoder;
    use kymo_admit::{Compression, Signal};
    use kymo_engine::Tenants;

    use super::*;
    use crate::limits::{LIVE_WAITING_BYTES, LIVE_WAITING_REQUESTS};
    use crate::live::Live;

    fn teller() -> (Teller, mpsc::Receiver<Piece>) {
        let (sender, receiver) = mpsc::channel(RESPONSE_PIECES);
        let id = "s1".to_owned();
        (Teller { id, announced: None, sender, text: Vec::new() }, receiver)
    }

    fn event(name: &str) -> Stored {
        event_of_size(name, 0)
    }

    /// An event whose body has so many bytes.
    fn event_of_size(name: &str, size_bytes: usize) -> Stored {
        let body = "x".repeat(size_bytes);
        let json = format!(
            r#"{{"resourceLogs":[{{"resource":{{"attributes":[{{"key":"session_id","value":{{"stringValue":"s1"}}}}]}},"scopeLogs":[{{"logRecords":[{{"eventName":"{name}","body":{{"stringValue":"{body}"}}}}]}}]}}]}}"#
        );
        let body = kymo_wire::json::decode(Signal::Logs, json.as_bytes()).unwrap().into();
        Stored { signal: Signal::Logs, compression: Compression::None, body }
    }

    /// What is told: names of messages, and for `lagged` what it says.
    async fn told(pieces: &mut mpsc::Receiver<Piece>) -> Vec<String> {
        let mut text = String::new();
        while let Some(piece) = pieces.recv().await {
            text += std::str::from_utf8(&piece.unwrap()).unwrap();
        }
        let messages = text.split_terminator("\n\n").map(|message| {
            let (event, data) = message.split_once("\ndata: ").unwrap();
            let name = event.strip_prefix("event: ").unwrap();
            if name == LAGGED { format!("{name} {data}") } else { name.to_owned() }
        });
        messages.collect()
    }

    /// What a reader is told of what was stored before it could be told anything.
    async fn followed(stored: Vec<Stored>) -> Vec<String> {
        let live = Arc::new(Live::default());
        let watching = live.watch(Tenants::from("a")).unwrap();
        for stored in stored {
            live.stored("a", || stored);
        }
        let (mut teller, mut pieces) = teller();
        let following = tokio::spawn(async move { teller.follow(watching).await.is_ok() });
        let told = told(&mut pieces).await;
        assert!(following.await.unwrap());
        told
    }

    #[tokio::test]
    async fn a_session_is_followed_to_its_end_and_no_further() {
        let told = followed(["TaskCreated", "SessionEnded", "TaskCompleted"].map(event).into());
        assert_eq!(told.await, ["TaskCreated", "SessionEnded", "end"]);
    }

    #[tokio::test]
    async fn a_reader_that_is_too_slow_is_told_how_much_it_missed_and_goes_on() {
        let stored = std::iter::once("SessionEnded")
            .chain(std::iter::repeat("TaskCreated"))
            .map(event)
            .take(LIVE_WAITING_REQUESTS + 7);
        // The number comes first: what is told before may have come before or after it.
        let told = followed(stored.collect()).await;
        assert_eq!(told, ["lagged {\"missed\":7}", "SessionEnded", "end"]);

        // Half of what may wait, three times.
        let half = || event_of_size("TaskCreated", LIVE_WAITING_BYTES / 2);
        let told = followed(vec![event("SessionEnded"), half(), half(), half()]).await;
        assert_eq!(told, ["lagged {\"missed\":2}", "SessionEnded", "end"]);
    }

    #[tokio::test]
    async fn a_request_that_is_too_large_to_be_told_counts_as_missed() {
        let mut large = event_of_size("TaskCreated", LIVE_MAX_REQUEST_BYTES);
        let mut packer = GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packer.write_all(&large.body).unwrap();
        large.compression = Compression::Gzip;
        large.body = packer.finish().unwrap().into();
        assert!(large.body.len() < LIVE_WAITING_BYTES / 10, "it waits as it came");
        let told = followed(vec![large, event("SessionEnded")]).await;
        assert_eq!(told, ["lagged {\"missed\":1}", "SessionEnded", "end"]);
    }

    #[tokio::test]
    async fn who_is_told_leaves_when_the_reader_goes_or_the_server_stops() {
        let live = Arc::new(Live::default());
        let (mut gone, pieces) = teller();
        drop(pieces);
        assert!(gone.follow(live.watch(Tenants::from("a")).unwrap()).await.is_err());
        let (mut stopped, _pieces) = teller();
        let watching = live.watch(Tenants::from("a")).unwrap();
        live.close();
        assert!(stopped.follow(watching).await.is_ok());
    }

    #[tokio::test]
    async fn a_reader_that_takes_nothing_is_given_up() {
        let (mut teller, _pieces) = teller();
        for nth in 0..=RESPONSE_PIECES {
            teller.text.push(b'x');
            let sent = teller.send_within(Duration::from_millis(1)).await;
            assert_eq!(sent.is_ok(), nth < RESPONSE_PIECES);
        }
    }
}
