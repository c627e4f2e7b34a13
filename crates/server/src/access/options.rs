//! What is configured of who may connect and ask, and what that means for each listener.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use kymo_edge::forwarded::Network;
use kymo_edge::headers::HeaderSettings;
use kymo_edge::tls::{ClientCertificates, MinVersion, ServerTls, TlsSettings};
use kymo_edge::{AllowedHosts, SecurityHeaders};
use kymo_identity::{
    CertificateSettings, IdentitySettings, Method, Methods, OidcSettings, UserSettings,
};
use serde::Deserialize;

/// Names of listeners, as the configuration has them.
pub const LISTENERS: [&str; 5] = ["http", "otlp_grpc", "otlp_http", "expose_metrics", "postgres"];

/// Who may connect and ask.
#[derive(Debug, Clone, Default)]
pub struct AccessOptions {
    /// Certificates of all listeners.
    pub tls: TlsOptions,
    /// How all listeners want to know who asks; nobody is asked if there is nothing.
    pub auth: Vec<String>,
    /// What differs for a listener, by its name.
    pub listeners: BTreeMap<String, ListenerOptions>,
    /// Whether addresses that others can reach may be without TLS or login.
    pub insecure_listen: bool,
    /// Proxies whose words about their clients are believed.
    pub trusted_proxies: Vec<String>,
    /// Names that are answered to where nobody has to log in, beside those that are known.
    pub allowed_hosts: Vec<String>,
    /// Who has a password.
    pub users: Vec<UserSettings>,
    /// What certificates of clients are good for.
    pub client_certificates: Vec<CertificateSettings>,
    /// Who else says who somebody is.
    pub oidc: Option<OidcSettings>,
    /// What browsers are told to be careful about.
    pub security_headers: HeaderSettings,
}

/// What differs for one listener.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ListenerOptions {
    /// Its certificates, instead of those of all.
    #[serde(default)]
    pub tls: Option<TlsSettings>,
    /// How it wants to know who asks, instead of how all do.
    #[serde(default)]
    pub auth: Option<Methods>,
}

/// Certificates, each setting by itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TlsOptions {
    /// The server's certificate; there is no TLS without.
    pub certificate: Option<PathBuf>,
    /// Its key.
    pub key: Option<PathBuf>,
    /// Authorities of clients.
    pub client_ca: Option<PathBuf>,
    /// Whether clients show certificates: `none`, `optional`, `required`.
    pub client_certificates: Option<String>,
    /// Lists of revoked certificates.
    pub revoked: Vec<String>,
    /// `1.2` or `1.3`.
    pub min_version: Option<String>,
}

impl TlsOptions {
    /// The settings together; nothing if there is no TLS.
    fn settings(&self) -> Result<Option<TlsSettings>, String> {
        let (certificate, key) = match (&self.certificate, &self.key) {
            (Some(certificate), Some(key)) => (certificate, key),
            (None, None) if *self == Self::default() => return Ok(None),
            (Some(_), None) => return Err("tls.certificate needs tls.key, its key".to_owned()),
            _ => return Err("tls needs tls.certificate and tls.key".to_owned()),
        };
        let mut settings = TlsSettings::new(certificate, key);
        settings.client_ca = self.client_ca.clone();
        settings.client_certificates = match self.client_certificates.as_deref() {
            None => None,
            Some("none") => Some(ClientCertificates::None),
            Some("optional") => Some(ClientCertificates::Optional),
            Some(_) => Some(ClientCertificates::Required),
        };
        settings.revoked = self.revoked.iter().map(PathBuf::from).collect();
        settings.min_version = match self.min_version.as_deref() {
            Some("1.3") => MinVersion::Tls13,
            _ => MinVersion::Tls12,
        };
        Ok(Some(settings))
    }
}

/// How a listener lets in.
#[derive(Debug, Clone)]
pub(crate) struct Door {
    pub(crate) tls: Option<Arc<ServerTls>>,
    pub(crate) methods: Methods,
}

impl AccessOptions {
    /// Who there is to be known.
    pub fn identity(&self) -> Result<IdentitySettings, String> {
        Ok(IdentitySettings {
            auth: methods(&self.auth)?,
            users: self.users.clone(),
            client_certificates: self.client_certificates.clone(),
            oidc: self.oidc.clone(),
        })
    }

