//! Answers as options: which part of each, in which order, each once.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use serde_json::Value;

use crate::effort;
use crate::fields::pattern::{self, Found, Pattern};
use crate::limits::MAX_OPTIONS;
use crate::model::read;
use crate::model::{Choice, Variable};
use crate::natural::natural;

/// What a variable offers, of what its query gave. `is_cut` tells that there is more.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Options {
    /// The options.
    pub choices: Vec<Choice>,
    /// Whether some are left out because there are too many.
    pub is_cut: bool,
}

/// Shapes the answer to a variable's query. `regex` has its variables put in.
pub fn shape(variable: &Variable, regex: &str, found: Vec<Choice>) -> Result<Options, String> {
    let mut choices = match regex.trim() {
        "" => found,
        regex => {
            let by_text = read::text(&variable.raw, "regexApplyTo") == Some("text");
            let compiled = pattern::compile(regex)?;
            let most = if pattern::is_global(regex) { MAX_OPTIONS } else { 1 };
            let mut choices = Vec::new();
            for (row, choice) in found.iter().enumerate() {
                effort::check_at(row)?;
                choices.extend(matched(&compiled, choice, by_text, most));
            }
            choices
        }
    };
    add_static(variable, &mut choices);
    let mut seen = BTreeSet::new();
    choices.retain(|choice| seen.insert(choice.value.clone()));
    let is_cut = choices.len() > MAX_OPTIONS;
    choices.truncate(MAX_OPTIONS);
    Ok(Options { choices, is_cut })
}

/// Sorts, and adds the options that are written beside the query: before the others if nothing is said.
fn add_static(variable: &Variable, choices: &mut Vec<Choice>) {
    let written = read::list(&variable.raw, "staticOptions").iter().filter_map(Value::as_object);
    let written = written.filter_map(|of| {
        let value = read::text_of(of.get("value")?)?;
        let text = of.get("text").and_then(read::text_of).unwrap_or_else(|| value.clone());
        Some(Choice { text, value })
    });
    let written = written.take(MAX_OPTIONS);
    match read::text(&variable.raw, "staticOptionsOrder") {
        Some("sorted") => {
            choices.extend(written);
            sort(choices, variable.sort);
        }
        order => {
            sort(choices, variable.sort);
            let at = if order == Some("after") { choices.len() } else { 0 };
            choices.splice(at..at, written);
        }
    }
}

/// The parts of an option that an expression is about: the groups `text` and `value`, which two matches
/// may have, else the first group of each match, else all of it. `most` matches are looked for: with the
/// flag `g` more than one.
fn matched(regex: &Pattern, choice: &Choice, by_text: bool, most: usize) -> Vec<Choice> {
    let subject = if by_text { &choice.text } else { &choice.value };
    let matches: Vec<Found<'_>> = regex.find_all(subject, most);
    if matches.is_empty() {
        return Vec::new();
    }
    let group = |name: &str| {
        let mut found = matches.iter().filter_map(|found| regex.named(found, name));
        found.find(|group| !group.is_empty()).map(str::to_owned)
    };
    match (group("text"), group("value")) {
        (None, None) if regex.has_groups() => {
            matches.iter().filter_map(Found::first_group).map(Choice::plain).collect()
        }
        (None, None) => vec![choice.clone()],
        (text, value) => {
            let value = value.or_else(|| text.clone()).unwrap_or_default();
            vec![Choice { text: text.unwrap_or_else(|| value.clone()), value }]
        }
    }
}

/// Sorts as Grafana numbers it: 1 and 2 by letters, 3 and 4 by numbers, 5 and 6 by letters whatever
/// their case, 7 and 8 naturally; the even ones descend.
pub fn sort(choices: &mut [Choice], how: i64) {
    let compare: fn(&Choice, &Choice) -> Ordering = match how {
        1 | 2 => |a, b| a.text.cmp(&b.text),
        3 | 4 => |a, b| number_in(&a.text).total_cmp(&number_in(&b.text)),
        5 | 6 => |a, b| a.text.to_lowercase().cmp(&b.text.to_lowercase()),
        7 | 8 => |a, b| natural(&a.text, &b.text),
        _ => return,
    };
    choices.sort_by(compare);
    if how % 2 == 0 {
        choices.reverse();
    }
}

