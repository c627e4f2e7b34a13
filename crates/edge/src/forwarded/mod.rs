//! Who asks, and by which address: what proxies say, if they are trusted.
//!
//! Every client can send `X-Forwarded-For` and its like. They are looked at only if the connection
//! comes from a trusted proxy. Then `X-Forwarded-For` is walked from its end, where the nearest proxy
//! has written, towards its beginning, where anyone can have: the first address that is no trusted
//! proxy is the client. What is malformed ends the walk; nothing is refused because of it.
//!
//! | header | says |
//! |---|---|
//! | `X-Forwarded-For` | the client and the proxies on the way |
//! | `X-Forwarded-Proto` | `http` or `https` |
//! | `X-Forwarded-Host`, `X-Forwarded-Port` | the address that the client asked |
//! | `X-Forwarded-Prefix` | a prefix of the path that a proxy has stripped |
//! | `Forwarded` | the first three in one; looked at only if none of `X-Forwarded-For`, `-Proto`, `-Host` is there |
//!
//! Most proxies write the first and pass `Forwarded` on as it came. That is why it comes second: a
//! client must not be able to overrule its proxy.

mod networks;
pub(crate) mod texts;

use std::net::IpAddr;

use http::{HeaderMap, Uri, header};

use crate::limits::MAX_HOPS;

pub use self::networks::{Network, TrustedProxies, WrongNetwork};

/// Where a request comes from, as far as that can be known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientOrigin {
    /// The client's address.
    pub address: IpAddr,
    /// How the client speaks to its nearest proxy, or to this server.
    pub scheme: Scheme,
    /// The host that the client asked, with a port if it is not the scheme's own.
    pub host: Option<String>,
    /// The prefix that proxies have stripped: empty, or `/…` without a slash at its end.
    pub prefix: String,
}

/// The scheme of an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheme {
    /// Without TLS.
    Http,
    /// With TLS.
    Https,
}

impl Scheme {
    /// As it stands in an address.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
        }
    }

    /// The port that need not be said.
    fn default_port(self) -> &'static str {
        match self {
            Self::Http => "80",
            Self::Https => "443",
        }
    }

    fn from_text(text: &str) -> Option<Self> {
        match text.trim().to_ascii_lowercase().as_str() {
            "http" | "ws" => Some(Self::Http),
            "https" | "wss" => Some(Self::Https),
            _ => None,
        }
    }
}

impl ClientOrigin {
    /// Of a request: who is connected, whether by TLS, and what the request says.
    pub fn of(
        peer: IpAddr,
        is_tls: bool,
        uri: &Uri,
        headers: &HeaderMap,
        trusted: &TrustedProxies,
    ) -> Self {
        let scheme = if is_tls { Scheme::Https } else { Scheme::Http };
        let asked = match uri.authority() {
            Some(authority) => texts::host(authority.as_str()),
            None => headers.get(header::HOST).and_then(|host| texts::host(host.to_str().ok()?)),
        };
        let direct =
            Self { address: peer.to_canonical(), scheme, host: asked, prefix: String::new() };
        if !trusted.contains(peer) {
            return direct.with_plain_port();
        }
        let prefix = only(headers, "x-forwarded-prefix").and_then(|text| texts::prefix(&text));
        let of_family = ["x-forwarded-for", "x-forwarded-proto", "x-forwarded-host"];
        let origin = if of_family.iter().any(|name| headers.contains_key(*name)) {
            direct.with_family(headers, trusted)
        } else {
            direct.with_standard(headers, trusted)
        };
        Self { prefix: prefix.unwrap_or_default(), ..origin }.with_plain_port()
    }

    /// The beginning of absolute links: scheme, host and prefix, without a slash at the end. Without
    /// a host it is the prefix alone.
    pub fn external_url(&self, base_path: &str) -> String {
        let path = crate::paths::outer_prefix(&self.prefix, base_path);
        match &self.host {
            Some(host) => format!("{}://{host}{path}", self.scheme.as_str()),
            None => path,
        }
    }