    /// Everything that is wrong, without a look at files. `addresses` are those of listeners, by
    /// name.
    #[must_use]
    pub fn check(&self, addresses: &[(&str, &str)]) -> Vec<String> {
        let mut wrong = Vec::new();
        let identity = match self.identity() {
            Ok(identity) => identity,
            Err(why) => return vec![why],
        };
        wrong.extend(identity.check().iter().map(ToString::to_string));
        for (name, listener) in &self.listeners {
            if !LISTENERS.contains(&name.as_str()) {
                wrong.push(format!("listeners.{name} is not one of {}", LISTENERS.join(", ")));
            }
            let key = format!("listeners.{name}.auth");
            let methods = listener.auth.iter();
            let checked = methods.flat_map(|methods| identity.check_methods(&key, methods));
            wrong.extend(checked.map(|wrong| wrong.to_string()));
        }
        wrong.extend(self.check_used(&identity, addresses));
        for (name, address) in addresses {
            match self.lacks(name) {
                Ok(lacks) if lacks.is_empty() || self.insecure_listen || is_local(address) => {}
                Ok(lacks) => wrong.push(format!(
                    "{name} listens at {address}, where others can reach it, without {}: add it, \
                     listen on 127.0.0.1, or allow it with --insecure-listen",
                    lacks.join(" and ")
                )),
                Err(why) => wrong.push(why),
            }
        }
        for network in &self.trusted_proxies {
            if let Err(why) = network.parse::<Network>() {
                wrong.push(format!("trusted_proxies: {why}"));
            }
        }
        if let Err(why) = SecurityHeaders::new(&self.security_headers) {
            wrong.push(why.to_string());
        }
        if let Err(why) = AllowedHosts::new(&self.allowed_hosts) {
            wrong.push(why.to_string());
        }
        wrong.dedup();
        wrong
    }

    /// Ways to log in that are set and nobody could use.
    fn check_used(&self, identity: &IdentitySettings, addresses: &[(&str, &str)]) -> Vec<String> {
        let (mut accepted, mut wrong) = (Vec::new(), Vec::new());
        let mut can_show = false;
        for (name, _) in addresses {
            // What cannot be read is told where it is.
            let (Ok(methods), Ok(tls)) = (self.methods_of(name), self.tls_of(name)) else {
                return wrong;
            };
            let asks = tls.is_some_and(|tls| tls.client_certificates() != ClientCertificates::None);
            let by_certificate = methods.contains(&Method::ClientCertificate);
            if by_certificate && methods.len() == 1 && !asks {
                wrong.push(format!(
                    "{name} lets in by client-certificate alone and asks for none: set \
                     tls.client_ca, or accept another way in auth"
                ));
            }
            can_show |= by_certificate && asks;
            accepted.extend(methods.iter().copied());
        }
        if addresses.is_empty() {
            return wrong;
        }
        let is_idle = accepted.contains(&Method::ClientCertificate) && !can_show;
        if is_idle && wrong.is_empty() {
            wrong.push(
                "client_certificates: no address that accepts client-certificate asks for one, so \
                 this does nothing: set tls.client_ca, or take client-certificate out of auth"
                    .to_owned(),
            );
        }
        wrong.extend(identity.check_used(&accepted).iter().map(ToString::to_string));
        wrong
    }

    /// What others can reach an address without.
    pub(crate) fn lacks(&self, name: &str) -> Result<Vec<&'static str>, String> {
        let tls = self.tls_of(name)?;
        let shows_certificate = tls
            .as_ref()
            .is_some_and(|tls| tls.client_certificates() == ClientCertificates::Required);
        let mut lacks = Vec::new();
        if tls.is_none() {
            lacks.push("TLS (tls.certificate)");
        }
        if self.methods_of(name)?.is_open() && !shows_certificate {
            lacks.push("a login (auth)");
        }
        Ok(lacks)
    }

    /// Whether a listener speaks TLS.
    #[must_use]
    pub fn is_secure(&self, name: &str) -> bool {
        self.tls_of(name).is_ok_and(|tls| tls.is_some())
    }

    fn tls_of(&self, name: &str) -> Result<Option<TlsSettings>, String> {
        match self.listeners.get(name).and_then(|listener| listener.tls.clone()) {
            Some(own) => Ok(Some(own)),
            None => self.tls.settings(),
        }
    }

    fn methods_of(&self, name: &str) -> Result<Methods, String> {
        match self.listeners.get(name).and_then(|listener| listener.auth.clone()) {
            Some(own) => Ok(own),
            None => methods(&self.auth),
        }
    }

    /// How listeners let in: certificates are read, those of all once.
    pub(crate) fn doors(&self) -> Result<Doors, String> {
        let load =
            |settings: TlsSettings| ServerTls::load(settings).map_err(|error| error.to_string());
        let of_all = self.tls.settings()?.map(load).transpose()?;
        let mut doors = BTreeMap::new();
        for name in LISTENERS {
            let own = self.listeners.get(name).and_then(|listener| listener.tls.clone());
            let tls = match own.map(load).transpose()? {
                Some(own) => Some(own),
                None => of_all.clone(),
            };
            doors.insert(name, Door { tls, methods: self.methods_of(name)? });
        }
        Ok(Doors(doors))
    }
}

