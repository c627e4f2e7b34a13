//! Variables that have their values with them: lists, durations, data sources, texts.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::interpolate::interval::{interval, parse, short};
use crate::interpolate::{Context, Members, Style};
use crate::limits::MAX_OPTIONS;
use crate::model::read;
use crate::model::source::{Language, OURS};
use crate::model::{Choice, Variable, VariableKind};

/// The value of the duration that fits the time by itself.
pub const AUTO: &str = "$__auto_interval_";

/// What a variable offers without a query; `None` if it needs one, or offers nothing.
pub fn options(variable: &Variable, context: &Context) -> Option<Result<Vec<Choice>, String>> {
    let text = || context.fill(variable.query_text(), Style::Glob);
    Some(match variable.kind {
        VariableKind::Custom if is_json(variable) => json_options(&text()),
        VariableKind::Custom => Ok(custom(&text())),
        VariableKind::Interval => Ok(intervals(variable, &text())),
        VariableKind::Datasource => data_sources(variable),
        VariableKind::Constant => Ok(vec![Choice::plain(text())]),
        VariableKind::Textbox => Ok(Vec::new()),
        VariableKind::Switch => Ok(switch(variable)),
        _ => return None,
    })
}

/// `a, b, Label : value`; a comma within a value is written `\,`. A label may hold colons, its value
/// stands behind the last.
fn custom(list: &str) -> Vec<Choice> {
    let mut parts = vec![String::new()];
    let mut chars = list.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\\' if chars.peek() == Some(&',') => {
                chars.next();
                if let Some(part) = parts.last_mut() {
                    part.push(',');
                }
            }
            ',' => parts.push(String::new()),
            c => {
                if let Some(part) = parts.last_mut() {
                    part.push(c);
                }
            }
        }
    }
    let choice = |part: &String| {
        let part = part.trim();
        match part.rsplit_once(" : ") {
            Some((text, value)) => {
                Choice { text: text.trim().to_owned(), value: value.trim().to_owned() }
            }
            None => Choice::plain(part),
        }
    };
    let parts = parts.iter().filter(|part| !part.trim().is_empty());
    parts.take(MAX_OPTIONS).map(choice).collect()
}

fn is_json(variable: &Variable) -> bool {
    read::text(&variable.raw, "valuesFormat") == Some("json")
}

/// A list of texts, or of objects with `text` and `value`.
fn json_options(list: &str) -> Result<Vec<Choice>, String> {
    let values: Vec<Value> = serde_json::from_str(list)
        .map_err(|error| format!("its values are no JSON list: {error}"))?;
    let choice = |value: &Value| match value {
        Value::Object(of) => {
            let value = read::text_of(of.get("value")?)?;
            let text = of.get("text").and_then(read::text_of).unwrap_or_else(|| value.clone());
            Some(Choice { text, value })
        }
        value => read::text_of(value).map(Choice::plain),
    };
    Ok(values.iter().filter_map(choice).take(MAX_OPTIONS).collect())
}

/// What a list in JSON says of its values besides.
pub fn members(variable: &Variable, context: &Context) -> Members {
    if variable.kind != VariableKind::Custom || !is_json(variable) {
        return Members::new();
    }
    let list = context.fill(variable.query_text(), Style::Glob);
    let values: Vec<Value> = serde_json::from_str(&list).unwrap_or_default();
    let of_value = |value: &Value| {
        let of = value.as_object()?;
        let others = of.iter().filter(|(name, _)| !["text", "value"].contains(&name.as_str()));
        let members =
            others.filter_map(|(name, value)| Some((name.clone(), read::text_of(value)?)));
        Some((read::text_of(of.get("value")?)?, members.collect::<BTreeMap<_, _>>()))
    };
    values.iter().filter_map(of_value).take(MAX_OPTIONS).collect()
}

/// `1m,10m,"1h"`, and one that fits the time if that is wanted.
fn intervals(variable: &Variable, list: &str) -> Vec<Choice> {
    let durations = list.split(',').map(|part| part.trim().trim_matches(['"', '\'']));
    let mut options: Vec<Choice> =
        durations.filter(|part| !part.is_empty()).map(Choice::plain).collect();
    if read::is_true(&variable.raw, "auto") {
        let value = format!("{AUTO}{}", variable.name);
        options.insert(0, Choice { text: "auto".to_owned(), value });
    }
    options
}

/// The duration that fits the time, for a variable that offers it.
pub fn auto_interval(variable: &Variable, range_millis: i64) -> String {
    let points =
        read::integer(&variable.raw, "auto_count").filter(|count| *count > 0).unwrap_or(30);
    let least = read::text(&variable.raw, "auto_min").and_then(parse).unwrap_or(1);
    short(interval(range_millis, points, least))
}

