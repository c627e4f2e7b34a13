//! Versions of the protocol, and what a request has to say about itself in each.
//!
//! Until 2025-11-25 a client begins with `initialize`, which agrees on a version; a header repeats it
//! from 2025-06-18 on. Since 2026-07-28 there is no such beginning: every request has its version in
//! `_meta`, and headers repeat version, method and name, so that proxies need not read bodies. They
//! must agree: a proxy that goes by the headers is not to be led past.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderMap, StatusCode};
use serde_json::{Value, json};

use super::message::{Params, RpcError, code};
use crate::limits::MCP_FRESH_FOR;
use crate::parameters::quoted;

/// The header that names the version.
const HEADER: &str = "mcp-protocol-version";

const META_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const META_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
const META_SERVER: &str = "io.modelcontextprotocol/serverInfo";

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Version {
    March2025,
    June2025,
    November2025,
    July2026,
}

impl Version {
    /// All, the newest first.
    const ALL: [Self; 4] = [Self::July2026, Self::November2025, Self::June2025, Self::March2025];
    /// That of a request that names none, as the protocol has it.
    pub(super) const ASSUMED: Self = Self::March2025;

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::March2025 => "2025-03-26",
            Self::June2025 => "2025-06-18",
            Self::November2025 => "2025-11-25",
            Self::July2026 => "2026-07-28",
        }
    }

    pub(super) fn names() -> Vec<&'static str> {
        Self::ALL.map(Self::name).to_vec()
    }

    fn of_name(name: &str) -> Result<Self, RpcError> {
        Self::ALL.into_iter().find(|version| version.name() == name).ok_or_else(|| {
            let message = format!("version {} of the protocol is not known here", quoted(name));
            let mut error = refusal(code::UNSUPPORTED_VERSION, message);
            error.data = Some(json!({ "supported": Self::names(), "requested": name }));
            error
        })
    }

    /// The version that `initialize` agrees on: the one that is asked for, or the newest that has
    /// `initialize`.
    pub(super) fn agreed(asked: &str) -> Self {
        let is_agreed = |version: &Self| version.name() == asked && !version.is_stateless();
        Self::ALL.into_iter().find(is_agreed).unwrap_or(Self::November2025)
    }

    /// Whether every request speaks for itself.
    pub(super) fn is_stateless(self) -> bool {
        self >= Self::July2026
    }

    pub(super) fn takes_batches(self) -> bool {
        self == Self::March2025
    }

    /// A result with what this version wants in it.
    pub(super) fn complete(self, mut result: Value, server: Value) -> Value {
        if self.is_stateless() {
            result["resultType"] = json!("complete");
            result["_meta"][META_SERVER] = server;
        }
        result
    }

    /// The same, of a result that is the same for all until the server is another.
    pub(super) fn lasting(self, mut result: Value) -> Value {
        if self.is_stateless() {
            result["ttlMs"] = json!(MCP_FRESH_FOR.as_millis() as u64);
            result["cacheScope"] = json!("public");
        }
        result
    }
}

/// An error that is a status too.
fn refusal(code: i32, message: String) -> RpcError {
    RpcError::new(code, message).with_status(StatusCode::BAD_REQUEST)
}

/// The version that the header names.
pub(super) fn named(headers: &HeaderMap) -> Result<Option<Version>, RpcError> {
    let Some(value) = headers.get(HEADER) else { return Ok(None) };
    Version::of_name(&String::from_utf8_lossy(value.as_bytes())).map(Some)
}

/// The version that a request is written in, if it says what that version asks for.
pub(super) fn of_request(
    headers: &HeaderMap,
    method: &str,
    params: &Params,
) -> Result<Version, RpcError> {
    let version = of(named(headers)?, method, params)?;
    check_headers(version, headers, method, params)?;
    Ok(version)
}

fn of(named: Option<Version>, method: &str, params: &Params) -> Result<Version, RpcError> {
    let meta = params.get("_meta");
    let within = meta.and_then(|meta| meta.get(META_VERSION));
    let version = match (named, within.and_then(Value::as_str)) {
        (Some(named), Some(within)) if named.name() != within => {
            return Err(mismatch(HEADER, named.name(), within));
        }
        (None, Some(within)) => return Err(mismatch(HEADER, "", within)),
        (Some(named), None) if named.is_stateless() => {
            return Err(refusal(
                code::INVALID_PARAMS,
                format!("_meta lacks {META_VERSION}, which {method} must have in {}", named.name()),
            ));
        }
        (named, _) => named.unwrap_or(Version::ASSUMED),
    };
    let has_capabilities =
        meta.and_then(|meta| meta.get(META_CAPABILITIES)).is_some_and(Value::is_object);
    if version.is_stateless() && !has_capabilities {
        let message = format!("_meta lacks {META_CAPABILITIES}, an object");
        return Err(refusal(code::INVALID_PARAMS, message));
    }
    Ok(version)
}

/// Whether the headers say the same as the request.
fn check_headers(
    version: Version,
    headers: &HeaderMap,
    method: &str,
    params: &Params,
) -> Result<(), RpcError> {
    if !version.is_stateless() {
        return Ok(());
    }
    check_header(headers, "mcp-method", method)?;
    let name = match method {
        "tools/call" => params.get("name"),
        "resources/read" => params.get("uri"),
        _ => return Ok(()),
    };
    // A request without its name is refused where the name is used.
    name.and_then(Value::as_str).map_or(Ok(()), |name| check_header(headers, "mcp-name", name))
}

