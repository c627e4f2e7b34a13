//! The exporter `prometheusremotewrite`.

use super::{add, client, prometheus};
use crate::Translator;
use crate::document::{Map, Value};
use crate::model::Signal;
use crate::section::Section;

pub(super) fn translate(
    mut section: Section<'_>,
    name: &str,
    signals: &[Signal],
    translator: &mut Translator<'_>,
) {
    if !signals.contains(&Signal::Metrics) {
        section.notes.lost(section.at, format!("{}: it carries metrics only", section.path));
        return;
    }
    let Some(endpoint) = client::url(&mut section, "endpoint") else {
        let what =
            format!("{}: expected an endpoint; there is no destination for it", section.path);
        section.notes.lost(section.at, what);
        section.finish();
        return;
    };
    let mut settings = Map::of("protocol", Value::text("remote-write"));
    settings.set("endpoint", Value::Text(endpoint.value));
    if let Some(message) = section.text("protobuf_message")
        && message.value == "io.prometheus.write.v2.Request"
    {
        settings.set("version", Value::word(2));
    }
    client::login(&mut section, &mut settings, translator);
    let tls = client::tls(&mut section);
    settings.set_filled("tls", tls.settings);
    client::delivery(&mut section, &mut settings);
    if let Some(mut queue) = section.section("remote_write_queue") {
        client::concurrency(&mut queue, &mut settings);
        queue.noted(&["enabled", "queue_size"], "what waits lies on disk in the journal");
        queue.finish();
    }
    prometheus::naming(&mut section, translator);
    prometheus::labels(&mut section, "external_labels", translator);
    section.noted(&["compression"], "remote-write is compressed with snappy");
    section.noted(&["wal"], "what waits lies on disk in the journal");
    section.noted(
        &["max_batch_size_bytes", "max_batch_request_parallelism", "send_metadata"],
        "requests are as large as they come, with what is known of their metrics",
    );
    section.noted(
        &["target_info", "export_created_metric", "disable_scope_info"],
        "this is not a choice here",
    );
    section.noted(
        &[
            "read_buffer_size",
            "write_buffer_size",
            "max_idle_conns",
            "max_conns_per_host",
            "idle_conn_timeout",
        ],
        "connections are kept while they are of use",
    );
    section.lost(&["proxy_url"], "this has no counterpart");
    add(section, name, vec![Signal::Metrics], settings, translator);
}
