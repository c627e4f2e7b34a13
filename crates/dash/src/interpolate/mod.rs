//! Variables in texts: `$v`, `${v}`, `${v:format}`, `${v.field}`, `[[v]]`, `[[v:format]]`.
//!
//! What is not known stays as it is written: a link may name the cell it is on (`${__value.raw}`), which
//! is put in where it is drawn, and `$1` belongs to a replacement. Without a format, values are written
//! as the language around them wants it, see [`Style`].
//!
//! | module | what it holds |
//! |---|---|
//! | `syntax` | finding variables in a text |
//! | `quotes` | whether a place of a query is within quotes |
//! | [`format`](mod@format) | values as text, by format |
//! | `builtin` | `$__interval`, `$__from`, `__dashboard` and the like |
//! | `room` | how much all texts of an answer may grow to |
//! | [`interval`] | durations as text, steps, the interval of a panel |

mod builtin;
pub mod format;
pub mod interval;
mod quotes;
mod room;
mod syntax;
#[cfg(test)]
mod tests;

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use chrono_tz::Tz;

use crate::effort;
use crate::limits::{
    INTERPOLATED_BYTES_PER_STEP, MAX_INTERPOLATED_BYTES, MAX_INTERPOLATION_DEPTH,
    MAX_INTERPOLATION_STEPS,
};
use crate::model::Choice;
use crate::model::variable::ALL;
use quotes::Quotes;
pub use room::Room;
use syntax::Piece;

/// What a value within a marked text begins with: a character that stands for nothing.
pub const VALUE_BEGINS: char = '\u{e000}';
/// What a value within a marked text ends with.
pub const VALUE_ENDS: char = '\u{e001}';

/// What is said of values besides, by value and by name.
pub type Members = BTreeMap<String, BTreeMap<String, String>>;

/// What a variable holds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Held {
    /// The values that are chosen; all that there are, if all are.
    pub values: Vec<Choice>,
    /// What `${v.name}` writes of each value. Contexts are cloned for every query.
    pub members: Arc<Members>,
    /// Whether it could hold several: then a language's list is written even for one.
    pub is_list: bool,
    /// Whether the values are a list even if there is one: several may be chosen, or all are. Some
    /// formats write that otherwise than a text.
    pub is_array: bool,
    /// Whether all are chosen.
    pub is_all: bool,
    /// What is written for all instead of the values.
    pub all_value: Option<String>,
    /// Whether it is left out of links.
    pub skips_url: bool,
}

impl Held {
    /// One value that is nothing else.
    pub fn one(value: impl Into<String>) -> Self {
        Self { values: vec![Choice::plain(value)], ..Self::default() }
    }

    /// What is said of a value besides.
    fn member(&self, value: &str, name: &str) -> Option<&str> {
        self.members.get(value)?.get(name).map(String::as_str)
    }
}

/// How values are written where no format is named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// As people read them: `a + b`.
    Text,
    /// As [`Style::Text`], within markdown or HTML: each value stands between [`VALUE_BEGINS`] and
    /// [`VALUE_ENDS`], so that whoever draws the text shows it as it is instead of as markup.
    Marked,
    /// As Grafana does where it knows no better: `{a,b}`.
    Glob,
    /// In a regular expression: escaped for it, several as `(a|b)`.
    Regex,
    /// In PromQL: several as `(a|b)`. Within quotes they are escaped for regular expressions, and no
    /// value ends the quotes; elsewhere a value is a part of the query, such as `job="api"`.
    Promql,
    /// In LogQL, likewise.
    Logql,
    /// In TraceQL, likewise, but several as `a|b`.
    Traceql,
    /// In SQL: several as `'a','b'`, one as it is with its quotes doubled.
    Sql,
}

/// The time that a dashboard shows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TimeRange {
    /// Milliseconds since 1970.
    pub from_millis: i64,
    /// Milliseconds since 1970.
    pub to_millis: i64,
}

/// All that texts of a dashboard may name.
#[derive(Debug, Clone, Default)]
pub struct Context {
    /// Variables by name.
    pub variables: BTreeMap<String, Held>,
    /// Values that hold for one copy of a repeated panel; they go before the variables.
    pub scoped: BTreeMap<String, Held>,
    /// The time that is shown.
    pub time: TimeRange,
    /// The dashboard's time as it is written, from and to, such as `now-6h` and `now`: links to other
    /// dashboards go on with it. Without it they have the milliseconds of `time`.
    pub written_time: Option<(String, String)>,
    /// The zone that dates are written in.
    pub zone: Tz,
    /// `$__interval`.
    pub interval_millis: i64,
    /// `$__rate_interval`, where there is one.
    pub rate_interval_millis: i64,
    /// The dashboard's title and id.
    pub dashboard: (String, String),
    /// Who looks at it.
    pub user: String,
    /// The organisation, which is the tenant.
    pub organisation: String,
    /// What is left for all texts of this context and its clones.
    pub room: Room,
}