    /// With what the headers `X-Forwarded-…` say.
    fn with_family(self, headers: &HeaderMap, trusted: &TrustedProxies) -> Self {
        let hops = values(headers, "x-forwarded-for");
        let walk = walk(self.address, hops.iter().map(|hop| texts::node(hop)), trusted);
        // A proxy that adds to one list may add to the others: then they are of one length, and the
        // client's entry is at the same place. Else the nearest proxy has said it for all.
        let of_client = |name: &str| {
            let entries = values(headers, name);
            let at_client = walk.steps.filter(|_| entries.len() == hops.len());
            let from_end = at_client.map_or(0, |steps| steps - 1);
            entries.into_iter().rev().nth(from_end)
        };
        let scheme = of_client("x-forwarded-proto").and_then(|text| Scheme::from_text(&text));
        let host = of_client("x-forwarded-host").and_then(|text| texts::host(&text));
        let port = of_client("x-forwarded-port").filter(|port| port.parse::<u16>().is_ok());
        let host = match (host, port) {
            (Some(host), Some(port)) if !has_port(&host) => Some(format!("{host}:{port}")),
            (host, _) => host,
        };
        Self {
            address: walk.address,
            scheme: scheme.unwrap_or(self.scheme),
            host: host.or(self.host),
            prefix: self.prefix,
        }
    }

    /// With what the header `Forwarded` says.
    fn with_standard(self, headers: &HeaderMap, trusted: &TrustedProxies) -> Self {
        let lines = headers.get_all(header::FORWARDED);
        let read = lines.iter().map(|line| texts::elements(line.to_str().ok()?));
        let Some(lines) = read.collect::<Option<Vec<_>>>() else { return self };
        let elements: Vec<_> = lines.into_iter().flatten().collect();
        let nodes = elements.iter().map(|element| texts::node(element.client.as_deref()?));
        let walk = walk(self.address, nodes, trusted);
        let of_client = elements.iter().rev().nth(walk.steps.map_or(0, |steps| steps - 1));
        let Some(of_client) = of_client else { return self };
        let scheme = of_client.scheme.as_deref().and_then(Scheme::from_text);
        let host = of_client.host.as_deref().and_then(texts::host);
        Self {
            address: walk.address,
            scheme: scheme.unwrap_or(self.scheme),
            host: host.or(self.host),
            prefix: self.prefix,
        }
    }

    /// Without a port that need not be said.
    fn with_plain_port(mut self) -> Self {
        let port = self.scheme.default_port();
        if let Some(host) = &mut self.host
            && let Some(name) = host.strip_suffix(port).and_then(|rest| rest.strip_suffix(':'))
        {
            host.truncate(name.len());
        }
        self
    }
}

/// Where a walk through proxies has ended.
struct Walk {
    address: IpAddr,
    /// How many entries were passed from the end, the client's included.
    steps: Option<usize>,
}

/// Walks from the end over what proxies have written, for as long as they are trusted.
fn walk(
    peer: IpAddr,
    hops: impl DoubleEndedIterator<Item = Option<IpAddr>>,
    trusted: &TrustedProxies,
) -> Walk {
    let mut walk = Walk { address: peer, steps: None };
    for (passed, hop) in hops.rev().take(MAX_HOPS).enumerate() {
        // What is no address is where this ends: what stands before it is nobody's word.
        let Some(address) = hop else { break };
        walk = Walk { address, steps: Some(passed + 1) };
        if !trusted.contains(address) {
            break;
        }
    }
    walk
}

/// The entries of a header that is a list, over all its lines.
fn values(headers: &HeaderMap, name: &str) -> Vec<String> {
    let lines = headers.get_all(name).iter().filter_map(|line| line.to_str().ok());
    lines.flat_map(|line| line.split(',')).map(|entry| entry.trim().to_owned()).collect()
}

/// The value of a header that is there once.
fn only(headers: &HeaderMap, name: &str) -> Option<String> {
    let mut lines = headers.get_all(name).iter();
    let (line, None) = (lines.next()?, lines.next()) else { return None };
    Some(line.to_str().ok()?.to_owned())
}

