//! Where in a query a variable stands: within quotes its value must not end them, elsewhere it is a part
//! of the query that its author or reader wrote.
//!
//! Quotes and comments are those of each language. What a query is in the end is read, values that were
//! put in before included, so that a place is within quotes here exactly if the parser finds it there.

use super::Style;

/// What is read so far.
#[derive(Debug, Clone)]
pub(super) struct Quotes {
    style: Style,
    place: Place,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Outside,
    /// Behind a slash, which may begin a comment.
    BehindSlash,
    /// Within quotes.
    Within(char),
    /// Behind a backslash within quotes.
    BehindBackslash(char),
    /// In a comment, to the end of the line.
    Comment,
    /// In a comment with an end of its own.
    Block,
    /// In such a one, behind an asterisk.
    BlockBehindAsterisk,
}

impl Quotes {
    /// The beginning of a text.
    pub(super) fn of(style: Style) -> Self {
        Self { style, place: Place::Outside }
    }

    pub(super) fn style(&self) -> Style {
        self.style
    }

    /// The quotes that the place is within.
    pub(super) fn around(&self) -> Option<char> {
        match self.place {
            Place::Within(quote) | Place::BehindBackslash(quote) => Some(quote),
            _ => None,
        }
    }

    /// Whether what comes next within quotes is taken as it is.
    pub(super) fn is_behind_backslash(&self) -> bool {
        matches!(self.place, Place::BehindBackslash(_))
    }

    /// Reads on.
    pub(super) fn read(&mut self, text: &str) {
        let (quotes, comment): (&[char], _) = match self.style {
            Style::Promql => (&['"', '`', '\''], Some('#')),
            Style::Logql => (&['"', '`'], Some('#')),
            Style::Traceql => (&['"', '`'], None),
            Style::Text | Style::Marked | Style::Glob | Style::Regex | Style::Sql => return,
        };
        for c in text.chars() {
            self.place = match (self.place, c) {
                (Place::Within('`'), '\\') => Place::Within('`'),
                (Place::Within(quote), '\\') => Place::BehindBackslash(quote),
                (Place::Within(quote), c) if c == quote => Place::Outside,
                (Place::BehindBackslash(quote), _) => Place::Within(quote),
                (Place::Comment, '\n') => Place::Outside,
                (Place::Comment, '\r') if self.style == Style::Promql => Place::Outside,
                (Place::Block | Place::BlockBehindAsterisk, '*') => Place::BlockBehindAsterisk,
                (Place::BlockBehindAsterisk, '/') => Place::Outside,
                (Place::BlockBehindAsterisk, _) => Place::Block,
                (Place::BehindSlash, '/') => Place::Comment,
                (Place::BehindSlash, '*') => Place::Block,
                (Place::Outside | Place::BehindSlash, c) if quotes.contains(&c) => Place::Within(c),
                (Place::Outside, c) if comment == Some(c) => Place::Comment,
                (Place::Outside, '/') if self.style == Style::Traceql => Place::BehindSlash,
                (Place::Outside | Place::BehindSlash, _) => Place::Outside,
                (place, _) => place,
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn around(style: Style, text: &str) -> Option<char> {
        let mut quotes = Quotes::of(style);
        quotes.read(text);
        quotes.around()
    }

    #[test]
    fn quotes_and_comments_are_those_of_the_language() {
        for (style, text, expected) in [
            (Style::Promql, r#"a{b=""#, Some('"')),
            (Style::Promql, r#"a{b="x""#, None),
            (Style::Promql, r#"a{b="x\""#, Some('"')),
            (Style::Promql, r#"a{b="x\\""#, None),
            (Style::Promql, "a{b='", Some('\'')),
            (Style::Promql, r"a{b=`\`, c=", None),
            (Style::Promql, "# it's\na{b=", None),
            (Style::Promql, "# it's\na{b=\"", Some('"')),
            (Style::Logql, "{a=\"b\"} |= `", Some('`')),
            (Style::Logql, "# it\"s\n{a=", None),
            (Style::Traceql, "{ // \"\n .a = ", None),
            (Style::Traceql, "{ /* \" **/ .a = \"", Some('"')),
            (Style::Traceql, "{ 1 / \"", Some('"')),
            (Style::Sql, "'", None),
        ] {
            assert_eq!(around(style, text), expected, "{text}");
        }
    }
}
