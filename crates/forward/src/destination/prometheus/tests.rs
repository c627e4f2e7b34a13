//! Requests there and back.

use kymo_wire::remote_write::{
    Metadata, MetadataType, RequestView, RequestWriter, Version, WriteRequestView, inspect,
};
use kymo_wire::{Signal, View, text};

use super::*;

/// Series of a request of 1.0 as text, with their values.
fn shown(request: &[u8]) -> Vec<String> {
    let mut lines = Vec::new();
    for series in WriteRequestView::parse(request).unwrap().series {
        let series = series.unwrap();
        let labels = series.labels.iter().map(|label| {
            let label = label.unwrap();
            format!("{}={}", text(label.name), text(label.value))
        });
        let labels: Vec<String> = labels.collect();
        for sample in series.samples {
            let sample = sample.unwrap();
            let is_stale = sample.value.to_bits() == STALE_BITS;
            let value = if is_stale { "stale".to_owned() } else { sample.value.to_string() };
            lines.push(format!("{} {value} @{}", labels.join(" "), sample.time_millis));
        }
        for histogram in series.histograms {
            let histogram = histogram.unwrap();
            let mut buffers = Default::default();
            let found = histogram.resolve(&mut buffers).unwrap();
            lines.push(format!(
                "{} schema {} count {} buckets {:?} {:?}",
                labels.join(" "),
                found.schema,
                found.count,
                found.positive_spans,
                found.positive
            ));
        }
    }
    lines
}

fn translate(translator: &mut Translator, json: &str) -> Vec<String> {
    let request = kymo_wire::json::decode(Signal::Metrics, json.as_bytes()).unwrap();
    shown(&translator.translate(&request, Version::One).unwrap())
}

fn metrics(metrics: &str) -> String {
    let attribute = |key: &str, value: &str| {
        format!(r#"{{"key":"{key}","value":{{"stringValue":"{value}"}}}}"#)
    };
    let resource =
        [attribute("service.name", "shop"), attribute("service.namespace", "eu")].join(",");
    format!(
        r#"{{"resourceMetrics":[{{"resource":{{"attributes":[{resource}]}},
            "scopeMetrics":[{{"metrics":[{metrics}]}}]}}]}}"#
    )
}

#[test]
fn sums_and_gauges_are_samples_and_resources_are_jobs() {
    let json = metrics(
        r#"{"name":"jobs.done","sum":{"aggregationTemporality":2,"isMonotonic":true,"dataPoints":[
            {"timeUnixNano":"5000000","asInt":"7","attributes":[
                {"key":"http.route","value":{"stringValue":"/a"}}]}]}},
        {"name":"cpu","unit":"1","gauge":{"dataPoints":[{"timeUnixNano":"6000000","asDouble":0.5},
            {"timeUnixNano":"7000000","flags":1}]}}"#,
    );
    assert_eq!(
        translate(&mut Translator::default(), &json),
        [
            "__name__=cpu_ratio job=eu/shop 0.5 @6",
            "__name__=cpu_ratio job=eu/shop stale @7",
            "__name__=jobs_done_total http_route=/a job=eu/shop 7 @5",
        ]
    );
}

#[test]
fn other_attributes_of_a_resource_are_labels_of_target_info() {
    let json = r#"{"resourceMetrics":[{"resource":{"attributes":[
        {"key":"service.name","value":{"stringValue":"shop"}},
        {"key":"host.cpus","value":{"intValue":"8"}}]},
        "scopeMetrics":[{"metrics":[{"name":"up","gauge":{"dataPoints":[
            {"timeUnixNano":"9000000","asInt":"1"}]}}]}]}]}"#;
    let lines = translate(&mut Translator::default(), json);
    assert_eq!(
        lines,
        ["__name__=target_info host_cpus=8 job=shop 1 @9", "__name__=up job=shop 1 @9"]
    );
}

#[test]
fn deltas_are_added_up() {
    let json = metrics(
        r#"{"name":"n","sum":{"aggregationTemporality":1,"isMonotonic":true,"dataPoints":[
            {"timeUnixNano":"1000000","asInt":"3"}]}}"#,
    );
    let mut translator = Translator::default();
    assert_eq!(translate(&mut translator, &json), ["__name__=n_total job=eu/shop 3 @1"]);
    assert_eq!(translate(&mut translator, &json), ["__name__=n_total job=eu/shop 6 @1"]);
}

