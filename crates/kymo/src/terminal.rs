//! What the terminal can show.

use std::borrow::Cow;
use std::io::{BufRead, IsTerminal, stdin, stdout};

pub(crate) use kymo_report::units::{fit, width};

use crate::failure::Failure;

/// Width of what is not written to a terminal, where lines are wanted short all the same.
pub(crate) const PIPE_COLUMNS: usize = 120;

/// Columns of the terminal on stdout; none if it is none.
pub(crate) fn columns() -> Option<usize> {
    if !stdout().is_terminal() {
        return None;
    }
    let (_, columns) = console::Term::stdout().size_checked()?;
    (columns > 0).then_some(usize::from(columns))
}

/// A line that is not shown while it is typed; the first line of stdin if that is no terminal.
pub(crate) fn read_secret(prompt: &str) -> Result<String, Failure> {
    let failed = |source| Failure::Io { act: "read", what: "stdin".to_owned(), source };
    if stdin().is_terminal() {
        crate::output::say(prompt);
        return console::Term::stderr().read_secure_line().map_err(failed);
    }
    let mut line = String::new();
    stdin().lock().read_line(&mut line).map_err(failed)?;
    Ok(line.trim_end_matches(['\r', '\n']).to_owned())
}

/// Whether nobody said that colours are not wanted (<https://no-color.org>).
pub(crate) fn wants_colours() -> bool {
    let no_colour = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    !no_colour && !is_dumb
}

/// Colours, if there are any.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Paint {
    on: bool,
}

impl Paint {
    /// For stdout as it is.
    pub(crate) fn stdout() -> Self {
        Self { on: stdout().is_terminal() && wants_colours() }
    }

    /// No colours.
    #[cfg(test)]
    pub(crate) fn none() -> Self {
        Self { on: false }
    }

    /// Colours in any case.
    #[cfg(test)]
    pub(crate) fn always() -> Self {
        Self { on: true }
    }

    /// Whether there are any.
    pub(crate) fn is_on(self) -> bool {
        self.on
    }

    /// For the nth of several things beside each other.
    pub(crate) fn nth(self, nth: usize, text: &str) -> Cow<'_, str> {
        const CODES: [&str; 12] =
            ["36", "33", "35", "32", "34", "31", "96", "93", "95", "92", "94", "91"];
        self.paint(CODES[nth % CODES.len()], text)
    }

    /// For what went wrong.
    pub(crate) fn red(self, text: &str) -> Cow<'_, str> {
        self.paint("31", text)
    }

    /// For what is not looked at first.
    pub(crate) fn dim(self, text: &str) -> Cow<'_, str> {
        self.paint("2", text)
    }

    /// For headings.
    pub(crate) fn bold(self, text: &str) -> Cow<'_, str> {
        self.paint("1", text)
    }

    fn paint<'a>(self, code: &str, text: &'a str) -> Cow<'a, str> {
        match self.on && !text.is_empty() {
            true => Cow::Owned(format!("\x1b[{code}m{text}\x1b[0m")),
            false => Cow::Borrowed(text),
        }
    }
}

/// A text with spaces up to so many columns.
pub(crate) fn pad(text: &str, columns: usize) -> String {
    let spaces = columns.saturating_sub(width(text));
    format!("{text}{}", " ".repeat(spaces))
}

/// A text with spaces before it up to so many columns.
pub(crate) fn pad_left(text: &str, columns: usize) -> String {
    let spaces = columns.saturating_sub(width(text));
    format!("{}{text}", " ".repeat(spaces))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_by_columns_not_by_bytes() {
        assert_eq!([fit("größe", 5), fit("größer", 5)], ["größe", "größ…"]);
        assert_eq!([fit("日本語", 4), fit("ab", 0)], ["日…", ""]);
        assert_eq!(fit("a\nb", 10), "a\\nb");
        assert_eq!(pad("日", 4), "日  ");
        assert_eq!(pad_left("7", 3), "  7");
    }
}
