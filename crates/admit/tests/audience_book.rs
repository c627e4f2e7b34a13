//! Flags as a document: changes, their audit, and what is refused.
#![allow(clippy::unwrap_used, clippy::panic, unreachable_pub, reason = "a test")]

use kymo_admit::audience::limits::{MAX_AUDIT_BYTES, MAX_AUDIT_ENTRIES, MAX_FLAGS};
use kymo_admit::audience::{Answer, AudienceSettings, Author, FlagBook, FlagError, FlagPatch, api};
use serde_json::{Value, json};

fn author(at_millis: u64) -> Author<'static> {
    Author { by: "root", at_millis }
}

fn create(book: &mut FlagBook, document: &Value) -> Answer {
    let settings = AudienceSettings::default();
    api::create(book, document.to_string().as_bytes(), &settings, &author(1))
}

fn document(answer: &Answer) -> Value {
    serde_json::from_slice(&answer.body).unwrap()
}

fn patch(book: &mut FlagBook, key: &str, change: &Value, at_millis: u64) -> Answer {
    api::patch(book, key, change.to_string().as_bytes(), &author(at_millis))
}

#[test]
fn a_flag_is_made_shown_changed_and_removed() {
    let mut book = FlagBook::default();
    let made = create(&mut book, &json!({"key": "flag_ot_traces", "attributes": ["user.id"]}));
    assert_eq!(made.status, 201);
    let expected = json!({
        "key": "flag_ot_traces", "description": "", "enabled": true, "mode": "nobody", "users": [],
        "percentage": 0.0, "regex": null, "attributes": ["user.id"], "unknown": "nobody",
        "where": null, "signals": ["traces", "metrics", "logs"], "updated_at_millis": 1,
        "updated_by": "root"
    });
    assert_eq!(document(&made), expected);
    assert_eq!(api::get(&book, "flag_ot_traces"), Answer { status: 200, ..made });
    assert_eq!(create(&mut book, &json!({"key": "flag_ot_traces"})).status, 409);

    let change = json!({"mode": "selected", "add_users": ["ada"], "percentage": 10});
    let changed = patch(&mut book, "flag_ot_traces", &change, 2);
    assert_eq!(changed.status, 200);
    assert_eq!(document(&changed)["users"], json!(["ada"]));
    assert_eq!(document(&api::list(&book))["flags"], json!([document(&changed)]));

    // What was got can be put back, and then nothing has changed.
    let settings = AudienceSettings::default();
    let put = api::put(&mut book, "flag_ot_traces", &changed.body, &settings, &author(3));
    assert_eq!((put.status, document(&put)), (200, document(&changed)));

    assert_eq!(api::delete(&mut book, "flag_ot_traces", &author(4)).status, 204);
    assert_eq!(api::delete(&mut book, "flag_ot_traces", &author(5)).status, 404);
    assert_eq!(api::get(&book, "flag_ot_traces").status, 404);

    let audit = document(&api::audit(&book))["audit"].clone();
    let summary = |entry: &Value| (entry["at_millis"].clone(), entry["action"].clone());
    let entries: Vec<_> = audit.as_array().unwrap().iter().map(summary).collect();
    let expected = [(4, "delete"), (2, "update"), (1, "create")];
    assert_eq!(entries, expected.map(|(at, action)| (json!(at), json!(action))));
    assert_eq!(
        audit[1],
        json!({
            "at_millis": 2, "by": "root", "action": "update", "key": "flag_ot_traces",
            "before": {"mode": "nobody", "percentage": 0.0, "users": []},
            "after": {"mode": "selected", "percentage": 10.0, "users": ["ada"]}
        })
    );
    assert!(audit[0].get("after").is_none() && audit[2].get("before").is_none());
}

