//! Patterns of attribute names: `db.*,http.method`.

use std::str::Chars;

use crate::limits::MAX_PRUNING_PATTERNS;

/// What [`Patterns::parse`] reads, in the words of an error.
pub(super) const EXPECTED: &str = "at most 100 attribute names with commas between them, where * \
                                   is any text, ? one character, [a-z] or [!a-z] one of some, and \
                                   \\ goes before a character that means itself";

/// Names of attributes, of which one has to fit.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Patterns(Vec<Pattern>);

impl Patterns {
    /// Reads a list. What is empty between commas does not count.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let names = text.split(',').map(str::trim).filter(|name| !name.is_empty());
        let patterns: Vec<Pattern> = names.map(Pattern::parse).collect::<Option<_>>()?;
        (patterns.len() <= MAX_PRUNING_PATTERNS).then_some(Self(patterns))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn fits(&self, name: &str) -> bool {
        self.0.iter().any(|pattern| pattern.fits(name))
    }
}

#[derive(Debug, Clone, PartialEq)]
struct Pattern(Vec<Piece>);

#[derive(Debug, Clone, PartialEq)]
enum Piece {
    /// Any text, also none.
    Any,
    /// One character, whichever.
    One,
    /// This character.
    Exactly(char),
    /// A character in one of these ranges, or in none of them.
    Among { ranges: Vec<(char, char)>, is_negated: bool },
}

impl Pattern {
    fn parse(text: &str) -> Option<Self> {
        let mut rest = text.chars();
        let mut pieces = Vec::new();
        while let Some(next) = rest.next() {
            pieces.push(match next {
                '*' => Piece::Any,
                '?' => Piece::One,
                '[' => among(&mut rest)?,
                '\\' => Piece::Exactly(rest.next()?),
                // Alternatives elsewhere; here a comma has ended the pattern already.
                '{' => return None,
                other => Piece::Exactly(other),
            });
        }
        Some(Self(pieces))
    }

    /// Goes back to the last `*` only, so that the time is at most the product of both lengths.
    fn fits(&self, name: &str) -> bool {
        let mut rest = name.chars();
        let mut at = 0;
        let mut last_any: Option<(usize, Chars<'_>)> = None;
        loop {
            match self.0.get(at) {
                Some(Piece::Any) => {
                    at += 1;
                    last_any = Some((at, rest.clone()));
                    continue;
                }
                Some(piece) => {
                    let mut after = rest.clone();
                    if after.next().is_some_and(|next| piece.fits(next)) {
                        rest = after;
                        at += 1;
                        continue;
                    }
                }
                None if rest.as_str().is_empty() => return true,
                None => {}
            }
            let Some((behind, from)) = &mut last_any else { return false };
            if from.next().is_none() {
                return false;
            }
            at = *behind;
            rest = from.clone();
        }
    }
}

impl Piece {
    fn fits(&self, next: char) -> bool {
        match self {
            Self::Any | Self::One => true,
            Self::Exactly(character) => *character == next,
            Self::Among { ranges, is_negated } => {
                ranges.iter().any(|(first, last)| (*first..=*last).contains(&next)) != *is_negated
            }
        }
    }
}

/// What stands between brackets, of which the first has been read.
fn among(rest: &mut Chars<'_>) -> Option<Piece> {
    let is_negated = rest.as_str().starts_with('!');
    if is_negated {
        rest.next();
    }
    let mut ranges = Vec::new();
    loop {
        let first = match rest.next()? {
            ']' if ranges.is_empty() => return None,
            ']' => return Some(Piece::Among { ranges, is_negated }),
            '\\' => rest.next()?,
            other => other,
        };
        let last = match rest.as_str().strip_prefix('-') {
            Some(behind) if !behind.starts_with(']') => {
                rest.next();
                rest.next()?
            }
            _ => first,
        };
        if last < first {
            return None;
        }
        ranges.push((first, last));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fits(pattern: &str, name: &str) -> bool {
        Patterns::parse(pattern).unwrap().fits(name)
    }

    #[test]
    fn a_pattern_is_a_name_with_holes() {
        for (pattern, name) in [
            ("db.*", "db.operation.name"),
            ("db.*", "db."),
            ("db.operation", "db.operation"),
            ("*", ""),
            ("**.name", "db.name"),
            ("a?c", "aéc"),
            ("a[b-d]e", "ace"),
            ("a[!b-d]e", "axe"),
            ("[a-]", "-"),
            ("\\*", "*"),
            ("http.route, ,db.*,", "http.route"),
            ("*a*b", "xaxaxbxb"),
        ] {
            assert!(fits(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in [
            ("db.*", "db"),
            ("db.operation", "db.operation.name"),
            ("a?c", "ac"),
            ("a[b-d]e", "axe"),
            ("a[!b-d]e", "ace"),
            ("\\*", "x"),
            ("db.*,x", "http.route"),
            ("*a*b", "xaxaxbxc"),
            (",", ""),
        ] {
            assert!(!fits(pattern, name), "{pattern} {name}");
        }
    }

    #[test]
    fn what_is_no_pattern_is_refused() {
        for bad in ["[", "[]", "[a", "[z-a]", "{a}", "a\\", "[!]"] {
            assert_eq!(Patterns::parse(bad), None, "{bad}");
        }
        let list = |count: usize| vec!["a"; count].join(",");
        assert!(Patterns::parse(&list(MAX_PRUNING_PATTERNS)).is_some());
        assert_eq!(Patterns::parse(&list(MAX_PRUNING_PATTERNS + 1)), None);
        assert!(EXPECTED.contains(&MAX_PRUNING_PATTERNS.to_string()));
    }

    /// Not a benchmark: it only holds that nothing is exponential.
    #[test]
    fn a_pattern_of_many_holes_ends_soon() {
        let began = std::time::Instant::now();
        assert!(!fits(&"*a".repeat(200), &format!("{}b", "a".repeat(5000))));
        assert!(began.elapsed() < std::time::Duration::from_secs(2), "{:?}", began.elapsed());
    }
}
