//! Names and values of tags, for whoever types a query.
//!
//! | path | answer |
//! |---|---|
//! | `/tempo/api/search/tags` | all names |
//! | `/tempo/api/v2/search/tags` | names by scope |
//! | `/tempo/api/search/tag/{tag}/values` | values of a tag in any scope |
//! | `/tempo/api/v2/search/tag/{attribute}/values` | values with their types |
//!
//! `q` leaves only what spans have that pass a filter. It is read leniently, since it may be half
//! typed.

use std::collections::BTreeSet;
use std::ops::Range;

use axum::body::Body;
use axum::extract::{Path, State};
use axum::response::Response;
use http::{Request, StatusCode};
use kymo_engine::Tenants;
use kymo_engine::traceql::{TagQuery, TagValue};
use kymo_traceql::ast::{Attribute, Intrinsic, Name, Scope};

use super::asked::{self, Asked, Form, Unanswered};
use super::messages::{
    SearchTagValuesResponse, SearchTagValuesV2Response, SearchTagsResponse, SearchTagsV2Response,
};
use super::{json, llm, range};
use crate::parameters::{Parameters, quoted};
use crate::reply::{plain, typed};
use crate::router::Shared;

/// Names of one scope.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Scoped {
    pub(super) name: &'static str,
    pub(super) tags: Vec<String>,
}

/// What every span has, as Tempo lists it. Other spellings and numbers of the nested set are left
/// out there too.
const INTRINSICS: [&str; 25] = [
    "duration",
    "event:name",
    "event:timeSinceStart",
    "instrumentation:name",
    "instrumentation:version",
    "kind",
    "link:spanID",
    "link:traceID",
    "name",
    "rootName",
    "rootServiceName",
    "span:duration",
    "span:id",
    "span:kind",
    "span:name",
    "span:parentID",
    "span:status",
    "span:statusMessage",
    "status",
    "statusMessage",
    "trace:duration",
    "trace:id",
    "trace:rootName",
    "trace:rootService",
    "traceDuration",
];

/// Those that the first version of the API has among the names.
const PLAIN_INTRINSICS: [&str; 3] = ["duration", "name", "status"];

/// Which names are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Which {
    All,
    Intrinsic,
    Scope(Scope),
}

impl Which {
    pub(super) fn of(scope: &str) -> Result<Self, String> {
        match scope {
            "" | "none" | "all" => Ok(Self::All),
            "intrinsic" => Ok(Self::Intrinsic),
            _ => match Scope::from_name(scope) {
                Some(scope) => Ok(Self::Scope(scope)),
                None => Err(format!(
                    "invalid scope: {}; expected resource, span, event, link, instrumentation, \
                     intrinsic or none",
                    quoted(scope)
                )),
            },
        }
    }
}

/// A question about tags, over HTTP or gRPC.
#[derive(Debug, Default)]
pub(super) struct Wanted {
    pub(super) query: String,
    pub(super) time: Option<Range<i64>>,
    pub(super) limit: Option<usize>,
}

impl Wanted {
    fn of(parameters: &Parameters) -> Result<Self, String> {
        Ok(Self {
            query: parameters.get("q").unwrap_or("").to_owned(),
            time: range::of_search(parameters)?,
            // As in Tempo, 0 is no limit.
            limit: parameters.number("limit")?.filter(|limit| *limit > 0),
        })
    }

    /// What the engine is asked.
    async fn tag_query(self, shared: &Shared) -> Result<TagQuery, Unanswered> {
        let filter = match self.query.is_empty() {
            true => None,
            false => shared.read(move || kymo_traceql::parse_filter_leniently(&self.query)).await?,
        };
        Ok(TagQuery { time: self.time, filter, limit: self.limit })
    }
}

