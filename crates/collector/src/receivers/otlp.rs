//! The receiver `otlp`: addresses for gRPC and HTTP.

use super::{address, listener};
use crate::Translator;
use crate::document::Value;
use crate::limits::{MAX_REQUEST_MIB, MIN_REQUEST_BYTES};
use crate::section::{Section, Taken};

pub(super) fn translate(mut section: Section<'_>, translator: &mut Translator<'_>) {
    let Some(mut protocols) = section.section("protocols") else {
        let what =
            format!("{}: expected protocols, of which one or both of grpc and http", section.path);
        section.notes.lost(section.at, what);
        section.finish();
        return;
    };
    let grpc = protocols.section("grpc");
    let http = protocols.section("http");
    for (has, setting, default) in [
        (grpc.is_some(), "otlp_grpc", "127.0.0.1:4317"),
        (http.is_some(), "otlp_http", "127.0.0.1:4318"),
    ] {
        if !has {
            let what = format!("{}: {setting} is there as well, at {default}", section.path);
            section.notes.noted(section.at, what);
        }
    }
    if let Some(mut grpc) = grpc {
        listen(&mut grpc, "otlp_grpc", 4317, translator);
        // The collector's default is what is said by zero.
        let largest = grpc.number_within("max_recv_msg_size_mib", 0, MAX_REQUEST_MIB);
        if let Some(mebibytes) = largest.filter(|size| size.value > 0) {
            bound(mebibytes.value << 20, translator);
        }
        grpc.noted(
            &["keepalive", "read_buffer_size", "write_buffer_size", "max_concurrent_streams"],
            "connections are bounded by max_connections and request_timeout",
        );
        rest(grpc);
    }
    if let Some(mut http) = http {
        listen(&mut http, "otlp_http", 4318, translator);
        let largest = http.number_within("max_request_body_size", 0, MAX_REQUEST_MIB << 20);
        if let Some(bytes) = largest.filter(|bytes| bytes.value > 0) {
            bound(bytes.value.max(MIN_REQUEST_BYTES), translator);
        }
        http.noted(&["cors"], "OTLP is taken from pages of every origin");
        http.noted(
            &[
                "read_timeout",
                "read_header_timeout",
                "write_timeout",
                "idle_timeout",
                "keep_alives_enabled",
            ],
            "connections are bounded by max_connections and request_timeout",
        );
        http.noted(&["compression_algorithms"], "gzip, deflate and zstd are taken");
        for signal in ["traces", "metrics", "logs"] {
            let key = format!("{signal}_url_path");
            if let Some(path) = http.text(&key)
                && path.value.trim_start_matches('/') != format!("v1/{signal}")
            {
                let what = format!("{}.{key}: it is /v1/{signal} here", http.path);
                http.notes.lost(path.at, what);
            }
        }
        http.lost(&["response_headers"], "answers have no other headers");
        rest(http);
    }
    protocols.finish();
    section.finish();
}

/// The address of one protocol, and what guards it.
fn listen(section: &mut Section<'_>, setting: &str, port: u16, translator: &mut Translator<'_>) {
    if let Some(transport) = section.text("transport")
        && !transport.value.starts_with("tcp")
    {
        let what = format!("{}.transport: only TCP is listened to", section.path);
        section.notes.lost(transport.at, what);
    }
    let endpoint = section.text("endpoint");
    if translator.out.top.get(setting).is_some() {
        let what =
            format!("{}: {setting} is one address, and another receiver has it", section.path);
        section.notes.lost(section.at, what);
        return;
    }
    let default = || Taken { value: format!("127.0.0.1:{port}"), at: section.at };
    let has_endpoint = endpoint.is_some();
    let endpoint = endpoint.unwrap_or_else(default);
    let Some(address) = address(&endpoint, &section.path, section.notes) else { return };
    if has_endpoint {
        translator.out.top.set(setting, Value::text(address.clone()));
        section.notes.translated(section.at, format!("{}: {setting}", section.path));
    } else {
        let comment = format!("the collector's default; before 0.104 it was 0.0.0.0:{port}");
        translator.out.top.set_with(setting, Value::text(address.clone()), &comment);
        let what = format!(
            "{}: {setting}: {address}, the default of collectors from 0.104 on; if other machines \
             or containers send to it, as older ones let them, write 0.0.0.0:{port}",
            section.path
        );
        section.notes.noted(section.at, what);
    }
    listener(setting, &address, endpoint.at, section, translator);
}

/// The largest request; of two bounds the larger, since there is one here.
fn bound(bytes: u64, translator: &mut Translator<'_>) {
    let limits = &mut translator.out.limits;
    let known = match limits.get("max_request_bytes") {
        Some(Value::Word(size)) => kymo_yaml::amounts::size(size).unwrap_or(0),
        _ => 0,
    };
    let size = kymo_yaml::amounts::size_text(bytes.max(known));
    limits.set("max_request_bytes", Value::word(&size));
    limits.set("max_decompressed_bytes", Value::word(&size));
}

fn rest(mut section: Section<'_>) {
    if section.has("include_metadata") && section.flag("include_metadata") == Some(true) {
        let what = format!(
            "{}.include_metadata: of a request's headers only X-Scope-OrgID is kept, as the tenant",
            section.path
        );
        section.notes.lost(section.at, what);
    }
    section.noted(&["middlewares"], "there are none here");
    section.finish();
}
