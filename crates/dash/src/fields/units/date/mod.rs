//! Dates by the patterns of moment.js, which dashboards use (`YYYY-MM-DD HH:mm`).
//!
//! | module | what it does |
//! |---|---|
//! | `write` | a time as a pattern writes it |
//! | `read` | the time that a text says |

mod read;
mod write;

pub use read::parse;
pub use write::format;

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
