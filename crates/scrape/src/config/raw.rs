//! The keys of the file, as YAML gives them. Nothing is checked here but what is a key and what
//! type its value has.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_saphyr::Spanned;

type Texts = Option<Vec<String>>;

/// A whole file. Keys of Prometheus' file that nothing is done with are let through.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    pub(super) global: Option<Spanned<Global>>,
    pub(super) scrape_configs: Option<Vec<Spanned<Option<Job>>>>,
    pub(super) scrape_config_files: Texts,
    pub(super) rule_files: Texts,
    pub(super) alerting: Option<Alerting>,
    pub(super) remote_write: Option<IgnoredAny>,
    pub(super) remote_read: Option<IgnoredAny>,
    pub(super) storage: Option<IgnoredAny>,
    pub(super) tracing: Option<IgnoredAny>,
    pub(super) otlp: Option<IgnoredAny>,
    pub(super) runtime: Option<IgnoredAny>,
}

/// A file that `scrape_config_files` names.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct JobsFile {
    pub(super) scrape_configs: Option<Vec<Spanned<Option<Job>>>>,
}

/// What holds for all jobs that do not say otherwise.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Global {
    pub(super) scrape_interval: Option<Spanned<String>>,
    pub(super) scrape_timeout: Option<Spanned<String>>,
    pub(super) scrape_protocols: Option<Spanned<Vec<String>>>,
    pub(super) evaluation_interval: Option<Spanned<String>>,
    pub(super) rule_query_offset: Option<Spanned<String>>,
    pub(super) external_labels: Option<BTreeMap<String, String>>,
    pub(super) query_log_file: Option<String>,
    pub(super) scrape_failure_log_file: Option<String>,
    pub(super) body_size_limit: Option<Spanned<String>>,
    pub(super) sample_limit: Option<usize>,
    pub(super) label_limit: Option<usize>,
    pub(super) label_name_length_limit: Option<usize>,
    pub(super) label_value_length_limit: Option<usize>,
    pub(super) target_limit: Option<usize>,
    pub(super) keep_dropped_targets: Option<usize>,
    pub(super) metric_name_validation_scheme: Option<Spanned<String>>,
    pub(super) metric_name_escaping_scheme: Option<Spanned<String>>,
    pub(super) scrape_native_histograms: Option<bool>,
    pub(super) convert_classic_histograms_to_nhcb: Option<bool>,
    pub(super) always_scrape_classic_histograms: Option<bool>,
    pub(super) extra_scrape_metrics: Option<bool>,
}

/// Adds the keys of an HTTP client, which stand beside those of whatever asks over HTTP.
macro_rules! with_http_keys {
    ($(#[$doc:meta])* struct $name:ident { $($fields:tt)* }) => {
        $(#[$doc])*
        #[derive(Debug, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub(super) struct $name {
            $($fields)*
            pub(super) basic_auth: Option<Spanned<BasicAuth>>,
            pub(super) authorization: Option<Spanned<Authorization>>,
            pub(super) bearer_token: Option<Spanned<String>>,
            pub(super) bearer_token_file: Option<Spanned<String>>,
            pub(super) oauth2: Option<Spanned<IgnoredAny>>,
            pub(super) tls_config: Option<Spanned<Tls>>,
            pub(super) follow_redirects: Option<bool>,
            /// Known, so that files with it are read; requests are HTTP/1.1 in any case.
            #[expect(dead_code, reason = "only its type is checked")]
            pub(super) enable_http2: Option<bool>,
            pub(super) http_headers: Option<Spanned<BTreeMap<String, Header>>>,
            pub(super) proxy_url: Option<Spanned<String>>,
            pub(super) no_proxy: Option<Spanned<String>>,
            pub(super) proxy_from_environment: Option<Spanned<bool>>,
            pub(super) proxy_connect_header: Option<Spanned<IgnoredAny>>,
        }

        impl $name {
            /// The keys of the HTTP client.
            pub(super) fn http(&mut self) -> Http {
                Http {
                    basic_auth: self.basic_auth.take(),
                    authorization: self.authorization.take(),
                    bearer_token: self.bearer_token.take(),
                    bearer_token_file: self.bearer_token_file.take(),
                    oauth2_at: self.oauth2.take().map(|key| key.referenced),
                    tls_config: self.tls_config.take(),
                    follow_redirects: self.follow_redirects,
                    http_headers: self.http_headers.take(),
                    proxy_at: [
                        self.proxy_url.take().map(|key| key.referenced),
                        self.no_proxy.take().map(|key| key.referenced),
                        self.proxy_from_environment.take().map(|key| key.referenced),
                        self.proxy_connect_header.take().map(|key| key.referenced),
                    ]
                    .into_iter()
                    .flatten()
                    .next(),
                }
            }
        }
    };
}

with_http_keys! {
    /// An entry of `scrape_configs`.
    struct Job {
        pub(super) job_name: Option<Spanned<String>>,
        pub(super) scrape_interval: Option<Spanned<String>>,
        pub(super) scrape_timeout: Option<Spanned<String>>,
        pub(super) scrape_protocols: Option<Spanned<Vec<String>>>,
        pub(super) fallback_scrape_protocol: Option<Spanned<String>>,
        pub(super) metrics_path: Option<String>,
        pub(super) honor_labels: Option<bool>,
        pub(super) honor_timestamps: Option<bool>,
        pub(super) track_timestamps_staleness: Option<bool>,
        pub(super) scheme: Option<Spanned<String>>,
        pub(super) params: Option<BTreeMap<String, Vec<String>>>,
        pub(super) enable_compression: Option<bool>,
        pub(super) scrape_failure_log_file: Option<Spanned<String>>,
        pub(super) static_configs: Option<Vec<Spanned<StaticConfig>>>,
        pub(super) file_sd_configs: Option<Vec<Spanned<FileSd>>>,
        pub(super) http_sd_configs: Option<Vec<Spanned<HttpSd>>>,
        pub(super) relabel_configs: Option<Vec<Spanned<Relabel>>>,
        pub(super) metric_relabel_configs: Option<Vec<Spanned<Relabel>>>,
        pub(super) body_size_limit: Option<Spanned<String>>,
        pub(super) sample_limit: Option<usize>,
        pub(super) label_limit: Option<usize>,
        pub(super) label_name_length_limit: Option<usize>,
        pub(super) label_value_length_limit: Option<usize>,
        pub(super) target_limit: Option<usize>,
        pub(super) keep_dropped_targets: Option<usize>,
        pub(super) metric_name_validation_scheme: Option<Spanned<String>>,
        pub(super) metric_name_escaping_scheme: Option<Spanned<String>>,
        pub(super) native_histogram_bucket_limit: Option<usize>,
        pub(super) native_histogram_min_bucket_factor: Option<f64>,
        pub(super) scrape_native_histograms: Option<bool>,
        pub(super) convert_classic_histograms_to_nhcb: Option<bool>,
        pub(super) scrape_classic_histograms: Option<bool>,
        pub(super) always_scrape_classic_histograms: Option<bool>,
        pub(super) extra_scrape_metrics: Option<bool>,
    }
}

with_http_keys! {
    /// An entry of `http_sd_configs`.
    struct HttpSd {
        pub(super) url: Option<String>,
        pub(super) refresh_interval: Option<Spanned<String>>,
    }
}

/// `alerting`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Alerting {
    pub(super) alert_relabel_configs: Option<Vec<Spanned<Relabel>>>,
    pub(super) alertmanagers: Option<Vec<Spanned<Alertmanager>>>,
    pub(super) webhooks: Option<Vec<Spanned<Webhook>>>,
}