#[test]
fn histograms_and_summaries_are_several_series() {
    let json = metrics(
        r#"{"name":"t","unit":"s","histogram":{"aggregationTemporality":2,"dataPoints":[
            {"timeUnixNano":"1000000","count":"6","sum":1.5,"bucketCounts":["1","2","3"],
             "explicitBounds":[0.1,2]}]}},
        {"name":"q","summary":{"dataPoints":[{"timeUnixNano":"1000000","count":"2","sum":3,
            "quantileValues":[{"quantile":0.5,"value":1.5}]}]}}"#,
    );
    assert_eq!(
        translate(&mut Translator::default(), &json),
        [
            "__name__=q job=eu/shop quantile=0.5 1.5 @1",
            "__name__=q_count job=eu/shop 2 @1",
            "__name__=q_sum job=eu/shop 3 @1",
            "__name__=t_seconds_bucket job=eu/shop le=+Inf 6 @1",
            "__name__=t_seconds_bucket job=eu/shop le=0.1 1 @1",
            "__name__=t_seconds_bucket job=eu/shop le=2 3 @1",
            "__name__=t_seconds_count job=eu/shop 6 @1",
            "__name__=t_seconds_sum job=eu/shop 1.5 @1",
        ]
    );
}

fn exponential(scale: i32, offset: i32, counts: &str) -> String {
    metrics(&format!(
        r#"{{"name":"e","exponentialHistogram":{{"aggregationTemporality":2,"dataPoints":[
            {{"timeUnixNano":"1000000","count":"9","sum":1,"scale":{scale},"zeroCount":"1",
              "positive":{{"offset":{offset},"bucketCounts":[{counts}]}}}}]}}}}"#
    ))
}

