//! Dates written and read by the patterns of moment.js, which dashboards use (`YYYY-MM-DD HH:mm`).

use chrono::{DateTime, Datelike, NaiveDate, NaiveDateTime, Offset, TimeZone, Timelike};
use chrono_tz::Tz;

/// The date and time that a field of times shows where nothing else is said.
pub const FULL: &str = "YYYY-MM-DD HH:mm:ss";
/// The same with milliseconds, for what happens within a minute.
pub const FULL_MILLIS: &str = "YYYY-MM-DD HH:mm:ss.SSS";

/// The tokens of a pattern, longer ones before those that they begin with.
const TOKENS: &[&str] = &[
    "YYYYYY", "YYYY", "YY", "Qo", "Q", "MMMM", "MMM", "MM", "Mo", "M", "DDDD", "DDDo", "DDD", "DD",
    "Do", "D", "dddd", "ddd", "dd", "do", "d", "E", "e", "WW", "Wo", "W", "ww", "w", "GGGG",
    "gggg", "HH", "H", "hh", "h", "kk", "k", "mm", "m", "ss", "s", "A", "a", "ZZ", "Z", "zz", "z",
    "X", "x", "LTS", "LT", "LLLL", "LLL", "LL", "L", "llll", "lll", "ll", "l",
];

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

const DAYS: [&str; 7] =
    ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

/// The time zone of that name; what is not known, as `browser`, is the fallback.
pub fn zone(name: Option<&str>, fallback: Tz) -> Tz {
    match name {
        Some("utc" | "UTC") => Tz::UTC,
        Some(name) => name.parse().unwrap_or(fallback),
        None => fallback,
    }
}

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

/// A time in milliseconds since 1970 that a text says: by a pattern, or in one of the usual ways.
///
/// Digits alone are milliseconds, or micro- or nanoseconds where they are too many for a date in
/// milliseconds.
pub fn parse(text: &str, pattern: Option<&str>, zone: Tz) -> Option<f64> {
    let text = text.trim();
    match pattern {
        Some("X") => return text.parse::<f64>().ok().map(|seconds| seconds * 1e3),
        Some("x") => return text.parse().ok(),
        Some(pattern) if !pattern.is_empty() => return by_pattern(text, pattern, zone),
        _ => {}
    }
    let digits = text.strip_prefix('-').unwrap_or(text);
    if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) && digits.len() > 4 {
        let number: f64 = text.parse().ok()?;
        return Some(match number.abs() {
            size if size >= 1e17 => number / 1e6,
            size if size >= 1e14 => number / 1e3,
            _ => number,
        });
    }
    if let Ok(time) = DateTime::parse_from_rfc3339(text) {
        return Some(time.timestamp_micros() as f64 / 1e3);
    }
    let usual = [
        "%Y-%m-%d %H:%M:%S%.f",
        "%Y-%m-%dT%H:%M:%S%.f",
        "%Y-%m-%d %H:%M",
        "%Y-%m-%dT%H:%M",
        "%Y/%m/%d %H:%M:%S%.f",
    ];
    let read = usual.iter().find_map(|usual| NaiveDateTime::parse_from_str(text, usual).ok());
    let day = || NaiveDate::parse_from_str(text, "%Y-%m-%d").ok()?.and_hms_opt(0, 0, 0);
    local(read.or_else(day)?, zone)
}

fn local(time: NaiveDateTime, zone: Tz) -> Option<f64> {
    let time = zone.from_local_datetime(&time).earliest()?;
    Some(time.timestamp_micros() as f64 / 1e3)
}

/// What is read so far of a date.
struct Parts {
    year: i32,
    month: u32,
    day: u32,
    hour: u32,
    minute: u32,
    second: u32,
    micros: u32,
    afternoon: Option<bool>,
    offset_minutes: Option<i32>,
}

fn by_pattern(text: &str, pattern: &str, zone: Tz) -> Option<f64> {
    let mut parts = Parts {
        year: 1970,
        month: 1,
        day: 1,
        hour: 0,
        minute: 0,
        second: 0,
        micros: 0,
        afternoon: None,
        offset_minutes: None,
    };
    let (mut rest, mut pattern) = (text, pattern);
    while let Some(first) = pattern.chars().next() {
        if let Some((quoted, after)) = pattern.strip_prefix('[').and_then(|r| r.split_once(']')) {
            rest = rest.strip_prefix(quoted)?;
            pattern = after;
        } else if first == 'S' {
            let digits = pattern.bytes().take_while(|byte| *byte == b'S').count();
            let length = rest.bytes().take(digits).take_while(u8::is_ascii_digit).count();
            let fraction = std::format!("{:0<6}", &rest[..length]);
            parts.micros = fraction.get(..6)?.parse().ok()?;
            (rest, pattern) = (&rest[length..], &pattern[digits..]);
        } else if let Some(token) = TOKENS.iter().find(|token| pattern.starts_with(**token)) {
            rest = parts.read(token, rest)?;
            pattern = &pattern[token.len()..];
        } else {
            // Separators need not be there, as in moment's forgiving mode.
            rest = rest.strip_prefix(first).unwrap_or(rest);
            pattern = &pattern[first.len_utf8()..];
        }
    }
    parts.millis(zone)
}

