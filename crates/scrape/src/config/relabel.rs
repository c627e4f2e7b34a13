//! Rules of relabeling in the file.

use std::path::Path;

use kymo_wire::exposition::is_legacy_label_name;
use serde_saphyr::{Location, Spanned};

use super::error::ConfigError;
use super::raw;
use crate::relabel::{
    DEFAULT_REGEX, DEFAULT_REPLACEMENT, DEFAULT_SEPARATOR, RelabelAction, RelabelRule, anchored,
    is_label_name,
};

/// Reads a list of rules.
pub(super) fn rules(
    file: &Path,
    found: Option<Vec<Spanned<raw::Relabel>>>,
    legacy_names: bool,
) -> Result<Vec<RelabelRule>, ConfigError> {
    found.into_iter().flatten().map(|found| rule(file, found, legacy_names)).collect()
}

fn rule(
    file: &Path,
    found: Spanned<raw::Relabel>,
    legacy_names: bool,
) -> Result<RelabelRule, ConfigError> {
    let (at, found) = (found.referenced, found.value);
    let action = match &found.action {
        None => RelabelAction::Replace,
        Some(word) => action(file, word)?,
    };
    let has_only = |allowed: &[&str]| {
        let given = [
            ("source_labels", found.source_labels.is_some()),
            ("separator", found.separator.as_deref().is_some_and(|s| s != DEFAULT_SEPARATOR)),
            ("regex", found.regex.as_ref().is_some_and(|regex| regex.value != DEFAULT_REGEX)),
            ("modulus", found.modulus.is_some_and(|modulus| modulus != 0)),
            ("target_label", found.target_label.as_deref().is_some_and(|s| !s.is_empty())),
            ("replacement", found.replacement.as_deref().is_some_and(|s| s != DEFAULT_REPLACEMENT)),
        ];
        given.iter().all(|(name, is_given)| !is_given || allowed.contains(name))
    };
    check_fields(action, &has_only).map_err(|message| ConfigError::at(file, at, message))?;
    let (regex_text, regex_at) = match found.regex {
        Some(regex) => (regex.value, regex.referenced),
        None => (DEFAULT_REGEX.to_owned(), at),
    };
    let regex = anchored(&regex_text).map_err(|error| {
        // The last line of the library's report says what is wrong.
        let reason = error.lines().last().unwrap_or_default().trim_start_matches("error: ");
        ConfigError::at(file, regex_at, format!("regex {regex_text:?} is wrong: {reason}"))
    })?;
    let rule = RelabelRule {
        action,
        source_labels: found.source_labels.unwrap_or_default(),
        separator: found.separator.unwrap_or_else(|| DEFAULT_SEPARATOR.to_owned()),
        regex_text,
        regex,
        modulus: found.modulus.unwrap_or(0),
        target_label: found.target_label.unwrap_or_default(),
        replacement: found.replacement.unwrap_or_else(|| DEFAULT_REPLACEMENT.to_owned()),
        legacy_names,
    };
    check(&rule).map_err(|message| ConfigError::at(file, at, message))?;
    Ok(rule)
}

fn action(file: &Path, word: &Spanned<String>) -> Result<RelabelAction, ConfigError> {
    let lower = word.value.to_lowercase();
    let action = RelabelAction::ALL.into_iter().find(|action| action.name() == lower);
    action.ok_or_else(|| {
        let known: Vec<_> = RelabelAction::ALL.iter().map(|action| action.name()).collect();
        let message =
            format!("unknown relabel action {:?}; known are {}", word.value, known.join(", "));
        ConfigError::at(file, at(word), message)
    })
}

fn at(word: &Spanned<String>) -> Location {
    word.referenced
}

/// Refuses fields that an action has no use for.
fn check_fields(action: RelabelAction, has_only: &dyn Fn(&[&str]) -> bool) -> Result<(), String> {
    let name = action.name();
    match action {
        RelabelAction::KeepEqual | RelabelAction::DropEqual
            if !has_only(&["source_labels", "target_label"]) =>
        {
            Err(format!(
                "{name} action requires only 'source_labels' and `target_label`, and no other \
                 fields"
            ))
        }
        RelabelAction::LabelDrop | RelabelAction::LabelKeep if !has_only(&["regex"]) => {
            Err(format!("{name} action requires only 'regex', and no other fields"))
        }
        _ => Ok(()),
    }
}

/// What Prometheus asks of a rule.
fn check(rule: &RelabelRule) -> Result<(), String> {
    let name = rule.action.name();
    let has_variable = |text: &str| text.contains('$');
    let is_template = |text: &str| {
        // A variable stands for letters.
        let plain = text.replace(['$', '{', '}'], "_");
        if rule.legacy_names { is_legacy_label_name(&plain) } else { !text.is_empty() }
    };
    if rule.action == RelabelAction::HashMod && rule.modulus == 0 {
        return Err("relabel configuration for hashmod requires non-zero modulus".into());
    }
    let needs_target = matches!(
        rule.action,
        RelabelAction::Replace
            | RelabelAction::HashMod
            | RelabelAction::Lowercase
            | RelabelAction::Uppercase
            | RelabelAction::KeepEqual
            | RelabelAction::DropEqual
    );
    if needs_target && rule.target_label.is_empty() {
        return Err(format!(
            "relabel configuration for {name} action requires 'target_label' value"
        ));
    }
    let is_target = if rule.action == RelabelAction::Replace && has_variable(&rule.target_label) {
        is_template(&rule.target_label)
    } else {
        is_label_name(&rule.target_label, rule.legacy_names)
    };
    if needs_target && !is_target {
        return Err(format!("{:?} is invalid 'target_label' for {name} action", rule.target_label));
    }
    let is_case = matches!(rule.action, RelabelAction::Lowercase | RelabelAction::Uppercase);
    if is_case && rule.replacement != DEFAULT_REPLACEMENT {
        return Err(format!("'replacement' can not be set for {name} action"));
    }
    if rule.action == RelabelAction::LabelMap && !is_template(&rule.replacement) {
        return Err(format!("{:?} is invalid 'replacement' for {name} action", rule.replacement));
    }
    Ok(())
}
