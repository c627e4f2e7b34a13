//! Held to a model that keeps every span and counts at the end.

#![allow(clippy::unwrap_used, clippy::panic, unreachable_pub, reason = "a test")]

mod support;

use std::collections::BTreeMap;
use std::time::Duration;

use kymo_spanmetrics::{Generator, Settings};
use support::{CLIENT, CONSUMER, PRODUCER, SERVER, Span, Value, request, span, written};

/// Numbers that look random, and are the same for the same seed.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }

    fn pick<'a>(&mut self, words: &[&'a str]) -> &'a str {
        words[self.below(words.len() as u64) as usize]
    }
}

const SERVICES: [&str; 4] = ["shop", "cart", "pay", ""];

fn spans(random: &mut Random) -> Vec<Span> {
    let mut all = Vec::new();
    for nth in 0..60 + random.below(60) {
        let id = 2 * nth + 1;
        let (client_kind, server_kind) =
            if random.below(4) == 0 { (PRODUCER, CONSUMER) } else { (CLIENT, SERVER) };
        let mut client = span(random.pick(&SERVICES), client_kind, id, 0);
        let mut server = span(random.pick(&SERVICES), server_kind, id + 1, id);
        for span in [&mut client, &mut server] {
            span.name = random.pick(&["GET /", "POST /x", "q"]).to_owned();
            span.trace = nth as u8 + 1;
            span.status = random.below(3) as i32;
            span.nanos = random.below(30_000_000_000);
        }
        match random.below(6) {
            // Only one side.
            0 => all.push(client.with("peer.service", "bank")),
            1 => all.push(client),
            2 => all.push(server),
            3 => all.push(Span { parent: 0, ..server }),
            4 => all.push(client.with("db.system", "pg").with("db.name", "orders")),
            _ => all.extend([client, server]),
        }
        if random.below(3) == 0 {
            all.push(Span {
                trace: nth as u8 + 1,
                ..span(random.pick(&SERVICES), 1, 1000 + id, id)
            });
        }
    }
    // In any order.
    for nth in (1..all.len()).rev() {
        all.swap(nth, random.below(nth as u64 + 1) as usize);
    }
    all
}

#[derive(Debug, Default, PartialEq, Clone)]
struct Durations {
    count: u64,
    nanos: u128,
    counts: Vec<u64>,
}

impl Durations {
    fn add(&mut self, nanos: u64, bounds: &[Duration]) {
        self.counts.resize(bounds.len() + 1, 0);
        let bucket = bounds.iter().position(|bound| u128::from(nanos) <= bound.as_nanos());
        self.counts[bucket.unwrap_or(bounds.len())] += 1;
        self.count += 1;
        self.nanos += u128::from(nanos);
    }
}

#[derive(Debug, Default, PartialEq)]
struct Model {
    numbers: BTreeMap<String, i64>,
    histograms: BTreeMap<String, Durations>,
}

impl Model {
    fn of(spans: &[Span], sizes: &[u64], settings: &Settings) -> Self {
        let mut model = Self::default();
        for (span, size) in spans.iter().zip(sizes) {
            let kind = ["", "INTERNAL", "SERVER", "CLIENT", "PRODUCER", "CONSUMER"];
            let kind = kind[span.kind as usize];
            let status = ["UNSET", "OK", "ERROR"][span.status as usize];
            let service = match span.service.as_str() {
                "" => String::new(),
                service => format!("service={service},"),
            };
            let labels = format!(
                "{{{service}span_kind=SPAN_KIND_{kind},span_name={},status_code=STATUS_CODE_{status}}}",
                span.name
            );
            model.count(&format!("traces_spanmetrics_calls_total{labels}"), 1);
            model.count(&format!("traces_spanmetrics_size_total{labels}"), *size as i64);
            let latency = format!("traces_spanmetrics_latency{labels}");
            model.histograms.entry(latency).or_default().add(span.nanos, &settings.buckets);
        }
        let named = spans.iter().filter(|span| !span.service.is_empty());
        for span in named.clone() {
            let is_client = [CLIENT, PRODUCER].contains(&span.kind);
            if !is_client && ![SERVER, CONSUMER].contains(&span.kind) {
                continue;
            }
            let is_messaging = [PRODUCER, CONSUMER].contains(&span.kind);
            let kind = if is_messaging { "connection_type=messaging_system," } else { "" };
            let has = |key: &str| span.attributes.iter().any(|(known, _)| known == key);
            let other = named.clone().find(|other| {
                other.trace == span.trace
                    && if is_client { other.parent == span.id } else { other.id == span.parent }
                    && [SERVER, CONSUMER, CLIENT, PRODUCER].contains(&other.kind)
            });
            let failed = |one: &Span| one.status == 2;
            match (is_client, other) {
                (true, _) if has("db.name") => {
                    let labels = format!(
                        "{{client={},connection_type=database,server=orders}}",
                        span.service
                    );
                    model.edge(&labels, failed(span), Some(span.nanos), span.nanos, settings);
                }
                (true, Some(other)) => {
                    let labels =
                        format!("{{client={},{kind}server={}}}", span.service, other.service);
                    let has_failed = failed(span) || failed(other);
                    model.edge(&labels, has_failed, Some(span.nanos), other.nanos, settings);
                }
                (true, None) if has("peer.service") => {
                    let labels = format!(
                        "{{client={},connection_type=virtual_node,server=bank}}",
                        span.service
                    );
                    model.edge(&labels, failed(span), Some(span.nanos), span.nanos, settings);
                }
                (false, _) if span.parent == 0 => {
                    let labels = format!(
                        "{{client=user,connection_type=virtual_node,server={}}}",
                        span.service
                    );
                    model.edge(&labels, failed(span), None, span.nanos, settings);
                }
                (_, None) => {
                    let side = if is_client { "client" } else { "server" };
                    let mut labels = [format!("{side}={}", span.service), kind.replace(',', "")];
                    labels.sort();
                    let labels = labels.join(",");
                    let labels = format!("{{{}}}", labels.trim_matches(','));
                    model.count(&format!("traces_service_graph_unpaired_spans_total{labels}"), 1);
                    model.count(&format!("traces_service_graph_dropped_spans_total{labels}"), 0);
                }
                (false, Some(_)) => {}
            }
        }
        model
    }

