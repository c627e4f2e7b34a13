//! How to ask over HTTP: who we are, whom we trust.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use serde_saphyr::Location;

use super::error::ConfigError;
use super::raw;

/// A text that is shown nowhere.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// The text.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("<secret>")
    }
}

/// A secret, or the file that holds it. Files are read for each request, so that they can change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SecretSource {
    /// It is in the configuration.
    Inline(Secret),
    /// It is in this file, without the line's end.
    File(PathBuf),
}

/// Who we are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Credentials {
    /// A user and a password.
    Basic {
        /// The user, or the file with it.
        username: SecretSource,
        /// The password, or the file with it.
        password: Option<SecretSource>,
    },
    /// `Authorization: <kind> <credentials>`.
    Authorization {
        /// Such as `Bearer`.
        kind: String,
        /// The rest of the header.
        credentials: Option<SecretSource>,
    },
}

/// Values of a header.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HeaderValues {
    /// Values and secrets in the configuration.
    pub inline: Vec<Secret>,
    /// Files with a value each.
    pub files: Vec<PathBuf>,
}

/// Whom we trust, and what we show.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TlsSettings {
    /// Certificates of authorities, instead of the system's.
    pub ca: Option<SecretSource>,
    /// Our certificate.
    pub cert: Option<SecretSource>,
    /// Its key.
    pub key: Option<SecretSource>,
    /// The name that the certificate must have, if not the host's.
    pub server_name: Option<String>,
    /// Whether any certificate is taken.
    pub insecure_skip_verify: bool,
    /// Whether TLS 1.2 is refused.
    pub requires_tls13: bool,
}

/// How to ask.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpSettings {
    /// Who we are.
    pub credentials: Option<Credentials>,
    /// Whom we trust.
    pub tls: TlsSettings,
    /// Whether redirects are followed.
    pub follow_redirects: bool,
    /// Further headers.
    pub headers: BTreeMap<String, HeaderValues>,
}

/// Headers that are ours to set.
const RESERVED_HEADERS: [&str; 14] = [
    "authorization",
    "host",
    "content-encoding",
    "content-length",
    "content-type",
    "user-agent",
    "connection",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "www-authenticate",
    "accept-encoding",
    "x-prometheus-remote-write-version",
    "x-prometheus-scrape-timeout-seconds",
];

impl HttpSettings {
    pub(super) fn from_raw(
        file: &Path,
        directory: &Path,
        mut http: raw::Http,
    ) -> Result<Self, ConfigError> {
        if let Some(at) = http.proxy_at {
            let message = "proxies are not supported; remove the proxy keys, or scrape directly";
            return Err(ConfigError::at(file, at, message));
        }
        if let Some(at) = http.oauth2_at {
            let message = "oauth2 is not supported; use authorization with credentials_file";
            return Err(ConfigError::at(file, at, message));
        }
        let credentials = credentials(file, directory, &mut http)?;
        let tls = match http.tls_config {
            Some(tls) => tls_settings(file, directory, tls.referenced, tls.value)?,
            None => TlsSettings::default(),
        };
        let mut headers = BTreeMap::new();
        if let Some(found) = http.http_headers {
            for (name, header) in found.value {
                if RESERVED_HEADERS.contains(&name.to_ascii_lowercase().as_str()) {
                    let message =
                        format!("setting header {name:?} is not allowed; it is ours to set");
                    return Err(ConfigError::at(file, found.referenced, message));
                }
                let inline = header.values.into_iter().chain(header.secrets).flatten();
                let files = header.files.into_iter().flatten();
                let values = HeaderValues {
                    inline: inline.map(Secret).collect(),
                    files: files.map(|path| directory.join(path)).collect(),
                };
                headers.insert(name, values);
            }
        }
        let follow_redirects = http.follow_redirects.unwrap_or(true);
        Ok(Self { credentials, tls, follow_redirects, headers })
    }
}

fn source(
    file: &Path,
    directory: &Path,
    at: Location,
    inline: Option<String>,
    path: Option<String>,
    names: &str,
) -> Result<Option<SecretSource>, ConfigError> {
    match (inline, path) {
        (Some(_), Some(_)) => {
            let message = format!("at most one of {names} must be configured");
            Err(ConfigError::at(file, at, message))
        }
        (Some(text), None) => Ok(Some(SecretSource::Inline(Secret(text)))),
        (None, Some(path)) => Ok(Some(SecretSource::File(directory.join(path)))),
        (None, None) => Ok(None),
    }
}

