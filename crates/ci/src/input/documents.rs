//! A text of JSON documents, one after another, as values. If the last is cut short, what was
//! complete of it is kept.

use serde_json::Value;

use crate::limits::MAX_DEPTH;

/// The documents of a text.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Documents {
    pub(super) values: Vec<Value>,
    /// What is wrong with the text, if it is not JSON to its end.
    pub(super) problem: Option<String>,
}

pub(super) fn read(text: &str) -> Documents {
    let mut documents = Documents::default();
    let mut stream = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    loop {
        let at = stream.byte_offset();
        match stream.next() {
            Some(Ok(value)) => documents.values.push(value),
            Some(Err(error)) => {
                documents.problem = Some(error.to_string());
                let rest = text.get(at..).unwrap_or_default();
                if let Some(mended) = complete_part(rest) {
                    documents.values.extend(serde_json::from_str::<Value>(&mended));
                }
                return documents;
            }
            None => return documents,
        }
    }
}

/// The longest beginning of a document after which everything open can be closed.
fn complete_part(text: &str) -> Option<String> {
    let mut open: Vec<char> = Vec::new();
    let mut best: Option<(usize, Vec<char>)> = None;
    let mut characters = text.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => {
                let mut is_escaped = false;
                let end = characters.by_ref().find(|(_, c)| {
                    let is_end = *c == '"' && !is_escaped;
                    is_escaped = *c == '\\' && !is_escaped;
                    is_end
                });
                // Cut in the middle of it.
                if end.is_none() {
                    break;
                }
            }
            '{' | '[' => {
                open.push(if character == '{' { '}' } else { ']' });
                if open.len() > MAX_DEPTH {
                    break;
                }
                best = Some((at + 1, open.clone()));
            }
            '}' | ']' => {
                if open.pop() != Some(character) {
                    break;
                }
                best = Some((at + 1, open.clone()));
            }
            ',' => best = Some((at, open.clone())),
            _ => {}
        }
        if open.is_empty() && !character.is_whitespace() {
            break;
        }
    }
    let (end, open) = best?;
    Some(text[..end].chars().chain(open.into_iter().rev()).collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn documents_follow_each_other() {
        let documents = read("[1] {\"a\": 2}\n[3]\n");
        assert_eq!(documents.values, [json!([1]), json!({"a": 2}), json!([3])]);
        assert_eq!(documents.problem, None);
        assert_eq!(read("  \n").values, Vec::<Value>::new());
    }

    #[test]
    fn what_was_complete_of_a_cut_document_is_kept() {
        let text = r#"{"jobs": [{"name": "a, \"]", "steps": [1, 2]}, {"name": "b", "steps": [3"#;
        let documents = read(text);
        assert!(documents.problem.is_some());
        let expected =
            json!({"jobs": [{"name": "a, \"]", "steps": [1, 2]}, {"name": "b", "steps": []}]});
        assert_eq!(documents.values, [expected]);
    }

    #[test]
    fn a_document_cut_anywhere_gives_a_part_of_it_and_no_panic() {
        let text =
            r#"{"jobs": [{"name": "ä\\", "ok": true, "at": null, "steps": [{"n": 1}, {}]}]}"#;
        for end in (0..text.len()).filter(|end| text.is_char_boundary(*end)) {
            let documents = read(&text[..end]);
            assert!(end == 0 || documents.problem.is_some(), "cut at {end}");
            assert!(documents.values.len() <= 1);
            // Once something is complete it is never lost again.
            let name = documents.values.first().and_then(|value| value["jobs"][0]["name"].as_str());
            assert!(
                end < text.find(", \"ok\"").unwrap() + 1 || name == Some("ä\\"),
                "cut at {end}"
            );
        }
        assert!(read(&"[".repeat(100_000)).problem.is_some());
        assert_eq!(read("nonsense").values.len(), 0);
        assert_eq!(read("}{").values.len(), 0);
    }
}
