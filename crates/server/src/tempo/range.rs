//! The time that a question is about: from when until when, and in which steps.

use std::ops::Range;

use crate::parameters::{Parameters, invalid};
use crate::times::{self, NANOS_PER_SECOND};

/// `start` and `end` of a search, in seconds since 1970, as nanoseconds; `None` for all times.
pub(super) fn of_search(parameters: &Parameters) -> Result<Option<Range<i64>>, String> {
    let seconds = |name| {
        let seconds: Option<u64> = parameters.number(name)?;
        let shown = || parameters.get(name).unwrap_or_default();
        u32::try_from(seconds.unwrap_or(0))
            .map_err(|_| invalid(name, "seconds since 1970", shown()))
    };
    between(seconds("start")?, seconds("end")?)
}

/// The range between two times in seconds, where 0 is none. All of its last second's first
/// nanosecond is in.
pub(super) fn between(start_secs: u32, end_secs: u32) -> Result<Option<Range<i64>>, String> {
    let nanos = |secs: u32| i64::from(secs) * NANOS_PER_SECOND;
    match (start_secs, end_secs) {
        (0, 0) => Ok(None),
        (start, 0) => Ok(Some(nanos(start)..i64::MAX)),
        (start, end) if start < end => Ok(Some(nanos(start)..nanos(end) + 1)),
        (start, end) => Err(format!(
            "http parameter start must be before end. received start={start} end={end}"
        )),
    }
}

/// A step, in nanoseconds: seconds as any number, `1e3` too, or a duration.
pub(super) fn step(text: &str) -> Option<i64> {
    let Ok(seconds) = text.parse::<f64>() else { return times::duration(text) };
    let nanos = seconds * NANOS_PER_SECOND as f64;
    (nanos.abs() < i64::MAX as f64).then_some(nanos.round() as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = NANOS_PER_SECOND;

    #[test]
    fn a_search_has_a_range_in_seconds_or_none() {
        let range = |text| of_search(&Parameters::parse(text).unwrap());
        assert_eq!(range(""), Ok(None));
        assert_eq!(range("start=0&end=0"), Ok(None));
        assert_eq!(range("start=1&end=2"), Ok(Some(SECOND..2 * SECOND + 1)));
        assert_eq!(range("start=1"), Ok(Some(SECOND..i64::MAX)));
        assert_eq!(range("end=2"), Ok(Some(0..2 * SECOND + 1)));
        for bad in
            ["start=2&end=1", "start=1&end=1", "start=-1", "end=x", "end=1767323045000000000"]
        {
            assert!(range(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn steps_are_seconds_or_durations() {
        assert_eq!(step("15"), Some(15 * SECOND));
        assert_eq!(step("0.5"), Some(SECOND / 2));
        assert_eq!(step("1e3"), Some(1000 * SECOND));
        assert_eq!(step("1m"), Some(60 * SECOND));
        for bad in ["", "NaN", "inf", "x"] {
            assert_eq!(step(bad), None, "{bad}");
        }
    }
}