fn credentials(
    file: &Path,
    directory: &Path,
    http: &mut raw::Http,
) -> Result<Option<Credentials>, ConfigError> {
    let refuse = |at, message: &str| Err(ConfigError::at(file, at, message));
    let token_at = |token: &Option<serde_saphyr::Spanned<String>>| {
        token.as_ref().map(|token| token.referenced)
    };
    let bearer_at = token_at(&http.bearer_token).or(token_at(&http.bearer_token_file));
    if let (Some(at), Some(_)) = (bearer_at, &http.basic_auth) {
        return refuse(
            at,
            "at most one of basic_auth, oauth2, bearer_token & bearer_token_file must be configured",
        );
    }
    if let (Some(at), Some(_)) = (bearer_at, &http.authorization) {
        return refuse(at, "authorization is not compatible with bearer_token & bearer_token_file");
    }
    if let (Some(auth), Some(_)) = (&http.authorization, &http.basic_auth) {
        let message = "at most one of basic_auth, oauth2 & authorization must be configured";
        return refuse(auth.referenced, message);
    }
    if let Some(at) = bearer_at {
        let token = http.bearer_token.take().map(|token| token.value);
        let path = http.bearer_token_file.take().map(|path| path.value);
        let names = "bearer_token & bearer_token_file";
        let credentials = source(file, directory, at, token, path, names)?;
        return Ok(Some(Credentials::Authorization { kind: "Bearer".into(), credentials }));
    }
    if let Some(auth) = http.authorization.take() {
        let (at, auth) = (auth.referenced, auth.value);
        let kind = auth.kind.map_or_else(|| "Bearer".to_owned(), |kind| kind.trim().to_owned());
        if kind.eq_ignore_ascii_case("basic") {
            let message =
                "authorization type cannot be set to \"basic\", use \"basic_auth\" instead";
            return refuse(at, message);
        }
        let names = "authorization credentials & credentials_file";
        let credentials =
            source(file, directory, at, auth.credentials, auth.credentials_file, names)?;
        return Ok(Some(Credentials::Authorization { kind, credentials }));
    }
    let Some(auth) = http.basic_auth.take() else { return Ok(None) };
    let (at, auth) = (auth.referenced, auth.value);
    let names = "basic_auth username & username_file";
    let username = source(file, directory, at, auth.username, auth.username_file, names)?;
    let names = "basic_auth password & password_file";
    let password = source(file, directory, at, auth.password, auth.password_file, names)?;
    let username = username.unwrap_or_else(|| SecretSource::Inline(Secret(String::new())));
    Ok(Some(Credentials::Basic { username, password }))
}

fn tls_settings(
    file: &Path,
    directory: &Path,
    at: Location,
    tls: raw::Tls,
) -> Result<TlsSettings, ConfigError> {
    let requires_tls13 = match &tls.min_version {
        None => false,
        Some(version) => match version.value.as_str() {
            "TLS10" | "TLS11" | "TLS12" => false,
            "TLS13" => true,
            other => {
                let message = format!("unknown TLS version: {other}; expected TLS12 or TLS13");
                return Err(ConfigError::at(file, version.referenced, message));
            }
        },
    };
    if let Some(version) = tls.max_version.as_ref().filter(|version| version.value != "TLS13") {
        let message = "max_version is not supported below TLS13; remove it";
        return Err(ConfigError::at(file, version.referenced, message));
    }
    let ca = source(file, directory, at, tls.ca, tls.ca_file, "ca and ca_file")?;
    let cert = source(file, directory, at, tls.cert, tls.cert_file, "cert and cert_file")?;
    let key = source(file, directory, at, tls.key, tls.key_file, "key and key_file")?;
    let missing = match (&cert, &key) {
        (Some(_), None) => Some("key"),
        (None, Some(_)) => Some("cert"),
        _ => None,
    };
    if let Some(missing) = missing {
        let message = format!(
            "a client certificate needs both: exactly one of {missing} or {missing}_file must be \
             configured"
        );
        return Err(ConfigError::at(file, at, message));
    }
    Ok(TlsSettings {
        ca,
        cert,
        key,
        server_name: tls.server_name.filter(|name| !name.is_empty()),
        insecure_skip_verify: tls.insecure_skip_verify.unwrap_or(false),
        requires_tls13,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_shown_nowhere() {
        let source = SecretSource::Inline(Secret("hunter2".into()));
        assert!(!format!("{source:?}").contains("hunter2"));
    }
}
