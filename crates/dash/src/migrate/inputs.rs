//! What a shared dashboard leaves open: data sources and constants to be filled in when it is imported,
//! and panels of the library that it was exported with.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::notes::Notes;
use crate::model::read::{self, Object};
use crate::model::source::Language;

/// Fills in inputs and library panels.
pub(super) fn resolve(json: &mut Object, general: &mut Notes) {
    let inputs = inputs(json, general);
    library(json, general);
    json.remove("__inputs");
    json.remove("__requires");
    json.remove("__elements");
    if !inputs.is_empty() {
        for value in json.values_mut() {
            fill(value, &inputs);
        }
    }
}

/// Inputs by the text that stands for them.
fn inputs(json: &Object, general: &mut Notes) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for input in read::list(json, "__inputs").iter().filter_map(Value::as_object) {
        let Some(name) = read::text(input, "name") else { continue };
        let value = match read::text(input, "type") {
            Some("datasource") => {
                let plugin = read::text(input, "pluginId").unwrap_or_default();
                match Language::of_kind(plugin) {
                    Some(language) => language.source().uid.to_owned(),
                    None => {
                        general.lost(format!(
                            "it asks for a data source of type `{plugin}`, which is not supported"
                        ));
                        continue;
                    }
                }
            }
            _ => read::text(input, "value").unwrap_or_default().to_owned(),
        };
        found.insert(format!("${{{name}}}"), value);
    }
    found
}

/// Puts inputs in, wherever they stand. The depth of the value was checked.
fn fill(value: &mut Value, inputs: &BTreeMap<String, String>) {
    match value {
        Value::String(text) if text.contains("${") => {
            for (name, value) in
                inputs.iter().filter(|(name, _)| text.contains(*name)).collect::<Vec<_>>()
            {
                *text = text.replace(name, value);
            }
        }
        Value::Array(values) => values.iter_mut().for_each(|value| fill(value, inputs)),
        Value::Object(of) => of.values_mut().for_each(|value| fill(value, inputs)),
        _ => {}
    }
}

/// Puts the models of library panels where they are used.
fn library(json: &mut Object, general: &mut Notes) {
    let elements = match json.get("__elements") {
        Some(Value::Object(elements)) => elements.clone(),
        // A list in some versions.
        Some(Value::Array(elements)) => elements
            .iter()
            .filter_map(|element| Some((element.get("uid")?.as_str()?.to_owned(), element.clone())))
            .collect(),
        _ => Object::new(),
    };
    let Some(Value::Array(panels)) = json.get_mut("panels") else { return };
    for panel in panels.iter_mut().filter_map(Value::as_object_mut) {
        one(panel, &elements, general);
        let Some(Value::Array(within)) = panel.get_mut("panels") else { continue };
        for panel in within.iter_mut().filter_map(Value::as_object_mut) {
            one(panel, &elements, general);
        }
    }
}

fn one(panel: &mut Object, elements: &Object, general: &mut Notes) {
    let Some(Value::Object(library)) = panel.get("libraryPanel") else { return };
    let name = read::text(library, "name").unwrap_or("without a name").to_owned();
    let uid = read::text(library, "uid").unwrap_or_default();
    // The export's copy, or the one that some versions leave in the panel.
    let model = elements.get(uid).and_then(|element| element.get("model"));
    let model = model.or_else(|| library.get("model")).and_then(Value::as_object).cloned();
    match model {
        Some(model) => {
            for (key, value) in model {
                if !["id", "gridPos", "libraryPanel"].contains(&key.as_str()) {
                    panel.insert(key, value);
                }
            }
        }
        None if read::text(panel, "type").is_none_or(|kind| kind == "library-panel-ref") => {
            general.lost(format!(
                "the library panel `{name}` is not in the file: export the dashboard for sharing externally"
            ));
            panel.insert("type".to_owned(), json!("library-panel"));
        }
        None => {}
    }
}
