//! The files through which a step of GitHub Actions sets variables and outputs of later ones.

use std::fs::OpenOptions;
use std::io::{self, Write};

use super::Variable;
use super::file::on_one_line;
use crate::environment::Environment;

/// Appends variables to the file that a variable names (`GITHUB_ENV`, `GITHUB_OUTPUT`); false if
/// there is none, which is so outside of Actions.
pub fn append(environment: &Environment, file: &str, variables: &[Variable]) -> io::Result<bool> {
    let Some(path) = environment.get(file) else { return Ok(false) };
    let mut text = String::new();
    for (name, value) in variables {
        text.push_str(&format!("{name}={}\n", on_one_line(value)));
    }
    OpenOptions::new().create(true).append(true).open(path)?.write_all(text.as_bytes())?;
    Ok(true)
}

/// Lines for a shell: `export NAME='value'`.
#[must_use]
pub fn exports(variables: &[Variable]) -> String {
    let line = |(name, value): &Variable| {
        format!("export {name}='{}'\n", on_one_line(value).replace('\'', r"'\''"))
    };
    variables.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_appended_one_on_each_line() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("env");
        std::fs::write(&path, "OLD=1\n").unwrap();
        let environment = [("GITHUB_ENV", path.display().to_string())].into_iter().collect();
        let variables = [("A".to_owned(), "x\nPATH=/evil".to_owned())];
        assert!(append(&environment, "GITHUB_ENV", &variables).unwrap());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "OLD=1\nA=x PATH=/evil\n");
        assert!(!append(&Environment::default(), "GITHUB_ENV", &variables).unwrap());
    }

    #[test]
    fn a_shell_reads_values_as_they_are() {
        let variables = [("A".to_owned(), "it's $HOME".to_owned())];
        let script = format!("{}printf %s \"$A\"", exports(&variables));
        let output = std::process::Command::new("sh").args(["-c", &script]).output().unwrap();
        assert_eq!(String::from_utf8(output.stdout).unwrap(), "it's $HOME");
    }
}
