//! Settings that are each good and do not fit together.

use std::collections::BTreeMap;
use std::time::Duration;

use kymo_admit::Admission;
use kymo_admit::rules::Rules;
use kymo_forward::destination::{self, DestinationProblem};
use kymo_server::ServerOptions;
use kymo_store::garbage::Retention;
use kymo_yaml::{Item, Node, Place, Secret};

use super::file::FileSettings;
use super::resolve::{Problem, Source, name};
use super::{Config, sections, table};

const QUERY_MEMORY: &str = "query.memory_per_query";
const TIMEOUT: &str = "query.timeout";
const GRACE: &str = "store.grace";
/// How long replaced files stay in a bucket, unless it is set or queries may take longer.
const BUCKET_GRACE: Duration = Duration::from_secs(600);

/// Collects what does not fit, with the place of it.
struct Told<'a> {
    sources: &'a BTreeMap<&'static str, Source>,
    from_file: &'a FileSettings,
    problems: &'a mut Vec<Problem>,
}

impl Told<'_> {
    /// Something wrong with a setting.
    fn setting(&mut self, key: &str, what: impl Into<String>) {
        let place = match (table::find(key), self.sources.get(key)) {
            (Some(setting), Some(source)) => name(setting, source),
            _ => key.to_owned(),
        };
        self.problems.push(Problem::new(place, what));
    }

    /// Something wrong within a section; `choose` finds the place in it.
    fn section(&mut self, key: &str, choose: impl Fn(&Node) -> Option<Place>, what: String) {
        let place = match (&self.from_file.path, self.from_file.section(key)) {
            (Some(path), Some(entry)) => {
                let at = choose(&entry.node).unwrap_or(entry.key_at);
                format!("{path}:{}:{}", at.line, at.column)
            }
            _ => key.to_owned(),
        };
        self.problems.push(Problem::new(place, what));
    }

    /// The same of words that begin with what they are about.
    fn words(&mut self, otherwise: &str, what: String) {
        let about = what.split(['.', '[', ':', ' ']).next().unwrap_or_default().to_owned();
        if about == "expose_metrics" {
            self.setting("expose.metrics", what);
        } else if sections::is_one(&about) {
            self.section(&about, |_| None, what);
        } else if table::find(&about).is_some() {
            self.setting(&about, what);
        } else {
            self.setting(otherwise, what);
        }
    }
}

/// The place of a key of a destination: of the last that has the name.
fn destination_place(list: &Node, problem: &DestinationProblem) -> Option<Place> {
    let Node::List(items) = list else { return None };
    let is_named = |item: &&Item| {
        let name = item.node.get("name").and_then(|entry| entry.node.as_text());
        name == Some(problem.destination.as_str())
    };
    let item = items.iter().rev().find(is_named)?;
    Some(item.node.get(problem.key).map_or(item.at, |entry| entry.key_at))
}

/// The place of one of a list.
fn item_place(list: &Node, nth: usize) -> Option<Place> {
    let Node::List(items) = list else { return None };
    items.get(nth).map(|item| item.at)
}

/// What becomes of records, and who may send and ask.
fn check_routing(server: &ServerOptions, told: &mut Told<'_>) {
    for wrong in destination::check(&server.destinations) {
        let choose = |list: &Node| destination_place(list, &wrong);
        told.section("destinations", choose, wrong.to_string());
    }
    for destination in &server.destinations {
        let Some(endpoint) = &destination.endpoint else { continue };
        // What a variable has is put behind what the file has.
        let address = endpoint.split(['?', '#']).next().unwrap_or_default();
        if address.matches("://").count() > 1 {
            let wrong = DestinationProblem {
                destination: destination.name.clone(),
                key: "endpoint",
                message: "has two schemes: take the one in the file away, or that in the variable \
                          it refers to"
                    .to_owned(),
            };
            told.section("destinations", |list| destination_place(list, &wrong), wrong.to_string());
        }
    }
    for wrong in server.access.check(&server.listening()) {
        told.words("listeners", wrong);
    }
    for wrong in server.wrong_aliases() {
        told.words("listen.aliases", wrong);
    }
    if let Err(error) = server.audience.check() {
        told.setting("audience.attributes", error.to_string());
    }
    if !server.store_enabled && server.is_recording {
        if !server.destinations.iter().any(|destination| destination.enabled) {
            let what = "is false and there is no destination: nothing would become of what is \
                        received. Add one below destinations, or set recording.enabled to false";
            told.setting("store.enabled", what);
        }
        if server.expose && server.expose_metrics.is_some() {
            let what = "received metrics are shown from the store, and store.enabled is false";
            told.setting("expose.metrics", what);
        }
        if server.postgres.is_some() {
            told.setting("postgres", "queries read the store, and store.enabled is false");
        }
    }
}

