//! The questions over HTTP, and how they end.
//!
//! | status | when |
//! |---|---|
//! | 400 | the body is no document, or makes no sense, or too much would be set |
//! | 404 | nothing is set |
//! | 409 | others change it all the time, so that a patch is not made |
//! | 412 | another version holds |
//! | 428 | no version is named |

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use bytes::Bytes;
use http::header::{ETAG, IF_MATCH};
use http::{HeaderMap, HeaderValue, Request, StatusCode};
use kymo_engine::EngineError;
use kymo_store::settings::{Change, Set, Setting};

use super::document::{self, Document};
use super::{patch, rules};
use crate::limits::{OVERRIDES_MAX_BYTES, SETTING_TRIES};
use crate::parameters::Parameters;
use crate::question;
use crate::reply::typed;
use crate::router::Shared;
use crate::tempo::asked::{Failed, Unanswered};
use crate::tenant;

/// Says that nothing must be set yet.
const UNSET: u64 = 0;

/// Who asks, and what.
struct Asked {
    tenant: String,
    headers: HeaderMap,
    parameters: Parameters,
    body: Body,
}

impl Asked {
    fn new(request: Request<Body>) -> Result<Self, Unanswered> {
        let (head, body) = request.into_parts();
        let parameters = Parameters::of(&head.uri)?;
        // Tempo checks settings against those of its administrator. There are none to check
        // against here, but who says it wrong is told.
        parameters.switch("skip-conflicting-overrides-check")?;
        let tenant = tenant::of(&head.headers)?.to_owned();
        Ok(Self { tenant, headers: head.headers, parameters, body })
    }

    /// The version that a change is made to.
    fn version(&self) -> Result<u64, Failed> {
        let Some(named) = self.headers.get(IF_MATCH).filter(|named| !named.is_empty()) else {
            let message = "must specify If-Match header: the ETag of what is there, 0 for nothing";
            return Err(Failed::Refused(StatusCode::PRECONDITION_REQUIRED, message.to_owned()));
        };
        let text = named.to_str().ok().map(|text| text.trim().trim_matches('"'));
        text.and_then(|text| text.parse().ok()).ok_or_else(|| {
            let message = format!("If-Match: {named:?} is no version: an ETag from here is");
            Failed::Refused(StatusCode::PRECONDITION_FAILED, message)
        })
    }
}

/// What is set; with `scope=merged`, what holds.
pub(super) async fn get(State(shared): State<Shared>, request: Request<Body>) -> Response {
    let answered = async {
        let asked = Asked::new(request)?;
        let is_merged = match asked.parameters.get("scope") {
            None | Some("api") => false,
            Some("merged") => true,
            Some(scope) => {
                let message = format!("unknown scope {scope:?}, it can be api or merged");
                return Err(message.into());
            }
        };
        let Some(set) = shared.engine.setting(&asked.tenant, Setting::Overrides).await? else {
            return Err(none_set());
        };
        let mut shown = current(&set)?.json();
        if is_merged {
            let mut merged = document::defaults();
            patch::merge(&mut merged, shown);
            shown = merged;
        }
        Ok(versioned(set.version, typed(StatusCode::OK, "application/json", shown.to_string())))
    };
    ended(&shared, answered).await
}

/// Sets all of it.
pub(super) async fn replace(State(shared): State<Shared>, request: Request<Body>) -> Response {
    let answered = async {
        let asked = Asked::new(request)?;
        let version = asked.version()?;
        let (text, _reservation) =
            question::read_body(&shared, asked.body, OVERRIDES_MAX_BYTES).await?;
        let body = Some(checked(&shared, move || Document::read(&text)).await?);
        let change = shared.engine.set(&asked.tenant, Setting::Overrides, version, body).await?;
        match change {
            Change::Done(version) => Ok(versioned(version, Response::new(Body::empty()))),
            Change::Conflict(version) => Err(another_holds(version)),
        }
    };
    ended(&shared, answered).await
}

