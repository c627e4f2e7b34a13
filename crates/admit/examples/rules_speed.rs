//! Nanoseconds per span of processing rules, beside what admission costs anyway.
//!
//! `cargo run --release -p kymo-admit --example rules_speed`

use std::error::Error;
use std::hint::black_box;
use std::time::{Duration, Instant};

use kymo_admit::rules::{Applied, Pairs, RuleSettings, Rules, ValueSetting};
use kymo_admit::{Limits, Signal};
use kymo_wire::inspect_traces;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span};
use prost::Message;

const SPANS: u64 = 1000;
const ROUNDS: u32 = 500;

/// What a collector at Graphistry drops.
const NOISE: [&str; 8] = [
    r#"span.http.route =~ ".*/list\\?skipContextTest=.*" && span.http.status_code = 200"#,
    r#"span.http.target =~ ".*/list\\?skipContextTest=.*" && span.http.status_code = 200"#,
    r#"span.http.route =~ ".*/check-workers.*" && span.http.status_code = 200"#,
    r#"span.http.target =~ ".*/check-workers.*" && span.http.status_code = 200"#,
    r#"span.http.route =~ ".*/read.*" && span.http.status_code = 200"#,
    r#"span.http.target =~ ".*/read.*" && span.http.status_code = 200"#,
    r#"span.http.route =~ ".*/health.*" || span.http.target =~ ".*/health.*""#,
    r#"name = "readHandler" && span.http.status_code = 200"#,
];

fn main() -> Result<(), Box<dyn Error>> {
    measure("spans of an HTTP server, to which the conditions are nearest", &request("http."))?;
    measure("spans without the attributes that are asked for", &request("rpc."))
}

fn measure(what: &str, request: &[u8]) -> Result<(), Box<dyn Error>> {
    println!("{what}: {SPANS} of {:.0} bytes", request.len() as f64 / SPANS as f64);
    let limits = kymo_wire::Limits {
        max_value_bytes: Limits::default().max_value_bytes,
        ..kymo_wire::Limits::default()
    };
    let checked = best(|| {
        black_box(inspect_traces(request, &limits)?);
        Ok(())
    })?;
    show("the admission check alone", checked);
    let noise: Vec<_> = NOISE.into_iter().map(drops).collect();
    let insert = |key: &str, value: &str| RuleSettings {
        insert: Pairs(vec![(key.to_owned(), ValueSetting::Text(value.to_owned()))]),
        ..RuleSettings::default()
    };
    let elsewhere = drops(r#"resource.service.name = "elsewhere""#);
    let with_inserts =
        [noise.clone(), vec![insert(".system", "graphistry"), insert(".instance", "a")]].concat();
    for (what, settings, is_changed) in [
        ("one condition on the resource", vec![elsewhere], false),
        ("eight conditions that do not hold", noise, false),
        ("the same, and two attributes more on each span", with_inserts, true),
        ("an attribute more on the resource", vec![insert("resource.system", "graphistry")], true),
    ] {
        let rules = Rules::new(settings, "")?;
        let time = best(|| {
            let applied = black_box(rules.apply(Signal::Traces, request)?);
            match (applied == Applied::Unchanged) != is_changed {
                true => Ok(()),
                false => Err("the rules do not do what is measured".into()),
            }
        })?;
        show(what, time);
    }
    Ok(())
}

fn drops(condition: &str) -> RuleSettings {
    let condition = Some(condition.to_owned());
    RuleSettings { condition, drop: true, ..RuleSettings::default() }
}

/// The shortest of several runs, which is the one least disturbed.
fn best(mut run: impl FnMut() -> Result<(), Box<dyn Error>>) -> Result<Duration, Box<dyn Error>> {
    let mut best = Duration::MAX;
    for _ in 0..ROUNDS {
        let start = Instant::now();
        run()?;
        best = best.min(start.elapsed());
    }
    Ok(best)
}

fn show(what: &str, time: Duration) {
    // Nanoseconds per span are milliseconds per million.
    println!("  {what}: {:.0} ns per span", time.as_nanos() as f64 / SPANS as f64);
}

/// Spans of a service, about 300 bytes each, with keys that begin so.
fn request(prefix: &str) -> Vec<u8> {
    let spans = (0..SPANS).map(|number| span(prefix, number)).collect();
    let resource = Resource {
        attributes: vec![
            text("service.name", "checkout".to_owned()),
            text("service.instance.id", "checkout-7d9f4c5b8-x2x4z".to_owned()),
            text("telemetry.sdk.language", "python".to_owned()),
        ],
        ..Resource::default()
    };
    let scope_spans = vec![ScopeSpans { spans, ..ScopeSpans::default() }];
    let group = ResourceSpans { resource: Some(resource), scope_spans, ..ResourceSpans::default() };
    ExportTraceServiceRequest { resource_spans: vec![group] }.encode_to_vec()
}

fn span(prefix: &str, number: u64) -> Span {
    let mix = |salt: u64| (number + salt).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    let start_nanos = 1_700_000_000_000_000_000 + number * 1_234_567;
    Span {
        trace_id: [mix(1 << 40).to_be_bytes(), mix(2 << 40).to_be_bytes()].concat(),
        span_id: mix(3 << 40).to_be_bytes().to_vec(),
        parent_span_id: mix(4 << 40).to_be_bytes().to_vec(),
        name: "GET /cart/{id}/items".to_owned(),
        kind: 2,
        start_time_unix_nano: start_nanos,
        end_time_unix_nano: start_nanos + mix(5) % 50_000_000,
        attributes: vec![
            text(&format!("{prefix}method"), "GET".to_owned()),
            text(&format!("{prefix}target"), format!("/cart/{}/items", mix(6) % 100_000)),
            text(&format!("{prefix}route"), "/cart/{id}/items".to_owned()),
            int(&format!("{prefix}status_code"), 200),
            text("client.address", format!("10.0.{}.{}", mix(7) % 256, mix(8) % 256)),
            text("user_agent.original", "Mozilla/5.0 (X11; Linux x86_64)".to_owned()),
            int("server.port", 8080),
        ],
        ..Span::default()
    }
}

fn text(key: &str, value: String) -> KeyValue {
    attribute(key, Value::StringValue(value))
}

fn int(key: &str, value: i64) -> KeyValue {
    attribute(key, Value::IntValue(value))
}

fn attribute(key: &str, value: Value) -> KeyValue {
    let value = Some(AnyValue { value: Some(value) });
    KeyValue { key: key.to_owned(), value, ..KeyValue::default() }
}
