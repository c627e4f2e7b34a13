//! Settings in a YAML file: known keys, values of their kind, or a problem with its place.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use kymo_yaml::nearest;

use super::resolve::{Problem, Source};
use super::sections::{self, Sections};
use super::setting::Setting;
use super::table;
use super::tenants::{self, Tenant};
use super::value::{Kind, Value};
use kymo_yaml::{Entry, Node, Place, Scalar};

/// The key below which tenants have values of their own.
pub(crate) const TENANTS: &str = "tenants";

/// A setting in a file.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) setting: &'static Setting,
    pub(crate) value: Value,
    pub(crate) source: Source,
}

/// All settings in a file.
#[derive(Debug, Default)]
pub(crate) struct FileSettings {
    /// The file, if there is one.
    pub(crate) path: Option<String>,
    /// Whether it refers to variables that are not set, which was told.
    pub(crate) has_unresolved: bool,
    pub(crate) settings: Vec<Found>,
    pub(crate) tenants: Vec<Tenant>,
    pub(crate) sections: Sections,
    /// The same as they stand in the file, with references to variables.
    pub(crate) sections_as_written: Vec<Entry>,
}

impl FileSettings {
    /// A section as it stands in the file.
    pub(crate) fn section(&self, key: &str) -> Option<&Entry> {
        self.sections_as_written.iter().find(|entry| entry.key == key)
    }
}

/// Reads a file, which may refer to variables.
pub(crate) fn read(
    path: &Path,
    text: &str,
    variables: &BTreeMap<String, String>,
    problems: &mut Vec<Problem>,
) -> FileSettings {
    let path = path.display().to_string();
    let mut reader = Reader { path, problems, unresolved: Vec::new() };
    let mut entries = match kymo_yaml::parse(text) {
        Ok(entries) => entries,
        Err(problem) => {
            reader.problem_of(&problem);
            return FileSettings { path: Some(reader.path), ..FileSettings::default() };
        }
    };
    let as_written = entries.iter().filter(|entry| sections::is_one(&entry.key)).cloned();
    let mut found = FileSettings {
        path: Some(reader.path.clone()),
        sections_as_written: as_written.collect(),
        ..FileSettings::default()
    };
    let variable = |name: &str| variables.get(name).cloned();
    for problem in kymo_yaml::references::expand(&mut entries, &variable) {
        reader.problem_of(&problem);
        reader.unresolved.extend(problem.at);
        found.has_unresolved = true;
    }
    for entry in &entries {
        if entry.key == TENANTS {
            found.tenants = tenants::read(&mut reader, entry);
        } else if sections::is_one(&entry.key) {
            found.sections.read(&mut reader, entry);
        } else {
            reader.entry(Scope::Server, "", entry, &mut found.settings);
        }
    }
    found
}

/// Which settings may stand at a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    Server,
    Tenant,
}

impl Scope {
    fn settings(self) -> impl Iterator<Item = &'static Setting> {
        table::settings().filter(move |setting| self == Self::Server || setting.per_tenant)
    }
}

/// Reads keys and collects what is wrong.
pub(crate) struct Reader<'a> {
    path: String,
    problems: &'a mut Vec<Problem>,
    /// Values that refer to variables that are not set: nothing more is to be said of them.
    unresolved: Vec<Place>,
}

