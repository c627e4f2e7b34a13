//! Runs the scripts in `tests/traceql/`, which say what queries mean. `basics.test` explains how
//! they are written.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

mod common;

use std::path::{Path, PathBuf};

use common::{Model, Span, Values, intrinsic, search};
use kymo_traceql::ast::{Body, Expr, Intrinsic, Kind, Name, Spansets, Stage, Status};
use kymo_traceql::{Element, OwnedValue, Value, parse, parse_attribute};

/// Traces so far, with their names.
#[derive(Default)]
struct Script {
    names: Vec<String>,
    traces: Vec<Model>,
}

fn scripts() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/traceql");
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "test"));
    paths.sort();
    paths
}

#[test]
fn queries_mean_what_the_scripts_say() {
    let mut failures = Vec::new();
    let mut asked = 0;
    for path in scripts() {
        let text = std::fs::read_to_string(&path).unwrap();
        let file = path.file_name().unwrap().to_string_lossy().into_owned();
        let mut script = Script::default();
        let mut lines = text.lines().enumerate().peekable();
        while let Some((number, line)) = lines.next() {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let mut block = Vec::new();
            while let Some((_, line)) = lines.next_if(|(_, line)| !line.is_empty()) {
                block.push(line);
            }
            let (command, argument) = line.split_once(' ').unwrap_or((line, ""));
            let found = match command {
                "trace" => {
                    script.add(argument, &block);
                    continue;
                }
                "search" => script.search(argument),
                "refuse" => match parse(argument) {
                    Ok(query) => format!("it is accepted: {query}"),
                    Err(error) => error.to_string(),
                },
                "print" => match parse(argument) {
                    Ok(query) => query.to_string(),
                    Err(error) => error.to_string(),
                },
                _ => panic!("{file}:{}: {command:?} is no command", number + 1),
            };
            asked += 1;
            let expected = block.join("\n");
            if found != expected {
                failures.push(format!("{file}:{}: {line}\n{found}", number + 1));
            }
        }
    }
    assert!(asked > 100, "{asked}");
    assert!(failures.is_empty(), "not as expected, but\n\n{}\n", failures.join("\n\n"));
}

impl Script {
    /// The spansets of each trace, a line each.
    fn search(&self, query: &str) -> String {
        let found = match search(query, &self.traces) {
            Ok(found) if found.is_empty() => return "nothing".to_owned(),
            Ok(found) => found,
            Err(error) => return error.to_string(),
        };
        let mut lines = Vec::new();
        for (trace, spansets) in found {
            for set in spansets {
                let label = |span: &u32| &*self.traces[trace].spans[*span as usize].label;
                let labels: Vec<&str> = set.spans.iter().map(label).collect();
                let mut line = format!("{}: {}", self.names[trace], labels.join(" "));
                for (key, value) in set.attributes {
                    line += &format!(" [{key} = {value}]");
                }
                lines.push(line);
            }
        }
        lines.join("\n")
    }

    /// Adds a trace: its name and what all spans have, then spans, events and links.
    fn add(&mut self, head: &str, lines: &[&str]) {
        let (name, shared) = head.split_once(' ').unwrap_or((head, ""));
        let shared = values(shared);
        let mut model = Model::default();
        // Spans that are open, with how far they are indented.
        let mut open: Vec<(usize, usize)> = Vec::new();
        for line in lines {
            let content = line.trim_start();
            let indent = line.len() - content.len();
            open.retain(|(outer, _)| *outer < indent);
            let parent = open.last().map(|(_, span)| *span);
            let (label, rest) = content.split_once(' ').unwrap_or((content, ""));
            match (label, parent) {
                ("event", Some(span)) => model.spans[span].events.push(values(rest)),
                ("link", Some(span)) => model.spans[span].links.push(values(rest)),
                _ => {
                    open.push((indent, model.spans.len()));
                    model.spans.push(span(label, rest, parent, &shared));
                }
            }
        }
        self.names.push(name.to_owned());
        self.traces.push(model);
    }
}

fn span(label: &str, rest: &str, parent: Option<usize>, shared: &Values) -> Span {
    let (is_orphan, rest) = match rest.strip_prefix("orphan") {
        Some(rest) => (true, rest),
        None => (false, rest),
    };
    let mut all: Values = [
        (Intrinsic::Name, OwnedValue::Text(label.to_owned())),
        (Intrinsic::Status, OwnedValue::Status(Status::Unset)),
        (Intrinsic::StatusMessage, OwnedValue::Text(String::new())),
        (Intrinsic::Kind, OwnedValue::Kind(Kind::Unspecified)),
        (Intrinsic::Duration, OwnedValue::Duration(0)),
    ]
    .into_iter()
    .map(|(which, value)| (intrinsic(which), value))
    .collect();
    all.extend(shared.clone());
    all.extend(values(rest));
    Span {
        label: label.to_owned(),
        values: all,
        parent,
        is_root: parent.is_none() && !is_orphan,
        ..Span::default()
    }
}

/// `name=value name=value …`.
fn values(text: &str) -> Values {
    let mut values = Values::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let (name, after) = rest.split_once('=').unwrap_or_else(|| panic!("{rest:?}"));
        let end = match after.chars().next() {
            Some('"') => after[1..].find('"').unwrap() + 2,
            Some('[') => after.find(']').unwrap() + 1,
            _ => after.find(' ').unwrap_or(after.len()),
        };
        let name = match parse_attribute(name).unwrap().name {
            Name::Intrinsic(which) => intrinsic(which),
            keyed => keyed,
        };
        values.insert(name, value(&after[..end]));
        rest = after[end..].trim_start();
    }
    values
}

fn value(text: &str) -> OwnedValue {
    if let Some(inside) = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')) {
        let elements = inside.split(',').map(str::trim).filter(|element| !element.is_empty());
        let element = |text| match value(text) {
            OwnedValue::Text(text) => Element::Text(text.into()),
            OwnedValue::Int(value) => Element::Int(value),
            OwnedValue::Float(value) => Element::Float(value),
            OwnedValue::Bool(value) => Element::Bool(value),
            other => panic!("{other:?} cannot be in an array"),
        };
        return OwnedValue::Array(elements.map(element).collect());
    }
    let query = parse(&format!("{{ .x = {text} }}")).unwrap();
    if let Body::Spans(pipeline) = query.body
        && let Stage::Spansets(Spansets::Filter(Expr::Binary { right, .. })) = &pipeline.stages[0]
        && let Expr::Literal(literal) = &**right
    {
        return Value::from(literal).into();
    }
    panic!("{text:?} is no value");
}
