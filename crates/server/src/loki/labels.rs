//! Labels, their values, and streams.

use std::collections::BTreeSet;

use axum::body::Body;
use axum::extract::{Path, State};
use axum::response::Response;
use http::Request;
use kymo_logql::labels::Labels;
use kymo_logql::parser::parse_selector;

use super::asked::{Asked, Unanswered, ask, json};
use super::json::write_labels;
use crate::prometheus::{write_list, write_text};
use crate::router::Shared;

/// `/api/v1/labels`, `/api/v1/label`
pub(super) async fn names(State(shared): State<Shared>, request: Request<Body>) -> Response {
    ask(shared, request, "loki_labels", async |shared, asked| {
        let streams = selected(&shared, asked).await?;
        let names = streams.iter().flat_map(|labels| labels.iter().map(|(name, _)| name));
        Ok(texts(&names.collect()))
    })
    .await
}

/// `/api/v1/label/{name}/values`
pub(super) async fn values(
    State(shared): State<Shared>,
    Path(name): Path<String>,
    request: Request<Body>,
) -> Response {
    ask(shared, request, "loki_label_values", async |shared, asked| {
        let streams = selected(&shared, asked).await?;
        Ok(texts(&streams.iter().filter_map(|labels| labels.get(&name)).collect()))
    })
    .await
}

/// The streams that `query` selects, or all.
pub(super) async fn selected(shared: &Shared, asked: Asked) -> Result<Vec<Labels>, Unanswered> {
    let (range, selector) = (asked.range()?, asked.selector()?);
    Ok(shared.engine.log_series(asked.tenants, selector.into_iter().collect(), range).await?)
}

/// `/api/v1/series`
pub(super) async fn series(State(shared): State<Shared>, request: Request<Body>) -> Response {
    ask(shared, request, "loki_series", async |shared, asked| {
        let range = asked.range()?;
        // Some write it without brackets.
        let texts = asked.parameters.all("match[]").chain(asked.parameters.all("match"));
        let selectors: Result<Vec<_>, Unanswered> = texts
            .map(|text| Ok(parse_selector(text).map_err(|error| error.to_string())?))
            .collect();
        let series = shared.engine.log_series(asked.tenants, selectors?, range).await?;
        let respond = move || {
            let mut out = String::from("{\"status\":\"success\",\"data\":");
            write_list(&series, &mut out, write_labels);
            out.push('}');
            json(out)
        };
        Ok(shared.encode(respond).await)
    })
    .await
}

/// Texts in order. Loki has no `data` where there are none.
fn texts(texts: &BTreeSet<&str>) -> Response {
    let texts: Vec<&str> = texts.iter().copied().collect();
    let mut out = String::from("{\"status\":\"success\"");
    if !texts.is_empty() {
        out.push_str(",\"data\":");
        write_list(&texts, &mut out, |text, out| write_text(text, out));
    }
    out.push('}');
    json(out)
}
