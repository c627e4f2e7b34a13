//! `| unpack`: lines that an agent packed together with labels into a JSON object.
//!
//! The field `_entry` is the line that was packed; every other field of text is a label. An object
//! without `_entry` was not packed, and nothing is taken from it.

use super::ExtractError;
use super::json_text::{Cursor, Token, unescape};
use super::name::{is_clean, push_sanitised};
use crate::limits::MAX_LABEL_NAME_BYTES;

const ENTRY: &str = "_entry";

/// Gives the labels of a packed line to the sink, and returns the line that was packed. Empty
/// lines and objects without `_entry` give nothing; a line that is no JSON object is an error, and
/// then nothing was given.
pub fn unpack(
    line: &str,
    sink: &mut dyn FnMut(&str, &str),
) -> Result<Option<String>, ExtractError> {
    if line.is_empty() {
        return Ok(None);
    }
    let mut entry = None;
    each_text(line, &mut |name, raw| {
        if name == ENTRY {
            entry = Some(raw);
        }
    })?;
    let Some(raw) = entry else { return Ok(None) };
    let Some(entry) = unescape_entry(raw) else {
        return Err(ExtractError::Json { expected: "known escapes in `_entry`" });
    };
    let mut sanitised = String::new();
    each_text(line, &mut |name, raw| {
        if name == ENTRY {
            return;
        }
        let name = if is_clean(name.as_bytes()) {
            name
        } else {
            sanitised.clear();
            push_sanitised(&mut sanitised, name);
            sanitised.as_str()
        };
        if !name.is_empty() && name.len() <= MAX_LABEL_NAME_BYTES {
            sink(name, &unescape(raw).unwrap_or_default());
        }
    })?;
    Ok(Some(entry))
}

/// Every field of an object that is text, with its text as written.
fn each_text<'a>(line: &'a str, give: &mut dyn FnMut(&str, &'a str)) -> Result<(), ExtractError> {
    let mut cursor = Cursor::new(line);
    if !cursor.take(b'{') {
        return cursor.error("`{`");
    }
    let mut first = true;
    while let Some(key) = cursor.key(first)? {
        first = false;
        match cursor.value()? {
            Token::Text(raw) => match unescape(key) {
                Some(key) => give(&key, raw),
                None => return cursor.error("a name with known escapes"),
            },
            Token::ObjectStart | Token::ArrayStart => cursor.skip_container()?,
            Token::Plain(_) | Token::Null => {}
        }
    }
    Ok(())
}

/// The packed line itself keeps all its characters.
fn unescape_entry(raw: &str) -> Option<String> {
    if raw.contains('\\') { unescape(raw).map(Into::into) } else { Some(raw.to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<(Option<String>, String), String> {
        let mut found = Vec::new();
        let entry = unpack(line, &mut |name, value| found.push(format!("{name}={value}")))
            .map_err(|error| error.to_string())?;
        Ok((entry, found.join("|")))
    }

    #[test]
    fn texts_become_labels_and_the_entry_the_line() {
        assert_eq!(
            read(
                r#"{"_entry":"level=warn n=2","container":"c2","pod":"p-2","count":3,"o":{"a":"b"}}"#
            ),
            Ok((Some("level=warn n=2".into()), "container=c2|pod=p-2".into()))
        );
        assert_eq!(
            read(r#"{"a-b":"x\"y","_entry":"{\"z\":1}"}"#),
            Ok((Some("{\"z\":1}".into()), "a_b=x\"y".into()))
        );
    }

    #[test]
    fn an_object_without_entry_gives_nothing() {
        assert_eq!(read(r#"{"container":"c3"}"#), Ok((None, String::new())));
        assert_eq!(read(r#"{"_entry":5,"a":"b"}"#), Ok((None, String::new())));
        assert_eq!(read("{}"), Ok((None, String::new())));
        assert_eq!(read(""), Ok((None, String::new())));
    }

    #[test]
    fn what_is_no_object_is_an_error() {
        for broken in ["not packed", "[1]", r#"{"_entry":"x","a":"#, r#"{"_entry":"\x"}"#] {
            assert!(read(broken).is_err(), "{broken}");
        }
    }
}