impl Context {
    /// What a variable holds, here.
    pub fn held(&self, name: &str) -> Option<&Held> {
        self.scoped.get(name).or_else(|| self.variables.get(name))
    }

    /// A text with its variables put in; as it is written once the time or the room for it is over.
    pub fn fill(&self, text: &str, style: Style) -> String {
        let may_name = text.contains(['$', '[']);
        if !may_name || effort::is_over() || self.room.is_used_up() {
            return text.to_owned();
        }
        let left_steps = Cell::new(MAX_INTERPOLATION_STEPS);
        let quotes = Quotes::of(style);
        let filled = self.fill_within(text, quotes, MAX_INTERPOLATION_DEPTH, &left_steps);
        self.room.take(filled.len());
        filled
    }

    /// `quotes` is where the text begins. The steps are those of the whole text: values that bring
    /// nothing, and name each other, would otherwise take time without end.
    fn fill_within(
        &self,
        text: &str,
        mut quotes: Quotes,
        depth: usize,
        left_steps: &Cell<usize>,
    ) -> String {
        let mut filled = String::with_capacity(text.len());
        for piece in syntax::pieces(text) {
            let before = filled.len();
            match piece {
                Piece::Text(text) => filled.push_str(text),
                Piece::Variable(named) => {
                    match paid(left_steps, || self.value(&named, &quotes, depth, left_steps)) {
                        Some(value) if quotes.style() == Style::Marked => {
                            push_marked(&mut filled, &value);
                        }
                        Some(value) => {
                            // A backslash must not take away the one that escapes the value's quote.
                            if quotes.is_behind_backslash() && !value.is_empty() {
                                filled.push('\\');
                            }
                            filled.push_str(&value);
                        }
                        None => filled.push_str(named.written),
                    }
                }
            }
            // What a value brings counts too: it may open what the next one stands in.
            quotes.read(&filled[before..]);
            if filled.len() > MAX_INTERPOLATED_BYTES {
                // Nothing useful is that long: the query's own limit says so to the user.
                break;
            }
        }
        filled
    }

    /// What stands for a variable; nothing if it is not known.
    fn value(
        &self,
        named: &syntax::Named<'_>,
        quotes: &Quotes,
        depth: usize,
        left_steps: &Cell<usize>,
    ) -> Option<String> {
        let (format, style) = (named.format, quotes.style());
        let Some(held) = self.held(named.name) else { return builtin::value(self, named) };
        let is_for_people = matches!(style, Style::Text | Style::Marked);
        let as_text = matches!(format, Some("text")) || format.is_none() && is_for_people;
        if held.is_all && as_text {
            return Some("All".to_owned());
        }
        if let (true, Some(all)) = (held.is_all, &held.all_value)
            && !matches!(format, Some("queryparam" | "customqueryparam"))
        {
            // As its author wrote it, who knows what it means in the query.
            return Some(if depth == 0 {
                all.clone()
            } else {
                self.fill_within(all, quotes.clone(), depth - 1, left_steps)
            });
        }
        let texts: Vec<&str> = held
            .values
            .iter()
            .map(|choice| {
                let member = named.field.and_then(|name| held.member(&choice.value, name));
                let is_text = as_text || named.field == Some("text");
                member.unwrap_or(if is_text { &choice.text } else { &choice.value })
            })
            .collect();
        Some(match format {
            // It is shown as it is: escapes would be shown too.
            Some("html") if style == Style::Marked => texts.join(", "),
            Some(format) => format::named(format, named.name, held, &texts, self.zone),
            None => format::styled(style, quotes.around(), held, &texts),
        })
    }
}

/// What a value is, if there are steps left for it: one, and more for a long one.
fn paid(left_steps: &Cell<usize>, value: impl FnOnce() -> Option<String>) -> Option<String> {
    left_steps.set(left_steps.get().checked_sub(1)?);
    let value = value()?;
    let steps = value.len() / INTERPOLATED_BYTES_PER_STEP;
    left_steps.set(left_steps.get().saturating_sub(steps));
    Some(value)
}

/// Adds a value between its marks, which it cannot end itself.
fn push_marked(text: &mut String, value: &str) {
    text.push(VALUE_BEGINS);
    text.extend(value.chars().filter(|c| ![VALUE_BEGINS, VALUE_ENDS].contains(c)));
    text.push(VALUE_ENDS);
}

/// The names of all variables in a text.
pub fn names(text: &str) -> BTreeSet<String> {
    let named = syntax::pieces(text).filter_map(|piece| match piece {
        Piece::Variable(named) => Some(named.name.to_owned()),
        Piece::Text(_) => None,
    });
    named.collect()
}

/// Whether a value means all.
pub fn is_all(value: &str) -> bool {
    value == ALL
}
