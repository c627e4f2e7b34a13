//! Settings of metrics: what the server gathers itself, and how series appear in PromQL.

use std::time::Duration;

use super::setting::{Group, setting};
use super::table::{SOME, TIMEOUT};
use super::value::Kind;

/// More often would be all that a machine does.
const PROBE_INTERVAL: Kind = Kind::Duration { least: Duration::from_millis(100) };

/// What the server gathers itself.
pub(super) const GATHERED: Group = Group {
    title: "Metrics gathered by the server",
    settings: &[
        setting(
            "probe.enabled",
            Kind::Switch,
            |c| &mut c.server.collect.probe,
            "Gather metrics of this machine: host and GPUs, with the names of node-exporter \
             and dcgm-exporter, and the server's own.",
        )
        .named("probe", "PROBE"),
        setting(
            "probe.host.enabled",
            Kind::Switch,
            |c| &mut c.server.collect.host,
            "Whether the probe looks at the host.",
        )
        .named("probe-host", "PROBE_HOST"),
        setting(
            "probe.gpu.enabled",
            Kind::Switch,
            |c| &mut c.server.collect.gpu,
            "Whether the probe looks at GPUs. Without NVIDIA's driver there are none.",
        )
        .named("probe-gpu", "PROBE_GPU"),
        setting(
            "probe.server.enabled",
            Kind::Switch,
            |c| &mut c.server.collect.server,
            "Whether the probe stores the server's own metrics, those of /metrics.",
        )
        .named("probe-server", "PROBE_SERVER"),
        setting(
            "probe.interval",
            PROBE_INTERVAL,
            |c| &mut c.server.collect.interval,
            "How often the probe looks.",
        ),
        setting(
            "probe.instance",
            Kind::Text,
            |c| &mut c.server.collect.instance,
            "The label instance of what the probe finds. Without it, the host's name.",
        ),
        setting(
            "probe.processes",
            Kind::List,
            |c| &mut c.server.collect.processes,
            "Names of processes whose usage the probe tells, each with all that it started.",
        ),
        setting(
            "probe.nvml_library",
            Kind::File,
            |c| &mut c.server.collect.nvml_library,
            "NVIDIA's library, if it is not where the system looks for libnvidia-ml.so.1.",
        ),
        setting(
            "scrape.enabled",
            Kind::Switch,
            |c| &mut c.server.collect.scrape,
            "Whether targets are scraped, if prometheus.config names some.",
        )
        .named("scrape", "SCRAPE"),
        setting(
            "prometheus.rules.enabled",
            Kind::Switch,
            |c| &mut c.server.collect.rules,
            "Whether rules are evaluated, if prometheus.config names some.",
        )
        .named("prometheus-rules", "PROMETHEUS_RULES"),
        setting(
            "prometheus.config",
            Kind::File,
            |c| &mut c.server.collect.config,
            "A configuration file of Prometheus: global, scrape_configs, rule_files and alerting.",
        ),
    ],
};

/// How series appear, and what queries of them may do.
pub(super) const PROMETHEUS: Group = Group {
    title: "Prometheus",
    settings: &[
        setting(
            "prometheus.lookback",
            TIMEOUT,
            |c| &mut c.server.engine.prometheus.lookback,
            "How old a sample may be to count as current in PromQL.",
        ),
        setting(
            "prometheus.max_samples",
            SOME,
            |c| &mut c.server.engine.prometheus.max_samples,
            "Samples that one query in PromQL may hold.",
        ),
        setting(
            "prometheus.experimental",
            Kind::Switch,
            |c| &mut c.server.engine.prometheus.has_experimental,
            "What Prometheus has behind flags: experimental functions, duration expressions, \
             anchored and smoothed ranges, fill modifiers, delayed name removal, start timestamps.",
        ),
        setting(
            "prometheus.otlp.translation_strategy",
            Kind::Choice(&[
                "UnderscoreEscapingWithSuffixes",
                "UnderscoreEscapingWithoutSuffixes",
                "NoUTF8EscapingWithSuffixes",
                "NoTranslation",
            ]),
            |c| &mut c.server.engine.prometheus.naming.strategy,
            "How names of OTLP metrics and attributes are translated when they are read.",
        ),
        setting(
            "prometheus.otlp.namespace",
            Kind::Text,
            |c| &mut c.server.engine.prometheus.naming.namespace,
            "What names of OTLP metrics begin with, before an underscore.",
        ),
        setting(
            "prometheus.otlp.promote_resource_attributes",
            Kind::List,
            |c| &mut c.server.engine.prometheus.naming.promoted,
            "Attributes of resources that are labels of all their series.",
        ),
        setting(
            "prometheus.otlp.promote_all_resource_attributes",
            Kind::Switch,
            |c| &mut c.server.engine.prometheus.naming.promotes_all,
            "Whether all attributes of resources are labels of their series.",
        ),
        setting(
            "prometheus.otlp.ignore_resource_attributes",
            Kind::List,
            |c| &mut c.server.engine.prometheus.naming.ignored,
            "Attributes of resources that are no labels even if all others are.",
        ),
        setting(
            "prometheus.otlp.keep_identifying_resource_attributes",
            Kind::Switch,
            |c| &mut c.server.engine.prometheus.naming.keeps_identifying,
            "Whether target_info also has the attributes that job and instance are made of.",
        ),
        setting(
            "prometheus.otlp.promote_scope_metadata",
            Kind::Switch,
            |c| &mut c.server.engine.prometheus.naming.promotes_scope,
            "Whether name, version and attributes of scopes are labels: otel_scope_name and so on.",
        ),
    ],
};
