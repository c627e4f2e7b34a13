//! Where in a query the error is, shown below it.

use crate::output;
use crate::terminal::width;
use crate::units::printable;

/// Says what is wrong with a query, and points to the place if it is known: line and column,
/// counted from 1.
pub(super) fn show(message: &str, query: &str, place: Option<(usize, usize)>) {
    output::error(message);
    if let Some(drawn) = place.and_then(|(line, column)| draw(query, line, column)) {
        eprint!("{drawn}");
    }
}

/// The line with a mark below the column.
fn draw(query: &str, line: usize, column: usize) -> Option<String> {
    let text = query.lines().nth(line.checked_sub(1)?)?;
    let before: String = text.chars().take(column.checked_sub(1)?).collect();
    let spaces = " ".repeat(width(&printable(&before)));
    Some(format!("  {}\n  {spaces}^\n", printable(text)))
}

/// The place that a message names: `… line 1, col 10: …`.
pub(super) fn place_in(message: &str) -> Option<(usize, usize)> {
    let (_, after) = message.split_once("line ")?;
    let (line, after) = after.split_once(", col ")?;
    let digits = after.find(|c: char| !c.is_ascii_digit()).unwrap_or(after.len());
    Some((line.parse().ok()?, after[..digits].parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mark_is_below_the_place_whatever_is_before_it() {
        assert_eq!(draw("{ name = }", 1, 10).unwrap(), "  { name = }\n           ^\n");
        assert_eq!(draw("{ .a = 1\n && 日 = }", 2, 8).unwrap(), "   && 日 = }\n          ^\n");
        assert_eq!(draw("{\t}", 1, 3).unwrap(), "  {\\t}\n     ^\n");
        assert_eq!(draw("{", 1, 2).unwrap(), "  {\n   ^\n");
        assert_eq!(draw("{", 2, 1), None);
        assert_eq!(draw("{", 0, 0), None);
    }

    #[test]
    fn a_place_is_found_in_a_message() {
        let message = "invalid TraceQL query: parse error at line 3, col 12: unexpected }";
        assert_eq!(place_in(message), Some((3, 12)));
        assert_eq!(place_in("line 1, col 5"), Some((1, 5)));
        assert_eq!(place_in("the line is engaged"), None);
    }
}
