//! From the keys of a file to groups: names, expressions and templates checked, with the messages
//! of `promtool check rules`.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use kymo_promql::labels::NAME;
use kymo_scrape::config::{format_duration, parse_duration};
use kymo_traceql::ast::Body;
use serde_saphyr::{Location, Spanned};

use super::{Alerting, Group, Query, Rule, RuleKind, raw};
use crate::error::RuleError;
use crate::limits::MIN_INTERVAL;
use crate::template::Template;

type Result<T> = std::result::Result<T, RuleError>;
type Texts = BTreeMap<String, String>;

/// Reads the text of a file.
pub(super) fn file(text: &str, path: &Path) -> Result<Vec<Group>> {
    let found: Option<raw::File> =
        serde_saphyr::from_str(text).map_err(|error| RuleError::from_yaml(path, &error))?;
    let mut groups: Vec<Group> = Vec::new();
    for found in found.unwrap_or_default().groups.into_iter().flatten() {
        let at = found.referenced;
        let group = group(path, found)?;
        if groups.iter().any(|other| other.name == group.name) {
            let message = format!("groupname: {:?} is repeated in the same file", group.name);
            return Err(RuleError::at(path, at, message));
        }
        groups.push(group);
    }
    Ok(groups)
}

fn group(path: &Path, found: Spanned<raw::Group>) -> Result<Group> {
    let (at, found) = (found.referenced, found.value);
    let refuse = |at, message: String| Err(RuleError::at(path, at, message));
    let name = found.name.unwrap_or_default();
    if name.is_empty() {
        return refuse(at, "Groupname must not be empty".to_owned());
    }
    let interval = duration(path, &found.interval)?.filter(|interval| !interval.is_zero());
    if let Some(interval) = interval.filter(|interval| *interval < MIN_INTERVAL) {
        let (given, least) = (format_duration(interval), format_duration(MIN_INTERVAL));
        let message = format!("interval of group {name:?} is {given}; expected at least {least}");
        return refuse(at, message);
    }
    let labels_at = found.labels.as_ref().map_or(at, |labels| labels.referenced);
    let labels = found.labels.map(|labels| labels.value).unwrap_or_default();
    check_names(&labels).map_err(|message| RuleError::at(path, labels_at, message))?;
    let mut rules: Vec<Rule> = Vec::new();
    for (nth, found) in found.rules.into_iter().flatten().enumerate() {
        let rule_at = found.referenced;
        let source = Source { path, group: &name, nth: nth + 1, labels: &labels };
        let rule = source.rule(found)?;
        let same = rules.iter().filter(|other| {
            other.name == rule.name && other.labels == rule.labels && same_kind(other, &rule)
        });
        let mut same = same.peekable();
        if same.peek().is_some() {
            if same.any(|other| other.query == rule.query) {
                let message = "duplicate rule: there is one with the same name, labels and \
                               expression; remove one of them";
                return Err(source.wrong(rule_at, &rule.name, message));
            }
            tracing::warn!(
                group = name,
                rule = rule.name,
                "two rules have the same name and labels, and may write the same series"
            );
        }
        rules.push(rule);
    }
    Ok(Group {
        file: path.display().to_string(),
        name,
        interval,
        query_offset: duration(path, &found.query_offset)?,
        limit: usize::try_from(found.limit.unwrap_or(0)).unwrap_or(0),
        rules,
    })
}

fn same_kind(left: &Rule, right: &Rule) -> bool {
    std::mem::discriminant(&left.kind) == std::mem::discriminant(&right.kind)
}

fn duration(path: &Path, found: &Option<Spanned<String>>) -> Result<Option<Duration>> {
    let Some(found) = found else { return Ok(None) };
    let wrong = || {
        let message =
            format!("not a valid duration string: {:?}; expected such as 5m", found.value);
        RuleError::at(path, found.referenced, message)
    };
    parse_duration(&found.value).map(Some).ok_or_else(wrong)
}

fn check_names(labels: &Texts) -> std::result::Result<(), String> {
    match labels.keys().find(|name| name.is_empty() || *name == NAME) {
        Some(name) => Err(format!("invalid label name: {name}")),
        None => Ok(()),
    }
}

/// Where a rule stands.
struct Source<'a> {
    path: &'a Path,
    group: &'a str,
    nth: usize,
    /// Those of the group.
    labels: &'a Texts,
}

