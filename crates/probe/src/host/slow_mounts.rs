//! File systems that may never answer, asked so that a dead server cannot stop the probe.
//!
//! Each is asked in a thread of its own, at most [`MAX_SLOW_MOUNTS`] at once; if there are more,
//! those that waited longest come first. A round waits for [`SLOW_MOUNTS_WAIT`]. An answer that
//! comes later is kept for the next round, and while one has not answered it is not asked again:
//! a dead server holds one thread, not one for each round.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use super::mounts::{Answer, ask};
use crate::limits::{MAX_SLOW_MOUNTS, SLOW_ANSWER_AGE, SLOW_MOUNT_TIMEOUT, SLOW_MOUNTS_WAIT};

/// An answer of a thread.
struct Reply {
    point: PathBuf,
    answer: Answer,
    at: Instant,
}

/// What is known of one file system.
#[derive(Default)]
struct Known {
    /// The round in which it was last asked; 0 if never.
    asked_in: u64,
    /// Since when its answer is awaited.
    waiting_since: Option<Instant>,
    /// What it said last, and when.
    last: Option<(Answer, Instant)>,
}

/// File systems that may never answer.
pub(super) struct SlowMounts {
    asker: fn(&Path) -> Answer,
    /// When one that does not answer counts as failed.
    timeout: Duration,
    sender: Sender<Reply>,
    receiver: Receiver<Reply>,
    known: HashMap<PathBuf, Known>,
    round: u64,
}

impl SlowMounts {
    pub(super) fn new() -> Self {
        Self::asked_by(ask, SLOW_MOUNT_TIMEOUT)
    }

    fn asked_by(asker: fn(&Path) -> Answer, timeout: Duration) -> Self {
        let (sender, receiver) = channel();
        Self { asker, timeout, sender, receiver, known: HashMap::new(), round: 0 }
    }

    /// Asks those whose turn it is, waits a little, and returns what is known: a recent answer, or
    /// an error if one has not answered for long. One of which nothing is known yet is left out.
    pub(super) fn ask(&mut self, points: &[PathBuf]) -> HashMap<PathBuf, Answer> {
        self.round += 1;
        while let Ok(reply) = self.receiver.try_recv() {
            self.take(reply);
        }
        self.forget_unmounted(points);
        self.begin_round(points);
        let until = Instant::now() + SLOW_MOUNTS_WAIT;
        while self.is_any_open() {
            let left = until.saturating_duration_since(Instant::now());
            let Ok(reply) = self.receiver.recv_timeout(left) else { break };
            self.take(reply);
        }
        let known = |point: &PathBuf| Some((point.clone(), self.answer(self.known.get(point)?)?));
        points.iter().filter_map(known).collect()
    }

    fn take(&mut self, reply: Reply) {
        let known = self.known.entry(reply.point).or_default();
        known.waiting_since = None;
        known.last = Some((reply.answer, reply.at));
    }

    /// What no longer is mounted is forgotten, unless a thread still hangs in it.
    fn forget_unmounted(&mut self, points: &[PathBuf]) {
        let mounted: std::collections::HashSet<&PathBuf> = points.iter().collect();
        self.known.retain(|point, known| mounted.contains(point) || known.waiting_since.is_some());
    }

    /// Asks as many as there may be threads, first those that were not asked for longest.
    fn begin_round(&mut self, points: &[PathBuf]) {
        for point in points {
            self.known.entry(point.clone()).or_default();
        }
        let waiting = self.known.values().filter(|known| known.waiting_since.is_some()).count();
        let is_idle = |(_, known): &(&PathBuf, &Known)| known.waiting_since.is_none();
        let mut idle: Vec<(u64, PathBuf)> = self
            .known
            .iter()
            .filter(is_idle)
            .map(|(point, known)| (known.asked_in, point.clone()))
            .collect();
        idle.sort_unstable();
        for (_, point) in idle.into_iter().take(MAX_SLOW_MOUNTS.saturating_sub(waiting)) {
            self.begin(&point);
        }
    }

