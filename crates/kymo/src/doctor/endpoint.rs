//! Where telemetry goes and why; whether it can be reached at all.

use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::sync::mpsc;

use kymo_forward::network::{asks_proxies, is_loopback};
use kymo_forward::settings::{DEFAULT, EXPLICIT};
use kymo_forward::{Asked, OtlpSettings, Protocol, Signal, signals};
use kymo_service::Config;
use kymo_service::export::{Destination, ExportSettings};
use reqwest::Url;

use super::check::Checks;
use super::record::TestRecord;
use super::{Args, PATIENCE, speech};

/// What flags and the configuration ask for.
pub(super) fn asked(args: &Args, config: Option<&Config>) -> Asked {
    let of_config = || config.and_then(|config| config.otlp_endpoint.clone());
    Asked {
        endpoint: args.endpoint.clone().or_else(of_config),
        protocol: args.protocol.or_else(|| config.and_then(|config| config.otlp_protocol)),
        ..Asked::default()
    }
}

/// Looks at the way to the endpoint of each signal. The test record, if it was sent and taken.
pub(super) fn look(
    checks: &mut Checks,
    asked: &Asked,
    environment: &dyn Fn(&str) -> Option<String>,
    sends: bool,
) -> Option<TestRecord> {
    let settings = match ExportSettings::resolve(asked, environment) {
        Ok(settings) => settings,
        Err(error) => {
            checks.failed("endpoint", error, "programs refuse it or use a default instead");
            return None;
        }
    };
    for signal in Signal::ALL {
        named(checks, signal, settings.of(signal));
    }
    let record = sends.then(TestRecord::new);
    let mut reached: Vec<(String, bool)> = Vec::new();
    let mut is_taken = false;
    for signal in Signal::ALL {
        let Some(otlp) = settings.of(signal).otlp() else { continue };
        let server = otlp.authority();
        let known = reached.iter().find(|(known, _)| *known == server).map(|(_, reached)| *reached);
        let is_reached = known.unwrap_or_else(|| {
            let is_reached = reach(checks, otlp, environment);
            reached.push((server, is_reached));
            is_reached
        });
        if is_reached {
            is_taken |= speech::look(checks, signal, otlp, record.as_ref());
        }
    }
    record.filter(|_| is_taken)
}

/// Where a signal goes, and who says so.
fn named(checks: &mut Checks, signal: Signal, destination: &Destination) {
    let variable = format!("OTEL_{}_EXPORTER", signals::variable(signal));
    match destination {
        Destination::Nowhere => checks.warning(
            "endpoint",
            format!("{} go nowhere, as {variable} is none", signals::items(signal)),
            format!("set {variable} to otlp, or unset it"),
        ),
        Destination::Console => checks.warning(
            "endpoint",
            format!("{} go to stdout, as {variable} is console", signals::items(signal)),
            format!("set {variable} to otlp, or unset it"),
        ),
        Destination::Otlp(otlp) => {
            let by = match otlp.source {
                EXPLICIT => "as the command line or configuration says",
                DEFAULT => "the default, as nothing is set",
                variable => variable,
            };
            let (server, word) = (otlp.authority(), otlp.protocol.word());
            checks.ok("endpoint", format!("{server} over {word} ({by})"));
        }
    }
}

/// Whether the name stands for something and somebody listens there.
fn reach(
    checks: &mut Checks,
    otlp: &OtlpSettings,
    environment: &dyn Fn(&str) -> Option<String>,
) -> bool {
    let Ok(url) = Url::parse(&otlp.endpoint) else { return false };
    let (Some(host), Some(port)) = (url.host_str(), url.port_or_known_default()) else {
        return false;
    };
    if proxied(checks, &url, otlp.protocol, environment) {
        // The proxy looks names up and connects.
        return true;
    }
    let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
    let addresses = match resolve(&host, port) {
        Ok(addresses) => addresses,
        Err(why) => {
            checks.failed(
                "name",
                format!("{host} cannot be looked up: {why}"),
                "mend the name, or look at /etc/hosts and the network's name server; in a \
                 container, names of the host are not known",
            );
            return false;
        }
    };
    let mut why = String::new();
    for address in &addresses {
        match TcpStream::connect_timeout(address, PATIENCE) {
            Ok(_) => {
                checks.ok("connection", format!("{address} accepts connections"));
                return true;
            }
            Err(error) => why = reason(&error),
        }
    }
    let tried: Vec<String> = addresses.iter().map(ToString::to_string).collect();
    let advice = if is_loopback(&url) {
        "start a server here (kymo serve), or name another endpoint; in a container, localhost is \
         the container itself"
    } else {
        "start the server, or look at its firewall and at the address it listens on (127.0.0.1 \
         takes nobody from outside)"
    };
    checks.failed("connection", format!("{}: {why}", tried.join(", ")), advice);
    false
}

