//! `${env:NAME}` in a configuration: variables of the environment, so that a file has no secrets.
//!
//! `${env:NAME:-words}` has words for a variable that is not set, or empty, as shells have it.
//! `$${env:NAME}` is the text `${env:NAME}` itself.

use crate::problem::Problem;
use crate::tree::{Entry, Node, Place};

const START: &str = "${env:";
const OTHERWISE: &str = ":-";

/// Puts variables in the place of what refers to them, and says which are not set.
pub fn expand(entries: &mut [Entry], variable: &dyn Fn(&str) -> Option<String>) -> Vec<Problem> {
    let mut problems = Vec::new();
    for entry in entries {
        expand_node(&mut entry.node, entry.at, variable, &mut problems);
    }
    problems
}

fn expand_node(
    node: &mut Node,
    at: Place,
    variable: &dyn Fn(&str) -> Option<String>,
    problems: &mut Vec<Problem>,
) {
    match node {
        Node::Null => {}
        Node::Scalar(scalar) if scalar.text.contains(START) => {
            match expanded(&scalar.text, variable) {
                Ok(text) => scalar.text = text,
                Err(message) => problems.push(Problem::at(at, message)),
            }
        }
        Node::Scalar(_) => {}
        Node::List(items) => {
            for item in items {
                expand_node(&mut item.node, item.at, variable, problems);
            }
        }
        Node::Map(entries) => problems.extend(expand(entries, variable)),
    }
}

fn expanded(text: &str, variable: &dyn Fn(&str) -> Option<String>) -> Result<String, String> {
    let mut whole = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(START) {
        let (before, from) = rest.split_at(at);
        if let Some(before) = before.strip_suffix('$') {
            whole.push_str(before);
            whole.push_str(START);
            rest = &from[START.len()..];
            continue;
        }
        let inner = &from[START.len()..];
        let Some(end) = inner.find('}') else {
            return Err(format!("{START} has no end: expected }} behind the variable's name"));
        };
        let (name, otherwise) = match inner[..end].split_once(OTHERWISE) {
            Some((name, otherwise)) => (name, Some(otherwise)),
            None => (&inner[..end], None),
        };
        let value = match (variable(name), otherwise) {
            (Some(value), Some(otherwise)) if value.is_empty() => Some(otherwise.to_owned()),
            (value, otherwise) => value.or_else(|| otherwise.map(str::to_owned)),
        };
        let Some(value) = value else {
            let name = crate::printable(name);
            return Err(format!(
                "the variable {name} is not set: set it, or write ${{env:{name}:-words}} to do without"
            ));
        };
        whole.push_str(before);
        whole.push_str(&value);
        rest = &inner[end + 1..];
    }
    whole.push_str(rest);
    Ok(whole)
}

/// Whether a text is a reference and nothing else, without words of its own: such a text is no
/// secret, whatever it refers to.
#[must_use]
pub fn is_reference(text: &str) -> bool {
    let name = text.strip_prefix(START).and_then(|inner| inner.strip_suffix('}'));
    name.is_some_and(|name| {
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::parse;

    fn text(yaml: &str) -> Result<String, String> {
        let mut entries = parse(yaml).unwrap();
        let variable = |name: &str| match name {
            "A" => Some("x".to_owned()),
            "EMPTY" => Some(String::new()),
            _ => None,
        };
        let problems = expand(&mut entries, &variable);
        match problems.first() {
            Some(problem) => Err(problem.to_string()),
            None => Ok(entries[0].node.as_text().unwrap().to_owned()),
        }
    }

    #[test]
    fn references_become_what_they_refer_to() {
        assert_eq!(text("a: '${env:A}-${env:A}'").unwrap(), "x-x");
        assert_eq!(text("a: '${env:B:-none}'").unwrap(), "none");
        assert_eq!(text("a: '${env:EMPTY:-none}${env:EMPTY}'").unwrap(), "none");
        assert_eq!(text("a: '$${env:A}'").unwrap(), "${env:A}");
        assert_eq!(text("a: '$5 ${other}'").unwrap(), "$5 ${other}");
    }

    #[test]
    fn a_reference_alone_is_told_from_words() {
        assert!(is_reference("${env:A_1}"));
        for other in ["", "x", "${env:}", "${env:A:-hush}", "hush${env:A}", "${env:A}}"] {
            assert!(!is_reference(other), "{other}");
        }
    }

    #[test]
    fn one_that_is_not_set_is_told_with_its_place() {
        let missing = text("a: '${env:B}'").unwrap_err();
        assert!(missing.starts_with("line 1, column 4: the variable B is not set"), "{missing}");
        assert!(text("a: '${env:A'").unwrap_err().contains("has no end"));
    }
}
