//! What a translation gathers before it is written.

use crate::document::{Map, Value};
use crate::limits::{MAX_NAME_CHARS, RETENTION};
use crate::model::Signal;

/// A file beside the configuration that it refers to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExtraFile {
    /// What the configuration calls it.
    pub name: String,
    /// What it says.
    pub text: String,
}

/// A destination in the making.
#[derive(Debug)]
pub(crate) struct Destination {
    pub(crate) name: String,
    /// The exporter that it was.
    pub(crate) exporter: String,
    /// Protocol, endpoint and the like.
    pub(crate) settings: Map,
    pub(crate) signals: Vec<Signal>,
    /// Conditions of what goes there, where pipelines of one signal differ.
    pub(crate) routes: Vec<(Signal, String)>,
    pub(crate) sampling: Option<Map>,
}

/// A rule in the making.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Rule {
    /// The processor that it was, and which of its rules.
    pub(crate) name: String,
    pub(crate) signals: Vec<Signal>,
    pub(crate) condition: Option<String>,
    /// `drop`, `insert` and so on.
    pub(crate) action: &'static str,
    pub(crate) value: Value,
}

/// Settings by where they stand in the result.
#[derive(Debug, Default)]
pub(crate) struct Output {
    /// Where further files are; nothing if they are where the server is started.
    directory: String,
    /// Keys at the top.
    pub(crate) top: Map,
    pub(crate) listeners: Map,
    pub(crate) users: Vec<Value>,
    pub(crate) oidc: Map,
    pub(crate) limits: Map,
    pub(crate) expose: Map,
    pub(crate) probe: Map,
    pub(crate) prometheus: Map,
    pub(crate) prometheus_otlp: Map,
    pub(crate) log: Map,
    pub(crate) destinations: Vec<Destination>,
    pub(crate) rules: Vec<Rule>,
    pub(crate) files: Vec<ExtraFile>,
}

impl Output {
    pub(crate) fn in_directory(directory: &str) -> Self {
        Self { directory: directory.to_owned(), ..Self::default() }
    }

    /// What the configuration calls a further file.
    pub(crate) fn path(&self, file: &str) -> String {
        match self.directory.trim_end_matches('/') {
            "" if self.directory.is_empty() => file.to_owned(),
            directory => format!("{directory}/{file}"),
        }
    }

    /// A name that destinations may have, and that none has yet.
    pub(crate) fn destination_name(&self, exporter: &str) -> String {
        let name = plain_name(exporter);
        let is_taken =
            |name: &str| self.destinations.iter().any(|destination| destination.name == name);
        if !is_taken(&name) {
            return name;
        }
        let numbered = (2usize..).map(|nth| {
            let suffix = format!("-{nth}");
            let kept: String =
                name.chars().take(MAX_NAME_CHARS.saturating_sub(suffix.len())).collect();
            format!("{kept}{suffix}")
        });
        numbered.into_iter().find(|name| !is_taken(name)).unwrap_or(name)
    }

    /// The configuration as YAML.
    pub(crate) fn into_yaml(self) -> (String, Vec<ExtraFile>) {
        let needs_store = !self.expose.is_empty();
        let mut document = self.top;
        document.set_filled("listeners", self.listeners);
        if !self.users.is_empty() {
            document.set("users", Value::List(self.users));
        }
        document.set_filled("oidc", self.oidc).set_filled("limits", self.limits);
        set_store(&mut document, needs_store);
        document.set_filled("expose", self.expose);
        let mut probe = self.probe;
        if probe.is_empty() {
            probe.set("enabled", Value::word(false));
        }
        document.set_filled("probe", probe);
        let mut prometheus = self.prometheus;
        prometheus.set_filled("otlp", self.prometheus_otlp);
        document.set_filled("prometheus", prometheus).set_filled("log", self.log);
        let rules: Vec<_> = self.rules.into_iter().map(|rule| rule.into_map().into()).collect();
        if !rules.is_empty() {
            document.set("rules", Value::List(rules));
        }
        let destinations: Vec<_> =
            self.destinations.into_iter().map(|one| one.into_map().into()).collect();
        if !destinations.is_empty() {
            document.set("destinations", Value::List(destinations));
        }
        (document.to_yaml(), self.files)
    }
}

/// A collector keeps nothing; where a store is needed, it keeps things for a while.
fn set_store(document: &mut Map, needs_store: bool) {
    let enabled = Map::of("enabled", Value::word(needs_store));
    if !needs_store {
        let why = "a collector keeps nothing; with true, kymo answers queries as well";
        document.set_with("store", enabled.into(), why);
        return;
    }
    document.set_with("store", enabled.into(), "what expose shows is read from the store");
    let mut retention = Map::default();
    for what in ["spans", "logs", "series"] {
        retention.set(what, Map::of("max_age", Value::word(RETENTION)).into());
    }
    let why = "a collector keeps nothing; with longer times, kymo answers queries as well";
    document.set_with("retention", retention.into(), why);
}

impl Rule {
    fn into_map(self) -> Map {
        let mut map = Map::default();
        map.set("name", Value::text(self.name));
        map.set("signals", signals(&self.signals));
        map.set_some("where", self.condition.map(Value::Text));
        map.set(self.action, self.value);
        map
    }
}

impl Destination {
    fn into_map(self) -> Map {
        let mut map = Map::default();
        map.set("name", Value::text(self.name));
        map.append(self.settings);
        map.set("signals", signals(&self.signals));
        if !self.routes.is_empty() {
            let conditions = |signal: Signal| {
                let of_signal = self.routes.iter().filter(move |(of, _)| *of == signal);
                of_signal.map(|(_, condition)| condition.clone())
            };
            let mut routes = Vec::new();
            for signal in &self.signals {
                let mut conditions = conditions(*signal).peekable();
                if conditions.peek().is_none() {
                    routes.push(Map::of("signal", Value::text(signal.word())).into());
                }
                for condition in conditions {
                    let mut route = Map::of("signal", Value::text(signal.word()));
                    route.set("where", Value::Text(condition));
                    routes.push(route.into());
                }
            }
            map.set("routes", Value::List(routes));
        }
        map.set_some("sampling", self.sampling.map(Value::Map));
        map
    }
}

fn signals(signals: &[Signal]) -> Value {
    Value::texts(signals.iter().map(|signal| signal.word()))
}

/// `otlp-hub` for `otlp/hub`: the letters that names may have.
pub(crate) fn plain_name(component: &str) -> String {
    let allowed = |c: char| if c.is_ascii_alphanumeric() || "_.-".contains(c) { c } else { '-' };
    component.trim().chars().map(allowed).take(MAX_NAME_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn destination(name: &str) -> Destination {
        Destination {
            name: name.to_owned(),
            exporter: name.to_owned(),
            settings: Map::default(),
            signals: Vec::new(),
            routes: Vec::new(),
            sampling: None,
        }
    }

    #[test]
    fn names_are_plain_and_unique() {
        let mut output = Output::default();
        assert_eq!(output.destination_name("otlp/hub 1"), "otlp-hub-1");
        output.destinations.push(destination("otlp-a"));
        assert_eq!(output.destination_name("otlp/a"), "otlp-a-2");
        let long = "x".repeat(100);
        output.destinations.push(destination(&"x".repeat(MAX_NAME_CHARS)));
        let name = output.destination_name(&long);
        assert!(name.len() == MAX_NAME_CHARS && name.ends_with("-2"), "{name}");
    }
}