/// Metrics that are made of spans.
fn check_span_metrics(server: &ServerOptions, told: &mut Told<'_>) {
    for (key, what) in server.span_metrics.settings.problems() {
        told.setting(&format!("span_metrics.{key}"), what);
    }
}

/// Each listener has an address of its own.
fn check_addresses(server: &ServerOptions, told: &mut Told<'_>) {
    let exposed = server.expose_metrics.as_ref().filter(|_| server.expose);
    let listeners: Vec<(&str, &String)> = [
        ("http", Some(&server.http)),
        ("otlp_grpc", Some(&server.otlp_grpc)),
        ("otlp_http", Some(&server.otlp_http)),
        ("expose.metrics", exposed),
        ("postgres", server.postgres.as_ref()),
    ]
    .into_iter()
    .filter_map(|(key, address)| Some((key, address?)))
    .collect();
    for (nth, (key, address)) in listeners.iter().enumerate() {
        let earlier = listeners[..nth].iter().find(|(_, other)| other == address);
        if let Some((other, _)) = earlier
            && !address.ends_with(":0")
        {
            let what = format!("{address} is also the address of {other}: each needs its own");
            told.setting(key, what);
        }
    }
}

/// Collects what does not fit, and puts together what does. A default gives way to what somebody set.
pub(crate) fn check(
    config: &mut Config,
    sources: &BTreeMap<&'static str, Source>,
    from_file: &FileSettings,
    problems: &mut Vec<Problem>,
) {
    let mut told = Told { sources, from_file, problems };
    check_addresses(&config.server, &mut told);
    check_span_metrics(&config.server, &mut told);
    let engine = &mut config.server.engine;
    if !sources.contains_key(QUERY_MEMORY) {
        engine.query_memory_bytes = engine.query_memory_bytes.min(engine.memory_bytes);
    }
    if engine.query_memory_bytes > engine.memory_bytes {
        let what = "is more than query.memory, which all queries share: lower it or raise that";
        told.setting(QUERY_MEMORY, what);
    }
    // Other nodes may read a bucket, and they keep no file from being deleted.
    if config.server.store_url.as_deref().is_some_and(|url| url.contains("://")) {
        let timeout = config.server.engine.query_timeout;
        let grace = &mut config.server.store.grace;
        if !sources.contains_key(GRACE) {
            *grace = BUCKET_GRACE.max(timeout * 2);
        } else if timeout >= *grace {
            let what = "is not less than store.grace: files in a bucket must outlive a query";
            told.setting(TIMEOUT, what);
        }
    }
    let salt = config.rules_hash_salt.as_ref().map_or("", Secret::reveal);
    let rules = Rules::new(config.rules.clone(), salt);
    let admission = Admission::new(config.limits.clone(), config.tenant_limits.clone());
    match (admission, rules) {
        (Ok(admission), Ok(rules)) => config.server.admission = admission.with_rules(rules),
        (Err(error), _) => told.setting("limits", error.to_string()),
        (_, Err(error)) => {
            told.section("rules", |list| item_place(list, error.nth), error.to_string());
        }
    }
    // What a variable has that is not set, nobody can look at.
    if !from_file.has_unresolved {
        check_routing(&config.server, &mut told);
    }
    config.server.retention.default.retain(|_, kept| *kept != Retention::default());
}
