//! Dashboards in files: JSON as it is, or wrapped in a Kubernetes ConfigMap, as Grafana's sidecar
//! reads it: each `data` member whose name ends in `.json` is a dashboard. A ConfigMap is YAML, or JSON as
//! `kubectl get -o json` writes it.

use std::collections::BTreeMap;

use kymo_yaml::{Entry, Node};
use serde::Deserialize;
use serde_json::Value;

use crate::limits::{MAX_DASHBOARD_BYTES, MAX_DASHBOARDS_PER_FILE, MAX_FILE_BYTES};

/// Why a file has no dashboards.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FileError {
    /// It is too large.
    #[error("a file with dashboards has at most {MAX_FILE_BYTES} bytes, this one has {0}")]
    TooLarge(usize),
    /// It is not JSON.
    #[error("{name} is not JSON: {message}")]
    Json {
        /// Which part of the file.
        name: String,
        /// What is wrong, and where.
        message: String,
    },
    /// It is not YAML.
    #[error("the file is not YAML: {0}")]
    Yaml(String),
    /// It is YAML but holds no dashboard.
    #[error("expected a ConfigMap with `data` whose names end in .json")]
    NoDashboard,
    /// It holds too many.
    #[error("a file holds at most {MAX_DASHBOARDS_PER_FILE} dashboards, this one has {0}")]
    TooMany(usize),
}

/// A dashboard that was found in a file.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// What it is called in the file; empty if it is all of the file.
    pub name: String,
    /// Its JSON.
    pub json: Value,
    /// The same as it is written.
    pub text: String,
}

/// The dashboards of a file: JSON of one, or YAML or JSON of one ConfigMap or several.
pub fn dashboards(text: &str) -> Result<Vec<Found>, FileError> {
    if text.len() > MAX_FILE_BYTES {
        return Err(FileError::TooLarge(text.len()));
    }
    let text = text.trim_start_matches('\u{feff}');
    let mut found = Vec::new();
    if text.trim_start().starts_with(['{', '[']) {
        let Some(resource) = Resource::read(text) else {
            let json = json("the dashboard", text)?;
            return Ok(vec![Found { name: String::new(), json, text: text.trim().to_owned() }]);
        };
        resource.dashboards(&mut found)?;
    } else {
        for document in documents(text) {
            let root = kymo_yaml::parse(&document)
                .map_err(|problem| FileError::Yaml(problem.to_string()))?;
            config_maps(&root, &mut found)?;
        }
    }
    match found.len() {
        0 => Err(FileError::NoDashboard),
        count if count > MAX_DASHBOARDS_PER_FILE => Err(FileError::TooMany(count)),
        _ => Ok(found),
    }
}

/// Documents of a YAML file. Text within a ConfigMap is indented, so that its lines are no marks.
fn documents(text: &str) -> Vec<String> {
    let mut documents = vec![String::new()];
    for line in text.lines() {
        if line.trim_end() == "---" {
            documents.push(String::new());
        } else if let Some(document) = documents.last_mut() {
            document.push_str(line);
            document.push('\n');
        }
    }
    documents.retain(|document| !document.trim().is_empty());
    documents
}

/// A ConfigMap, or a list of them.
fn config_maps(root: &[Entry], found: &mut Vec<Found>) -> Result<(), FileError> {
    let entry = |key: &str| root.iter().find(|entry| entry.key == key).map(|entry| &entry.node);
    if let Some(Node::List(items)) = entry("items") {
        for item in items {
            if let Node::Map(entries) = &item.node {
                of_map(entries, found)?;
            }
        }
        return Ok(());
    }
    of_map(root, found)
}

fn of_map(root: &[Entry], found: &mut Vec<Found>) -> Result<(), FileError> {
    let data = root.iter().find(|entry| entry.key == "data");
    let Some(Node::Map(data)) = data.map(|entry| &entry.node) else { return Ok(()) };
    for entry in data {
        if let Some(text) = entry.node.as_text() {
            member(&entry.key, text, found)?;
        }
    }
    Ok(())
}

