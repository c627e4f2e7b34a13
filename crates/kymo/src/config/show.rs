//! `kymo config show`: what holds, and where each value is from.
//!
//! The YAML that is written reads back as the same configuration, unless it hides a secret.

use serde_json::{Value as Json, json};

use kymo_yaml::write::scalar;
use kymo_yaml::{Entry, Node};

use super::resolve::{Resolved, Source};
use super::sections::{self, HIDDEN, url_without_secrets};
use super::setting::Setting;
use super::table;
use super::value::{Kind, Value};

/// Everything as YAML, with a comment on each line.
pub(crate) fn yaml(resolved: &Resolved) -> String {
    let mut lines = Lines::default();
    for setting in by_group() {
        let source = resolved.sources.get(setting.key).unwrap_or(&Source::Default);
        let value = shown(setting, &setting.get(&resolved.config));
        lines.add(&[], setting.key, yaml_value(&value), comment(setting, source));
    }
    for tenant in &resolved.tenants {
        let prefix = ["tenants".to_owned(), scalar(&tenant.name)];
        for found in &tenant.settings {
            let value = shown(found.setting, &found.value);
            let comment = comment(found.setting, &found.source);
            lines.add(&prefix, found.setting.key, yaml_value(&value), comment);
        }
    }
    let mut text = lines.finish();
    text.push_str(&kymo_yaml::write::write(&sections::without_secrets(&resolved.sections)));
    text
}

/// All settings in their order, but those with the same first part together: a key stands in a file
/// once.
fn by_group() -> Vec<&'static Setting> {
    let first_part = |setting: &Setting| setting.key.split('.').next().unwrap_or(setting.key);
    let mut parts: Vec<&str> = Vec::new();
    for setting in table::settings() {
        if !parts.contains(&first_part(setting)) {
            parts.push(first_part(setting));
        }
    }
    let of_part = |part| table::settings().filter(move |setting| first_part(setting) == part);
    parts.into_iter().flat_map(of_part).collect()
}

/// Everything as one JSON object: `{"settings": {KEY: {value, source}}, "tenants": {…},
/// "sections": {…}}`.
pub(crate) fn json(resolved: &Resolved) -> Json {
    let described = |setting: &Setting, value: &Value, source: &Source| {
        let value = json_value(&shown(setting, value));
        json!({"value": value, "source": comment(setting, source)})
    };
    let settings: serde_json::Map<String, Json> = table::settings()
        .map(|setting| {
            let source = resolved.sources.get(setting.key).unwrap_or(&Source::Default);
            let value = setting.get(&resolved.config);
            (setting.key.to_owned(), described(setting, &value, source))
        })
        .collect();
    let tenants: serde_json::Map<String, Json> = resolved
        .tenants
        .iter()
        .map(|tenant| {
            let own = tenant.settings.iter().map(|found| {
                let described = described(found.setting, &found.value, &found.source);
                (found.setting.key.to_owned(), described)
            });
            (tenant.name.clone(), Json::Object(own.collect()))
        })
        .collect();
    let sections = json_map(&sections::without_secrets(&resolved.sections));
    json!({"settings": settings, "tenants": tenants, "sections": sections})
}

/// A section as JSON, with the types that YAML takes its values for.
fn json_node(node: &Node) -> Json {
    match node {
        Node::Null => Json::Null,
        Node::Scalar(scalar) if scalar.is_typed => {
            serde_json::from_str(&scalar.text).unwrap_or_else(|_| json!(scalar.text))
        }
        Node::Scalar(scalar) => json!(scalar.text),
        Node::List(items) => items.iter().map(|item| json_node(&item.node)).collect(),
        Node::Map(entries) => json_map(entries),
    }
}

fn json_map(entries: &[Entry]) -> Json {
    let pairs = entries.iter().map(|entry| (entry.key.clone(), json_node(&entry.node)));
    Json::Object(pairs.collect())
}

/// The value as it may be seen.
fn shown(setting: &Setting, value: &Value) -> Value {
    match (setting.kind, value) {
        (Kind::Secret, Value::Text(_)) => Value::Text(HIDDEN.to_owned()),
        (_, Value::Text(text)) => Value::Text(url_without_secrets(text)),
        (_, Value::List(texts)) => {
            Value::List(texts.iter().map(|text| url_without_secrets(text)).collect())
        }
        _ => value.clone(),
    }
}