/// Names by scope, each in order; scopes without names are left out.
pub(super) async fn scopes(
    shared: &Shared,
    tenants: &Tenants,
    which: Which,
    wanted: Wanted,
) -> Result<Vec<Scoped>, Unanswered> {
    let mut scopes = Vec::new();
    let limit = wanted.limit.unwrap_or(usize::MAX);
    if which != Which::Intrinsic {
        let query = wanted.tag_query(shared).await?;
        for found in shared.engine.tag_names(tenants, query).await? {
            let is_wanted = which == Which::All || which == Which::Scope(found.scope);
            if is_wanted && !found.names.is_empty() {
                scopes.push(Scoped { name: found.scope.name(), tags: found.names });
            }
        }
    }
    if matches!(which, Which::All | Which::Intrinsic) {
        let tags = INTRINSICS.map(str::to_owned).into();
        scopes.push(Scoped { name: "intrinsic", tags });
    }
    for scope in &mut scopes {
        scope.tags.truncate(limit);
    }
    Ok(scopes)
}

/// Names of all scopes together, as the first version of the API has them.
pub(super) async fn all_names(
    shared: &Shared,
    tenants: &Tenants,
    which: Which,
    wanted: Wanted,
) -> Result<Vec<String>, Unanswered> {
    let limit = wanted.limit.unwrap_or(usize::MAX);
    let mut names = BTreeSet::new();
    for scope in scopes(shared, tenants, which, wanted).await? {
        if scope.name == "intrinsic" && which == Which::All {
            names.extend(PLAIN_INTRINSICS.map(str::to_owned));
        } else {
            names.extend(scope.tags);
        }
    }
    Ok(names.into_iter().take(limit).collect())
}

/// Values of a tag of the first version of the API: a key of any scope, or one of a few words.
pub(super) async fn plain_values(
    shared: &Shared,
    tenants: &Tenants,
    tag: &str,
    wanted: Wanted,
) -> Result<Vec<String>, Unanswered> {
    let limit = wanted.limit.unwrap_or(usize::MAX);
    let intrinsic = match tag {
        "name" => Some(Intrinsic::Name),
        "status.code" => Some(Intrinsic::Status),
        "root.name" | "rootName" => Some(Intrinsic::RootName),
        "root.service.name" | "rootServiceName" => Some(Intrinsic::RootServiceName),
        _ => None,
    };
    let name = match intrinsic {
        Some(intrinsic) => Name::Intrinsic(intrinsic),
        None => Name::Keyed { scope: Scope::Any, key: tag.to_owned() },
    };
    let attribute = Attribute { of_parent: false, name };
    let query = wanted.tag_query(shared).await?;
    let found = shared.engine.tag_values(tenants, attribute, query).await?;
    let mut values: BTreeSet<String> = found.into_iter().map(|value| value.text).collect();
    if tag == "error" {
        // A span that failed has the tag, whether it was sent or not.
        values.insert("true".to_owned());
    }
    Ok(values.into_iter().take(limit).collect())
}

/// Values of an attribute as TraceQL names it.
pub(super) async fn typed_values(
    shared: &Shared,
    tenants: &Tenants,
    attribute: &str,
    wanted: Wanted,
) -> Result<Vec<TagValue>, Unanswered> {
    let attribute = kymo_traceql::parse_attribute(attribute)
        .map_err(|error| format!("please provide a valid tagName: {error}"))?;
    let limit = wanted.limit.unwrap_or(usize::MAX);
    let query = wanted.tag_query(shared).await?;
    let mut values = shared.engine.tag_values(tenants, attribute, query).await?;
    values.truncate(limit);
    Ok(values)
}

pub(super) async fn names(State(shared): State<Shared>, request: Request<Body>) -> Response {
    let found = async |asked: Asked| {
        let which = Which::of(asked.parameters.get("scope").unwrap_or(""))?;
        let wanted = Wanted::of(&asked.parameters)?;
        let names = all_names(&shared, &asked.tenants, which, wanted).await?;
        let json = |names: &Vec<String>| json::tag_names(names);
        Ok(asked::encode(&shared, asked.form, names, json, SearchTagsResponse::from).await)
    };
    asked::answer(&shared, "tags", request, found).await
}

