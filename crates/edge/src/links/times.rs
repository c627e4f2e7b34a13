//! Times in links: ours have `from` and `to`, in milliseconds since 1970 or relative as `now-1h`.

use time::{Date, Month, PrimitiveDateTime, Time};

use super::parameters::Link;

/// Units of durations, in seconds: those of Prometheus, Jaeger and Grafana.
const UNITS: [(&str, i64); 6] =
    [("w", 604_800), ("d", 86_400), ("h", 3600), ("m", 60), ("s", 1), ("y", 31_536_000)];

/// From when until when.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Span {
    from: Option<String>,
    to: Option<String>,
}

impl Span {
    /// The last so many seconds.
    pub(super) fn last(seconds: i64) -> Self {
        Self { from: Some(format!("now-{seconds}s")), to: Some("now".to_owned()) }
    }

    /// Of milliseconds since 1970.
    pub(super) fn millis(from: Option<i64>, to: Option<i64>) -> Self {
        Self {
            from: from.map(|millis| millis.to_string()),
            to: to.map(|millis| millis.to_string()),
        }
    }

    /// As Grafana writes them, and our pages read them. What is no time is left out.
    pub(super) fn of_texts(from: Option<&str>, to: Option<&str>) -> Self {
        let time = |text: Option<&str>| text.filter(|text| is_time(text)).map(str::to_owned);
        Self { from: time(from), to: time(to) }
    }

    /// Adds it to a link.
    pub(super) fn add_to(&self, link: Link) -> Link {
        link.with_some("from", self.from.as_deref()).with_some("to", self.to.as_deref())
    }
}

/// Whether a text can be a time: `now`, `now-6h/d`, `1700000000000`, `2026-01-02T03:04:05.000Z`.
fn is_time(text: &str) -> bool {
    let is_part = |b: u8| b.is_ascii_alphanumeric() || b"-+:./ ".contains(&b);
    (1..=40).contains(&text.len()) && text.bytes().all(is_part)
}

/// A duration such as `1h30m` or `2d` in whole seconds.
pub(super) fn seconds(text: &str) -> Option<i64> {
    let (mut rest, mut total) = (text.trim(), 0i64);
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit())?;
        let (number, after) = rest.split_at(digits);
        let (unit, factor) = UNITS.iter().find(|(unit, _)| after.starts_with(unit))?;
        let number: i64 = number.parse().ok()?;
        total = total.checked_add(number.checked_mul(*factor)?)?;
        rest = after.get(unit.len()..)?;
    }
    Some(total)
}

/// A moment as Prometheus' pages write it, in UTC: `2026-01-02 03:04:05` or without seconds.
pub(super) fn moment_millis(text: &str) -> Option<i64> {
    let (date, time) = text.trim().split_once([' ', 'T'])?;
    let [year, month, day] = numbers(date, '-')?;
    let time = time.trim_end_matches('Z');
    let [hour, minute, second] = match time.matches(':').count() {
        1 => numbers(&format!("{time}:0"), ':')?,
        _ => numbers(time, ':')?,
    };
    let small = |number: u32| u8::try_from(number).ok();
    let month = Month::try_from(small(month)?).ok()?;
    let date = Date::from_calendar_date(i32::try_from(year).ok()?, month, small(day)?).ok()?;
    let time = Time::from_hms(small(hour)?, small(minute)?, small(second)?).ok()?;
    Some(PrimitiveDateTime::new(date, time).assume_utc().unix_timestamp() * 1000)
}

fn numbers(text: &str, separator: char) -> Option<[u32; 3]> {
    let is_short = |part: &&str| part.len() <= 4;
    let parts = text.split(separator).map(|part| Some(part).filter(is_short)?.parse().ok());
    parts.collect::<Option<Vec<u32>>>()?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read() {
        for (text, expected) in
            [("1h", 3600), ("1h30m", 5400), ("2d", 172_800), ("10s", 10), ("1w", 604_800)]
        {
            assert_eq!(seconds(text), Some(expected), "{text}");
        }
        for wrong in ["", "1", "h", "1x", "-1h", "1.5h", "custom", "99999999999999999y"] {
            assert_eq!(seconds(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn moments_are_read() {
        assert_eq!(moment_millis("2026-01-02 03:04:05"), Some(1_767_323_045_000));
        assert_eq!(moment_millis("2026-01-02 03:04"), Some(1_767_323_040_000));
        for wrong in
            ["", "2026-01-02", "2026-13-02 03:04", "2026-01-02 25:00", "x y", "1-2-3-4 5:6"]
        {
            assert_eq!(moment_millis(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn texts_that_are_no_times_are_left_out() {
        assert!(
            is_time("now-6h/d") && is_time("1700000000000") && is_time("2026-01-02T03:04:05.000Z")
        );
        assert!(!is_time("") && !is_time("<script>") && !is_time(&"1".repeat(41)));
    }
}
