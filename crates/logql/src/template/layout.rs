//! Layouts of times as Go has them: how the second of January 2006, 15:04:05, would be written.

use std::fmt::Write;

use super::moment::Civil;

/// A part of a layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Element {
    LongMonth,
    ShortMonth,
    Month,
    ZeroMonth,
    LongWeekday,
    ShortWeekday,
    Day,
    BlankDay,
    ZeroDay,
    BlankYearDay,
    ZeroYearDay,
    Hour,
    Hour12,
    ZeroHour12,
    Minute,
    ZeroMinute,
    Second,
    ZeroSecond,
    LongYear,
    ShortYear,
    UpperNoon,
    LowerNoon,
    ZoneName,
    /// `Z` stands for UTC if `has_z`; otherwise always digits.
    Offset {
        has_z: bool,
        has_colon: bool,
        fields: u8,
    },
    /// So many digits, or as many as it takes up to nine.
    Fraction {
        digits: usize,
        is_exact: bool,
        separator: char,
    },
}

/// Offsets as layouts have them, the longer first.
const OFFSETS: [(&str, bool, u8); 5] = [
    ("070000", false, 3),
    ("07:00:00", true, 3),
    ("0700", false, 2),
    ("07:00", true, 2),
    ("07", false, 1),
];

/// The literal text before the next element, the element, and what follows.
pub(super) fn next_element(layout: &str) -> (&str, Option<Element>, &str) {
    for (at, c) in layout.char_indices() {
        let rest = &layout[at..];
        if let Some((element, length)) = element_at(rest, c) {
            // `_2006` is a blank and a year.
            let skip = usize::from(rest.starts_with("_2006"));
            return (&layout[..at + skip], Some(element), &rest[skip + length..]);
        }
    }
    (layout, None, "")
}

fn element_at(rest: &str, first: char) -> Option<(Element, usize)> {
    let no_lower_after =
        |length: usize| !rest[length..].starts_with(|c: char| c.is_ascii_lowercase());
    let find = |names: &[(&str, Element)]| {
        names
            .iter()
            .find(|(name, _)| rest.starts_with(name))
            .map(|(name, element)| (*element, name.len()))
    };
    match first {
        'J' if rest.starts_with("January") => Some((Element::LongMonth, 7)),
        'J' if rest.starts_with("Jan") && no_lower_after(3) => Some((Element::ShortMonth, 3)),
        'M' if rest.starts_with("Monday") => Some((Element::LongWeekday, 6)),
        'M' if rest.starts_with("Mon") && no_lower_after(3) => Some((Element::ShortWeekday, 3)),
        'M' if rest.starts_with("MST") => Some((Element::ZoneName, 3)),
        '0' => find(&[
            ("002", Element::ZeroYearDay),
            ("01", Element::ZeroMonth),
            ("02", Element::ZeroDay),
            ("03", Element::ZeroHour12),
            ("04", Element::ZeroMinute),
            ("05", Element::ZeroSecond),
            ("06", Element::ShortYear),
        ]),
        '1' => find(&[("15", Element::Hour), ("1", Element::Month)]),
        '2' => find(&[("2006", Element::LongYear), ("2", Element::Day)]),
        '_' if rest.starts_with("_2006") => Some((Element::LongYear, 4)),
        '_' => find(&[("__2", Element::BlankYearDay), ("_2", Element::BlankDay)]),
        '3' => Some((Element::Hour12, 1)),
        '4' => Some((Element::Minute, 1)),
        '5' => Some((Element::Second, 1)),
        'P' => find(&[("PM", Element::UpperNoon)]),
        'p' => find(&[("pm", Element::LowerNoon)]),
        '-' | 'Z' => {
            let (text, has_colon, fields) =
                OFFSETS.iter().find(|(text, _, _)| rest[1..].starts_with(text))?;
            Some((
                Element::Offset { has_z: first == 'Z', has_colon: *has_colon, fields: *fields },
                1 + text.len(),
            ))
        }
        '.' | ',' => {
            let digit = rest[1..].chars().next().filter(|c| matches!(c, '0' | '9'))?;
            let digits = rest[1..].chars().take_while(|c| *c == digit).count();
            let ends = !rest[1 + digits..].starts_with(|c: char| c.is_ascii_digit());
            ends.then_some((
                Element::Fraction { digits, is_exact: digit == '0', separator: first },
                1 + digits,
            ))
        }
        _ => None,
    }
}

