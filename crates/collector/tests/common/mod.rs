//! What several tests need.

use std::path::PathBuf;

use kymo_collector::Translation;
use kymo_yaml::Node;

/// The configurations that tests translate.
#[allow(dead_code, reason = "not every test needs it")]
pub(crate) fn fixtures() -> Vec<PathBuf> {
    let directory = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let mut paths: Vec<_> = std::fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            name.ends_with(".yml") && name.matches('.').count() == 1
        })
        .collect();
    paths.sort();
    assert!(paths.len() >= 4, "{paths:?}");
    paths
}

/// What holds for every translation: it is YAML, and all of its conditions are TraceQL.
pub(crate) fn check_output(translation: &Translation) {
    let entries = kymo_yaml::parse(&translation.yaml)
        .unwrap_or_else(|error| panic!("{error}\n{}", translation.yaml));
    let mut conditions = Vec::new();
    for entry in &entries {
        gather(&entry.key, &entry.node, &mut conditions);
    }
    for condition in conditions {
        let filter = format!("{{ {condition} }}");
        if let Err(error) = kymo_traceql::parse(&filter) {
            panic!("{condition}: {error}");
        }
    }
    for file in &translation.files {
        assert!(kymo_yaml::parse(&file.text).is_ok(), "{}", file.text);
    }
}

fn gather(key: &str, node: &Node, conditions: &mut Vec<String>) {
    match node {
        Node::Scalar(scalar) if key == "where" => conditions.push(scalar.text.clone()),
        Node::Null | Node::Scalar(_) => {}
        Node::List(items) => items.iter().for_each(|item| gather(key, &item.node, conditions)),
        Node::Map(entries) => {
            entries.iter().for_each(|entry| gather(&entry.key, &entry.node, conditions));
        }
    }
}
