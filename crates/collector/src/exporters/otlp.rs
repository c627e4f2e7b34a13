//! The exporters `otlp` and `otlphttp`.

use super::{add, client};
use crate::Translator;
use crate::document::{Map, Value};
use crate::model::Signal;
use crate::section::{Section, Taken};

/// Over gRPC: `host:4317` has a scheme here.
pub(super) fn grpc(
    mut section: Section<'_>,
    name: &str,
    signals: Vec<Signal>,
    translator: &mut Translator<'_>,
) {
    let mut settings = Map::of("protocol", Value::text("grpc"));
    let tls = client::tls(&mut section);
    let Some(endpoint) = section.text("endpoint") else {
        no_endpoint(section);
        return;
    };
    settings.set("endpoint", Value::Text(grpc_endpoint(&endpoint, tls.is_insecure, &section)));
    note_store(&endpoint, &signals, &section);
    client::compression(&mut section, &mut settings);
    client::login(&mut section, &mut settings, translator);
    settings.set_filled("tls", tls.settings);
    client::delivery(&mut section, &mut settings);
    section.noted(
        &["keepalive", "read_buffer_size", "write_buffer_size", "wait_for_ready", "balancer_name"],
        "one connection is kept and opened again when it is lost",
    );
    section.lost(&["authority"], "tls.server_name names the server");
    section.noted(&["batcher"], "requests are joined when a destination lags");
    add(section, name, signals, settings, translator);
}

/// Over HTTP: base URL, or one URL for each signal.
pub(super) fn http(
    mut section: Section<'_>,
    name: &str,
    signals: Vec<Signal>,
    translator: &mut Translator<'_>,
) {
    let is_json = section.text("encoding").is_some_and(|encoding| encoding.value == "json");
    let mut settings = Map::of("protocol", Value::text(if is_json { "http/json" } else { "http" }));
    let endpoint = client::url(&mut section, "endpoint");
    let mut urls = Map::default();
    for signal in Signal::ALL {
        let key = format!("{}_endpoint", signal.word());
        let url = client::url(&mut section, &key);
        urls.set_some(&key, url.map(|url| Value::Text(url.value)));
    }
    if endpoint.is_none() && urls.is_empty() {
        no_endpoint(section);
        return;
    }
    if let Some(endpoint) = endpoint {
        settings.set("endpoint", Value::text(endpoint.value.trim_end_matches('/')));
        note_store(&endpoint, &signals, &section);
    }
    settings.append(urls);
    client::compression(&mut section, &mut settings);
    client::login(&mut section, &mut settings, translator);
    let tls = client::tls(&mut section);
    settings.set_filled("tls", tls.settings);
    client::delivery(&mut section, &mut settings);
    section.noted(
        &[
            "read_buffer_size",
            "write_buffer_size",
            "max_idle_conns",
            "max_idle_conns_per_host",
            "max_conns_per_host",
            "idle_conn_timeout",
            "disable_keep_alives",
            "force_attempt_http2",
            "http2_read_idle_timeout",
            "http2_ping_timeout",
        ],
        "connections are kept while they are of use",
    );
    section.lost(&["proxy_url", "cookies", "profiles_endpoint"], "this has no counterpart");
    add(section, name, signals, settings, translator);
}

fn no_endpoint(section: Section<'_>) {
    let what = format!("{}: expected an endpoint; there is no destination for it", section.path);
    section.notes.lost(section.at, what);
    section.finish();
}

fn grpc_endpoint(endpoint: &Taken<String>, is_insecure: bool, section: &Section<'_>) -> String {
    let text = endpoint.value.trim();
    let bare = ["dns:///", "dns://", "passthrough:///"]
        .into_iter()
        .find_map(|resolver| text.strip_prefix(resolver))
        .unwrap_or(text);
    if bare.starts_with("http://") || bare.starts_with("https://") {
        return bare.to_owned();
    }
    let scheme = if is_insecure { "http://" } else { "https://" };
    if bare.starts_with("${") {
        let what = format!(
            "{}.endpoint: {scheme} is put before the variable; take it away if its value has a \
             scheme already",
            section.path
        );
        section.notes.noted(endpoint.at, what);
    }
    format!("{scheme}{bare}")
}

/// A collector needs a place for traces; kymo is one.
fn note_store(endpoint: &Taken<String>, signals: &[Signal], section: &Section<'_>) {
    let text = endpoint.value.to_ascii_lowercase();
    let is_known = ["jaeger", "tempo"].iter().any(|name| text.contains(name));
    if is_known && signals.contains(&Signal::Traces) {
        let what = format!(
            "{}: kymo can keep the traces itself, and answers as Jaeger and Tempo do: \
             store.enabled: true, without this destination",
            section.path
        );
        section.notes.noted(section.at, what);
    }
}
