//! What exporters that send over the network have in common: headers, logins, TLS, compression,
//! retries and queues.

use kymo_yaml::Node;

use crate::Translator;
use crate::document::{Map, Value};
use crate::extensions;
use crate::limits::MAX_CONCURRENCY;
use crate::references::refers;
use crate::section::{Section, Taken};

/// The longest wait between tries, of the collector and here, if nothing is said.
const LONGEST_WAIT_NANOS: u64 = 30_000_000_000;

/// TLS of a client, and whether it is to go without.
#[derive(Debug, Default)]
pub(super) struct ClientTls {
    pub(super) is_insecure: bool,
    pub(super) settings: Map,
}

pub(super) fn tls(section: &mut Section<'_>) -> ClientTls {
    let found = section.section("tls").or_else(|| section.section("tls_settings"));
    let Some(mut found) = found else { return ClientTls::default() };
    let mut tls =
        ClientTls { is_insecure: found.flag("insecure") == Some(true), ..ClientTls::default() };
    for (key, ours) in [
        ("ca_file", "ca"),
        ("cert_file", "certificate"),
        ("key_file", "key"),
        ("server_name_override", "server_name"),
    ] {
        tls.settings.set_some(ours, found.text(key).map(|file| Value::text(file.value)));
    }
    if found.flag("insecure_skip_verify") == Some(true) {
        tls.settings.set("insecure_skip_verify", Value::word(true));
    }
    found.noted(&["reload_interval"], "files are read again when they change");
    found.noted(&["min_version", "include_system_ca_certs_pool"], "TLS 1.2 or later is spoken");
    found.lost(&["ca_pem", "cert_pem", "key_pem"], "certificates and keys are files here");
    found.lost(
        &["max_version", "cipher_suites", "curve_preferences", "tpm"],
        "this is not a choice here",
    );
    found.finish();
    tls
}

/// Takes a URL. What is none would be refused by whoever reads the configuration.
pub(super) fn url(section: &mut Section<'_>, key: &str) -> Option<Taken<String>> {
    let found = section.text(key)?;
    let is_url = ["http://", "https://"].iter().any(|scheme| found.value.starts_with(scheme));
    if is_url || refers(&found.value) {
        return Some(found);
    }
    let what = format!("{}.{key}: expected a URL with http:// or https://", section.path);
    section.notes.lost(found.at, what);
    None
}

/// Headers and login.
pub(super) fn login(section: &mut Section<'_>, settings: &mut Map, translator: &Translator<'_>) {
    let mut headers = headers(section);
    if let Some(mut auth) = section.section("auth") {
        if let Some(named) = auth.text("authenticator") {
            extensions::client_login(&named, settings, &mut headers, translator);
        }
        auth.finish();
    }
    settings.set_filled("headers", headers);
}

/// Headers as a map, or as a list of names and values.
fn headers(section: &mut Section<'_>) -> Map {
    let mut headers = Map::default();
    let Some(entry) = section.take("headers") else { return headers };
    match &entry.node {
        Node::Map(entries) => {
            for header in entries {
                match &header.node {
                    Node::Scalar(scalar) => {
                        let value = section.referring(&scalar.text, header.at);
                        headers.set(&header.key, Value::Text(value));
                    }
                    _ => section.notes.lost(
                        header.at,
                        format!("{}.headers.{}: expected one value", section.path, header.key),
                    ),
                }
            }
        }
        Node::List(items) => {
            for (nth, item) in items.iter().enumerate() {
                let path = format!("{}.headers[{nth}]", section.path);
                let mut header = Section::new(path, item.at, &item.node, section.notes);
                if let (Some(name), Some(value)) = (header.text("name"), header.text("value")) {
                    headers.set(&name.value, Value::Text(value.value));
                }
                header.finish();
            }
        }
        Node::Null => {}
        Node::Scalar(_) => {
            section
                .notes
                .lost(entry.at, format!("{}.headers: expected names and values", section.path));
        }
    }
    headers
}

