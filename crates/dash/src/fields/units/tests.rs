//! What the golden file of units does not say.

use chrono_tz::Tz;
use serde_json::json;

use super::{Clock, Unit, find, format, table};

fn whole(id: &str, value: f64, decimals: Option<i64>) -> String {
    format(id, value, decimals, &Clock::default()).whole()
}

#[test]
fn the_table_is_data_for_the_page() {
    let table = serde_json::to_value(table()).unwrap();
    assert_eq!(
        table["celsius"],
        json!({"kind": "fixed", "multiply": 1.0, "prefix": "", "suffix": " °C"})
    );
    assert_eq!(table["bytes"]["base"], json!(1024.0));
    assert_eq!(table["bytes"]["suffixes"][1], json!(" KiB"));
    assert_eq!(table["decmbytes"]["offset"], json!(7));
    assert_eq!(
        table["ns"]["steps"][3],
        json!({"below": 6e10, "multiply": 1.0, "divide": 1e9, "suffix": " s", "plural": true})
    );
    assert_eq!(table["dtdurations"], json!({"kind": "special", "rules": "durationSeconds"}));
}

#[test]
fn an_id_that_is_not_known_stands_behind_the_number() {
    assert_eq!(whole("tokens", 5.0, None), "5 tokens");
    assert_eq!(whole("", 5.0, None), "5");
    assert!(matches!(find("time:YYYY"), Unit::Date { .. }));
}

#[test]
fn numbers_that_are_none_are_said() {
    assert_eq!(whole("bytes", f64::INFINITY, None), "∞");
    assert_eq!(whole("percent", f64::NEG_INFINITY, None), "-∞%");
    for id in table().keys() {
        for value in [f64::NAN, f64::INFINITY, f64::MAX, f64::MIN_POSITIVE, -f64::MAX, 1e21] {
            for decimals in [None, Some(-5), Some(0), Some(i64::MAX)] {
                assert!(!whole(id, value, decimals).is_empty(), "{id} {value}");
            }
        }
    }
}

#[test]
fn dates_know_zone_and_today() {
    let zone = "Asia/Tokyo".parse().unwrap_or(Tz::UTC);
    let clock = Clock { zone, now_millis: 1_700_000_005_123.0 };
    let at = |id: &str, millis: f64| format(id, millis, None, &clock).whole();
    assert_eq!(at("dateTimeAsIso", 1_700_000_005_123.0), "2023-11-15 07:13:25");
    assert_eq!(at("dateTimeAsIsoNoDateIfToday", 1_700_000_005_123.0), "07:13:25");
    assert_eq!(at("dateTimeAsIsoNoDateIfToday", 1_600_000_000_000.0), "2020-09-13 21:26:40");
    assert_eq!(at("dateTimeFromNow", 1_700_000_000_000.0), "a few seconds ago");
    assert_eq!(at("dateTimeFromNow", 1_699_996_405_123.0), "an hour ago");
    assert_eq!(at("dateTimeFromNow", 1_700_259_205_123.0), "in 3 days");
}
