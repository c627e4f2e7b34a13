//! Targets from a server that answers lists of them in JSON.

use std::sync::Arc;

use reqwest::Url;
use tokio::sync::{mpsc, watch};

use super::{RawGroup, Update, groups};
use crate::client::HttpClient;
use crate::config::HttpDiscovery;
use crate::limits::MAX_DISCOVERY_BYTES;
use crate::shown::without_userinfo;
use crate::target::TargetGroup;

pub(super) async fn run(
    discovery: u64,
    settings: HttpDiscovery,
    clients: watch::Receiver<Arc<HttpClient>>,
    updates: mpsc::Sender<Update>,
) {
    let mut ticks = tokio::time::interval(settings.refresh_interval);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut last = None;
    loop {
        ticks.tick().await;
        // Its certificates may have been read again meanwhile.
        let client = clients.borrow().clone();
        match ask(&client, &settings).await {
            Ok(groups) if last.as_ref() != Some(&groups) => {
                last = Some(groups.clone());
                if updates.send(Update { discovery, groups }).await.is_err() {
                    return;
                }
            }
            Ok(_) => {}
            Err(error) => {
                let url = without_userinfo(&settings.url);
                tracing::error!(url, "discovery: {error}");
            }
        }
    }
}

async fn ask(client: &HttpClient, settings: &HttpDiscovery) -> Result<Vec<TargetGroup>, String> {
    let url = Url::parse(&settings.url).map_err(|error| error.to_string())?;
    let interval = settings.refresh_interval;
    let headers = [
        ("Accept", "application/json".to_owned()),
        ("X-Prometheus-Refresh-Interval-Seconds", interval.as_secs_f64().to_string()),
    ];
    let answer = client.get(&url, &headers, interval, MAX_DISCOVERY_BYTES).await;
    let answer = answer.map_err(|error| error.to_string())?;
    if !is_json(&answer.content_type) {
        return Err(format!("unsupported content type {:?}", answer.content_type));
    }
    let found: Vec<RawGroup> =
        serde_json::from_slice(&answer.body).map_err(|error| error.to_string())?;
    // The label is shown with targets.
    Ok(groups(found, &without_userinfo(&settings.url), "__meta_url"))
}

/// JSON in UTF-8, or not said in what.
fn is_json(content_type: &str) -> bool {
    let lower = content_type.trim().to_ascii_lowercase();
    let Some(rest) = lower.strip_prefix("application/json") else { return false };
    match rest.strip_prefix(';').map(str::trim) {
        None => rest.is_empty(),
        Some(parameter) => matches!(parameter, "charset=utf-8" | "charset=\"utf-8\""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_json_in_utf8_is_taken() {
        for (content_type, is_taken) in [
            ("application/json", true),
            ("Application/JSON; charset=UTF-8", true),
            ("application/json;charset=\"utf-8\"", true),
            ("application/json; charset=latin1", false),
            ("application/jsonp", false),
            ("text/plain", false),
            ("", false),
        ] {
            assert_eq!(is_json(content_type), is_taken, "{content_type}");
        }
    }
}