fn check_header(headers: &HeaderMap, header: &str, expected: &str) -> Result<(), RpcError> {
    let value = headers.get(header).map_or(&b""[..], |value| value.as_bytes());
    match decoded(value) {
        Some(text) if text == expected => Ok(()),
        _ => Err(mismatch(header, &String::from_utf8_lossy(value), expected)),
    }
}

/// What a header means: texts that are not plain ASCII come as `=?base64?…?=`.
fn decoded(value: &[u8]) -> Option<String> {
    let packed = value.strip_prefix(b"=?base64?").and_then(|rest| rest.strip_suffix(b"?="));
    let bytes = match packed {
        Some(packed) => STANDARD.decode(packed).ok()?,
        None if value.is_ascii() => value.to_vec(),
        None => return None,
    };
    String::from_utf8(bytes).ok()
}

fn mismatch(header: &str, value: &str, expected: &str) -> RpcError {
    let (value, expected) = (quoted(value), quoted(expected));
    let message = format!("the header {header} is {value}, where the request has {expected}");
    refusal(code::HEADER_MISMATCH, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        pairs.iter().map(|&(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
    }

    fn params(value: Value) -> Params {
        value.as_object().unwrap().clone()
    }

    fn stateless(version: &str) -> Params {
        params(json!({"_meta": {META_VERSION: version, META_CAPABILITIES: {}}}))
    }

    #[test]
    fn a_header_names_the_version_and_none_is_the_oldest() {
        assert_eq!(named(&HeaderMap::new()), Ok(None));
        for version in Version::ALL {
            assert_eq!(named(&headers(&[(HEADER, version.name())])), Ok(Some(version)));
        }
        assert_eq!(of(None, "ping", &Params::new()), Ok(Version::March2025));
        assert_eq!(of(Some(Version::June2025), "ping", &Params::new()), Ok(Version::June2025));
    }

    #[test]
    fn an_unknown_version_is_refused_with_those_that_are_known() {
        let error = named(&headers(&[(HEADER, "1900-01-01")])).unwrap_err();
        assert_eq!((error.code, error.status), (-32022, StatusCode::BAD_REQUEST));
        let known = json!(["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26"]);
        assert_eq!(error.data, Some(json!({"supported": known, "requested": "1900-01-01"})));
    }

    #[test]
    fn initialize_agrees_on_a_version_that_has_it() {
        assert_eq!(Version::agreed("2025-03-26"), Version::March2025);
        assert_eq!(Version::agreed("2025-06-18"), Version::June2025);
        for other in ["2026-07-28", "2024-11-05", "2099-01-01", ""] {
            assert_eq!(Version::agreed(other), Version::November2025, "{other}");
        }
    }

    #[test]
    fn a_stateless_request_says_all_about_itself() {
        let newest = Some(Version::July2026);
        let of = |named, params: &Params| of(named, "tools/list", params);
        assert_eq!(of(newest, &stateless("2026-07-28")), Ok(Version::July2026));
        for (named, params, code) in [
            (None, stateless("2026-07-28"), -32020),
            (Some(Version::June2025), stateless("2026-07-28"), -32020),
            (newest, stateless("2025-06-18"), -32020),
            (newest, Params::new(), -32602),
            (newest, params(json!({"_meta": {META_VERSION: "2026-07-28"}})), -32602),
        ] {
            let error = of(named, &params).unwrap_err();
            assert_eq!((error.code, error.status), (code, StatusCode::BAD_REQUEST), "{params:?}");
        }
    }

    #[test]
    fn headers_of_a_stateless_request_repeat_method_and_name() {
        let call = params(json!({"name": "get-trace"}));
        let check = |version, pairs: &[(&'static str, &str)], method, params: &Params| {
            check_headers(version, &headers(pairs), method, params).map_err(|error| error.code)
        };
        let newest = Version::July2026;
        let named = [("mcp-method", "tools/call"), ("mcp-name", "get-trace")];
        assert_eq!(check(newest, &named, "tools/call", &call), Ok(()));
        let packed = [("mcp-method", "tools/call"), ("mcp-name", "=?base64?Z2V0LXRyYWNl?=")];
        assert_eq!(check(newest, &packed, "tools/call", &call), Ok(()));
        assert_eq!(check(newest, &named[..1], "tools/list", &Params::new()), Err(-32020));
        assert_eq!(check(newest, &[], "tools/list", &Params::new()), Err(-32020));
        assert_eq!(check(newest, &named[..1], "tools/call", &call), Err(-32020));
        let other = params(json!({"name": "sql"}));
        assert_eq!(check(newest, &named, "tools/call", &other), Err(-32020));
        assert_eq!(check(Version::June2025, &[], "tools/call", &call), Ok(()));
        let read = params(json!({"uri": "docs://sql"}));
        let named = [("mcp-method", "resources/read"), ("mcp-name", "docs://sql")];
        assert_eq!(check(newest, &named, "resources/read", &read), Ok(()));
    }

    #[test]
    fn results_have_more_in_them_where_there_is_no_beginning() {
        let (result, server) = (json!({"tools": []}), json!({"name": "x"}));
        for old in [Version::March2025, Version::November2025] {
            assert_eq!(old.complete(old.lasting(result.clone()), server.clone()), result);
        }
        let newest = Version::July2026;
        let result = newest.complete(newest.lasting(result), server);
        assert_eq!(
            result,
            json!({
                "tools": [], "resultType": "complete", "ttlMs": 3_600_000, "cacheScope": "public",
                "_meta": {META_SERVER: {"name": "x"}},
            })
        );
    }
}
