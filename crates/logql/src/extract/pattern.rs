//! `| pattern "<ip> - <user> <_>"` and the line filters `|>` and `!>`.
//!
//! A pattern is literal text with captures between: `<name>` or, without a name, `<_>`. Two
//! captures need text between them, or nobody could say where one ends.
//!
//! The parser starts at the line's start, takes for each capture what comes before the next
//! literal, and does not look at the rest. If a literal does not come, its capture takes all that
//! is left, and captures after it have no value.
//!
//! The filter has to match the whole line, and each of its captures at least one character.

use super::{ExtractError, is_label_name};

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Literal(String),
    /// Without a name it is `<_>`.
    Capture(Option<String>),
}

/// Reads labels out of lines that are written after a pattern.
#[derive(Debug, Clone)]
pub struct PatternParser {
    parts: Vec<Part>,
}

impl PatternParser {
    /// Reads a pattern; it needs a named capture at least.
    pub fn new(pattern: &str) -> Result<Self, ExtractError> {
        let parts = parse(pattern)?;
        let parser = Self { parts };
        let mut names: Vec<&str> = parser.names().collect();
        if names.is_empty() {
            return Err(wrong(pattern, "it needs a capture with a name, like `<name>`"));
        }
        names.sort_unstable();
        if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(wrong(pattern, &format!("it has two captures `<{}>`", pair[0])));
        }
        Ok(parser)
    }

    /// The labels that it may read.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            Part::Capture(name) => name.as_deref(),
            Part::Literal(_) => None,
        })
    }

    /// Gives every label of a line to the sink; none if the line starts otherwise.
    pub fn extract(&self, line: &str, sink: &mut dyn FnMut(&str, &str)) {
        if line.is_empty() {
            return;
        }
        let mut rest = line;
        let mut parts = self.parts.as_slice();
        if let [Part::Literal(start), others @ ..] = parts {
            let Some(after) = rest.strip_prefix(start.as_str()) else { return };
            (rest, parts) = (after, others);
        }
        // From here on captures and literals take turns.
        while let [Part::Capture(name), others @ ..] = parts {
            let found = match others.first() {
                Some(Part::Literal(literal)) => {
                    rest.find(literal.as_str()).map(|at| (at, literal.len()))
                }
                _ => None,
            };
            let (at, length) = found.unwrap_or((rest.len(), 0));
            if let Some(name) = name {
                sink(name, &rest[..at]);
            }
            if found.is_none() {
                return;
            }
            rest = &rest[at + length..];
            parts = others.get(1..).unwrap_or_default();
        }
    }
}

/// Tells whether lines are written after a pattern.
#[derive(Debug, Clone)]
pub struct PatternFilter {
    parts: Vec<Part>,
}

impl PatternFilter {
    /// Reads a pattern; its captures may have no names. The empty one matches empty lines.
    pub fn new(pattern: &str) -> Result<Self, ExtractError> {
        let parts = if pattern.is_empty() { Vec::new() } else { parse(pattern)? };
        let named = parts.iter().find_map(|part| match part {
            Part::Capture(name) => name.as_deref(),
            Part::Literal(_) => None,
        });
        match named {
            Some(name) => {
                Err(wrong(pattern, &format!("a filter has captures `<_>` only, not `<{name}>`")))
            }
            None => Ok(Self { parts }),
        }
    }

    /// Whether the whole line is written after the pattern.
    pub fn matches(&self, line: &str) -> bool {
        let mut parts = self.parts.as_slice();
        let mut rest = line;
        if let [Part::Literal(start), others @ ..] = parts {
            let Some(after) = rest.strip_prefix(start.as_str()) else { return false };
            (rest, parts) = (after, others);
        }
        while let [Part::Capture(_), others @ ..] = parts {
            let Some(first) = rest.chars().next() else { return false };
            let one = first.len_utf8();
            match others {
                [] => return true,
                [Part::Literal(end)] => {
                    return rest.len() >= one + end.len() && rest.ends_with(end.as_str());
                }
                [Part::Literal(literal), others @ ..] => {
                    // The first place leaves most of the line to what comes after.
                    let Some(at) = rest[one..].find(literal.as_str()) else { return false };
                    rest = &rest[one + at + literal.len()..];
                    parts = others;
                }
                [Part::Capture(_), ..] => return false,
            }
        }
        rest.is_empty()
    }

    /// Texts that every matching line contains, in the order of the pattern.
    pub fn literals(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            Part::Literal(text) => Some(text.as_str()),
            Part::Capture(_) => None,
        })
    }
}

/// The parts of a pattern; no two captures and no two literals follow each other.
fn parse(pattern: &str) -> Result<Vec<Part>, ExtractError> {
    let mut parts = Vec::new();
    let mut rest = pattern;
    let mut literal = String::new();
    while !rest.is_empty() {
        if let Some((name, after)) = capture(rest) {
            if !literal.is_empty() {
                parts.push(Part::Literal(std::mem::take(&mut literal)));
            }
            if matches!(parts.last(), Some(Part::Capture(_))) {
                return Err(wrong(pattern, "two captures need text between them"));
            }
            parts.push(Part::Capture((name != "_").then(|| name.to_owned())));
            rest = after;
            continue;
        }
        // Up to where the next capture may begin.
        let skip = usize::from(rest.starts_with('<'));
        let end = rest[skip..].find('<').map_or(rest.len(), |at| skip + at);
        literal.push_str(&rest[..end]);
        rest = &rest[end..];
    }
    if !literal.is_empty() {
        parts.push(Part::Literal(literal));
    }
    if parts.is_empty() {
        return Err(wrong(pattern, "it is empty"));
    }
    Ok(parts)
}

