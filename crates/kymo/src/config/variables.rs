//! Variables: the environment, and files of `KEY=VALUE` lines.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use kymo_yaml::nearest;

use super::flags::CONFIG_VARIABLE;
use super::graphistry;
use super::resolve::{Problem, Source};
use super::table;

/// Variables of ours that are no settings of the server.
const OTHERS: [&str; 8] = [
    "KYMO_URL",
    "KYMO_TENANT",
    "KYMO_TOKEN",
    "KYMO_CA",
    "KYMO_CLIENT_CERTIFICATE",
    "KYMO_CLIENT_KEY",
    CONFIG_VARIABLE,
    "KYMO_ENV_FILE",
];
/// Variables of the project's own tests begin so.
const OF_TESTS: &str = "KYMO_TEST_";

/// Values by name, and where each is from.
pub(crate) type Variables = BTreeMap<String, (String, Source)>;

/// What begins with `KYMO_` in the environment. A variable that is empty counts as not set, as
/// compose files leave those they have no value for.
pub(crate) fn of_environment(
    environment: impl IntoIterator<Item = (std::ffi::OsString, std::ffi::OsString)>,
    problems: &mut Vec<Problem>,
) -> Variables {
    let mut variables = Variables::new();
    for (name, value) in environment {
        let Some(name) = name.to_str().filter(|name| name.starts_with("KYMO_")) else { continue };
        match value.into_string() {
            Ok(value) if value.is_empty() => {}
            Ok(value) => {
                variables.insert(name.to_owned(), (value, Source::Environment));
            }
            Err(_) => problems.push(Problem::new(name, "is not UTF-8 text")),
        }
    }
    variables
}

/// Reads lines of `KEY=VALUE`, as `docker --env-file` does: `#` begins a comment line, quotes are
/// part of the value.
pub(crate) fn of_file(path: &Path, text: &str, problems: &mut Vec<Problem>) -> Variables {
    let mut variables = Variables::new();
    for (nth, line) in text.lines().enumerate() {
        let line_number = nth as u64 + 1;
        let line = line.trim_start();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let Some((name, value)) = line.split_once('=') else {
            let place = format!("{}:{line_number}", path.display());
            problems.push(Problem::new(place, "expected KEY=VALUE"));
            continue;
        };
        let source = Source::EnvFile { path: path.display().to_string(), line: line_number };
        if !value.is_empty() {
            variables.insert(name.trim_end().to_owned(), (value.to_owned(), source));
        }
    }
    variables
}

/// What a configuration file may refer to: the environment over a file of variables.
pub(crate) fn referred(
    of_file: &Variables,
    environment: &[(std::ffi::OsString, std::ffi::OsString)],
) -> BTreeMap<String, String> {
    let of_file = of_file.iter().map(|(name, (value, _))| (name.clone(), value.clone()));
    let mut referred: BTreeMap<String, String> = of_file.collect();
    referred.extend(
        environment.iter().filter_map(|(name, value)| {
            Some((name.to_str()?.to_owned(), value.to_str()?.to_owned()))
        }),
    );
    referred
}

/// The YAML file that a file of variables names. What is wrong with the file is told elsewhere.
pub(crate) fn config_file(path: &Path, text: &str) -> Option<PathBuf> {
    let variables = of_file(path, text, &mut Vec::new());
    variables.get(CONFIG_VARIABLE).map(|(value, _)| value.into())
}

/// What to say about variables that look like ours and mean nothing.
pub(crate) fn unknown(variables: &Variables) -> Vec<String> {
    let known: Vec<String> = table::settings().map(|setting| setting.variable()).collect();
    let is_known = |name: &str| {
        known.iter().any(|known| known == name)
            || OTHERS.contains(&name)
            || graphistry::NAMES.contains(&name)
            || name.starts_with(OF_TESTS)
    };
    let mut warnings = Vec::new();
    for (name, (_, source)) in variables {
        if is_known(name) {
            continue;
        }
        let place = match source {
            Source::EnvFile { path, line } => format!("{path}:{line}: "),
            _ => String::new(),
        };
        // Others may be there for references of the configuration file.
        if !name.starts_with("KYMO_") {
            continue;
        }
        let names = known.iter().map(String::as_str).chain(OTHERS);
        let meant = match nearest(name, names) {
            Some(meant) => format!("did you mean {meant}?"),
            None => "kymo serve --help lists them all".to_owned(),
        };
        warnings.push(format!("{place}{name} is not known: {meant}"));
    }
    warnings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_as_docker_reads_them() {
        let mut problems = Vec::new();
        let text =
            "# comment\n\nKYMO_HTTP=127.0.0.1:1\n KYMO_DATA=a b=\"c\"\nKYMO_STORE=\nnonsense\n";
        let variables = of_file(Path::new("x.env"), text, &mut problems);
        assert_eq!(variables.len(), 2);
        assert_eq!(variables["KYMO_HTTP"].0, "127.0.0.1:1");
        assert_eq!(variables["KYMO_DATA"].0, "a b=\"c\"");
        let problems: Vec<_> = problems.iter().map(ToString::to_string).collect();
        assert_eq!(problems, ["x.env:6: expected KEY=VALUE"]);
    }

    #[test]
    fn a_variable_that_means_nothing_is_told_with_the_nearest_name() {
        let names = ["KYMO_HTPP", "KYMO_LOG", "KYMO_TEST_WEED", "KYMO_URL", "KYMO_HTTP"];
        let variables =
            names.iter().map(|name| ((*name).to_owned(), ("1".to_owned(), Source::Environment)));
        let warnings = unknown(&variables.collect());
        assert_eq!(warnings, ["KYMO_HTPP is not known: did you mean KYMO_HTTP?"]);
    }
}