/// The collector compresses unless told not to.
pub(super) fn compression(section: &mut Section<'_>, settings: &mut Map) {
    match section.text("compression") {
        None => {
            let comment = "the collector's default; as-is sends what came as it came";
            settings.set_with("compression", Value::text("gzip"), comment);
        }
        Some(found) => match found.value.as_str() {
            "gzip" | "zstd" => {
                settings.set("compression", Value::text(found.value));
            }
            "none" | "" => {
                settings.set("compression", Value::text("none"));
            }
            _ => {
                settings.set("compression", Value::text("gzip"));
                let what =
                    format!("{}.compression: none, gzip or zstd; it is gzip now", section.path);
                section.notes.lost(found.at, what);
            }
        },
    }
    section.lost(&["compression_params"], "levels are not a choice here");
}

/// Timeout, retries and queue.
pub(super) fn delivery(section: &mut Section<'_>, settings: &mut Map) {
    match section.duration("timeout") {
        Some(timeout) if timeout.value == "0s" => {
            let what = format!("{}.timeout: an answer is not waited for without end", section.path);
            section.notes.noted(timeout.at, what);
        }
        Some(timeout) => {
            settings.set("timeout", Value::Word(timeout.value));
        }
        None => {}
    }
    if let Some(found) = section.section("retry_on_failure") {
        settings.set_filled("retry", retry(found));
    }
    if let Some(found) = section.section("sending_queue") {
        queue(found, settings);
    }
}

fn retry(mut section: Section<'_>) -> Map {
    let mut retry = Map::default();
    if section.flag("enabled") == Some(false) {
        let what =
            format!("{}: what can be sent again is, until the budget is used up", section.path);
        section.notes.lost(section.at, what);
    }
    let first = wait(&mut section, "initial_interval");
    let longest = wait(&mut section, "max_interval");
    let nanos = |wait: &Option<String>| wait.as_deref().and_then(crate::durations::nanos);
    // The first is the longest where it is longer.
    let bound = if longest.is_some() { nanos(&longest) } else { Some(LONGEST_WAIT_NANOS) };
    let is_longer = bound.is_some() && nanos(&first) > bound;
    let longest = if is_longer { first.clone() } else { longest };
    retry.set_some("first", first.map(Value::Word));
    retry.set_some("longest", longest.map(Value::Word));
    section.noted(
        &["max_elapsed_time"],
        "what waits is on disk and is sent when that is possible; budget bounds it, not a time",
    );
    section.noted(&["multiplier", "randomization_factor"], "waits double, with jitter");
    section.finish();
    retry
}

/// A wait between tries. None at all would be no wait, but an attack.
fn wait(section: &mut Section<'_>, key: &str) -> Option<String> {
    let least = std::time::Duration::from_millis(1);
    section.duration_within(key, least, std::time::Duration::MAX).map(|wait| wait.value)
}

fn queue(mut section: Section<'_>, settings: &mut Map) {
    if section.flag("enabled") == Some(false) {
        let what = format!("{}: there is a queue in any case, which is the journal", section.path);
        section.notes.noted(section.at, what);
    }
    concurrency(&mut section, settings);
    let sizer = section.text("sizer").map(|sizer| sizer.value);
    match (sizer.as_deref(), section.number("queue_size")) {
        (Some("bytes"), Some(bytes)) if bytes.value > 0 => {
            let size = kymo_yaml::amounts::size_text(bytes.value);
            settings.set("budget", Value::Word(size));
        }
        (_, Some(size)) => {
            let what = format!(
                "{}.queue_size: what waits lies on disk in the journal; budget says how many bytes",
                section.path
            );
            section.notes.noted(size.at, what);
        }
        (_, None) => {}
    }
    section.noted(&["storage"], "what waits lies on disk in any case");
    section.noted(&["batch"], "requests are joined when a destination lags");
    section.noted(
        &["block_on_overflow", "wait_for_result", "blocking"],
        "senders are not held up by a destination",
    );
    section.finish();
}

/// Requests at once.
pub(super) fn concurrency(section: &mut Section<'_>, settings: &mut Map) {
    let consumers = section.number_within("num_consumers", 0, MAX_CONCURRENCY);
    if let Some(consumers) = consumers.filter(|consumers| consumers.value > 1) {
        let comment = "1 keeps the order of requests";
        settings.set_with("concurrency", Value::word(consumers.value), comment);
    }
}
