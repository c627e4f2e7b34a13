//! Short links: an address of a page that is too long to be passed on, kept under a code.
//!
//! | path | what |
//! |---|---|
//! | `POST /api/links` `{"path": "/traces?q=…"}` | `{"code": "…"}`, the same for the same path |
//! | `GET /api/links/{code}` | `{"path": "/traces?q=…"}` |
//!
//! The page at `/s/{code}` asks for it and goes there. A link leads to pages of this server only, and
//! nowhere else as long as it is kept.
//!
//! Links are kept in buckets, by how their codes begin (`docs/formats/settings.md`). To keep one is to
//! write its bucket anew, whatever others there are, and a bucket that is full lets go of its oldest: who
//! makes links without end takes no more room, and nobody is refused for want of it.

use axum::extract::rejection::JsonRejection;
use axum::extract::{DefaultBodyLimit, Path, State};
use axum::response::Response;
use axum::routing::{get, post};
use axum::{Json, Router};
use kymo_store::settings::{Change, Setting};
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::Page;
use crate::answer::{Failed, Whose, json, one_tenant};

/// Bytes of an address: browsers and proxies take 8 kB or more in one line, and dashboards with many
/// variables come near that.
const MAX_PATH_BYTES: usize = 32 << 10;
/// Letters and digits that nobody takes for one another.
const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
/// Characters of a code: 50 bits, so that no two of so many links are likely to share one.
const CODE_CHARS: usize = 10;
/// Characters of a code that say which bucket it is in: a tenant has 1,024, each a file of its own.
const BUCKET_CHARS: usize = 2;
/// Links of a bucket: 20,480 of a tenant, so that who makes some each day finds those of years.
const MAX_BUCKET_LINKS: usize = 20;
/// Bytes of the addresses of a bucket, which is written whole for each, and kept as it was 16 times: at
/// worst a gibibyte of a tenant.
const MAX_BUCKET_BYTES: usize = 2 * MAX_PATH_BYTES;
/// Codes that are tried for a path whose first one is taken.
const CODE_TRIES: u64 = 4;
/// How often a bucket that others change at the same time is looked at again.
const CHANGE_TRIES: usize = 5;

/// A link as it is sent and told. Before there were buckets, it was kept so, under its code.
#[derive(Debug, Serialize, Deserialize)]
struct Link {
    path: String,
}

#[derive(Debug, Serialize)]
struct Code {
    code: String,
}

/// Links that are kept together, those first that were asked for longest ago.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Bucket {
    links: Vec<KeptLink>,
}

/// A link as it is kept.
#[derive(Debug, Serialize, Deserialize)]
struct KeptLink {
    code: String,
    path: String,
}

impl Bucket {
    fn find(&self, code: &str) -> Option<&KeptLink> {
        self.links.iter().find(|link| link.code == code)
    }

    /// Takes in a link as the newest, and lets go of the oldest that there is no room for.
    fn take_in(&mut self, link: KeptLink) {
        self.links.retain(|other| other.code != link.code);
        self.links.push(link);
        while self.links.len() > MAX_BUCKET_LINKS || self.bytes() > MAX_BUCKET_BYTES {
            self.links.remove(0);
        }
    }

    fn bytes(&self) -> usize {
        self.links.iter().map(|link| link.path.len()).sum()
    }
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
    for seed in 0..CODE_TRIES {
        let code = code_of(&link.path, seed);
        if keep(&page, tenant, &code, &link.path).await? {
            return json(&Code { code });
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
            let (_, bucket) = bucket(&page, tenant, &code).await?;
            if let Some(KeptLink { path, .. }) = bucket.find(&code) {
                return json(&Link { path: path.clone() });
            }
            if let Some(link) = alone(&page, tenant, &code).await? {
                return json(&link);
            }
        }
    }
    Err(Failed::Unknown(format!(
        "there is no short link {code:?}: it may have been copied in part, belong to another tenant, or \
         have gone when many newer ones were made"
    )))
}

/// Keeps a link under a code; false if that leads elsewhere.
async fn keep(page: &Page, tenant: &str, code: &str, path: &str) -> Result<bool, Failed> {
    if let Some(link) = alone(page, tenant, code).await? {
        return Ok(link.path == path);
    }
    for _ in 0..CHANGE_TRIES {
        let (version, mut bucket) = bucket(page, tenant, code).await?;
        if bucket.find(code).is_some_and(|link| link.path != path) {
            return Ok(false);
        }
        if bucket.links.last().is_some_and(|newest| newest.code == code) {
            return Ok(true);
        }
        bucket.take_in(KeptLink { code: code.to_owned(), path: path.to_owned() });
        let body = serde_json::to_vec(&bucket);
        let body = body.map_err(|error| Failed::Internal(error.to_string()))?;
        let setting = Setting::Link(bucket_of(code).to_owned());
        match page.engine.set(tenant, setting, version, Some(body.into())).await? {
            Change::Done(_) => return Ok(true),
            Change::Conflict(_) => {}
        }
    }
    let why = "many links are made at once: try again, or copy the long address".to_owned();
    Err(Failed::Conflict(why))
}

/// How a code begins, which is the name of its bucket.
fn bucket_of(code: &str) -> &str {
    code.get(..BUCKET_CHARS).unwrap_or(code)
}

