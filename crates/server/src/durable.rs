//! Documents of the whole server that are changed while it runs: tokens, and flags of the audience.
//!
//! They are settings of the store, the same for all nodes (`docs/formats/settings.md`). A change is
//! made to what holds and written as the next version. Who was slower makes it anew. What was made
//! durable is put in force, also if whoever asked has gone meanwhile.

use std::future::Future;

use axum::response::Response;
use bytes::Bytes;
use http::StatusCode;
use kymo_engine::{Engine, EngineError};
use kymo_store::settings::{Change, SERVER, Setting};

use crate::limits::SETTING_TRIES;
use crate::reply::json_error;

/// What holds, and its version; 0 if nothing was ever set.
pub(crate) async fn get(
    engine: &Engine,
    setting: Setting,
) -> Result<(u64, Option<Bytes>), EngineError> {
    let set = engine.setting(SERVER, setting).await?;
    Ok(set.map_or((0, None), |set| (set.version, Some(set.body))))
}

/// Makes a change apart from the connection that asked for it: a handler is dropped with its
/// connection, and would leave a change that is durable and not in force.
pub(crate) async fn apart(change: impl Future<Output = Response> + Send + 'static) -> Response {
    match tokio::spawn(change).await {
        Ok(response) => response,
        Err(error) => {
            tracing::error!(%error, "a change of settings broke off");
            let message = "the change broke off; look at what holds now, and try again";
            json_error(StatusCode::INTERNAL_SERVER_ERROR, message)
        }
    }
}

/// Makes a change. `change` gets what holds and gives the new document, and whatever the caller
/// wants to know of it; it may be asked again. What it refuses is the answer.
pub(crate) async fn change<T>(
    engine: &Engine,
    setting: Setting,
    mut change: impl FnMut(Option<&[u8]>) -> Result<(Vec<u8>, T), Box<Response>>,
) -> Result<T, Box<Response>> {
    let unavailable = |error: EngineError| {
        Box::new(json_error(StatusCode::SERVICE_UNAVAILABLE, &error.to_string()))
    };
    for _ in 0..SETTING_TRIES {
        let (version, body) = get(engine, setting.clone()).await.map_err(unavailable)?;
        let (document, made) = change(body.as_deref())?;
        let set = engine.set(SERVER, setting.clone(), version, Some(document.into())).await;
        if let Change::Done(_) = set.map_err(unavailable)? {
            return Ok(made);
        }
    }
    Err(Box::new(json_error(StatusCode::CONFLICT, "others change it all the time; try again")))
}
