//! What there is to filter by: labels of streams, and fields that are found in some lines.
//!
//! Fields are structured metadata, and what JSON or logfmt make of a line; if the query has parsers
//! of its own, what they found instead. A field of the name of a stream's label is `name_extracted`.

use std::collections::{BTreeMap, BTreeSet};

use axum::body::Body;
use axum::extract::{Path, State};
use axum::response::Response;
use http::Request;
use kymo_engine::logql::LogqlValue;
use kymo_logql::ast::{Expr, LogExpr, Stage};
use kymo_logql::extract::{Logfmt, json as json_lines};
use kymo_logql::labels::{ERROR, ERROR_DETAILS, EXTRACTED};
use kymo_logql::plan::Found;
use kymo_logql::request;
use kymo_logql::units::{parse_bytes, parse_go_duration};
use serde_json::{Value, json};

use super::asked::{Asked, Unanswered, ask, json as answered};
use super::labels;
use crate::limits::{LOKI_DEFAULT_LINES, LOKI_DETECTED_FIELDS, LOKI_DETECTED_LINES};
use crate::router::Shared;

/// Labels that are shown whatever their values are.
const ALWAYS: [&str; 4] = ["cluster", "namespace", "instance", "pod"];
const JSON: &str = "json";
const LOGFMT: &str = "logfmt";

/// `/api/v1/detected_labels`
pub(super) async fn detected_labels(
    State(shared): State<Shared>,
    request: Request<Body>,
) -> Response {
    ask(shared, request, "loki_detected_labels", async |shared, asked| {
        let streams = labels::selected(&shared, asked).await?;
        let mut values: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for (name, value) in streams.iter().flat_map(|labels| labels.iter()) {
            values.entry(name).or_default().insert(value);
        }
        let shown = values.iter().filter(|(name, values)| {
            ALWAYS.contains(name) || !values.iter().all(|value| is_id(value)) || is_switch(values)
        });
        let shown: Vec<Value> = shown
            .map(|(name, values)| json!({ "label": name, "cardinality": values.len() }))
            .collect();
        Ok(answered(match shown.is_empty() {
            true => "{}".to_owned(),
            false => json!({ "detectedLabels": shown }).to_string(),
        }))
    })
    .await
}

/// Whether a value tells one from others and nothing else: a number, or a UUID.
fn is_id(value: &str) -> bool {
    let is_uuid = || {
        let lengths = value.split('-').map(str::len);
        let is_hex = |part: &str| part.bytes().all(|byte| byte.is_ascii_hexdigit());
        lengths.eq([8, 4, 4, 4, 12]) && value.split('-').all(is_hex)
            || value.len() == 32 && is_hex(value)
    };
    value.parse::<f64>().is_ok() || is_uuid()
}

fn is_switch(values: &BTreeSet<&str>) -> bool {
    values.iter().all(|value| matches!(*value, "0" | "1"))
}

/// `/api/v1/detected_fields`
pub(super) async fn detected_fields(
    State(shared): State<Shared>,
    request: Request<Body>,
) -> Response {
    ask(shared, request, "loki_detected_fields", async |shared, asked| {
        let limit = asked.count("limit", LOKI_DETECTED_FIELDS)?;
        let fields = found(&shared, asked, limit).await?;
        let fields: Vec<Value> = fields.iter().map(|(name, field)| field.shown(name)).collect();
        Ok(answered(json!({ "fields": fields, "limit": limit }).to_string()))
    })
    .await
}

/// `/api/v1/detected_field/{name}/values`
pub(super) async fn values(
    State(shared): State<Shared>,
    Path(name): Path<String>,
    request: Request<Body>,
) -> Response {
    ask(shared, request, "loki_detected_fields", async |shared, asked| {
        let limit = asked.count("limit", LOKI_DETECTED_FIELDS)?;
        let fields = found(&shared, asked, usize::MAX).await?;
        let values = fields.get(&name).map(|field| field.values.iter().take(limit).collect());
        let values: Vec<&String> = values.unwrap_or_default();
        Ok(answered(json!({ "values": values, "limit": limit }).to_string()))
    })
    .await
}

/// What was found of a field.
#[derive(Debug)]
struct Field {
    kind: &'static str,
    values: BTreeSet<String>,
    parsers: Vec<&'static str>,
    json_path: Vec<String>,
}

