//! A server asked over HTTP.

use std::io::Read;
use std::time::Duration;

use kymo_forward::network::is_loopback;
use kymo_yaml::Secret;
use reqwest::blocking::{Client as Http, ClientBuilder as HttpBuilder, RequestBuilder, Response};
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue, InvalidHeaderValue};
use reqwest::{Certificate, ClientBuilder, Identity, Method, StatusCode, Upgraded, Url};
use serde::de::DeserializeOwned;

use crate::failure::Failure;

/// Where `kymo serve` listens unless told otherwise.
pub(crate) const DEFAULT_URL: &str = "http://127.0.0.1:3200";
/// Whose data is asked for.
const TENANT_HEADER: &str = "x-scope-orgid";
/// Who asks without saying as whom.
const DEFAULT_TENANT: &str = "default";
/// The variable with a token.
pub(crate) const TOKEN: &str = "KYMO_TOKEN";
/// Those with authorities to trust, and with what to show a server.
pub(crate) const CA: &str = "KYMO_CA";
const CERTIFICATE: &str = "KYMO_CLIENT_CERTIFICATE";
const KEY: &str = "KYMO_CLIENT_KEY";
/// A server that is there accepts within this time. How long an answer takes is for the server to
/// limit.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Bytes of an answer that are taken whole: what people look at.
const MAX_ANSWER_BYTES: u64 = 1 << 30;
/// Parameters that are longer are sent in the body of a request: proxies refuse lines of more than
/// 8 KiB, and a server those of more than 64.
const MAX_URL_PARAMETERS_BYTES: usize = 6 << 10;
/// What is read of an error's explanation.
const MAX_ERROR_BYTES: u64 = 64 << 10;

/// A server, and as whom it is asked.
#[derive(Debug)]
pub(crate) struct Client {
    http: Http,
    base: Url,
    tenant: String,
    token: Option<Secret>,
}

impl Client {
    pub(crate) fn new(url: &str, tenant: &str) -> Result<Self, Failure> {
        let base = parse(url)?;
        let http = http(&base, None)?;
        let token = variable(TOKEN).map(Secret::new);
        Ok(Self { http, base, tenant: tenant.to_owned(), token })
    }

    /// The same with a limit on how long an answer takes, for those who cannot be interrupted.
    pub(crate) fn within(self, timeout: Duration) -> Result<Self, Failure> {
        Ok(Self { http: http(&self.base, Some(timeout))?, ..self })
    }

    /// Asks for a path.
    pub(crate) fn get(&self, path: &str, accept: &str) -> Result<Response, Failure> {
        self.send(self.http.get(self.url(path)), accept)
    }

    /// Sends a text to a path.
    pub(crate) fn post(&self, path: &str, body: String, accept: &str) -> Result<Response, Failure> {
        let request = self.http.post(self.url(path)).header("content-type", "text/plain");
        self.send(request.body(body), accept)
    }

    /// Sends a document to a path.
    pub(crate) fn send_json(
        &self,
        method: &'static str,
        path: &str,
        document: &serde_json::Value,
    ) -> Result<Response, Failure> {
        let method = Method::from_bytes(method.as_bytes()).unwrap_or(Method::POST);
        let request = self.http.request(method, self.url(path));
        let request = request.header("content-type", "application/json");
        self.send(request.body(document.to_string()), "application/json")
    }

    /// Asks a path with parameters: in the URL, or in a form if they are long.
    pub(crate) fn ask(
        &self,
        path: &str,
        parameters: &[(&str, String)],
        accept: &str,
    ) -> Result<Response, Failure> {
        self.ask_with(path, parameters, accept, &[])
    }

    /// The same with more headers.
    pub(crate) fn ask_with(
        &self,
        path: &str,
        parameters: &[(&str, String)],
        accept: &str,
        headers: &[(&str, &str)],
    ) -> Result<Response, Failure> {
        let encoded = encoded(parameters);
        let mut request = match encoded.len() <= MAX_URL_PARAMETERS_BYTES {
            true => self.http.get(self.url(&format!("{path}?{encoded}"))),
            false => {
                let form_type = "application/x-www-form-urlencoded";
                let request = self.http.post(self.url(path)).header("content-type", form_type);
                request.body(encoded)
            }
        };
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        self.send(request, accept)
    }

    /// The server, for messages.
    pub(crate) fn name(&self) -> String {
        let mut shown = self.base.clone();
        // Neither fails for an address with a host.
        let _ = shown.set_password(None);
        let _ = shown.set_username("");
        shown.as_str().trim_end_matches('/').to_owned()
    }