    /// Asks one in a thread.
    fn begin(&mut self, point: &Path) {
        let (asker, sender, asked) = (self.asker, self.sender.clone(), point.to_owned());
        let run = move || {
            let answer = asker(&asked);
            // Nobody listens if the probe is gone.
            let _ = sender.send(Reply { point: asked, answer, at: Instant::now() });
        };
        let thread = std::thread::Builder::new().name("probe-statfs".into()).spawn(run);
        if let (Ok(_), Some(known)) = (thread, self.known.get_mut(point)) {
            known.asked_in = self.round;
            known.waiting_since = Some(Instant::now());
        }
    }

    /// Whether one that was asked in this round has not answered.
    fn is_any_open(&self) -> bool {
        let is_open = |known: &Known| known.waiting_since.is_some() && known.asked_in == self.round;
        self.known.values().any(is_open)
    }

    fn answer(&self, known: &Known) -> Option<Answer> {
        if known.waiting_since.is_some_and(|since| since.elapsed() >= self.timeout) {
            return Some(Err("mountpoint timeout".to_owned()));
        }
        let (answer, at) = known.last.as_ref()?;
        // However long a round is, what came late in the last one counts.
        let is_of_last_round = known.asked_in + 1 >= self.round;
        (is_of_last_round || at.elapsed() < SLOW_ANSWER_AGE).then(|| answer.clone())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    fn refused() -> Answer {
        Err("refused".to_owned())
    }

    #[test]
    fn a_mount_that_does_not_answer_is_asked_once_and_others_go_on() {
        fn asker(point: &Path) -> Answer {
            if point.ends_with("dead") {
                std::thread::sleep(Duration::from_secs(3600));
            }
            refused()
        }
        let mut mounts = SlowMounts::asked_by(asker, SLOW_MOUNTS_WAIT * 2);
        let points = [PathBuf::from("/dead"), PathBuf::from("/alive")];
        let mut dead = Vec::new();
        for _ in 0..3 {
            let begin = Instant::now();
            let mut answers = mounts.ask(&points);
            assert_eq!(answers.remove(Path::new("/alive")), Some(refused()));
            dead.push(answers.remove(Path::new("/dead")));
            assert!(begin.elapsed() < SLOW_MOUNTS_WAIT * 10);
            std::thread::sleep(SLOW_MOUNTS_WAIT);
        }
        assert_eq!(dead[0], None, "not known yet");
        assert_eq!(dead[2], Some(Err("mountpoint timeout".to_owned())));
        let waiting = mounts.known.values().filter(|known| known.waiting_since.is_some()).count();
        assert_eq!(waiting, 1, "one thread waits, not three");
    }

    #[test]
    fn an_answer_that_comes_after_the_round_is_of_the_next() {
        fn asker(_: &Path) -> Answer {
            std::thread::sleep(SLOW_MOUNTS_WAIT * 2);
            refused()
        }
        let mut mounts = SlowMounts::asked_by(asker, SLOW_MOUNT_TIMEOUT);
        let points = [PathBuf::from("/slow")];
        assert!(mounts.ask(&points).is_empty(), "it is being asked, which is no error");
        std::thread::sleep(SLOW_MOUNTS_WAIT * 3);
        for _ in 0..3 {
            assert_eq!(mounts.ask(&points).remove(Path::new("/slow")), Some(refused()));
        }
        assert!(mounts.ask(&[]).is_empty());
    }

    #[test]
    fn more_mounts_than_threads_take_turns_and_keep_their_answers() {
        static ASKED: AtomicUsize = AtomicUsize::new(0);
        fn asker(_: &Path) -> Answer {
            ASKED.fetch_add(1, Ordering::Relaxed);
            refused()
        }
        let mut mounts = SlowMounts::asked_by(asker, SLOW_MOUNT_TIMEOUT);
        let points: Vec<PathBuf> =
            (0..MAX_SLOW_MOUNTS + 10).map(|n| PathBuf::from(format!("/mount{n}"))).collect();
        let first = mounts.ask(&points);
        assert_eq!(first.len(), MAX_SLOW_MOUNTS, "the others are not asked, which is no error");
        assert_eq!(mounts.ask(&points).len(), points.len());
        assert_eq!(ASKED.load(Ordering::Relaxed), 2 * MAX_SLOW_MOUNTS);
    }
}
