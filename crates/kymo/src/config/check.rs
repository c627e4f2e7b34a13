//! Settings that are each good and do not fit together.

use std::collections::BTreeMap;
use std::time::Duration;

use kymo_admit::Admission;
use kymo_admit::rules::Rules;
use kymo_forward::destination;
use kymo_server::ServerOptions;
use kymo_store::garbage::Retention;
use kymo_yaml::Secret;

use super::resolve::{Problem, Source, name};
use super::{Config, table};

const QUERY_MEMORY: &str = "query.memory_per_query";
const TIMEOUT: &str = "query.timeout";
const GRACE: &str = "store.grace";
/// How long replaced files stay in a bucket, unless it is set or queries may take longer.
const BUCKET_GRACE: Duration = Duration::from_secs(600);

/// What becomes of records, and who may send and ask.
fn check_routing(server: &ServerOptions, problem: &mut dyn FnMut(&str, String)) {
    for wrong in destination::check(&server.destinations) {
        problem("destinations", wrong.to_string());
    }
    for wrong in server.access.check(&server.listening()) {
        problem("listeners", wrong);
    }
    for wrong in server.wrong_aliases() {
        problem("listen", wrong);
    }
    if let Err(error) = server.audience.check() {
        problem("audience", error.to_string());
    }
    if !server.store_enabled && server.is_recording {
        if !server.destinations.iter().any(|destination| destination.enabled) {
            let what = "is false and there is no destination: nothing would become of what is \
                        received. Add one below destinations, or set recording.enabled to false";
            problem("store.enabled", what.to_owned());
        }
        if server.expose && server.expose_metrics.is_some() {
            let what = "received metrics are shown from the store, and store.enabled is false";
            problem("expose.metrics", what.to_owned());
        }
    }
}

/// Collects what does not fit, and puts together what does. A default gives way to what somebody set.
pub(crate) fn check(
    config: &mut Config,
    sources: &BTreeMap<&'static str, Source>,
    problems: &mut Vec<Problem>,
) {
    let mut problem = |key: &str, what: String| {
        let place = match (table::find(key), sources.get(key)) {
            (Some(setting), Some(source)) => name(setting, source),
            _ => key.to_owned(),
        };
        problems.push(Problem::new(place, what));
    };
    let server = &config.server;
    let listeners = [
        ("http", &server.http),
        ("otlp_grpc", &server.otlp_grpc),
        ("otlp_http", &server.otlp_http),
    ];
    for (nth, (key, address)) in listeners.iter().enumerate() {
        let earlier = listeners[..nth].iter().find(|(_, other)| other == address);
        if let Some((other, _)) = earlier
            && !address.ends_with(":0")
        {
            problem(key, format!("{address} is also the address of {other}: each needs its own"));
        }
    }
    let engine = &mut config.server.engine;
    if !sources.contains_key(QUERY_MEMORY) {
        engine.query_memory_bytes = engine.query_memory_bytes.min(engine.memory_bytes);
    }
    if engine.query_memory_bytes > engine.memory_bytes {
        let what = "is more than query.memory, which all queries share: lower it or raise that";
        problem(QUERY_MEMORY, what.to_owned());
    }
    // Other nodes may read a bucket, and they keep no file from being deleted.
    if config.server.store_url.as_deref().is_some_and(|url| url.contains("://")) {
        let timeout = config.server.engine.query_timeout;
        let grace = &mut config.server.store.grace;
        if !sources.contains_key(GRACE) {
            *grace = BUCKET_GRACE.max(timeout * 2);
        } else if timeout >= *grace {
            let what = "is not less than store.grace: files in a bucket must outlive a query";
            problem(TIMEOUT, what.to_owned());
        }
    }
    let salt = config.rules_hash_salt.as_ref().map_or("", Secret::reveal);
    let rules = Rules::new(config.rules.clone(), salt);
    let admission = Admission::new(config.limits.clone(), config.tenant_limits.clone());
    match (admission, rules) {
        (Ok(admission), Ok(rules)) => config.server.admission = admission.with_rules(rules),
        (Err(error), _) => problem("limits", error.to_string()),
        (_, Err(error)) => problem("rules", error.to_string()),
    }
    check_routing(&config.server, &mut problem);
    config.server.retention.default.retain(|_, kept| *kept != Retention::default());
}
