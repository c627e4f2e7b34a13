//! Reading times that are written after a layout of Go.

use super::layout::{Element, next_element};
use super::moment::{MONTHS, Moment, WEEKDAYS, Zone, local};

/// The instant that a text means; none if it is written otherwise. Without an offset in the text
/// it is in the zone.
pub(super) fn parse(layout: &str, text: &str, zone: Zone) -> Option<Moment> {
    let mut found = Found::default();
    let mut layout = layout;
    let mut text = text;
    loop {
        let (literal, element, after) = next_element(layout);
        text = skip(text, literal)?;
        let Some(element) = element else {
            return if text.is_empty() { found.moment(zone) } else { None };
        };
        text = found.read(element, text, after)?;
        layout = after;
    }
}

/// What was read so far.
#[derive(Default)]
struct Found {
    year: i64,
    month: Option<u32>,
    day: Option<u32>,
    year_day: Option<u32>,
    hour: u32,
    minute: u32,
    second: u32,
    nanos: u32,
    /// Whether it is after noon, if that is told.
    is_afternoon: Option<bool>,
    offset_secs: Option<i32>,
    zone_name: String,
}

impl Found {
    /// Reads an element; gives what follows it. `layout` is what follows it in the layout.
    fn read<'a>(&mut self, element: Element, text: &'a str, layout: &str) -> Option<&'a str> {
        let rest;
        match element {
            Element::LongYear => {
                let digits =
                    text.get(..4).filter(|digits| digits.bytes().all(|b| b.is_ascii_digit()))?;
                self.year = digits.parse().ok()?;
                rest = &text[4..];
            }
            Element::ShortYear => {
                let (year, after) = number(text, true)?;
                self.year = i64::from(year) + if year >= 69 { 1900 } else { 2000 };
                rest = after;
            }
            Element::LongMonth | Element::ShortMonth => {
                let (index, after) = name(text, &MONTHS, element == Element::ShortMonth)?;
                self.month = Some(index + 1);
                rest = after;
            }
            Element::LongWeekday | Element::ShortWeekday => {
                (_, rest) = name(text, &WEEKDAYS, element == Element::ShortWeekday)?;
            }
            Element::Month | Element::ZeroMonth => {
                let (month, after) = number(text, element == Element::ZeroMonth)?;
                (self.month, rest) = (Some(month), after);
            }
            Element::Day | Element::BlankDay | Element::ZeroDay => {
                let text = if element == Element::BlankDay {
                    text.strip_prefix(' ').unwrap_or(text)
                } else {
                    text
                };
                let (day, after) = number(text, element == Element::ZeroDay)?;
                (self.day, rest) = (Some(day), after);
            }
            Element::BlankYearDay | Element::ZeroYearDay => {
                let digits = text.get(..3)?;
                let digits = if element == Element::BlankYearDay {
                    digits.trim_start_matches(' ')
                } else {
                    digits
                };
                self.year_day = Some(digits.parse().ok().filter(|_| !digits.starts_with('+'))?);
                rest = &text[3..];
            }
            Element::Hour => (self.hour, rest) = number(text, false)?,
            Element::Hour12 | Element::ZeroHour12 => {
                (self.hour, rest) = number(text, element == Element::ZeroHour12)?;
                if self.hour > 12 {
                    return None;
                }
            }
            Element::Minute | Element::ZeroMinute => {
                (self.minute, rest) = number(text, element == Element::ZeroMinute)?;
            }
            Element::Second | Element::ZeroSecond => {
                let (second, after) = number(text, element == Element::ZeroSecond)?;
                self.second = second;
                // A fraction may follow though the layout has none.
                let has_fraction =
                    matches!(next_element(layout), ("", Some(Element::Fraction { .. }), _));
                rest = if has_fraction { after } else { self.fraction(after, None)? };
            }
            Element::Fraction { digits, is_exact, .. } => {
                rest = self.fraction(text, is_exact.then_some(digits))?;
            }
            Element::UpperNoon | Element::LowerNoon => {
                let noon = text.get(..2)?;
                self.is_afternoon = Some(match noon {
                    "PM" | "pm" => true,
                    "AM" | "am" => false,
                    _ => return None,
                });
                rest = &text[2..];
            }
            Element::Offset { has_z, has_colon, fields } => {
                rest = self.offset(text, has_z, has_colon, fields)?;
            }
            Element::ZoneName => rest = self.zone_name(text)?,
        }
        Some(rest)
    }

    /// Digits after a point or comma: so many, or any number, none too.
    fn fraction<'a>(&mut self, text: &'a str, exact: Option<usize>) -> Option<&'a str> {
        let after = text.strip_prefix(['.', ',']);
        let count = after.map_or(0, |after| after.bytes().take_while(u8::is_ascii_digit).count());
        let (after, count) = match (after, exact) {
            (Some(after), Some(digits)) if count >= digits => (after, digits),
            (_, Some(_)) => return None,
            (Some(after), None) if count > 0 => (after, count),
            (_, None) => return Some(text),
        };
        let digits = &after[..count.min(9)];
        let scale = 10_u32.pow(9 - u32::try_from(digits.len()).ok()?);
        self.nanos = digits.parse::<u32>().ok()? * scale;
        Some(&after[count..])
    }

    fn offset<'a>(
        &mut self,
        text: &'a str,
        has_z: bool,
        has_colon: bool,
        fields: u8,
    ) -> Option<&'a str> {
        if has_z && let Some(after) = text.strip_prefix('Z') {
            self.offset_secs = Some(0);
            return Some(after);
        }
        let sign = match text.as_bytes().first()? {
            b'+' => 1,
            b'-' => -1,
            _ => return None,
        };
        let mut rest = &text[1..];
        let mut secs = 0;
        for (field, unit) in (0..fields).zip([3600, 60, 1]) {
            if has_colon && field > 0 {
                rest = rest.strip_prefix(':')?;
            }
            let (value, after) = number(rest, true)?;
            if value >= 60 || (field == 0 && value > 24) {
                return None;
            }
            secs += i32::try_from(value).ok()? * unit;
            rest = after;
        }
        self.offset_secs = Some(sign * secs);
        Some(rest)
    }

    /// `UTC`, `CET`, `GMT+3`. Of other names than the first nobody can say the offset.
    fn zone_name<'a>(&mut self, text: &'a str) -> Option<&'a str> {
        if let Some(after) = text.strip_prefix("UTC") {
            self.offset_secs = Some(0);
            return Some(after);
        }
        let letters = text.bytes().take_while(u8::is_ascii_uppercase).count();
        let length = match letters {
            3..=5 => letters,
            _ => return None,
        };
        let (name, after) = text.split_at(length);
        self.zone_name = name.to_owned();
        self.offset_secs = Some(0);
        let hours = after.bytes().skip(1).take_while(u8::is_ascii_digit).count();
        if name == "GMT" && after.starts_with(['+', '-']) && hours > 0 {
            let value: i32 = after[1..=hours].parse().ok().filter(|hours| *hours <= 23)?;
            self.offset_secs =
                Some(if after.starts_with('-') { -value * 3600 } else { value * 3600 });
            self.zone_name.push_str(&after[..=hours]);
            return Some(&after[1 + hours..]);
        }
        Some(after)
    }

    fn moment(&self, zone: Zone) -> Option<Moment> {
        let hour = match self.is_afternoon {
            Some(true) if self.hour < 12 => self.hour + 12,
            Some(false) if self.hour == 12 => 0,
            _ => self.hour,
        };
        let time = (hour, self.minute, self.second);
        let date = match self.year_day {
            Some(year_day) => {
                let first = local(self.year, 1, 1, time, self.nanos)?;
                let date = first
                    .checked_add_days(chrono::Days::new(u64::from(year_day.checked_sub(1)?)))?;
                Some(date).filter(|date| i64::from(chrono::Datelike::year(date)) == self.year)?
            }
            None => {
                local(self.year, self.month.unwrap_or(1), self.day.unwrap_or(1), time, self.nanos)?
            }
        };
        let zone = match self.offset_secs {
            Some(0) if self.zone_name.is_empty() => Zone::Utc,
            Some(offset_secs) => Zone::Fixed { offset_secs, name: self.zone_name.clone() },
            None => zone,
        };
        Some(Moment::of_local(date, zone))
    }
}

