//! Dashboards that come with the program. They cannot be changed; a copy can.

use serde_json::Value;

/// What ids of shipped dashboards begin with.
pub const PREFIX: &str = "kymo-";

/// Files of `crates/dash/shipped`, in the order in which they are listed.
const FILES: &[&str] = &[
    include_str!("../shipped/gpus.json"),
    include_str!("../shipped/hosts.json"),
    include_str!("../shipped/services.json"),
    include_str!("../shipped/ci-durations.json"),
    include_str!("../shipped/ci-resources.json"),
    include_str!("../shipped/ci-cache.json"),
    include_str!("../shipped/sessions.json"),
    include_str!("../shipped/training.json"),
    include_str!("../shipped/server.json"),
];

/// All dashboards that come with the program, with their ids.
pub fn all() -> Vec<(String, Value)> {
    written().map(|(uid, json, _)| (uid, json)).collect()
}

/// One by its id: its JSON, and the same as it is written.
pub fn find(uid: &str) -> Option<(Value, &'static str)> {
    written().find(|(other, ..)| other == uid).map(|(_, json, text)| (json, text))
}

fn written() -> impl Iterator<Item = (String, Value, &'static str)> {
    FILES.iter().filter_map(|text| {
        let json: Value = serde_json::from_str(text).ok()?;
        let uid = json.get("uid")?.as_str()?.to_owned();
        Some((uid, json, *text))
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::report::{Status, report};

    #[test]
    fn every_shipped_dashboard_is_full_and_has_an_id_of_its_own() {
        let shipped = all();
        assert_eq!(shipped.len(), FILES.len());
        let ids: BTreeSet<&String> = shipped.iter().map(|(uid, _)| uid).collect();
        assert_eq!(ids.len(), shipped.len());
        for (uid, json) in &shipped {
            assert!(uid.starts_with(PREFIX), "{uid}");
            let report = report(json).unwrap().report;
            let others: Vec<_> =
                report.panels.iter().filter(|panel| panel.status != Status::Full).collect();
            assert!(others.is_empty(), "{uid}: {others:?}");
        }
    }
}