/// The addresses of a name. Looking it up has no limit of its own.
fn resolve(host: &str, port: u16) -> Result<Vec<SocketAddr>, String> {
    let (reply, answer) = mpsc::sync_channel(1);
    let host = host.to_owned();
    std::thread::spawn(move || {
        let found = (host.as_str(), port).to_socket_addrs().map(Iterator::collect::<Vec<_>>);
        let _ = reply.send(found);
    });
    match answer.recv_timeout(PATIENCE) {
        Ok(Ok(addresses)) if addresses.is_empty() => Err("it has no address".to_owned()),
        Ok(Ok(addresses)) => Ok(addresses),
        Ok(Err(error)) => Err(reason(&error)),
        Err(_) => Err(format!("no answer within {} s", PATIENCE.as_secs())),
    }
}

/// What the system says, without its number.
fn reason(error: &std::io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or_default().to_lowercase()
}

/// Whether requests go through a proxy.
fn proxied(
    checks: &mut Checks,
    url: &Url,
    protocol: Protocol,
    environment: &dyn Fn(&str) -> Option<String>,
) -> bool {
    let names = match url.scheme() {
        "https" => ["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"],
        _ => ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"],
    };
    let Some((name, proxy)) = names.iter().find_map(|name| Some((*name, environment(name)?)))
    else {
        return false;
    };
    let host = url.host_str().unwrap_or_default();
    let exceptions = ["no_proxy", "NO_PROXY"].iter().find_map(|name| environment(name));
    if is_excepted(host, exceptions.as_deref().unwrap_or_default()) {
        return false;
    }
    let shown = Url::parse(&proxy).ok().and_then(|proxy| proxy.host_str().map(str::to_owned));
    let shown = shown.unwrap_or_else(|| "a proxy".to_owned());
    let advice = format!("add {host} to NO_PROXY if it should be reached directly");
    if !asks_proxies(url, protocol) {
        checks.warning(
            "proxy",
            format!("{name} is set ({shown}): some SDKs send to {host} through it, kymo does not"),
            advice,
        );
        return false;
    }
    checks.warning("proxy", format!("{host} is reached through {shown} ({name})"), advice);
    true
}

/// Whether `NO_PROXY` names a host: itself, a domain that it is in, or all.
fn is_excepted(host: &str, exceptions: &str) -> bool {
    exceptions.split(',').map(str::trim).filter(|exception| !exception.is_empty()).any(
        |exception| {
            let domain = exception.trim_start_matches('*').trim_start_matches('.');
            exception == "*" || host == domain || host.ends_with(&format!(".{domain}"))
        },
    )
}

#[cfg(test)]
mod tests {
    use super::super::check::State;
    use super::*;

    fn settings(endpoint: &str) -> OtlpSettings {
        OtlpSettings::new(endpoint, Protocol::HttpProtobuf)
    }

    fn nothing(_: &str) -> Option<String> {
        None
    }

    #[test]
    fn a_port_that_nobody_listens_on_and_a_name_that_nobody_has_are_told() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let mut checks = Checks::default();
        assert!(reach(&mut checks, &settings(&format!("http://{address}")), &nothing));
        drop(listener);
        assert!(!reach(&mut checks, &settings(&format!("http://{address}")), &nothing));
        assert!(!reach(&mut checks, &settings("http://no-such-host.invalid:4318"), &nothing));
        let expected =
            [("connection", State::Ok), ("connection", State::Failed), ("name", State::Failed)];
        assert_eq!(checks.states(), expected);
        assert!(checks.text_of("connection").contains("kymo serve"));
    }

    #[test]
    fn a_proxy_in_the_way_is_told_and_exceptions_are_known() {
        let proxy =
            |name: &str| (name == "HTTP_PROXY").then(|| "http://p:x@proxy.test:1".to_owned());
        let mut checks = Checks::default();
        let url = Url::parse("http://collector.test:4318").unwrap();
        assert!(proxied(&mut checks, &url, Protocol::HttpProtobuf, &proxy));
        let text = checks.text_of("proxy");
        assert!(text.contains("proxy.test") && !text.contains("p:x"), "{text}");
        assert!(!proxied(&mut checks, &url, Protocol::Grpc, &proxy));
        let here = Url::parse("http://localhost:4318").unwrap();
        assert!(!proxied(&mut checks, &here, Protocol::HttpProtobuf, &proxy));
        for (exceptions, expected) in
            [("collector.test", true), (".test", true), ("a, *", true), ("ector.test", false)]
        {
            assert_eq!(is_excepted("collector.test", exceptions), expected, "{exceptions}");
        }
    }

    #[test]
    fn who_named_the_endpoint_is_told() {
        let mut checks = Checks::default();
        for signal in Signal::ALL {
            let variables = |name: &str| match name {
                "KYMO_OTLP_ENDPOINT" => Some("http://a.test:4317".to_owned()),
                "OTEL_LOGS_EXPORTER" => Some("none".to_owned()),
                _ => None,
            };
            let settings = ExportSettings::resolve(&Asked::default(), variables).unwrap();
            named(&mut checks, signal, settings.of(signal));
        }
        let expected = [("endpoint", State::Ok), ("endpoint", State::Warning)];
        assert_eq!(checks.states(), expected);
        let text = checks.text_of("endpoint");
        assert!(
            text.contains("KYMO_OTLP_ENDPOINT") && text.contains("OTEL_LOGS_EXPORTER"),
            "{text}"
        );
    }
}
