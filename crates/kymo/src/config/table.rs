//! Every setting of `kymo serve`, once.
//!
//! Flags and their help, variables, YAML keys, `kymo config show` and docs/configuration.md are made
//! of this table. Defaults are those of the libraries: a setting names the field it sets.

use std::time::Duration;

use kymo_store::Signal;

use super::access;
use super::derived;
use super::loki;
use super::metrics;
use super::setting::{Group, Setting, setting};
use super::value::{Kind, MAX_BYTES};

/// Rows, points, attributes: a count that may be anything but nothing. More are never in memory, and
/// multiples of it are numbers still.
pub(super) const SOME: Kind = Kind::Count { least: 1, most: u32::MAX as u64 };
/// More connections than a process may have open files.
const CONNECTIONS: Kind = Kind::Count { least: 1, most: MAX_AT_ONCE };
const QUERIES: Kind = Kind::Count { least: 1, most: MAX_AT_ONCE };
const WAITING: Kind = Kind::Count { least: 0, most: MAX_AT_ONCE };
const MAX_AT_ONCE: u64 = 1_000_000;
/// More than any machine has cores; each takes some memory at the start.
const THREADS: Kind = Kind::Count { least: 1, most: 1024 };
const SIZE: Kind = Kind::Bytes { least: 1, most: MAX_BYTES };
/// Sizes below this would make a flush of every request.
const BUFFER_SIZE: Kind = Kind::Bytes { least: 64 << 10, most: MAX_BYTES };
const CACHE_SIZE: Kind = Kind::Bytes { least: 0, most: MAX_BYTES };
const DURATION: Kind = Kind::Duration { least: Duration::ZERO };
/// Without any time nothing could be done.
pub(super) const TIMEOUT: Kind = Kind::Duration { least: Duration::from_millis(1) };
/// Nothing is kept for no time: who wants no limit says `none`.
const AGE: Kind = Kind::Duration { least: Duration::from_secs(1) };
/// What the journal takes as one record, less what its header needs.
const REQUEST_SIZE: Kind =
    Kind::Bytes { least: 1 << 10, most: kymo_admit::limits::MAX_BODY_BYTES as u64 };
const SEGMENT_SIZE: Kind =
    Kind::Bytes { least: kymo_journal::limits::MIN_SEGMENT_BYTES, most: 1 << 40 };
const NESTING: Kind = Kind::Count { least: 1, most: kymo_wire::limits::MAX_NESTING as u64 };

/// What is kept of a signal.
macro_rules! retention {
    ($config:ident, $signal:ident, $field:ident) => {
        $config.server.retention.default.entry(Signal::$signal).or_default().$field
    };
}

