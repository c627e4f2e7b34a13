//! Functions of labels: `label_replace`, `label_join`.

use super::error::EvalError;
use super::evaluator::Evaluator;
use super::grid::{Grid, Row, Steps};
use super::plan::{Plan, PlanNode};
use crate::labels::NAME;
use crate::limits::MAX_PATTERN_BYTES;

/// The text of an argument.
pub(crate) fn text_of(args: &[Plan], nth: usize) -> Result<&str, EvalError> {
    match args.get(nth) {
        Some(Plan { node: PlanNode::Text(text), .. }) => Ok(text),
        _ => Err(EvalError::Execution(format!("argument {} has to be a text", nth + 1))),
    }
}

fn invalid(what: &str, function: &str, name: &str) -> EvalError {
    EvalError::Execution(format!("invalid {what} in {function}(): {name}"))
}

fn set(row: &mut Row, name: &str, value: &str) {
    row.labels = row.labels.with(name, value);
    if name == NAME {
        row.drops_name = false;
    }
}

impl Evaluator<'_> {
    /// `label_replace(vector, target, replacement, source, regex)`
    pub(crate) fn label_replace(&self, args: &[Plan], steps: &Steps) -> Result<Grid, EvalError> {
        let [target, replacement, source, pattern] =
            [text_of(args, 1)?, text_of(args, 2)?, text_of(args, 3)?, text_of(args, 4)?];
        let regex = kymo_pattern::regex(pattern, MAX_PATTERN_BYTES)
            .map_err(|_| invalid("regular expression", "label_replace", pattern))?;
        if target.is_empty() {
            return Err(invalid("destination label name", "label_replace", target));
        }
        let mut grid = self.grid_of(&args[0], steps)?;
        for row in &mut grid.rows {
            let value = row.labels.get(source).unwrap_or_default();
            if let Some(captures) = regex.captures(value) {
                let mut replaced = String::new();
                captures.expand(&go_template(replacement), &mut replaced);
                set(row, target, &replaced);
            }
        }
        grid.merged_by_kind()
    }

    /// `label_join(vector, target, separator, source…)`
    pub(crate) fn label_join(&self, args: &[Plan], steps: &Steps) -> Result<Grid, EvalError> {
        let [target, separator] = [text_of(args, 1)?, text_of(args, 2)?];
        let sources: Vec<&str> =
            (3..args.len()).map(|nth| text_of(args, nth)).collect::<Result<_, _>>()?;
        if let Some(name) = sources.iter().find(|name| name.is_empty()) {
            return Err(invalid("source label name", "label_join", name));
        }
        if target.is_empty() {
            return Err(invalid("destination label name", "label_join", target));
        }
        let mut grid = self.grid_of(&args[0], steps)?;
        for row in &mut grid.rows {
            let values: Vec<&str> =
                sources.iter().map(|name| row.labels.get(name).unwrap_or_default()).collect();
            let joined = values.join(separator);
            set(row, target, &joined);
        }
        grid.merged_by_kind()
    }
}

/// A template as Go's regular expressions have it, for ours: a `$` that begins no
/// reference means nothing there, and stands for itself here.
fn go_template(template: &str) -> String {
    let mut result = String::with_capacity(template.len());
    let mut rest = template;
    while let Some(at) = rest.find('$') {
        result.push_str(&rest[..at]);
        rest = &rest[at..];
        let after = &rest[1..];
        let is_name = |letter: char| letter.is_alphanumeric() || letter == '_';
        let length = if after.starts_with('$') {
            Some(1)
        } else if let Some(braced) = after.strip_prefix('{') {
            let name = braced.find('}').map(|end| &braced[..end]);
            name.filter(|name| !name.is_empty() && name.chars().all(is_name)).map(|n| n.len() + 2)
        } else {
            let name = after.find(|letter| !is_name(letter)).unwrap_or(after.len());
            (name > 0).then_some(name)
        };
        match length {
            Some(length) => result.push_str(&rest[..1 + length]),
            None => result.push_str("$$"),
        }
        rest = &rest[1 + length.unwrap_or(0)..];
    }
    result.push_str(rest);
    result
}

#[cfg(test)]
mod tests {
    use regex::Regex;

    use super::*;

    #[test]
    fn a_dollar_without_a_reference_stays() {
        let expand = |template: &str| {
            let mut text = String::new();
            let regex = Regex::new("^(?<word>.)(.)$").unwrap();
            regex.captures("ab").unwrap().expand(&go_template(template), &mut text);
            text
        };
        assert_eq!(expand("$2-${1}-$word"), "b-a-a");
        assert_eq!(expand("$$1"), "$1");
        assert_eq!(expand("a$"), "a$");
        assert_eq!(expand("${}x"), "${}x");
        assert_eq!(expand("$1x"), "");
    }
}