/// An instant written after a layout.
pub(super) fn format(civil: &Civil, layout: &str) -> String {
    let mut out = String::with_capacity(layout.len() + 8);
    let mut rest = layout;
    loop {
        let (literal, element, after) = next_element(rest);
        out.push_str(literal);
        match element {
            Some(element) => push(&mut out, civil, element),
            None => return out,
        }
        rest = after;
    }
}

fn push(out: &mut String, civil: &Civil, element: Element) {
    let hour12 = if civil.hour.is_multiple_of(12) { 12 } else { civil.hour % 12 };
    // Writing to a text does not fail.
    let _ = match element {
        Element::LongMonth => out.write_str(civil.month_name()),
        Element::ShortMonth => out.write_str(&civil.month_name()[..3]),
        Element::Month => write!(out, "{}", civil.month),
        Element::ZeroMonth => write!(out, "{:02}", civil.month),
        Element::LongWeekday => out.write_str(civil.weekday_name()),
        Element::ShortWeekday => out.write_str(&civil.weekday_name()[..3]),
        Element::Day => write!(out, "{}", civil.day),
        Element::BlankDay => write!(out, "{:2}", civil.day),
        Element::ZeroDay => write!(out, "{:02}", civil.day),
        Element::BlankYearDay => write!(out, "{:3}", civil.year_day),
        Element::ZeroYearDay => write!(out, "{:03}", civil.year_day),
        Element::Hour => write!(out, "{:02}", civil.hour),
        Element::Hour12 => write!(out, "{hour12}"),
        Element::ZeroHour12 => write!(out, "{hour12:02}"),
        Element::Minute => write!(out, "{}", civil.minute),
        Element::ZeroMinute => write!(out, "{:02}", civil.minute),
        Element::Second => write!(out, "{}", civil.second),
        Element::ZeroSecond => write!(out, "{:02}", civil.second),
        Element::LongYear if civil.year < 0 => write!(out, "-{:04}", -civil.year),
        Element::LongYear => write!(out, "{:04}", civil.year),
        Element::ShortYear => write!(out, "{:02}", civil.year.rem_euclid(100)),
        Element::UpperNoon => out.write_str(if civil.hour >= 12 { "PM" } else { "AM" }),
        Element::LowerNoon => out.write_str(if civil.hour >= 12 { "pm" } else { "am" }),
        Element::ZoneName if civil.zone_name.is_empty() => push_offset(
            out,
            civil.offset_secs,
            false,
            if civil.offset_secs % 3600 == 0 { 1 } else { 2 },
        ),
        Element::ZoneName => out.write_str(&civil.zone_name),
        Element::Offset { has_z: true, .. } if civil.offset_secs == 0 => out.write_str("Z"),
        Element::Offset { has_colon, fields, .. } => {
            push_offset(out, civil.offset_secs, has_colon, fields)
        }
        Element::Fraction { digits, is_exact, separator } => {
            push_fraction(out, civil.nanos, digits, is_exact, separator);
            Ok(())
        }
    };
}

fn push_offset(
    out: &mut String,
    offset_secs: i32,
    has_colon: bool,
    fields: u8,
) -> std::fmt::Result {
    let sign = if offset_secs < 0 { '-' } else { '+' };
    let secs = offset_secs.unsigned_abs();
    let colon = if has_colon { ":" } else { "" };
    write!(out, "{sign}{:02}", secs / 3600)?;
    if fields > 1 {
        write!(out, "{colon}{:02}", secs / 60 % 60)?;
    }
    if fields > 2 {
        write!(out, "{colon}{:02}", secs % 60)?;
    }
    Ok(())
}

fn push_fraction(out: &mut String, nanos: u32, digits: usize, is_exact: bool, separator: char) {
    let all = format!("{nanos:09}");
    let shown = &all[..digits.min(9)];
    let shown = if is_exact { shown } else { shown.trim_end_matches('0') };
    if !shown.is_empty() {
        out.push(separator);
        out.push_str(shown);
        // Beyond nanoseconds there are only zeros, and a layout asks for no more than it is long.
        out.extend(std::iter::repeat_n('0', if is_exact { digits.saturating_sub(9) } else { 0 }));
    }
}