    /// As whom it is asked.
    pub(crate) fn tenant(&self) -> &str {
        &self.tenant
    }

    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.base.as_str().trim_end_matches('/'))
    }

    fn send(&self, request: RequestBuilder, accept: &str) -> Result<Response, Failure> {
        let request = request.header("accept", accept).headers(self.identity()?);
        let response = request.send().map_err(|error| self.unreached(&error))?;
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let mut body = Vec::new();
        // What could be read explains more than why the rest could not.
        let _ = response.take(MAX_ERROR_BYTES).read_to_end(&mut body);
        Err(self.refused(status, &body))
    }

    /// Asks for a path over which another protocol is spoken from then on. With what was answered
    /// comes the connection.
    pub(crate) async fn upgrade(
        &self,
        path: &str,
        headers: &[(&str, &str)],
    ) -> Result<(HeaderMap, Upgraded), Failure> {
        // HTTP/2 knows no upgrades.
        let http = builder(&self.base)?.http1_only().build().map_err(|error| unmade(&error))?;
        let mut request = http.get(self.url(path)).headers(self.identity()?);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let mut response = request.send().await.map_err(|error| self.unreached(&error))?;
        let status = response.status();
        if status == StatusCode::SWITCHING_PROTOCOLS {
            let answered = response.headers().clone();
            let upgraded = response.upgrade().await.map_err(|error| self.unreached(&error))?;
            return Ok((answered, upgraded));
        }
        let mut body = Vec::new();
        while let Ok(Some(piece)) = response.chunk().await {
            body.extend_from_slice(&piece);
            if body.len() as u64 >= MAX_ERROR_BYTES {
                break;
            }
        }
        Err(self.refused(status, &body))
    }

    /// Who asks, and for whose data.
    fn identity(&self) -> Result<HeaderMap, Failure> {
        let unsaid = |what: &str, error: InvalidHeaderValue| {
            let must = format!("the {what} must be printable ASCII");
            Failure::Other(format!("the request cannot be made: {error}; {must}"))
        };
        let mut headers = HeaderMap::new();
        // A token of one tenant says itself whose data is meant.
        if self.tenant != DEFAULT_TENANT || self.token.is_none() {
            let tenant = HeaderValue::from_str(&self.tenant);
            let tenant = tenant.map_err(|error| unsaid("tenant", error))?;
            headers.insert(HeaderName::from_static(TENANT_HEADER), tenant);
        }
        if let Some(token) = &self.token {
            let bearer = HeaderValue::from_str(&format!("Bearer {}", token.reveal()));
            let mut bearer = bearer.map_err(|error| unsaid("token", error))?;
            bearer.set_sensitive(true);
            headers.insert(AUTHORIZATION, bearer);
        }
        Ok(headers)
    }

    fn unreached(&self, error: &reqwest::Error) -> Failure {
        let (name, why) = (self.name(), innermost(error));
        Failure::Other(if error.is_connect() {
            format!(
                "cannot reach {name}: {why}; is kymo serve running? start it, name another server \
                 with --url, or read a directory with --data DIR"
            )
        } else if error.is_builder() {
            format!("the request cannot be made: {why}")
        } else {
            format!("{name} did not answer: {why}")
        })
    }

    fn refused(&self, status: StatusCode, body: &[u8]) -> Failure {
        let name = self.name();
        let message = crate::units::printable(&explanation(body));
        Failure::Status {
            status: status.as_u16(),
            message: match (message.is_empty(), status) {
                (_, StatusCode::NOT_FOUND) if message.is_empty() => {
                    format!("{name} has no such thing (404): is it a kymo server?")
                }
                (true, _) => format!("{name} answered {status}"),
                (false, _) => message,
            },
        }
    }
}

fn http(base: &Url, timeout: Option<Duration>) -> Result<Http, Failure> {
    let http = HttpBuilder::from(builder(base)?).timeout(timeout);
    http.build().map_err(|error| unmade(&error))
}

fn unmade(error: &reqwest::Error) -> Failure {
    Failure::Other(format!("cannot set up HTTP: {}", innermost(error)))
}

fn builder(base: &Url) -> Result<ClientBuilder, Failure> {
    let mut http = ClientBuilder::new().connect_timeout(CONNECT_TIMEOUT);
    if is_loopback(base) {
        // A proxy is another machine, where this address is another server.
        http = http.no_proxy();
    }
    if base.scheme() == "https" {
        http = secured(http)?;
    }
    Ok(http)
}

