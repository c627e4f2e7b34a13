use super::*;
use crate::destination::testing::{spans, traces};

struct Bench {
    tail: Tail,
    progress: Progress,
    next: u64,
    start: Instant,
}

impl Bench {
    fn new(settings: &TailSettings) -> Self {
        let tail = Tail::new(settings).unwrap();
        Self { tail, progress: Progress::default(), next: 0, start: Instant::now() }
    }

    fn at(&self, seconds: u64) -> Instant {
        self.start + Duration::from_secs(seconds)
    }

    /// Reads a record at a time; the names of spans that go at once.
    fn add(&mut self, seconds: u64, request: &[(u8, &str)]) -> Vec<String> {
        self.next += 10;
        let ticket = self.progress.begin(self.next, 0);
        let now = self.at(seconds);
        let request = traces(request);
        let sent = self.tail.add(&"t".into(), &request, ticket, now, &mut self.progress).unwrap();
        self.progress.release(ticket);
        self.send(sent)
    }

    fn decide(&mut self, seconds: u64) -> Vec<String> {
        let sent = self.tail.decide(self.at(seconds), &mut self.progress);
        self.send(sent)
    }

    fn send(&mut self, outgoing: Vec<Outgoing>) -> Vec<String> {
        let mut names = Vec::new();
        for outgoing in outgoing {
            names.extend(spans(&super::super::pack::joined(&outgoing.chunks())));
            let tickets = outgoing.parts.iter().flat_map(|part| &part.tickets);
            tickets.for_each(|ticket| self.progress.release(*ticket));
        }
        names
    }
}

const NOTHING: [String; 0] = [];

#[test]
fn whole_traces_go_if_a_span_failed_and_the_cursor_waits_for_them() {
    let mut bench = Bench::new(&TailSettings { errors: true, ..TailSettings::default() });
    assert_eq!(bench.add(0, &[(1, "a"), (2, "b"), (1, "c")]), NOTHING);
    assert_eq!(bench.add(3, &[(1, "error"), (3, "d")]), NOTHING);
    assert_eq!(bench.progress.settle(), None);
    assert_eq!(bench.decide(9), NOTHING);
    assert_eq!(bench.decide(10), ["a", "c", "error"]);
    assert_eq!(bench.progress.settle(), Some(10), "the third trace is not decided on");
    assert_eq!(bench.decide(13), NOTHING);
    assert_eq!(bench.progress.settle(), Some(20));
    assert_eq!(bench.tail.held_bytes, 0);
}

#[test]
fn late_spans_follow_the_decision() {
    let mut bench = Bench::new(&TailSettings { errors: true, ..TailSettings::default() });
    bench.add(0, &[(1, "error"), (2, "a")]);
    assert_eq!(bench.decide(10), ["error"]);
    assert_eq!(bench.add(11, &[(1, "late"), (2, "error")]), ["late"]);
    assert_eq!(bench.progress.settle(), Some(20));
    assert_eq!(bench.tail.next_due(), None);
}

#[test]
fn slow_ones_and_those_that_meet_a_condition_go() {
    let mut bench = Bench::new(&TailSettings {
        slower_than: Some(Duration::from_secs(2)),
        condition: Some("name = \"wanted\"".to_owned()),
        ..TailSettings::default()
    });
    bench.add(0, &[(1, "slow2"), (2, "slow3"), (3, "other"), (4, "wanted"), (4, "with it")]);
    assert_eq!(bench.decide(10), ["slow3", "wanted", "with it"]);
}

#[test]
fn a_share_of_the_others_goes_too() {
    let mut bench =
        Bench::new(&TailSettings { errors: true, ratio: Some(0.5), ..TailSettings::default() });
    bench.add(0, &[(0x01, "low"), (0xf0, "high"), (0x02, "error")]);
    assert_eq!(bench.decide(10), ["high", "error"]);
}

#[test]
fn too_many_traces_are_decided_on_early_and_counted() {
    let mut bench =
        Bench::new(&TailSettings { errors: true, max_traces: 2, ..TailSettings::default() });
    assert_eq!(bench.add(0, &[(1, "error"), (2, "b")]), NOTHING);
    assert_eq!(bench.add(1, &[(3, "c"), (4, "error")]), ["error"]);
    assert_eq!(bench.tail.take_early(), 2);
    assert_eq!(bench.progress.settle(), Some(10));
    bench.tail.max_bytes = 0;
    assert_eq!(bench.add(2, &[(5, "e")]), ["error"]);
    assert_eq!((bench.tail.held.len(), bench.tail.held_bytes), (0, 0));
    assert_eq!(bench.progress.settle(), Some(30));
}
