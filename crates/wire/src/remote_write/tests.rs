use super::inspect::{RefusalReason, RepairReason};
use super::*;
use crate::encode::Writer;
use crate::limits::Limits;
use crate::repeated::View;

const STALE: f64 = f64::from_bits(0x7ff0_0000_0000_0002);
const TIME: i64 = 1_700_000_000_000;

type Labels<'a> = &'a [(&'a [u8], &'a [u8])];

/// A series of 1.0 with these labels and one sample.
fn series_1(labels: Labels<'_>, time_millis: i64) -> Vec<u8> {
    let mut w = Writer::new();
    labels.iter().for_each(|(name, value)| write_label(name, value, &mut w));
    w.message(2, |w| {
        w.double_field(1, 1.5);
        w.varint_field(2, time_millis as u64);
    });
    w.into_bytes()
}

fn request_1(series: &[Vec<u8>]) -> Vec<u8> {
    let mut w = Writer::new();
    series.iter().for_each(|series| w.bytes_field(1, series));
    w.into_bytes()
}

fn good_1() -> Vec<u8> {
    series_1(&[(b"__name__", b"up"), (b"job", b"a")], TIME)
}

/// Labels and sample times of a series.
type Content = (Vec<(String, String)>, Vec<i64>);

/// What all series of a 1.0 request hold.
fn content_1(body: &[u8]) -> Vec<Content> {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let series = WriteRequestView::parse(body).unwrap().series.into_iter().map(Result::unwrap);
    series
        .map(|series| {
            let labels = series.labels.into_iter().map(Result::unwrap);
            let times = series.samples.into_iter().map(|sample| sample.unwrap().time_millis);
            (labels.map(|l| (text(l.name), text(l.value))).collect(), times.collect())
        })
        .collect()
}

