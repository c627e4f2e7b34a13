//! Units: how a number is written for people.
//!
//! [`table`] says what every id means as data, which the page gets as JSON, so that there is one
//! list for both. [`format()`] writes a number by it. Results are Grafana's, in English.

pub mod date;
mod duration;
mod number;
mod table;

pub use table::{Rules, Step, Unit, find, table};

use chrono_tz::Tz;
use serde::Serialize;

use crate::limits;

/// Where and when a number is shown, for those that are dates.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Clock {
    /// The zone that dates are written in.
    pub zone: Tz,
    /// Now, in milliseconds since 1970, for `5 minutes ago`.
    pub now_millis: f64,
}

impl Default for Clock {
    fn default() -> Self {
        Self { zone: Tz::UTC, now_millis: 0.0 }
    }
}

/// A number as people read it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Formatted {
    /// What stands before it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub prefix: String,
    /// The digits.
    pub text: String,
    /// What stands behind it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub suffix: String,
}

impl Formatted {
    fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// The whole.
    pub fn whole(&self) -> String {
        [self.prefix.as_str(), &self.text, &self.suffix].concat()
    }
}

/// A number in a unit, with so many digits behind the point, or as many as it needs.
pub fn format(id: &str, value: f64, decimals: Option<i64>, clock: &Clock) -> Formatted {
    write(&find(id), value, decimals, clock)
}

/// The same for a unit that was looked up before.
pub fn write(unit: &Unit, value: f64, decimals: Option<i64>, clock: &Clock) -> Formatted {
    let decimals = decimals.map(|decimals| decimals.clamp(0, limits::MAX_DECIMALS));
    match unit {
        Unit::Fixed { multiply, prefix, suffix } => Formatted {
            prefix: prefix.clone(),
            text: number::fixed(value * multiply, decimals),
            suffix: suffix.clone(),
        },
        Unit::Scaled { base, offset, suffixes, prefix } => {
            scaled(value, decimals, (*base, *offset), suffixes, prefix)
        }
        Unit::Steps { steps } => stepped(value, decimals, steps),
        Unit::Boolean { yes, no } => {
            let truth = value != 0.0 && !value.is_nan();
            Formatted::text(if truth { yes.as_str() } else { no })
        }
        Unit::Date { pattern, today } => {
            let day = |millis| date::format(millis, "YYYY-MM-DD", clock.zone);
            let is_today = || day(value) == day(clock.now_millis);
            let pattern = today.as_ref().filter(|_| is_today()).unwrap_or(pattern);
            let date = date::format(value, pattern, clock.zone);
            Formatted::text(date.unwrap_or_else(|| "Invalid date".to_owned()))
        }
        Unit::Special { rules } => special(*rules, value, decimals, clock),
    }
}

fn scaled(
    value: f64,
    decimals: Option<i64>,
    (base, offset): (f64, usize),
    suffixes: &[String],
    prefix: &str,
) -> Formatted {
    if !value.is_finite() {
        return Formatted::text(number::fixed(value, decimals));
    }
    // With a sign before it, a number is written by its size: -$5.
    let (sign, value) = if !prefix.is_empty() && value < 0.0 { ("-", -value) } else { ("", value) };
    let offset = offset as i32;
    let last = suffixes.len() as i32 - 1;
    let power = if value == 0.0 { 0 } else { (value.abs().log10() / base.log10()).floor() as i32 };
    let power = power.clamp(-offset, (last - offset).max(-offset));
    let suffix = suffixes.get((offset + power).max(0) as usize);
    Formatted {
        prefix: format!("{sign}{prefix}"),
        text: number::fixed(value / base.powi(power), decimals),
        suffix: suffix.cloned().unwrap_or_default(),
    }
}

fn stepped(value: f64, decimals: Option<i64>, steps: &[Step]) -> Formatted {
    let size = value.abs();
    let fits = |step: &&Step| step.below.is_none_or(|below| size < below);
    let Some(step) = steps.iter().find(fits).or(steps.last()) else {
        return Formatted::text(number::fixed(value, decimals));
    };
    let shown = value * step.multiply / step.divide;
    let words = [" min", " hour", " day", " week", " year"];
    let plural = step.plural && shown.abs() > 1.0 && words.contains(&step.suffix);
    // Zero seconds are "0 s", however many digits are asked for.
    let text = if value == 0.0 && step.below == Some(f64::MIN_POSITIVE) {
        "0".to_owned()
    } else {
        number::fixed(shown, decimals)
    };
    let suffix = format!("{}{}", step.suffix, if plural { "s" } else { "" });
    Formatted { prefix: String::new(), text, suffix }
}

fn special(rules: Rules, value: f64, decimals: Option<i64>, clock: &Clock) -> Formatted {
    match rules {
        Rules::Text => Formatted::text(crate::frame::write_number(value)),
        Rules::Hex => Formatted::text(number::hexadecimal(value, decimals, "")),
        Rules::Hex0x => Formatted::text(number::hexadecimal(value, decimals, "0x")),
        Rules::Scientific => Formatted::text(number::scientific(value, decimals)),
        Rules::Thousands => Formatted::text(number::thousands(value, decimals)),
        Rules::DurationMillis => duration::words(value, decimals, 1.0, "milliseconds"),
        Rules::DurationSeconds => duration::words(value, decimals, 1e3, "seconds"),
        Rules::Clock => duration::clock(value, false),
        Rules::DaysClock => duration::clock(value, true),
        Rules::WatchMillis => Formatted::text(duration::watch(value, decimals)),
        Rules::WatchSeconds => Formatted::text(duration::watch(value * 1e3, decimals)),
        Rules::FromNow => Formatted::text(duration::from_now(value, clock.now_millis)),
    }
}

#[cfg(test)]
mod tests;