/// How each listener lets in.
pub(crate) struct Doors(BTreeMap<&'static str, Door>);

impl Doors {
    /// That of a listener.
    pub(crate) fn of(&self, name: &str) -> Door {
        let open = || Door { tls: None, methods: Methods::default() };
        self.0.get(name).cloned().unwrap_or_else(open)
    }

    /// All certificates, each once.
    pub(crate) fn certificates(&self) -> Vec<Arc<ServerTls>> {
        let mut all: Vec<Arc<ServerTls>> = Vec::new();
        for tls in self.0.values().filter_map(|door| door.tls.as_ref()) {
            if !all.iter().any(|known| Arc::ptr_eq(known, tls)) {
                all.push(tls.clone());
            }
        }
        all
    }
}

fn methods(words: &[String]) -> Result<Methods, String> {
    const ALL: [Method; 4] =
        [Method::Basic, Method::Bearer, Method::ClientCertificate, Method::Oidc];
    if words.len() > 1 && words.iter().any(|word| word == "open") {
        return Err("auth: open stands alone: with it nobody is asked".to_owned());
    }
    let methods: Result<Vec<Method>, String> = words
        .iter()
        .filter(|word| *word != "open")
        .map(|word| {
            let method = ALL.into_iter().find(|method| method.word() == word);
            method.ok_or_else(|| {
                let meant = kymo_yaml::nearest(word, ALL.map(Method::word));
                let meant = meant.map(|meant| format!("; did you mean {meant}?"));
                let expected = ALL.map(Method::word).join(", ");
                format!("auth: {word:?} is none of {expected}{}", meant.unwrap_or_default())
            })
        })
        .collect();
    Ok(Methods::new(methods?))
}

/// Whether only this machine reaches an address.
pub(crate) fn is_local(address: &str) -> bool {
    let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
    let by_number = address.parse::<SocketAddr>().map(|address| address.ip().is_loopback());
    by_number.unwrap_or(host == "localhost" || host.ends_with(".localhost"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_that_others_reach_needs_tls_and_login() {
        let all = [("http", "0.0.0.0:3200"), ("otlp_grpc", "127.0.0.1:4317")];
        let mut options = AccessOptions::default();
        let wrong = options.check(&all);
        assert_eq!(wrong.len(), 1, "{wrong:?}");
        assert!(wrong[0].contains("--insecure-listen") && wrong[0].contains("TLS"), "{wrong:?}");
        options.insecure_listen = true;
        assert!(options.check(&all).is_empty());
        options.insecure_listen = false;
        options.auth = vec!["bearer".to_owned()];
        assert!(options.check(&all)[0].contains("without TLS (tls.certificate):"));
        options.tls.certificate = Some("a.pem".into());
        assert!(options.check(&all)[0].contains("needs tls.key"));
        options.tls.key = Some("a.key".into());
        assert!(options.check(&all).is_empty());
        options.auth.clear();
        options.tls.client_ca = Some("ca.pem".into());
        assert!(options.check(&all).is_empty(), "a certificate of the client is a login");
    }

    #[test]
    fn ways_to_log_in_that_nobody_could_use_are_told() {
        let all = [("http", "127.0.0.1:3200"), ("otlp_grpc", "127.0.0.1:4317")];
        let mut options = AccessOptions::default();
        let settings: IdentitySettings = kymo_yaml::from_str(
            "users: [{name: ada, password: x, roles: [read]}]\n\
             client_certificates: [{subject: CN=a, roles: [write]}]",
        )
        .unwrap();
        options.users = settings.users;
        let wrong = options.check(&all);
        assert!(wrong.len() == 1 && wrong[0].starts_with("users: no address asks"), "{wrong:?}");
        options.auth = vec!["bearer".to_owned()];
        assert_eq!(options.check(&all).len(), 1, "tokens are no passwords");
        let basic = Some(Methods::new([Method::Basic]));
        let own = ListenerOptions { auth: basic, ..ListenerOptions::default() };
        options.listeners.insert("expose_metrics".to_owned(), own.clone());
        assert_eq!(options.check(&all).len(), 1, "that one does not listen");
        options.listeners.insert("otlp_grpc".to_owned(), own);
        assert_eq!(options.check(&all), Vec::<String>::new());
        options.client_certificates = settings.client_certificates;
        assert!(options.check(&all)[0].starts_with("client_certificates: no address asks"));
        options.auth = vec!["basic".to_owned(), "client-certificate".to_owned()];
        assert!(options.check(&all)[0].contains("set tls.client_ca"), "{:?}", options.check(&all));
        options.auth = vec!["client-certificate".to_owned()];
        assert!(options.check(&all)[0].starts_with("http lets in by client-certificate alone"));
        options.tls.certificate = Some("a.pem".into());
        options.tls.key = Some("a.key".into());
        options.tls.client_ca = Some("ca.pem".into());
        assert_eq!(options.check(&all), Vec::<String>::new());
    }

    #[test]
    fn what_is_no_listener_or_way_is_told() {
        let mut options = AccessOptions::default();
        options.listeners.insert("htp".to_owned(), ListenerOptions::default());
        assert!(options.check(&[])[0].contains("listeners.htp is not one of http"));
        options.auth = vec!["baisc".to_owned()];
        assert!(options.check(&[])[0].starts_with("auth: "));
        options.auth = vec!["open".to_owned(), "basic".to_owned()];
        assert!(options.check(&[])[0].contains("alone"));
    }

    #[test]
    fn addresses_of_this_machine_are_known() {
        for address in ["127.0.0.1:1", "[::1]:0", "localhost:3200", "127.3.0.1:80"] {
            assert!(is_local(address), "{address}");
        }
        for address in ["0.0.0.0:1", "[::]:1", "example.org:80", "10.0.0.1:5"] {
            assert!(!is_local(address), "{address}");
        }
    }
}