/// The bucket of a code, and its version; an empty one, of version 0, if there is none.
async fn bucket(page: &Page, tenant: &str, code: &str) -> Result<(u64, Bucket), Failed> {
    let name = bucket_of(code);
    let set = page.engine.setting(tenant, Setting::Link(name.to_owned())).await?;
    let Some(set) = set else { return Ok((0, Bucket::default())) };
    let bucket = serde_json::from_slice(&set.body).map_err(|error| damaged(name, &error))?;
    Ok((set.version, bucket))
}

/// A link that was kept before there were buckets.
async fn alone(page: &Page, tenant: &str, code: &str) -> Result<Option<Link>, Failed> {
    let set = page.engine.setting(tenant, Setting::Link(code.to_owned())).await?;
    let link = set.map(|set| serde_json::from_slice(&set.body)).transpose();
    link.map_err(|error| damaged(code, &error))
}

fn damaged(name: &str, error: &serde_json::Error) -> Failed {
    Failed::Internal(format!("what is kept of short links as {name} is damaged: {error}"))
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
    use kymo_store::settings::Family;
    use serde_json::json;

    use super::*;
    use crate::tested::Place;

    /// How many settings hold links.
    async fn settings(place: &Place) -> usize {
        place.page.engine.settings_of("default", Family::Links).await.unwrap().len()
    }

    async fn shortened(place: &Place, path: &str) -> String {
        let (status, made) = place.post("/api/links", &json!({"path": path})).await;
        assert_eq!(status, StatusCode::OK, "{made}");
        made["code"].as_str().unwrap().to_owned()
    }

    /// Paths whose links are in one bucket, longer by some characters than they had to be.
    fn neighbours(longer: usize) -> impl Iterator<Item = String> {
        let filling = "x".repeat(longer);
        let paths = (0..).map(move |nth| format!("/traces?q={nth}{filling}"));
        paths.filter(|path| code_of(path, 0).starts_with("0k"))
    }

    #[tokio::test]
    async fn a_link_leads_back_to_its_page_and_is_kept_once() {
        let place = Place::new();
        let path = "/d/x?var-a=1&var-a=2&q={ name = \"ü\" }";
        let code = shortened(&place, path).await;
        assert_eq!(shortened(&place, path).await, code);
        assert_eq!(code.len(), CODE_CHARS);
        assert_eq!(place.get(&format!("/api/links/{code}")).await, json!({"path": path}));
        assert_eq!(settings(&place).await, 1);
        let bucket = Setting::Link(bucket_of(&code).to_owned());
        let versions = place.page.engine.setting_versions("default", bucket).await.unwrap();
        assert_eq!(versions, [1]);
    }

    #[tokio::test]
    async fn a_code_that_is_taken_is_passed_over() {
        let place = Place::new();
        let taken = code_of("/traces", 0);
        assert!(keep(&place.page, "default", &taken, "/live").await.unwrap());
        assert!(!keep(&place.page, "default", &taken, "/ci").await.unwrap());
        assert_eq!(shortened(&place, "/traces").await, code_of("/traces", 1));
    }

    #[tokio::test]
    async fn where_there_is_no_room_the_link_goes_that_was_asked_for_longest_ago() {
        let place = Place::new();
        let paths: Vec<String> = neighbours(0).take(MAX_BUCKET_LINKS + 1).collect();
        for path in &paths[..MAX_BUCKET_LINKS] {
            shortened(&place, path).await;
        }
        // The first is asked for again, so that the second is the oldest.
        shortened(&place, &paths[0]).await;
        shortened(&place, &paths[MAX_BUCKET_LINKS]).await;
        for (nth, path) in paths.iter().enumerate() {
            let (status, told) = place.ask(&format!("/api/links/{}", code_of(path, 0))).await;
            let expected = if nth == 1 { StatusCode::NOT_FOUND } else { StatusCode::OK };
            assert_eq!(status, expected, "{nth}: {told}");
        }
        assert_eq!(settings(&place).await, 1, "each is written beside its neighbours");
    }

    #[tokio::test]
    async fn long_addresses_take_no_more_room_than_short_ones() {
        let place = Place::new();
        let paths: Vec<String> = neighbours(MAX_PATH_BYTES / 2).take(4).collect();
        for path in &paths {
            shortened(&place, path).await;
        }
        let (_, bucket) = bucket(&place.page, "default", "0k").await.unwrap();
        assert_eq!(bucket.links.len(), 3);
        assert_eq!(bucket.links[2].path, paths[3]);
    }

    #[tokio::test]
    async fn links_that_are_made_at_once_are_all_kept() {
        let place = Place::new();
        let paths: Vec<String> = neighbours(0).take(3).collect();
        let made = paths.iter().map(|path| shortened(&place, path));
        for (path, code) in paths.iter().zip(futures::future::join_all(made).await) {
            assert_eq!(place.get(&format!("/api/links/{code}")).await, json!({"path": path}));
        }
    }

    #[tokio::test]
    async fn a_link_of_before_there_were_buckets_still_leads_to_its_page() {
        let place = Place::new();
        let code = code_of("/traces", 0);
        let setting = Setting::Link(code.clone());
        let body = Some(r#"{"path": "/traces"}"#.into());
        place.page.engine.set("default", setting, 0, body).await.unwrap();
        assert_eq!(place.get(&format!("/api/links/{code}")).await, json!({"path": "/traces"}));
        assert_eq!(shortened(&place, "/traces").await, code);
        assert_eq!(settings(&place).await, 1);
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