/// Changes some of it, whatever version holds.
pub(super) async fn change(State(shared): State<Shared>, request: Request<Body>) -> Response {
    let answered = async {
        let asked = Asked::new(request)?;
        let (text, _reservation) =
            question::read_body(&shared, asked.body, OVERRIDES_MAX_BYTES).await?;
        for _ in 0..SETTING_TRIES {
            let set = shared.engine.setting(&asked.tenant, Setting::Overrides).await?;
            let version = set.as_ref().map_or(UNSET, |set| set.version);
            let before = set.map_or(Ok(Document::default()), |set| current(&set))?;
            let text = text.clone();
            let shown = checked(&shared, move || before.changed(&text)).await?;
            let body = Some(shown.clone());
            let change =
                shared.engine.set(&asked.tenant, Setting::Overrides, version, body).await?;
            if let Change::Done(version) = change {
                let response = typed(StatusCode::OK, "application/json", shown);
                return Ok(versioned(version, response));
            }
        }
        let message = "others have changed the overrides meanwhile, several times: try again";
        Err(Failed::Refused(StatusCode::CONFLICT, message.to_owned()))
    };
    ended(&shared, answered).await
}

/// Sets nothing any more.
pub(super) async fn delete(State(shared): State<Shared>, request: Request<Body>) -> Response {
    let answered = async {
        let asked = Asked::new(request)?;
        let version = asked.version()?;
        let change = match version {
            UNSET => match shared.engine.setting(&asked.tenant, Setting::Overrides).await? {
                Some(set) => Change::Conflict(set.version),
                None => Change::Conflict(UNSET),
            },
            _ => shared.engine.set(&asked.tenant, Setting::Overrides, version, None).await?,
        };
        match change {
            Change::Done(_) => Ok(Response::new(Body::empty())),
            Change::Conflict(UNSET) => Err(none_set()),
            Change::Conflict(version) => Err(another_holds(version)),
        }
    };
    ended(&shared, answered).await
}

/// Waits for an answer, and counts it.
async fn ended(
    shared: &Shared,
    answered: impl Future<Output = Result<Response, Failed>>,
) -> Response {
    question::counted(shared, "overrides", async { answered.await.or_else(Failed::told) }).await
}

/// Reads a document, looks whether it makes sense, and writes it as it is kept. Not here, where it
/// would delay others.
async fn checked(
    shared: &Shared,
    read: impl FnOnce() -> Result<Document, String> + Send + 'static,
) -> Result<Bytes, Unanswered> {
    let checked = shared.read(move || {
        let document = read()?;
        rules::check(&document)?;
        let text = document.json().to_string();
        match text.len() > OVERRIDES_MAX_BYTES {
            true => Err(format!("overrides: more than {OVERRIDES_MAX_BYTES} bytes would be set")),
            false => Ok(Bytes::from(text)),
        }
    });
    Ok(checked.await??)
}

/// What is set.
fn current(set: &Set) -> Result<Document, Unanswered> {
    Document::read(&set.body).map_err(|error| {
        let message =
            format!("what is stored cannot be read, perhaps it is of a newer kymo: {error}");
        Unanswered::Engine(EngineError::Internal(message))
    })
}

/// With the version, as Tempo writes it: bare.
fn versioned(version: u64, mut response: Response) -> Response {
    response.headers_mut().insert(ETAG, HeaderValue::from(version));
    response
}

fn none_set() -> Failed {
    Failed::Refused(StatusCode::NOT_FOUND, "no overrides are set for this tenant\n".to_owned())
}

fn another_holds(version: u64) -> Failed {
    let message = match version {
        UNSET => "version does not match: nothing is set, which is 0".to_owned(),
        version => format!("version does not match: {version} holds; look at it, then try again"),
    };
    Failed::Refused(StatusCode::PRECONDITION_FAILED, message)
}