#[test]
fn exponential_histograms_are_native_ones() {
    let lines = |json: &str| translate(&mut Translator::default(), json);
    assert_eq!(
        lines(&exponential(3, -2, r#""1","0","2","0","0","0","5""#)),
        ["__name__=e job=eu/shop schema 3 count 9 buckets [(-1, 3), (3, 1)] [1.0, 0.0, 2.0, 5.0]"]
    );
    // Two steps coarser: buckets -1, 0, 1, 2, … are joined by four.
    assert_eq!(
        lines(&exponential(10, -1, r#""1","2","3","1","1""#)),
        ["__name__=e job=eu/shop schema 8 count 9 buckets [(0, 2)] [1.0, 7.0]"]
    );
    assert_eq!(lines(&exponential(-5, 0, r#""8""#)), Vec::<String>::new());
}

#[test]
fn remote_write_becomes_otlp_and_the_same_series_again() {
    let mut request = RequestWriter::new();
    let counter = Metadata { metric_type: MetadataType::Counter, help: "Requests", unit: "" };
    let labels =
        [("__name__", "requests_total"), ("code", "200"), ("instance", "a:1"), ("job", "x")];
    request.series(labels, Some(counter), |series| {
        series.sample(42.0, 5, 1);
        series.sample(f64::from_bits(STALE_BITS), 6, 1);
        series.exemplar([("trace_id", "0123456789abcdef0123456789abcdef")], 1.0, 5);
    });
    request.series([("__name__", "t_bucket"), ("job", "n/x"), ("le", "2")], None, |series| {
        series.sample(3.0, 5, 0);
    });
    let spans = [(-1, 2), (1, 1)];
    let native = kymo_wire::remote_write::NativeHistogram {
        schema: 2,
        reset_hint: 0,
        is_integer: true,
        zero_threshold: 0.001,
        zero_count: 1.0,
        count: 7.0,
        sum: 5.5,
        positive_spans: &spans,
        negative_spans: &[],
        positive: &[1.0, 2.0, 3.0],
        negative: &[],
        custom_values: &[],
    };
    request.series([("__name__", "e"), ("job", "x")], None, |series| {
        series.histogram(&native, 5, 0);
    });
    let two = request.finish();
    let one = convert_version(&two, Version::One).unwrap();
    let expected = [
        "__name__=e job=x schema 2 count 7 buckets [(-1, 4)] [1.0, 2.0, 0.0, 3.0]",
        "__name__=requests_total code=200 instance=a:1 job=x 42 @5",
        "__name__=requests_total code=200 instance=a:1 job=x stale @6",
        "__name__=t_bucket job=n/x le=2 3 @5",
    ];
    for (version, body) in [(Version::One, &one), (Version::Two, &two)] {
        let limits = kymo_wire::Limits::default();
        assert!(inspect(version, body, &limits).is_ok());
        let otlp = to_otlp(body, version).unwrap();
        let found = kymo_wire::inspect_metrics(&otlp, &limits).unwrap();
        assert_eq!((found.items, found.refused.len()), (4, 0));
        let again = Translator::default().translate(&otlp, Version::One).unwrap();
        assert_eq!(shown(&again), expected, "{version:?}");
    }
}

#[test]
fn versions_are_converted_there_and_back() {
    let mut request = RequestWriter::new();
    let words = Metadata { metric_type: MetadataType::Gauge, help: "What", unit: "s" };
    request.series([("__name__", "a"), ("b", "c")], Some(words), |series| {
        series.sample(1.0, 2, 0);
        series.exemplar([("trace_id", "x")], 3.0, 4);
    });
    let two = request.finish();
    let one = convert_version(&two, Version::One).unwrap();
    let request = WriteRequestView::parse(&one).unwrap();
    let said = request.metadata.iter().next().unwrap().unwrap();
    assert_eq!((said.family, said.help, said.unit), (&b"a"[..], &b"What"[..], &b"s"[..]));
    assert_eq!(said.metric_type, MetadataType::Gauge);
    assert_eq!(convert_version(&one, Version::Two).unwrap(), two);
    assert_eq!(RequestView::parse(&two).unwrap().series.count(), 1);
}

/// A request of one native histogram with one observation in each bucket above zero.
fn native(schema: i32, spans: &[(i32, u32)]) -> Vec<u8> {
    let buckets: u32 = spans.iter().map(|(_, length)| length).sum();
    let counts = vec![1.0; buckets as usize];
    let histogram = kymo_wire::remote_write::NativeHistogram {
        schema,
        reset_hint: 0,
        is_integer: true,
        zero_threshold: 0.0,
        zero_count: 0.0,
        count: buckets.into(),
        sum: 5.5,
        positive_spans: spans,
        negative_spans: &[],
        positive: &counts,
        negative: &[],
        custom_values: &[],
    };
    let mut request = RequestWriter::new();
    request.series([("__name__", "e")], None, |series| series.histogram(&histogram, 5, 0));
    request.finish()
}

#[test]
fn buckets_that_are_far_apart_are_joined_rather_than_the_gap_filled() {
    for (schema, spans, expected) in [
        (0, &[(0, 1), (4000, 1)][..], "schema 0 count 2 buckets [(0, 1), (1024, 1)] [1.0, 1.0]"),
        // From 2^0 to 2^78: three steps coarser.
        (8, &[(1, 1), (20_000, 1)], "schema 5 count 2 buckets [(1, 1), (2499, 1)] [1.0, 1.0]"),
        // Where no double is.
        (
            8,
            &[(i32::MIN, 1), (i32::MAX, 1), (i32::MAX, 1)],
            "schema 0 count 3 buckets [(-1074, 1), (1073, 1), (1024, 1)] [1.0, 1.0, 1.0]",
        ),
        (-4, &[(i32::MAX, 1)], "schema -4 count 1 buckets [(65, 1)] [1.0]"),
    ] {
        let otlp = to_otlp(&native(schema, spans), Version::Two).unwrap();
        assert!(otlp.len() < 16 << 10, "{} bytes", otlp.len());
        let again = Translator::default().translate(&otlp, Version::One).unwrap();
        assert_eq!(shown(&again), [format!("__name__=e {expected}")], "{schema} {spans:?}");
    }
}

#[test]
fn a_bucket_beyond_all_numbers_is_the_last_one() {
    let lines = translate(&mut Translator::default(), &exponential(3, i32::MAX, r#""1","7""#));
    let expected = format!("buckets [({}, 1)] [8.0]", i32::MAX);
    assert!(lines[0].ends_with(&expected), "{lines:?}");
}

#[test]
fn what_would_grow_out_of_all_proportion_is_refused() {
    let is_too_large = |done: Result<Vec<u8>, ConvertError>| {
        assert!(matches!(done, Err(ConvertError::TooLarge)), "{:?}", done.map(|all| all.len()));
    };
    let long = "x".repeat(200 << 10);
    let copies = crate::limits::MAX_CONVERTED_BYTES / long.len() + 1;
    let mut request = RequestWriter::new();
    request.series([("__name__", "a"), ("b", long.as_str())], None, |series| {
        (0..copies).for_each(|time| series.sample(1.0, time as i64 + 1, 0));
    });
    is_too_large(to_otlp(&request.finish(), Version::Two));
    let mut request = RequestWriter::new();
    for number in 0..copies {
        let number = number.to_string();
        let labels = [("__name__", "a"), ("b", long.as_str()), ("c", number.as_str())];
        request.series(labels, None, |series| series.sample(1.0, 1, 0));
    }
    is_too_large(convert_version(&request.finish(), Version::One));
    let bounds: Vec<String> = (0..copies).map(|bound| bound.to_string()).collect();
    let json = metrics(&format!(
        r#"{{"name":"h","histogram":{{"aggregationTemporality":2,"dataPoints":[{{"count":"0",
            "attributes":[{{"key":"b","value":{{"stringValue":"{long}"}}}}],
            "bucketCounts":[{}],"explicitBounds":[{}]}}]}}}}"#,
        vec!["\"0\""; copies + 1].join(","),
        bounds.join(",")
    ));
    let request = kymo_wire::json::decode(Signal::Metrics, json.as_bytes()).unwrap();
    is_too_large(Translator::default().translate(&request, Version::Two));
}

#[test]
fn damage_is_an_error() {
    for version in [Version::One, Version::Two] {
        assert!(to_otlp(&[0xff; 9], version).is_err());
        assert!(convert_version(&[0xff; 9], version).is_err());
    }
    assert!(Translator::default().translate(&[0xff; 9], Version::One).is_err());
}