/// All settings.
pub(crate) static GROUPS: &[Group] = &[
    Group {
        title: "Places and addresses",
        settings: &[
            setting(
                "data",
                Kind::Path,
                |c| &mut c.server.data,
                "Directory of the journal and, without store.url, of the blocks. \
                 It belongs to one server at a time.",
            ),
            setting(
                "store.url",
                Kind::Place,
                |c| &mut c.server.store_url,
                "Where blocks are instead: a directory or s3://BUCKET/PREFIX. The journal stays in \
                 the data directory. A bucket is reached with the usual AWS_… variables.",
            )
            .named("store", "STORE"),
            setting(
                "store.enabled",
                Kind::Switch,
                |c| &mut c.server.store_enabled,
                "Whether records are kept here. Without, they are only forwarded to destinations, \
                 and there are no queries.",
            ),
            setting(
                "recording.enabled",
                Kind::Switch,
                |c| &mut c.server.is_recording,
                "Whether what is received is recorded at all. Without, listeners answer, and \
                 nothing is kept or forwarded.",
            )
            .named("recording", "RECORDING"),
            setting(
                "http",
                Kind::Address,
                |c| &mut c.server.http,
                "Main address: queries, metrics of the server, and OTLP too. Port 0 picks a free one.",
            ),
            setting(
                "otlp_grpc",
                Kind::Address,
                |c| &mut c.server.otlp_grpc,
                "Address for OTLP over gRPC. Port 0 picks a free one.",
            ),
            setting(
                "otlp_http",
                Kind::Address,
                |c| &mut c.server.otlp_http,
                "Address for OTLP over HTTP, protobuf and JSON. Port 0 picks a free one.",
            ),
            setting(
                "expose.enabled",
                Kind::Switch,
                |c| &mut c.server.expose,
                "Whether received metrics are shown, if expose.metrics names an address.",
            )
            .named("expose", "EXPOSE"),
            setting(
                "expose.metrics",
                Kind::Address,
                |c| &mut c.server.expose_metrics,
                "Address where received metrics are shown at /metrics, as a collector's port 8889 \
                 shows them. Port 0 picks a free one.",
            ),
            setting(
                "postgres",
                Kind::Address,
                |c| &mut c.server.postgres,
                "Address for queries by PostgreSQL's protocol: psql, drivers, Grafana's data source. \
                 Port 0 picks a free one.",
            ),
            setting(
                "external_url",
                Kind::Url,
                |c| &mut c.server.collect.external_url,
                "Where people reach this server, base_path included: links of alerts lead there.",
            ),
            setting(
                "listen.aliases",
                Kind::List,
                |c| &mut c.server.aliases,
                "Further addresses that serve one prefix of the main address at their root, \
                 ADDRESS=PREFIX: 127.0.0.1:16686=/jaeger, 127.0.0.1:9091=/prometheus, \
                 127.0.0.1:3000=/grafana, 127.0.0.1:8889=/metrics for received metrics.",
            ),
            setting(
                "trusted_proxies",
                Kind::List,
                |c| &mut c.server.access.trusted_proxies,
                "Addresses or networks of reverse proxies whose X-Forwarded-… headers are believed, \
                 such as 127.0.0.1 or 10.0.0.0/8.",
            ),
            setting(
                "allowed_hosts",
                Kind::List,
                |c| &mut c.server.access.allowed_hosts,
                "Host names that are answered to where there is no login and no TLS, such as \
                 hub.example or *.hub.example; * for all. Addresses by number, names without a dot, \
                 names of this machine and that of external_url are known.",
            ),
            setting(
                "base_path",
                Kind::UrlPath,
                |c| &mut c.server.base_path,
                "Prefix of all paths on the main address, for a reverse proxy.",
            ),
            setting(
                "cors.allowed_origins",
                Kind::List,
                |c| &mut c.server.allowed_origins,
                "Origins of web pages that may query. OTLP is accepted from pages of every origin.",
            ),
        ],
    },
    access::TLS_AND_LOGIN,
    access::PARTS,
    metrics::GATHERED,
    derived::SPAN_METRICS,
    metrics::PROMETHEUS,
    loki::LOKI,
    Group {
        title: "CI",
        settings: &[setting(
            "ci.github.webhook_secret",
            Kind::Secret,
            |c| &mut c.server.github_webhook_secret,
            "Secret of GitHub's webhooks, which are taken at /api/ci/github if it is set: runs \
             become traces as their jobs end.",
        )],
    },
    Group {
        title: "Connections",
        settings: &[
            setting(
                "max_connections",
                CONNECTIONS,
                |c| &mut c.server.max_connections,
                "Connections at once, over all addresses.",
            ),
            setting(
                "max_receiving_bytes",
                BUFFER_SIZE,
                |c| &mut c.server.max_receiving_bytes,
                "Bytes of request bodies in memory while they are received, over all connections. \
                 Requests beyond are refused with 429 and asked to come again.",
            ),
            setting(
                "request_timeout",
                TIMEOUT,
                |c| &mut c.server.request_timeout,
                "Time for receiving a request's body, and again for making it durable.",
            ),
            setting(
                "shutdown_timeout",
                DURATION,
                |c| &mut c.server.shutdown_timeout,
                "Time that requests under way have when the server stops.",
            ),
        ],
    },
    Group {
        title: "Limits on what is received",
        settings: &[
            setting(
                "limits.max_request_bytes",
                REQUEST_SIZE,
                |c| &mut c.limits.max_request_bytes,
                "Bytes of a request as it is sent. A larger one is refused.",
            )
            .per_tenant(),
            setting(
                "limits.max_decompressed_bytes",
                REQUEST_SIZE,
                |c| &mut c.limits.max_decompressed_bytes,
                "Bytes of a request after decompression. A larger one is refused.",
            )
            .per_tenant(),
            setting(
                "limits.max_attributes",
                SOME,
                |c| &mut c.limits.max_attributes_per_record,
                "Attributes of a span, event, link, log record, resource or scope. Further ones are dropped and counted; a metric point with more is refused.",
            )
            .per_tenant(),
            setting(
                "limits.max_value_bytes",
                SIZE,
                |c| &mut c.limits.max_value_bytes,
                "Bytes of an attribute's value, of a log record's body and of a status message. What is longer is cut and counted.",
            )
            .per_tenant(),
            setting(
                "limits.max_nesting",
                NESTING,
                |c| &mut c.limits.max_nesting,
                "Depth of lists in a value. A request with a deeper one is refused.",
            )
            .per_tenant(),
            setting(
                "limits.max_bytes_per_second",
                SIZE,
                |c| &mut c.limits.max_bytes_per_second,
                "Bytes of requests a second, as they are sent, over some seconds. More are refused with 429 and asked to come again.",
            )
            .per_tenant(),
            setting(
                "limits.max_records_per_second",
                SOME,
                |c| &mut c.limits.max_records_per_second,
                "Spans, log records and data points a second, over some seconds. More are refused with 429 and asked to come again.",
            )
            .per_tenant(),
            setting(
                "limits.max_series",
                SOME,
                |c| &mut c.limits.max_series,
                "Series that have got points within the last hour. Points of further ones are refused and counted, those of known ones are kept.",
            )
            .per_tenant(),
            setting(
                "limits.deduplicate_logs",
                Kind::Switch,
                |c| &mut c.limits.deduplicate_logs,
                "Keeps a log record once that a doubly-instrumented client sends twice.",
            )
            .per_tenant(),
            setting(
                "limits.metrics_window",
                AGE,
                |c| &mut c.limits.metrics_window,
                "How old samples and data points may be. Older ones are refused and counted, the rest of their request is kept.",
            )
            .per_tenant(),
        ],
    },
    Group {
        title: "Retention",
        settings: &[
            setting(
                "retention.spans.max_age",
                AGE,
                |c| &mut retention!(c, Spans, max_age),
                "How long spans are kept.",
            )
            .per_tenant(),
            setting(
                "retention.spans.max_bytes",
                SIZE,
                |c| &mut retention!(c, Spans, max_bytes),
                "Bytes of spans' blocks that are kept, per tenant; the oldest go first.",
            )
            .per_tenant(),
            setting(
                "retention.logs.max_age",
                AGE,
                |c| &mut retention!(c, Logs, max_age),
                "How long log records are kept.",
            )
            .per_tenant(),
            setting(
                "retention.logs.max_bytes",
                SIZE,
                |c| &mut retention!(c, Logs, max_bytes),
                "Bytes of log records' blocks that are kept, per tenant; the oldest go first.",
            )
            .per_tenant(),
            setting(
                "retention.series.max_age",
                AGE,
                |c| &mut retention!(c, Series, max_age),
                "How long metrics are kept.",
            )
            .per_tenant(),
            setting(
                "retention.series.max_bytes",
                SIZE,
                |c| &mut retention!(c, Series, max_bytes),
                "Bytes of metrics' blocks that are kept, per tenant; the oldest go first.",
            )
            .per_tenant(),
        ],
    },
    Group {
        title: "Queries",
        settings: &[
            setting(
                "query.threads",
                THREADS,
                |c| &mut c.server.engine.threads,
                "Threads for queries. Requests have their own.",
            )
            .by_machine("one per core"),
            setting(
                "query.memory",
                BUFFER_SIZE,
                |c| &mut c.server.engine.memory_bytes,
                "Memory of all queries together.",
            ),
            setting(
                "query.memory_per_query",
                BUFFER_SIZE,
                |c| &mut c.server.engine.query_memory_bytes,
                "Memory of one query. One that needs more fails, saying so.",
            ),
            setting(
                "query.memory_per_trace",
                BUFFER_SIZE,
                |c| &mut c.server.engine.trace_memory_bytes,
                "Memory for reading traces that the page shows whole, all together, beside query.memory. A million spans need about 500 MiB.",
            ),
            setting(
                "query.timeout",
                TIMEOUT,
                |c| &mut c.server.engine.query_timeout,
                "Time of one query.",
            ),
            setting(
                "query.max_rows",
                SOME,
                |c| &mut c.server.engine.max_rows,
                "Rows of one answer. A query with more fails, it is never cut.",
            ),
            setting(
                "query.max_running",
                QUERIES,
                |c| &mut c.server.engine.max_running,
                "Queries that run at once.",
            )
            .by_machine("two per core"),
            setting(
                "query.max_waiting",
                WAITING,
                |c| &mut c.server.engine.max_waiting,
                "Queries that wait for their turn. Further ones are refused.",
            ),
            setting(
                "query.mcp",
                Kind::Switch,
                |c| &mut c.server.mcp,
                "Let language models query, by the Model Context Protocol at /tempo/api/mcp. What \
                 they read goes to whoever runs the model.",
            ),
            setting(
                "tempo.overrides",
                Kind::Switch,
                |c| &mut c.server.tempo_overrides,
                "Let tenants set things for themselves, at /tempo/api/overrides.",
            ),
        ],
    },
    Group {
        title: "Journal",
        settings: &[
            setting(
                "journal.durability",
                Kind::Choice(&["disk", "memory"]),
                |c| &mut c.server.journal.durability,
                "When a request is acknowledged: once it is on disk, or once the system has it. \
                 With memory a power loss may take the last seconds.",
            ),
            setting(
                "journal.segment_bytes",
                SEGMENT_SIZE,
                |c| &mut c.server.journal.segment_bytes,
                "Size of a file of the journal.",
            ),
            setting(
                "journal.lag_bytes",
                BUFFER_SIZE,
                |c| &mut c.server.store.lag_bytes,
                "Bytes that the store may be behind the journal. Beyond, senders are asked to wait.",
            ),
        ],
    },
    Group {
        title: "Store",
        settings: &[
            setting(
                "store.node",
                Kind::Name,
                |c| &mut c.server.store.node,
                "Name of this node in the store: up to 64 letters, digits, - and _. \
                 The data directory keeps it, and cannot be used under another.",
            ),
            setting(
                "store.flush_rows",
                SOME,
                |c| &mut c.server.store.flush_rows,
                "Rows of a signal in memory that make a flush due.",
            ),
            setting(
                "store.flush_points",
                SOME,
                |c| &mut c.server.store.flush_points,
                "Metric points in memory that make a flush due.",
            ),
            setting(
                "store.flush_bytes",
                BUFFER_SIZE,
                |c| &mut c.server.store.flush_bytes,
                "Bytes of a signal in memory that make a flush due.",
            ),
            setting(
                "store.flush_after",
                DURATION,
                |c| &mut c.server.store.flush_after,
                "Age of the oldest row in memory that makes a flush due.",
            ),
            setting(
                "store.flush_series_after",
                DURATION,
                |c| &mut c.server.store.flush_series_after,
                "The same for metrics, which are smaller the more points they have.",
            ),
            setting(
                "store.flush_idle_after",
                DURATION,
                |c| &mut c.server.idle_flush_after,
                "Time without requests after which everything is flushed.",
            ),
            setting(
                "compaction",
                Kind::Switch,
                |c| &mut c.server.compaction,
                "Join small blocks to large ones.",
            ),
            setting(
                "store.grace",
                DURATION,
                |c| &mut c.server.store.grace,
                "How long the file of a replaced block stays, for other processes that may read it. \
                 In a bucket, if not set, 10m or twice query.timeout, whichever is longer.",
            ),
            setting(
                "store.zstd_level",
                Kind::Count { least: 1, most: 19 },
                |c| &mut c.server.store.zstd_level,
                "Compression of blocks. Higher levels cost much time for little space.",
            ),
            setting(
                "store.column_cache",
                CACHE_SIZE,
                |c| &mut c.server.store.column_cache_bytes,
                "Memory for decoded columns that queries share.",
            ),
            setting(
                "store.block_cache",
                CACHE_SIZE,
                |c| &mut c.server.store.block_cache_bytes,
                "Memory for what is known about blocks: schema, indexes, statistics.",
            ),
        ],
    },
    Group {
        title: "Logging",
        settings: &[
            setting(
                "log.level",
                Kind::LogFilter,
                |c| &mut c.log_level,
                "What is logged to stderr: error, warn, info, debug or trace, also by module, \
                 as in kymo_store=debug,info.",
            )
            .named("log-level", "LOG"),
            setting(
                "log.format",
                Kind::Choice(&["auto", "human", "json"]),
                |c| &mut c.log_format,
                "How log lines look. auto is human on a terminal and JSON elsewhere.",
            ),
        ],
    },
];

