//! Variables that meant something else once.

use serde_json::{Value, json};

use crate::model::read::{self, Object};

/// The first version of the schema in which a constant is never shown.
const CONSTANTS_HIDDEN_SINCE: i64 = 27;
/// The first version of the schema in which a query that is never asked again keeps its values.
const VALUES_KEPT_SINCE: i64 = 29;

pub(super) fn migrate(json: &mut Object, version: i64) {
    let Some(Value::Object(templating)) = json.get_mut("templating") else { return };
    let Some(Value::Array(list)) = templating.get_mut("list") else { return };
    for variable in list.iter_mut().filter_map(Value::as_object_mut) {
        match read::text(variable, "type").unwrap_or("query") {
            "constant" if version < CONSTANTS_HIDDEN_SINCE => show(variable),
            "query" if version < VALUES_KEPT_SINCE => ask_again(variable),
            _ => {}
        }
    }
}

/// One that was shown could be changed, as a text that is typed can today.
fn show(variable: &mut Object) {
    if let Some(0 | 1) = read::integer(variable, "hide") {
        let text = read::text(variable, "query").unwrap_or_default().to_owned();
        variable.insert("type".to_owned(), json!("textbox"));
        variable.insert("current".to_owned(), json!({"text": text, "value": text}));
        variable.remove("options");
    }
}

/// Values that were found when it was saved, in the author's data, are not those of today.
fn ask_again(variable: &mut Object) {
    if !matches!(read::integer(variable, "refresh"), Some(1 | 2)) {
        variable.insert("refresh".to_owned(), json!(1));
    }
    variable.remove("options");
}
