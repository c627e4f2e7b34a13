//! What a command writes, passed on and heard, to its end and a little further.
//!
//! The pipes outlive the command if it left something running that has them. What it wrote itself
//! is passed on whole, however slowly it is read from us; what others write after it is not waited
//! for long.

use std::io::{self, Read, Write};
use std::process::Child;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use super::run::{Listen, Stream};
use crate::limits::{OUTPUT_GRACE, OUTPUT_PAUSES, OUTPUT_REST_BYTES};

/// Threads that pass on what the command writes, and keep it.
pub(super) struct Copying {
    progress: mpsc::Receiver<Progress>,
    streams: Vec<Rest>,
    /// Whether the command has ended, so that each piece is told of.
    is_ending: Arc<AtomicBool>,
}

/// What happened to a stream.
enum Progress {
    /// So many bytes were passed on, after a pause.
    Passed(Stream, Duration, usize),
    End(Stream),
}

impl Copying {
    pub(super) fn start(
        child: &mut Child,
        listener: &Arc<dyn Listen>,
        is_all_wanted: bool,
    ) -> Self {
        let (sender, progress) = mpsc::channel();
        let (mut streams, is_ending) = (Vec::new(), Arc::new(AtomicBool::new(false)));
        let mut copier = |stream| {
            let is_writing = Arc::new(AtomicBool::new(false));
            streams.push(Rest::new(stream, is_writing.clone()));
            let (listener, progress) = (listener.clone(), sender.clone());
            let is_ending = is_ending.clone();
            Copier { stream, listener, is_all_wanted, is_writing, is_ending, progress }
        };
        if let Some(stdout) = child.stdout.take() {
            let copier = copier(Stream::Stdout);
            thread::spawn(move || copier.copy(stdout, io::stdout()));
        }
        if let Some(stderr) = child.stderr.take() {
            let copier = copier(Stream::Stderr);
            thread::spawn(move || copier.copy(stderr, io::stderr()));
        }
        Self { progress, streams, is_ending }
    }