/// All settings, in order.
pub(crate) fn settings() -> impl Iterator<Item = &'static Setting> {
    GROUPS.iter().flat_map(|group| group.settings)
}

/// The setting with a key.
pub(crate) fn find(key: &str) -> Option<&'static Setting> {
    settings().find(|setting| setting.key == key)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::Config;
    use super::*;

    #[test]
    fn no_two_settings_share_a_name() {
        let keys: BTreeSet<_> = settings().map(|setting| setting.key).collect();
        let flags: BTreeSet<_> = settings().map(Setting::flag).collect();
        let variables: BTreeSet<_> = settings().map(Setting::variable).collect();
        let count = settings().count();
        assert_eq!((keys.len(), flags.len(), variables.len()), (count, count, count));
    }

    #[test]
    fn no_two_settings_share_a_field() {
        for changed in settings() {
            let mut config = Config::default();
            let before: Vec<_> = settings().map(|setting| setting.get(&config)).collect();
            let other = other_than(changed, &config);
            assert!(changed.set(&mut config, other), "{changed:?}");
            for (setting, before) in settings().zip(before) {
                let same = setting.get(&config) == before;
                assert_eq!(same, setting.key != changed.key, "{changed:?} changes {setting:?}");
            }
        }
    }

    #[test]
    fn defaults_are_valid_as_text() {
        for setting in settings() {
            let text = setting.get(&Config::default()).text();
            let value = setting.read(&text).unwrap_or_else(|why| panic!("{setting:?}: {why}"));
            assert_eq!(value, setting.get(&Config::default()), "{setting:?} {text}");
        }
    }

    /// A value that a configuration does not have yet.
    fn other_than(setting: &Setting, config: &Config) -> super::super::value::Value {
        let candidates = [
            "true",
            "false",
            "3",
            "7s",
            "8MiB",
            "localhost:1",
            "/a",
            "debug",
            "disk",
            "memory",
            "json",
            "NoTranslation",
            "optional",
            "1.3",
            "everybody",
            "http://x",
            "collector",
            "90s",
        ];
        let mut values = candidates.iter().filter_map(|text| setting.read(text).ok());
        values.find(|value| *value != setting.get(config)).expect("a candidate")
    }
}
