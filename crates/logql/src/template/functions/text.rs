//! Functions of texts.
//!
//! Lengths and places count bytes, as in Go, but for `alignLeft` and `alignRight`, which count
//! characters. A character is never cut in half: what is left of it is left out.

use std::borrow::Cow;

use regex::Regex;

use super::super::builtins::whole_characters;
use super::super::value::Value;
use super::Call;
use crate::limits::{MAX_TEMPLATE_PATTERN_BYTES, TEMPLATE_MATCH_WORK, TEMPLATE_PATTERN_WORK};

type Values<'a> = Vec<Value<'a>>;
type Outcome<'a> = Result<Value<'a>, String>;

/// The text at an index. The caller has checked the types.
pub(super) fn text<'v>(values: &'v [Value<'_>], index: usize) -> &'v str {
    match values.get(index) {
        Some(Value::Text(text)) => text,
        _ => "",
    }
}

pub(super) fn int(values: &[Value<'_>], index: usize) -> i64 {
    match values.get(index) {
        Some(Value::Int(value, _)) => *value,
        _ => 0,
    }
}

/// A part of the last argument, without a copy if that is borrowed.
fn part<'a>(
    values: Values<'a>,
    index: usize,
    take: impl for<'t> Fn(&'t str) -> &'t str,
) -> Outcome<'a> {
    let Some(Value::Text(whole)) = values.into_iter().nth(index) else {
        return Ok(Value::text(""));
    };
    Ok(Value::Text(match whole {
        Cow::Borrowed(text) => Cow::Borrowed(take(text)),
        Cow::Owned(text) => Cow::Owned(take(&text).to_owned()),
    }))
}

pub(super) fn line<'a>(call: &mut Call<'a, '_>, _: Values<'a>) -> Outcome<'a> {
    Ok(Value::text(call.around.line))
}

/// One character for one: those that would become two stay as they are.
fn upper_char(c: char) -> char {
    let mut upper = c.to_uppercase();
    match (upper.next(), upper.next()) {
        (Some(one), None) => one,
        _ => c,
    }
}

fn lower_char(c: char) -> char {
    let mut lower = c.to_lowercase();
    match (lower.next(), lower.next()) {
        (Some(one), None) => one,
        _ => c,
    }
}

pub(super) fn lower<'a>(_: &mut Call<'a, '_>, values: Values<'a>) -> Outcome<'a> {
    Ok(Value::text(text(&values, 0).chars().map(lower_char).collect::<String>()))
}

pub(super) fn upper<'a>(_: &mut Call<'a, '_>, values: Values<'a>) -> Outcome<'a> {
    Ok(Value::text(text(&values, 0).chars().map(upper_char).collect::<String>()))
}

pub(super) fn title<'a>(_: &mut Call<'a, '_>, values: Values<'a>) -> Outcome<'a> {
    let is_separator = |c: char| match c {
        '_' => false,
        c if c.is_ascii() => !c.is_ascii_alphanumeric(),
        c => c.is_whitespace(),
    };
    let mut before = ' ';
    let titled = text(&values, 0).chars().map(|c| {
        let starts = is_separator(before);
        before = c;
        if starts { upper_char(c) } else { c }
    });
    Ok(Value::text(titled.collect::<String>()))
}

pub(super) fn trunc<'a>(_: &mut Call<'a, '_>, values: Values<'a>) -> Outcome<'a> {
    let count = int(&values, 0);
    let length = usize::try_from(count.unsigned_abs()).unwrap_or(usize::MAX);
    part(values, 1, |text| match count {
        0.. => whole_characters(text, 0, length),
        _ => whole_characters(text, text.len().saturating_sub(length), text.len()),
    })
}

pub(super) fn substr<'a>(_: &mut Call<'a, '_>, values: Values<'a>) -> Outcome<'a> {
    let length = text(&values, 2).len();
    let (start, end) = (int(&values, 0), int(&values, 1));
    let start_at = usize::try_from(start).unwrap_or(0);
    let end_at = match usize::try_from(end) {
        Ok(end) if start < 0 => Some(end).filter(|end| *end <= length),
        Ok(end) => Some(end.min(length)),
        Err(_) if start < 0 => None,
        Err(_) => Some(length),
    };
    match end_at.filter(|end| start_at <= *end) {
        Some(end_at) => part(values, 2, |text| whole_characters(text, start_at, end_at)),
        None => Err(format!("slice bounds out of range: {start} to {end} of {length}")),
    }
}

pub(super) fn contains<'a>(_: &mut Call<'a, '_>, values: Values<'a>) -> Outcome<'a> {
    Ok(Value::Bool(text(&values, 1).contains(text(&values, 0))))
}