impl Field {
    fn shown(&self, name: &str) -> Value {
        let mut shown = json!({
            "label": name,
            "type": self.kind,
            "cardinality": self.values.len(),
            "parsers": if self.parsers.is_empty() { Value::Null } else { json!(self.parsers) },
        });
        if !self.json_path.is_empty() {
            shown["jsonPath"] = json!(self.json_path);
        }
        shown
    }
}

type Fields = BTreeMap<String, Field>;

/// The fields of the newest lines.
async fn found(shared: &Shared, asked: Asked, most: usize) -> Result<Fields, Unanswered> {
    let range = asked.range()?;
    let Expr::Log(log) = asked.expression()? else {
        return Err("only log queries are supported: expected a selector, and stages if any"
            .to_owned()
            .into());
    };
    let lines = asked.count("line_limit", LOKI_DEFAULT_LINES)?;
    if lines > LOKI_DETECTED_LINES {
        return Err(
            format!("line_limit is {lines}, it must be at most {LOKI_DETECTED_LINES}").into()
        );
    }
    let parsers = own_parsers(&log);
    let mut request = request::Request::range(range.start, range.end, 1);
    request.limit = lines;
    let answer = shared.engine.logql(asked.tenants, Expr::Log(log), request).await?;
    let LogqlValue::Lines(streams) = answer.value else { return Ok(Fields::new()) };
    let gather = move || {
        let mut fields = Gathered { fields: Fields::new(), most };
        for found in &streams.entries {
            fields.line(found, &parsers);
        }
        fields.fields
    };
    Ok(shared.engine.blocking(gather).await?)
}

/// The parsers that a query has itself.
fn own_parsers(log: &LogExpr) -> Vec<&'static str> {
    let parser = |stage: &Stage| match stage {
        Stage::Json | Stage::JsonPaths(_) => Some(JSON),
        Stage::Logfmt(_) => Some(LOGFMT),
        Stage::Regexp(_) => Some("regexp"),
        Stage::Pattern(_) => Some("pattern"),
        Stage::Unpack => Some("unpack"),
        _ => None,
    };
    log.stages.iter().filter_map(parser).collect()
}

struct Gathered {
    fields: Fields,
    most: usize,
}