#[test]
fn a_book_comes_back_from_its_document() {
    let mut book = FlagBook::default();
    let flag = json!({
        "key": "a", "mode": "selected", "users": ["ada", "ünï \"q\""], "regex": "x-\\d+",
        "percentage": 0.1, "where": ".http.route =~ \"/api.*\"", "signals": ["logs", "traces"],
        "unknown": "everybody", "description": "first"
    });
    assert_eq!(create(&mut book, &flag).status, 201);
    assert_eq!(create(&mut book, &json!({"key": "b", "enabled": false})).status, 201);
    let written = book.to_json().unwrap();
    let read = FlagBook::from_json(&written).unwrap();
    assert_eq!(read.to_json().unwrap(), written);
    assert_eq!(document(&api::list(&read)), document(&api::list(&book)));
    assert_eq!(document(&api::audit(&read)), document(&api::audit(&book)));
    let empty = FlagBook::default().to_json().unwrap();
    assert_eq!(String::from_utf8(empty).unwrap(), r#"{"version":1,"flags":[],"audit":[]}"#);
}

#[test]
fn a_document_that_cannot_be_trusted_is_refused_as_a_whole() {
    let mut book = FlagBook::default();
    create(&mut book, &json!({"key": "a"}));
    let written = String::from_utf8(book.to_json().unwrap()).unwrap();
    let refused = |text: &str| FlagBook::from_json(text.as_bytes()).unwrap_err();
    let newer = refused(r#"{"version":2,"flags":{"shape":"unknown"}}"#);
    assert_eq!(newer, FlagError::Newer { found: 2, known: 1 });
    assert!(matches!(refused("{}"), FlagError::Document(_)));
    assert!(matches!(refused(&written.replace("nobody", "somebody")), FlagError::Document(_)));
    let wrong_key = written.replacen(r#""key":"a""#, r#""key":"a/b""#, 1);
    assert!(matches!(refused(&wrong_key), FlagError::Invalid { field: "key", .. }));
    let mut twice: Value = serde_json::from_str(&written).unwrap();
    let flag = twice["flags"][0].clone();
    twice["flags"].as_array_mut().unwrap().push(flag);
    assert!(matches!(refused(&twice.to_string()), FlagError::Document(_)));
    assert!(matches!(refused(&" ".repeat((1 << 20) + 1)), FlagError::Document(_)));
}

#[test]
fn what_is_wrong_is_told_and_changes_nothing() {
    let mut book = FlagBook::default();
    create(&mut book, &json!({"key": "a"}));
    let before = book.to_json().unwrap();
    let cases = [
        (json!({"mode": "somebody"}), "unknown variant `somebody`"),
        (json!({"moode": "nobody"}), "unknown field `moode`"),
        (json!({"percentage": 101}), "percentage must be a number from 0 to 100"),
        (json!({"regex": "("}), "regex is not a regular expression"),
        (json!({"where": "rootName = \"a\""}), "where cannot be understood"),
        (json!({"attributes": []}), "attributes must be 1 to 16"),
        (json!({"signals": ["spans"]}), "unknown variant `spans`"),
        (json!({"key": "b"}), "a flag cannot be renamed"),
        (json!([1]), "the document cannot be read"),
    ];
    for (change, expected) in cases {
        let answer = patch(&mut book, "a", &change, 2);
        let told = document(&answer)["error"].as_str().unwrap().to_owned();
        assert_eq!(answer.status, 400, "{change}: {told}");
        assert!(told.contains(expected), "{change}: {told}");
    }
    assert_eq!(book.to_json().unwrap(), before);
    assert_eq!(create(&mut book, &json!({"mode": "nobody"})).status, 400, "without a key");
    assert_eq!(create(&mut book, &json!({"key": "no/key"})).status, 400);
    assert_eq!(patch(&mut book, "b", &json!({}), 2).status, 404);
    let users: Vec<_> = (0..9_999).map(|number| format!("{number:0>100}")).collect();
    assert_eq!(patch(&mut book, "a", &json!({"users": users}), 2).status, 413);
    assert_eq!(book.to_json().unwrap(), before);
    assert_eq!(patch(&mut book, "a", &json!({"users": &users[..4_600]}), 2).status, 200);
    let settings = AudienceSettings::default();
    let said =
        FlagPatch { users: Some(users.into_iter().take(4_600).collect()), ..FlagPatch::default() };
    let error = book.create("b", said, &settings, &author(2)).unwrap_err();
    assert!(matches!(error, FlagError::TooLarge { .. }), "all flags together: {error}");
    assert_eq!(book.flags().count(), 1);
}

#[test]
fn there_are_bounds_on_flags_and_on_the_audit() {
    let mut book = FlagBook::default();
    for number in 0..MAX_FLAGS {
        assert_eq!(create(&mut book, &json!({"key": format!("flag-{number}")})).status, 201);
    }
    assert_eq!(create(&mut book, &json!({"key": "one-more"})).status, 400);
    assert_eq!(patch(&mut book, "flag-0", &json!({"enabled": true}), 2).status, 200);
    assert_eq!(book.audit().count(), MAX_FLAGS, "what changes nothing is no change");

    for number in 0..300 {
        let change = json!({"percentage": f64::from(number) / 10.0 + 0.1});
        assert_eq!(patch(&mut book, "flag-0", &change, 1000 + number as u64).status, 200);
    }
    assert_eq!(book.audit().count(), MAX_AUDIT_ENTRIES);
    assert_eq!(book.audit().next().unwrap().at_millis, 1299);

    // Long lists exchanged for others: who is added and removed is counted beyond the first.
    for number in 0..200_u64 {
        let users: Vec<_> = (0..500).map(|user| format!("{number}-{user:0>200}")).collect();
        assert_eq!(patch(&mut book, "flag-1", &json!({"users": users}), number).status, 200);
    }
    let latest = book.audit().next().unwrap();
    let after = latest.after.as_ref().unwrap();
    assert_eq!(after["users"].as_array().unwrap().len(), 20);
    assert_eq!(after["users_left_out"], 480);
    let audit_bytes = api::audit(&book).body.len();
    assert!((MAX_AUDIT_BYTES / 2..MAX_AUDIT_BYTES + 1024).contains(&audit_bytes), "{audit_bytes}");
    assert!(book.to_json().unwrap().len() <= 1 << 20, "it fits into a setting");
}
