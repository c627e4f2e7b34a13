//! Short links: an address of a page that is too long to be passed on, kept under a code.
//!
//! | path | what |
//! |---|---|
//! | `POST /api/links` `{"path": "/traces?q=…"}` | `{"code": "…"}`, the same for the same path |
//! | `GET /api/links/{code}` | `{"path": "/traces?q=…"}` |
//!
//! The page at `/s/{code}` asks for it and goes there. A link never changes, and leads to pages of this
//! server only.

use axum::extract::rejection::JsonRejection;
use axum::extract::{DefaultBodyLimit, Path, State};
use axum::response::Response;
use axum::routing::{get, post};
use axum::{Json, Router};
use kymo_store::settings::{Change, Family, Setting};
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::Page;
use crate::answer::{Failed, Whose, json, one_tenant};

/// Links of a tenant that are kept. Each takes a file of its own, and to find whether there is room
/// means to list them all.
const MAX_LINKS: usize = 20_000;
/// Bytes of an address: browsers and proxies take 8 kB or more in one line, and dashboards with many
/// variables come near that.
const MAX_PATH_BYTES: usize = 32 << 10;
/// Letters and digits that nobody takes for one another.
const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
/// Characters of a code: 50 bits, so that no two of so many links are likely to share one.
const CODE_CHARS: usize = 10;
/// Codes that are tried for a path whose first one is taken.
const TRIES: u64 = 4;

/// A link as it is sent, kept and told.
#[derive(Debug, Serialize, Deserialize)]
struct Link {
    path: String,
}

#[derive(Debug, Serialize)]
struct Code {
    code: String,
}

pub(crate) fn over_http() -> Router<Page> {
    let posted = post(shorten).layer(DefaultBodyLimit::max(2 * MAX_PATH_BYTES));
    Router::new().route("/api/links", posted).route("/api/links/{code}", get(find))
}

async fn shorten(
    State(page): State<Page>,
    Whose(tenants): Whose,
    link: Result<Json<Link>, JsonRejection>,
) -> Result<Response, Failed> {
    let Json(link) = link?;
    check(&link.path)?;
    let tenant = one_tenant(&tenants, "a link")?;
    for seed in 0..TRIES {
        let code = code_of(&link.path, seed);
        match read(&page, tenant, &code).await? {
            Some(kept) if kept.path == link.path => return json(&Code { code }),
            Some(_) => {}
            None => {
                if keep(&page, tenant, &code, &link).await? {
                    return json(&Code { code });
                }
            }
        }
    }
    Err(Failed::Conflict("no code is free for this address: copy the long one".to_owned()))
}

async fn find(
    State(page): State<Page>,
    Whose(tenants): Whose,
    Path(code): Path<String>,
) -> Result<Response, Failed> {
    let is_code = code.len() == CODE_CHARS && code.bytes().all(|byte| ALPHABET.contains(&byte));
    if is_code {
        for tenant in tenants.names() {
            if let Some(link) = read(&page, tenant, &code).await? {
                return json(&link);
            }
        }
    }
    Err(Failed::Unknown(format!(
        "there is no short link {code:?}: it may have been copied in part, or belong to another tenant"
    )))
}

/// Writes a link that is not there; false if somebody else took its code meanwhile for another.
async fn keep(page: &Page, tenant: &str, code: &str, link: &Link) -> Result<bool, Failed> {
    let count = page.engine.settings_of(tenant, Family::Links).await?.len();
    if count >= MAX_LINKS {
        return Err(Failed::TooLarge(format!(
            "there are {count} short links, and no more are kept: copy the long one"
        )));
    }
    let body = serde_json::to_vec(link).map_err(|error| Failed::Internal(error.to_string()))?;
    let setting = Setting::Link(code.to_owned());
    match page.engine.set(tenant, setting, 0, Some(body.into())).await? {
        Change::Done(_) => Ok(true),
        Change::Conflict(_) => {
            let kept = read(page, tenant, code).await?;
            Ok(kept.is_some_and(|kept| kept.path == link.path))
        }
    }
}

