//! `| json`: every field of a JSON object as a label.
//!
//! Objects within objects are flattened, their names joined by `_`; arrays and nulls are left out;
//! numbers and truth values keep the text of the line. A string with an escape that means nothing
//! becomes an empty value. What follows the object is not read.

use super::ExtractError;
use super::json_text::{Cursor, Token, unescape};
use super::name::{is_clean, push_sanitised};
use crate::limits::{MAX_JSON_DEPTH, MAX_LABEL_NAME_BYTES};

/// Gives every field of a line that is wanted to the sink, in the line's order. A line that is not
/// a JSON object is an error, an empty one too; fields before the place where it breaks off have
/// been given by then.
pub fn flatten(
    line: &str,
    wanted: &dyn Fn(&str) -> bool,
    sink: &mut dyn FnMut(&str, &str),
) -> Result<(), ExtractError> {
    let mut cursor = Cursor::new(line);
    if !cursor.take(b'{') {
        return cursor.error("`{`");
    }
    // The names of the objects around, joined; empty at the top, where nothing is copied.
    let mut prefix = String::new();
    let mut outer_lengths: Vec<usize> = Vec::new();
    let mut first = true;
    loop {
        let Some(key) = cursor.key(first)? else {
            match outer_lengths.pop() {
                Some(length) => prefix.truncate(length),
                None => return Ok(()),
            }
            first = false;
            continue;
        };
        first = false;
        match cursor.value()? {
            Token::Null => {}
            Token::ArrayStart => cursor.skip_container()?,
            Token::ObjectStart => {
                let length = prefix.len();
                if outer_lengths.len() >= MAX_JSON_DEPTH {
                    return cursor.error("fewer objects within each other");
                }
                push_part(&mut prefix, key, &cursor)?;
                if prefix.len() > MAX_LABEL_NAME_BYTES {
                    prefix.truncate(length);
                    cursor.skip_container()?;
                } else {
                    outer_lengths.push(length);
                    first = true;
                }
            }
            value @ (Token::Text(_) | Token::Plain(_)) => {
                if prefix.is_empty() && is_clean(key.as_bytes()) {
                    if key.len() <= MAX_LABEL_NAME_BYTES && wanted(key) {
                        give(key, value, sink);
                    }
                    continue;
                }
                let length = prefix.len();
                push_part(&mut prefix, key, &cursor)?;
                if !prefix.is_empty() && prefix.len() <= MAX_LABEL_NAME_BYTES && wanted(&prefix) {
                    give(&prefix, value, sink);
                }
                prefix.truncate(length);
            }
        }
    }
}

/// Makes a field's name part of the name being built.
fn push_part(prefix: &mut String, key: &str, cursor: &Cursor<'_>) -> Result<(), ExtractError> {
    let Some(key) = unescape(key) else { return cursor.error("a name with known escapes") };
    if !prefix.is_empty() {
        prefix.push('_');
    }
    push_sanitised(prefix, &key);
    Ok(())
}

fn give(name: &str, value: Token<'_>, sink: &mut dyn FnMut(&str, &str)) {
    match value {
        Token::Text(raw) => sink(name, &unescape(raw).unwrap_or_default()),
        Token::Plain(text) => sink(name, text),
        Token::ObjectStart | Token::ArrayStart | Token::Null => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(line: &str) -> (Vec<(String, String)>, bool) {
        let mut found = Vec::new();
        let ended = flatten(line, &|_| true, &mut |name, value| {
            found.push((name.to_owned(), value.to_owned()));
        });
        (found, ended.is_ok())
    }

    fn text(line: &str) -> String {
        let (found, ended) = all(line);
        assert!(ended, "{line}");
        found.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn objects_are_flattened_arrays_and_nulls_left_out() {
        assert_eq!(
            text(
                r#"{"level":"debug","user-agent":"curl/8.1","cache.hit":false,"ratio":0.25,"none":null,"empty":"","1st":1}"#
            ),
            "level=debug user_agent=curl/8.1 cache_hit=false ratio=0.25 empty= _1st=1"
        );
        assert_eq!(
            text(r#"{"user":{"id":"u3","name":{"first":"Cleo"}},"tags":["retry",{"a":1}],"x":7}"#),
            "user_id=u3 user_name_first=Cleo x=7"
        );
        assert_eq!(text(r#" { "a" : { } , "b" : [ ] , "c" : 1e-3 } "#), "c=1e-3");
        assert_eq!(text(r#"{"a":{"1":2}}"#), "a_1=2");
        assert_eq!(text("{}"), "");
    }

    #[test]
    fn strings_are_unescaped_and_numbers_kept_as_written() {
        assert_eq!(
            text(r#"{"a":"x\n\"y\"","b":1.50,"c":-0,"d":12345678901234567890}"#),
            "a=x\n\"y\" b=1.50 c=-0 d=12345678901234567890"
        );
        assert_eq!(text(r#"{"p":"C:\users","q":1}"#), "p= q=1");
        assert_eq!(text(r#"{"\u0061\tb":1}"#), "a_b=1");
    }

    #[test]
    fn a_name_that_comes_twice_is_given_twice() {
        assert_eq!(text(r#"{"a":1,"a":2}"#), "a=1 a=2");
        assert_eq!(text(r#"{"a_b":1,"a":{"b":2}}"#), "a_b=1 a_b=2");
    }

    #[test]
    fn what_follows_the_object_is_not_read() {
        assert_eq!(text(r#"{"a":1} and more {"#), "a=1");
    }

    #[test]
    fn broken_lines_are_errors_after_what_could_be_read() {
        let (found, ended) = all(r#"{"level":"info","msg":"broken"#);
        assert_eq!((found.len(), ended), (1, false));
        for broken in [
            "",
            " ",
            "plain text",
            "[1]",
            "\"a\"",
            "{",
            "{\"a\"",
            "{\"a\":",
            "{\"a\":1",
            "{\"a\":1,",
            "{\"a\":1,}",
            "{\"a\":nope}",
            "{a:1}",
            "{\"a\" 1}",
            "{\"a\":1 \"b\":2}",
            "{\"a\":[1}",
            "{\"a\":{}",
            "{\"a\":\"\\",
            "{\"\\x\":1}",
        ] {
            // A bracket of the other kind closes an array that is skipped; then the object is open.
            assert!(!all(broken).1, "{broken}");
        }
        // Lines that fail alike are told alike.
        for none in ["nope", "  nope", ""] {
            let error = flatten(none, &|_| true, &mut |_, _| {}).unwrap_err();
            assert_eq!(error.to_string(), "not JSON: expected `{`", "{none}");
        }
    }

    #[test]
    fn only_wanted_names_are_given() {
        let mut found = Vec::new();
        let line = r#"{"a":1,"b":{"c":2,"d":3},"e-f":4}"#;
        flatten(line, &|name| matches!(name, "b_d" | "e_f"), &mut |n, v| {
            found.push(format!("{n}={v}"))
        })
        .unwrap();
        assert_eq!(found, ["b_d=3", "e_f=4"]);
    }

    #[test]
    fn depth_and_names_are_bounded() {
        let deep = format!("{}1{}", "{\"a\":".repeat(100_000), "}".repeat(100_000));
        assert!(!all(&deep).1);
        let array = format!("{{\"a\":{}{},\"b\":1}}", "[".repeat(100_000), "]".repeat(100_000));
        assert_eq!(text(&array), "b=1");
        let long = format!("{{\"{0}\":{{\"a\":1}},\"{0}\":2,\"b\":3}}", "x".repeat(5000));
        assert_eq!(text(&long), "b=3");
    }
}
