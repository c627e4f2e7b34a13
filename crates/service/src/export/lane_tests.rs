//! Tests of the queue: with an exporter that does as it is told.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::sync_channel;

use kymo_forward::{Partial, Signal};

use super::super::notices::Shared;
use super::super::settings::Destination;
use super::*;

/// Takes batches, or answers so many times what is set.
#[derive(Clone)]
struct Fake {
    taken: Arc<Mutex<Vec<Vec<u32>>>>,
    fail_times: Arc<AtomicUsize>,
    failure: fn() -> Answer,
    tries: Arc<AtomicUsize>,
}

impl Fake {
    fn new(failure: fn() -> Answer) -> Self {
        let (taken, fail_times, tries) = Default::default();
        Self { taken, fail_times, failure, tries }
    }
}

impl Export for Fake {
    type Item = u32;

    async fn export(&self, batch: &[u32]) -> Answer {
        self.tries.fetch_add(1, Ordering::SeqCst);
        let left = self.fail_times.load(Ordering::SeqCst);
        if left > 0 {
            self.fail_times.store(left - 1, Ordering::SeqCst);
            return (self.failure)();
        }
        self.taken.lock().unwrap().push(batch.to_vec());
        Answer::Accepted(None)
    }
}

fn away() -> Answer {
    Answer::Later("network error".to_owned(), None)
}

fn refusal() -> Answer {
    Answer::Refused("no".to_owned())
}

fn notices() -> Notices {
    Notices::new(Shared::new(Some(Arc::new(|_| {}))), Signal::Traces, &Destination::Console)
}

/// Runs a test on a clock that only goes when everybody waits.
fn run(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    runtime.block_on(test);
}

fn start(capacity: usize, batch: usize, fake: &Fake) -> Arc<Lane<u32>> {
    let lane = Lane::new(capacity, batch, WhenFull::DropNew);
    tokio::spawn(Arc::clone(&lane).run(fake.clone(), notices()));
    lane
}

#[test]
fn items_linger_for_others_and_full_batches_go_at_once() {
    run(async {
        let fake = Fake::new(away);
        let lane = start(100, 3, &fake);
        let begun = Instant::now();
        lane.push([1]);
        tokio::time::sleep(LINGER / 2).await;
        lane.push([2]);
        assert!(fake.taken.lock().unwrap().is_empty());
        tokio::time::sleep(LINGER).await;
        assert_eq!(*fake.taken.lock().unwrap(), [vec![1, 2]]);
        lane.push(3..=6);
        tokio::time::sleep(Duration::from_millis(1)).await;
        assert_eq!(fake.taken.lock().unwrap()[1], [3, 4, 5]);
        assert!(begun.elapsed() < LINGER * 2);
        tokio::time::sleep(LINGER).await;
        assert_eq!(fake.taken.lock().unwrap()[2], [6]);
        assert_eq!(lane.counts(), SignalCounts { sent: 6, ..SignalCounts::default() });
    });
}

#[test]
fn what_does_not_fit_is_dropped_and_counted() {
    let lane = Lane::new(4, 2, WhenFull::DropNew);
    lane.push(0..10);
    assert_eq!((lane.counts().waiting, lane.counts().dropped), (4, 6));
    assert_eq!(lane.lock().waiting, [0, 1, 2, 3]);
    let lane = Lane::new(4, 2, WhenFull::DropOld);
    lane.push(0..10);
    assert_eq!((lane.counts().waiting, lane.counts().dropped), (4, 6));
    assert_eq!(lane.lock().waiting, [6, 7, 8, 9]);
}

#[test]
fn a_server_that_is_away_for_a_while_gets_everything() {
    run(async {
        let fake = Fake::new(away);
        fake.fail_times.store(4, Ordering::SeqCst);
        let lane = start(100, 10, &fake);
        lane.push([1, 2]);
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert_eq!(*fake.taken.lock().unwrap(), [vec![1, 2]]);
        assert_eq!(fake.tries.load(Ordering::SeqCst), 5);
        assert_eq!(lane.counts().failed, 0);
    });
}

#[test]
fn a_server_that_stays_away_costs_the_batch_in_the_end() {
    run(async {
        let fake = Fake::new(away);
        fake.fail_times.store(usize::MAX, Ordering::SeqCst);
        let lane = start(2, 2, &fake);
        lane.push([1, 2]);
        tokio::time::sleep(Duration::from_secs(1)).await;
        lane.push([3, 4, 5]);
        tokio::time::sleep(BATCH_AGE + LINGER).await;
        let counts = lane.counts();
        assert_eq!((counts.sent, counts.failed, counts.dropped), (0, 2, 1));
        assert!(fake.tries.load(Ordering::SeqCst) < 25, "pauses grow");
    });
}

#[test]
fn what_is_refused_is_not_sent_again() {
    run(async {
        let fake = Fake::new(refusal);
        fake.fail_times.store(1, Ordering::SeqCst);
        let lane = start(10, 1, &fake);
        lane.push([1, 2]);
        tokio::time::sleep(Duration::from_millis(1)).await;
        assert_eq!(*fake.taken.lock().unwrap(), [vec![2]]);
        assert_eq!((lane.counts().sent, lane.counts().failed), (1, 1));
    });
}