    fn count(&mut self, series: &str, by: i64) {
        *self.numbers.entry(series.to_owned()).or_default() += by;
    }

    fn edge(
        &mut self,
        labels: &str,
        has_failed: bool,
        client: Option<u64>,
        server: u64,
        settings: &Settings,
    ) {
        self.count(&format!("traces_service_graph_request_total{labels}"), 1);
        let failed = format!("traces_service_graph_request_failed_total{labels}");
        self.count(&failed, i64::from(has_failed));
        for (side, nanos) in [("client", client), ("server", Some(server))] {
            let Some(nanos) = nanos else { continue };
            let series = format!("traces_service_graph_request_{side}_seconds{labels}");
            self.histograms.entry(series).or_default().add(nanos, &settings.graph.buckets);
        }
    }
}

/// What a generator wrote last, in the same form.
fn last(requests: &[Vec<u8>]) -> Model {
    let mut model = Model::default();
    for (series, points) in written(requests) {
        match points.last().unwrap().value.clone() {
            Value::Number(number) => {
                model.numbers.insert(series, number);
            }
            Value::Histogram { count, sum, counts, .. } => {
                let nanos = (sum * 1e9).round() as u128;
                model.histograms.insert(series, Durations { count, nanos, counts });
            }
            Value::Absent => panic!("{series} has ended"),
        }
    }
    model
}

#[test]
fn any_spans_in_any_order_and_any_requests_are_counted_as_the_model_counts_them() {
    for seed in 1..300u64 {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let settings = Settings::default();
        let spans = spans(&mut random);
        let mut now = 1_000_000_000;
        let mut generator = Generator::new(&settings, now);
        let mut rest = &spans[..];
        let mut sizes = Vec::new();
        while !rest.is_empty() {
            let (some, others) = rest.split_at(1 + random.below(rest.len() as u64) as usize);
            rest = others;
            let (body, size) = request(some);
            sizes.extend(size);
            generator.add(&body, now).unwrap();
            now += random.below(50_000_000);
            if random.below(2) == 0 {
                let _ = generator.requests(now);
                // Or it could not be stored.
                if random.below(2) == 0 {
                    generator.written();
                }
            }
            generator.expire(now);
        }
        generator.expire_all(now);
        assert_eq!(generator.waiting(), 0);
        let found = last(&generator.requests(now));
        let expected = Model::of(&spans, &sizes, &settings);
        assert_eq!(found, expected, "seed {seed}");
        assert_eq!(generator.counts().spans, spans.len() as u64);
    }
}

#[test]
fn with_too_little_room_nothing_is_lost_but_labels() {
    for seed in 1..50u64 {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let max_series = random.below(12) as usize;
        let settings = Settings { max_series, ..Settings::default() };
        let spans = spans(&mut random);
        let mut generator = Generator::new(&settings, 0);
        generator.add(&request(&spans).0, 1).unwrap();
        generator.expire_all(2);
        assert!(generator.series() <= max_series);
        let (found, whole) = (last(&generator.requests(3)), {
            let mut whole = Generator::new(&Settings::default(), 0);
            whole.add(&request(&spans).0, 1).unwrap();
            whole.expire_all(2);
            last(&whole.requests(3))
        });
        for name in [
            "traces_spanmetrics_calls_total{",
            "traces_spanmetrics_size_total{",
            "traces_service_graph_request_total{",
            "traces_service_graph_request_failed_total{",
            "traces_service_graph_unpaired_spans_total{",
        ] {
            let sum = |model: &Model| -> i64 {
                let of_name = model.numbers.iter().filter(|(series, _)| series.starts_with(name));
                of_name.map(|(_, number)| number).sum()
            };
            assert_eq!(sum(&found), sum(&whole), "{name} seed {seed}");
        }
        assert!(generator.counts().overflowed > 0);
    }
}