fn comment(setting: &Setting, source: &Source) -> String {
    match source {
        Source::Default => "default".to_owned(),
        Source::File { path, line } | Source::EnvFile { path, line } => format!("{path}:{line}"),
        Source::Environment => setting.variable(),
        Source::Flag => format!("--{}", setting.flag()),
    }
}

/// Lines with comments, aligned at the end.
#[derive(Default)]
struct Lines {
    lines: Vec<(String, Option<String>)>,
    open: Vec<String>,
}

impl Lines {
    /// Adds a value, opening the groups it is in.
    fn add(&mut self, prefix: &[String], key: &str, value: String, comment: String) {
        let mut groups: Vec<String> = prefix.to_vec();
        groups.extend(key.split('.').map(str::to_owned));
        let name = groups.pop().unwrap_or_default();
        let shared = groups.iter().zip(&self.open).take_while(|(a, b)| a == b).count();
        self.open.truncate(shared);
        for group in &groups[shared..] {
            let indent = "  ".repeat(self.open.len());
            self.lines.push((format!("{indent}{group}:"), None));
            self.open.push(group.clone());
        }
        let indent = "  ".repeat(self.open.len());
        self.lines.push((format!("{indent}{name}: {value}"), Some(comment)));
    }

    fn finish(self) -> String {
        let width = |line: &str| line.chars().count();
        let commented = self.lines.iter().filter(|(_, comment)| comment.is_some());
        let widest = commented.map(|(line, _)| width(line)).max().unwrap_or(0);
        let mut text = String::new();
        for (line, comment) in &self.lines {
            text.push_str(line);
            if let Some(comment) = comment {
                text.push_str(&" ".repeat(widest - width(line)));
                text.push_str("  # ");
                text.push_str(comment);
            }
            text.push('\n');
        }
        text
    }
}

fn yaml_value(value: &Value) -> String {
    match value {
        Value::None => "null".to_owned(),
        Value::Text(text) => scalar(text),
        Value::List(items) => {
            let items: Vec<String> = items.iter().map(|item| scalar(item)).collect();
            format!("[{}]", items.join(", "))
        }
        other => other.text(),
    }
}

fn json_value(value: &Value) -> Json {
    match value {
        Value::None => Json::Null,
        Value::Switch(on) => json!(on),
        Value::Count(count) => json!(count),
        Value::List(items) => json!(items),
        other => json!(other.text()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::resolve::{Inputs, resolve_inputs};
    use super::*;

    fn resolve(file: &str) -> Resolved {
        let config_file = Some(("k.yaml".into(), file.into()));
        resolve_inputs(Inputs { config_file, ..Inputs::default() }).unwrap()
    }

    #[test]
    fn what_is_shown_reads_back_as_the_same() {
        let odd = "data: 'a # b: \"c\"'\nhttp: '[::1]:1'\ncors: {allowed_origins: ['http://x', 'no']}\n\
                   retention: {logs: {max_age: 36h}}\nlog: {level: 'warn,kymo_store=debug'}\n\
                   query: {max_rows: 12}\ncompaction: false\n\
                   tenants: {'a: b': {limits: {max_attributes: 1}}, '007': {limits: {max_nesting: 2}}}\n";
        let first = resolve(odd);
        let text = yaml(&first);
        let second = resolve(&text);
        for setting in table::settings() {
            assert_eq!(setting.get(&first.config), setting.get(&second.config), "{text}");
        }
        assert_eq!(first.config.server.admission, second.config.server.admission);
        assert_eq!(second.config.tenant_limits["007"].max_nesting, 2);
        assert!(text.contains("  # k.yaml:2\n") && text.contains("  # default\n"), "{text}");
    }

    #[test]
    fn passwords_are_not_shown() {
        let resolved = resolve(
            "{store: {url: 's3://key:hush@bucket'}, ci: {github: {webhook_secret: hush}}, \
             external_url: 'https://u:hush@x', cors: {allowed_origins: ['http://u:hush@y']}, \
             destinations: [{name: a, protocol: http, endpoint: 'http://h:1', bearer: hush, \
             signals: [traces], concurrency: 2}]}",
        );
        let text = yaml(&resolved);
        assert!(!text.contains("hush") && text.contains("bearer: '***'"), "{text}");
        assert_eq!(resolve(&text).config.server.destinations[0].concurrency, 2, "it reads back");
        let json = json(&resolved);
        assert!(!json.to_string().contains("hush"));
        let destination = &json["sections"]["destinations"][0];
        assert_eq!((&destination["name"], &destination["concurrency"]), (&"a".into(), &2.into()));
    }
}
