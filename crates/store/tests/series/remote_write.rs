//! Requests of Prometheus' remote-write, from the head to joined blocks and back.

use kymo_store::series::codec::{NativeHistogram, NativeHistograms, PointValues};
use kymo_store::series::data::SeriesData;
use kymo_store::series::exemplars::Exemplars;
use kymo_store::series::head::{AppendStats, SeriesHead};
use kymo_store::series::identity::{MetricKind, MetricType};
use kymo_store::series::{TYPE_KEY, UNIT_KEY, otlp};
use kymo_wire::encode::Writer;
use kymo_wire::remote_write::{Metadata, MetadataType, RequestWriter, Version, write_label};
use kymo_wire::{AnyValueView, ExemplarView, NumberValue, View, kvlist_entries};
use prost::Message;

use crate::support::{Blocks, Request, all, drain};

const STALE_BITS: u64 = 0x7ff0_0000_0000_0002;
const START: i64 = 1_700_000_000_000;
const NANOS: i64 = 1_000_000;

type Labels<'a> = &'a [(&'a str, &'a str)];

fn request_1(series: &[(Labels<'_>, &[(i64, f64)])]) -> Vec<u8> {
    let mut w = Writer::new();
    for (labels, samples) in series {
        w.message(1, |w| {
            for (name, value) in *labels {
                write_label(name.as_bytes(), value.as_bytes(), w);
            }
            for (time, value) in *samples {
                w.message(2, |w| {
                    w.double_field(1, *value);
                    w.varint_field(2, *time as u64);
                });
            }
        });
    }
    w.into_bytes()
}

fn request_2(labels: Labels<'_>, samples: &[(i64, f64)]) -> Vec<u8> {
    let mut request = RequestWriter::new();
    request.series(labels.iter().copied(), None, |s| {
        samples.iter().for_each(|(time, value)| s.sample(*value, *time, 0));
    });
    request.finish()
}

fn histogram<'a>(is_integer: bool) -> NativeHistogram<'a> {
    NativeHistogram {
        schema: 3,
        reset_hint: 2,
        is_integer,
        zero_threshold: 0.001,
        zero_count: 2.0,
        count: 17.0,
        sum: 12.5,
        positive_spans: &[(-2, 2), (3, 1)],
        negative_spans: &[(1, 1)],
        positive: &[4.0, 1.0, 7.0],
        negative: &[3.0],
        custom_values: &[],
    }
}

/// Runs `check` on what requests became: in the head, in rows, in blocks, and in joined blocks.
fn at_every_stage(requests: &[(Version, Vec<u8>)], check: impl Fn(&[SeriesData])) {
    let blocks = Blocks::new();
    let mut head = SeriesHead::new();
    let mut parts = Vec::new();
    for (nth, (version, request)) in requests.iter().enumerate() {
        head.append_remote_write(*version, request, nth as u64).unwrap();
        let mut alone = SeriesHead::new();
        alone.append_remote_write(*version, request, nth as u64).unwrap();
        parts.extend(blocks.write(&drain(&mut alone)));
    }
    let snapshot: Vec<_> = head.snapshot().unwrap();
    check(&all(&snapshot
        .into_iter()
        .map(kymo_store::block::source::Source::Chunk)
        .collect::<Vec<_>>()));
    let rows = drain(&mut head);
    check(&all(&rows));
    check(&all(&blocks.write(&rows)));
    check(&all(&parts));
    check(&all(&blocks.compact(&parts)));
}

fn texts(list: &[u8]) -> Vec<(String, String)> {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    kvlist_entries(list)
        .map(|entry| {
            let entry = entry.unwrap();
            let AnyValueView::String(value) = entry.value else { panic!("not a text") };
            (text(entry.key), text(value))
        })
        .collect()
}

fn pairs(labels: Labels<'_>) -> Vec<(String, String)> {
    labels.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect()
}

fn bits(series: &SeriesData) -> Vec<(i64, u64)> {
    let (times, values) = series.numbers_f64().unwrap();
    times.into_iter().zip(values.into_iter().map(f64::to_bits)).collect()
}

#[test]
fn samples_of_both_versions_are_one_series_with_every_bit_kept() {
    let labels: Labels<'_> = &[("__name__", "up"), ("instance", "a:1"), ("job", "node")];
    let stale = f64::from_bits(STALE_BITS);
    let requests = [
        (Version::One, request_1(&[(labels, &[(START, 1.0), (START + 1, -0.0)])])),
        (Version::Two, request_2(labels, &[(START + 3, f64::INFINITY), (START + 2, stale)])),
        // Later and out of order: the later write wins.
        (Version::One, request_1(&[(labels, &[(START + 1, 0.25)])])),
    ];
    at_every_stage(&requests, |found| {
        let [series] = found else { panic!("{} series", found.len()) };
        assert_eq!(&*series.name, b"up");
        let kind =
            MetricKind { metric_type: MetricType::Sample, temporality: None, monotonic: None };
        assert_eq!(series.kind, kind);
        assert_eq!((series.unit.len(), series.origin.len()), (0, 0));
        assert_eq!(texts(&series.labels), pairs(&labels[1..]));
        let expected = [
            (START * NANOS, 1f64.to_bits()),
            ((START + 1) * NANOS, 0.25f64.to_bits()),
            ((START + 2) * NANOS, STALE_BITS),
            ((START + 3) * NANOS, f64::INFINITY.to_bits()),
        ];
        assert_eq!(bits(series), expected);
    });
}

#[test]
fn the_identity_is_the_documented_hash() {
    use xxhash_rust::xxh3::xxh3_128;
    let mut metric = xxh3_128(b"").to_le_bytes().to_vec();
    metric.extend_from_slice(&[6, 0, 0, 0, 0, 0, 2, 0, 0, 0]);
    metric.extend_from_slice(b"up");
    let mut series = xxh3_128(&metric).to_le_bytes().to_vec();
    series.extend_from_slice(b"\x0a\x0a\x0a\x03job\x12\x03\x0a\x01v");
    let request = request_1(&[(&[("__name__", "up"), ("job", "v")], &[(START, 1.0)])]);
    at_every_stage(&[(Version::One, request)], |found| {
        assert_eq!(found[0].identity, xxh3_128(&series).to_le_bytes());
    });
}

#[test]
fn samples_and_histograms_of_equal_labels_are_two_series() {
    let (integer, float) = (histogram(true), histogram(false));
    let custom = NativeHistogram {
        schema: -53,
        reset_hint: 0,
        zero_threshold: 0.0,
        zero_count: 0.0,
        count: 6.0,
        positive_spans: &[(0, 3)],
        positive: &[1.0, 2.0, 3.0],
        negative_spans: &[],
        negative: &[],
        custom_values: &[0.5, 2.0],
        ..float
    };
    let mut request = RequestWriter::new();
    request.series([("__name__", "h")], None, |s| {
        s.sample(1.0, START, 7);
        s.histogram(&integer, START, 5);
        s.histogram(&float, START + 1, 5);
        s.histogram(&custom, START + 2, 0);
    });
    let mut found_again = RequestWriter::new();
    found_again.series([("__name__", "h")], None, |s| s.histogram(&integer, START + 3, 5));
    let requests = [(Version::Two, request.finish()), (Version::Two, found_again.finish())];
    at_every_stage(&requests, |found| {
        assert_eq!(found.len(), 2);
        let of = |kind| found.iter().find(|series| series.kind.metric_type == kind).unwrap();
        let samples = of(MetricType::Sample).points().unwrap();
        assert_eq!(samples.start_times_nanos.get(0), Some(7 * NANOS));
        let points = of(MetricType::NativeHistogram).points().unwrap();
        let starts: Vec<_> = points.start_times_nanos.iter().map(|start| start / NANOS).collect();
        assert_eq!(starts, [5, 5, 0, 5]);
        let PointValues::NativeHistograms(values) = &points.values else { panic!("no histograms") };
        for (found, sent) in values.iter().zip([integer, float, custom, integer]) {
            assert!(found.is_same(&sent), "{found:?}");
        }
        assert_eq!(NativeHistograms::len(values), 4);
    });
}

#[test]
fn exemplars_go_to_the_nearest_point_and_are_otlp_messages() {
    let trace = "0af7651916cd43dd8448eb211c80319c";
    let mut request = RequestWriter::new();
    request.series([("__name__", "x")], None, |s| {
        s.sample(1.0, START, 0);
        s.sample(2.0, START + 100, 0);
        s.exemplar([("trace_id", trace), ("user", "u")], 0.5, START + 90);
        s.exemplar([("trace_id", "short")], 0.25, START - 5);
    });
    at_every_stage(&[(Version::Two, request.finish())], |found| {
        let chunk = &found[0].chunks[0];
        let exemplars: Vec<_> = Exemplars::new(&chunk.exemplars).collect::<Result<_, _>>().unwrap();
        let [(0, first), (1, second)] = exemplars[..] else { panic!("{exemplars:?}") };
        let (first, second) =
            (ExemplarView::parse(first).unwrap(), ExemplarView::parse(second).unwrap());
        assert!(matches!(first.value, NumberValue::Double(value) if value == 0.25));
        assert_eq!(first.time_unix_nano, ((START - 5) * NANOS) as u64);
        assert_eq!((first.trace_id, first.filtered_attributes.count()), (&[][..], 1));
        assert_eq!(second.trace_id, 0x0af7_6519_16cd_43dd_8448_eb21_1c80_319cu128.to_be_bytes());
        let attribute = second.filtered_attributes.into_iter().next().unwrap().unwrap();
        assert_eq!(attribute.key, b"user");
    });
}

#[test]
fn an_exemplar_without_a_point_is_kept_with_the_last_or_counted() {
    let exemplar = || {
        let mut request = RequestWriter::new();
        request.series([("__name__", "x")], None, |s| s.exemplar([("a", "b")], 1.0, START));
        request.finish()
    };
    let mut head = SeriesHead::new();
    let stats = head.append_remote_write(Version::Two, &exemplar(), 0).unwrap();
    assert_eq!(stats, AppendStats { dropped_exemplars: 1, ..AppendStats::default() });
    let samples = request_2(&[("__name__", "x")], &[(START, 1.0), (START + 1, 1.0)]);
    head.append_remote_write(Version::Two, &samples, 1).unwrap();
    let stats = head.append_remote_write(Version::Two, &exemplar(), 2).unwrap();
    assert_eq!(stats, AppendStats::default());
    let found = all(&drain(&mut head));
    let exemplars: Vec<_> =
        Exemplars::new(&found[0].chunks[0].exemplars).collect::<Result<_, _>>().unwrap();
    assert_eq!(exemplars.iter().map(|(point, _)| *point).collect::<Vec<_>>(), [1]);
}

#[test]
fn what_is_said_about_a_metric_is_in_its_rows_whichever_version_says_it() {
    let metadata = Metadata { metric_type: MetadataType::Counter, help: "Sent.", unit: "bytes" };
    let mut two = RequestWriter::new();
    two.series([("__name__", "sent_bytes_total")], Some(metadata), |s| s.sample(1.0, START, 0));
    let mut one = Writer::new();
    one.message(3, |w| {
        w.varint_field(1, 3);
        w.bytes_field(2, b"latency");
        w.bytes_field(4, b"Latency.");
    });
    let requests = [
        (Version::Two, two.finish()),
        (Version::One, request_1(&[(&[("__name__", "latency_bucket")], &[(START, 1.0)])])),
        (Version::One, one.into_bytes()),
        // Of this nothing is said any more, which changes nothing.
        (Version::One, request_1(&[(&[("__name__", "sent_bytes_total")], &[(START + 1, 2.0)])])),
    ];
    let mut head = SeriesHead::new();
    for (nth, (version, request)) in requests.iter().enumerate() {
        head.append_remote_write(*version, request, nth as u64).unwrap();
    }
    let check = |found: &[SeriesData]| {
        let [latency, sent] = found else { panic!("{} series", found.len()) };
        assert_eq!(&*latency.description, b"Latency.");
        assert_eq!(texts(&latency.metadata), pairs(&[(TYPE_KEY, "histogram")]));
        assert_eq!(&*sent.description, b"Sent.");
        let told: Labels<'_> = &[(TYPE_KEY, "counter"), (UNIT_KEY, "bytes")];
        assert_eq!(texts(&sent.metadata), pairs(told));
    };
    let mut rows = drain(&mut head);
    check(&all(&rows));
    // Rows of a later head, which was not told.
    let untold = request_1(&[
        (&[("__name__", "latency_bucket")], &[(START + 9, 1.0)]),
        (&[("__name__", "sent_bytes_total")], &[(START + 9, 1.0)]),
    ]);
    head.append_remote_write(Version::One, &untold, 9).unwrap();
    rows.extend(drain(&mut head));
    check(&all(&rows));
    let blocks = Blocks::new();
    check(&all(&blocks.compact(&blocks.write(&rows))));
}

#[test]
fn labels_in_an_unusual_form_are_the_same_series() {
    let mut w = Writer::new();
    w.message(1, |w| {
        w.message(2, |w| w.varint_field(2, START as u64));
        write_label(b"job", b"a", w);
        w.message(1, |w| {
            w.bytes_field(2, b"up");
            w.bytes_field(1, b"__name__");
        });
    });
    let mut head = SeriesHead::new();
    let usual = request_1(&[(&[("__name__", "up"), ("job", "a")], &[(START + 1, 1.0)])]);
    for (nth, request) in [w.as_slice(), &usual, w.as_slice()].into_iter().enumerate() {
        head.append_remote_write(Version::One, request, nth as u64).unwrap();
    }
    assert_eq!((head.series(), head.points()), (1, 3));
}

#[test]
fn series_of_remote_write_have_an_otlp_form() {
    let mut request = RequestWriter::new();
    request.series([("__name__", "g"), ("job", "a")], None, |s| s.sample(2.5, START, 0));
    request.series([("__name__", "h")], None, |s| {
        s.histogram(&histogram(true), START, 0);
        let custom = NativeHistogram {
            schema: -53,
            zero_threshold: 0.0,
            zero_count: 0.0,
            count: 1.0,
            positive_spans: &[(1, 1)],
            positive: &[1.0],
            negative_spans: &[],
            negative: &[],
            custom_values: &[1.0],
            ..histogram(true)
        };
        s.histogram(&custom, START + 1, 0);
    });
    let mut head = SeriesHead::new();
    head.append_remote_write(Version::Two, &request.finish(), 1).unwrap();
    let found = all(&drain(&mut head));
    let exported = Request::decode(&otlp::encode(&found).unwrap()[..]).unwrap();
    let metrics: Vec<_> = exported
        .resource_metrics
        .iter()
        .flat_map(|group| &group.scope_metrics)
        .flat_map(|group| &group.metrics)
        .collect();
    let names: Vec<_> = metrics.iter().map(|metric| metric.name.as_str()).collect();
    assert_eq!(names, ["g", "h", "h"]);
    use opentelemetry_proto::tonic::metrics::v1::metric::Data;
    let Some(Data::ExponentialHistogram(exponential)) = &metrics[1].data else { panic!("no") };
    let point = &exponential.data_points[0];
    assert_eq!((point.count, point.scale, point.zero_count), (17, 3, 2));
    let positive = point.positive.as_ref().unwrap();
    assert_eq!((positive.offset, &positive.bucket_counts), (-3, &vec![4, 1, 0, 0, 0, 7]));
    let Some(Data::Histogram(explicit)) = &metrics[2].data else { panic!("no histogram") };
    assert_eq!(explicit.data_points[0].bucket_counts, [0, 1]);
}

#[test]
fn mutated_requests_never_panic() {
    let mut two = RequestWriter::new();
    let metadata = Metadata { metric_type: MetadataType::Gauge, help: "h", unit: "s" };
    two.series([("__name__", "up"), ("job", "a")], Some(metadata), |s| {
        s.sample(1.0, START, 1);
        s.histogram(&histogram(true), START, 0);
        s.exemplar([("span_id", "1")], 1.0, 2);
    });
    let one = request_1(&[(&[("__name__", "up"), ("job", "a")], &[(START, 1.0)])]);
    for (version, body) in [(Version::One, one), (Version::Two, two.finish())] {
        for place in 0..body.len() {
            let mut head = SeriesHead::new();
            for value in 0..=255 {
                let mut changed = body.clone();
                changed[place] = value;
                let _ = head.append_remote_write(version, &changed, value.into());
            }
            let _ = head.append_remote_write(version, &body[..place], 300);
            otlp::encode(&all(&drain(&mut head))).unwrap();
        }
    }
}