/// With the authorities to trust and the certificate to show that variables name.
fn secured(mut http: ClientBuilder) -> Result<ClientBuilder, Failure> {
    let read = |name: &str, path: &str| {
        std::fs::read(path).map_err(|source| Failure::Io {
            act: "read",
            what: format!("{path} ({name})"),
            source,
        })
    };
    let unusable = |name: &str, error: &reqwest::Error| {
        Failure::Other(format!("{name} cannot be used: {}; expected PEM", innermost(error)))
    };
    if let Some(path) = variable(CA) {
        let found = Certificate::from_pem_bundle(&read(CA, &path)?);
        for authority in found.map_err(|error| unusable(CA, &error))? {
            http = http.add_root_certificate(authority);
        }
    }
    if let Some(path) = variable(CERTIFICATE) {
        let mut pem = read(CERTIFICATE, &path)?;
        if let Some(path) = variable(KEY) {
            pem.push(b'\n');
            pem.extend(read(KEY, &path)?);
        }
        let identity = Identity::from_pem(&pem).map_err(|error| unusable(CERTIFICATE, &error))?;
        http = http.identity(identity);
    }
    Ok(http)
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// A text as one part of a path.
pub(crate) fn segment(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    let mut segment = String::new();
    for byte in text.bytes() {
        match is_plain(byte) {
            true => segment.push(char::from(byte)),
            false => segment.push_str(&format!("%{byte:02X}")),
        }
    }
    segment
}

/// Parameters as they stand in a URL.
pub(crate) fn encoded(parameters: &[(&str, String)]) -> String {
    // Only its query is used.
    let url = Url::parse_with_params("http://localhost/", parameters).ok();
    url.and_then(|url| url.query().map(str::to_owned)).unwrap_or_default()
}

/// An answer, whole.
pub(crate) fn body(response: Response) -> Result<Vec<u8>, Failure> {
    let mut body = Vec::new();
    let read = response.take(MAX_ANSWER_BYTES + 1).read_to_end(&mut body);
    read.map_err(|error| broken(Some(&error)))?;
    if body.len() as u64 > MAX_ANSWER_BYTES {
        let most = crate::units::bytes(MAX_ANSWER_BYTES);
        return Err(Failure::Other(format!(
            "the answer has more than {most}: ask for less time or for fewer things"
        )));
    }
    Ok(body)
}

/// An answer that is JSON.
pub(crate) fn json<T: DeserializeOwned>(response: Response) -> Result<T, Failure> {
    let body = body(response)?;
    serde_json::from_slice(&body).map_err(|error| {
        Failure::Other(format!("the answer of the server cannot be understood: {error}"))
    })
}

/// The text in an error's body: `{"error": "…"}`, `{"message": "…"}`, or the body itself.
fn explanation(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    let json: Option<serde_json::Value> = serde_json::from_str(&text).ok();
    let member = json.as_ref().and_then(|json| json.get("error").or_else(|| json.get("message")));
    match member.and_then(|member| member.as_str()) {
        Some(message) => message.to_owned(),
        // A page of a proxy says nothing in a terminal.
        None if text.trim_start().starts_with('<') => String::new(),
        None => text.trim().to_owned(),
    }
}

fn parse(url: &str) -> Result<Url, Failure> {
    let refused = |why: &str| {
        Failure::Other(format!("--url {url:?} {why}: expected a URL such as {DEFAULT_URL}"))
    };
    let parsed = Url::parse(url).map_err(|_| refused("is not a URL"))?;
    if !matches!(parsed.scheme(), "http" | "https") || parsed.host_str().is_none() {
        return Err(refused("is not an address of HTTP"));
    }
    Ok(parsed)
}

/// The reason at the bottom of an error, which is the one that says something.
pub(crate) fn innermost(error: &dyn std::error::Error) -> String {
    let mut reason = error;
    while let Some(source) = reason.source() {
        reason = source;
    }
    let text = reason.to_string();
    // "Connection refused (os error 111)": the number says nothing more.
    match text.split_once(" (os error") {
        Some((text, _)) => text.to_lowercase(),
        None => text,
    }
}

/// An answer without its end, and what was seen of the reason. The server has the rest of it: by
/// then it had no other way to tell than to end the connection.
pub(crate) fn broken(error: Option<&dyn std::error::Error>) -> Failure {
    let seen = error.map(|error| format!(" ({})", innermost(error))).unwrap_or_default();
    Failure::Other(format!("the server ended the answer in the middle{seen}: its log says why"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_read_from_json_and_from_text() {
        assert_eq!(explanation(br#"{"error":"no table x"}"#), "no table x");
        assert_eq!(explanation(b"trace not found\n"), "trace not found");
        assert_eq!(explanation(b"<html>Bad Gateway</html>"), "");
    }

    #[test]
    fn a_url_without_a_scheme_is_refused_with_an_example() {
        for url in ["127.0.0.1:3200", "localhost:3200", "ftp://x", "", "http://"] {
            let message = parse(url).unwrap_err().to_string();
            assert!(message.contains("expected a URL such as http://127.0.0.1:3200"), "{message}");
        }
        let client = Client::new("http://user:secret@localhost:1/base/", "t").unwrap();
        assert_eq!(client.name(), "http://localhost:1/base");
        assert_eq!(client.url("/api/sql"), "http://user:secret@localhost:1/base/api/sql");
    }
}
