//! Other times, other traces.

use std::str::FromStr;

use kymo_wire::limits::TRACE_ID_BYTES;
use kymo_wire::{WireError, places};

use super::Args;
use crate::failure::Failure;
use crate::files::{self, ReadOptions, Request};
use crate::interrupt::Interrupt;
use crate::times;

/// When the earliest record shall be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ShiftTo {
    Now,
    /// In nanoseconds since 1970.
    Moment(i64),
}

impl FromStr for ShiftTo {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "now" => Ok(Self::Now),
            _ => times::moment(text).map(Self::Moment).map_err(|why| format!("{why}, or now")),
        }
    }
}

/// What is done to every request.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Shift {
    /// Added to every time.
    nanos: Option<i128>,
    /// What trace ids are changed with: each becomes another, always the same, and no two the same.
    mask: Option<[u8; TRACE_ID_BYTES]>,
}

impl Shift {
    /// Finds by how much times are moved, which takes reading every file.
    pub(super) fn find(
        to: Option<ShiftTo>,
        new_ids: bool,
        args: &Args,
        interrupt: &Interrupt,
    ) -> Result<Self, Failure> {
        let mask = new_ids.then(|| kymo_ci::ids::TraceId::random().0);
        let Some(to) = to else { return Ok(Self { nanos: None, mask }) };
        if args.files.iter().any(|path| files::is_stdin(path)) {
            return Err(Failure::Usage(
                "--shift-to reads files twice, and stdin can be read once: save it to a file"
                    .into(),
            ));
        }
        let earliest = earliest(args, &args.reading.options(), interrupt);
        let target = match to {
            ShiftTo::Now => times::now(),
            ShiftTo::Moment(nanos) => nanos,
        };
        let nanos = earliest.map(|earliest| i128::from(target) - i128::from(earliest));
        Ok(Self { nanos: Some(nanos.unwrap_or(0)), mask })
    }

    /// By how much times are moved.
    pub(super) fn seconds(&self) -> Option<f64> {
        self.nanos.map(|nanos| nanos as f64 / 1e9)
    }

    /// Moves a request. An error leaves it as it is.
    pub(super) fn apply(&self, request: &mut Request) -> Result<(), WireError> {
        if *self == Self::default() {
            return Ok(());
        }
        let by = self.nanos.unwrap_or(0);
        let moved = |nanos: u64| {
            // Before 1970 and after 2554 there is nothing to say it with; 0 would mean no time.
            let moved = i128::from(nanos) + by;
            u64::try_from(moved.max(1)).unwrap_or(u64::MAX)
        };
        let mask = self.mask.unwrap_or_default();
        let renamed = |id: [u8; TRACE_ID_BYTES]| {
            // An id of zeros is none.
            if id == [0; TRACE_ID_BYTES] { id } else { std::array::from_fn(|n| id[n] ^ mask[n]) }
        };
        places::change(request.signal, &mut request.body, moved, renamed)
    }
}

/// The earliest time in all files. What cannot be read is reported when it is sent.
fn earliest(args: &Args, options: &ReadOptions, interrupt: &Interrupt) -> Option<u64> {
    let mut earliest: Option<u64> = None;
    for path in &args.files {
        for request in files::requests(path, options).into_iter().flatten().flatten() {
            if interrupt.is_wanted() {
                return earliest;
            }
            let _ = places::each_time(request.signal, &request.body, |nanos| {
                earliest = Some(earliest.map_or(nanos, |known| known.min(nanos)));
            });
        }
    }
    earliest
}

#[cfg(test)]
mod tests {
    use kymo_wire::Signal;

    use super::*;
    use crate::files::Place;

    fn request(time: u64, trace: &str) -> Request {
        let text = format!(
            r#"{{"resourceLogs":[{{"scopeLogs":[{{"logRecords":[{{"timeUnixNano":"{time}","traceId":"{trace}"}}]}}]}}]}}"#
        );
        let body = kymo_wire::json::decode(Signal::Logs, text.as_bytes()).unwrap();
        Request { place: Place::WholeFile, signal: Signal::Logs, body }
    }

    #[test]
    fn times_are_moved_and_trace_ids_changed_alike_everywhere() {
        let mask = [0xff; 16];
        let shift = Shift { nanos: Some(-400), mask: Some(mask) };
        let (one, other) = ("0102".repeat(8), "fefd".repeat(8));
        let mut moved = request(1_000, &one);
        shift.apply(&mut moved).unwrap();
        assert_eq!(moved, request(600, &other));
        // Before 1970 there is no time.
        let mut early = request(7, &one);
        shift.apply(&mut early).unwrap();
        assert_eq!(early, request(1, &other));
    }

    #[test]
    fn nothing_is_changed_unless_asked_for() {
        let mut kept = request(5, &"01".repeat(16));
        Shift::default().apply(&mut kept).unwrap();
        assert_eq!(kept, request(5, &"01".repeat(16)));
        let mut broken = Request { body: vec![0xff; 9], ..kept };
        assert!(Shift { nanos: Some(1), mask: None }.apply(&mut broken).is_err());
    }

    #[test]
    fn a_moment_is_now_or_a_time() {
        assert_eq!("now".parse(), Ok(ShiftTo::Now));
        assert_eq!("5".parse(), Ok(ShiftTo::Moment(5_000_000_000)));
        assert!("later".parse::<ShiftTo>().is_err());
    }
}
