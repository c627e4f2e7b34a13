//! Which hosts a listener without a login answers to.
//!
//! A page whose name is made to point at this server (DNS rebinding) is of the server's own origin for
//! its browser, which then neither holds it back nor tells where it comes from. What gives it away is
//! the host that it asks for: a name that its owner has in the public DNS. So an address without a
//! login answers to names that strangers cannot have, and to those that are configured:
//!
//! | host | why |
//! |---|---|
//! | an address by number | a page of it was loaded from there |
//! | `localhost`, names below it | browsers take them for this machine |
//! | a name without a dot, such as `kymo` | containers and hosts of a network have such names, and nobody on the Internet |
//! | names below `.internal`, `.home.arpa`, `.svc`, `.svc.cluster.local` | kept for private networks, of Kubernetes too |
//! | the name of this machine | it is nobody else's |
//! | what is configured | `allowed_hosts`, `external_url`, and names that are listened at |
//!
//! A request without a host is no browser's.

use std::net::IpAddr;

use http::header::{HOST, HeaderMap, HeaderValue};
use http::uri::{Authority, Uri};
use thiserror::Error;

use crate::certs::default_server_names;
use crate::forwarded::texts;

/// Ends of names that nobody can have in the public DNS.
const PRIVATE_ENDS: [&str; 5] =
    [".localhost", ".internal", ".home.arpa", ".svc", ".svc.cluster.local"];

/// Hosts that are answered to where nobody has to log in.
#[derive(Debug, Clone, Default)]
pub struct AllowedHosts {
    /// Names, in lower case; those that begin with a dot stand for all below.
    names: Vec<String>,
    is_every: bool,
    is_configured: bool,
}

/// What is none.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "allowed_hosts: {text:?} is not a host; expected a name without a port, such as hub.example or *.hub.example, or * for every host"
)]
pub struct WrongHost {
    text: String,
}

/// Why a request is refused. The answer's status is 403.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "there is no login here, so that only names that are known are answered to, and {host} is none: a web page could have made it point here. Ask for the address by number, add the name to allowed_hosts, or set auth"
)]
pub struct HostRefusal {
    host: String,
}

impl AllowedHosts {
    /// Those of the setting `allowed_hosts`, and the name of this machine.
    pub fn new(configured: &[String]) -> Result<Self, WrongHost> {
        let mut hosts = Self { names: default_server_names(), ..Self::default() };
        for text in configured {
            hosts.is_configured = true;
            match text.trim() {
                "*" => hosts.is_every = true,
                name => {
                    let plain = name.strip_prefix("*.").unwrap_or(name);
                    if texts::host(plain).is_none_or(|host| name_of(&host) != host) {
                        return Err(WrongHost { text: text.clone() });
                    }
                    let kept = name.strip_prefix('*').unwrap_or(name);
                    hosts.names.push(kept.to_ascii_lowercase());
                }
            }
        }
        Ok(hosts)
    }

    /// With the host of a URL or of an address to listen at, if that has one.
    #[must_use]
    pub fn with(mut self, url_or_address: &str) -> Self {
        let rest = url_or_address.split_once("://").map_or(url_or_address, |(_, rest)| rest);
        let host = rest.split(['/', '?', '#']).next().and_then(texts::host);
        self.names.extend(host.map(|host| name_of(&host).to_owned()));
        self
    }

    /// Whether hosts were named, so that they are to hold for proxies too: one that is trusted may
    /// pass on whatever name it was asked by.
    pub fn is_configured(&self) -> bool {
        self.is_configured
    }

    /// Why a request is not to be answered, if it is not.
    pub fn refused(&self, uri: &Uri, headers: &HeaderMap) -> Option<HostRefusal> {
        if self.is_every {
            return None;
        }
        let of_address = uri.authority().map(Authority::as_str).map(str::as_bytes);
        let of_headers = headers.get_all(HOST).iter().map(HeaderValue::as_bytes);
        // What is no host is no less a stranger's: browsers send names that others do not take.
        let is_known = |host: &[u8]| {
            let host = std::str::from_utf8(host).ok().and_then(texts::host);
            host.is_some_and(|host| self.knows(name_of(&host)))
        };
        let asked = of_address.into_iter().chain(of_headers).filter(|host| !host.is_empty());
        let mut strange = asked.filter(|host| !is_known(host));
        strange.next().map(|host| HostRefusal { host: shown(host) })
    }

