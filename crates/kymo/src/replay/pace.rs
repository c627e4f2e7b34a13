//! When a request is due: as far behind the first as it happened, divided by the speed.
//!
//! A request is of the time of its latest record, since whoever recorded it had it no sooner. One
//! that is older than what was sent before it goes at once.

use std::time::{Duration, Instant};

use kymo_wire::places;

use crate::files::Request;

/// A speed, and where it all began.
#[derive(Debug)]
pub(super) struct Pace {
    speed: f64,
    first: Option<(Instant, u64)>,
}

impl Pace {
    pub(super) fn new(speed: f64) -> Self {
        Self { speed, first: None }
    }

    /// When a request is due; none if it has no times.
    pub(super) fn until(&mut self, request: &Request) -> Option<Instant> {
        let time = latest(request)?;
        let (began, first) = *self.first.get_or_insert_with(|| (Instant::now(), time));
        let apart = Duration::from_nanos(time.saturating_sub(first)).as_secs_f64() / self.speed;
        // What is beyond all bounds is waited for until somebody has enough.
        let apart = Duration::try_from_secs_f64(apart).ok()?;
        began.checked_add(apart)
    }
}

/// The latest time in a request, in nanoseconds since 1970.
pub(super) fn latest(request: &Request) -> Option<u64> {
    let mut latest = None;
    // What was found before an error is as good as nothing.
    places::each_time(request.signal, &request.body, |nanos| latest = latest.max(Some(nanos)))
        .ok()?;
    latest
}

#[cfg(test)]
mod tests {
    use kymo_wire::Signal;

    use super::*;
    use crate::files::Place;

    fn request(start: u64, end: u64) -> Request {
        let text = format!(
            r#"{{"resourceSpans":[{{"scopeSpans":[{{"spans":[{{"startTimeUnixNano":"{start}","endTimeUnixNano":"{end}"}}]}}]}}]}}"#
        );
        let body = kymo_wire::json::decode(Signal::Traces, text.as_bytes()).unwrap();
        Request { place: Place::WholeFile, signal: Signal::Traces, body }
    }

    #[test]
    fn requests_are_as_far_apart_as_they_ended_divided_by_the_speed() {
        const SECOND: u64 = 1_000_000_000;
        let mut pace = Pace::new(10.0);
        let first = pace.until(&request(50 * SECOND, 100 * SECOND)).unwrap();
        let later = pace.until(&request(SECOND, 105 * SECOND)).unwrap();
        assert_eq!(later - first, Duration::from_millis(500));
        assert_eq!(
            pace.until(&request(SECOND, 2 * SECOND)),
            Some(first),
            "what is late goes at once"
        );
        assert_eq!(pace.until(&request(0, 0)), None);
    }
}
