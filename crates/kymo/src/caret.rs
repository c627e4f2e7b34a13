//! Where in a query the error is, shown below it.

use crate::output;
use crate::terminal::width;
use crate::units::printable;

/// Says what is wrong with a query, and points to the place if it is known: line and column,
/// counted from 1.
pub(crate) fn show(message: &str, query: &str, place: Option<(usize, usize)>) {
    output::error(message);
    if let Some(drawn) = place.and_then(|(line, column)| draw(query, line, column)) {
        output::say(&drawn);
    }
}

/// The line with a mark below the column.
fn draw(query: &str, line: usize, column: usize) -> Option<String> {
    let text = query.lines().nth(line.checked_sub(1)?)?;
    let before: String = text.chars().take(column.checked_sub(1)?).collect();
    let spaces = " ".repeat(width(&printable(&before)));
    Some(format!("  {}\n  {spaces}^", printable(text)))
}

/// The place that a message names: `… line 1, col 10: …`.
pub(crate) fn place_in(message: &str) -> Option<(usize, usize)> {
    let (_, after) = message.split_once("line ")?;
    let (line, after) = after.split_once(", col ")?;
    let digits = after.find(|c: char| !c.is_ascii_digit()).unwrap_or(after.len());
    Some((line.parse().ok()?, after[..digits].parse().ok()?))
}

/// A place whose column counts bytes, as one that counts characters.
pub(crate) fn of_bytes(query: &str, line: usize, byte: usize) -> Option<(usize, usize)> {
    let text = query.lines().nth(line.checked_sub(1)?)?;
    let before = text.as_bytes().get(..byte.checked_sub(1)?)?;
    Some((line, String::from_utf8_lossy(before).chars().count() + 1))
}

/// The place that a message names before a text: `… 1:10: parse error …`.
pub(crate) fn place_before(message: &str, text: &str) -> Option<(usize, usize)> {
    let (before, _) = message.split_once(text)?;
    let place = before.rsplit(' ').next()?;
    let (line, column) = place.split_once(':')?;
    Some((line.parse().ok()?, column.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    /// In a process of its own, for the sake of its stderr.
    #[test]
    fn an_error_that_nobody_hears_is_no_panic() {
        const INSIDE: &str = "KYMO_TEST_NOBODY_HEARS";
        if std::env::var_os(INSIDE).is_some() {
            return show("unexpected }", "{ name = }", Some((1, 10)));
        }
        let name = std::thread::current().name().unwrap().to_owned();
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", &name, "--nocapture"]).env(INSIDE, "1");
        let status = command.stdout(Stdio::null()).stderr(full).status().unwrap();
        assert!(status.success(), "{status}");
    }

    #[test]
    fn the_mark_is_below_the_place_whatever_is_before_it() {
        assert_eq!(draw("{ name = }", 1, 10).unwrap(), "  { name = }\n           ^");
        assert_eq!(draw("{ .a = 1\n && 日 = }", 2, 8).unwrap(), "   && 日 = }\n          ^");
        assert_eq!(draw("{\t}", 1, 3).unwrap(), "  {\\t}\n     ^");
        assert_eq!(draw("{", 1, 2).unwrap(), "  {\n   ^");
        assert_eq!(draw("{", 2, 1), None);
        assert_eq!(draw("{", 0, 0), None);
    }

    #[test]
    fn places_that_count_bytes_are_found_and_counted_in_characters() {
        let message = "invalid parameter \"query\": 2:8: parse error: unexpected }";
        assert_eq!(place_before(message, ": parse error"), Some((2, 8)));
        assert_eq!(place_before("no place: parse error", ": parse error"), None);
        assert_eq!(of_bytes("x\n日本 }", 2, 8), Some((2, 4)));
        assert_eq!(of_bytes("ab", 1, 3), Some((1, 3)));
        assert_eq!(of_bytes("ab", 1, 9), None);
        assert_eq!(of_bytes("ab", 0, 0), None);
    }

    #[test]
    fn a_place_is_found_in_a_message() {
        let message = "invalid TraceQL query: parse error at line 3, col 12: unexpected }";
        assert_eq!(place_in(message), Some((3, 12)));
        assert_eq!(place_in("line 1, col 5"), Some((1, 5)));
        assert_eq!(place_in("the line is engaged"), None);
    }
}
