//! Times as patterns write them.

use chrono::{DateTime, Datelike, Offset, Timelike};
use chrono_tz::Tz;

use super::{DAYS, MONTHS, TOKENS};

/// A time as a pattern writes it, none where it is too far away to have a date.
pub fn format(millis: f64, pattern: &str, zone: Tz) -> Option<String> {
    let time = moment(millis, zone)?;
    let mut text = String::new();
    let mut rest = pattern;
    while let Some(first) = rest.chars().next() {
        if let Some((quoted, after)) = rest.strip_prefix('[').and_then(|r| r.split_once(']')) {
            text.push_str(quoted);
            rest = after;
        } else if let Some(escaped) = rest.strip_prefix('\\') {
            let next = escaped.chars().next();
            text.extend(next);
            rest = &escaped[next.map_or(0, char::len_utf8)..];
        } else if first == 'S' {
            let digits = rest.bytes().take_while(|byte| *byte == b'S').count();
            let nanos = std::format!("{:09}", time.nanosecond() % 1_000_000_000);
            text.push_str(&nanos[..digits.min(9)]);
            rest = &rest[digits..];
        } else if let Some(token) = TOKENS.iter().find(|token| rest.starts_with(**token)) {
            write(&mut text, token, &time);
            rest = &rest[token.len()..];
        } else {
            text.push(first);
            rest = &rest[first.len_utf8()..];
        }
    }
    Some(text)
}

fn moment(millis: f64, zone: Tz) -> Option<DateTime<Tz>> {
    // A date beyond this has no year that anybody writes, and chrono refuses it.
    if !millis.is_finite() || millis.abs() > 8.64e15 {
        return None;
    }
    let time = DateTime::from_timestamp_micros((millis * 1000.0).round() as i64)?;
    Some(time.with_timezone(&zone))
}

fn write(text: &mut String, token: &str, time: &DateTime<Tz>) {
    let year = time.year();
    let (month, day) = (time.month(), time.day());
    let hour12 = (time.hour() + 11) % 12 + 1;
    let name =
        |names: &[&'static str], index: u32| names.get(index as usize).copied().unwrap_or("");
    let weekday = time.weekday().num_days_from_sunday();
    let week = time.iso_week();
    let offset = |separator: &str| {
        let minutes = time.offset().fix().local_minus_utc() / 60;
        let sign = if minutes < 0 { '-' } else { '+' };
        let minutes = minutes.abs();
        std::format!("{sign}{:02}{separator}{:02}", minutes / 60, minutes % 60)
    };
    let again = |pattern: &str| {
        let millis = time.timestamp_millis() as f64;
        format(millis, pattern, time.timezone()).unwrap_or_default()
    };
    text.push_str(&match token {
        "YYYYYY" => std::format!("{year:+07}"),
        "YYYY" => std::format!("{year:04}"),
        "YY" => std::format!("{:02}", year.rem_euclid(100)),
        "Q" => (time.month0() / 3 + 1).to_string(),
        "Qo" => ordinal(time.month0() / 3 + 1),
        "MMMM" => name(&MONTHS, time.month0()).to_owned(),
        "MMM" => name(&MONTHS, time.month0())[..3].to_owned(),
        "MM" => std::format!("{month:02}"),
        "Mo" => ordinal(month),
        "M" => month.to_string(),
        "DDDD" => std::format!("{:03}", time.ordinal()),
        "DDDo" => ordinal(time.ordinal()),
        "DDD" => time.ordinal().to_string(),
        "DD" => std::format!("{day:02}"),
        "Do" => ordinal(day),
        "D" => day.to_string(),
        "dddd" => name(&DAYS, weekday).to_owned(),
        "ddd" => name(&DAYS, weekday)[..3].to_owned(),
        "dd" => name(&DAYS, weekday)[..2].to_owned(),
        "do" => ordinal(weekday),
        "d" | "e" => weekday.to_string(),
        "E" => time.weekday().number_from_monday().to_string(),
        "WW" | "ww" => std::format!("{:02}", week.week()),
        "Wo" => ordinal(week.week()),
        "W" | "w" => week.week().to_string(),
        "GGGG" | "gggg" => std::format!("{:04}", week.year()),
        "HH" => std::format!("{:02}", time.hour()),
        "H" => time.hour().to_string(),
        "hh" => std::format!("{hour12:02}"),
        "h" => hour12.to_string(),
        "kk" => std::format!("{:02}", (time.hour() + 23) % 24 + 1),
        "k" => ((time.hour() + 23) % 24 + 1).to_string(),
        "mm" => std::format!("{:02}", time.minute()),
        "m" => time.minute().to_string(),
        "ss" => std::format!("{:02}", time.second()),
        "s" => time.second().to_string(),
        "A" => if time.hour() < 12 { "AM" } else { "PM" }.to_owned(),
        "a" => if time.hour() < 12 { "am" } else { "pm" }.to_owned(),
        "Z" => offset(":"),
        "ZZ" => offset(""),
        "z" | "zz" => time.format("%Z").to_string(),
        "X" => time.timestamp().to_string(),
        "x" => time.timestamp_millis().to_string(),
        "LTS" => again("h:mm:ss A"),
        "LT" => again("h:mm A"),
        "LLLL" => again("dddd, MMMM D, YYYY h:mm A"),
        "LLL" => again("MMMM D, YYYY h:mm A"),
        "LL" => again("MMMM D, YYYY"),
        "L" => again("MM/DD/YYYY"),
        "llll" => again("ddd, MMM D, YYYY h:mm A"),
        "lll" => again("MMM D, YYYY h:mm A"),
        "ll" => again("MMM D, YYYY"),
        _ => again("M/D/YYYY"),
    });
}

fn ordinal(number: u32) -> String {
    let ending = match (number % 100, number % 10) {
        (11..=13, _) => "th",
        (_, 1) => "st",
        (_, 2) => "nd",
        (_, 3) => "rd",
        _ => "th",
    };
    std::format!("{number}{ending}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fields::units::date::zone;

    const TIME: f64 = 1_700_000_005_123.0;

    #[test]
    fn times_are_written_by_pattern() {
        let cases = [
            ("YYYY-MM-DD HH:mm:ss.SSS", "2023-11-14 22:13:25.123"),
            ("MM/DD/YYYY h:mm:ss a", "11/14/2023 10:13:25 pm"),
            ("dddd, MMMM Do YYYY [at] LT", "Tuesday, November 14th 2023 at 10:13 PM"),
            ("DDD W Q X x Z", "318 46 4 1700000005 1700000005123 +00:00"),
            ("ss\\s:SSS\\m\\s", "25s:123ms"),
        ];
        for (pattern, text) in cases {
            assert_eq!(format(TIME, pattern, Tz::UTC).as_deref(), Some(text), "{pattern}");
        }
        let berlin = zone(Some("Europe/Berlin"), Tz::UTC);
        assert_eq!(format(TIME, "HH:mm ZZ", berlin).as_deref(), Some("23:13 +0100"));
        assert_eq!(format(f64::MAX, "YYYY", Tz::UTC), None);
    }
}
