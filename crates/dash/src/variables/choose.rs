//! What is chosen: by a link, else by the dashboard as it is stored, else the first.

use std::collections::HashMap;

use crate::interpolate::{Held, is_all};
use crate::limits::MAX_CHOSEN;
use crate::model::variable::ALL;
use crate::model::{Choice, Variable, VariableKind};

/// What is chosen of a variable.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Chosen {
    /// What is put into texts.
    pub held: Held,
    /// Values that are chosen but not offered: they may lie outside the time.
    pub missing: Vec<String>,
}

/// Chooses. `asked` is what a link says; nothing else removes a value that is not offered any more.
pub fn choose(variable: &Variable, options: &[Choice], asked: Option<&[String]>) -> Chosen {
    let is_list = variable.is_multi || variable.includes_all;
    let mut chosen = Chosen {
        held: Held {
            is_list,
            all_value: variable.all_value.clone(),
            skips_url: variable.skips_url,
            ..Held::default()
        },
        missing: Vec::new(),
    };
    let values = match asked {
        Some(asked) => by_link(variable, options, asked, &mut chosen.missing),
        None => stored(variable, options),
    };
    chosen.held.is_all = variable.includes_all && values.iter().any(|choice| is_all(&choice.value));
    chosen.held.is_array = variable.is_multi || chosen.held.is_all;
    chosen.held.values = if chosen.held.is_all { options.to_vec() } else { values };
    chosen
}

/// Options by value and by text: there may be as many as values that are looked for.
struct Offered<'a> {
    by_value: HashMap<&'a str, &'a Choice>,
    by_text: HashMap<&'a str, &'a Choice>,
}

impl<'a> Offered<'a> {
    fn new(options: &'a [Choice]) -> Self {
        let (mut by_value, mut by_text) = (HashMap::new(), HashMap::new());
        for option in options {
            // Of several that say the same, the first.
            by_value.entry(option.value.as_str()).or_insert(option);
            by_text.entry(option.text.as_str()).or_insert(option);
        }
        Self { by_value, by_text }
    }

    fn find(&self, value: &str, text: &str) -> Option<&'a Choice> {
        self.by_value.get(value).or_else(|| self.by_text.get(text)).copied()
    }
}

fn by_link(
    variable: &Variable,
    options: &[Choice],
    asked: &[String],
    missing: &mut Vec<String>,
) -> Vec<Choice> {
    let most = if variable.is_multi { MAX_CHOSEN } else { 1 };
    let offered = Offered::new(options);
    let mut values = Vec::new();
    for value in asked.iter().take(most) {
        // Links written by hand say what is shown.
        let is_all_text = value == "All" && !options.iter().any(|option| option.value == "All");
        if variable.includes_all && (is_all(value) || is_all_text) {
            return vec![Choice { text: "All".to_owned(), value: ALL.to_owned() }];
        }
        let option = offered.find(value, value);
        if option.is_none() && has_list(variable) {
            missing.push(value.clone());
        }
        values.push(option.cloned().unwrap_or_else(|| Choice::plain(value.as_str())));
    }
    values
}

/// Whether a variable has a list that a value may be missing from.
fn has_list(variable: &Variable) -> bool {
    !matches!(variable.kind, VariableKind::Textbox | VariableKind::Adhoc | VariableKind::Unknown)
}

