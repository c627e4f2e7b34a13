//! Headers that make browsers careful with answers.
//!
//! | answer | gets |
//! |---|---|
//! | all but gRPC's | `X-Content-Type-Options`, `Referrer-Policy`, `Cross-Origin-Resource-Policy` |
//! | pages and scripts | a `Content-Security-Policy` that allows this server's own files and nothing inline |
//! | pages | `X-Frame-Options`, `Cross-Origin-Opener-Policy`, `Permissions-Policy` |
//! | all others | a `Content-Security-Policy` that allows nothing, should a browser show them |
//! | by TLS, if configured | `Strict-Transport-Security` |
//! | with a login | `Cache-Control: no-store` |
//!
//! A header that the answer has already is left as it is: a page with a script of its own sets its
//! own policy, and files that never change may be kept.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http::header::{
    AUTHORIZATION, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, COOKIE, HeaderMap,
    HeaderName, HeaderValue, REFERRER_POLICY, STRICT_TRANSPORT_SECURITY, X_CONTENT_TYPE_OPTIONS,
    X_FRAME_OPTIONS,
};
use http::{Request, Response, Uri};
use serde::Deserialize;
use thiserror::Error;
use tower::{Layer, Service};

use crate::forwarded::{ClientOrigin, Scheme};

const OPENER_POLICY: HeaderName = HeaderName::from_static("cross-origin-opener-policy");
const RESOURCE_POLICY: HeaderName = HeaderName::from_static("cross-origin-resource-policy");
const PERMISSIONS_POLICY: HeaderName = HeaderName::from_static("permissions-policy");

/// What pages may do, beside by whom they may be shown.
const PAGE_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
    img-src 'self' data:; connect-src 'self'; font-src 'self'; worker-src 'self'; \
    manifest-src 'self'; base-uri 'self'; form-action 'self'";

/// What everything else may do.
const DATA_POLICY: HeaderValue =
    HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'");

const NO_DEVICES: HeaderValue =
    HeaderValue::from_static("camera=(), geolocation=(), microphone=(), payment=(), usb=()");

/// The key `security_headers` of the configuration.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct HeaderSettings {
    /// Which sites may show our pages in frames.
    pub embedding: Embedding,
    /// For how long browsers that came by TLS come by TLS only. Not set by itself: who takes TLS away
    /// again would not be reached for this long.
    #[serde(with = "kymo_yaml::duration::option")]
    pub strict_transport: Option<Duration>,
}

/// Which sites may show our pages in frames.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Embedding {
    /// None.
    Nobody,
    /// Our own.
    #[default]
    SameOrigin,
    /// Our own and these: `https://portal.example`.
    Origins(Vec<String>),
}

/// An origin that is none.
#[derive(Debug, Error, PartialEq, Eq)]
#[error(
    "security_headers.embedding: {origin:?} is not an origin; expected one such as https://portal.example"
)]
pub struct WrongOrigin {
    origin: String,
}

/// Headers that are added to answers; a [`Layer`] for routers.
#[derive(Debug, Clone)]
pub struct SecurityHeaders(Arc<Prepared>);

#[derive(Debug)]
struct Prepared {
    page_policy: HeaderValue,
    frame_options: Option<HeaderValue>,
    strict_transport: Option<HeaderValue>,
}

/// What decides about the headers of an answer, from its request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asked {
    /// Whether the client came by TLS.
    pub is_secure: bool,
    /// Whether it brought a password, a token or a cookie.
    pub has_login: bool,
}

impl SecurityHeaders {
    /// As configured.
    pub fn new(settings: &HeaderSettings) -> Result<Self, WrongOrigin> {
        let (ancestors, frame_options) = match &settings.embedding {
            Embedding::Nobody => ("'none'".to_owned(), Some(HeaderValue::from_static("DENY"))),
            Embedding::SameOrigin => {
                ("'self'".to_owned(), Some(HeaderValue::from_static("SAMEORIGIN")))
            }
            // The older header cannot name several; where both are there, the newer one counts.
            Embedding::Origins(origins) => {
                let origins: Result<Vec<_>, _> = origins.iter().map(|one| origin(one)).collect();
                (format!("'self' {}", origins?.join(" ")), None)
            }
        };
        let page_policy = format!("{PAGE_POLICY}; frame-ancestors {ancestors}");
        let page_policy = HeaderValue::try_from(page_policy)
            .map_err(|_| WrongOrigin { origin: ancestors.clone() })?;
        let strict_transport = settings.strict_transport.map(|duration| {
            let text = format!("max-age={}", duration.as_secs());
            HeaderValue::try_from(text).unwrap_or(HeaderValue::from_static("max-age=0"))
        });
        Ok(Self(Arc::new(Prepared { page_policy, frame_options, strict_transport })))
    }

