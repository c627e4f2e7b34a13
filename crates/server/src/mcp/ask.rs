//! A call of a tool as a request of our own API, and its answer as text.

use axum::Router;
use axum::body::Body;
use axum::response::Response;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use http::{HeaderMap, Method, Request};
use http_body_util::BodyExt;
use kymo_traceql::ast::Body as QueryBody;
use serde_json::Value;
use tower::ServiceExt;

use crate::limits::MCP_MAX_ANSWER_BYTES;
use crate::router::Shared;
use crate::tenant;

/// The form of answers that is made for language models, where there is one.
const FOR_MODELS: &str = "application/vnd.grafana.llm";

/// A question to our API.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Ask {
    method: Method,
    /// The path, and parameters behind it.
    pub(super) url: String,
    content_type: Option<&'static str>,
    pub(super) body: String,
}

impl Ask {
    pub(super) fn get(path: &str, parameters: &[(&str, &str)]) -> Self {
        let (method, form) = (Method::GET, form(parameters));
        let url = if form.is_empty() { path.to_owned() } else { format!("{path}?{form}") };
        Self { method, url, content_type: None, body: String::new() }
    }

    /// Parameters in the body, where they may be long.
    pub(super) fn form(path: &str, parameters: &[(&str, &str)]) -> Self {
        let content_type = Some("application/x-www-form-urlencoded");
        Self { method: Method::POST, url: path.to_owned(), content_type, body: form(parameters) }
    }

    pub(super) fn json(path: &str, document: &Value) -> Self {
        let content_type = Some("application/json");
        let body = document.to_string();
        Self { method: Method::POST, url: path.to_owned(), content_type, body }
    }

    fn request(self, forwarded: HeaderMap) -> Result<Request<Body>, String> {
        let mut request = Request::builder().method(self.method).uri(self.url);
        if let Some(content_type) = self.content_type {
            request = request.header(CONTENT_TYPE, content_type);
        }
        let request = request.header(ACCEPT, FOR_MODELS).body(Body::from(self.body));
        // All but the length is made sure of.
        let mut request = request.map_err(|_| "the arguments are too long".to_owned())?;
        request.headers_mut().extend(forwarded);
        Ok(request)
    }
}

/// Parameters as in a URL; those without a value are left out.
fn form(parameters: &[(&str, &str)]) -> String {
    let given = parameters.iter().filter(|(_, value)| !value.is_empty());
    let pairs = given.map(|(name, value)| format!("{name}={}", percent_encoded(value)));
    pairs.collect::<Vec<_>>().join("&")
}

/// Text as it may stand anywhere in a URL.
pub(super) fn percent_encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                out.push(char::from(byte));
            }
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