fn histogram<'a>() -> NativeHistogram<'a> {
    NativeHistogram {
        schema: 3,
        reset_hint: 2,
        is_integer: true,
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

fn written(histogram: &NativeHistogram<'_>) -> Vec<u8> {
    let mut request = RequestWriter::new();
    request.series([("__name__", "h")], None, |s| s.histogram(histogram, TIME, 5));
    request.finish()
}

fn refusals(version: Version, body: &[u8]) -> Vec<(RefusalReason, u64)> {
    inspect(version, body, &Limits::default()).unwrap().refused
}

#[test]
fn what_the_writer_wrote_is_read_back_and_nothing_is_wrong_with_it() {
    let mut request = RequestWriter::new();
    let metadata = Metadata { metric_type: MetadataType::Counter, help: "Help.", unit: "bytes" };
    let labels = [("zone", "eu"), ("__name__", "x_total"), ("gone", "")];
    request.series(labels, Some(metadata), |s| {
        s.sample(STALE, TIME, 7);
        s.sample(0.0, 0, 0);
        s.exemplar([("trace_id", "ab")], 0.5, TIME - 1);
    });
    request.series([("__name__", "h"), ("zone", "eu")], None, |s| {
        s.histogram(&histogram(), TIME, 9);
    });
    assert_eq!(request.points(), 3);
    let body = request.finish();

    let inspected = inspect(Version::Two, &body, &Limits::default()).unwrap();
    assert_eq!((&inspected.refused, &inspected.repaired), (&vec![], &vec![]));
    assert_eq!(inspected.body.as_ptr(), body.as_ptr(), "without a copy");
    let counts = Counts { samples: 2, histograms: 1, exemplars: 1, metadata: 1 };
    assert_eq!(inspected.counts, counts);

    let view = RequestView::parse(&body).unwrap();
    let symbols = view.symbols.table().unwrap();
    let series: Vec<_> = view.series.into_iter().map(Result::unwrap).collect();
    let labels: Vec<_> = symbols.labels(&series[0].labels).map(Option::unwrap).collect();
    assert_eq!(labels, [(&b"__name__"[..], &b"x_total"[..]), (b"zone", b"eu")]);
    let samples: Vec<_> = series[0].samples.into_iter().map(Result::unwrap).collect();
    assert_eq!(samples[0].value.to_bits(), STALE.to_bits());
    assert_eq!((samples[0].time_millis, samples[0].start_time_millis), (TIME, 7));
    let exemplar = series[0].exemplars.into_iter().next().unwrap().unwrap();
    assert_eq!((exemplar.value, exemplar.time_millis), (0.5, TIME - 1));
    let metadata = series[0].metadata.unwrap();
    assert_eq!(metadata.metric_type, MetadataType::Counter);
    assert_eq!(symbols.get(metadata.help), Some(&b"Help."[..]));
    assert_eq!(symbols.get(metadata.unit), Some(&b"bytes"[..]));
    let found = series[1].histograms.into_iter().next().unwrap().unwrap();
    assert_eq!((found.time_millis, found.start_time_millis), (TIME, 9));
    let mut buffers = HistogramBuffers::default();
    assert!(found.resolve(&mut buffers).unwrap().is_same(&histogram()));
}

#[test]
fn a_good_request_of_version_1_is_handed_on_as_it_came() {
    let body = request_1(&[good_1(), good_1()]);
    let inspected = inspect(Version::One, &body, &Limits::default()).unwrap();
    assert_eq!(inspected.body.as_ptr(), body.as_ptr());
    assert_eq!(inspected.counts, Counts { samples: 2, ..Counts::default() });
    let view = WriteRequestView::parse(&body).unwrap();
    let series = view.series.into_iter().next().unwrap().unwrap();
    let raw = series.labels_raw.unwrap();
    assert_eq!(&series.raw[..raw.len()], raw);
    assert_eq!(raw.len(), 2 + 14 + 2 + 8);
}

#[test]
fn labels_behind_other_fields_are_read_but_are_not_one_run() {
    let mut w = Writer::new();
    write_label(b"__name__", b"up", &mut w);
    w.message(2, |w| w.varint_field(2, 1));
    write_label(b"job", b"a", &mut w);
    let bytes = w.into_bytes();
    let series = SeriesView::parse(&bytes).unwrap();
    assert_eq!((series.labels.count(), series.labels_raw), (2, None));
}

#[test]
fn a_series_whose_labels_cannot_be_kept_is_refused_and_the_others_are_kept() {
    let long = vec![b'x'; Limits::default().max_value_bytes.min(300_000) + 1];
    let limits = Limits { max_attributes: 3, max_value_bytes: 300_000, ..Limits::default() };
    let name: (&[u8], &[u8]) = (b"__name__", b"up");
    let cases: [(Labels<'_>, RefusalReason); 9] = [
        (&[name, (b"a", b"\xff")], RefusalReason::Text),
        (&[name, (b"\xff", b"a")], RefusalReason::Text),
        (&[(b"job", b"a")], RefusalReason::MetricName),
        (&[(b"__name__", b"")], RefusalReason::MetricName),
        (&[name, (b"", b"a")], RefusalReason::LabelName),
        (&[name, (b"a", b"1"), (b"a", b"2")], RefusalReason::LabelTwice),
        (&[(b"a", b"1"), name, (b"a", b"2")], RefusalReason::LabelTwice),
        (&[name, (b"a", b"1"), (b"b", b"1"), (b"c", b"1")], RefusalReason::Labels),
        (&[name, (b"a", &long)], RefusalReason::LabelLength),
    ];
    for (labels, reason) in cases {
        let body = request_1(&[good_1(), series_1(labels, TIME), good_1()]);
        let inspected = inspect(Version::One, &body, &limits).unwrap();
        assert_eq!(inspected.refused, [(reason, 1)]);
        assert_eq!(inspected.body, request_1(&[good_1(), good_1()]), "{reason:?}");
        assert_eq!(inspected.counts.samples, 2);
    }
}

#[test]
fn a_few_bytes_cannot_stand_for_many_labels() {
    use crate::limits::MAX_REQUEST_LABELS_BYTES;
    use crate::proto::WireErrorKind;

    let long = "x".repeat(100 << 10);
    let request = |labels: usize, series: usize| {
        let names: Vec<String> = (0..labels).map(|nth| format!("l{nth}")).collect();
        let mut writer = RequestWriter::new();
        for _ in 0..series {
            let own = names.iter().map(|name| (name.as_str(), long.as_str()));
            let labels: Vec<(&str, &str)> = own.chain([("__name__", "up")]).collect();
            writer.series(labels, None, |series| series.sample(1.0, TIME, 0));
        }
        writer.finish()
    };
    let inspect = |body: &[u8]| inspect(Version::Two, body, &Limits::default()).map(|i| i.refused);
    assert_eq!(inspect(&request(2, 1)), Ok(Vec::new()));
    assert_eq!(inspect(&request(3, 1)), Ok(vec![(RefusalReason::LabelLength, 1)]));
    let most = MAX_REQUEST_LABELS_BYTES / (100 << 10);
    let error = inspect(&request(1, most + 1)).unwrap_err();
    assert_eq!(error.kind, WireErrorKind::LabelsTooLong(MAX_REQUEST_LABELS_BYTES));
    let mut writer = RequestWriter::new();
    writer.series([("__name__", "up")], None, |series| {
        series.sample(1.0, TIME, 0);
        series.exemplar([("trace_id", "1")], 1.0, TIME);
        series.exemplar([("trace_id", long.as_str())], 1.0, TIME);
    });
    let body = writer.finish();
    let inspected = super::inspect(Version::Two, &body, &Limits::default()).unwrap();
    assert_eq!(inspected.repaired, [(RepairReason::Exemplar, 1)]);
    assert_eq!(inspected.counts.exemplars, 1);
}

#[test]
fn samples_before_the_window_are_refused_one_by_one() {
    let old = |time| series_1(&[(b"__name__", b"up")], time);
    let body = request_1(&[old(TIME - 1), old(TIME), old(TIME + 1)]);
    let limits = Limits { min_point_time_unix_nanos: TIME as u64 * 1_000_000, ..Limits::default() };
    let inspected = inspect(Version::One, &body, &limits).unwrap();
    assert_eq!(inspected.refused, [(RefusalReason::TooOld, 1)]);
    assert_eq!(inspected.counts.samples, 2);
    let times: Vec<_> = content_1(&inspected.body).into_iter().map(|(_, times)| times).collect();
    assert_eq!(times.concat(), [TIME, TIME + 1]);
}

#[test]
fn labels_out_of_order_or_without_a_value_are_put_right() {
    let sorted = series_1(&[(b"__name__", b"up"), (b"job", b"a"), (b"zone", b"b")], TIME);
    let body = request_1(&[
        series_1(&[(b"zone", b"b"), (b"__name__", b"up"), (b"job", b"a")], TIME),
        series_1(&[(b"__name__", b"up"), (b"gone", b""), (b"job", b"a"), (b"zone", b"b")], TIME),
    ]);
    let inspected = inspect(Version::One, &body, &Limits::default()).unwrap();
    assert_eq!(inspected.body, request_1(&[sorted.clone(), sorted]));
    assert_eq!(inspected.repaired, [(RepairReason::LabelOrder, 1), (RepairReason::EmptyLabel, 1)]);
    assert_eq!(inspected.refused, []);
}

#[test]
fn labels_are_in_order_however_long_and_alike_their_names_are() {
    let names: [&[u8]; 9] = [
        b"A",
        b"__name__",
        b"__name__x",
        b"a",
        b"ab",
        b"abcdefgh",
        b"abcdefgha",
        b"abcdefghb",
        b"b",
    ];
    let value =
        |name: &[u8]| if name.len().is_multiple_of(2) { b"v".to_vec() } else { vec![b'v'; 200] };
    for first in names {
        for second in names {
            let others = [first, second].into_iter().filter(|name| *name != METRIC_NAME);
            let mut sorted: Vec<&[u8]> = others.chain([METRIC_NAME]).collect();
            let is_twice = sorted.len() == 3 && first == second;
            for values in [&value as &dyn Fn(&[u8]) -> Vec<u8>, &|_: &[u8]| b"v".to_vec()] {
                sorted.sort_unstable();
                for turned in 0..sorted.len() {
                    sorted.rotate_left(1.min(turned));
                    let pairs: Vec<_> = sorted.iter().map(|name| (*name, values(name))).collect();
                    let labels: Vec<_> = pairs.iter().map(|(n, v)| (*n, v.as_slice())).collect();
                    let body = request_1(&[series_1(&labels, TIME)]);
                    let inspected = inspect(Version::One, &body, &Limits::default()).unwrap();
                    let is_sorted = sorted.is_sorted();
                    assert_eq!(!inspected.refused.is_empty(), is_twice, "{sorted:?}");
                    assert_eq!(inspected.repaired.is_empty(), is_sorted || is_twice);
                }
            }
        }
    }
}

#[test]
fn a_sample_before_1970_or_after_2199_is_refused_alone() {
    let mut series = good_1();
    for time in [-1, 7_258_118_400_000, i64::MAX, i64::MIN] {
        let mut w = Writer::new();
        w.message(2, |w| w.varint_field(2, time as u64));
        series.extend(w.into_bytes());
    }
    let body = request_1(&[series]);
    let inspected = inspect(Version::One, &body, &Limits::default()).unwrap();
    assert_eq!(inspected.refused, [(RefusalReason::Time, 4)]);
    assert_eq!(content_1(&inspected.body), content_1(&request_1(&[good_1()])));
}

#[test]
fn exemplars_and_metadata_that_are_not_valid_are_dropped() {
    let mut series = good_1();
    let mut w = Writer::new();
    w.message(3, |w| {
        write_label(b"trace_id", b"\xff", w);
        w.varint_field(3, TIME as u64);
    });
    w.message(3, |w| w.varint_field(3, u64::MAX));
    series.extend(w.into_bytes());
    let mut body = request_1(&[series]);
    let mut metadata = Writer::new();
    metadata.message(3, |w| w.bytes_field(2, b"up"));
    let kept = metadata.as_slice().to_vec();
    metadata.message(3, |w| w.bytes_field(4, b"of no family"));
    body.extend(metadata.into_bytes());
    let inspected = inspect(Version::One, &body, &Limits::default()).unwrap();
    assert_eq!(inspected.repaired, [(RepairReason::Exemplar, 2), (RepairReason::Metadata, 1)]);
    assert_eq!(inspected.counts, Counts { samples: 1, metadata: 1, ..Counts::default() });
    assert_eq!(inspected.body, [request_1(&[good_1()]), kept].concat());
}

/// A request of 2.0 with these texts, and one series with these references and one sample.
fn request_2(symbols: &[&[u8]], references: &[u64]) -> Vec<u8> {
    let mut w = Writer::new();
    symbols.iter().for_each(|symbol| w.bytes_field(4, symbol));
    w.message(5, |w| {
        w.message(1, |w| references.iter().for_each(|reference| w.varint(*reference)));
        w.message(2, |w| w.varint_field(2, TIME as u64));
    });
    w.into_bytes()
}

#[test]
fn references_of_version_2_are_checked_and_put_in_order() {
    let symbols: &[&[u8]] = &[b"", b"__name__", b"up", b"job", b"a", b"\xff"];
    assert_eq!(refusals(Version::Two, &request_2(symbols, &[1, 2, 3, 4])), []);
    for (references, reason) in [
        (&[1, 2, 3][..], RefusalReason::Reference),
        (&[1, 2, 3, 9], RefusalReason::Reference),
        (&[1, 2, 3, u64::MAX], RefusalReason::Reference),
        (&[1, 2, 3, 5], RefusalReason::Text),
        (&[0, 2], RefusalReason::LabelName),
        (&[], RefusalReason::MetricName),
        (&[1, 2, 3, 4, 3, 4], RefusalReason::LabelTwice),
    ] {
        let body = request_2(symbols, references);
        assert_eq!(refusals(Version::Two, &body), [(reason, 1)], "{references:?}");
    }
    let body = request_2(symbols, &[3, 4, 1, 2]);
    let inspected = inspect(Version::Two, &body, &Limits::default()).unwrap();
    assert_eq!(inspected.body, request_2(symbols, &[1, 2, 3, 4]));
    assert_eq!(inspected.repaired, [(RepairReason::LabelOrder, 1)]);
}

#[test]
fn a_histogram_that_is_not_sound_is_refused() {
    let sound = histogram();
    let custom = NativeHistogram {
        schema: histogram::CUSTOM_SCHEMA,
        zero_threshold: 0.0,
        zero_count: 0.0,
        count: 6.0,
        positive_spans: &[(0, 3)],
        positive: &[1.0, 2.0, 3.0],
        negative_spans: &[],
        negative: &[],
        custom_values: &[1.0, 2.0],
        ..sound
    };
    let float = NativeHistogram { is_integer: false, count: 1.0, ..sound };
    let nan = NativeHistogram { sum: f64::NAN, count: 20.0, ..sound };
    for sound in [sound, custom, float, nan] {
        assert_eq!(refusals(Version::Two, &written(&sound)), [], "{sound:?}");
    }
    for faulty in [
        NativeHistogram { schema: -5, ..sound },
        NativeHistogram { schema: 53, ..sound },
        NativeHistogram { count: 16.0, ..sound },
        NativeHistogram { count: 16.0, ..nan },
        NativeHistogram { positive_spans: &[(-2, 3)], positive: &[4.0, 1.0], ..sound },
        NativeHistogram { positive_spans: &[(-2, 2), (-1, 1)], ..sound },
        NativeHistogram { positive: &[-4.0, 1.0, 15.0], ..sound },
        NativeHistogram { positive: &[4.0, -1.0, 7.0], ..float },
        NativeHistogram { count: -1.0, ..float },
        NativeHistogram { zero_count: -1.0, ..float },
        NativeHistogram { custom_values: &[1.0], ..sound },
        NativeHistogram { custom_values: &[2.0, 2.0], ..custom },
        NativeHistogram { custom_values: &[1.0, f64::INFINITY], ..custom },
        NativeHistogram { custom_values: &[1.0, f64::NAN], ..custom },
        NativeHistogram { custom_values: &[1.0], ..custom },
        NativeHistogram { positive_spans: &[(-1, 3)], ..custom },
        NativeHistogram { zero_threshold: 1.0, ..custom },
        NativeHistogram { negative_spans: &[(0, 1)], negative: &[0.0], ..custom },
    ] {
        let body = written(&faulty);
        assert_eq!(refusals(Version::Two, &body), [(RefusalReason::Histogram, 1)], "{faulty:?}");
    }
}

#[test]
fn a_schema_finer_than_is_kept_is_made_coarser() {
    let fine = NativeHistogram {
        schema: 10,
        count: 2.0 + 3.0 + 10.0 + 5.0 + 3.0,
        positive_spans: &[(-3, 5), (2, 1)],
        positive: &[1.0, 2.0, 3.0, 4.0, 0.0, 8.0],
        ..histogram()
    };
    let body = written(&fine);
    let view = RequestView::parse(&body).unwrap();
    let series = view.series.into_iter().next().unwrap().unwrap();
    let found = series.histograms.into_iter().next().unwrap().unwrap();
    let mut buffers = HistogramBuffers::default();
    let coarse = found.resolve(&mut buffers).unwrap();
    // Buckets -3..=0 end at or before bound 0, 1 is in the first above it, as is 4.
    assert_eq!((coarse.schema, coarse.positive_spans), (8, &[(0, 2)][..]));
    assert_eq!(coarse.positive, [10.0, 8.0]);
    assert_eq!((coarse.negative_spans, coarse.negative), (&[(1, 1)][..], &[3.0][..]));
}

#[test]
fn bytes_that_were_changed_anywhere_never_panic_and_what_passes_is_clean() {
    let mut one = request_1(&[good_1(), series_1(&[(b"b", b"1"), (b"__name__", b"x")], TIME)]);
    one.extend([0x1a, 4, 0x12, 2, b'u', b'p']);
    let mut writer = RequestWriter::new();
    let metadata = Metadata { metric_type: MetadataType::Gauge, help: "h", unit: "s" };
    writer.series([("__name__", "up"), ("job", "a")], Some(metadata), |s| {
        s.sample(1.0, TIME, 1);
        s.histogram(&histogram(), TIME, 0);
        s.exemplar([("span_id", "1")], 1.0, 2);
    });
    for (version, body) in [(Version::One, one), (Version::Two, writer.finish())] {
        for place in 0..body.len() {
            for value in 0..=255 {
                let mut changed = body.clone();
                changed[place] = value;
                let Ok(inspected) = inspect(version, &changed, &Limits::default()) else {
                    continue;
                };
                let again = inspect(version, &inspected.body, &Limits::default()).unwrap();
                assert_eq!(again.counts, inspected.counts, "byte {place} is {value}");
                assert!(again.refused.is_empty() && again.repaired.is_empty());
            }
            let _ = inspect(version, &body[..place], &Limits::default());
        }
    }
}