/// The text after a literal; a run of blanks may be shorter or longer.
fn skip<'a>(text: &'a str, literal: &str) -> Option<&'a str> {
    let (mut text, mut literal) = (text, literal);
    while let Some(c) = literal.chars().next() {
        if c == ' ' {
            if !text.is_empty() && !text.starts_with(' ') {
                return None;
            }
            literal = literal.trim_start_matches(' ');
            text = text.trim_start_matches(' ');
            continue;
        }
        text = text.strip_prefix(c)?;
        literal = &literal[c.len_utf8()..];
    }
    Some(text)
}

/// One or two digits; two if `is_fixed`.
fn number(text: &str, is_fixed: bool) -> Option<(u32, &str)> {
    let count = text.bytes().take(2).take_while(u8::is_ascii_digit).count();
    if count == 0 || (is_fixed && count < 2) {
        return None;
    }
    Some((text[..count].parse().ok()?, &text[count..]))
}

/// The index of a name that a text starts with, in any case of letters.
fn name<'a>(text: &'a str, names: &[&str], is_short: bool) -> Option<(u32, &'a str)> {
    let starts = |name: &&str| {
        let length = if is_short { 3 } else { name.len() };
        text.get(..length).is_some_and(|start| start.eq_ignore_ascii_case(&name[..length]))
    };
    let index = names.iter().position(starts)?;
    let length = if is_short { 3 } else { names[index].len() };
    Some((u32::try_from(index).ok()?, &text[length..]))
}
