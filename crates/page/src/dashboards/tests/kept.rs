//! Saving, history, import.

use http::{Method, StatusCode};
use serde_json::{Value, json};

use super::{post, send};
use crate::dashboards::saved::check_room;
use crate::tested::Place;

fn dashboard(title: &str) -> Value {
    json!({"uid": "one", "title": title, "panels": [], "odd": {"kept": [1, 2.5, null]}, "tags": ["a"]})
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dashboard_is_saved_listed_exported_and_deleted() {
    let place = Place::new();
    let save = json!({"dashboard": dashboard("First"), "message": "new"});
    let (status, saved) = post(&place, "/api/dashboards", &save).await;
    assert_eq!((status, &saved), (StatusCode::OK, &json!({"uid": "one", "version": 1})));
    let list = place.get("/api/dashboards").await;
    let listed =
        list["dashboards"].as_array().unwrap().iter().find(|one| one["uid"] == "one").unwrap();
    assert_eq!(
        (&listed["title"], &listed["kind"], &listed["by"]),
        (&json!("First"), &json!("own"), &json!("anonymous"))
    );
    let export = place.get("/api/dashboards/one/export").await;
    assert_eq!(export, dashboard("First"), "it comes back as it was sent");
    let one = place.get("/api/dashboards/one").await;
    assert_eq!((&one["dashboard"], &one["model"]["schemaVersion"]), (&export, &json!(42)));
    let (status, _) = send(&place, Method::DELETE, "/api/dashboards/one", "").await;
    assert_eq!(status, StatusCode::OK);
    assert_eq!(place.ask("/api/dashboards/one").await.0, StatusCode::NOT_FOUND);
    let list = place.get("/api/dashboards").await;
    assert!(!list["dashboards"].as_array().unwrap().iter().any(|one| one["uid"] == "one"));
    let (status, saved) = post(&place, "/api/dashboards", &save).await;
    assert_eq!((status, &saved["version"]), (StatusCode::OK, &json!(3)), "{saved}");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_saves_names_the_version_that_holds() {
    let place = Place::new();
    let save =
        |title: &str, version: Value| json!({"dashboard": dashboard(title), "version": version});
    assert_eq!(post(&place, "/api/dashboards", &save("1", Value::Null)).await.0, StatusCode::OK);
    assert_eq!(post(&place, "/api/dashboards", &save("2", json!(1))).await.0, StatusCode::OK);
    for version in [json!(1), Value::Null, json!(9)] {
        let (status, answer) = post(&place, "/api/dashboards", &save("3", version)).await;
        assert_eq!(status, StatusCode::CONFLICT, "{answer}");
    }
    let over = json!({"dashboard": dashboard("4"), "version": 1, "overwrite": true});
    assert_eq!(post(&place, "/api/dashboards", &over).await.1["version"], 3);
    let versions = place.get("/api/dashboards/one/versions").await;
    let numbers: Vec<i64> = versions["versions"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|v| v["version"].as_i64())
        .collect();
    assert_eq!(numbers, [3, 2, 1]);
    let first = place.get("/api/dashboards/one/versions/1").await;
    assert_eq!((&first["dashboard"]["title"], &first["model"]), (&json!("1"), &Value::Null));
    let first = place.get("/api/dashboards/one/versions/1?model=1").await;
    assert_eq!(
        (&first["dashboard"]["title"], &first["model"]["schemaVersion"]),
        (&json!("1"), &json!(42))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn files_are_looked_at_before_they_are_kept() {
    let place = Place::new();
    let map = "kind: ConfigMap\ndata:\n  a.json: '{\"title\": \"A\", \"panels\": [{\"type\": \"geomap\"}]}'\n  b.json: '{\"uid\": \"b\", \"title\": \"B\"}'\n";
    let (status, text) =
        send(&place, Method::POST, "/api/dashboards/import?dry_run=true", map).await;
    let trial: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(
        (status, &trial["dashboards"][0]["report"]["counts"]["unsupported"]),
        (StatusCode::OK, &json!(1))
    );
    assert_eq!(place.ask("/api/dashboards/b").await.0, StatusCode::NOT_FOUND);
    let (status, text) = send(&place, Method::POST, "/api/dashboards/import", map).await;
    let done: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((status, &done["dashboards"][1]["uid"]), (StatusCode::OK, &json!("b")));
    let made = done["dashboards"][0]["uid"].as_str().unwrap();
    assert_eq!(place.get(&format!("/api/dashboards/{made}")).await["dashboard"]["uid"], made);
    let (status, text) = send(&place, Method::POST, "/api/dashboards/import", "{").await;
    assert_eq!(status, StatusCode::BAD_REQUEST, "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn entries_of_a_file_whose_uid_is_taken_are_told_apart() {
    let place = Place::new();
    let map = "kind: ConfigMap\ndata:\n  a.json: '{\"uid\": \"one\", \"title\": \"A\"}'\n  b.json: '{\"uid\": \"kymo-gpus\", \"title\": \"B\"}'\n  c.json: '{\"uid\": \"c\", \"title\": \"C\"}'\n";
    let save = json!({"dashboard": dashboard("First")});
    assert_eq!(post(&place, "/api/dashboards", &save).await.0, StatusCode::OK);
    let (status, text) = send(&place, Method::POST, "/api/dashboards/import", map).await;
    let done: Value = serde_json::from_str(&text).unwrap();
    let [taken, shipped, new] = done["dashboards"].as_array().unwrap().as_slice() else {
        panic!("{done}")
    };
    assert_eq!((status, &taken["taken"]), (StatusCode::OK, &json!(true)));
    assert!(taken["error"].as_str().unwrap().contains("already"), "{taken}");
    assert_eq!(shipped["taken"], false, "{shipped}");
    assert_eq!((&new["version"], &new["taken"]), (&json!(1), &Value::Null));
    let over = "/api/dashboards/import?overwrite=true";
    let (_, text) = send(&place, Method::POST, over, map).await;
    let done: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(done["dashboards"][0]["version"], 2, "{done}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_listed_is_short() {
    let place = Place::new();
    let tags = vec!["t".repeat(1_000); 60];
    let long = json!({"uid": "a", "title": "ä".repeat(1_000), "tags": tags, "panels": []});
    let (status, answer) =
        post(&place, "/api/dashboards", &json!({"dashboard": long, "folder": "f".repeat(201)}))
            .await;
    assert_eq!(status, StatusCode::BAD_REQUEST, "{answer}");
    let save = json!({"dashboard": long, "folder": "f".repeat(200)});
    assert_eq!(post(&place, "/api/dashboards", &save).await.0, StatusCode::OK);
    let list = place.get("/api/dashboards").await;
    let listed = &list["dashboards"][0];
    assert_eq!(listed["title"], "ä".repeat(500));
    assert_eq!(listed["tags"], json!(vec!["t".repeat(100); 50]));
}

#[tokio::test(flavor = "multi_thread")]
async fn deleted_dashboards_take_no_room() {
    let place = Place::new();
    for uid in ["a", "b"] {
        let save = json!({"dashboard": {"uid": uid, "title": uid, "panels": []}});
        assert_eq!(post(&place, "/api/dashboards", &save).await.0, StatusCode::OK);
    }
    let room = async |most| check_room(&place.page, "default", "c", most).await;
    assert!(room(3).await.is_ok());
    let why = room(2).await.unwrap_err().to_string();
    assert_eq!(why, "there are 2 dashboards, at most 2 are kept: delete some");
    let (status, _) = send(&place, Method::DELETE, "/api/dashboards/a", "").await;
    assert_eq!(status, StatusCode::OK);
    assert!(room(2).await.is_ok());
    assert!(room(1).await.is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_resource_has_the_name_beside_its_spec() {
    let place = Place::new();
    let resource = json!({"apiVersion": "dashboard.grafana.app/v1beta1", "metadata": {"name": "abc"},
        "spec": {"title": "V", "panels": []}});
    let (status, saved) = post(&place, "/api/dashboards", &json!({"dashboard": resource})).await;
    assert_eq!((status, &saved["uid"]), (StatusCode::OK, &json!("abc")), "{saved}");
    assert_eq!(place.get("/api/dashboards/abc/export").await, resource);
    // What the page loads and sends back after an edit is the same dashboard.
    let mut model = place.get("/api/dashboards/abc").await["model"].clone();
    model["title"] = json!("Edited");
    let edit = json!({"dashboard": model, "version": 1});
    let (status, saved) = post(&place, "/api/dashboards", &edit).await;
    assert_eq!((status, &saved), (StatusCode::OK, &json!({"uid": "abc", "version": 2})));
    // One without a name is given an id, which it keeps.
    let nameless = json!({"spec": {"title": "N", "panels": []}});
    let (_, first) = post(&place, "/api/dashboards", &json!({"dashboard": nameless})).await;
    let uid = first["uid"].as_str().unwrap();
    let kept = place.get(&format!("/api/dashboards/{uid}/export")).await;
    let again = json!({"dashboard": kept, "version": 1});
    let (_, second) = post(&place, "/api/dashboards", &again).await;
    assert_eq!((&second["uid"], &second["version"]), (&json!(uid), &json!(2)), "{second}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dashboard_is_kept_to_the_letter() {
    let place = Place::new();
    let get = async |path: &str| send(&place, Method::GET, path, "").await.1;
    let text = "{\"uid\": \"raw\",\n  \"title\": \"R\", \"z\": 1.0, \"a\": 12345678901234567890123, \"e\": 1e2}";
    let body = format!("{{\"dashboard\": {text}}}");
    let (status, answer) = send(&place, Method::POST, "/api/dashboards", &body).await;
    assert_eq!(status, StatusCode::OK, "{answer}");
    assert_eq!(get("/api/dashboards/raw/export").await, text);
    assert!(get("/api/dashboards/raw").await.contains(text));
    assert!(get("/api/dashboards/raw/versions/1").await.contains(text));
    let file = text.replace("raw", "file");
    let (status, answer) = send(&place, Method::POST, "/api/dashboards/import", &file).await;
    assert_eq!(status, StatusCode::OK, "{answer}");
    assert_eq!(get("/api/dashboards/file/export").await, file);
    // Only the id that was missing is added; one that says nothing gives way to it.
    for (text, before, after) in [
        ("{\"z\": 1.0, \"title\": \"R\"}", "{\"uid\":\"", "\",\"z\": 1.0, \"title\": \"R\"}"),
        ("{\"title\": \"R\", \"uid\": null }", "{\"title\": \"R\", \"uid\": \"", "\" }"),
    ] {
        let body = format!("{{\"dashboard\": {text}}}");
        let (_, answer) = send(&place, Method::POST, "/api/dashboards", &body).await;
        let saved: Value = serde_json::from_str(&answer).unwrap();
        let uid = saved["uid"].as_str().unwrap();
        let kept = get(&format!("/api/dashboards/{uid}/export")).await;
        assert_eq!(kept, format!("{before}{uid}{after}"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_wrong_is_refused_in_words() {
    let place = Place::new();
    for (dashboard, part) in [
        (json!([]), "a list"),
        (json!({"title": "T", "uid": "a b/c"}), "uid"),
        (json!({"title": "T", "uid": "x".repeat(60)}), "uid"),
        (json!({"title": "T", "uid": "units"}), "word of the API"),
        (json!({"x": 1}), "neither"),
    ] {
        let (status, answer) =
            post(&place, "/api/dashboards", &json!({ "dashboard": dashboard })).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{answer}");
        assert!(answer["error"].as_str().unwrap().contains(part), "{answer}");
    }
    let (status, _) = send(&place, Method::POST, "/api/dashboards", "{").await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
    let question = json!({"uid": "none", "panels": []});
    assert_eq!(post(&place, "/api/dashboards/query", &question).await.0, StatusCode::NOT_FOUND);
    assert_eq!(post(&place, "/api/dashboards/layout", &json!({})).await.0, StatusCode::BAD_REQUEST);
}
