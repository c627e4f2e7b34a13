//! What a shared dashboard leaves open: data sources and constants to be filled in when it is imported,
//! and panels of the library that it was exported with.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::NotADashboard;
use super::notes::Notes;
use crate::limits::MAX_DASHBOARD_BYTES;
use crate::model::read::{self, Object};
use crate::model::source::Language;

/// Fills in inputs and library panels. What is written once may be named many times, so that a small file
/// could make a dashboard without end: there is room for as much as a dashboard may have.
pub(super) fn resolve(json: &mut Object, general: &mut Notes) -> Result<(), NotADashboard> {
    let mut left_bytes = MAX_DASHBOARD_BYTES;
    let inputs = inputs(json, general);
    library(json, &mut left_bytes, general)?;
    json.remove("__inputs");
    json.remove("__requires");
    json.remove("__elements");
    if !inputs.is_empty() {
        for value in json.values_mut() {
            fill(value, &inputs, &mut left_bytes)?;
        }
    }
    Ok(())
}

/// Takes room for what is put in.
fn take(left_bytes: &mut usize, bytes: usize) -> Result<(), NotADashboard> {
    *left_bytes = left_bytes.checked_sub(bytes).ok_or(NotADashboard::TooMuchPutIn)?;
    Ok(())
}

/// Inputs by their names.
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
        found.insert(name.to_owned(), value);
    }
    found
}

/// Puts inputs in, wherever they stand. The depth of the value was checked.
fn fill(
    value: &mut Value,
    inputs: &BTreeMap<String, String>,
    left_bytes: &mut usize,
) -> Result<(), NotADashboard> {
    match value {
        Value::String(text) if text.contains("${") => *text = filled(text, inputs, left_bytes)?,
        Value::Array(values) => {
            for value in values {
                fill(value, inputs, left_bytes)?;
            }
        }
        Value::Object(of) => {
            for value in of.values_mut() {
                fill(value, inputs, left_bytes)?;
            }
        }
        _ => {}
    }
    Ok(())
}

/// A text with inputs put in. What an input brings is not looked into.
fn filled(
    text: &str,
    inputs: &BTreeMap<String, String>,
    left_bytes: &mut usize,
) -> Result<String, NotADashboard> {
    let mut filled = String::with_capacity(text.len());
    for part in text.split_inclusive('}') {
        let named = part.strip_suffix('}').and_then(|part| part.rsplit_once("${"));
        match named.and_then(|(before, name)| Some((before, inputs.get(name)?))) {
            Some((before, value)) => {
                take(left_bytes, value.len())?;
                filled.push_str(before);
                filled.push_str(value);
            }
            None => filled.push_str(part),
        }
    }
    Ok(filled)
}

/// Puts the models of library panels where they are used.
fn library(
    json: &mut Object,
    left_bytes: &mut usize,
    general: &mut Notes,
) -> Result<(), NotADashboard> {
    let elements = match json.get("__elements") {
        Some(Value::Object(elements)) => elements.clone(),
        // A list in some versions.
        Some(Value::Array(elements)) => elements
            .iter()
            .filter_map(|element| Some((element.get("uid")?.as_str()?.to_owned(), element.clone())))
            .collect(),
        _ => Object::new(),
    };
    let Some(Value::Array(panels)) = json.get_mut("panels") else { return Ok(()) };
    for panel in panels.iter_mut().filter_map(Value::as_object_mut) {
        one(panel, &elements, left_bytes, general)?;
        let Some(Value::Array(within)) = panel.get_mut("panels") else { continue };
        for panel in within.iter_mut().filter_map(Value::as_object_mut) {
            one(panel, &elements, left_bytes, general)?;
        }
    }
    Ok(())
}

fn one(
    panel: &mut Object,
    elements: &Object,
    left_bytes: &mut usize,
    general: &mut Notes,
) -> Result<(), NotADashboard> {
    let Some(Value::Object(library)) = panel.get("libraryPanel") else { return Ok(()) };
    let name = read::text(library, "name").unwrap_or("without a name").to_owned();
    let uid = read::text(library, "uid").unwrap_or_default();
    // The export's copy, or the one that some versions leave in the panel.
    let model = elements.get(uid).and_then(|element| element.get("model"));
    let model = model.or_else(|| library.get("model")).filter(|model| model.is_object());
    if let Some(model) = model {
        take(left_bytes, model.to_string().len())?;
    }
    match model.and_then(Value::as_object).cloned() {
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
    Ok(())
}
