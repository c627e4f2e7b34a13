//! Many traces: searches as they find, values by count, and flames over a result.
//!
//! `q` is TraceQL; nothing is `{ }`. `start` and `end` are RFC 3339, or seconds, milliseconds or
//! nanoseconds since 1970. What is wrong with a query is told with its place, so that an editor can
//! mark it: `{"error":"…","position":{"offset":7,"line":1,"column":8}}`, where `offset` counts units of
//! UTF-16.
//!
//! | path | what |
//! |---|---|
//! | `GET` or `POST /api/traces/search?q=&start=&end=&limit=&spss=&sort=&cursor=&select=` | traces as they are found, a line of JSON each time: `search` |
//! | `GET /api/traces/flame?q=&qb=&start=&end=&limit=&startb=&endb=` | matching traces merged by path; with `qb`, or another time, of two sides: `flame` |
//! | `GET /api/traces/facets?q=&start=&end=&keys=` | how many matching spans have which value: `facets` |
//!
//! | module | what it holds |
//! |---|---|
//! | `asked` | parameters, and queries with what is added to them |
//! | `search`, `flame`, `facets` | the answers |
//! | `columns` | values of spans under their full names |
//! | `value` | values of TraceQL as JSON, with their types |
//! | `limits` | every limit, with its reason |

mod asked;
mod columns;
mod facets;
mod flame;
mod limits;
mod search;
#[cfg(test)]
mod tests;
mod value;

use axum::Router;
use axum::routing::get;

use crate::Page;

pub(crate) fn over_http() -> Router<Page> {
    Router::new()
        .route("/api/traces/search", get(search::search).post(search::search_posted))
        .route("/api/traces/flame", get(flame::flame))
        .route("/api/traces/facets", get(facets::facets))
}