impl Gathered {
    fn line(&mut self, found: &Found, parsers: &[&'static str]) {
        for (name, value) in found.metadata.iter() {
            self.add(name, value, None, &[]);
        }
        if !parsers.is_empty() {
            for (name, value) in found.parsed.iter() {
                if name != ERROR && name != ERROR_DETAILS {
                    for parser in parsers {
                        self.add(name, value, Some(*parser), &[]);
                    }
                }
            }
            return;
        }
        let mut pairs: Vec<(String, String)> = Vec::new();
        let mut sink = |name: &str, value: &str| pairs.push((name.to_owned(), value.to_owned()));
        let is_json = json_lines::flatten(&found.line, &|_| true, &mut sink).is_ok();
        let parser = if is_json { JSON } else { LOGFMT };
        if !is_json {
            pairs.clear();
            let mut sink =
                |name: &str, value: &str| pairs.push((name.to_owned(), value.to_owned()));
            // Without `strict` there are no errors.
            let _ = Logfmt::default().extract(&found.line, &|_| true, &mut sink);
        }
        let paths = if is_json { json_paths(&found.line) } else { BTreeMap::new() };
        let no_path = Vec::new();
        for (name, value) in &pairs {
            let path = paths.get(name).unwrap_or(&no_path);
            match found.stream.has(name) {
                true => self.add(&format!("{name}{EXTRACTED}"), value, Some(parser), path),
                false => self.add(name, value, Some(parser), path),
            }
        }
    }

    fn add(&mut self, name: &str, value: &str, parser: Option<&'static str>, path: &[String]) {
        if !self.fields.contains_key(name) {
            if self.fields.len() >= self.most {
                return;
            }
            let field = Field {
                kind: "string",
                values: BTreeSet::new(),
                parsers: Vec::new(),
                json_path: Vec::new(),
            };
            self.fields.insert(name.to_owned(), field);
        }
        let Some(field) = self.fields.get_mut(name) else { return };
        field.kind = kind_of(value);
        field.values.insert(value.to_owned());
        if let Some(parser) = parser.filter(|parser| !field.parsers.contains(parser)) {
            field.parsers.push(parser);
        }
        if field.json_path.is_empty() {
            field.json_path = path.to_vec();
        }
    }
}

/// The way to each field of a line in JSON, by the name that the field has as a label.
fn json_paths(line: &str) -> BTreeMap<String, Vec<String>> {
    let mut paths = BTreeMap::new();
    let mut reader = serde_json::Deserializer::from_str(line).into_iter::<Value>();
    if let Some(Ok(Value::Object(members))) = reader.next() {
        each_path(&members, &mut Vec::new(), &mut paths);
    }
    paths
}

fn each_path(
    members: &serde_json::Map<String, Value>,
    path: &mut Vec<String>,
    paths: &mut BTreeMap<String, Vec<String>>,
) {
    for (name, value) in members {
        path.push(name.clone());
        match value {
            Value::Object(members) => each_path(members, path, paths),
            Value::Array(_) | Value::Null => {}
            _ => {
                let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
                let joined = path.join("_");
                let mut label: String =
                    joined.chars().map(|c| if is_part(c) { c } else { '_' }).collect();
                if label.starts_with(|c: char| c.is_ascii_digit()) {
                    label.insert(0, '_');
                }
                paths.insert(label, path.clone());
            }
        }
        path.pop();
    }
}

/// What a value looks like.
fn kind_of(value: &str) -> &'static str {
    if value.parse::<i64>().is_ok() {
        "int"
    } else if value.parse::<f64>().is_ok() {
        "float"
    } else if matches!(
        value,
        "t" | "T" | "true" | "TRUE" | "True" | "f" | "F" | "false" | "FALSE" | "False"
    ) {
        "boolean"
    } else if parse_go_duration(value).is_some() {
        "duration"
    } else if parse_bytes(value).is_some() {
        "bytes"
    } else {
        "string"
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kymo_logql::labels::Labels;

    fn line(line: &str, metadata: &[(&str, &str)]) -> Found {
        Found {
            time_nanos: 1,
            sequence: 1,
            line: line.to_owned(),
            stream: Labels::of([("app", "x")]),
            metadata: Labels::of(metadata.iter().copied()),
            parsed: Labels::default(),
        }
    }

    #[test]
    fn fields_come_from_metadata_json_and_logfmt() {
        let mut gathered = Gathered { fields: Fields::new(), most: 100 };
        for found in [
            line(r#"{"step":4,"app":"inner","a":{"b.c":"5ms"},"l":[1],"n":null}"#, &[("gpu", "7")]),
            line("level=warn gpu=3 size=4KB ok=true", &[("trace_id", "bb01")]),
            line("step finished", &[]),
        ] {
            gathered.line(&found, &[]);
        }
        let shown: Vec<String> = gathered
            .fields
            .iter()
            .map(|(name, field)| {
                format!("{name} {} {} {:?}", field.kind, field.values.len(), field.parsers)
            })
            .collect();
        assert_eq!(
            shown,
            [
                r#"a_b_c duration 1 ["json"]"#,
                r#"app_extracted string 1 ["json"]"#,
                r#"gpu int 2 ["logfmt"]"#,
                r#"level string 1 ["logfmt"]"#,
                r#"ok boolean 1 ["logfmt"]"#,
                r#"size bytes 1 ["logfmt"]"#,
                r#"step int 1 ["json"]"#,
                r#"trace_id string 1 []"#,
            ]
        );
        assert_eq!(gathered.fields["a_b_c"].json_path, ["a", "b.c"]);
    }

    #[test]
    fn fields_beyond_the_limit_are_left_out() {
        let mut gathered = Gathered { fields: Fields::new(), most: 1 };
        gathered.line(&line("a=1 b=2", &[]), &[]);
        gathered.line(&line("a=3 b=2", &[]), &[]);
        assert_eq!(gathered.fields.len(), 1);
        assert_eq!(gathered.fields["a"].values.len(), 2);
    }

    #[test]
    fn values_that_are_ids_make_no_label_worth_showing() {
        for id in ["1", "1.5", "123e4567-e89b-12d3-a456-426614174000", &"a".repeat(32)] {
            assert!(is_id(id), "{id}");
        }
        for name in ["a", "", "1-2-3-4-5"] {
            assert!(!is_id(name), "{name}");
        }
    }
}
