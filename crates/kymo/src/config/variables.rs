//! Variables: the environment, and files of `KEY=VALUE` lines.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use kymo_yaml::nearest;

use super::flags::CONFIG_VARIABLE;
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

/// The lines of a file of variables.
#[derive(Debug, Default)]
pub(crate) struct EnvFile {
    path: String,
    /// By name: the value, which may be empty, and its line. What is set twice has its last value.
    values: BTreeMap<String, (String, u64)>,
}

impl EnvFile {
    /// Reads lines of `KEY=VALUE` as compose files and shells have them: `#` begins a comment,
    /// `export` may stand in front, and quotes around a value are not part of it.
    pub(crate) fn read(path: &Path, text: &str, problems: &mut Vec<Problem>) -> Self {
        let mut file = Self { path: path.display().to_string(), values: BTreeMap::new() };
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        for (nth, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let line_number = nth as u64 + 1;
            match assignment(line) {
                Ok((name, value)) => {
                    file.values.insert(name.to_owned(), (value, line_number));
                }
                Err(why) => {
                    problems.push(Problem::new(format!("{}:{line_number}", file.path), why));
                }
            }
        }
        file
    }

    /// What a name is set to, also if that is nothing.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(|(value, _)| value.as_str())
    }

    /// Where a name is set; the first line if it is not.
    pub(crate) fn source(&self, name: &str) -> Source {
        let line = self.values.get(name).map_or(1, |(_, line)| *line);
        Source::EnvFile { path: self.path.clone(), line }
    }

    /// The same for people.
    pub(crate) fn place(&self, name: &str) -> String {
        let line = self.values.get(name).map_or(1, |(_, line)| *line);
        format!("{}:{line}: {name}", self.path)
    }

    /// All that have a value. One that is empty counts as not set.
    pub(crate) fn variables(&self) -> Variables {
        let set = self.values.iter().filter(|(_, (value, _))| !value.is_empty());
        set.map(|(name, (value, _))| (name.clone(), (value.clone(), self.source(name)))).collect()
    }
}

/// Name and value of a line. The error shows no value: it may be a secret.
fn assignment(line: &str) -> Result<(&str, String), &'static str> {
    const EXPECTED: &str = "expected KEY=VALUE";
    let exported = line.strip_prefix("export").filter(|rest| rest.starts_with([' ', '\t']));
    let (name, value) = exported.unwrap_or(line).split_once('=').ok_or(EXPECTED)?;
    let name = name.trim();
    let is_name = !name.is_empty() && !name.contains(char::is_whitespace);
    if !is_name {
        return Err(EXPECTED);
    }
    Ok((name, unquoted(value)?))
}

/// A value without its quotes, and without the comment behind it.
fn unquoted(written: &str) -> Result<String, &'static str> {
    let value = written.trim();
    let Some(quote) = value.chars().next().filter(|first| matches!(first, '"' | '\'')) else {
        // A comment needs space before it: `a#b` is a value.
        let is_comment = |(at, _): &(usize, &str)| match at {
            0 => written.starts_with(char::is_whitespace),
            _ => value[..*at].ends_with(char::is_whitespace),
        };
        let comment = value.match_indices('#').find(is_comment).map_or(value.len(), |(at, _)| at);
        return Ok(value[..comment].trim_end().to_owned());
    };
    let mut text = String::new();
    let mut characters = value[1..].chars();
    loop {
        match characters.next() {
            None => return Err("the quote at the beginning of the value has no end"),
            Some(c) if c == quote => break,
            Some('\\') if quote == '"' => match characters.next() {
                Some('n') => text.push('\n'),
                Some('t') => text.push('\t'),
                Some('r') => text.push('\r'),
                Some(c @ ('"' | '\\' | '$')) => text.push(c),
                Some(c) => text.extend(['\\', c]),
                None => text.push('\\'),
            },
            Some(c) => text.push(c),
        }
    }
    let behind = characters.as_str().trim_start();
    if !behind.is_empty() && !behind.starts_with('#') {
        return Err("something stands behind the closing quote: put all of the value in quotes");
    }
    Ok(text)
}