with_http_keys! {
    /// An entry of `alertmanagers`.
    struct Alertmanager {
        pub(super) scheme: Option<Spanned<String>>,
        pub(super) path_prefix: Option<String>,
        pub(super) timeout: Option<Spanned<String>>,
        pub(super) api_version: Option<Spanned<String>>,
        pub(super) static_configs: Option<Vec<Spanned<StaticConfig>>>,
        pub(super) relabel_configs: Option<Vec<Spanned<Relabel>>>,
        pub(super) alert_relabel_configs: Option<Vec<Spanned<Relabel>>>,
        pub(super) sigv4: Option<Spanned<IgnoredAny>>,
    }
}

with_http_keys! {
    /// An entry of `webhooks`, which Prometheus does not have.
    struct Webhook {
        pub(super) url: Option<Spanned<String>>,
        pub(super) timeout: Option<Spanned<String>>,
        pub(super) send_resolved: Option<bool>,
        pub(super) repeat_interval: Option<Spanned<String>>,
        pub(super) alert_relabel_configs: Option<Vec<Spanned<Relabel>>>,
    }
}

/// The keys of an HTTP client, wherever they stood.
#[derive(Debug)]
pub(super) struct Http {
    pub(super) basic_auth: Option<Spanned<BasicAuth>>,
    pub(super) authorization: Option<Spanned<Authorization>>,
    pub(super) bearer_token: Option<Spanned<String>>,
    pub(super) bearer_token_file: Option<Spanned<String>>,
    pub(super) oauth2_at: Option<serde_saphyr::Location>,
    pub(super) tls_config: Option<Spanned<Tls>>,
    pub(super) follow_redirects: Option<bool>,
    pub(super) http_headers: Option<Spanned<BTreeMap<String, Header>>>,
    pub(super) proxy_at: Option<serde_saphyr::Location>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BasicAuth {
    pub(super) username: Option<String>,
    pub(super) username_file: Option<String>,
    pub(super) password: Option<String>,
    pub(super) password_file: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Authorization {
    #[serde(rename = "type")]
    pub(super) kind: Option<String>,
    pub(super) credentials: Option<String>,
    pub(super) credentials_file: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Tls {
    pub(super) ca: Option<String>,
    pub(super) ca_file: Option<String>,
    pub(super) cert: Option<String>,
    pub(super) cert_file: Option<String>,
    pub(super) key: Option<String>,
    pub(super) key_file: Option<String>,
    pub(super) server_name: Option<String>,
    pub(super) insecure_skip_verify: Option<bool>,
    pub(super) min_version: Option<Spanned<String>>,
    pub(super) max_version: Option<Spanned<String>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Header {
    pub(super) values: Option<Vec<String>>,
    pub(super) secrets: Option<Vec<String>>,
    pub(super) files: Option<Vec<String>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StaticConfig {
    pub(super) targets: Option<Vec<Spanned<String>>>,
    pub(super) labels: Option<BTreeMap<String, String>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FileSd {
    pub(super) files: Option<Vec<Spanned<String>>>,
    pub(super) refresh_interval: Option<Spanned<String>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Relabel {
    pub(super) source_labels: Option<Vec<String>>,
    pub(super) separator: Option<String>,
    pub(super) regex: Option<Spanned<String>>,
    pub(super) modulus: Option<u64>,
    pub(super) target_label: Option<String>,
    pub(super) replacement: Option<String>,
    pub(super) action: Option<Spanned<String>>,
}