impl Parts {
    fn read<'a>(&mut self, token: &str, text: &'a str) -> Option<&'a str> {
        let most = match token {
            "YYYY" => 4,
            "x" | "X" => 20,
            _ => 2,
        };
        let length = text.bytes().take(most).take_while(u8::is_ascii_digit).count();
        let number = || text[..length].parse::<u32>().ok();
        let after = &text[length..];
        match token {
            "YYYY" => self.year = number()?.try_into().ok()?,
            "YY" => {
                self.year =
                    number().map(|year| if year > 68 { 1900 } else { 2000 } + year as i32)?
            }
            "MM" | "M" => self.month = number()?,
            "DD" | "D" => self.day = number()?,
            "HH" | "H" | "hh" | "h" => self.hour = number()?,
            "mm" | "m" => self.minute = number()?,
            "ss" | "s" => self.second = number()?,
            "MMM" | "MMMM" => {
                let is = |name: &&str| {
                    let length = if token == "MMM" { 3 } else { name.len() };
                    text.get(..length).is_some_and(|t| t.eq_ignore_ascii_case(&name[..length]))
                };
                let index = MONTHS.iter().position(is)?;
                self.month = index as u32 + 1;
                return Some(&text[if token == "MMM" { 3 } else { MONTHS[index].len() }..]);
            }
            "A" | "a" => {
                self.afternoon = Some(text.get(..2)?.eq_ignore_ascii_case("pm"));
                return text.get(2..);
            }
            "Z" | "ZZ" => return self.read_offset(text),
            "dddd" | "ddd" | "dd" => {
                return Some(text.trim_start_matches(|letter: char| letter.is_alphabetic()));
            }
            _ => return None,
        }
        Some(after)
    }

    fn read_offset<'a>(&mut self, text: &'a str) -> Option<&'a str> {
        if let Some(rest) = text.strip_prefix('Z') {
            self.offset_minutes = Some(0);
            return Some(rest);
        }
        let sign = match text.chars().next()? {
            '+' => 1,
            '-' => -1,
            _ => return None,
        };
        let hours: i32 = text.get(1..3)?.parse().ok()?;
        let rest = text.get(3..)?;
        let rest = rest.strip_prefix(':').unwrap_or(rest);
        let minutes: i32 = rest.get(..2)?.parse().ok()?;
        self.offset_minutes = Some(sign * (hours * 60 + minutes));
        rest.get(2..)
    }

    fn millis(&self, zone: Tz) -> Option<f64> {
        let hour = match self.afternoon {
            Some(true) if self.hour < 12 => self.hour + 12,
            Some(false) if self.hour == 12 => 0,
            _ => self.hour,
        };
        let day = NaiveDate::from_ymd_opt(self.year, self.month, self.day)?;
        let time = day.and_hms_micro_opt(hour, self.minute, self.second, self.micros)?;
        match self.offset_minutes {
            Some(minutes) => {
                Some(time.and_utc().timestamp_micros() as f64 / 1e3 - f64::from(minutes) * 60e3)
            }
            None => local(time, zone),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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

    #[test]
    fn times_are_read_by_pattern_and_in_the_usual_ways() {
        let cases = [
            ("2023-11-14T22:13:25.123Z", None, TIME),
            ("2023-11-14 22:13:25.123", None, TIME),
            ("2023-11-15T00:13:25.123+02:00", None, TIME),
            ("1700000005123", None, TIME),
            ("1700000005123000000", None, TIME),
            ("1700000005", Some("X"), 1_700_000_005_000.0),
            ("14/11/2023 10:13 PM", Some("DD/MM/YYYY hh:mm A"), 1_700_000_005_123.0 - 25_123.0),
            ("Nov 14 2023", Some("MMM D YYYY"), 1_699_920_000_000.0),
            ("2023", Some("YYYY"), 1_672_531_200_000.0),
        ];
        for (text, pattern, millis) in cases {
            assert_eq!(parse(text, pattern, Tz::UTC), Some(millis), "{text}");
        }
        for text in ["", "yesterday", "2023-13-01", "é"] {
            assert_eq!(parse(text, None, Tz::UTC), None, "{text}");
            assert_eq!(parse(text, Some("DD MMM YYYY A Z"), Tz::UTC), None, "{text}");
        }
    }
}
