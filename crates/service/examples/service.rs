//! A service with telemetry: a few requests, each a span with logs and metrics.
//!
//! ```sh
//! kymo serve &                                                    # receives on 4317
//! cargo run -p kymo-service --example service                     # sends there
//! KYMO_OTEL_DEBUG=1 cargo run -p kymo-service --example service   # or shows it here
//! ```

use std::collections::HashMap;
use std::time::{Duration, Instant};

use kymo_service::{Config, Detail, Service, extract, inject, share};
use opentelemetry::KeyValue;
use opentelemetry::trace::{Span, Tracer};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let config = Config::enabled("generator")
        .with_resource_attribute("deployment.environment.name", "example");
    let service = Service::init(&config)?;
    // Where the program has a subscriber already: `.with(service.tracing_layer())`.
    service.install_tracing()?;

    let requests = service.registry().counter("generator.requests", &[])?;
    let seconds = service.registry().histogram("generator.duration", &[Detail::Unit("s")])?;
    let _session = share([("session.id", "s-17")]);
    for request in 0..5 {
        let began = Instant::now();
        let _shared = share([("request.id", format!("r-{request}"))]);
        handle(&service);
        let model = [KeyValue::new("model", "small")];
        requests.add(1, &model);
        seconds.record(began.elapsed().as_secs_f64(), &model);
    }

    let is_complete = service.shutdown(Duration::from_secs(5));
    let counts = service.counts();
    eprintln!("{} spans sent, {} items lost", counts.spans.sent, counts.lost());
    if !is_complete {
        eprintln!("{}", counts.last_error.unwrap_or_default());
    }
    Ok(())
}

/// A request, half of which an actor on another thread does.
fn handle(service: &Service) {
    let span = tracing::info_span!("handle", otel.kind = "server");
    let _entered = span.enter();
    tracing::info!(tokens = 12, "begun");
    let mut message = HashMap::new();
    inject(&mut message);
    let tracer = service.tracer("actor");
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut work = tracer.start_with_context("actor: generate", &extract(&message));
            work.set_attribute(KeyValue::new("batch", 4));
            std::thread::sleep(Duration::from_millis(20));
        });
    });
}