/// The headers of a client that say whose data is meant, and what proves that.
fn forwarded(headers: &HeaderMap) -> HeaderMap {
    let names = [tenant::HEADER, AUTHORIZATION.as_str()];
    let forwarded = headers.iter().filter(|(name, _)| names.contains(&name.as_str()));
    forwarded.map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// Who calls tools, within one request.
pub(super) struct Caller {
    shared: Shared,
    api: Router,
    /// Headers for every question.
    forwarded: HeaderMap,
    /// What its answers may still take.
    room_bytes: usize,
}

impl Caller {
    pub(super) fn new(shared: Shared, api: Router, headers: &HeaderMap) -> Self {
        Self { shared, api, forwarded: forwarded(headers), room_bytes: MCP_MAX_ANSWER_BYTES }
    }

    /// The text of an answer, or what is wrong.
    pub(super) async fn ask(&mut self, ask: Ask) -> Result<String, String> {
        let request = ask.request(self.forwarded.clone())?;
        let response = match self.api.clone().oneshot(request).await {
            Ok(response) => response,
            Err(never) => match never {},
        };
        let status = response.status();
        let retry = response.headers().get(RETRY_AFTER).cloned();
        let text = text_of(response, self.room_bytes).await?;
        self.room_bytes -= text.len();
        match status.is_success() {
            true => Ok(text),
            false if text.trim().is_empty() => Err(format!("the server answered {status}")),
            false => Err(with_retry(text, retry)),
        }
    }

    /// Whether a query is a search. One for series would be taken as a search for the spans that
    /// they are made of, and a model would not see why there are no numbers.
    pub(super) async fn check_search(&self, query: &str) -> Result<(), String> {
        let query = query.to_owned();
        let parsed = self.shared.read(move || kymo_traceql::parse(&query)).await;
        match parsed.map_err(|error| error.to_string())? {
            Ok(query) if matches!(query.body, QueryBody::Metrics(_)) => {
                Err("this query makes series of numbers, and is not a search: use \
                     traceql-metrics-instant or traceql-metrics-range"
                    .to_owned())
            }
            Ok(_) => Ok(()),
            Err(error) => Err(format!("{error}\ndocs-traceql explains the language")),
        }
    }
}

/// An error, and when to try again if that was said.
fn with_retry(text: String, retry: Option<HeaderValue>) -> String {
    match retry.as_ref().and_then(|value| value.to_str().ok()) {
        Some(seconds) => format!("{}\ntry again in {seconds} s", text.trim_end()),
        None => text,
    }
}

/// All of an answer. One that is too long is given up, which ends the query behind it.
async fn text_of(response: Response, max_bytes: usize) -> Result<String, String> {
    let mut body = response.into_body();
    let mut whole = Vec::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| format!("the answer broke off: {error}"))?;
        let Ok(piece) = frame.into_data() else { continue };
        if whole.len() + piece.len() > max_bytes {
            return Err(format!(
                "the answer has more than {max_bytes} bytes, too much to read: narrow the query, \
                 with more conditions, a shorter time, fewer columns or a limit"
            ));
        }
        whole.extend_from_slice(&piece);
    }
    String::from_utf8(whole).map_err(|_| "the answer is not text".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::{StreamExt as _, stream};
    use serde_json::json;

    #[test]
    fn a_question_becomes_a_request_with_the_headers_of_its_caller() {
        let mut sent = HeaderMap::new();
        for (name, value) in
            [("x-scope-orgid", "ml"), ("authorization", "Bearer x"), ("accept", "a/b")]
        {
            sent.insert(name, value.parse().unwrap());
        }
        let ask = Ask::get("/a", &[("q", "{ name = \"é&b\" }"), ("none", "")]);
        let request = ask.request(forwarded(&sent)).unwrap();
        assert_eq!(request.uri(), "/a?q=%7B%20name%20%3D%20%22%C3%A9%26b%22%20%7D");
        assert_eq!(request.headers()[tenant::HEADER], "ml");
        assert_eq!(request.headers()[AUTHORIZATION], "Bearer x");
        assert_eq!(request.headers()[ACCEPT], "application/vnd.grafana.llm");
        let request = Ask::form("/b", &[("q", "a b")]).request(HeaderMap::new()).unwrap();
        assert_eq!((request.method(), request.uri().path()), (&Method::POST, "/b"));
        assert_eq!(request.headers()[CONTENT_TYPE], "application/x-www-form-urlencoded");
        assert_eq!(Ask::json("/c", &json!({"a": 1})).body, "{\"a\":1}");
    }

    #[test]
    fn a_url_that_is_too_long_is_an_error() {
        let ask = Ask::get("/a", &[("q", &"x".repeat(1 << 17))]);
        assert!(ask.request(HeaderMap::new()).unwrap_err().contains("too long"));
    }

    #[tokio::test]
    async fn an_answer_is_read_up_to_its_bound() {
        let response = || Response::new(Body::from("12345"));
        assert_eq!(text_of(response(), 5).await, Ok("12345".to_owned()));
        assert!(text_of(response(), 4).await.unwrap_err().contains("narrow the query"));
        let pieces = stream::iter(["123", "45"]).map(Ok::<_, std::io::Error>);
        let response = Response::new(Body::from_stream(pieces));
        assert!(text_of(response, 4).await.unwrap_err().contains("more than 4 bytes"));
    }

    #[tokio::test]
    async fn an_answer_that_breaks_off_is_an_error() {
        let pieces = [Ok("{\"rows\":["), Err(std::io::Error::other("too much memory"))];
        let response = Response::new(Body::from_stream(stream::iter(pieces)));
        let error = text_of(response, 100).await.unwrap_err();
        assert!(error.contains("too much memory"), "{error}");
    }

    #[test]
    fn an_error_says_when_to_try_again() {
        let retry = Some(HeaderValue::from_static("3"));
        assert_eq!(with_retry("busy\n".to_owned(), retry), "busy\ntry again in 3 s");
        assert_eq!(with_retry("bad\n".to_owned(), None), "bad\n");
    }
}