#[test]
fn what_is_refused_of_a_batch_is_counted_and_the_batch_is_not_sent_again() {
    fn partial(rejected: u64) -> Answer {
        let why = "too old".to_owned();
        Answer::Accepted(Some(Partial { signal: Signal::Traces, rejected, why }))
    }
    // Who refuses more than there was refuses all of it; who refuses none only has a word to say.
    for (failure, refused) in [
        ((|| partial(2)) as fn() -> Answer, 2),
        (|| partial(9), 3),
        (|| partial(u64::MAX), 3),
        (|| partial(0), 0),
    ] {
        run(async {
            let fake = Fake::new(failure);
            fake.fail_times.store(1, Ordering::SeqCst);
            let lane = start(10, 3, &fake);
            lane.push([1, 2, 3]);
            let (reply, answers) = sync_channel(1);
            lane.ask(None, reply);
            tokio::time::sleep(Duration::from_millis(1)).await;
            assert_eq!(answers.try_recv(), Ok(refused == 0));
            tokio::time::sleep(BATCH_AGE).await;
            let counts = lane.counts();
            assert_eq!((counts.sent, counts.failed, counts.dropped), (3 - refused, refused, 0));
            assert_eq!(fake.tries.load(Ordering::SeqCst), 1);
        });
    }
}

#[test]
fn a_server_that_asks_for_time_gets_it_within_bounds() {
    run(async {
        for (failure, wait) in [
            (
                (|| Answer::Later(String::new(), Some(Duration::from_secs(7)))) as fn() -> Answer,
                Duration::from_secs(7),
            ),
            (|| Answer::Later(String::new(), Some(Duration::ZERO)), FIRST_PAUSE),
            (|| Answer::Later(String::new(), Some(Duration::MAX)), LONGEST_PAUSE),
        ] {
            let fake = Fake::new(failure);
            fake.fail_times.store(1, Ordering::SeqCst);
            let lane = start(10, 1, &fake);
            lane.push([1]);
            tokio::time::sleep(wait - Duration::from_millis(5)).await;
            assert_eq!(lane.counts().sent, 0);
            tokio::time::sleep(Duration::from_millis(10)).await;
            assert_eq!(lane.counts().sent, 1);
        }
    });
}

#[test]
fn a_flush_goes_at_once_and_tells_of_losses() {
    run(async {
        let fake = Fake::new(refusal);
        let lane = start(10, 10, &fake);
        let flush = async || {
            let (reply, answers) = sync_channel(1);
            lane.ask(None, reply);
            tokio::time::sleep(Duration::from_millis(1)).await;
            answers.try_recv()
        };
        assert_eq!(flush().await, Ok(true), "nothing to do");
        lane.push([1]);
        assert_eq!(flush().await, Ok(true));
        lane.push([2]);
        fake.fail_times.store(1, Ordering::SeqCst);
        assert_eq!(flush().await, Ok(false));
        assert_eq!(flush().await, Ok(true), "what was lost before is no concern of this flush");
    });
}

#[test]
fn a_flush_does_not_wait_for_the_pause_of_an_outage() {
    run(async {
        let fake = Fake::new(away);
        fake.fail_times.store(6, Ordering::SeqCst);
        let lane = start(10, 1, &fake);
        lane.push([1]);
        tokio::time::sleep(Duration::from_secs(16)).await;
        fake.fail_times.store(0, Ordering::SeqCst);
        let (reply, answers) = sync_channel(1);
        lane.ask(None, reply);
        tokio::time::sleep(Duration::from_millis(1)).await;
        assert_eq!(answers.try_recv(), Ok(true));
    });
}

#[test]
fn the_end_sends_what_it_can_and_counts_the_rest() {
    run(async {
        let fake = Fake::new(away);
        fake.fail_times.store(usize::MAX, Ordering::SeqCst);
        let lane = start(10, 1, &fake);
        lane.push([1, 2, 3]);
        lane.stop(Duration::from_secs(3));
        tokio::time::sleep(Duration::from_secs(4)).await;
        lane.push([4]);
        let counts = lane.counts();
        assert_eq!(counts.failed + counts.dropped, 4);
        assert_eq!(counts.waiting, 0);
        assert!(lane.lock().is_stopped);
        let (reply, answers) = sync_channel(1);
        lane.ask(None, reply);
        assert_eq!(answers.try_recv(), Ok(true));
    });
}

#[test]
fn who_tells_the_end_hears_of_what_was_given_up_at_once() {
    run(async {
        let fake = Fake::new(away);
        fake.fail_times.store(usize::MAX, Ordering::SeqCst);
        let lane = start(10, 1, &fake);
        lane.push([1]);
        let (reply, answers) = sync_channel(1);
        // Too soon for a second try.
        lane.ask(Some(FIRST_PAUSE / 2), reply);
        tokio::time::sleep(Duration::from_millis(1)).await;
        assert_eq!((lane.counts().failed, answers.try_recv()), (1, Ok(false)));
    });
}

/// Takes batches and never answers.
struct Hanging;

impl Export for Hanging {
    type Item = u32;

    async fn export(&self, _: &[u32]) -> Answer {
        std::future::pending().await
    }
}

#[test]
fn a_request_that_hangs_ends_with_the_lane_and_is_counted() {
    run(async {
        let lane = Lane::new(10, 2, WhenFull::DropNew);
        tokio::spawn(Arc::clone(&lane).run(Hanging, notices()));
        lane.push([1, 2]);
        tokio::time::sleep(LINGER).await;
        lane.push([3, 4, 5]);
        assert_eq!(lane.counts(), SignalCounts { waiting: 3, ..SignalCounts::default() });
        lane.stop(Duration::from_secs(60));
        tokio::time::sleep(Duration::from_secs(1)).await;
        // Who is in more of a hurry is heard while it waits.
        lane.stop(Duration::from_secs(2));
        let (reply, answers) = sync_channel(1);
        lane.ask(None, reply);
        tokio::time::sleep(Duration::from_millis(1999)).await;
        assert!(!lane.lock().is_stopped);
        tokio::time::sleep(Duration::from_millis(2)).await;
        let counts = lane.counts();
        assert_eq!((counts.failed, counts.dropped, counts.waiting), (2, 3, 0));
        assert_eq!(answers.try_recv(), Ok(false));
    });
}
