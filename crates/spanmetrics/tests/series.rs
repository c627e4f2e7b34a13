//! Names, labels, times and ends of series.

#![allow(clippy::unwrap_used, clippy::panic, unreachable_pub, reason = "a test")]

mod support;

use std::time::Duration;

use kymo_spanmetrics::{Generator, GraphSettings, Naming, Settings};
use kymo_wire::encode::{SpanFields, Writer};
use support::{CLIENT, CONSUMER, PRODUCER, SERVER, Span, Value, number, request, span, written};

const SECOND: u64 = 1_000_000_000;
const CALLS: &str = "traces_spanmetrics_calls_total\
    {service=shop,span_kind=SPAN_KIND_SERVER,span_name=op,status_code=STATUS_CODE_UNSET}";
const LATENCY: &str = "traces_spanmetrics_latency\
    {service=shop,span_kind=SPAN_KIND_SERVER,span_name=op,status_code=STATUS_CODE_UNSET}";

#[test]
fn a_new_series_begins_with_its_zero_and_counts_since_then() {
    let mut generator = Generator::new(&Settings::default(), 100 * SECOND);
    let (body, _) = request(&[span("shop", SERVER, 1, 0)]);
    generator.add(&body, 101 * SECOND).unwrap();
    // The first write fails: the second tells the same again.
    for (now, time) in [(110, 110), (110, 110)] {
        let found = written(&generator.requests(now * SECOND));
        let points = &found[CALLS];
        let start = 100 * SECOND + 1_000_000;
        assert_eq!((points[0].time_nanos, points[0].start_nanos), (start, start));
        assert_eq!(points[0].value, Value::Number(0));
        assert_eq!((points[1].time_nanos / SECOND, points[1].start_nanos), (time, start));
        assert_eq!(points[1].value, Value::Number(1));
        let Value::Histogram { count: 0, .. } = found[LATENCY][0].value else { panic!("no zero") };
        assert_eq!(found[LATENCY][1].exemplars, [1]);
    }
    generator.written();
    let found = written(&generator.requests(125 * SECOND));
    assert_eq!((found[CALLS].len(), number(&found, CALLS)), (1, 1));
    assert!(found[LATENCY][0].exemplars.is_empty(), "it was told");
    // A clock that goes back does not take the times of samples with it.
    generator.written();
    let found = written(&generator.requests(50 * SECOND));
    assert!(found[CALLS][0].time_nanos > 125 * SECOND);
}

#[test]
fn a_series_of_which_nothing_comes_ends_and_begins_anew() {
    let settings = Settings { idle_after: Duration::from_secs(60), ..Settings::default() };
    let mut generator = Generator::new(&settings, 0);
    let (body, _) = request(&[span("shop", SERVER, 1, 0)]);
    generator.add(&body, SECOND).unwrap();
    for now in [15, 30, 45, 60] {
        assert_eq!(number(&written(&generator.requests(now * SECOND)), CALLS), 1);
        generator.written();
    }
    let found = written(&generator.requests(75 * SECOND));
    assert_eq!(found[CALLS][0].value, Value::Absent);
    assert_eq!(found[LATENCY][0].value, Value::Absent);
    generator.written();
    assert!(generator.is_empty() && generator.requests(90 * SECOND).is_empty());
    generator.add(&body, 91 * SECOND).unwrap();
    let found = written(&generator.requests(105 * SECOND));
    let values: Vec<&Value> = found[CALLS].iter().map(|point| &point.value).collect();
    assert_eq!(values, [&Value::Number(0), &Value::Number(1)]);
    assert!(found[CALLS][0].time_nanos > 75 * SECOND, "its end stays");
}

#[test]
fn buckets_are_those_of_tempo_and_sums_are_exact() {
    let mut generator = Generator::new(&Settings::default(), 0);
    let spans: Vec<Span> = [2_000_000, 2_000_001, 20_000_000_000, 0]
        .into_iter()
        .map(|nanos| Span { nanos, ..span("shop", SERVER, 1, 0) })
        .collect();
    generator.add(&request(&spans).0, SECOND).unwrap();
    let found = written(&generator.requests(2 * SECOND));
    let Value::Histogram { count, sum, bounds, counts } = &found[LATENCY][1].value else {
        panic!("not a histogram");
    };
    assert_eq!((*count, *sum), (4, 20.004_000_001));
    assert_eq!((bounds[0], bounds[13], bounds.len()), (0.002, 16.384, 14));
    assert_eq!((counts[0], counts[1], counts[14]), (2, 1, 1));
}

