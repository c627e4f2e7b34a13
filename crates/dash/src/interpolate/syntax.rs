//! Finding variables in a text. A name is of letters, digits and underscores.

use crate::limits::MAX_NAMED_BYTES;

/// A part of a text.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Piece<'a> {
    /// It is as it is.
    Text(&'a str),
    /// It stands for something.
    Variable(Named<'a>),
}

/// A variable as it is named.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Named<'a> {
    /// All of it, as it is written.
    pub(super) written: &'a str,
    /// Its name.
    pub(super) name: &'a str,
    /// What of it, as in `${v.field}`.
    pub(super) field: Option<&'a str>,
    /// How it is written, with arguments.
    pub(super) format: Option<&'a str>,
}

/// One after the other, so that of a text with very many no list is held.
pub(super) fn pieces(text: &str) -> impl Iterator<Item = Piece<'_>> {
    let (mut plain, mut at) = (0, 0);
    std::iter::from_fn(move || {
        while let Some(offset) = text[at..].find(['$', '[']) {
            let start = at + offset;
            match variable(&text[start..]) {
                None => at = start + 1,
                // The variable is found again at once.
                Some(_) if plain < start => {
                    let before = &text[plain..start];
                    (plain, at) = (start, start);
                    return Some(Piece::Text(before));
                }
                Some(named) => {
                    at = start + named.written.len();
                    plain = at;
                    return Some(Piece::Variable(named));
                }
            }
        }
        let rest = &text[plain..];
        (plain, at) = (text.len(), text.len());
        (!rest.is_empty()).then_some(Piece::Text(rest))
    })
}

/// The variable that a text begins with.
fn variable(text: &str) -> Option<Named<'_>> {
    if let Some(rest) = text.strip_prefix("${") {
        let inner = inner(rest, "}")?;
        return braced(&text[..inner.len() + 3], inner);
    }
    if let Some(rest) = text.strip_prefix("[[") {
        let inner = inner(rest, "]]")?;
        let (name, format) = match inner.split_once(':') {
            Some((name, format)) => (name, Some(format)),
            None => (inner, None),
        };
        let written = &text[..inner.len() + 4];
        return is_name(name).then_some(Named { written, name, field: None, format });
    }
    let rest = text.strip_prefix('$')?;
    let length = rest.bytes().take_while(|byte| is_name_byte(*byte)).count();
    // `$1` is the group of a replacement.
    let is_group = rest.bytes().next().is_some_and(|byte| byte.is_ascii_digit());
    let name = &rest[..length];
    let written = &text[..=length];
    (length > 0 && !is_group).then_some(Named { written, name, field: None, format: None })
}

/// What stands between the marks of a variable, if it begins with a name. The end is looked for no
/// further than a variable is long.
fn inner<'a>(rest: &'a str, end: &str) -> Option<&'a str> {
    let name_length = rest.bytes().take_while(|byte| is_name_byte(*byte)).count();
    let after = &rest[name_length..];
    if name_length == 0 || !after.starts_with(['.', ':']) {
        return (name_length > 0 && after.starts_with(end)).then(|| &rest[..name_length]);
    }
    let near = &rest.as_bytes()[..rest.len().min(MAX_NAMED_BYTES)];
    let place = near.windows(end.len()).position(|part| part == end.as_bytes())?;
    Some(&rest[..place])
}

/// `name`, `name.field`, `name:format`, `name.field:format`.
fn braced<'a>(written: &'a str, inner: &'a str) -> Option<Named<'a>> {
    let (path, format) = match inner.split_once(':') {
        Some((path, format)) => (path, Some(format)),
        None => (inner, None),
    };
    let (name, field) = match path.split_once('.') {
        Some((name, field)) => (name, Some(field)),
        None => (path, None),
    };
    is_name(name).then_some(Named { written, name, field, format })
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(is_name_byte)
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<(&str, Option<&str>, Option<&str>)> {
        let named = pieces(text).filter_map(|piece| match piece {
            Piece::Variable(named) => Some((named.name, named.field, named.format)),
            Piece::Text(_) => None,
        });
        named.collect()
    }

    #[test]
    fn all_forms_are_found() {
        let text = "a $b ${c} ${d:csv} ${e.f} [[g]] [[h:pipe]] ${i.j:date:YYYY-MM} $k-$l.x";
        assert_eq!(
            found(text),
            [
                ("b", None, None),
                ("c", None, None),
                ("d", None, Some("csv")),
                ("e", Some("f"), None),
                ("g", None, None),
                ("h", None, Some("pipe")),
                ("i", Some("j"), Some("date:YYYY-MM")),
                ("k", None, None),
                ("l", None, None),
            ]
        );
    }

    #[test]
    fn what_is_no_variable_stays_text() {
        for text in ["$", "$$", "${", "${}", "${a b}", "[[", "[[a b]]", "[a]", "$1", "5$ [$", "ä$ü"]
        {
            assert_eq!(found(text), [], "{text}");
            assert_eq!(pieces(text).collect::<Vec<_>>(), [Piece::Text(text)]);
        }
        assert_eq!(found("$$a"), [("a", None, None)]);
        assert_eq!(found("[[[a]]"), [("a", None, None)]);
    }

    #[test]
    fn an_end_is_looked_for_nearby_only() {
        let long = format!("${{a:{}}}", "b".repeat(MAX_NAMED_BYTES));
        assert_eq!(found(&long), []);
        assert_eq!(found("${a:é}[[a:é]]").len(), 2);
        // Without a bound each of these would look through all that follow.
        for beginning in ["${", "${a:", "[[", "[[a:"] {
            assert_eq!(found(&beginning.repeat(50_000)), [], "{beginning}");
        }
    }
}
