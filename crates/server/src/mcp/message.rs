//! JSON-RPC 2.0, as the protocol narrows it: ids are texts or whole numbers, parameters have names.

use http::StatusCode;
use serde_json::{Map, Value, json};

/// Parameters of a request.
pub(super) type Params = Map<String, Value>;

/// Codes of JSON-RPC, and those that the protocol adds.
pub(super) mod code {
    pub(crate) const PARSE_ERROR: i32 = -32700;
    pub(crate) const INVALID_REQUEST: i32 = -32600;
    pub(crate) const METHOD_NOT_FOUND: i32 = -32601;
    pub(crate) const INVALID_PARAMS: i32 = -32602;
    pub(crate) const INTERNAL: i32 = -32603;
    /// Until version 2025-11-25.
    pub(crate) const RESOURCE_NOT_FOUND: i32 = -32002;
    pub(crate) const HEADER_MISMATCH: i32 = -32020;
    pub(crate) const UNSUPPORTED_VERSION: i32 = -32022;
}

/// Why a request has no result, with the status that HTTP says it by.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct RpcError {
    pub(super) status: StatusCode,
    pub(super) code: i32,
    pub(super) message: String,
    pub(super) data: Option<Value>,
}

impl RpcError {
    /// One that is an answer like others.
    pub(super) fn new(code: i32, message: impl Into<String>) -> Self {
        Self { status: StatusCode::OK, code, message: message.into(), data: None }
    }

    /// One that HTTP has to say too.
    pub(super) fn with_status(mut self, status: StatusCode) -> Self {
        self.status = status;
        self
    }

    pub(super) fn invalid_request(message: impl Into<String>) -> Self {
        Self::new(code::INVALID_REQUEST, message).with_status(StatusCode::BAD_REQUEST)
    }

    pub(super) fn invalid_params(message: impl Into<String>) -> Self {
        Self::new(code::INVALID_PARAMS, message)
    }

    pub(super) fn internal(message: impl Into<String>) -> Self {
        Self::new(code::INTERNAL, message).with_status(StatusCode::INTERNAL_SERVER_ERROR)
    }

    /// The error as it is sent. Without a request to answer, it has no id.
    pub(super) fn document(&self, id: Option<&Value>) -> Value {
        let mut error = json!({ "code": self.code, "message": self.message });
        if let Some(data) = &self.data {
            error["data"] = data.clone();
        }
        let mut document = json!({ "jsonrpc": "2.0", "error": error });
        if let Some(id) = id {
            document["id"] = id.clone();
        }
        document
    }
}

/// An error, and the request that it answers if that is known.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Refused {
    pub(super) id: Option<Value>,
    pub(super) error: RpcError,
}

impl Refused {
    pub(super) fn document(&self) -> Value {
        self.error.document(self.id.as_ref())
    }
}

impl From<RpcError> for Refused {
    fn from(error: RpcError) -> Self {
        Self { id: None, error }
    }
}

/// A result as it is sent.
pub(super) fn result(id: &Value, result: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "result": result })
}

/// What a body holds.
#[derive(Debug, PartialEq)]
pub(super) enum Incoming {
    Single(Value),
    Batch(Vec<Value>),
}

pub(super) fn parse(body: &[u8]) -> Result<Incoming, RpcError> {
    match serde_json::from_slice(body) {
        Ok(Value::Array(values)) => Ok(Incoming::Batch(values)),
        Ok(value) => Ok(Incoming::Single(value)),
        Err(error) => Err(RpcError::new(code::PARSE_ERROR, format!("not JSON: {error}"))
            .with_status(StatusCode::BAD_REQUEST)),
    }
}

/// A message of a client.
#[derive(Debug, PartialEq)]
pub(super) enum Message {
    Request {
        id: Value,
        method: String,
        params: Params,
    },
    /// A notification, or the answer to a request, of which we make none. Nothing is said to it.
    Silent,
}

