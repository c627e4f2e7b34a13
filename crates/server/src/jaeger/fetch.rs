//! Whole traces for answers, fetched a few at a time.
//!
//! Traces may be large and readers slow. What is fetched is counted until it is sent, over all
//! answers; beyond [`JAEGER_MAX_BYTES`] nothing more is fetched. An answer fetches ahead only while
//! its traces are small, and waits for room only when it holds nothing, so that no two answers wait
//! for each other.

use std::collections::VecDeque;
use std::sync::Arc;

use futures::future::BoxFuture;
use futures::{Stream, stream};
use kymo_engine::EngineError;
use tokio::sync::{Semaphore, oneshot};

use super::reader::TraceId;
use crate::body::{Budget, Reservation};
use crate::limits::{
    JAEGER_FETCHED_AT_ONCE, JAEGER_MAX_BYTES, JAEGER_ROOM_TIMEOUT, JAEGER_SMALL_TRACE_BYTES,
    UNAVAILABLE_RETRY,
};

/// Room for traces of all answers.
#[derive(Debug, Clone)]
pub(crate) struct Room {
    pub(crate) budget: Arc<Budget>,
    /// Turns at fetching: what a trace takes is known only when it is there.
    turns: Arc<Semaphore>,
}

impl Default for Room {
    fn default() -> Self {
        let turns = Arc::new(Semaphore::new(JAEGER_FETCHED_AT_ONCE));
        Self { budget: Budget::new(JAEGER_MAX_BYTES), turns }
    }
}

/// What was made of a trace. Its bytes count until this is dropped.
#[derive(Debug)]
pub(super) struct Kept<T> {
    pub(super) value: T,
    size_bytes: usize,
    _reservation: Option<Reservation>,
}

impl<T> Kept<T> {
    /// So many bytes of some room.
    pub(super) fn new(value: T, size_bytes: usize, room: &Room) -> Self {
        let reservation = Reservation::of(&room.budget, size_bytes);
        Self { value, size_bytes, _reservation: Some(reservation) }
    }

    /// The value, and what counts its bytes.
    pub(super) fn split(self) -> (T, Kept<()>) {
        let Self { value, size_bytes, _reservation } = self;
        (value, Kept { value: (), size_bytes, _reservation })
    }

    /// Of no room that counts.
    #[cfg(test)]
    pub(super) fn free(value: T) -> Self {
        Self { value, size_bytes: 0, _reservation: None }
    }
}

/// A trace as it was fetched; `None` if it is not there.
pub(super) type Fetched<T> = Result<(TraceId, Option<Kept<T>>), EngineError>;

