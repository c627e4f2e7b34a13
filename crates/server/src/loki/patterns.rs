//! Templates of lines and how often they came: `/patterns`.

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use http::Request;
use kymo_engine::logql::PatternQuery;
use kymo_logql::ast::Expr;
use kymo_logql::limits::MAX_MINED_BUCKETS;

use super::asked::{ask, json};
use crate::prometheus::{write_list, write_text};
use crate::router::Shared;
use crate::times::NANOS_PER_SECOND;

/// `/api/v1/patterns`; with `new=true` only those that were not there before.
pub(super) async fn answer(State(shared): State<Shared>, request: Request<Body>) -> Response {
    ask(shared, request, "loki_patterns", async |shared, asked| {
        let time = asked.range()?;
        let step_nanos = asked.step(&time)?;
        if time.end.saturating_sub(time.start) / step_nanos > MAX_MINED_BUCKETS as i64 {
            let why = format!("more than {MAX_MINED_BUCKETS} steps: take a larger step");
            return Err(why.into());
        }
        let Expr::Log(log) = asked.expression()? else {
            return Err("only log queries are supported: this one gives numbers".to_owned().into());
        };
        let only_new = asked.parameters.switch("new")?;
        let query = PatternQuery { log, time, step_nanos, only_new };
        let patterns = shared.engine.log_patterns(asked.tenants, query).await?;
        let mut out = String::from("{\"status\":\"success\",\"data\":");
        write_list(&patterns, &mut out, |pattern, out| {
            out.push_str("{\"pattern\":");
            write_text(&pattern.text, out);
            out.push_str(",\"samples\":");
            write_list(&pattern.counts, out, |(time_nanos, count), out| {
                out.push_str(&format!("[{},{count}]", time_nanos.div_euclid(NANOS_PER_SECOND)));
            });
            out.push('}');
        });
        out.push('}');
        Ok(json(out))
    })
    .await
}