/// What a configuration file may refer to: the environment over a file of variables, unless it is
/// empty there.
pub(crate) fn referred(
    of_file: &EnvFile,
    environment: &[(std::ffi::OsString, std::ffi::OsString)],
) -> BTreeMap<String, String> {
    let of_file = of_file.values.iter().map(|(name, (value, _))| (name.clone(), value.clone()));
    let mut referred: BTreeMap<String, String> = of_file.collect();
    for (name, value) in environment {
        let (Some(name), Some(value)) = (name.to_str(), value.to_str()) else { continue };
        if !value.is_empty() || !referred.contains_key(name) {
            referred.insert(name.to_owned(), value.to_owned());
        }
    }
    referred
}

/// The YAML file that a file of variables names. What is wrong with the file is told elsewhere.
pub(crate) fn config_file(path: &Path, text: &str) -> Option<PathBuf> {
    let file = EnvFile::read(path, text, &mut Vec::new());
    file.get(CONFIG_VARIABLE).filter(|path| !path.is_empty()).map(Into::into)
}

/// What to say about variables that look like ours and mean nothing.
pub(crate) fn unknown(variables: &Variables) -> Vec<String> {
    let known: Vec<String> = table::settings().map(|setting| setting.variable()).collect();
    let is_known = |name: &str| {
        known.iter().any(|known| known == name)
            || OTHERS.contains(&name)
            || name.starts_with(OF_TESTS)
    };
    let mut warnings = Vec::new();
    for (name, (_, source)) in variables {
        // Others may be there for references of the configuration file.
        if is_known(name) || !name.starts_with("KYMO_") {
            continue;
        }
        let place = match source {
            Source::EnvFile { path, line } => format!("{path}:{line}: "),
            _ => String::new(),
        };
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

    fn read(text: &str) -> (EnvFile, Vec<String>) {
        let mut problems = Vec::new();
        let file = EnvFile::read(Path::new("x.env"), text, &mut problems);
        (file, problems.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn lines_are_read_as_compose_and_shells_read_them() {
        let (file, problems) = read(
            "\u{feff}# comment\n\nKYMO_HTTP=127.0.0.1:1\r\n KYMO_DATA = a b=\"c\"  # why\nEMPTY=\n\
             export A='it # is' # c\nB=\"x\\ty\\\"z\\d$\"\nC=a#b\nD= # only a comment\nF=#hush\n\texport\tE=1\n\
             export=2\nA=last\n",
        );
        assert!(problems.is_empty(), "{problems:?}");
        for (name, value) in [
            ("KYMO_HTTP", "127.0.0.1:1"),
            ("F", "#hush"),
            ("KYMO_DATA", "a b=\"c\""),
            ("EMPTY", ""),
            ("A", "last"),
            ("B", "x\ty\"z\\d$"),
            ("C", "a#b"),
            ("D", ""),
            ("E", "1"),
            ("export", "2"),
        ] {
            assert_eq!(file.get(name), Some(value), "{name}");
        }
        assert_eq!(file.place("A"), "x.env:13: A");
        let variables = file.variables();
        assert!(!variables.contains_key("EMPTY") && variables.contains_key("A"));
        assert_eq!(read("A='it # is' # c\n").0.get("A"), Some("it # is"));
    }

    #[test]
    fn lines_that_are_none_are_told_without_their_value() {
        let (_, problems) = read("nonsense\n=x\na b=c\nP='hush\nQ=\"hush\" hush\n");
        assert_eq!(
            problems,
            [
                "x.env:1: expected KEY=VALUE",
                "x.env:2: expected KEY=VALUE",
                "x.env:3: expected KEY=VALUE",
                "x.env:4: the quote at the beginning of the value has no end",
                "x.env:5: something stands behind the closing quote: put all of the value in quotes",
            ]
        );
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
