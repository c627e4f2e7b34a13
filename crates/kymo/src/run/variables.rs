//! What the command finds in its environment: the span that it lies in, and where to send to.
//!
//! An instrumented program needs nothing else: every OpenTelemetry SDK reads `OTEL_…`, and those
//! that know `TRACEPARENT` put their spans below the session's. Others are found by `session_id`,
//! which everything that they send has as a resource attribute.

use std::net::SocketAddr;
use std::process::Command;

use kymo_ci::environment::Environment;
use kymo_forward::pairs;
use kymo_session::Session;

/// Endpoints of single signals, which would win over ours.
const OF_SIGNALS: [&str; 3] = [
    "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
    "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT",
    "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT",
];

/// Variables by which programs find a proxy, which has no way back to this machine.
const PROXIES: [&str; 5] = ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY", "grpc_proxy"];
const NO_PROXY: [&str; 2] = ["no_proxy", "NO_PROXY"];
const THIS_MACHINE: &str = "127.0.0.1";

/// Sets them. `receiver` is where programs send to; without one they send where they would anyway.
pub(super) fn set(
    command: &mut Command,
    session: &Session,
    receiver: Option<SocketAddr>,
    environment: &Environment,
) {
    let own = Own {
        traceparent: session.traceparent(),
        session_id: session.id(),
        name: session.name(),
        endpoint: receiver.map(|address| format!("http://{address}")),
    };
    for (name, value) in own.variables(environment) {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
}

struct Own<'a> {
    traceparent: String,
    session_id: &'a str,
    name: &'a str,
    endpoint: Option<String>,
}

impl Own<'_> {
    /// What is set, and what is taken away.
    fn variables(&self, environment: &Environment) -> Vec<(&'static str, Option<String>)> {
        let told = environment.get("OTEL_RESOURCE_ATTRIBUTES").unwrap_or_default();
        let mut all = vec![
            ("TRACEPARENT", Some(self.traceparent.clone())),
            ("KYMO_SESSION_ID", Some(self.session_id.to_owned())),
            ("OTEL_RESOURCE_ATTRIBUTES", Some(self.resource_attributes(told))),
        ];
        // It would win over a name that is told with the other attributes.
        let has_name = pairs::parse(told).any(|(key, _)| key == "service.name");
        if environment.get("OTEL_SERVICE_NAME").is_none() && !has_name {
            all.push(("OTEL_SERVICE_NAME", Some(self.name.to_owned())));
        }
        let Some(endpoint) = &self.endpoint else { return all };
        all.push(("OTEL_EXPORTER_OTLP_ENDPOINT", Some(endpoint.clone())));
        all.push(("KYMO_OTLP_ENDPOINT", Some(endpoint.clone())));
        all.extend(OF_SIGNALS.map(|name| (name, None)));
        // The port speaks all of them; this one is in every SDK.
        if environment.get("OTEL_EXPORTER_OTLP_PROTOCOL").is_none() {
            all.push(("OTEL_EXPORTER_OTLP_PROTOCOL", Some("http/protobuf".to_owned())));
        }
        if PROXIES.iter().any(|name| environment.get(name).is_some()) {
            all.extend(NO_PROXY.map(|name| {
                let told = environment.get(name);
                let with_ours = told.map(|told| format!("{told},{THIS_MACHINE}"));
                (name, Some(with_ours.unwrap_or_else(|| THIS_MACHINE.to_owned())))
            }));
        }
        all
    }

    /// Those that were told, and which session it is; the inner one where one is run in another.
    fn resource_attributes(&self, told: &str) -> String {
        let is_other = |pair: &&str| {
            let key = pair.split('=').next().unwrap_or_default().trim();
            !key.is_empty() && key != "session_id"
        };
        let mut all: Vec<&str> = told.split(',').filter(is_other).collect();
        let own = format!("session_id={}", encoded(self.session_id));
        all.push(&own);
        all.join(",")
    }
}

/// A value as the variable has it: what could be taken for a separator as `%XX`.
fn encoded(value: &str) -> String {
    let mut text = String::with_capacity(value.len());
    for byte in value.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' | b'/' => {
                text.push(char::from(byte));
            }
            _ => text.push_str(&format!("%{byte:02X}")),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables(told: &[(&str, &str)], has_receiver: bool) -> Vec<(&'static str, Option<String>)> {
        let own = Own {
            traceparent: "00-0102-03-01".to_owned(),
            session_id: "a,b.1",
            name: "train",
            endpoint: has_receiver.then(|| "http://127.0.0.1:5".to_owned()),
        };
        own.variables(&told.iter().copied().collect())
    }

    fn value(variables: &[(&'static str, Option<String>)], name: &str) -> Option<String> {
        variables.iter().find(|(known, _)| *known == name)?.1.clone()
    }

    #[test]
    fn what_was_set_is_kept_and_the_session_added() {
        let told = [
            ("OTEL_RESOURCE_ATTRIBUTES", "team=ml,session_id=outer,note=a%2Cb"),
            ("OTEL_SERVICE_NAME", "mine"),
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
            ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://elsewhere.test"),
        ];
        let set = variables(&told, true);
        let attributes = value(&set, "OTEL_RESOURCE_ATTRIBUTES");
        assert_eq!(attributes.as_deref(), Some("team=ml,note=a%2Cb,session_id=a%2Cb.1"));
        let names: Vec<&str> = set.iter().map(|(name, _)| *name).collect();
        for kept in ["OTEL_SERVICE_NAME", "OTEL_EXPORTER_OTLP_PROTOCOL", "no_proxy"] {
            assert!(!names.contains(&kept), "{kept}");
        }
        let endpoint = value(&set, "OTEL_EXPORTER_OTLP_ENDPOINT");
        assert_eq!(endpoint.as_deref(), Some("http://127.0.0.1:5"));
        assert!(set.contains(&("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", None)), "it would win");
    }

    #[test]
    fn a_service_is_called_as_the_session_unless_it_has_a_name() {
        let set = variables(&[], true);
        assert_eq!(value(&set, "OTEL_SERVICE_NAME").as_deref(), Some("train"));
        assert_eq!(value(&set, "OTEL_EXPORTER_OTLP_PROTOCOL").as_deref(), Some("http/protobuf"));
        let named = variables(&[("OTEL_RESOURCE_ATTRIBUTES", "service.name=mine")], true);
        assert_eq!(value(&named, "OTEL_SERVICE_NAME"), None);
    }

    #[test]
    fn without_a_receiver_programs_send_where_they_would_anyway() {
        let set = variables(&[("http_proxy", "http://p.test")], false);
        assert!(set.iter().all(|(name, _)| !name.contains("OTLP") && !name.contains("PROXY")));
        assert!(value(&set, "TRACEPARENT").is_some());
    }

    #[test]
    fn a_proxy_is_not_asked_for_this_machine() {
        let set = variables(&[("HTTP_PROXY", "http://p.test"), ("NO_PROXY", "a.test")], true);
        assert_eq!(value(&set, "NO_PROXY").as_deref(), Some("a.test,127.0.0.1"));
        assert_eq!(value(&set, "no_proxy").as_deref(), Some("127.0.0.1"));
    }
}
