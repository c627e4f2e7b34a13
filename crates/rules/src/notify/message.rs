//! What receivers are sent: JSON of Alertmanager's API, version 2, and of its webhooks, version 4.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;

use super::alert::OutgoingAlert;
use crate::time::{rfc3339, rfc3339_millis};

type Texts = BTreeMap<String, String>;

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct PostableAlert<'a> {
    labels: &'a Texts,
    annotations: &'a Texts,
    starts_at: String,
    ends_at: String,
    #[serde(rename = "generatorURL", skip_serializing_if = "str::is_empty")]
    generator_url: &'a str,
}

/// The body of `POST /api/v2/alerts`.
pub(super) fn alertmanager(alerts: &[Arc<OutgoingAlert>]) -> Vec<u8> {
    let postable = |alert: &'_ Arc<OutgoingAlert>| -> serde_json::Value {
        let alert = PostableAlert {
            labels: &alert.labels,
            annotations: &alert.annotations,
            starts_at: rfc3339_millis(alert.starts_at_nanos),
            ends_at: rfc3339_millis(alert.ends_at_nanos),
            generator_url: &alert.generator_url,
        };
        serde_json::json!(alert)
    };
    let all: Vec<_> = alerts.iter().map(postable).collect();
    // Maps of texts can always be written.
    serde_json::to_vec(&all).unwrap_or_default()
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct WebhookMessage<'a> {
    version: &'static str,
    group_key: &'static str,
    truncated_alerts: u64,
    status: &'static str,
    receiver: &'static str,
    group_labels: Texts,
    common_labels: Texts,
    common_annotations: Texts,
    #[serde(rename = "externalURL")]
    external_url: &'a str,
    alerts: Vec<WebhookAlert<'a>>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct WebhookAlert<'a> {
    status: &'static str,
    labels: &'a Texts,
    annotations: &'a Texts,
    starts_at: String,
    ends_at: String,
    #[serde(rename = "generatorURL")]
    generator_url: &'a str,
    fingerprint: String,
}

fn status(is_resolved: bool) -> &'static str {
    if is_resolved { "resolved" } else { "firing" }
}

/// The body of a webhook's message.
pub(super) fn webhook(alerts: &[Arc<OutgoingAlert>], external_url: &str) -> Vec<u8> {
    let message = WebhookMessage {
        version: "4",
        group_key: "{}:{}",
        truncated_alerts: 0,
        status: status(alerts.iter().all(|alert| alert.is_resolved)),
        receiver: "kymo",
        group_labels: Texts::new(),
        common_labels: common(alerts.iter().map(|alert| &alert.labels)),
        common_annotations: common(alerts.iter().map(|alert| &alert.annotations)),
        external_url,
        alerts: alerts.iter().map(|alert| webhook_alert(alert)).collect(),
    };
    // Maps of texts can always be written.
    serde_json::to_vec(&message).unwrap_or_default()
}

fn webhook_alert(alert: &OutgoingAlert) -> WebhookAlert<'_> {
    WebhookAlert {
        status: status(alert.is_resolved),
        labels: &alert.labels,
        annotations: &alert.annotations,
        starts_at: rfc3339(alert.starts_at_nanos),
        // As long as it fires, nobody knows when it ends.
        ends_at: rfc3339(if alert.is_resolved { alert.ends_at_nanos } else { 0 }),
        generator_url: &alert.generator_url,
        fingerprint: format!("{:016x}", fingerprint(&alert.labels)),
    }
}

/// What all of them have.
fn common<'a>(mut maps: impl Iterator<Item = &'a Texts>) -> Texts {
    let mut common = maps.next().cloned().unwrap_or_default();
    for map in maps {
        common.retain(|name, value| map.get(name) == Some(value));
    }
    common
}

/// The number that Alertmanager knows labels by: FNV-1a of names and values, with a byte that no
/// text has after each.
pub(super) fn fingerprint(labels: &Texts) -> u64 {
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    let mut add = |byte: u8| hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    for (name, value) in labels {
        name.bytes().for_each(&mut add);
        add(0xff);
        value.bytes().for_each(&mut add);
        add(0xff);
    }
    hash
}
