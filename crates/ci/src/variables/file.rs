//! The file that carries variables from job to job: lines `NAME=value`.
//!
//! It comes out of an artifact, which any job of the run may have written, and what it sets holds
//! for all later steps. So it may not set what makes programs run something else.

use super::Variable;
use crate::environment::Environment;
use crate::warnings::Warnings;

/// Names that decide which programs run, what they load, and whom they trust; in upper case.
const REFUSED: [&str; 17] = [
    "PATH",
    "IFS",
    "ENV",
    "CDPATH",
    "HOME",
    "SHELL",
    "SHELLOPTS",
    "BASHOPTS",
    "PS4",
    "CC",
    "CXX",
    "CFLAGS",
    "CXXFLAGS",
    "MAKEFLAGS",
    "EDITOR",
    "RUBYOPT",
    "CLASSPATH",
];
/// Beginnings of such names.
const REFUSED_BEGINNINGS: [&str; 25] = [
    "LD_",
    "DYLD_",
    "BASH_",
    "PYTHON",
    "PIP_",
    "PERL",
    "RUBY",
    "NODE_",
    "NPM_",
    "YARN_",
    "GIT_",
    "SSH_",
    "SSL_",
    "CURL_",
    "WGET",
    "REQUESTS_",
    "RUST",
    "CARGO_",
    "CMAKE_",
    "CONDA",
    "DOCKER_",
    "AWS_",
    "GITHUB_",
    "RUNNER_",
    "ACTIONS_",
];
/// Ends of such names.
const REFUSED_ENDS: [&str; 4] = ["_PROXY", "_OPTIONS", "_WRAPPER", "_TOKEN"];

/// The text of a file.
#[must_use]
pub fn write(variables: &[Variable]) -> String {
    let line = |(name, value): &Variable| {
        let value = on_one_line(value);
        // As in the existing system.
        match name.as_str() {
            "OTEL_RESOURCE_ATTRIBUTES" => format!("{name}=\"{value}\"\n"),
            _ => format!("{name}={value}\n"),
        }
    };
    variables.iter().map(line).collect()
}

/// A value without line ends, which would begin another variable.
#[must_use]
pub fn on_one_line(value: &str) -> String {
    value.replace(['\n', '\r'], " ")
}

/// What a file sets in an environment: what is set there already stays, and is named in a warning.
/// Quotes are taken out of values, and a comma at their beginning.
pub fn merge(
    text: &str,
    file: &str,
    environment: &Environment,
    warnings: &mut Warnings,
) -> Vec<Variable> {
    let mut merged: Vec<Variable> = Vec::new();
    for (nth, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() {
            continue;
        }
        let place = format!("{file}, line {}", nth + 1);
        let Some((name, value)) = line.split_once('=') else {
            warnings.add(format!("{place} has no =: expected NAME=value, left out"));
            continue;
        };
        if !is_name(name) {
            warnings.add(format!("{place}: {name:?} is not a name of a variable: left out"));
        } else if is_refused(name) {
            warnings.add(format!("{place}: {name} may not be set by a file: left out"));
        } else if environment.get(name).is_some() {
            warnings.add(format!("{place}: {name} is ignored, it is already set"));
        } else {
            let value = value.replace('"', "");
            let value = value.strip_prefix(',').unwrap_or(&value).to_owned();
            // Of two lines the first counts: it is what the second finds set.
            if !merged.iter().any(|(known, _)| known == name) {
                merged.push((name.to_owned(), value));
            }
        }
    }
    merged
}

fn is_name(name: &str) -> bool {
    let mut characters = name.chars();
    let is_first = |c: char| c.is_ascii_alphabetic() || c == '_';
    characters.next().is_some_and(is_first)
        && characters.all(|c| c.is_ascii_alphanumeric() || c == '_')
}

fn is_refused(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    REFUSED.contains(&name.as_str())
        || REFUSED_BEGINNINGS.iter().any(|beginning| name.starts_with(beginning))
        || REFUSED_ENDS.iter().any(|end| name.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_set_wins_and_quotes_and_a_leading_comma_go() {
        let environment = [("A", "mine"), ("EMPTY", "")].into_iter().collect();
        let mut warnings = Warnings::new();
        let text = "A=theirs\nB=\",x=\"1\",y=2\"\r\nEMPTY=filled\n\nbroken\nC=a=b\nC=second\n";
        let merged = merge(text, "vars", &environment, &mut warnings);
        let expected = [("B", "x=1,y=2"), ("EMPTY", "filled"), ("C", "a=b")];
        assert_eq!(merged, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
        assert_eq!(warnings.all().len(), 2, "{warnings:?}");
        assert!(warnings.all()[0].contains("line 1: A is ignored, it is already set"));
    }

    #[test]
    fn a_file_may_not_say_which_programs_run() {
        let mut warnings = Warnings::new();
        let text = "PATH=/evil\nLD_PRELOAD=x\nNODE_OPTIONS=x\nGITHUB_TOKEN=x\nPYTHONPATH=x\nA B=1\n=x\n\
                    https_proxy=x\nSSL_CERT_FILE=x\nGIT_CONFIG_COUNT=1\nRUSTC_WRAPPER=x\n";
        assert_eq!(merge(text, "vars", &Environment::default(), &mut warnings), []);
        assert_eq!(warnings.all().len(), 11);
    }

    #[test]
    fn what_is_written_is_read_back() {
        let variables = vec![
            ("OTEL_RESOURCE_ATTRIBUTES".to_owned(), "a=1,b=2".to_owned()),
            ("X".to_owned(), "two\nlines".to_owned()),
        ];
        let mut warnings = Warnings::new();
        let read = merge(&write(&variables), "vars", &Environment::default(), &mut warnings);
        assert_eq!(read[0], variables[0]);
        assert_eq!(read[1].1, "two lines");
    }
}