pub(super) async fn names_v2(State(shared): State<Shared>, request: Request<Body>) -> Response {
    let found = async |asked: Asked| {
        let which = Which::of(asked.parameters.get("scope").unwrap_or(""))?;
        let wanted = Wanted::of(&asked.parameters)?;
        let scopes = scopes(&shared, &asked.tenants, which, wanted).await?;
        let json = |scopes: &Vec<Scoped>| json::scopes(scopes);
        Ok(asked::encode(&shared, asked.form, scopes, json, SearchTagsV2Response::from).await)
    };
    asked::answer(&shared, "tags", request, found).await
}

/// The tag in `{tag}/values`. A tag may contain slashes.
fn tag_in(path: &str) -> Option<&str> {
    path.strip_suffix("/values").filter(|tag| !tag.is_empty())
}

fn no_such_path(path: &str) -> Response {
    let message = format!("there is nothing at tag/{path}: expected tag/NAME/values");
    plain(StatusCode::NOT_FOUND, message)
}

pub(super) async fn values(
    State(shared): State<Shared>,
    Path(path): Path<String>,
    request: Request<Body>,
) -> Response {
    let Some(tag) = tag_in(&path) else { return no_such_path(&path) };
    let found = async |asked: Asked| {
        let wanted = Wanted::of(&asked.parameters)?;
        let values = plain_values(&shared, &asked.tenants, tag, wanted).await?;
        let json = |values: &Vec<String>| json::tag_values(values);
        Ok(asked::encode(&shared, asked.form, values, json, SearchTagValuesResponse::from).await)
    };
    asked::answer(&shared, "tag_values", request, found).await
}

pub(super) async fn values_v2(
    State(shared): State<Shared>,
    Path(path): Path<String>,
    request: Request<Body>,
) -> Response {
    let Some(attribute) = tag_in(&path) else { return no_such_path(&path) };
    let found = async |asked: Asked| {
        let wanted = Wanted::of(&asked.parameters)?;
        let values = typed_values(&shared, &asked.tenants, attribute, wanted).await?;
        if asked.form == Form::Llm {
            return Ok(shared.encode(move || for_models(&values)).await);
        }
        let json = |values: &Vec<TagValue>| json::typed_values(values);
        Ok(asked::encode(&shared, asked.form, values, json, SearchTagValuesV2Response::from).await)
    };
    asked::answer(&shared, "tag_values", request, found).await
}

fn for_models(values: &[TagValue]) -> Response {
    let with_types = values.iter().map(|value| (json::type_name(value.kind), &*value.text));
    typed(StatusCode::OK, llm::CONTENT_TYPE, llm::tag_values(with_types))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scopes_are_known_by_name() {
        assert_eq!(Which::of(""), Ok(Which::All));
        assert_eq!(Which::of("none"), Ok(Which::All));
        assert_eq!(Which::of("event"), Ok(Which::Scope(Scope::Event)));
        assert_eq!(Which::of("intrinsic"), Ok(Which::Intrinsic));
        assert!(Which::of("spam").unwrap_err().contains("invalid scope"));
    }

    #[test]
    fn intrinsics_are_in_order_and_each_is_one() {
        assert!(INTRINSICS.is_sorted());
        assert!(INTRINSICS.iter().all(|name| Intrinsic::from_name(name).is_some()));
        assert!(PLAIN_INTRINSICS.iter().all(|name| INTRINSICS.contains(name)));
    }

    #[test]
    fn a_tag_may_have_slashes() {
        assert_eq!(tag_in("span.a/b/values"), Some("span.a/b"));
        assert_eq!(tag_in("/values"), None);
        assert_eq!(tag_in("span.a"), None);
    }
}
