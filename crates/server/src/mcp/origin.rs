//! Which web pages may ask.
//!
//! A page whose host's name is made to point at this server (DNS rebinding) is of the same origin as
//! the server for its browser, so that CORS does not hold it back. Its requests still say where it
//! came from, and are refused unless that origin is configured. Programs that are no browsers send
//! no origin.

use std::sync::Arc;

use http::header::ORIGIN;
use http::{HeaderMap, StatusCode};

use super::message::RpcError;
use crate::parameters::quoted;

#[derive(Debug, Clone)]
pub(super) struct Origins(Arc<[String]>);

impl Origins {
    pub(super) fn new(allowed: Vec<String>) -> Self {
        Self(allowed.into())
    }

    pub(super) fn check(&self, headers: &HeaderMap) -> Result<(), RpcError> {
        let Some(origin) = headers.get(ORIGIN) else { return Ok(()) };
        let is_allowed =
            self.0.iter().any(|allowed| allowed == "*" || allowed.as_bytes() == origin.as_bytes());
        if is_allowed {
            return Ok(());
        }
        let shown = quoted(&String::from_utf8_lossy(origin.as_bytes()));
        let message = format!(
            "web pages of {shown} may not ask here; cors.allowed_origins lists those that may"
        );
        Err(RpcError::invalid_request(message).with_status(StatusCode::FORBIDDEN))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_allowed(allowed: &[&str], origin: &str) -> bool {
        let origins = Origins::new(allowed.iter().map(|&origin| origin.to_owned()).collect());
        let mut headers = HeaderMap::new();
        headers.insert(ORIGIN, origin.parse().unwrap());
        // What a rebound name looks like: the host is the origin's.
        headers.insert("host", "evil.example:3200".parse().unwrap());
        origins.check(&headers).is_ok()
    }

    #[test]
    fn a_web_page_may_ask_only_if_its_origin_is_configured() {
        for origin in ["http://evil.example:3200", "http://127.0.0.1:3200", "null", "https://a"] {
            assert!(!is_allowed(&[], origin), "{origin}");
            assert!(!is_allowed(&["https://a.example"], origin), "{origin}");
            assert!(is_allowed(&["*"], origin), "{origin}");
        }
        assert!(is_allowed(&["https://b.example", "https://a.example"], "https://a.example"));
        assert!(Origins::new(Vec::new()).check(&HeaderMap::new()).is_ok());
    }

    #[test]
    fn a_page_that_may_not_is_told_by_403_which_setting_allows_it() {
        let mut headers = HeaderMap::new();
        headers.insert(ORIGIN, "http://evil.example".parse().unwrap());
        let error = Origins::new(Vec::new()).check(&headers).unwrap_err();
        assert_eq!(error.status, StatusCode::FORBIDDEN);
        assert!(error.message.contains("evil.example"), "{}", error.message);
        assert!(error.message.contains("cors.allowed_origins"), "{}", error.message);
    }
}
