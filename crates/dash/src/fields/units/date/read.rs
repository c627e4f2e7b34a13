//! Times that texts say, by a pattern or in one of the usual ways.

use chrono::{DateTime, NaiveDate, NaiveDateTime, TimeZone};
use chrono_tz::Tz;

use super::{MONTHS, TOKENS};

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
