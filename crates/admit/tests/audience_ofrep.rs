//! What clients are told over OFREP, to the byte.
#![allow(clippy::unwrap_used, clippy::panic, unreachable_pub, reason = "a test")]

use kymo_admit::audience::{AudienceSettings, Author, FlagBook, FlagPatch, ofrep};

fn book(flags: &[(&str, &str)]) -> FlagBook {
    let mut book = FlagBook::default();
    for (key, json) in flags {
        let said: FlagPatch = serde_json::from_str(json).unwrap();
        let author = Author { by: "root", at_millis: 7 };
        book.create(key, said, &AudienceSettings::default(), &author).unwrap();
    }
    book
}

fn asked(book: &FlagBook, key: &str, body: &str) -> (u16, String) {
    let answer = ofrep::evaluate(book, key, body.as_bytes());
    (answer.status, String::from_utf8(answer.body).unwrap())
}

fn success(reason: &str, value: bool, mode: &str) -> (u16, String) {
    let variant = if value { "on" } else { "off" };
    let text = format!(
        r#"{{"key":"f","reason":"{reason}","variant":"{variant}","value":{value},"metadata":{{"mode":"{mode}","updatedAtMillis":7}}}}"#
    );
    (200, text)
}

const ADA: &str = r#"{"context": {"targetingKey": "ada"}}"#;

#[test]
fn a_flag_is_evaluated_with_its_reason() {
    let cases = [
        ("{}", ADA, success("STATIC", false, "nobody")),
        (r#"{"mode": "everybody"}"#, ADA, success("STATIC", true, "everybody")),
        (r#"{"enabled": false}"#, ADA, success("DISABLED", true, "nobody")),
        (
            r#"{"mode": "selected", "users": ["ada"]}"#,
            ADA,
            success("TARGETING_MATCH", true, "selected"),
        ),
        (
            r#"{"mode": "selected", "regex": "a.a"}"#,
            ADA,
            success("TARGETING_MATCH", true, "selected"),
        ),
        (r#"{"mode": "selected", "users": ["bob"]}"#, ADA, success("DEFAULT", false, "selected")),
        (r#"{"mode": "selected", "percentage": 100}"#, ADA, success("SPLIT", true, "selected")),
        (r#"{"mode": "selected", "percentage": 1e-9}"#, ADA, success("SPLIT", false, "selected")),
    ];
    for (flag, question, expected) in cases {
        assert_eq!(asked(&book(&[("f", flag)]), "f", question), expected, "{flag}");
    }
}

#[test]
fn the_user_is_an_attribute_of_the_flag_else_the_targeting_key() {
    let flags = book(&[("f", r#"{"mode": "selected", "users": ["ada", "42"]}"#)]);
    let yes = success("TARGETING_MATCH", true, "selected");
    let no = success("DEFAULT", false, "selected");
    let cases = [
        (r#"{"context": {"user.id": "ada", "targetingKey": "bob"}}"#, &yes),
        (r#"{"context": {"enduser.id": "ada"}}"#, &yes),
        (r#"{"context": {"user.id": "bob", "enduser.id": "ada"}}"#, &no),
        (r#"{"context": {"user.id": 42}}"#, &yes),
        (r#"{"context": {"user.id": 42.0}}"#, &yes),
        (r#"{"context": {"user.id": "", "targetingKey": "ada"}}"#, &yes),
        (r#"{"context": {"user.id": ["ada", 42]}}"#, &yes),
        (r#"{"context": {"user.id": ["ada", "bob"]}}"#, &no),
        (r#"{"context": {"user.id": "ada", "enduser.id": "bob"}}"#, &no),
        (r#"{"context": {"user.id": [], "targetingKey": "ada"}}"#, &yes),
        (r#"{"context": {"targetingKey": ""}}"#, &no),
        (r#"{"context": {}}"#, &no),
        (r#"{"context": null}"#, &no),
        ("{}", &no),
    ];
    for (question, expected) in cases {
        assert_eq!(&asked(&flags, "f", question), expected, "{question}");
    }
    let open = book(&[("f", r#"{"mode": "selected", "unknown": "everybody"}"#)]);
    assert_eq!(asked(&open, "f", "{}"), success("DEFAULT", true, "selected"));
}

#[test]
fn wrong_questions_are_told_by_code() {
    let flags = book(&[("f", "{}")]);
    let failure = |status: u16, code: &str, details: &str| {
        let text = serde_json::json!({"key": "f", "errorCode": code, "errorDetails": details});
        (status, text)
    };
    let told = |key: &str, body: &str| {
        let (status, text) = asked(&flags, key, body);
        (status, serde_json::from_str::<serde_json::Value>(&text).unwrap())
    };
    let context = "the context must be an object";
    assert_eq!(told("f", r#"{"context": 1}"#), failure(400, "INVALID_CONTEXT", context));
    let key = "targetingKey must be a text";
    let question = r#"{"context": {"targetingKey": 1}}"#;
    assert_eq!(told("f", question), failure(400, "INVALID_CONTEXT", key));
    for body in ["", "{", "[]", "\u{0}", "null"] {
        let (status, document) = told("f", body);
        assert_eq!((status, &document["errorCode"]), (400, &"PARSE_ERROR".into()), "{body:?}");
        assert_eq!(document["key"], "f");
    }
    let (status, document) = told("f", &" ".repeat(1 << 20));
    assert_eq!((status, &document["errorCode"]), (400, &"GENERAL".into()));
    assert_eq!(
        asked(&flags, "g", "{}"),
        (
            404,
            r#"{"key":"g","errorCode":"FLAG_NOT_FOUND","errorDetails":"there is no flag \"g\""}"#
                .to_owned()
        )
    );
}

#[test]
fn all_flags_have_a_tag_that_changes_with_the_answer_alone() {
    let flags = book(&[("a", "{}"), ("b", r#"{"mode": "selected", "users": ["ada"]}"#)]);
    let all =
        |question: &str, tag: Option<&str>| ofrep::evaluate_all(&flags, question.as_bytes(), tag);
    let first = all(ADA, None);
    assert_eq!(first.status, 200);
    assert_eq!(
        String::from_utf8(first.body).unwrap(),
        concat!(
            r#"{"flags":[{"key":"a","reason":"STATIC","variant":"off","value":false,"#,
            r#""metadata":{"mode":"nobody","updatedAtMillis":7}},"#,
            r#"{"key":"b","reason":"TARGETING_MATCH","variant":"on","value":true,"#,
            r#""metadata":{"mode":"selected","updatedAtMillis":7}}]}"#
        )
    );
    let tag = first.etag.unwrap();
    assert!(tag.starts_with('"') && tag.ends_with('"'), "{tag}");
    for named in [tag.clone(), format!("\"x\", {tag}"), format!("W/{tag}"), "*".to_owned()] {
        let again = all(ADA, Some(&named));
        assert_eq!((again.status, again.body.len()), (304, 0), "{named}");
        assert_eq!(again.etag.as_ref(), Some(&tag));
    }
    let bob = all(r#"{"context": {"targetingKey": "bob"}}"#, Some(&tag));
    assert_eq!(bob.status, 200);
    assert_ne!(bob.etag, Some(tag));
    let wrong = all("[", None);
    assert_eq!(wrong.status, 400);
    assert!(wrong.body.starts_with(br#"{"errorCode":"PARSE_ERROR""#));
}