/// Fetches traces in the order of their ids. `fetch` has its turn, and runs by itself: what it
/// found counts before anybody asks for it. `spawn` starts a task.
pub(super) fn in_order<T, F>(
    ids: Vec<TraceId>,
    room: Room,
    spawn: impl Fn(BoxFuture<'static, ()>) -> Result<(), EngineError> + Send + Sync + 'static,
    fetch: impl Fn(TraceId) -> F + Send + Sync + 'static,
) -> impl Stream<Item = Fetched<T>> + Send
where
    T: Send + 'static,
    F: Future<Output = Fetched<T>> + Send + 'static,
{
    let start = move |id, room: &Room, waits: bool| {
        let (mut sender, receiver) = oneshot::channel();
        let (room, fetching) = (room.clone(), fetch(id));
        let task = async move {
            let fetched = async {
                let _turn = room.turns.acquire().await;
                let roomy = async {
                    if waits {
                        room.budget.room().await
                    }
                };
                match tokio::time::timeout(JAEGER_ROOM_TIMEOUT, roomy).await {
                    Ok(()) => fetching.await,
                    Err(_) => Err(EngineError::Busy { retry_after: UNAVAILABLE_RETRY }),
                }
            };
            tokio::select! {
                fetched = fetched => drop(sender.send(fetched)),
                // Nobody wants it any more.
                () = sender.closed() => {}
            }
        };
        spawn(Box::pin(task)).map(|()| receiver)
    };
    let state =
        Fetching { ids: ids.into_iter(), under_way: VecDeque::new(), room, is_small: false };
    stream::unfold((state, start), |(mut state, start)| async move {
        state.next(&start).await.map(|fetched| (fetched, (state, start)))
    })
}

struct Fetching<T> {
    ids: std::vec::IntoIter<TraceId>,
    under_way: VecDeque<oneshot::Receiver<Fetched<T>>>,
    room: Room,
    /// Whether traces so far are small; until one came nobody knows.
    is_small: bool,
}

impl<T> Fetching<T> {
    async fn next(
        &mut self,
        start: &impl Fn(TraceId, &Room, bool) -> Result<oneshot::Receiver<Fetched<T>>, EngineError>,
    ) -> Option<Fetched<T>> {
        loop {
            let is_first = self.under_way.is_empty();
            let goes_ahead = self.is_small
                && self.room.budget.has_room()
                && self.under_way.len() < JAEGER_FETCHED_AT_ONCE;
            if !is_first && !goes_ahead {
                break;
            }
            let Some(id) = self.ids.next() else { break };
            match start(id, &self.room, is_first) {
                Ok(receiver) => self.under_way.push_back(receiver),
                Err(error) => return Some(Err(error)),
            }
        }
        let fetched = self.under_way.pop_front()?.await.unwrap_or(Err(EngineError::Cancelled));
        if let Ok((_, Some(kept))) = &fetched {
            self.is_small = kept.size_bytes <= JAEGER_SMALL_TRACE_BYTES;
        }
        Some(fetched)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::StreamExt;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// Traces of so many bytes, and how many were fetched.
    fn traces(
        count: u8,
        size_bytes: usize,
        room: &Room,
    ) -> (impl Stream<Item = Fetched<u8>> + Send + use<>, Arc<AtomicUsize>) {
        let fetched = Arc::new(AtomicUsize::new(0));
        let (counter, of_trace) = (fetched.clone(), room.clone());
        let fetch = move |id: TraceId| {
            let (counter, room) = (counter.clone(), of_trace.clone());
            async move {
                counter.fetch_add(1, Ordering::Relaxed);
                Ok((id, Some(Kept::new(id[0], size_bytes, &room))))
            }
        };
        let spawn = |task| {
            drop(tokio::spawn(task));
            Ok(())
        };
        let ids = (0..count).map(|nth| [nth; 16]).collect();
        (in_order(ids, room.clone(), spawn, fetch), fetched)
    }

    async fn settle() {
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn all_traces_come_in_their_order_and_count_while_they_are_kept() {
        let room = Room::default();
        let (traces, _) = traces(20, 10, &room);
        let kept: Vec<Fetched<u8>> = traces.collect().await;
        let values: Vec<u8> =
            kept.iter().map(|f| f.as_ref().unwrap().1.as_ref().unwrap().value).collect();
        assert_eq!(values, (0..20).collect::<Vec<u8>>());
        assert_eq!(room.budget.used_bytes(), 200);
        drop(kept);
        assert_eq!(room.budget.used_bytes(), 0);
    }

    #[tokio::test]
    async fn only_small_traces_are_fetched_ahead() {
        let room = Room::default();
        for (size_bytes, ahead) in
            [(10, 2 + JAEGER_FETCHED_AT_ONCE), (JAEGER_SMALL_TRACE_BYTES + 1, 2)]
        {
            let (traces, fetched) = traces(20, size_bytes, &room);
            let mut traces = std::pin::pin!(traces);
            for _ in 0..2 {
                assert!(traces.next().await.unwrap().is_ok());
            }
            settle().await;
            assert!(fetched.load(Ordering::Relaxed) <= ahead, "{size_bytes}");
            assert!(fetched.load(Ordering::Relaxed) >= ahead - 1, "{size_bytes}");
        }
    }

    #[tokio::test]
    async fn answers_wait_while_others_hold_too_much() {
        let room = Room::default();
        let (large, _) = traces(2, JAEGER_MAX_BYTES, &room);
        let mut large = std::pin::pin!(large);
        let held = large.next().await.unwrap().unwrap();
        let (other, fetched) = traces(2, 10, &room);
        let waiting = tokio::spawn(async move { std::pin::pin!(other).next().await });
        settle().await;
        assert_eq!(fetched.load(Ordering::Relaxed), 0);
        drop(held);
        assert!(waiting.await.unwrap().unwrap().is_ok());
        assert!(large.next().await.unwrap().is_ok());
    }
}