fn has_port(host: &str) -> bool {
    host.rsplit_once(':').is_some_and(|(_, port)| !port.contains(']'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(lines: &[(&'static str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert("host", "inner:3200".parse().unwrap());
        for (name, value) in lines {
            headers.append(*name, value.parse().unwrap());
        }
        headers
    }

    /// From a proxy at 10.0.0.1; 10.0.0.0/8 is trusted.
    fn origin(lines: &[(&'static str, &str)]) -> ClientOrigin {
        from("10.0.0.1", lines)
    }

    fn from(peer: &str, lines: &[(&'static str, &str)]) -> ClientOrigin {
        let trusted = TrustedProxies::new(["10.0.0.0/8".parse().unwrap()]);
        let uri = Uri::from_static("/x");
        ClientOrigin::of(peer.parse().unwrap(), false, &uri, &headers(lines), &trusted)
    }

    fn address(lines: &[(&'static str, &str)]) -> String {
        origin(lines).address.to_string()
    }

    const ALL: [(&str, &str); 5] = [
        ("x-forwarded-for", "203.0.113.9"),
        ("x-forwarded-proto", "https"),
        ("x-forwarded-host", "hub.example"),
        ("x-forwarded-port", "8443"),
        ("x-forwarded-prefix", "/kymo"),
    ];

    #[test]
    fn a_trusted_proxy_is_believed() {
        let origin = origin(&ALL);
        assert_eq!(origin.address.to_string(), "203.0.113.9");
        assert_eq!(origin.external_url(""), "https://hub.example:8443/kymo");
    }

    #[test]
    fn nobody_else_is_believed() {
        let mut all = ALL.to_vec();
        all.push(("forwarded", "for=203.0.113.9;proto=https;host=hub.example"));
        let origin = from("192.0.2.1", &all);
        assert_eq!(origin.address.to_string(), "192.0.2.1");
        assert_eq!(origin.external_url("/base"), "http://inner:3200/base");
        let nobody = TrustedProxies::default();
        let uri = Uri::from_static("/");
        let peer = "127.0.0.1".parse().unwrap();
        let origin = ClientOrigin::of(peer, true, &uri, &headers(&ALL), &nobody);
        assert_eq!(origin.external_url(""), "https://inner:3200");
    }

    #[test]
    fn the_client_is_the_last_address_that_is_no_trusted_proxy() {
        let name = "x-forwarded-for";
        // The client has written the first one itself.
        assert_eq!(address(&[(name, "6.6.6.6, 203.0.113.9, 10.0.0.2")]), "203.0.113.9");
        assert_eq!(address(&[(name, "6.6.6.6"), (name, "203.0.113.9, 10.0.0.2")]), "203.0.113.9");
        assert_eq!(address(&[(name, "10.0.0.3, 10.0.0.2")]), "10.0.0.3");
        assert_eq!(address(&[(name, "[2001:db8::1]:4711")]), "2001:db8::1");
        assert_eq!(address(&[]), "10.0.0.1");
    }

    #[test]
    fn what_is_malformed_ends_the_walk() {
        let name = "x-forwarded-for";
        assert_eq!(address(&[(name, "203.0.113.9, unknown, 10.0.0.2")]), "10.0.0.2");
        assert_eq!(address(&[(name, "unknown")]), "10.0.0.1");
        assert_eq!(address(&[(name, "")]), "10.0.0.1");
        let long = "10.0.0.2,".repeat(10_000) + "10.0.0.2";
        assert_eq!(address(&[(name, "203.0.113.9"), (name, &long)]), "10.0.0.2");
    }

    #[test]
    fn malformed_schemes_hosts_ports_and_prefixes_are_ignored() {
        let origin = origin(&[
            ("x-forwarded-proto", "javascript"),
            ("x-forwarded-host", "evil.example/path"),
            ("x-forwarded-port", "x"),
            ("x-forwarded-prefix", "//evil.example"),
        ]);
        assert_eq!(origin.external_url(""), "http://inner:3200");
        let twice = self::origin(&[("x-forwarded-prefix", "/a"), ("x-forwarded-prefix", "/b")]);
        assert_eq!(twice.prefix, "");
    }

    #[test]
    fn lists_of_one_length_belong_together() {
        let hops = ("x-forwarded-for", "203.0.113.9, 10.0.0.2");
        let both = origin(&[hops, ("x-forwarded-proto", "https, http")]);
        assert_eq!(both.scheme, Scheme::Https);
        let one = origin(&[hops, ("x-forwarded-proto", "https")]);
        assert_eq!(one.scheme, Scheme::Https);
        // The client wrote the first ones itself, and its proxy added the truth.
        let spoofed = origin(&[
            ("x-forwarded-for", "6.6.6.6, 203.0.113.9"),
            ("x-forwarded-proto", "https, http"),
            ("x-forwarded-host", "evil.example, hub.example"),
        ]);
        assert_eq!(spoofed.external_url(""), "http://hub.example");
    }

    #[test]
    fn the_standard_header_is_believed_if_there_is_no_other() {
        let line = "for=6.6.6.6;host=evil.example, for=\"203.0.113.9:4711\";proto=https;host=hub.example, for=10.0.0.2";
        let standard = origin(&[("forwarded", line)]);
        assert_eq!(standard.address.to_string(), "203.0.113.9");
        assert_eq!(standard.external_url(""), "https://hub.example");
        let both = origin(&[("forwarded", line), ("x-forwarded-for", "203.0.113.7")]);
        assert_eq!(both.address.to_string(), "203.0.113.7");
        assert_eq!(both.host.as_deref(), Some("inner:3200"));
        let malformed = origin(&[("forwarded", "for=203.0.113.9;proto=\"https")]);
        assert_eq!(
            (malformed.address.to_string().as_str(), malformed.scheme),
            ("10.0.0.1", Scheme::Http)
        );
    }

    #[test]
    fn whatever_proxies_say_the_address_of_links_is_well_formed() {
        let pieces = [
            "for=",
            "host=",
            "proto=",
            "https",
            "http",
            "\"",
            "\\",
            ";",
            ",",
            " ",
            "[::1]",
            "10.0.0.2",
            "203.0.113.9",
            ":",
            "80",
            "443",
            "/",
            "//",
            "a.example",
            "@",
            "unknown",
            "=",
            "%",
            "..",
        ];
        let names = [
            "x-forwarded-for",
            "x-forwarded-proto",
            "x-forwarded-host",
            "x-forwarded-port",
            "x-forwarded-prefix",
            "forwarded",
        ];
        let mut state = 7u64;
        let mut next = |below: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) as usize % below
        };
        let mut changed = 0;
        for _ in 0..20_000 {
            let mut lines = Vec::new();
            for _ in 0..next(5) {
                let length = next(6);
                let value: String = (0..length).map(|_| pieces[next(pieces.len())]).collect();
                lines.push((names[next(names.len())], value));
            }
            let lines: Vec<_> = lines.iter().map(|(name, value)| (*name, value.as_str())).collect();
            let url = origin(&lines).external_url("/base");
            changed += usize::from(url != "http://inner:3200/base");
            let uri: Uri = url.parse().unwrap();
            assert!(uri.authority().is_some() && uri.path().ends_with("/base"), "{lines:?}: {url}");
            assert!(!uri.path().starts_with("//") && !url.contains('@'), "{lines:?}: {url}");
        }
        assert!(changed > 500, "{changed}");
    }

    #[test]
    fn a_port_that_goes_without_saying_is_not_said() {
        let plain = |proto, host| {
            origin(&[("x-forwarded-proto", proto), ("x-forwarded-host", host)]).external_url("")
        };
        assert_eq!(plain("https", "hub.example:443"), "https://hub.example");
        assert_eq!(plain("http", "hub.example:443"), "http://hub.example:443");
        assert_eq!(plain("http", "[::1]:80"), "http://[::1]");
        assert_eq!(plain("https", "hub.example:8443"), "https://hub.example:8443");
    }

    #[test]
    fn the_host_of_http_2_is_in_the_address() {
        let uri = Uri::from_static("https://hub.example/x");
        let nobody = TrustedProxies::default();
        let peer = "192.0.2.1".parse().unwrap();
        let origin = ClientOrigin::of(peer, true, &uri, &HeaderMap::new(), &nobody);
        assert_eq!(origin.external_url(""), "https://hub.example");
    }
}