pub(super) fn has_prefix<'a>(_: &mut Call<'a, '_>, values: Values<'a>) -> Outcome<'a> {
    Ok(Value::Bool(text(&values, 1).starts_with(text(&values, 0))))
}

pub(super) fn has_suffix<'a>(_: &mut Call<'a, '_>, values: Values<'a>) -> Outcome<'a> {
    Ok(Value::Bool(text(&values, 1).ends_with(text(&values, 0))))
}

/// So many blanks, or an error.
fn blanks(call: &mut Call<'_, '_>, count: i64) -> Result<String, String> {
    let count = usize::try_from(count).map_err(|_| format!("negative count {count}"))?;
    call.spend(count)?;
    Ok(" ".repeat(count))
}

fn indented(call: &mut Call<'_, '_>, values: &[Value<'_>], start: &str) -> Result<String, String> {
    let padding = blanks(call, int(values, 0))?;
    let text = text(values, 1);
    call.spend(
        (padding.len() + 1)
            .saturating_mul(text.matches('\n').count() + 1)
            .saturating_add(text.len()),
    )?;
    Ok(format!("{start}{padding}{}", text.replace('\n', &format!("\n{padding}"))))
}

pub(super) fn indent<'a>(call: &mut Call<'a, '_>, values: Values<'a>) -> Outcome<'a> {
    indented(call, &values, "").map(Value::text)
}

pub(super) fn nindent<'a>(call: &mut Call<'a, '_>, values: Values<'a>) -> Outcome<'a> {
    indented(call, &values, "\n").map(Value::text)
}

/// Replaces the first so many; the size of what comes out is known before it is made.
fn replaced<'a>(
    call: &mut Call<'a, '_>,
    text: &str,
    old: &str,
    new: &str,
    count: usize,
) -> Outcome<'a> {
    let found = text.matches(old).take(count).count();
    call.spend(found.saturating_mul(new.len()).saturating_add(text.len()))?;
    Ok(Value::text(text.replacen(old, new, count)))
}

pub(super) fn replace<'a>(call: &mut Call<'a, '_>, values: Values<'a>) -> Outcome<'a> {
    replaced(call, text(&values, 2), text(&values, 0), text(&values, 1), usize::MAX)
}

pub(super) fn replace_some<'a>(call: &mut Call<'a, '_>, values: Values<'a>) -> Outcome<'a> {
    let count = usize::try_from(int(&values, 3)).unwrap_or(usize::MAX);
    replaced(call, text(&values, 0), text(&values, 1), text(&values, 2), count)
}

pub(super) fn repeat<'a>(call: &mut Call<'a, '_>, values: Values<'a>) -> Outcome<'a> {
    let count = int(&values, 0);
    let times = usize::try_from(count).map_err(|_| format!("negative count {count}"))?;
    let text = text(&values, 1);
    call.spend(times.saturating_mul(text.len()))?;
    Ok(Value::text(if text.is_empty() { String::new() } else { text.repeat(times) }))
}

pub(super) fn trim_space<'a>(_: &mut Call<'a, '_>, values: Values<'a>) -> Outcome<'a> {
    part(values, 0, str::trim)
}

pub(super) fn trim_all<'a>(_: &mut Call<'a, '_>, values: Values<'a>) -> Outcome<'a> {
    let set = text(&values, 0).to_owned();
    part(values, 1, |text| text.trim_matches(|c| set.contains(c)))
}

pub(super) fn trim_suffix<'a>(_: &mut Call<'a, '_>, values: Values<'a>) -> Outcome<'a> {
    let suffix = text(&values, 0).to_owned();
    part(values, 1, |text| text.strip_suffix(suffix.as_str()).unwrap_or(text))
}

pub(super) fn trim_prefix<'a>(_: &mut Call<'a, '_>, values: Values<'a>) -> Outcome<'a> {
    let prefix = text(&values, 0).to_owned();
    part(values, 1, |text| text.strip_prefix(prefix.as_str()).unwrap_or(text))
}

pub(super) fn trim_set<'a>(_: &mut Call<'a, '_>, values: Values<'a>) -> Outcome<'a> {
    let set = text(&values, 1).to_owned();
    part(values, 0, |text| text.trim_matches(|c| set.contains(c)))
}

pub(super) fn trim_set_left<'a>(_: &mut Call<'a, '_>, values: Values<'a>) -> Outcome<'a> {
    let set = text(&values, 1).to_owned();
    part(values, 0, |text| text.trim_start_matches(|c| set.contains(c)))
}