impl Message {
    pub(super) fn of(value: Value) -> Result<Self, Refused> {
        let Value::Object(mut message) = value else {
            return Err(RpcError::invalid_request("a message is a JSON object").into());
        };
        let id = message.remove("id");
        let is_id = |id: &Value| id.is_string() || id.is_i64() || id.is_u64();
        let known_id = id.clone().filter(is_id);
        let wrong = |message: &str| {
            let error = RpcError::invalid_request(message);
            Err(Refused { id: known_id.clone(), error })
        };
        if message.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
            return wrong("\"jsonrpc\": \"2.0\" is missing");
        }
        let method = match message.remove("method") {
            Some(Value::String(method)) => method,
            None if message.contains_key("result") || message.contains_key("error") => {
                return Ok(Self::Silent);
            }
            _ => return wrong("the method is missing"),
        };
        let params = match message.remove("params") {
            None | Some(Value::Null) => Params::new(),
            Some(Value::Object(params)) => params,
            Some(_) => return wrong("params is not an object"),
        };
        match (id, known_id.clone()) {
            (None, _) => Ok(Self::Silent),
            (Some(_), Some(id)) => Ok(Self::Request { id, method, params }),
            (Some(_), None) => wrong("an id is a text or a whole number"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(value: Value) -> (Option<Value>, String) {
        let refused = Message::of(value).unwrap_err();
        assert_eq!(refused.error.code, code::INVALID_REQUEST);
        assert_eq!(refused.error.status, StatusCode::BAD_REQUEST);
        (refused.id, refused.error.message)
    }

    #[test]
    fn requests_have_ids_and_others_are_not_answered() {
        let request = json!({"jsonrpc": "2.0", "id": "a", "method": "ping", "params": {"x": 1}});
        let params = json!({"x": 1}).as_object().unwrap().clone();
        let expected = Message::Request { id: json!("a"), method: "ping".to_owned(), params };
        assert_eq!(Message::of(request), Ok(expected));
        for silent in [
            json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
            json!({"jsonrpc": "2.0", "id": 1, "result": {}}),
            json!({"jsonrpc": "2.0", "id": 1, "error": {"code": 1, "message": ""}}),
        ] {
            assert_eq!(Message::of(silent.clone()), Ok(Message::Silent), "{silent}");
        }
    }

    #[test]
    fn what_is_not_json_rpc_is_refused_with_the_id_if_there_is_one() {
        assert!(error(json!("ping")).1.contains("object"));
        assert!(error(json!({"id": 1, "method": "ping"})).1.contains("jsonrpc"));
        assert_eq!(error(json!({"jsonrpc": "2.0", "id": 7})).0, Some(json!(7)));
        for bad_id in [json!(null), json!(1.5), json!([1])] {
            let (id, message) = error(json!({"jsonrpc": "2.0", "id": bad_id, "method": "ping"}));
            assert!(id.is_none() && message.contains("id"), "{message}");
        }
        let listed = json!({"jsonrpc": "2.0", "id": 1, "method": "ping", "params": [1]});
        assert!(error(listed).1.contains("params"));
    }

    #[test]
    fn a_body_is_one_message_or_several() {
        assert_eq!(parse(b" {} "), Ok(Incoming::Single(json!({}))));
        assert_eq!(parse(b"[1, 2]"), Ok(Incoming::Batch(vec![json!(1), json!(2)])));
        for bad in [&b""[..], b"{", b"\xff", &b"[".repeat(100_000)] {
            assert_eq!(parse(bad).unwrap_err().code, code::PARSE_ERROR);
        }
    }

    #[test]
    fn an_error_says_its_code_and_which_request_it_answers() {
        let mut error = RpcError::invalid_params("no");
        assert_eq!(
            error.document(Some(&json!(3))),
            json!({"jsonrpc": "2.0", "id": 3, "error": {"code": -32602, "message": "no"}})
        );
        error.data = Some(json!({"why": 1}));
        let document = error.document(None);
        assert_eq!((document.get("id"), &document["error"]["data"]["why"]), (None, &json!(1)));
    }
}