    /// Waits for the end of the output. Something that the command left running in the background (a
    /// compiler cache's server) may hold it open forever: silence for a while is an end too, and so
    /// is more than there is time and room for. Whoever reads our output has all the time it wants.
    pub(super) fn finish(self) {
        let ended = Instant::now();
        self.is_ending.store(true, Ordering::SeqCst);
        let mut open = self.streams;
        let mut last = ended;
        while !open.is_empty() {
            let silence = last.elapsed();
            let is_silent = silence >= OUTPUT_GRACE;
            if is_silent && !open.iter().any(Rest::is_held_up) {
                return;
            }
            let wait = if is_silent { OUTPUT_GRACE } else { OUTPUT_GRACE - silence };
            match self.progress.recv_timeout(wait) {
                Ok(Progress::Passed(of, pause, bytes)) => {
                    let Some(nth) = open.iter().position(|rest| rest.stream == of) else {
                        continue;
                    };
                    last = Instant::now();
                    // It may have begun long before.
                    if !open[nth].goes_on(pause.min(ended.elapsed()), bytes) {
                        open.remove(nth);
                    }
                }
                Ok(Progress::End(of)) => open.retain(|rest| rest.stream != of),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }
}

/// What comes of a stream after the command has ended.
struct Rest {
    stream: Stream,
    /// Whether there is something that whoever reads our output does not take yet.
    is_writing: Arc<AtomicBool>,
    pauses: Duration,
    bytes: usize,
}

impl Rest {
    fn new(stream: Stream, is_writing: Arc<AtomicBool>) -> Self {
        Self { stream, is_writing, pauses: Duration::ZERO, bytes: 0 }
    }

    fn is_held_up(&self) -> bool {
        self.is_writing.load(Ordering::SeqCst)
    }

    /// Counts a piece; whether more is waited for. What the command wrote itself lay in the pipe
    /// when it ended: there is a bound of it, and nobody had to wait for it.
    fn goes_on(&mut self, pause: Duration, bytes: usize) -> bool {
        self.pauses += pause;
        self.bytes += bytes;
        self.pauses < OUTPUT_PAUSES && self.bytes <= OUTPUT_REST_BYTES
    }
}

/// Passes a stream on.
struct Copier {
    stream: Stream,
    listener: Arc<dyn Listen>,
    is_all_wanted: bool,
    is_writing: Arc<AtomicBool>,
    is_ending: Arc<AtomicBool>,
    progress: mpsc::Sender<Progress>,
}

impl Copier {
    fn copy(self, mut from: impl Read, mut to: impl Write) {
        let mut piece = [0; 16 << 10];
        loop {
            let began = Instant::now();
            let count = match from.read(&mut piece) {
                Ok(0) => break,
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(_) => break,
            };
            let pause = began.elapsed();
            self.is_writing.store(true, Ordering::SeqCst);
            let written = to.write_all(&piece[..count]).and_then(|()| to.flush());
            self.listener.heard(self.stream, &piece[..count]);
            if self.is_ending.load(Ordering::SeqCst) {
                let _ = self.progress.send(Progress::Passed(self.stream, pause, count));
            }
            self.is_writing.store(false, Ordering::SeqCst);
            // A command that prints without end would do so for nobody.
            let is_gone = written.is_err_and(|error| error.kind() == io::ErrorKind::BrokenPipe);
            if is_gone && !self.is_all_wanted {
                break;
            }
        }
        // First our end of the pipe: who writes to it then is told.
        drop(from);
        let _ = self.progress.send(Progress::End(self.stream));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::*;

    /// Counts what it hears.
    #[derive(Debug, Default)]
    struct Ears(AtomicUsize);

    impl Listen for Ears {
        fn heard(&self, _stream: Stream, piece: &[u8]) {
            self.0.fetch_add(piece.len(), Ordering::SeqCst);
        }
    }

    #[test]
    fn a_reader_that_has_gone_ends_what_is_only_heard_and_not_what_is_kept() {
        struct Gone;
        impl Write for Gone {
            fn write(&mut self, _piece: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::BrokenPipe.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        for (is_all_wanted, expected) in [(false, 16 << 10), (true, 100_000)] {
            let ears = Arc::new(Ears::default());
            let (sender, progress) = mpsc::channel();
            let copier = Copier {
                stream: Stream::Stdout,
                listener: ears.clone(),
                is_all_wanted,
                is_writing: Arc::default(),
                is_ending: Arc::default(),
                progress: sender,
            };
            copier.copy(io::repeat(b'y').take(100_000), Gone);
            assert_eq!(ears.0.load(Ordering::SeqCst), expected);
            let told: Vec<Progress> = progress.iter().collect();
            assert!(matches!(*told, [Progress::End(Stream::Stdout)]), "the command still runs");
        }
    }

    #[test]
    fn what_others_write_after_the_command_is_passed_on_for_some_time_and_some_bytes() {
        let mut rest = Rest::new(Stream::Stdout, Arc::default());
        // What lay in the pipe takes no pause, however slowly it is read from us.
        assert!(rest.goes_on(Duration::ZERO, OUTPUT_REST_BYTES));
        assert!(!rest.goes_on(Duration::ZERO, 1), "a flood");
        let mut rest = Rest::new(Stream::Stdout, Arc::default());
        let pauses = (0..1000).take_while(|_| rest.goes_on(OUTPUT_GRACE / 5, 1)).count();
        assert_eq!(pauses as u32, OUTPUT_PAUSES.div_duration_f64(OUTPUT_GRACE / 5) as u32 - 1);
    }

    #[test]
    fn the_end_of_one_stream_does_not_wait_for_a_flood_in_the_other() {
        let (sender, progress) = mpsc::sync_channel(16);
        // Who reads our output takes nothing now.
        let is_writing = Arc::new(AtomicBool::new(true));
        let streams =
            vec![Rest::new(Stream::Stdout, is_writing), Rest::new(Stream::Stderr, Arc::default())];
        let passed = |bytes| Progress::Passed(Stream::Stdout, Duration::MAX, bytes);
        sender.send(passed(OUTPUT_REST_BYTES)).unwrap();
        let flood = thread::spawn(move || while sender.send(passed(1)).is_ok() {});
        Copying { progress, streams, is_ending: Arc::default() }.finish();
        flood.join().unwrap();
    }

    #[test]
    fn silence_is_no_end_while_whoever_reads_our_output_holds_it_up() {
        let (sender, progress) = mpsc::channel();
        let is_writing = Arc::new(AtomicBool::new(true));
        let streams = vec![Rest::new(Stream::Stdout, is_writing.clone())];
        let copying = Copying { progress, streams, is_ending: Arc::default() };
        let ending = thread::spawn(move || copying.finish());
        // Longer than silence may take.
        thread::sleep(OUTPUT_GRACE * 2);
        assert!(!ending.is_finished());
        sender.send(Progress::End(Stream::Stdout)).unwrap();
        ending.join().unwrap();
    }
}