    /// Adds what an answer lacks.
    pub fn apply(&self, asked: Asked, headers: &mut HeaderMap) {
        let kind = Kind::of(headers);
        if kind == Kind::Grpc {
            return;
        }
        let mut add = |name: HeaderName, value: HeaderValue| {
            headers.entry(name).or_insert(value);
        };
        add(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        add(REFERRER_POLICY, HeaderValue::from_static("same-origin"));
        add(RESOURCE_POLICY, HeaderValue::from_static("same-origin"));
        if asked.has_login {
            add(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        }
        if let Some(value) = self.0.strict_transport.as_ref().filter(|_| asked.is_secure) {
            add(STRICT_TRANSPORT_SECURITY, value.clone());
        }
        match kind {
            Kind::Page | Kind::Script => {
                add(CONTENT_SECURITY_POLICY, self.0.page_policy.clone());
            }
            Kind::Data | Kind::Grpc => add(CONTENT_SECURITY_POLICY, DATA_POLICY),
        }
        if kind == Kind::Page {
            add(OPENER_POLICY, HeaderValue::from_static("same-origin"));
            add(PERMISSIONS_POLICY, NO_DEVICES);
            if let Some(value) = &self.0.frame_options {
                add(X_FRAME_OPTIONS, value.clone());
            }
        }
    }
}

impl Asked {
    /// Of a request. [`ClientOrigin`] has to be among its extensions, or it counts as not by TLS.
    pub fn of<B>(request: &Request<B>) -> Self {
        let origin = request.extensions().get::<ClientOrigin>();
        let headers = request.headers();
        Self {
            is_secure: origin.is_some_and(|origin| origin.scheme == Scheme::Https),
            has_login: headers.contains_key(AUTHORIZATION) || headers.contains_key(COOKIE),
        }
    }
}

/// What an answer is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Page,
    /// A worker has the policy of its script, not of its page.
    Script,
    Data,
    Grpc,
}

impl Kind {
    fn of(headers: &HeaderMap) -> Self {
        let text = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or("");
        let media = text.split(';').next().unwrap_or("").trim().to_ascii_lowercase();
        match media.as_str() {
            "text/html" | "application/xhtml+xml" => Self::Page,
            "text/javascript" | "application/javascript" => Self::Script,
            media if media.starts_with("application/grpc") => Self::Grpc,
            _ => Self::Data,
        }
    }
}

/// An origin as a policy may have it: nothing that could add to the policy.
fn origin(text: &str) -> Result<String, WrongOrigin> {
    let wrong = || WrongOrigin { origin: text.to_owned() };
    let uri: Uri = text.parse().map_err(|_| wrong())?;
    let (Some("http" | "https"), Some(authority)) = (uri.scheme_str(), uri.authority()) else {
        return Err(wrong());
    };
    let host = authority.as_str();
    let is_plain = |b: u8| b.is_ascii_alphanumeric() || b"-.:[]*".contains(&b);
    let is_bare = matches!(uri.path(), "" | "/") && uri.query().is_none();
    if !is_bare || !host.bytes().all(is_plain) {
        return Err(wrong());
    }
    Ok(text.trim_end_matches('/').to_owned())
}

impl<S> Layer<S> for SecurityHeaders {
    type Service = WithHeaders<S>;