/// The first number in a text; what has none comes first.
fn number_in(text: &str) -> f64 {
    let digits = |c: char| c.is_ascii_digit();
    let Some(start) = text.find(digits) else { return -1.0 };
    let rest = &text[start..];
    let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
    rest[..end].trim_end_matches('.').parse().unwrap_or(-1.0)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn shaped(regex: &str, sort: i64, values: &[&str]) -> Vec<String> {
        let of = json!({"name": "v", "sort": sort});
        let variable = Variable::read(of.as_object().unwrap()).unwrap();
        let found = values.iter().map(|value| Choice::plain(*value)).collect();
        let shaped = shape(&variable, regex, found).unwrap();
        shaped.choices.into_iter().map(|c| format!("{}={}", c.text, c.value)).collect()
    }

    #[test]
    fn an_expression_picks_values_and_parts_of_them() {
        assert_eq!(shaped("/gpu/", 0, &["gpu0", "cpu", "xgpu"]), ["gpu0=gpu0", "xgpu=xgpu"]);
        assert_eq!(shaped("gpu.", 0, &["gpu0", "xgpu0"]), ["gpu0=gpu0"]);
        assert_eq!(shaped("/(.*):.*/", 0, &["a:1", "a:2", "b"]), ["a=a"]);
        let named = r#"/instance="(?<text>[^"]+)".*id="(?<value>\d+)"/"#;
        assert_eq!(shaped(named, 0, &[r#"x{instance="h", id="7"} 1"#]), ["h=7"]);
    }

    #[test]
    fn an_expression_that_looks_on_finds_parts_in_any_order() {
        let either = r#"/instance="(?<text>[^"]+)|id="(?<value>[^"]+)/g"#;
        assert_eq!(shaped(either, 0, &[r#"x{id="7", instance="h"} 1"#]), ["h=7"]);
        let once = r#"/instance="(?<text>[^"]+)|id="(?<value>[^"]+)/"#;
        assert_eq!(shaped(once, 0, &[r#"x{id="7", instance="h"} 1"#]), ["7=7"]);
        assert_eq!(shaped("/([a-z]+)/g", 0, &["a-b", "c"]), ["a=a", "b=b", "c=c"]);
    }

    #[test]
    fn every_order_is_grafanas() {
        let texts = |how| -> Vec<String> {
            let values = ["b10", "B9", "a2", "a10", "z"];
            shaped("", how, &values).iter().map(|t| t[..t.find('=').unwrap()].to_owned()).collect()
        };
        assert_eq!(texts(0), ["b10", "B9", "a2", "a10", "z"]);
        assert_eq!(texts(1), ["B9", "a10", "a2", "b10", "z"]);
        assert_eq!(texts(2), ["z", "b10", "a2", "a10", "B9"]);
        assert_eq!(texts(3), ["z", "a2", "B9", "b10", "a10"]);
        assert_eq!(texts(5), ["a10", "a2", "b10", "B9", "z"]);
        assert_eq!(texts(7), ["a2", "a10", "B9", "b10", "z"]);
        assert_eq!(texts(8), ["z", "b10", "B9", "a10", "a2"]);
    }

    #[test]
    fn options_beside_the_query_stand_where_they_are_wanted() {
        let values = |order: &str| -> Vec<String> {
            let written = json!([{"text": "None", "value": "m"}, {"value": "b"}, {"text": "x"}]);
            let of = json!({"name": "v", "sort": 1, "staticOptions": written,
                "staticOptionsOrder": order});
            let variable = Variable::read(of.as_object().unwrap()).unwrap();
            let found = vec![Choice::plain("z"), Choice::plain("a"), Choice::plain("b")];
            let shaped = shape(&variable, "", found).unwrap();
            shaped.choices.into_iter().map(|choice| choice.value).collect()
        };
        assert_eq!(values("before"), ["m", "b", "a", "z"]);
        assert_eq!(values("after"), ["a", "b", "z", "m"]);
        assert_eq!(values("sorted"), ["m", "a", "b", "z"], "the text `None` is before `a`");
    }

    #[test]
    fn an_expression_that_is_none_is_said() {
        let variable = json!({"name": "v"});
        let variable = Variable::read(variable.as_object().unwrap()).unwrap();
        assert!(shape(&variable, "/(/", vec![Choice::plain("a")]).is_err());
    }
}
