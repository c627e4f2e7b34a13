//! Links of panels that named a dashboard and what to take along, as addresses.

use serde_json::{Value, json};

use super::notes::Notes;
use crate::model::read::{self, Object};

/// Members of the old form.
const OLD: [&str; 6] = ["type", "dashUri", "dashboard", "keepTime", "includeVars", "params"];

pub(super) fn migrate(panel: &mut Object, notes: &mut Notes) {
    let Some(Value::Array(links)) = panel.get_mut("links") else { return };
    for link in links.iter_mut().filter_map(Value::as_object_mut) {
        if let Some(url) = address(link, notes) {
            for key in OLD {
                link.remove(key);
            }
            link.insert("url".to_owned(), json!(url));
        }
    }
}

/// The address of a link that is written in the old form.
fn address(link: &Object, notes: &mut Notes) -> Option<String> {
    let [keeps_time, keeps_variables] =
        ["keepTime", "includeVars"].map(|key| read::is_true(link, key));
    let params = read::text(link, "params");
    let path = path(link);
    if path.is_none() && params.is_none() && !keeps_time && !keeps_variables {
        return None;
    }
    let mut url = match read::text(link, "url") {
        Some(url) => url.to_owned(),
        None => {
            let path = path?;
            let title = read::text(link, "title").unwrap_or_default();
            notes.lost(format!(
                "its link `{title}` names a dashboard by its title, which leads nowhere: write its address"
            ));
            path
        }
    };
    let parts = [
        keeps_time.then_some("${__url_time_range}"),
        keeps_variables.then_some("${__all_variables}"),
        params,
    ];
    for part in parts.into_iter().flatten() {
        url.push(if url.contains('?') { '&' } else { '?' });
        url.push_str(part);
    }
    Some(url)
}

/// Grafana's old path of a dashboard that is named by its title, or by the end of that path.
fn path(link: &Object) -> Option<String> {
    let by_title = read::text(link, "dashboard").map(slug);
    let by_title = by_title.map(|slug| format!("/dashboard/db/{slug}"));
    by_title.or_else(|| read::text(link, "dashUri").map(|end| format!("/dashboard/{end}")))
}

fn slug(title: &str) -> String {
    let kept: String =
        title.chars().filter(|c| c.is_alphanumeric() || matches!(c, '_' | ' ')).collect();
    kept.to_lowercase().split_whitespace().collect::<Vec<_>>().join("-")
}
