//! Variables as dashboards write them.

use serde::Serialize;
use serde_json::Value;

use super::read::{self, Object};
use super::source::SourceRef;
use crate::limits::MAX_OPTIONS;

/// The value that means all.
pub const ALL: &str = "$__all";

/// Where a variable's values come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum VariableKind {
    /// A query.
    Query,
    /// A list in the dashboard.
    Custom,
    /// A list of durations.
    Interval,
    /// The data sources there are.
    Datasource,
    /// A text that is typed.
    Textbox,
    /// One text.
    Constant,
    /// Conditions that are added to every query.
    Adhoc,
    /// Labels that every query is grouped by.
    Groupby,
    /// On or off.
    Switch,
    /// A kind that is not known: the value that is stored is used.
    Unknown,
}

/// A value and what is shown for it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Choice {
    /// What is shown.
    pub text: String,
    /// What is put in.
    pub value: String,
}

impl Choice {
    /// A value that is shown as it is.
    pub fn plain(value: impl Into<String>) -> Self {
        let value = value.into();
        Self { text: value.clone(), value }
    }
}

/// A variable.
#[derive(Debug, Clone)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// What people see instead.
    pub label: String,
    /// What it is for.
    pub description: String,
    /// Where its values come from.
    pub kind: VariableKind,
    /// What the dashboard calls that.
    pub kind_name: String,
    /// The query, the list, the text: by kind.
    pub query: Value,
    /// Which values of a query, and which part of each.
    pub regex: String,
    /// The order of values: 0 as they come, 1 and 2 by letters, 3 and 4 by numbers, 5 and 6 by letters
    /// whatever their case, 7 and 8 naturally; even ones descend.
    pub sort: i64,
    /// When a query is asked again: 0 never, 1 on loading, 2 when the time changes.
    pub refresh: i64,
    /// Whether several values may be chosen.
    pub is_multi: bool,
    /// Whether all may be chosen at once.
    pub includes_all: bool,
    /// What is put in for all, if not all values.
    pub all_value: Option<String>,
    /// Whether a value may be chosen that is not offered.
    pub allows_custom: bool,
    /// What is chosen in the dashboard as it is stored.
    pub current: Vec<Choice>,
    /// What was offered when it was stored.
    pub options: Vec<Choice>,
    /// 0 shown, 1 without its label, 2 not at all, 3 below the others.
    pub hide: i64,
    /// Whether it is left out of links.
    pub skips_url: bool,
    /// Where its query is asked.
    pub source: Option<SourceRef>,
    /// All that is written of it.
    pub raw: Object,
}

impl VariableKind {
    fn of(name: &str) -> Self {
        match name {
            "query" => Self::Query,
            "custom" => Self::Custom,
            "interval" => Self::Interval,
            "datasource" => Self::Datasource,
            "textbox" => Self::Textbox,
            "constant" => Self::Constant,
            "adhoc" => Self::Adhoc,
            "groupby" => Self::Groupby,
            "switch" => Self::Switch,
            _ => Self::Unknown,
        }
    }
}

impl Variable {
    /// Reads a variable; `None` if it has no name.
    pub fn read(of: &Object) -> Option<Self> {
        let own_text = |key| read::text(of, key).unwrap_or_default().to_owned();
        let kind_name = read::text(of, "type").unwrap_or("query").to_owned();
        let options = read::list(of, "options").iter().filter_map(Value::as_object);
        Some(Self {
            name: read::text(of, "name")?.to_owned(),
            label: own_text("label"),
            description: own_text("description"),
            kind: VariableKind::of(&kind_name),
            kind_name,
            query: read::member(of, "query").clone(),
            regex: own_text("regex"),
            sort: read::integer(of, "sort").unwrap_or(0),
            refresh: refresh(of),
            is_multi: read::is_true(of, "multi"),
            includes_all: read::is_true(of, "includeAll"),
            all_value: read::text(of, "allValue").map(str::to_owned),
            allows_custom: of.get("allowCustomValue").and_then(Value::as_bool).unwrap_or(true),
            current: match read::member(of, "current") {
                Value::Object(current) => choices(current),
                // A switch of the second schema says its value alone.
                value => read::text_of(value).map(Choice::plain).into_iter().collect(),
            },
            options: options.flat_map(choices).take(MAX_OPTIONS).collect(),
            hide: read::integer(of, "hide").unwrap_or(0).clamp(0, 3),
            skips_url: read::is_true(of, "skipUrlSync"),
            source: SourceRef::read(read::member(of, "datasource")),
            raw: of.clone(),
        })
    }

    /// The text of the query, if it is one.
    pub fn query_text(&self) -> &str {
        match &self.query {
            Value::String(text) => text,
            Value::Object(query) => read::text(query, "query").unwrap_or_default(),
            _ => "",
        }
    }
}

/// Old dashboards say only whether.
fn refresh(of: &Object) -> i64 {
    match of.get("refresh") {
        Some(Value::Bool(is)) => i64::from(*is),
        _ => read::integer(of, "refresh").unwrap_or(0).clamp(0, 2),
    }
}

/// Texts and values, of which there may be one or a list.
fn choices(of: &Object) -> Vec<Choice> {
    let texts = texts(read::member(of, "text"));
    let values = texts_of_value(of, &texts);
    let choice = |(index, value): (usize, String)| {
        let text = texts.get(index).cloned().unwrap_or_else(|| value.clone());
        Choice { text, value }
    };
    values.into_iter().enumerate().map(choice).collect()
}

fn texts_of_value(of: &Object, otherwise: &[String]) -> Vec<String> {
    match of.get("value") {
        None | Some(Value::Null) => otherwise.to_vec(),
        Some(value) => texts(value),
    }
}

fn texts(value: &Value) -> Vec<String> {
    match value {
        Value::Array(values) => values.iter().filter_map(read::text_of).take(MAX_OPTIONS).collect(),
        value => read::text_of(value).into_iter().collect(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn variable(of: Value) -> Variable {
        Variable::read(of.as_object().unwrap()).unwrap()
    }

    #[test]
    fn what_is_chosen_may_be_one_or_several() {
        let one = variable(json!({"name": "a", "current": {"text": "All", "value": "$__all"}}));
        assert_eq!(one.current, [Choice { text: "All".into(), value: ALL.into() }]);
        let two = variable(json!({"name": "a", "current": {"text": ["x", "y"], "value": [1, 2]}}));
        assert_eq!(two.current[1], Choice { text: "y".into(), value: "2".into() });
        assert!(variable(json!({"name": "a", "current": {}})).current.is_empty());
        let texts = variable(json!({"name": "a", "current": {"text": "x + y"}}));
        assert_eq!(texts.current, [Choice::plain("x + y")]);
    }

    #[test]
    fn a_variable_without_a_name_is_none_and_defaults_hold() {
        assert!(Variable::read(json!({"type": "query"}).as_object().unwrap()).is_none());
        let plain = variable(json!({"name": "a", "refresh": true, "query": {"query": "q"}}));
        assert_eq!((plain.kind, plain.refresh), (VariableKind::Query, 1));
        assert!(plain.allows_custom && !plain.is_multi);
        assert_eq!(plain.query_text(), "q");
        assert_eq!(variable(json!({"name": "a", "type": "x"})).kind, VariableKind::Unknown);
    }
}