impl Reader<'_> {
    /// What a reader of YAML says.
    pub(crate) fn problem_of(&mut self, problem: &kymo_yaml::Problem) {
        match problem.at {
            Some(at) => self.problem(at, problem.words()),
            None => self.problems.push(Problem::new(self.path.clone(), problem.words())),
        }
    }

    pub(crate) fn problem(&mut self, at: Place, message: impl Into<String>) {
        if self.unresolved.contains(&at) {
            return;
        }
        let place = format!("{}:{}:{}", self.path, at.line, at.column);
        self.problems.push(Problem::new(place, message));
    }

    /// Reads a key and what is below it.
    pub(crate) fn entry(
        &mut self,
        scope: Scope,
        prefix: &str,
        entry: &Entry,
        found: &mut Vec<Found>,
    ) {
        let key = format!("{prefix}{}", entry.key);
        if let Some(setting) = scope.settings().find(|setting| setting.key == key) {
            // `a: {b: 1}` and `a.b: 2` are different keys for YAML.
            if found.iter().any(|known| known.setting.key == key) {
                self.problem(entry.key_at, format!("{key} is there twice"));
                return;
            }
            match self.value(setting, &entry.node) {
                Ok(value) => {
                    let source = Source::File { path: self.path.clone(), line: entry.key_at.line };
                    found.push(Found { setting, value, source });
                }
                Err(what) => {
                    // Where nothing is written there is no place for it but the key's.
                    let at = if entry.node == Node::Null { entry.key_at } else { entry.at };
                    self.problem(at, format!("{key} {what}"));
                }
            }
            return;
        }
        let below = format!("{key}.");
        let first_below = scope.settings().find_map(|s| s.key.strip_prefix(&below));
        match (first_below, &entry.node) {
            (Some(_), Node::Map(entries)) => {
                for entry in entries {
                    self.entry(scope, &below, entry, found);
                }
            }
            // A group of which everything is commented out.
            (Some(_), Node::Null) => {}
            (Some(example), _) => self.problem(entry.at, group_expected(&key, example)),
            (None, _) => self.problem(entry.key_at, unknown(scope, prefix, &entry.key)),
        }
    }

    fn value(&self, setting: &Setting, node: &Node) -> Result<Value, String> {
        let expected = setting.expected();
        match node {
            Node::Scalar(Scalar { text, .. }) => {
                setting.read(text).map_err(|expected| format!("is {text:?}: {expected}"))
            }
            Node::Null if setting.is_optional() => Ok(Value::None),
            Node::Null => Err(format!("has no value: {expected}")),
            Node::List(items) if matches!(setting.kind, Kind::List | Kind::Durations) => {
                let texts = items.iter().map(|item| item.node.as_text().map(str::to_owned));
                let texts: Option<Vec<String>> = texts.collect();
                let texts = texts.ok_or_else(|| format!("has lists in its list: {expected}"))?;
                if matches!(setting.kind, Kind::List) {
                    return Ok(Value::List(texts));
                }
                let text = texts.join(",");
                setting.read(&text).map_err(|expected| format!("is {text:?}: {expected}"))
            }
            Node::List(_) => Err(format!("is a list: {expected}")),
            Node::Map(_) => Err(format!("has keys below it: {expected}")),
        }
    }
}

/// What to say where a group has a value instead of keys.
pub(crate) fn group_expected(key: &str, example: &str) -> String {
    format!("{key} is a group of settings: put them below it, such as {example}")
}

fn unknown(scope: Scope, prefix: &str, key: &str) -> String {
    let whole = format!("{prefix}{key}");
    if scope == Scope::Tenant && Scope::Server.settings().any(|s| is_at_or_below(s, &whole)) {
        return format!("{whole} is the same for all tenants; set it outside of tenants");
    }
    let of_what = if scope == Scope::Tenant { " of a tenant" } else { "" };
    let at_the_top = scope == Scope::Server && prefix.is_empty();
    let siblings: BTreeSet<&str> = scope
        .settings()
        .filter_map(|setting| setting.key.strip_prefix(prefix))
        .map(|rest| rest.split('.').next().unwrap_or(rest))
        .chain(at_the_top.then_some(TENANTS))
        .chain(at_the_top.then_some(sections::NAMES).into_iter().flatten())
        .collect();
    // By its last part alone, then by few letters: beside it first, then anywhere.
    let by_last_part =
        scope.settings().find(|s| s.key.contains('.') && s.key.rsplit('.').next() == Some(key));
    let siblings: Vec<String> = siblings.iter().map(|name| format!("{prefix}{name}")).collect();
    let candidates =
        siblings.iter().map(String::as_str).chain(scope.settings().map(|setting| setting.key));
    let meant = match by_last_part {
        Some(setting) => Some(setting.key),
        None => nearest(&whole, candidates),
    };
    match meant {
        Some(meant) => format!("{whole} is not a setting{of_what}; did you mean {meant}?"),
        None => {
            format!("{whole} is not a setting{of_what}; docs/configuration.md lists them all")
        }
    }
}

fn is_at_or_below(setting: &Setting, key: &str) -> bool {
    setting.key.strip_prefix(key).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}