/// The capture that a text starts with, if it does, and what follows.
fn capture(text: &str) -> Option<(&str, &str)> {
    let (name, after) = text.strip_prefix('<')?.split_once('>')?;
    is_label_name(name).then_some((name, after))
}

fn wrong(pattern: &str, reason: &str) -> ExtractError {
    ExtractError::Expression(format!("the pattern {pattern:?} is not valid: {reason}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pattern: &str, line: &str) -> String {
        let mut found = Vec::new();
        PatternParser::new(pattern)
            .unwrap()
            .extract(line, &mut |name, value| found.push(format!("{name}={value}")));
        found.join("|")
    }

    const ACCESS: &str = r#"10.1.0.2 - - [15/Nov/2026:10:00:35 +0000] "GET /api/items?id=7 HTTP/1.1" 200 532 "-" "curl/8.1" 0.120"#;

    #[test]
    fn captures_take_what_is_between_the_literals() {
        assert_eq!(
            read(
                r#"<ip> - <user> [<_>] "<method> <path> <_>" <status> <size> "<_>" "<agent>" <took>"#,
                ACCESS
            ),
            "ip=10.1.0.2|user=-|method=GET|path=/api/items?id=7|status=200|size=532|agent=curl/8.1|took=0.120"
        );
        assert_eq!(read("<_>attempt <n>/", "WARN: retrying (attempt 1/3)"), "n=1");
        assert_eq!(read("foo <a> bar<b>", "foo buzz bar"), "a=buzz|b=");
        assert_eq!(read("<a>foo <b> bar", "foo buzz bar"), "a=|b=buzz");
        assert_eq!(read("<all>", " x "), "all= x ");
        assert_eq!(read("<word> ▶ <rest>", "go ▶ 日本"), "word=go|rest=日本");
    }

    #[test]
    fn a_literal_that_does_not_come_leaves_the_rest_to_its_capture() {
        assert_eq!(read("<path>?<query>", "/api/status"), "path=/api/status");
        assert_eq!(read("<a>,<b>;<c>", "1,2"), "a=1|b=2");
        assert_eq!(read("start <a>", "other 1"), "");
        assert_eq!(read("start <a>", "a start 1"), "");
        assert_eq!(read("<a>", ""), "");
    }

    #[test]
    fn angle_brackets_that_are_no_capture_are_literal() {
        assert_eq!(read("<1> <a>", "<1> x"), "a=x");
        assert_eq!(read("<<a>>", "<x>"), "a=x");
        assert_eq!(read("<a b> <c>", "<a b> x"), "c=x");
        assert_eq!(read("a<b><", "a1<"), "b=1");
    }

    #[test]
    fn wrong_patterns_are_refused() {
        for wrong in ["", "<_>", "no capture", "<a><b>", "x<a><_>", "<a> <a>", "<_> text <_>"] {
            assert!(PatternParser::new(wrong).is_err(), "{wrong}");
        }
        for wrong in ["<_><_>", "a <name> b", "x<_><_>y"] {
            assert!(PatternFilter::new(wrong).is_err(), "{wrong}");
        }
        assert_eq!(
            PatternFilter::new("<_><_>").unwrap_err().to_string(),
            "the pattern \"<_><_>\" is not valid: two captures need text between them"
        );
    }

    #[test]
    fn a_filter_matches_whole_lines() {
        let matches =
            |pattern: &str, line: &str| PatternFilter::new(pattern).unwrap().matches(line);
        assert!(matches("Job <_>: read <_> rows<_>", "Job 17: read 500 rows from input.csv"));
        assert!(matches(r#"10.1.0.<_> "GET <_>" 200 <_>"#, ACCESS));
        assert!(matches("<_>2/3)", "warn: retrying (attempt 2/3)"));
        assert!(!matches("Job", "Job 17"));
        assert!(!matches("17<_>", "Job 17 done"));
        assert!(!matches("<_>Job", "Job 17"));
        assert!(matches("plain", "plain"));
        assert!(matches("<_>", "anything"));
        assert!(!matches("<_>", ""));
        assert!(matches("", ""));
        assert!(!matches("", "x"));
        assert!(matches("a<_>b", "a1b2b"));
        assert!(!matches("a<_>b", "ab"));
        assert!(matches("<_>b<_>", "bbx"));
        assert!(!matches("a<_>aa", "aaa"));
        assert!(matches("é<_>é", "é日é"));
    }

    #[test]
    fn literals_are_those_of_the_pattern() {
        let filter = PatternFilter::new("a <_> b <_>").unwrap();
        assert_eq!(filter.literals().collect::<Vec<_>>(), ["a ", " b "]);
    }
}
