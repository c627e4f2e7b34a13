//! Dashboards that come with the program, over a store in which there is nothing yet.

use kymo_dash::shipped;
use serde_json::{Value, json};

use super::{panels, post};
use crate::tested::Place;

#[tokio::test(flavor = "multi_thread")]
async fn no_panel_of_a_shipped_dashboard_fails_where_there_is_no_data() {
    let place = Place::new();
    for (uid, _) in shipped::all() {
        let question = json!({"uid": uid, "from": "now-6h", "to": "now"});
        let (_, layout) = post(&place, "/api/dashboards/layout", &question).await;
        let of = layout["panels"].as_array().unwrap().iter();
        let keys: Vec<&str> = of
            .filter(|panel| panel["type"] != "row")
            .filter_map(|panel| panel["key"].as_str())
            .collect();
        assert!(!keys.is_empty(), "{uid}");
        let lines = panels(&place, question, &keys).await;
        let failed: Vec<&Value> = lines.iter().filter(|line| !line["error"].is_null()).collect();
        assert!(failed.is_empty(), "{uid}: {failed:?}");
    }
}
