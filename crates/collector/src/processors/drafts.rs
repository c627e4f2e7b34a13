//! Rules of one processor and one signal, before they are put together.

use crate::document::{Map, Value};
use crate::limits::MAX_NAME_CHARS;
use crate::model::Signal;
use crate::output::{Output, Rule, plain_name};
use crate::traceql;

/// A rule without its name and signals.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Draft {
    pub(super) condition: Option<String>,
    pub(super) action: &'static str,
    pub(super) value: Value,
}

impl Draft {
    /// Leaves out what meets a condition.
    pub(super) fn dropping(condition: String) -> Self {
        Self { condition: Some(condition), action: "drop", value: Value::word(true) }
    }

    /// Leaves out what does not.
    pub(super) fn keeping(condition: String) -> Self {
        Self { condition: Some(condition), action: "keep", value: Value::word(true) }
    }

    /// The condition of what passes, if this only leaves out.
    pub(super) fn passes(&self) -> Option<String> {
        let condition = self.condition.as_deref()?;
        match self.action {
            "drop" => Some(traceql::not(condition)),
            "keep" => Some(condition.to_owned()),
            _ => None,
        }
    }
}

/// Sets one attribute, in the rule before if that does the same to others.
pub(super) fn set(
    drafts: &mut Vec<Draft>,
    condition: Option<&String>,
    action: &'static str,
    name: &str,
    value: Value,
) {
    if let Some(Draft { condition: same, action: before, value: Value::Map(map) }) =
        drafts.last_mut()
        && *before == action
        && same.as_ref() == condition
        && map.get(name).is_none()
    {
        map.set(name, value);
        return;
    }
    let value = Value::Map(Map::of(name, value));
    drafts.push(Draft { condition: condition.cloned(), action, value });
}

/// The same for what needs a name only.
pub(super) fn list(
    drafts: &mut Vec<Draft>,
    condition: Option<&String>,
    action: &'static str,
    name: &str,
) {
    if let Some(Draft { condition: same, action: before, value: Value::List(names) }) =
        drafts.last_mut()
        && *before == action
        && same.as_ref() == condition
    {
        names.push(Value::text(name));
        return;
    }
    let value = Value::List(vec![Value::text(name)]);
    drafts.push(Draft { condition: condition.cloned(), action, value });
}

/// The name of an attribute in a rule: of the record itself if the scope is nothing. One that ends
/// with a star, or is in quotes, has quotes around it, or it would mean something else.
pub(super) fn target(scope: &str, key: &str) -> String {
    let is_plain = !key.ends_with('*') && !key.starts_with('"');
    if is_plain { format!("{scope}.{key}") } else { format!("{scope}.\"{key}\"") }
}

/// The prefix that a regular expression of keys means, if it means one: `^http\..*`.
pub(super) fn prefix(pattern: &str) -> Option<String> {
    let inner = pattern.strip_prefix('^')?;
    let inner = inner.strip_suffix('$').filter(|inner| inner.ends_with(".*")).unwrap_or(inner);
    let inner = inner.strip_suffix(".*").unwrap_or(inner);
    let mut prefix = String::new();
    let mut characters = inner.chars();
    while let Some(c) = characters.next() {
        match c {
            '\\' => prefix.push(characters.next().filter(char::is_ascii_punctuation)?),
            '.' | '+' | '*' | '?' | '(' | ')' | '|' | '[' | ']' | '{' | '}' | '^' | '$' => {
                return None;
            }
            c => prefix.push(c),
        }
    }
    (!prefix.is_empty()).then_some(prefix)
}

/// Adds the rules of a processor: one for several signals where they are the same.
pub(super) fn add_rules(
    processor: &str,
    mut of_signals: Vec<(Signal, Vec<Draft>)>,
    out: &mut Output,
) -> bool {
    let mut rules: Vec<(Vec<Signal>, Draft)> = Vec::new();
    while !of_signals.is_empty() {
        let (signal, drafts) = of_signals.remove(0);
        let mut signals = vec![signal];
        of_signals.retain(|(other, others)| {
            let is_same = *others == drafts;
            signals.extend(is_same.then_some(*other));
            !is_same
        });
        rules.extend(drafts.into_iter().map(|draft| (signals.clone(), draft)));
    }
    let is_one = rules.len() == 1;
    let has_rules = !rules.is_empty();
    for (nth, (signals, draft)) in rules.into_iter().enumerate() {
        let name = if is_one { String::new() } else { format!("-{}", nth + 1) };
        let name = rule_name(processor, &name, out);
        let Draft { condition, action, value } = draft;
        out.rules.push(Rule { name, signals, condition, action, value });
    }
    has_rules
}

/// A name that no rule has yet.
fn rule_name(processor: &str, suffix: &str, out: &Output) -> String {
    let named = |suffix: &str| {
        let kept = MAX_NAME_CHARS.saturating_sub(suffix.len());
        let base: String = plain_name(processor).chars().take(kept).collect();
        format!("{base}{suffix}")
    };
    let is_free = |name: &String| !out.rules.iter().any(|rule| rule.name == *name);
    let mut others = (2usize..).map(|nth| named(&format!("{suffix}.{nth}")));
    Some(named(suffix)).filter(&is_free).or_else(|| others.find(is_free)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_of_keys_are_prefixes_only_where_they_mean_one() {
        assert_eq!(prefix("^http\\..*").as_deref(), Some("http."));
        assert_eq!(prefix("^http\\.").as_deref(), Some("http."));
        assert_eq!(prefix("^x-.*$").as_deref(), Some("x-"));
        for other in ["http.*", "^a.b", "^(a|b)", "^", "^.*", "^a$", "^a\\d"] {
            assert_eq!(prefix(other), None, "{other}");
        }
    }

    #[test]
    fn names_of_attributes_mean_what_they_say() {
        assert_eq!(target("", "a b"), ".a b");
        assert_eq!(target("resource", "x*"), "resource.\"x*\"");
    }
}