#[test]
fn a_span_that_does_not_say_when_it_began_took_no_time() {
    let fields = |start_time_unix_nano, end_time_unix_nano| SpanFields {
        trace_id: &[1; 16],
        span_id: &[2; 8],
        name: b"op",
        kind: 1,
        start_time_unix_nano,
        end_time_unix_nano,
        ..SpanFields::default()
    };
    let mut w = Writer::new();
    w.resource_group(|w| {
        w.scope_group(|w| {
            for (start, end) in [(0, 1_700_000_000 * SECOND), (20, 10), (7, 10)] {
                w.span(&fields(start, end), |_| ());
            }
        });
    });
    let mut generator = Generator::new(&Settings::default(), 0);
    generator.add(&w.into_bytes(), SECOND).unwrap();
    let found = written(&generator.requests(2 * SECOND));
    let latency = "traces_spanmetrics_latency\
        {span_kind=SPAN_KIND_INTERNAL,span_name=op,status_code=STATUS_CODE_UNSET}";
    let Value::Histogram { count, sum, .. } = &found[latency][1].value else {
        panic!("not a histogram");
    };
    assert_eq!((*count, *sum), (3, 3e-9));
}

#[test]
fn dimensions_are_labels_and_the_collectors_names_have_dots() {
    let dimensions = vec!["http.method".to_owned(), "host.name".to_owned()];
    let spans = [span("shop", SERVER, 1, 0).with("http.method", "GET"), span("shop", SERVER, 1, 0)];
    let of = |naming| {
        let settings = Settings { naming, dimensions: dimensions.clone(), ..Settings::default() };
        let mut generator = Generator::new(&settings, 0);
        generator.add(&request(&spans).0, SECOND).unwrap();
        written(&generator.requests(2 * SECOND))
    };
    let tempo = of(Naming::Tempo);
    let rest = "service=shop,span_kind=SPAN_KIND_SERVER,span_name=op,status_code=STATUS_CODE_UNSET";
    let with = format!("traces_spanmetrics_calls_total{{host_name=box,http_method=GET,{rest}}}");
    let without = format!("traces_spanmetrics_calls_total{{host_name=box,{rest}}}");
    assert_eq!((number(&tempo, &with), number(&tempo, &without)), (1, 1));
    let collector = of(Naming::Collector);
    let rest =
        "service.name=shop,span.kind=SPAN_KIND_SERVER,span.name=op,status.code=STATUS_CODE_UNSET";
    let calls = format!("traces.span.metrics.calls{{host.name=box,http.method=GET,{rest}}}");
    assert_eq!(number(&collector, &calls), 1);
    let duration = format!("traces.span.metrics.duration{{host.name=box,{rest}}}");
    let Value::Histogram { sum, bounds, .. } = &collector[&duration][1].value else {
        panic!("not a histogram");
    };
    assert_eq!((*sum, bounds[0]), (1.0, 2.0), "in milliseconds");
}

#[test]
fn resources_are_told_as_targets_if_wanted() {
    let settings = Settings { target_info: true, ..Settings::default() };
    let mut generator = Generator::new(&settings, 0);
    generator.add(&request(&[span("shop", SERVER, 1, 0), span("", 1, 2, 0)]).0, SECOND).unwrap();
    let found = written(&generator.requests(2 * SECOND));
    assert_eq!(number(&found, "traces_target_info{host_name=box,job=shop}"), 1);
    assert_eq!(found.keys().filter(|key| key.starts_with("traces_target_info")).count(), 1);
    let calls = CALLS.replace("{service", "{job=shop,service");
    assert_eq!(number(&found, &calls), 1);
}

#[test]
fn servers_that_write_to_one_place_can_be_told_apart() {
    let instance = Some("node-1".to_owned());
    let mut generator = Generator::new(&Settings { instance, ..Settings::default() }, 0);
    generator.add(&request(&[span("shop", SERVER, 1, 0)]).0, SECOND).unwrap();
    let found = written(&generator.requests(2 * SECOND));
    assert!(
        found.keys().all(|series| series.contains("collector_instance_id=node-1")),
        "{found:?}"
    );
    assert!(found.len() >= 6);
}

fn graph_of(settings: GraphSettings, spans: &[Span]) -> support::Written {
    let mut generator = Generator::new(&Settings { graph: settings, ..Settings::default() }, 0);
    // Each in a request of its own.
    for span in spans {
        generator.add(&request(std::slice::from_ref(span)).0, SECOND).unwrap();
    }
    generator.expire_all(SECOND);
    let found = written(&generator.requests(2 * SECOND));
    found.into_iter().filter(|(series, _)| series.contains("service_graph")).collect()
}