/// A member of the `data` of a ConfigMap.
fn member(name: &str, text: &str, found: &mut Vec<Found>) -> Result<(), FileError> {
    if name.ends_with(".json") {
        let json = json(name, text)?;
        found.push(Found { name: name.to_owned(), json, text: text.trim().to_owned() });
    }
    Ok(())
}

/// What of a ConfigMap in JSON, or of a list of them, is looked at.
#[derive(Deserialize)]
struct Resource {
    #[serde(default)]
    kind: String,
    #[serde(default)]
    data: BTreeMap<String, String>,
    #[serde(default)]
    items: Vec<Resource>,
}

impl Resource {
    /// `None` if it is something else, such as a dashboard.
    fn read(text: &str) -> Option<Self> {
        let read: Self = serde_json::from_str(text).ok()?;
        ["ConfigMap", "ConfigMapList", "List"].contains(&read.kind.as_str()).then_some(read)
    }

    fn dashboards(&self, found: &mut Vec<Found>) -> Result<(), FileError> {
        for map in std::iter::once(self).chain(&self.items) {
            for (name, text) in &map.data {
                member(name, text, found)?;
            }
        }
        Ok(())
    }
}

fn json(name: &str, text: &str) -> Result<Value, FileError> {
    let name = name.to_owned();
    if text.len() > MAX_DASHBOARD_BYTES {
        let message = format!("it has more than {MAX_DASHBOARD_BYTES} bytes");
        return Err(FileError::Json { name, message });
    }
    let message = |error: serde_json::Error| error.to_string();
    serde_json::from_str(text).map_err(|error| FileError::Json { name, message: message(error) })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAP: &str = r#"
apiVersion: v1
kind: ConfigMap
metadata:
  name: ci
  labels:
    grafana_dashboard: "1"
data:
  one.json: |-
    {
      "title": "One",
      "panels": []
    }
  two.json: '{"title": "Two"}'
  notes.txt: nothing
"#;

    #[test]
    fn json_and_config_maps_hold_dashboards() {
        let names = |text: &str| -> Vec<(String, Value)> {
            let found = dashboards(text).unwrap();
            found.into_iter().map(|one| (one.name, one.json["title"].clone())).collect()
        };
        let pair = |name: &str, title: &str| (name.to_owned(), Value::from(title));
        assert_eq!(names("{\"title\": \"A\"}"), [pair("", "A")]);
        assert_eq!(names(MAP), [pair("one.json", "One"), pair("two.json", "Two")]);
        let map = r#"{"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "ci"},
            "data": {"one.json": "{\"title\": \"One\"}", "notes.txt": "nothing"}}"#;
        assert_eq!(names(map), [pair("one.json", "One")]);
        let list = format!(r#"{{"kind": "List", "items": [{map}, {{"kind": "Pod"}}, {map}]}}"#);
        assert_eq!(names(&list), [pair("one.json", "One"), pair("one.json", "One")]);
        let resource = r#"{"kind": "Dashboard", "title": "K", "data": 1, "items": [{}]}"#;
        assert_eq!(names(resource), [pair("", "K")]);
        let two = format!("---{MAP}---\n{MAP}");
        assert_eq!(names(&two).len(), 4);
        let written = dashboards("\u{feff}\n{\"b\":  1.0,\n \"a\": 2}\n").unwrap();
        assert_eq!(written[0].text, "{\"b\":  1.0,\n \"a\": 2}");
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (text, part) in [
            ("{", "is not JSON"),
            ("a: [", "not YAML"),
            ("a: b", "ConfigMap"),
            ("data:\n  x.json: \"{\"", "x.json is not JSON"),
            (r#"{"kind": "ConfigMap", "data": {"x.json": "{"}}"#, "x.json is not JSON"),
            (r#"{"kind": "ConfigMap"}"#, "ConfigMap"),
            ("", "ConfigMap"),
        ] {
            let error = dashboards(text).unwrap_err().to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