impl Source<'_> {
    fn wrong(&self, at: Location, name: &str, message: impl std::fmt::Display) -> RuleError {
        let (group, nth) = (self.group, self.nth);
        let message = format!("group {group:?}, rule {nth}, {name:?}: {message}");
        RuleError::at(self.path, at, message)
    }

    fn rule(&self, found: Spanned<raw::Rule>) -> Result<Rule> {
        let (at, found) = (found.referenced, found.value);
        let given = |name: &Option<Spanned<String>>| {
            let name = name.as_ref().filter(|name| !name.value.is_empty());
            name.map(|name| (name.value.clone(), name.referenced))
        };
        let (name, name_at, is_alert) = match (given(&found.record), given(&found.alert)) {
            (Some((name, at)), None) => (name, at, false),
            (None, Some((name, at))) => (name, at, true),
            (Some(_), Some((name, at))) => {
                let message = "only one of 'record' and 'alert' must be set";
                return Err(self.wrong(at, &name, message));
            }
            (None, None) => {
                return Err(self.wrong(at, "", "one of 'record' or 'alert' must be set"));
            }
        };
        let query = self.query(at, &name, &found)?;
        let own_at = found.labels.as_ref().map_or(at, |labels| labels.referenced);
        let own = found.labels.as_ref().map(|labels| labels.value.clone()).unwrap_or_default();
        check_names(&own).map_err(|message| self.wrong(own_at, &name, message))?;
        let mut labels = self.labels.clone();
        labels.extend(own);
        let kind = match is_alert {
            true => self.alerting(&name, &found, &labels, own_at)?,
            false => {
                self.check_recording(&name, name_at, &found)?;
                RuleKind::Recording
            }
        };
        Ok(Rule { name, query, labels, kind })
    }

    fn query(&self, at: Location, name: &str, found: &raw::Rule) -> Result<Query> {
        let text = |text: &Option<Spanned<String>>| {
            let text = text.as_ref().filter(|text| !text.value.trim().is_empty());
            text.map(|text| (text.value.clone(), text.referenced))
        };
        match (text(&found.expr), text(&found.traceql)) {
            (Some((text, at)), None) => match kymo_promql::parser::parse(&text) {
                Ok(expr) => Ok(Query::PromQl(Arc::new(expr))),
                Err(error) => {
                    Err(self.wrong(at, name, format!("could not parse expression: {error}")))
                }
            },
            (None, Some((text, at))) => match kymo_traceql::parse(&text) {
                Ok(query) if matches!(query.body, Body::Metrics(_)) => Ok(Query::TraceQl(text)),
                Ok(_) => {
                    let message = "traceql must be a metrics query, such as { } | rate()";
                    Err(self.wrong(at, name, message))
                }
                Err(error) => {
                    Err(self.wrong(at, name, format!("could not parse expression: {error}")))
                }
            },
            (Some(_), Some((_, at))) => {
                Err(self.wrong(at, name, "only one of 'expr' and 'traceql' must be set"))
            }
            (None, None) => Err(self.wrong(at, name, "field 'expr' must be set in rule")),
        }
    }

    fn check_recording(&self, name: &str, at: Location, found: &raw::Rule) -> Result<()> {
        let is_set = |found: &Option<Spanned<String>>| -> Result<bool> {
            Ok(duration(self.path, found)?.is_some_and(|duration| !duration.is_zero()))
        };
        let annotations = found.annotations.as_ref();
        let field = if annotations.is_some_and(|annotations| !annotations.value.is_empty()) {
            Some("annotations")
        } else if is_set(&found.hold)? {
            Some("for")
        } else if is_set(&found.keep_firing_for)? {
            Some("keep_firing_for")
        } else {
            None
        };
        if let Some(field) = field {
            let message = format!("invalid field '{field}' in recording rule");
            return Err(self.wrong(at, name, message));
        }
        if name.contains(['{', '}']) {
            let message =
                format!("braces present in the recording rule name; should it be in expr?: {name}");
            return Err(self.wrong(at, name, message));
        }
        Ok(())
    }

    fn alerting(
        &self,
        name: &str,
        found: &raw::Rule,
        labels: &Texts,
        labels_at: Location,
    ) -> Result<RuleKind> {
        let annotations_at = found.annotations.as_ref().map_or(labels_at, |a| a.referenced);
        let annotations = found.annotations.as_ref().map(|a| a.value.clone()).unwrap_or_default();
        if let Some(wrong) = annotations.keys().find(|name| name.is_empty()) {
            let message = format!("invalid annotation name: {wrong}");
            return Err(self.wrong(annotations_at, name, message));
        }
        let templates = |what: &str, texts: &Texts, at: Location| -> Result<Vec<_>> {
            let parsed = texts.iter().map(|(key, text)| {
                let wrong = |error| self.wrong(at, name, format!("{what} {key:?}: {error}"));
                Ok((key.clone(), Template::parse(name, text).map_err(wrong)?))
            });
            parsed.collect()
        };
        Ok(RuleKind::Alerting(Box::new(Alerting {
            hold: duration(self.path, &found.hold)?.unwrap_or_default(),
            keep_firing_for: duration(self.path, &found.keep_firing_for)?.unwrap_or_default(),
            labels: templates("label", labels, labels_at)?,
            annotations: templates("annotation", &annotations, annotations_at)?,
        })))
    }
}
