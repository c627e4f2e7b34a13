//! Reading a request body, with bounds on its bytes, on those of all bodies together, and on time.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::response::Response;
use bytes::{Bytes, BytesMut};
use http::Request;
use http_body::Body;
use http_body_util::BodyExt;
use tokio::sync::Notify;

use crate::answer::Failure;
use crate::limits::{
    BODY_PAUSE_TIMEOUT, COPIED_BYTES, DRAIN_BYTES, DRAIN_TIMEOUT, SMALL_BODY_TIMEOUT,
};
use crate::reply::json_error;

/// Why a body was not read to its end.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BodyError {
    #[error("request body is larger than {limit_bytes} bytes; send smaller batches")]
    TooLarge { limit_bytes: usize },
    #[error("the request body did not come within {} s; send it again", .0.as_secs())]
    Slow(Duration),
    #[error("the request body ended early: {0}")]
    Broken(String),
    #[error("too many requests are being received at once; try again")]
    Crowded,
}

/// Memory for all bodies that are being received, or sent.
#[derive(Debug)]
pub(crate) struct Budget {
    used_bytes: AtomicUsize,
    max_bytes: usize,
    /// Something was given back.
    freed: Notify,
}

impl Budget {
    pub(crate) fn new(max_bytes: usize) -> Arc<Self> {
        Arc::new(Self { used_bytes: AtomicUsize::new(0), max_bytes, freed: Notify::new() })
    }

    /// What is reserved now.
    pub(crate) fn used_bytes(&self) -> usize {
        self.used_bytes.load(Ordering::Relaxed)
    }

    /// Whether there is room for something whose size is not known yet.
    pub(crate) fn has_room(&self) -> bool {
        self.used_bytes() < self.max_bytes
    }

    /// Waits until there is. Who waits must hold nothing, since all could wait for each other.
    pub(crate) async fn room(&self) {
        loop {
            // From here on nothing is missed that is given back.
            let freed = self.freed.notified();
            if self.has_room() {
                return;
            }
            freed.await;
        }
    }
}

/// A part of the budget, given back when dropped.
#[derive(Debug)]
pub(crate) struct Reservation {
    budget: Arc<Budget>,
    bytes: usize,
}

impl Reservation {
    pub(crate) fn new(budget: &Arc<Budget>) -> Self {
        Self { budget: budget.clone(), bytes: 0 }
    }

    /// Reserves more. Nobody waits here, since all could wait for each other: a sender that finds
    /// no room is asked to try again.
    fn grow(&mut self, bytes: usize) -> Result<(), BodyError> {
        let before = self.budget.used_bytes.fetch_add(bytes, Ordering::Relaxed);
        self.bytes += bytes;
        // One body alone may be larger than the budget: its own limit holds for it.
        if before + bytes > self.budget.max_bytes && before + bytes > self.bytes {
            return Err(BodyError::Crowded);
        }
        Ok(())
    }
}

impl Reservation {
    /// What is there already, whether there is room or not: so that others wait.
    pub(crate) fn of(budget: &Arc<Budget>, bytes: usize) -> Self {
        budget.used_bytes.fetch_add(bytes, Ordering::Relaxed);
        Self { budget: budget.clone(), bytes }
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.budget.used_bytes.fetch_sub(self.bytes, Ordering::Relaxed);
        self.budget.freed.notify_waiters();
    }
}

/// How a body may come.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    pub(crate) max_bytes: usize,
    /// The longest that all of it may take.
    pub(crate) within: Duration,
    /// The longest between two pieces.
    pub(crate) pause: Duration,
}

impl Bounds {
    pub(crate) fn new(max_bytes: usize, within: Duration) -> Self {
        Self { max_bytes, within, pause: BODY_PAUSE_TIMEOUT.min(within) }
    }
}

/// Reads a whole body. One that is refused is read to its end all the same, within reason, so that
/// its sender gets to read the answer.
pub(crate) async fn read<B>(
    mut body: B,
    bounds: Bounds,
    budget: &Arc<Budget>,
) -> Result<(Bytes, Reservation), BodyError>
where
    B: Body<Data = Bytes> + Unpin,
    B::Error: std::fmt::Display,
{
    let read = tokio::time::timeout(bounds.within, whole(&mut body, bounds, budget));
    let read = read.await.unwrap_or(Err(BodyError::Slow(bounds.within)));
    if matches!(read, Err(BodyError::TooLarge { .. } | BodyError::Crowded)) {
        drain(body).await;
    }
    read
}

/// Reads the body of a request, and hands the request on with it. What it takes of the budget is given
/// back when nothing of the body is left, whoever holds it until then.
pub(crate) async fn received(
    request: Request<axum::body::Body>,
    bounds: Bounds,
    budget: &Arc<Budget>,
) -> Result<Request<axum::body::Body>, BodyError> {
    let (head, body) = request.into_parts();
    let (bytes, reservation) = read(body, bounds, budget).await?;
    let counted = Bytes::from_owner(Counted { bytes, _reservation: reservation });
    Ok(Request::from_parts(head, counted.into()))
}

