//! The processor `transform`: of its statements, those that set, delete, hash or redact attributes.
//!
//! ```text
//! set(attributes["a"], "b") where …      upsert
//! set(attributes["a"], SHA256(attributes["a"]))   hash
//! delete_key(attributes, "a")            delete
//! delete_matching_keys(attributes, "^a\\..*")     delete, of a prefix
//! replace_pattern(attributes["a"], "re", "x")     redact
//! replace_all_patterns(attributes, "value", "re", "x")  redact
//! ```

use kymo_yaml::{Node, Place};

use super::drafts::{Draft, list, prefix, set, target};
use crate::document::{Map, Value};
use crate::model::Signal;
use crate::notes::shown;
use crate::ottl::{
    Context, Literal, Operand, OttlError, Path, condition, field, parse_condition, parse_statement,
};
use crate::section::Section;
use crate::traceql::{all_of, any_of, check};

pub(super) fn translate(mut section: Section<'_>, signal: Signal) -> Vec<Draft> {
    section
        .noted(&["error_mode"], "a statement never fails here; where it cannot be done, it is not");
    let mut drafts = Vec::new();
    for (key, of, context) in [
        ("trace_statements", Signal::Traces, Context::Span),
        ("metric_statements", Signal::Metrics, Context::DataPoint),
        ("log_statements", Signal::Logs, Context::Log),
    ] {
        let Some(entry) = section.take(key) else { continue };
        if of != signal {
            continue;
        }
        let Node::List(items) = &entry.node else {
            let what = format!("{}.{key}: expected a list", section.path);
            section.notes.lost(entry.at, what);
            continue;
        };
        for (nth, item) in items.iter().enumerate() {
            let path = format!("{}.{key}[{nth}]", section.path);
            match &item.node {
                Node::Scalar(scalar) => {
                    let text = section.referring(&scalar.text, item.at);
                    let group = Group { context, conditions: Vec::new(), path };
                    group.statement(&text, item.at, &section, &mut drafts);
                }
                node => {
                    let group = Section::new(path, item.at, node, section.notes);
                    statements(group, context, &mut drafts);
                }
            }
        }
    }
    section.finish();
    drafts
}

/// `{context: span, conditions: [...], statements: [...]}`.
fn statements(mut section: Section<'_>, default: Context, drafts: &mut Vec<Draft>) {
    section
        .noted(&["error_mode"], "a statement never fails here; where it cannot be done, it is not");
    let context = match section.text("context") {
        None => default,
        Some(name) => match Context::from_name(&name.value) {
            Some(context) => context,
            None => {
                let what =
                    format!("{}.context: {} has no counterpart", section.path, shown(&name.value));
                section.notes.lost(name.at, what);
                section.take_all();
                return;
            }
        },
    };
    let mut conditions = Vec::new();
    for text in section.texts("conditions") {
        match parse_condition(&text.value) {
            Ok(tree) => conditions.push(tree),
            Err(why) => {
                // Without all of its conditions a statement would be about other records.
                let what = format!(
                    "{}.conditions: {} cannot be said: {why}",
                    section.path,
                    shown(&text.value)
                );
                section.notes.lost(text.at, what);
                section.take_all();
                return;
            }
        }
    }
    let group = Group { context, conditions, path: section.path.clone() };
    for text in section.texts("statements") {
        group.statement(&text.value, text.at, &section, drafts);
    }
    section.finish();
}

/// Statements of one context, each done if one of the conditions holds.
struct Group {
    context: Context,
    conditions: Vec<crate::ottl::Condition>,
    path: String,
}

impl Group {
    fn statement(&self, text: &str, at: Place, section: &Section<'_>, drafts: &mut Vec<Draft>) {
        if let Err(why) = self.said(text, drafts) {
            let what = format!("{}: {} cannot be said: {why}", self.path, shown(text));
            section.notes.lost(at, what);
        }
    }

