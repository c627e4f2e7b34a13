//! Annotations as dashboards write them: queries whose answers are marked over the panels.

use serde::Serialize;
use serde_json::{Value, json};

use super::read::{self, Object};
use super::source::SourceRef;

/// An annotation that asks a query.
#[derive(Debug, Clone, Default)]
pub struct Annotation {
    /// Its name.
    pub name: String,
    /// Whether it is asked unless somebody says otherwise.
    pub is_enabled: bool,
    /// Whether it is not offered to be switched on and off.
    pub is_hidden: bool,
    /// The colour of its marks.
    pub color: Option<String>,
    /// Where its query is asked.
    pub source: Option<SourceRef>,
    /// The query, as one of a panel.
    pub query: Object,
    /// The title of a mark, with `{{label}}`.
    pub title_format: String,
    /// The text of a mark, with `{{label}}`.
    pub text_format: String,
    /// Labels whose values are tags.
    pub tag_keys: Vec<String>,
    /// Whether a value is the time of its mark.
    pub uses_value_for_time: bool,
    /// The panels that it is meant for; all of them without.
    pub panels: Option<PanelFilter>,
}

/// Which panels something is meant for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct PanelFilter {
    /// Whether those that are named are left out, rather than meant.
    pub exclude: bool,
    /// Ids of panels.
    pub ids: Vec<i64>,
}

impl Annotation {
    /// Reads an annotation; `None` if it is Grafana's own, which asks nothing.
    pub fn read(of: &Object) -> Option<Self> {
        let is_builtin =
            read::is_true(of, "builtIn") || read::integer(of, "builtIn").is_some_and(|is| is != 0);
        if is_builtin {
            return None;
        }
        let own_text = |key| read::text(of, key).unwrap_or_default().to_owned();
        let tags = own_text("tagKeys");
        let tags = tags.split(',').map(str::trim).filter(|tag| !tag.is_empty());
        Some(Self {
            name: own_text("name"),
            is_enabled: of.get("enable") != Some(&Value::Bool(false)),
            is_hidden: read::is_true(of, "hide"),
            color: read::text(of, "iconColor").map(str::to_owned),
            source: SourceRef::read(read::member(of, "datasource")),
            query: query(of),
            title_format: own_text("titleFormat"),
            text_format: own_text("textFormat"),
            tag_keys: tags.map(str::to_owned).collect(),
            uses_value_for_time: read::is_true(of, "useValueForTime"),
            panels: read::object(of, "filter").and_then(panels),
        })
    }
}

/// The query: in a member of its own, or in older dashboards beside the others.
fn query(of: &Object) -> Object {
    let mut query = Object::new();
    for key in ["expr", "step", "queryType", "query", "rawSql", "maxLines"] {
        if let Some(value) = of.get(key) {
            query.insert(key.to_owned(), value.clone());
        }
    }
    if let Some(written) = read::text(of, "rawQuery") {
        query.insert("rawSql".to_owned(), json!(written));
    }
    for (key, value) in read::object(of, "target").into_iter().flatten() {
        query.insert(key.clone(), value.clone());
    }
    query
}

/// Which panels are meant; all if none is named.
fn panels(filter: &Object) -> Option<PanelFilter> {
    let ids = read::list(filter, "ids").iter().filter_map(Value::as_i64);
    let ids: Vec<i64> = ids.collect();
    let exclude = read::is_true(filter, "exclude");
    (!ids.is_empty()).then_some(PanelFilter { exclude, ids })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(of: Value) -> Option<Annotation> {
        Annotation::read(of.as_object().unwrap())
    }

    #[test]
    fn queries_stand_beside_the_others_or_in_a_member_of_their_own() {
        let old = json!({"name": "Restarts", "datasource": "Prometheus", "expr": "changes(x[5m])",
            "step": "60s", "iconColor": "red", "tagKeys": "host, job", "titleFormat": "{{host}}"});
        let old = read(old).unwrap();
        assert_eq!(
            (&old.query["expr"], &old.query["step"]),
            (&json!("changes(x[5m])"), &json!("60s"))
        );
        assert_eq!((old.color.as_deref(), old.tag_keys.len()), (Some("red"), 2));
        let new = json!({"enable": true, "target": {"refId": "Anno", "query": "{ }"},
            "filter": {"exclude": true, "ids": [3]}});
        let new = read(new).unwrap();
        assert_eq!(new.query["query"], "{ }");
        assert_eq!(new.panels, Some(PanelFilter { exclude: true, ids: vec![3] }));
        let sql = read(json!({"rawQuery": "SELECT 1", "filter": {"ids": []}})).unwrap();
        assert_eq!((&sql.query["rawSql"], sql.panels), (&json!("SELECT 1"), None));
    }

    #[test]
    fn grafanas_own_asks_nothing() {
        for of in [json!({"builtIn": 1}), json!({"builtIn": true})] {
            assert!(read(of.clone()).is_none(), "{of}");
        }
        assert!(read(json!({"builtIn": 0})).is_some());
    }

    #[test]
    fn what_says_nothing_is_switched_on_and_offered() {
        let is = |of: Value| read(of).map(|read| (read.is_enabled, read.is_hidden));
        assert_eq!(is(json!({})), Some((true, false)));
        assert_eq!(is(json!({"enable": false, "hide": true})), Some((false, true)));
    }
}