/// Bytes, and what counts them.
struct Counted {
    bytes: Bytes,
    _reservation: Reservation,
}

impl AsRef<[u8]> for Counted {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// A small document of our own API, or what is answered instead.
pub(crate) async fn small(body: axum::body::Body, max_bytes: usize) -> Result<Bytes, Response> {
    let budget = Budget::new(max_bytes.saturating_mul(2));
    let bounds = Bounds::new(max_bytes, SMALL_BODY_TIMEOUT);
    match read(body, bounds, &budget).await {
        Ok((bytes, _)) => Ok(bytes),
        Err(error) => {
            let failure = Failure::from(error);
            Err(json_error(failure.status, &failure.message))
        }
    }
}

/// Throws away what is still coming of a request that is refused. Without that, senders that write
/// all before they read see a broken connection instead of the reason.
pub(crate) async fn drain<B>(mut body: B)
where
    B: Body<Data = Bytes> + Unpin,
    B::Error: std::fmt::Display,
{
    let mut read_bytes = 0;
    let reading = async {
        while read_bytes < DRAIN_BYTES {
            match next(&mut body, DRAIN_TIMEOUT).await {
                Ok(Some(piece)) => read_bytes += piece.len() as u64,
                _ => return,
            }
        }
    };
    // Whether it ended or not, the answer follows.
    let _ = tokio::time::timeout(DRAIN_TIMEOUT, reading).await;
}

async fn whole<B>(
    body: &mut B,
    Bounds { max_bytes, pause, .. }: Bounds,
    budget: &Arc<Budget>,
) -> Result<(Bytes, Reservation), BodyError>
where
    B: Body<Data = Bytes> + Unpin,
    B::Error: std::fmt::Display,
{
    let too_large = BodyError::TooLarge { limit_bytes: max_bytes };
    let announced_bytes = body.size_hint().lower();
    if announced_bytes > max_bytes as u64 {
        return Err(too_large);
    }
    let mut reservation = Reservation::new(budget);
    let Some(first) = next(body, pause).await? else { return Ok((Bytes::new(), reservation)) };
    reservation.grow(first.len())?;
    let mut following = next(body, pause).await?;
    if following.is_none() && first.len() <= max_bytes {
        // A piece may be a small part of a large buffer, which would live as long.
        let is_small = first.len() <= COPIED_BYTES;
        let body = if is_small { Bytes::copy_from_slice(&first) } else { first };
        return Ok((body, reservation));
    }
    // A length that is only announced reserves little.
    let announced_bytes = usize::try_from(announced_bytes).unwrap_or(0).min(1 << 20);
    let mut whole = BytesMut::with_capacity(announced_bytes.max(first.len()));
    whole.extend_from_slice(&first);
    drop(first);
    while let Some(piece) = following {
        if whole.len() + piece.len() > max_bytes {
            return Err(too_large);
        }
        reservation.grow(piece.len())?;
        whole.extend_from_slice(&piece);
        following = next(body, pause).await?;
    }
    if whole.len() > max_bytes {
        return Err(too_large);
    }
    Ok((whole.freeze(), reservation))
}

/// The next piece that is not empty.
async fn next<B>(body: &mut B, pause: Duration) -> Result<Option<Bytes>, BodyError>
where
    B: Body<Data = Bytes> + Unpin,
    B::Error: std::fmt::Display,
{
    loop {
        let frame =
            tokio::time::timeout(pause, body.frame()).await.map_err(|_| BodyError::Slow(pause))?;
        match frame {
            None => return Ok(None),
            Some(Err(error)) => return Err(BodyError::Broken(error.to_string())),
            Some(Ok(frame)) => match frame.into_data() {
                Ok(data) if data.is_empty() => {}
                Ok(data) => return Ok(Some(data)),
                // Trailers say nothing to us.
                Err(_) => {}
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::extract::FromRequest;
    use futures::stream;
    use http_body::Frame;
    use http_body_util::{Full, StreamBody};

    fn pieces(pieces: &[&'static [u8]]) -> impl Body<Data = Bytes, Error = std::io::Error> + Unpin {
        let frames: Vec<_> =
            pieces.iter().map(|p| Ok(Frame::data(Bytes::from_static(p)))).collect();
        StreamBody::new(stream::iter(frames))
    }

    const WITHIN: Duration = Duration::from_secs(60);

    async fn whole(
        body: impl Body<Data = Bytes, Error: std::fmt::Display> + Unpin,
        max_bytes: usize,
    ) -> Result<Bytes, BodyError> {
        let read = read(body, Bounds::new(max_bytes, WITHIN), &Budget::new(1 << 20)).await;
        read.map(|(body, _)| body)
    }

    #[tokio::test]
    async fn pieces_are_put_together() {
        assert_eq!(whole(pieces(&[]), 10).await, Ok(Bytes::new()));
        assert_eq!(whole(pieces(&[b"ab"]), 2).await, Ok(Bytes::from("ab")));
        assert_eq!(whole(pieces(&[b"ab", b"", b"cd", b"e"]), 5).await, Ok(Bytes::from("abcde")));
    }

    #[tokio::test]
    async fn a_body_beyond_the_limit_is_refused() {
        let too_large = Err(BodyError::TooLarge { limit_bytes: 4 });
        assert_eq!(whole(pieces(&[b"abcde"]), 4).await, too_large);
        assert_eq!(whole(pieces(&[b"ab", b"cd", b"e"]), 4).await, too_large);
        assert_eq!(whole(Full::new(Bytes::from("abcde")), 4).await, too_large);
    }

    #[tokio::test]
    async fn all_bodies_together_stay_within_the_budget() {
        let (budget, bounds) = (Budget::new(6), Bounds::new(10, WITHIN));
        let (first, held) = read(pieces(&[b"abcd"]), bounds, &budget).await.unwrap();
        assert_eq!(first, "abcd");
        let second = read(pieces(&[b"efg"]), bounds, &budget).await;
        assert_eq!(second.unwrap_err(), BodyError::Crowded);
        assert_eq!(budget.used_bytes(), 4);
        drop(held);
        assert_eq!(budget.used_bytes(), 0);
        let (alone, _held) = read(pieces(&[b"abcdefgh"]), bounds, &budget).await.unwrap();
        assert_eq!(alone, "abcdefgh");
    }

    #[tokio::test]
    async fn who_waits_for_room_gets_it_when_something_is_given_back() {
        let budget = Budget::new(6);
        budget.room().await;
        let (some, more) = (Reservation::of(&budget, 4), Reservation::of(&budget, 4));
        let waiting = tokio::spawn({
            let budget = budget.clone();
            async move { budget.room().await }
        });
        tokio::task::yield_now().await;
        assert!(!budget.has_room() && !waiting.is_finished());
        drop(more);
        waiting.await.unwrap();
        assert_eq!(budget.used_bytes(), 4);
        drop(some);
    }

    #[tokio::test]
    async fn a_body_that_stops_coming_is_given_up() {
        let pause = Duration::from_millis(1);
        let bounds = Bounds { max_bytes: 4, within: WITHIN, pause };
        let frames = stream::pending::<Result<Frame<Bytes>, std::io::Error>>();
        let given_up = read(StreamBody::new(frames), bounds, &Budget::new(1 << 20)).await;
        assert_eq!(given_up.unwrap_err(), BodyError::Slow(pause));
    }

    #[tokio::test]
    async fn a_body_that_trickles_is_given_up_too() {
        let within = Duration::from_millis(50);
        let bounds = Bounds { max_bytes: 1 << 20, within, pause: WITHIN };
        let frames = stream::unfold((), |()| async {
            tokio::time::sleep(Duration::from_millis(1)).await;
            Some((Ok::<_, std::io::Error>(Frame::data(Bytes::from_static(b"x"))), ()))
        });
        let body = StreamBody::new(Box::pin(frames));
        let given_up = read(body, bounds, &Budget::new(1 << 20)).await;
        assert_eq!(given_up.unwrap_err(), BodyError::Slow(within));
    }

    #[tokio::test]
    async fn a_body_that_is_handed_on_counts_until_nothing_of_it_is_left() {
        let (budget, bounds) = (Budget::new(1 << 20), Bounds::new(1 << 20, WITHIN));
        let sent = vec![7; 1 << 18];
        let request = Request::new(axum::body::Body::from(sent.clone()));
        let request = received(request, bounds, &budget).await.unwrap();
        // As a handler takes it.
        let bytes = Bytes::from_request(request, &()).await.unwrap();
        assert_eq!((&bytes[..], budget.used_bytes()), (&sent[..], 1 << 18));
        let part = bytes.slice(..10);
        drop(bytes);
        assert_eq!(budget.used_bytes(), 1 << 18);
        drop(part);
        assert_eq!(budget.used_bytes(), 0);
    }

    #[tokio::test]
    async fn a_body_that_stops_coming_is_not_handed_on() {
        let pause = Duration::from_millis(1);
        let bounds = Bounds { max_bytes: 4, within: WITHIN, pause };
        let frames = stream::pending::<Result<Bytes, std::io::Error>>();
        let request = Request::new(axum::body::Body::from_stream(frames));
        let given_up = received(request, bounds, &Budget::new(1 << 20)).await;
        assert_eq!(given_up.unwrap_err(), BodyError::Slow(pause));
    }

    #[tokio::test]
    async fn a_small_body_does_not_hold_a_large_buffer() {
        let buffer = Bytes::from(vec![7; 1 << 16]);
        let body = whole(Full::new(buffer.slice(..100)), 1000).await.unwrap();
        assert_eq!(body, buffer.slice(..100));
        assert!(body.is_unique());
    }
}