    fn said(&self, text: &str, drafts: &mut Vec<Draft>) -> Result<(), OttlError> {
        let statement = parse_statement(text)?;
        let mut conditions = Vec::new();
        if !self.conditions.is_empty() {
            let each: Result<Vec<_>, _> =
                self.conditions.iter().map(|tree| condition(tree, self.context)).collect();
            conditions.extend(any_of(&each?));
        }
        if let Some(tree) = &statement.condition {
            conditions.push(condition(tree, self.context)?);
        }
        let condition = all_of(&conditions);
        if let Some(condition) = &condition {
            check(condition).map_err(|why| OttlError::new(0, why))?;
        }
        let editor = &statement.editor;
        let unsaid = || {
            OttlError::new(
                editor.at,
                format!("{}() with these arguments has no counterpart", editor.name),
            )
        };
        if !editor.is_plain {
            return Err(unsaid());
        }
        let when = condition.as_ref();
        match (editor.name.as_str(), editor.arguments.as_slice()) {
            ("set", [Operand::Path(path), Operand::Literal(literal)]) => {
                let value = literal_value(literal).ok_or_else(unsaid)?;
                set(drafts, when, "upsert", &self.target(path)?, value);
            }
            ("set", [Operand::Path(path), Operand::Call(call)])
                if call.name == "SHA256" && call.is_plain && hashes(&call.arguments, path) =>
            {
                list(drafts, when, "hash", &self.target(path)?);
            }
            ("delete_key", [Operand::Path(map), Operand::Literal(Literal::Text(key))]) => {
                let scope = self.scope(map).ok_or_else(unsaid)?;
                list(drafts, when, "delete", &target(scope, key));
            }
            (
                "delete_matching_keys",
                [Operand::Path(map), Operand::Literal(Literal::Text(keys))],
            ) => {
                let scope = self.scope(map).ok_or_else(unsaid)?;
                let prefix = prefix(keys).ok_or_else(unsaid)?;
                list(drafts, when, "delete", &format!("{scope}.{prefix}*"));
            }
            (
                "replace_pattern",
                [
                    Operand::Path(path),
                    Operand::Literal(Literal::Text(pattern)),
                    Operand::Literal(Literal::Text(with)),
                ],
            ) => drafts.push(redact(self.redacted(path)?, pattern, with, condition)),
            (
                "replace_all_patterns",
                [
                    Operand::Path(map),
                    Operand::Literal(Literal::Text(mode)),
                    Operand::Literal(Literal::Text(pattern)),
                    Operand::Literal(Literal::Text(with)),
                ],
            ) if mode == "value" => {
                let scope = self.scope(map).ok_or_else(unsaid)?;
                let all = Map::of("attributes", Value::texts([format!("{scope}.*")]));
                drafts.push(redact(all, pattern, with, condition));
            }
            _ => return Err(unsaid()),
        }
        Ok(())
    }

    /// The name of an attribute in a rule.
    fn target(&self, path: &Path) -> Result<String, OttlError> {
        let field = field(path, self.context)?;
        match &field.attribute {
            Some((owner, key)) => Ok(target(scope_of(*owner), key)),
            None => {
                let what =
                    format!("{} is no attribute, and rules change nothing else", path.dotted());
                Err(OttlError::new(path.at, what))
            }
        }
    }

    /// Whose attributes a path is, as a whole.
    fn scope(&self, path: &Path) -> Option<&'static str> {
        let names: Vec<_> = path.names.iter().map(String::as_str).collect();
        let owner = match names.as_slice() {
            ["attributes"] => self.context,
            [owner, "attributes"] => Context::from_name(owner)?,
            _ => return None,
        };
        let reaches = owner == self.context || matches!(owner, Context::Resource | Context::Scope);
        (path.keys.is_empty() && reaches && owner != Context::Metric).then(|| scope_of(owner))
    }

    /// Where something is redacted: an attribute, or the body of a log record.
    fn redacted(&self, path: &Path) -> Result<Map, OttlError> {
        let is_body = matches!(path.dotted().as_str(), "body" | "log.body") && path.keys.is_empty();
        if is_body && self.context == Context::Log {
            return Ok(Map::of("body", Value::word(true)));
        }
        Ok(Map::of("attributes", Value::texts([self.target(path)?])))
    }
}

/// Whether the only argument is the attribute that is set.
fn hashes(arguments: &[Operand], set: &Path) -> bool {
    matches!(arguments, [Operand::Path(hashed)] if hashed.is_same(set))
}

fn scope_of(owner: Context) -> &'static str {
    match owner {
        Context::Resource => "resource",
        Context::Scope => "scope",
        Context::Span | Context::Metric | Context::DataPoint | Context::Log => "",
    }
}

fn redact(mut redact: Map, pattern: &str, with: &str, condition: Option<String>) -> Draft {
    redact.set("pattern", Value::text(pattern));
    redact.set("with", Value::text(with));
    Draft { condition, action: "redact", value: redact.into() }
}

fn literal_value(literal: &Literal) -> Option<Value> {
    Some(match literal {
        Literal::Text(text) => Value::text(text),
        Literal::Number(number) => Value::word(number),
        Literal::Bool(value) => Value::word(value),
        Literal::Nil | Literal::Bytes(_) | Literal::Enum(_) => return None,
    })
}