#[test]
fn a_consumer_of_many_messages_meets_their_producers_by_links() {
    let producer = |trace, id| Span { trace, ..span("shop", PRODUCER, id, 0) };
    let consumer =
        Span { links: vec![(1, 11), (2, 22)], trace: 9, ..span("mail", CONSUMER, 33, 0) };
    let found = graph_of(GraphSettings::default(), &[producer(1, 11), consumer, producer(2, 22)]);
    let edge = "{client=shop,connection_type=messaging_system,server=mail}";
    assert_eq!(number(&found, &format!("traces_service_graph_request_total{edge}")), 2);
    assert!(!found.keys().any(|key| key.contains("unpaired")), "{:?}", found.keys());
}

#[test]
fn edges_have_the_dimensions_of_both_sides() {
    let dimensions = vec!["zone".to_owned()];
    let spans = [
        span("shop", CLIENT, 1, 0).with("zone", "a"),
        span("cart", SERVER, 2, 1).with("zone", "b"),
    ];
    let found = graph_of(GraphSettings { dimensions, ..GraphSettings::default() }, &spans);
    let edge = "{client=shop,client_zone=a,server=cart,server_zone=b}";
    assert_eq!(number(&found, &format!("traces_service_graph_request_total{edge}")), 1);
}

#[test]
fn who_cannot_wait_is_counted_and_a_graph_that_is_off_has_nothing() {
    let spans =
        [span("shop", CLIENT, 1, 0), span("shop", CLIENT, 2, 0), span("cart", SERVER, 3, 1)];
    let found = graph_of(GraphSettings { max_edges: 1, ..GraphSettings::default() }, &spans);
    let dropped = "traces_service_graph_dropped_spans_total{client=shop}";
    assert_eq!(number(&found, dropped), 1);
    assert_eq!(number(&found, "traces_service_graph_request_total{client=shop,server=cart}"), 1);
    let off = graph_of(GraphSettings { enabled: false, ..GraphSettings::default() }, &spans);
    assert!(off.is_empty(), "{off:?}");
}

#[test]
fn a_pair_has_time_to_meet_and_no_more() {
    let mut generator = Generator::new(&Settings::default(), 0);
    generator.add(&request(&[span("shop", CLIENT, 1, 0)]).0, SECOND).unwrap();
    generator.expire(10 * SECOND);
    assert_eq!(generator.waiting(), 1);
    generator.expire(11 * SECOND);
    assert_eq!((generator.waiting(), generator.counts().unpaired), (0, 1));
}

#[test]
fn what_is_beyond_the_bound_is_counted_without_labels() {
    let mut generator = Generator::new(&Settings { max_series: 3, ..Settings::default() }, 0);
    let spans: Vec<Span> = (0..10)
        .map(|nth| Span { name: format!("job {nth}"), ..span("ci", 1, nth + 1, 0) })
        .collect();
    generator.add(&request(&spans).0, SECOND).unwrap();
    let found = written(&generator.requests(2 * SECOND));
    let overflow = "{otel_metric_overflow=true}";
    assert_eq!(number(&found, &format!("traces_spanmetrics_calls_total{overflow}")), 7);
    assert_eq!((generator.series(), generator.counts().overflowed), (3, 7));
}

#[test]
fn a_span_with_many_links_makes_no_more_series_than_there_may_be() {
    let producers = (1..=20u8).map(|nth| Span {
        trace: nth,
        ..span(&format!("shop {nth}"), PRODUCER, u64::from(nth), 0)
    });
    let links = (1..=20u8).map(|nth| (nth, u64::from(nth))).collect();
    let consumer = Span { links, trace: 99, ..span("mail", CONSUMER, 99, 0) };
    let mut generator = Generator::new(&Settings { max_series: 25, ..Settings::default() }, 0);
    let spans: Vec<Span> = producers.chain([consumer]).collect();
    generator.add(&request(&spans).0, SECOND).unwrap();
    // 21 of spans, and 4 of 20 edges.
    assert_eq!((generator.series(), generator.counts().overflowed), (25, 16));
}

#[test]
fn large_outputs_are_several_requests() {
    let max_series = 20_000;
    let mut generator = Generator::new(&Settings { max_series, ..Settings::default() }, 0);
    let spans: Vec<Span> = (0..8000)
        .map(|nth| Span { name: format!("job {nth}"), ..span("ci", 1, nth + 1, 0) })
        .collect();
    generator.add(&request(&spans).0, SECOND).unwrap();
    let requests = generator.requests(2 * SECOND);
    assert!(requests.len() > 3 && requests.iter().all(|body| body.len() < 3 << 20));
    assert_eq!(written(&requests).len(), 3 * 8000);
}

#[test]
fn bytes_that_are_no_request_are_an_error() {
    let mut generator = Generator::new(&Settings::default(), 0);
    assert!(generator.add(b"\x0a\xff", 1).is_err());
    assert!(generator.requests(2).is_empty());
}
