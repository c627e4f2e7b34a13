//! Text panels whose text stood beside their options.

use serde_json::{Value, json};

use super::set_missing;
use crate::model::read::{self, Object};

pub(super) fn migrate(panel: &mut Object) {
    let content = panel.remove("content");
    let mode = panel.remove("mode");
    let options = read::object_mut(panel, "options");
    if let Some(content @ Value::String(_)) = content {
        set_missing(options, "content", content);
    }
    if let Some(mode @ Value::String(_)) = mode {
        set_missing(options, "mode", mode);
    }
    // `text` was shown without markup; markdown of it is the same to a reader, and safe.
    if read::text(options, "mode") == Some("text") {
        options.insert("mode".to_owned(), json!("markdown"));
    }
    set_missing(options, "mode", json!("markdown"));
    set_missing(options, "content", json!(""));
}