async fn read(page: &Page, tenant: &str, code: &str) -> Result<Option<Link>, Failed> {
    let set = page.engine.setting(tenant, Setting::Link(code.to_owned())).await?;
    let link = set.map(|set| serde_json::from_slice(&set.body)).transpose();
    link.map_err(|error| Failed::Internal(format!("the short link {code} is damaged: {error}")))
}

/// Refuses what is no address of a page here: a browser takes `//host` and `/\host` for other servers.
fn check(path: &str) -> Result<(), Failed> {
    let rest = path.strip_prefix('/').filter(|rest| !rest.starts_with(['/', '\\']));
    if rest.is_none() || path.chars().any(char::is_control) {
        let message = "path is no address of a page: expected one such as /traces?q=…".to_owned();
        return Err(Failed::Invalid(message));
    }
    if path.len() > MAX_PATH_BYTES {
        let message = format!("path has {} bytes, at most {MAX_PATH_BYTES} are kept", path.len());
        return Err(Failed::TooLarge(message));
    }
    Ok(())
}

fn code_of(path: &str, seed: u64) -> String {
    let hash = xxh3_64_with_seed(path.as_bytes(), seed);
    let digit = |at: usize| char::from(ALPHABET[(hash >> (5 * at)) as usize % ALPHABET.len()]);
    (0..CODE_CHARS).map(digit).collect()
}

#[cfg(test)]
mod tests {
    use http::StatusCode;
    use serde_json::json;

    use super::*;
    use crate::tested::Place;

    #[tokio::test]
    async fn a_link_leads_back_to_its_page_and_is_kept_once() {
        let place = Place::new();
        let path = "/d/x?var-a=1&var-a=2&q={ name = \"ü\" }";
        let (status, first) = place.post("/api/links", &json!({"path": path})).await;
        assert_eq!(status, StatusCode::OK, "{first}");
        let (_, second) = place.post("/api/links", &json!({"path": path})).await;
        assert_eq!(first, second);
        let code = first["code"].as_str().unwrap();
        assert_eq!(code.len(), CODE_CHARS);
        assert_eq!(place.get(&format!("/api/links/{code}")).await, json!({"path": path}));
        assert_eq!(place.page.engine.settings_of("default", Family::Links).await.unwrap().len(), 1);
    }

    #[tokio::test]
    async fn a_code_that_is_taken_is_passed_over() {
        let place = Place::new();
        let taken = code_of("/traces", 0);
        let other = Link { path: "/live".to_owned() };
        assert!(keep(&place.page, "default", &taken, &other).await.unwrap());
        assert!(!keep(&place.page, "default", &taken, &Link { path: "/ci".into() }).await.unwrap());
        let (_, made) = place.post("/api/links", &json!({"path": "/traces"})).await;
        assert_eq!(made["code"], code_of("/traces", 1));
    }

    #[tokio::test]
    async fn links_lead_nowhere_else() {
        let place = Place::new();
        let long = format!("/{}", "x".repeat(MAX_PATH_BYTES));
        let longer = long.repeat(3);
        for (path, status) in [
            ("", StatusCode::BAD_REQUEST),
            ("traces", StatusCode::BAD_REQUEST),
            ("//evil.example/", StatusCode::BAD_REQUEST),
            ("/\\evil.example/", StatusCode::BAD_REQUEST),
            ("https://evil.example/", StatusCode::BAD_REQUEST),
            ("/\t/evil.example", StatusCode::BAD_REQUEST),
            (long.as_str(), StatusCode::PAYLOAD_TOO_LARGE),
            (longer.as_str(), StatusCode::PAYLOAD_TOO_LARGE),
        ] {
            let (answered, document) = place.post("/api/links", &json!({"path": path})).await;
            assert_eq!(answered, status, "{path:.20}: {document}");
        }
        for code in ["0000000000", "x", "%2e%2e", "0000000000000000000000000000000000"] {
            let (status, _) = place.ask(&format!("/api/links/{code}")).await;
            assert_eq!(status, StatusCode::NOT_FOUND, "{code}");
        }
    }
}
