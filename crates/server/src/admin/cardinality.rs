//! Metrics with most series, labels with most values, keys of attributes.
//!
//! `tenant` names whose. Counting values of a key is work, so that it is done for the one that is
//! asked for: `attribute=span.http.route`.

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use http::{Request, StatusCode};
use kymo_engine::prometheus::SeriesQuery;
use kymo_engine::traceql::TagQuery;
use kymo_engine::{EngineError, Tenants};
use kymo_traceql::ast::Attribute;
use serde_json::{Value, json};

use super::answered;
use crate::limits::{ADMIN_CARDINALITY_ITEMS, ADMIN_MAX_VALUES};
use crate::parameters::Parameters;
use crate::reply::json_error;
use crate::router::Shared;
use crate::tenant;

const HOUR_MILLIS: i64 = 3_600_000;

pub(super) async fn show(State(shared): State<Shared>, request: Request<Body>) -> Response {
    let wrong = |why: String| json_error(StatusCode::BAD_REQUEST, &why);
    let tenants = match tenant::readable(request.headers()) {
        Ok(tenants) => tenants,
        Err(why) => return wrong(why),
    };
    let parameters = match Parameters::of(request.uri()) {
        Ok(parameters) => parameters,
        Err(why) => return wrong(why),
    };
    match parameters.get("attribute") {
        None => answered(all(&shared, tenants).await),
        Some(name) => match kymo_traceql::parse_attribute(name) {
            Ok(attribute) => answered(one(&shared, tenants, name, attribute).await),
            Err(error) => wrong(format!("attribute: {error}")),
        },
    }
}

async fn all(shared: &Shared, tenants: Tenants) -> Result<Value, EngineError> {
    let end = super::now_millis();
    let query = SeriesQuery { matchers: Vec::new(), start: end - HOUR_MILLIS, end };
    let counted = shared.engine.prom_cardinality(tenants.clone(), query).await?;
    let keys = shared.engine.tag_names(tenants, TagQuery::default()).await?;
    let keys =
        keys.into_iter().map(|scope| json!({ "scope": scope.scope.name(), "keys": scope.names }));
    Ok(json!({
        "series": counted.series,
        "metrics": top(counted.by_name),
        "labels": top(counted.values_by_label),
        "pairs": top(counted.by_pair),
        "attributes": keys.collect::<Vec<_>>(),
    }))
}

/// How many values an attribute has.
async fn one(
    shared: &Shared,
    tenants: Tenants,
    name: &str,
    attribute: Attribute,
) -> Result<Value, EngineError> {
    let query = TagQuery { limit: Some(ADMIN_MAX_VALUES), ..TagQuery::default() };
    let values = shared.engine.tag_values(tenants, attribute, query).await?;
    Ok(json!({
        "attribute": name,
        "values": values.len(),
        "is_more": values.len() >= ADMIN_MAX_VALUES,
    }))
}

/// The largest, in order.
fn top(mut counts: Vec<(String, usize)>) -> Value {
    counts.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    counts.truncate(ADMIN_CARDINALITY_ITEMS);
    counts.into_iter().map(|(name, count)| json!({ "name": name, "count": count })).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_come_first_and_are_bounded() {
        let many = (0..2 * ADMIN_CARDINALITY_ITEMS).map(|n| (n.to_string(), n)).collect();
        let top = top(many);
        assert_eq!(top[0]["count"], 2 * ADMIN_CARDINALITY_ITEMS - 1);
        assert_eq!(top.as_array().unwrap().len(), ADMIN_CARDINALITY_ITEMS);
    }
}
