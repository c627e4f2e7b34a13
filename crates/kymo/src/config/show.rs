//! `kymo config show`: what holds, and where each value is from.
//!
//! The YAML that is written reads back as the same configuration, unless it hides a secret.

use serde_json::{Value as Json, json};

use super::resolve::{Resolved, Source};
use super::sections;
use super::setting::Setting;
use super::table;
use super::value::{Kind, Value};

/// Instead of what nobody should see.
const HIDDEN: &str = "***";

/// Everything as YAML, with a comment on each line.
pub(crate) fn yaml(resolved: &Resolved) -> String {
    let mut lines = Lines::default();
    for setting in by_group() {
        let source = resolved.sources.get(setting.key).unwrap_or(&Source::Default);
        let value = shown(setting, &setting.get(&resolved.config));
        lines.add(&[], setting.key, yaml_value(&value), comment(setting, source));
    }
    for tenant in &resolved.tenants {
        let prefix = ["tenants".to_owned(), yaml_text(&tenant.name)];
        for found in &tenant.settings {
            let value = shown(found.setting, &found.value);
            let comment = comment(found.setting, &found.source);
            lines.add(&prefix, found.setting.key, yaml_value(&value), comment);
        }
    }
    let mut text = lines.finish();
    text.push_str(&kymo_yaml::write::write(&resolved.sections, &sections::is_secret));
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

/// Everything as one JSON object: `{"settings": {KEY: {value, source}}, "tenants": {…}}`.
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
    json!({"settings": settings, "tenants": tenants})
}

/// The value as it may be seen.
fn shown(setting: &Setting, value: &Value) -> Value {
    match (setting.kind, value) {
        (Kind::Place, Value::Text(place)) => Value::Text(without_secrets(place)),
        (Kind::Secret, Value::Text(_)) => Value::Text(HIDDEN.to_owned()),
        _ => value.clone(),
    }
}

/// A URL without user, password and query.
pub(crate) fn without_secrets(place: &str) -> String {
    let Some((scheme, rest)) = place.split_once("://") else { return place.to_owned() };
    let (rest, query) = match rest.split_once('?') {
        Some((rest, _)) => (rest, format!("?{HIDDEN}")),
        None => (rest, String::new()),
    };
    match rest.rsplit_once('@') {
        Some((_, host)) => format!("{scheme}://{HIDDEN}@{host}{query}"),
        None => format!("{scheme}://{rest}{query}"),
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
        Value::Text(text) => yaml_text(text),
        Value::List(items) => {
            let items: Vec<String> = items.iter().map(|item| yaml_text(item)).collect();
            format!("[{}]", items.join(", "))
        }
        other => other.text(),
    }
}

/// A text as YAML reads it back: plain if nothing in it means something, else as in JSON.
fn yaml_text(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._/-".contains(c);
    let starts_plain = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/' || c == '.');
    let means_something = ["true", "false", "null", "yes", "no", "on", "off", "y", "n", ".", ".."]
        .iter()
        .any(|word| text.eq_ignore_ascii_case(word))
        || text.parse::<f64>().is_ok()
        || text.to_ascii_lowercase().starts_with(".inf")
        || text.eq_ignore_ascii_case(".nan");
    if starts_plain && text.chars().all(is_plain) && !means_something {
        return text.to_owned();
    }
    Json::String(text.to_owned()).to_string()
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
        assert_eq!(without_secrets("s3://key:secret@bucket/x?token=t"), "s3://***@bucket/x?***");
        assert_eq!(without_secrets("s3://bucket/x"), "s3://bucket/x");
        assert_eq!(without_secrets("/a/b@c?d"), "/a/b@c?d");
        let resolved =
            resolve("{store: {url: 's3://key:hush@bucket'}, ci: {github: {webhook_secret: hush}}}");
        assert!(!yaml(&resolved).contains("hush"));
        assert!(!json(&resolved).to_string().contains("hush"));
    }
}
