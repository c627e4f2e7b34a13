//! Arrays as PostgreSQL writes them: `{a,"b c",NULL}`.

use std::str::Chars;

use crate::limits::PARAMETER_MAX_VALUES;

/// Why a text is not taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unread {
    /// It is no array.
    NoArray,
    /// It is an array of arrays.
    Nested,
    /// It has more than [`PARAMETER_MAX_VALUES`] items.
    TooMany,
}

/// The items of an array, each `None` if it is NULL.
pub fn items(text: &str) -> Result<Vec<Option<String>>, Unread> {
    let inner = text.trim().strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
    let inner = inner.ok_or(Unread::NoArray)?;
    let mut items = Vec::new();
    if inner.trim().is_empty() {
        return Ok(items);
    }
    let mut letters = inner.chars();
    loop {
        // An item takes many times the memory of its text.
        if items.len() == PARAMETER_MAX_VALUES {
            return Err(Unread::TooMany);
        }
        let (item, is_last) = item(&mut letters)?;
        items.push(item);
        if is_last {
            return Ok(items);
        }
    }
}

/// The next item, and whether it is the last.
fn item(letters: &mut Chars<'_>) -> Result<(Option<String>, bool), Unread> {
    let (mut text, mut is_quoted, mut in_quotes) = (String::new(), false, false);
    let is_last = loop {
        match letters.next() {
            None if in_quotes => return Err(Unread::NoArray),
            None => break true,
            Some('"') => (in_quotes, is_quoted) = (!in_quotes, true),
            Some('\\') => text.push(letters.next().ok_or(Unread::NoArray)?),
            Some(letter) if in_quotes => text.push(letter),
            Some(',') => break false,
            Some('{') => return Err(Unread::Nested),
            Some('}') => return Err(Unread::NoArray),
            Some(space) if space.is_whitespace() && (is_quoted || text.is_empty()) => {}
            Some(letter) => text.push(letter),
        }
    };
    if !is_quoted {
        text.truncate(text.trim_end().len());
        if text.is_empty() {
            return Err(Unread::NoArray);
        }
    }
    let is_null = !is_quoted && text.eq_ignore_ascii_case("null");
    Ok(((!is_null).then_some(text), is_last))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_are_taken_apart() {
        let owned = |items: &[Option<&str>]| {
            Ok::<_, Unread>(items.iter().map(|item| item.map(str::to_owned)).collect::<Vec<_>>())
        };
        assert_eq!(items("{}"), owned(&[]));
        assert_eq!(items(" { a b , \"c\" } "), owned(&[Some("a b"), Some("c")]));
        assert_eq!(
            items(r#"{NULL,"null","a,\"}",b\,c,""}"#),
            owned(&[None, Some("null"), Some("a,\"}"), Some("b,c"), Some("")])
        );
        for wrong in ["", "a", "{", "{a", "a}", "{a}}", "{a,}", "{,}", "{\"a}", "{a\\}"] {
            assert_eq!(items(wrong), Err(Unread::NoArray), "{wrong}");
        }
        assert_eq!(items("{{a}}"), Err(Unread::Nested));
    }

    #[test]
    fn an_array_has_as_many_items_as_a_parameter_may() {
        let most = format!("{{{}0}}", "0,".repeat(PARAMETER_MAX_VALUES - 1));
        assert_eq!(items(&most).map(|items| items.len()), Ok(PARAMETER_MAX_VALUES));
        assert_eq!(items(&most.replace('}', ",0}")), Err(Unread::TooMany));
    }
}
