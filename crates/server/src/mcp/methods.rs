//! What a client may ask: who this is, which tools and documents there are, and what they give.

use serde_json::{Value, json};

use super::ask::Caller;
use super::message::{Params, RpcError, code};
use super::tools::{self, TOOLS};
use super::version::Version;
use super::{guide, message};
use crate::parameters::quoted;

/// What a model is told before it sees any tool.
const INSTRUCTIONS: &str = "\
Traces, logs and metrics of a distributed system, read-only. Begin with get-attribute-names and \
get-attribute-values to learn what is there; resource.service.name lists the services. \
traceql-search finds traces, get-trace shows one, traceql-metrics-instant counts and measures spans. \
Read docs-traceql before the first TraceQL query. sql also reaches logs and metrics, and joins them. \
Searches look at the past hour unless start and end are given. Prefer narrow questions: an answer of \
more than 4 MiB is refused.";

/// Answers a request.
pub(super) async fn answer(
    caller: &mut Caller,
    version: Version,
    method: &str,
    params: &Params,
) -> Result<Value, RpcError> {
    let result = match (method, version.is_stateless()) {
        ("initialize", false) => initialize(params),
        ("ping", false) => json!({}),
        ("server/discover", true) => version.lasting(discover()),
        ("tools/list", _) => version.lasting(list(params, "tools", tools_listed)?),
        ("tools/call", _) => call(caller, params).await?,
        ("resources/list", _) => version.lasting(list(params, "resources", guide::listed)?),
        ("resources/templates/list", _) => {
            version.lasting(list(params, "resourceTemplates", Vec::new)?)
        }
        ("resources/read", _) => version.lasting(read(version, params)?),
        _ => return Err(unknown_method(version, method)),
    };
    Ok(version.complete(result, server()))
}

fn unknown_method(version: Version, method: &str) -> RpcError {
    let message = format!("there is no method {} in {}", quoted(method), version.name());
    let error = RpcError::new(code::METHOD_NOT_FOUND, message);
    match version.is_stateless() {
        true => error.with_status(http::StatusCode::NOT_FOUND),
        false => error,
    }
}

fn server() -> Value {
    json!({ "name": "kymograph", "title": "Kymograph", "version": env!("CARGO_PKG_VERSION") })
}

fn capabilities() -> Value {
    json!({ "tools": {}, "resources": {} })
}

fn initialize(params: &Params) -> Value {
    let asked = params.get("protocolVersion").and_then(Value::as_str).unwrap_or("");
    json!({
        "protocolVersion": Version::agreed(asked).name(),
        "capabilities": capabilities(),
        "serverInfo": server(),
        "instructions": INSTRUCTIONS,
    })
}

fn discover() -> Value {
    json!({
        "supportedVersions": Version::names(),
        "capabilities": capabilities(),
        "instructions": INSTRUCTIONS,
    })
}

/// A list, which has one page.
fn list(params: &Params, name: &str, items: fn() -> Vec<Value>) -> Result<Value, RpcError> {
    match params.get("cursor") {
        None | Some(Value::Null) => Ok(json!({ name: items() })),
        Some(_) => Err(RpcError::invalid_params("the list has one page and no cursor")),
    }
}

fn tools_listed() -> Vec<Value> {
    TOOLS.iter().map(tools::Tool::listed).collect()
}

async fn call(caller: &mut Caller, params: &Params) -> Result<Value, RpcError> {
    let name = text(params, "name")?;
    let Some(tool) = tools::find(name) else {
        let names: Vec<&str> = TOOLS.iter().map(|tool| tool.name).collect();
        let message = format!("there is no tool {}; there are {}", quoted(name), names.join(", "));
        return Err(RpcError::invalid_params(message));
    };
    let none = message::Params::new();
    let arguments = match params.get("arguments") {
        None | Some(Value::Null) => &none,
        Some(Value::Object(arguments)) => arguments,
        Some(_) => return Err(RpcError::invalid_params("arguments is not an object")),
    };
    // What a tool cannot do is for the model to read, and to do better.
    let (text, is_error) = match tool.call(caller, arguments).await {
        Ok(text) => (text, false),
        Err(message) => (message, true),
    };
    let content = json!([{ "type": "text", "text": text }]);
    Ok(json!({ "content": content, "isError": is_error, "_meta": tool.meta() }))
}

fn read(version: Version, params: &Params) -> Result<Value, RpcError> {
    let uri = text(params, "uri")?;
    let Some(document) = guide::find(uri) else {
        let code = match version.is_stateless() {
            true => code::INVALID_PARAMS,
            false => code::RESOURCE_NOT_FOUND,
        };
        let mut error = RpcError::new(code, format!("there is no resource {}", quoted(uri)));
        error.data = Some(json!({ "uri": uri }));
        return Err(error);
    };
    Ok(json!({ "contents": [document.contents()] }))
}

fn text<'a>(params: &'a Params, name: &str) -> Result<&'a str, RpcError> {
    let text = params.get(name).and_then(Value::as_str);
    text.ok_or_else(|| RpcError::invalid_params(format!("{name}, a text, is missing")))
}
