//! Places in the text of a query, as people count them.

use crate::ast::Span;

/// Line and column of a byte, both from 1. Columns count bytes, as those of Prometheus do. What
/// is behind the end counts as the end.
pub fn line_and_column(text: &str, offset: usize) -> (usize, usize) {
    let before = text.as_bytes().get(..offset).unwrap_or(text.as_bytes());
    let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
    let line_start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    (line, before.len() - line_start + 1)
}

impl Span {
    /// From the beginning of one to the end of another.
    pub fn to(self, last: Span) -> Span {
        Span { start: self.start, end: last.end }
    }

    /// What stands there. Nothing if the text is another one.
    pub fn of(self, text: &str) -> &str {
        text.get(self.start..self.end).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_bytes_from_the_last_line_break() {
        let text = "a +\n\"é\" b";
        assert_eq!(line_and_column(text, 0), (1, 1));
        assert_eq!(line_and_column(text, 3), (1, 4));
        assert_eq!(line_and_column(text, 4), (2, 1));
        assert_eq!(line_and_column(text, text.find('b').unwrap()), (2, 6));
        assert_eq!(line_and_column(text, 1000), (2, 7));
        assert_eq!(line_and_column("", 0), (1, 1));
    }
}
