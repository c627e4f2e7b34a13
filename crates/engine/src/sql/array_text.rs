//! Arrays as PostgreSQL writes them: `{a,"b c",NULL}`.

use std::str::Chars;

/// The items of an array, each `None` if it is NULL; `None` if the text is no array, or one of
/// arrays.
pub(super) fn items(text: &str) -> Option<Vec<Option<String>>> {
    let inner = text.trim().strip_prefix('{')?.strip_suffix('}')?;
    let mut items = Vec::new();
    if inner.trim().is_empty() {
        return Some(items);
    }
    let mut letters = inner.chars();
    loop {
        let (item, is_last) = item(&mut letters)?;
        items.push(item);
        if is_last {
            return Some(items);
        }
    }
}

/// The next item, and whether it is the last.
fn item(letters: &mut Chars<'_>) -> Option<(Option<String>, bool)> {
    let (mut text, mut is_quoted, mut in_quotes) = (String::new(), false, false);
    let is_last = loop {
        match letters.next() {
            None if in_quotes => return None,
            None => break true,
            Some('"') => (in_quotes, is_quoted) = (!in_quotes, true),
            Some('\\') => text.push(letters.next()?),
            Some(letter) if in_quotes => text.push(letter),
            Some(',') => break false,
            Some('{' | '}') => return None,
            Some(space) if space.is_whitespace() && (is_quoted || text.is_empty()) => {}
            Some(letter) => text.push(letter),
        }
    };
    if !is_quoted {
        text.truncate(text.trim_end().len());
        if text.is_empty() {
            return None;
        }
    }
    let is_null = !is_quoted && text.eq_ignore_ascii_case("null");
    Some(((!is_null).then_some(text), is_last))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_are_taken_apart() {
        let owned = |items: &[Option<&str>]| {
            Some(items.iter().map(|item| item.map(str::to_owned)).collect::<Vec<_>>())
        };
        assert_eq!(items("{}"), owned(&[]));
        assert_eq!(items(" { a b , \"c\" } "), owned(&[Some("a b"), Some("c")]));
        assert_eq!(
            items(r#"{NULL,"null","a,\"}",b\,c,""}"#),
            owned(&[None, Some("null"), Some("a,\"}"), Some("b,c"), Some("")])
        );
        for wrong in ["", "a", "{", "{a", "a}", "{a,}", "{,}", "{{a}}", "{\"a}", "{a\\}"] {
            assert_eq!(items(wrong), None, "{wrong}");
        }
    }
}