    fn layer(&self, inner: S) -> WithHeaders<S> {
        WithHeaders { inner, headers: self.clone() }
    }
}

/// Answers of a service, with the headers.
#[derive(Debug, Clone)]
pub struct WithHeaders<S> {
    inner: S,
    headers: SecurityHeaders,
}

impl<S, B, R> Service<Request<B>> for WithHeaders<S>
where
    S: Service<Request<B>, Response = Response<R>>,
    S::Future: Send + 'static,
{
    type Response = Response<R>;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Response<R>, S::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let (asked, headers) = (Asked::of(&request), self.headers.clone());
        let answer = self.inner.call(request);
        Box::pin(async move {
            let mut response = answer.await?;
            headers.apply(asked, response.headers_mut());
            Ok(response)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::Router;
    use axum::body::Body;
    use axum::routing::get;
    use tower::ServiceExt;

    const PLAIN: Asked = Asked { is_secure: false, has_login: false };

    fn applied(settings: &HeaderSettings, asked: Asked, content_type: &'static str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
        SecurityHeaders::new(settings).unwrap().apply(asked, &mut headers);
        headers
    }

    fn policy(headers: &HeaderMap) -> &str {
        headers[CONTENT_SECURITY_POLICY].to_str().unwrap()
    }

    #[test]
    fn pages_may_use_this_server_alone_and_nothing_inline() {
        let headers = applied(&HeaderSettings::default(), PLAIN, "text/html; charset=utf-8");
        let policy = policy(&headers);
        for part in ["default-src 'none'", "script-src 'self'", "frame-ancestors 'self'"] {
            assert!(policy.split("; ").any(|found| found == part), "{policy}");
        }
        assert!(!policy.contains("unsafe"), "{policy}");
        assert_eq!(headers[X_CONTENT_TYPE_OPTIONS], "nosniff");
        assert_eq!(headers[X_FRAME_OPTIONS], "SAMEORIGIN");
        assert_eq!(headers[OPENER_POLICY], "same-origin");
        assert!(!headers.contains_key(STRICT_TRANSPORT_SECURITY));
        assert!(!headers.contains_key(CACHE_CONTROL));
    }

    #[test]
    fn data_may_do_nothing_and_grpc_is_left_alone() {
        for data in ["application/json", "image/svg+xml", "text/plain", ""] {
            let headers = applied(&HeaderSettings::default(), PLAIN, data);
            assert_eq!(policy(&headers), DATA_POLICY.to_str().unwrap(), "{data}");
            assert!(!headers.contains_key(X_FRAME_OPTIONS));
        }
        assert_eq!(applied(&HeaderSettings::default(), PLAIN, "application/grpc+proto").len(), 1);
    }

    #[test]
    fn a_header_that_is_there_stays() {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/html"));
        headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static("script-src 'nonce-a'"));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("max-age=60"));
        let asked = Asked { has_login: true, ..PLAIN };
        SecurityHeaders::new(&HeaderSettings::default()).unwrap().apply(asked, &mut headers);
        assert_eq!(policy(&headers), "script-src 'nonce-a'");
        assert_eq!(headers[CACHE_CONTROL], "max-age=60");
    }

    #[test]
    fn frames_are_allowed_as_configured() {
        let with = |embedding| HeaderSettings { embedding, ..Default::default() };
        let headers = applied(&with(Embedding::Nobody), PLAIN, "text/html");
        assert!(policy(&headers).ends_with("frame-ancestors 'none'"));
        assert_eq!(headers[X_FRAME_OPTIONS], "DENY");
        let portal = Embedding::Origins(vec!["https://portal.example/".to_owned()]);
        let headers = applied(&with(portal), PLAIN, "text/html");
        assert!(policy(&headers).ends_with("frame-ancestors 'self' https://portal.example"));
        assert!(!headers.contains_key(X_FRAME_OPTIONS));
        for wrong in [
            "portal.example",
            "https://a;script-src *",
            "https://a b",
            "https://a/x",
            "javascript:x",
            "https://u@a",
            "",
        ] {
            let settings = with(Embedding::Origins(vec![wrong.to_owned()]));
            assert!(SecurityHeaders::new(&settings).is_err(), "{wrong}");
        }
    }

    #[test]
    fn strict_transport_is_asked_for_by_tls_and_if_configured() {
        let day = Some(Duration::from_secs(86_400));
        let settings = HeaderSettings { strict_transport: day, ..Default::default() };
        let secure = Asked { is_secure: true, ..PLAIN };
        let headers = applied(&settings, secure, "text/html");
        assert_eq!(headers[STRICT_TRANSPORT_SECURITY], "max-age=86400");
        let headers = applied(&settings, PLAIN, "text/html");
        assert!(!headers.contains_key(STRICT_TRANSPORT_SECURITY));
        let headers = applied(&HeaderSettings::default(), secure, "text/html");
        assert!(!headers.contains_key(STRICT_TRANSPORT_SECURITY));
    }

    #[test]
    fn settings_are_read_as_they_are_documented() {
        let text = "embedding: {origins: [\"https://portal.example\"]}\nstrict_transport: 365d\n";
        let settings: HeaderSettings = kymo_yaml::from_str(text).unwrap();
        assert_eq!(settings.strict_transport, Some(Duration::from_secs(365 * 86_400)));
        assert_eq!(settings.embedding, Embedding::Origins(vec!["https://portal.example".into()]));
        let short: HeaderSettings = kymo_yaml::from_str("embedding: nobody\n").unwrap();
        assert_eq!(short, HeaderSettings { embedding: Embedding::Nobody, ..Default::default() });
    }

    #[tokio::test]
    async fn the_layer_adds_them_to_all_answers_of_a_router() {
        let headers = SecurityHeaders::new(&HeaderSettings::default()).unwrap();
        let router = Router::new().route("/", get(|| async { "hello" })).layer(headers);
        let request = Request::get("/").header(AUTHORIZATION, "Bearer x");
        let request = request.body(Body::empty()).unwrap();
        let answer = router.oneshot(request).await.unwrap();
        assert_eq!(answer.headers()[X_CONTENT_TYPE_OPTIONS], "nosniff");
        assert_eq!(answer.headers()[CACHE_CONTROL], "no-store");
    }
}