fn data_sources(variable: &Variable) -> Result<Vec<Choice>, String> {
    let kind = variable.query_text();
    let language = Language::of_kind(kind)
        .ok_or_else(|| format!("the data source type `{kind}` is not supported"))?;
    // The regular expression of such a variable picks names that only its author's Grafana has.
    let ours = OURS.iter().filter(|ours| ours.language == language);
    Ok(ours.map(|ours| Choice { text: ours.name.to_owned(), value: ours.uid.to_owned() }).collect())
}

fn switch(variable: &Variable) -> Vec<Choice> {
    // The classic schema lists both, newer ones name them.
    let value = |key: &str, place: usize, otherwise: &str| {
        let listed = variable.options.get(place).map(|choice| choice.value.as_str());
        Choice::plain(read::text(&variable.raw, key).or(listed).unwrap_or(otherwise))
    };
    vec![value("enabledValue", 0, "true"), value("disabledValue", 1, "false")]
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn offered(of: Value) -> Vec<(String, String)> {
        let variable = Variable::read(of.as_object().unwrap()).unwrap();
        let options = options(&variable, &Context::default()).unwrap().unwrap();
        options.into_iter().map(|choice| (choice.text, choice.value)).collect()
    }

    fn pairs(list: &[(&str, &str)]) -> Vec<(String, String)> {
        list.iter().map(|(text, value)| ((*text).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn a_custom_list_has_labels_and_escaped_commas() {
        let list =
            json!({"name": "a", "type": "custom", "query": "x, GPUs : gpu , a\\,b,,http://h:1"});
        let expected = [("x", "x"), ("GPUs", "gpu"), ("a,b", "a,b"), ("http://h:1", "http://h:1")];
        assert_eq!(offered(list), pairs(&expected));
        let list = json!({"name": "a", "type": "custom", "query": "a : b : c"});
        assert_eq!(offered(list), pairs(&[("a : b", "c")]));
        let query = "[\"x\", 3, {\"text\": \"T\", \"value\": \"v\"}]";
        let list = json!({"name": "a", "type": "custom", "valuesFormat": "json", "query": query});
        assert_eq!(offered(list), pairs(&[("x", "x"), ("3", "3"), ("T", "v")]));
    }

    #[test]
    fn a_list_in_json_says_more_of_its_values() {
        let query =
            r#"["x", {"value": "eu", "text": "Europe", "zone": "eu-1", "nodes": 3, "a": {}}]"#;
        let of = json!({"name": "a", "type": "custom", "valuesFormat": "json", "query": query});
        let variable = Variable::read(of.as_object().unwrap()).unwrap();
        let members = members(&variable, &Context::default());
        let pairs = [("nodes", "3"), ("zone", "eu-1")].map(|(k, v)| (k.to_owned(), v.to_owned()));
        assert_eq!(members, Members::from([("eu".to_owned(), BTreeMap::from(pairs))]));
    }

    #[test]
    fn an_interval_offers_durations_and_one_that_fits() {
        let of = json!({"name": "i", "type": "interval", "query": "1m,\"5m\"", "auto": true, "auto_count": 10, "auto_min": "30s"});
        assert_eq!(
            offered(of.clone()),
            pairs(&[("auto", "$__auto_interval_i"), ("1m", "1m"), ("5m", "5m")])
        );
        let variable = Variable::read(of.as_object().unwrap()).unwrap();
        assert_eq!(auto_interval(&variable, 3_600_000), "5m");
        assert_eq!(auto_interval(&variable, 60_000), "30s");
    }

    #[test]
    fn a_switch_has_two_values_however_they_are_written() {
        let both = |of| offered(of).into_iter().map(|(_, value)| value).collect::<Vec<_>>();
        assert_eq!(both(json!({"name": "s", "type": "switch"})), ["true", "false"]);
        let options =
            json!([{"text": "Enabled", "value": "1"}, {"text": "Disabled", "value": "0"}]);
        let listed = json!({"name": "s", "type": "switch", "options": options});
        assert_eq!(both(listed), ["1", "0"]);
        let named =
            json!({"name": "s", "type": "switch", "enabledValue": "on", "disabledValue": "off"});
        assert_eq!(both(named), ["on", "off"]);
    }

    #[test]
    fn a_data_source_variable_offers_ours() {
        let of =
            json!({"name": "ds", "type": "datasource", "query": "prometheus", "regex": "/prod/"});
        assert_eq!(offered(of), pairs(&[("Kymograph metrics", "kymo-prometheus")]));
        let other = json!({"name": "ds", "type": "datasource", "query": "influxdb"});
        let other = Variable::read(other.as_object().unwrap()).unwrap();
        assert!(options(&other, &Context::default()).unwrap().is_err());
    }
}