pub(super) fn trim_set_right<'a>(_: &mut Call<'a, '_>, values: Values<'a>) -> Outcome<'a> {
    let set = text(&values, 1).to_owned();
    part(values, 0, |text| text.trim_end_matches(|c| set.contains(c)))
}

pub(super) fn without_prefix<'a>(_: &mut Call<'a, '_>, values: Values<'a>) -> Outcome<'a> {
    let prefix = text(&values, 1).to_owned();
    part(values, 0, |text| text.strip_prefix(prefix.as_str()).unwrap_or(text))
}

pub(super) fn without_suffix<'a>(_: &mut Call<'a, '_>, values: Values<'a>) -> Outcome<'a> {
    let suffix = text(&values, 1).to_owned();
    part(values, 0, |text| text.strip_suffix(suffix.as_str()).unwrap_or(text))
}

/// The text in so many columns: its first characters, or it and blanks.
pub(super) fn align_left<'a>(call: &mut Call<'a, '_>, values: Values<'a>) -> Outcome<'a> {
    let (count, text) = (int(&values, 0), text(&values, 1));
    let Ok(count) = usize::try_from(count) else { return Ok(Value::text(text.to_owned())) };
    call.spend(count)?;
    let kept: String = text.chars().take(count).collect();
    let padding = count.saturating_sub(kept.chars().count());
    Ok(Value::text(kept + &" ".repeat(padding)))
}

/// The text in so many columns: its last characters, or blanks and it.
pub(super) fn align_right<'a>(call: &mut Call<'a, '_>, values: Values<'a>) -> Outcome<'a> {
    let (count, text) = (int(&values, 0), text(&values, 1));
    let Ok(count) = usize::try_from(count) else { return Ok(Value::text(text.to_owned())) };
    call.spend(count)?;
    let length = text.chars().count();
    let kept = text.chars().skip(length.saturating_sub(count));
    Ok(Value::text(" ".repeat(count.saturating_sub(length)) + &kept.collect::<String>()))
}

/// The second value, unless it is empty.
pub(super) fn default<'a>(_: &mut Call<'a, '_>, values: Values<'a>) -> Outcome<'a> {
    let mut values = values.into_iter();
    let instead = values.next().unwrap_or(Value::Nil);
    Ok(values.next().filter(Value::is_true).unwrap_or(instead))
}

/// The regular expression of a call: that of the template, or the one that it is called with.
fn regex<'a>(call: &mut Call<'a, '_>, pattern: &str) -> Result<Cow<'a, Regex>, String> {
    match call.regex {
        Some(Ok(regex)) => Ok(Cow::Borrowed(regex)),
        Some(Err(reason)) => Err(reason.clone()),
        None => {
            call.spend(TEMPLATE_PATTERN_WORK)?;
            kymo_pattern::search(pattern, MAX_TEMPLATE_PATTERN_BYTES).map(Cow::Owned)
        }
    }
}

pub(super) fn regex_replace_all<'a>(call: &mut Call<'a, '_>, values: Values<'a>) -> Outcome<'a> {
    let regex = regex(call, text(&values, 0))?;
    let (text, replacement) = (text(&values, 1), text(&values, 2));
    call.spend(text.len())?;
    let mut out = String::new();
    let mut copied = 0;
    for captures in regex.captures_iter(text) {
        let Some(found) = captures.get(0) else { continue };
        out.push_str(&text[copied..found.start()]);
        let before = out.len();
        captures.expand(replacement, &mut out);
        // A short pattern may put the whole line in place of each of its characters.
        call.spend(out.len() - before + TEMPLATE_MATCH_WORK)?;
        copied = found.end();
    }
    out.push_str(&text[copied..]);
    Ok(Value::text(out))
}

pub(super) fn regex_replace_all_literal<'a>(
    call: &mut Call<'a, '_>,
    values: Values<'a>,
) -> Outcome<'a> {
    let regex = regex(call, text(&values, 0))?;
    let (text, replacement) = (text(&values, 1), text(&values, 2));
    call.spend(text.len())?;
    let mut out = String::new();
    let mut copied = 0;
    for found in regex.find_iter(text) {
        out.push_str(&text[copied..found.start()]);
        out.push_str(replacement);
        call.spend(replacement.len() + TEMPLATE_MATCH_WORK)?;
        copied = found.end();
    }
    out.push_str(&text[copied..]);
    Ok(Value::text(out))
}

pub(super) fn count<'a>(call: &mut Call<'a, '_>, values: Values<'a>) -> Outcome<'a> {
    let regex = regex(call, text(&values, 0))?;
    let text = text(&values, 1);
    call.spend(text.len())?;
    Ok(Value::count(regex.find_iter(text).count()))
}
