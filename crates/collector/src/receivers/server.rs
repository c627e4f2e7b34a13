//! What listens: addresses, TLS and logins of receivers, and of the exporter that is scraped.

use std::net::SocketAddr;

use kymo_yaml::Place;

use crate::document::{Map, Value};
use crate::extensions;
use crate::references::refers;
use crate::section::{Section, Taken};
use crate::{Translator, notes::Notes};

/// The address that an endpoint means: `:4317` is every address of the machine.
pub(crate) fn address(endpoint: &Taken<String>, path: &str, notes: &Notes) -> Option<String> {
    let text = endpoint.value.trim();
    let text = match text.strip_prefix(':') {
        Some(port) => format!("0.0.0.0:{port}"),
        None => text.to_owned(),
    };
    let text = match text.strip_prefix("localhost:") {
        Some(port) => format!("127.0.0.1:{port}"),
        None => text,
    };
    let is_named = || {
        let Some((host, port)) = text.rsplit_once(':') else { return false };
        let is_host = |c: char| c.is_ascii_alphanumeric() || ".-_".contains(c);
        !host.is_empty() && host.chars().all(is_host) && port.parse::<u16>().is_ok()
    };
    if refers(&text) || text.parse::<SocketAddr>().is_ok() || is_named() {
        return Some(text);
    }
    notes.lost(endpoint.at, format!("{path}.endpoint: expected HOST:PORT"));
    None
}

/// Whether others than this machine reach an address.
fn is_open(address: &str) -> bool {
    let is_loopback = |address: SocketAddr| address.ip().is_loopback();
    !refers(address) && !address.parse().is_ok_and(is_loopback)
}

/// TLS and login of a listener, and a note if it has neither though others reach it.
pub(crate) fn listener(
    name: &str,
    address: &str,
    at: Place,
    section: &mut Section<'_>,
    translator: &mut Translator<'_>,
) {
    let mut settings = Map::default();
    if let Some(tls) = section.section("tls").or_else(|| section.section("tls_settings")) {
        settings.set_filled("tls", server_tls(tls));
    }
    if let Some(mut auth) = section.section("auth") {
        if let Some(named) = auth.text("authenticator") {
            let method = extensions::server_login(&named, translator);
            settings.set_some("auth", method.map(|method| Value::texts([method])));
        }
        auth.noted(&["request_params"], "credentials in URLs are refused");
        auth.finish();
    }
    if settings.is_empty() && is_open(address) {
        let what = format!(
            "{}: {address} is open to others without TLS or a login, which kymo serve does only \
             with --insecure-listen",
            section.path
        );
        translator.notes.noted(at, what);
    }
    if !settings.is_empty() {
        translator.out.listeners.set(name, settings.into());
    }
}

fn server_tls(mut section: Section<'_>) -> Map {
    let mut tls = Map::default();
    for (key, ours) in [("cert_file", "certificate"), ("key_file", "key")] {
        tls.set_some(ours, section.text(key).map(|file| Value::text(file.value)));
    }
    if let Some(authority) = section.text("client_ca_file") {
        tls.set("client_ca", Value::text(authority.value));
        tls.set("client_certificates", Value::text("required"));
    }
    tls.set_some(
        "min_version",
        section.text("min_version").map(|version| Value::Text(version.value)),
    );
    section.noted(
        &["reload_interval", "client_ca_file_reload"],
        "files are read again when they change",
    );
    section.noted(
        &["ca_file", "insecure", "include_system_ca_certs_pool"],
        "says nothing of a server",
    );
    section.lost(&["cert_pem", "key_pem", "ca_pem"], "certificates and keys are files here");
    section
        .lost(&["cipher_suites", "max_version", "curve_preferences"], "this is not a choice here");
    section.finish();
    tls
}