    fn knows(&self, name: &str) -> bool {
        let name = name.strip_suffix('.').unwrap_or(name);
        let bare = name.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(name);
        let is_number = || bare.parse::<IpAddr>().is_ok();
        let is_private = || PRIVATE_ENDS.iter().any(|end| name.ends_with(end));
        let is_named = || {
            self.names.iter().any(|known| match known.starts_with('.') {
                true => name.ends_with(known.as_str()),
                false => name == known,
            })
        };
        !name.contains('.') || is_number() || is_private() || is_named()
    }
}

/// A host without its port.
fn name_of(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if !port.contains(']') => name,
        _ => host,
    }
}

/// A host in a message.
fn shown(host: &[u8]) -> String {
    let text = String::from_utf8_lossy(host);
    text.chars().filter(char::is_ascii_graphic).take(100).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hosts(configured: &[&str]) -> AllowedHosts {
        let configured: Vec<String> = configured.iter().map(|&name| name.to_owned()).collect();
        AllowedHosts::new(&configured).unwrap()
    }

    fn is_allowed(hosts: &AllowedHosts, host: &str) -> bool {
        let mut headers = HeaderMap::new();
        headers.insert(HOST, host.parse().unwrap());
        hosts.refused(&Uri::from_static("/api/sql"), &headers).is_none()
    }

    #[test]
    fn names_that_strangers_cannot_have_are_answered_to() {
        for host in [
            "localhost:3200",
            "LOCALHOST",
            "localhost.",
            "kymo.localhost",
            "127.0.0.1:3200",
            "10.1.2.3",
            "[::1]:3200",
            "[fd00::1]",
            "kymo",
            "kymo:4318",
            "kymo.monitoring.svc",
            "kymo.monitoring.svc.cluster.local:3200",
            "hub.internal",
        ] {
            assert!(is_allowed(&hosts(&[]), host), "{host}");
        }
        let nothing = hosts(&[]).refused(&Uri::from_static("/"), &HeaderMap::new());
        assert_eq!(nothing, None, "a request without a host is no browser's");
    }

    #[test]
    fn names_that_can_be_made_to_point_here_are_not() {
        for host in [
            "evil.example",
            "evil.example:3200",
            "evil.example.",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "svc.evil.example",
            "1.2.3.4.5",
            // Not a host for us, and one for browsers.
            "a!b.evil.example",
            "a'b.evil.example:3200",
            "evil.example@localhost",
            "evil_x.example:",
        ] {
            assert!(!is_allowed(&hosts(&[]), host), "{host}");
        }
        let message = hosts(&[])
            .refused(&Uri::from_static("http://evil.example/"), &HeaderMap::new())
            .unwrap()
            .to_string();
        for part in ["evil.example", "allowed_hosts", "auth"] {
            assert!(message.contains(part), "{message}");
        }
    }

    #[test]
    fn one_strange_host_of_several_is_enough() {
        let mut headers = HeaderMap::new();
        headers.append(HOST, "localhost".parse().unwrap());
        headers.append(HOST, "evil.example".parse().unwrap());
        assert!(hosts(&[]).refused(&Uri::from_static("/"), &headers).is_some());
        let uri = Uri::from_static("http://localhost/");
        assert!(hosts(&[]).refused(&uri, &headers).is_some());
    }

    #[test]
    fn names_that_are_configured_are_answered_to() {
        let some = hosts(&["Hub.example", "*.hub.example"]);
        for host in ["hub.example", "hub.example:8443", "a.hub.example", "a.b.hub.example"] {
            assert!(is_allowed(&some, host), "{host}");
        }
        for host in ["xhub.example", "hub.example.evil.example", "example"] {
            assert_eq!(is_allowed(&some, host), host == "example", "{host}");
        }
        assert!(is_allowed(&hosts(&["*"]), "evil.example"));
        assert!(some.is_configured() && !hosts(&[]).is_configured());
        let known = hosts(&[]).with("https://hub.example:8443/kymo").with("node.example:3200");
        assert!(is_allowed(&known, "hub.example") && is_allowed(&known, "node.example"));
        assert!(!is_allowed(&known, "evil.example") && !known.is_configured());
    }

    #[test]
    fn what_is_no_host_is_told_with_an_example() {
        for wrong in ["", "hub.example:80", "https://hub.example", "a/b", "*.", "a b", "x.*"] {
            let error = AllowedHosts::new(&[wrong.to_owned()]).unwrap_err().to_string();
            assert!(error.contains("hub.example"), "{error}");
        }
    }
}