/// What the dashboard says, as far as it is offered; else the first option.
fn stored(variable: &Variable, options: &[Choice]) -> Vec<Choice> {
    if let VariableKind::Textbox | VariableKind::Unknown | VariableKind::Groupby = variable.kind {
        let text = || Choice::plain(variable.query_text());
        let is_textbox = variable.kind == VariableKind::Textbox;
        let stored = variable.current.clone();
        return if stored.is_empty() && is_textbox { vec![text()] } else { stored };
    }
    let says_all = variable.current.iter().any(|choice| is_all(&choice.value));
    let all = || vec![Choice { text: "All".to_owned(), value: ALL.to_owned() }];
    if variable.includes_all && says_all {
        return all();
    }
    let offered = Offered::new(options);
    let offered = |choice: &Choice| offered.find(&choice.value, &choice.text).cloned();
    let most = if variable.is_multi { MAX_CHOSEN } else { 1 };
    let kept: Vec<Choice> = variable.current.iter().filter_map(offered).take(most).collect();
    if !kept.is_empty() {
        return kept;
    }
    if variable.includes_all {
        return all();
    }
    // A switch is off until it is switched on.
    let usual =
        if variable.kind == VariableKind::Switch { options.last() } else { options.first() };
    usual.cloned().into_iter().collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn chosen(
        of: Value,
        options: &[&str],
        asked: Option<&[&str]>,
    ) -> (Vec<String>, bool, Vec<String>) {
        let mut of = of;
        of["name"] = json!("v");
        let variable = Variable::read(of.as_object().unwrap()).unwrap();
        let options: Vec<Choice> = options.iter().map(|value| Choice::plain(*value)).collect();
        let asked: Option<Vec<String>> =
            asked.map(|asked| asked.iter().map(|value| (*value).to_owned()).collect());
        let chosen = choose(&variable, &options, asked.as_deref());
        let values = chosen.held.values.into_iter().map(|choice| choice.value).collect();
        (values, chosen.held.is_all, chosen.missing)
    }

    fn texts(values: &[&str]) -> Vec<String> {
        values.iter().map(|value| (*value).to_owned()).collect()
    }

    #[test]
    fn without_a_link_the_dashboard_or_the_first_is_chosen() {
        let options = ["a", "b"];
        let none = Vec::new;
        assert_eq!(chosen(json!({}), &options, None), (texts(&["a"]), false, none()));
        let current = json!({"current": {"value": "b"}});
        assert_eq!(chosen(current, &options, None), (texts(&["b"]), false, none()));
        let gone = json!({"current": {"value": "x"}});
        assert_eq!(chosen(gone, &options, None), (texts(&["a"]), false, none()));
        let all = json!({"includeAll": true, "multi": true, "current": {}});
        assert_eq!(chosen(all, &options, None), (texts(&["a", "b"]), true, none()));
        let several = json!({"multi": true, "current": {"value": ["b", "x"]}});
        assert_eq!(chosen(several, &options, None), (texts(&["b"]), false, none()));
    }

    #[test]
    fn a_link_goes_first_and_keeps_what_is_not_offered() {
        let multi = json!({"multi": true, "includeAll": true});
        let options = ["a", "b"];
        let kept = chosen(multi.clone(), &options, Some(&["b", "gone"]));
        assert_eq!(kept, (texts(&["b", "gone"]), false, texts(&["gone"])));
        let all = chosen(multi, &options, Some(&["All"]));
        assert_eq!(all, (texts(&["a", "b"]), true, vec![]));
        let single = chosen(json!({}), &options, Some(&["b", "a"]));
        assert_eq!(single, (texts(&["b"]), false, vec![]));
    }

    #[test]
    fn a_switch_is_off_until_it_is_switched_on() {
        let of = json!({"type": "switch"});
        let options = ["true", "false"];
        assert_eq!(chosen(of.clone(), &options, None).0, ["false"]);
        assert_eq!(chosen(of, &options, Some(&["true"])).0, ["true"]);
        let stored = json!({"type": "switch", "current": "true"});
        assert_eq!(chosen(stored, &options, None).0, ["true"]);
    }

    #[test]
    fn a_text_is_its_default_until_it_is_typed() {
        let of = json!({"type": "textbox", "query": "hello"});
        assert_eq!(chosen(of.clone(), &[], None).0, ["hello"]);
        assert_eq!(chosen(of, &[], Some(&["x y"])), (texts(&["x y"]), false, vec![]));
    }
}
