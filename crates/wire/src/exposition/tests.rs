//! Answers as targets send them, right and wrong, and what is written is read back.

use super::*;
use crate::encode::Writer;

/// Entries as lines, to compare them at a glance.
fn read(body: &[u8], format: Format, options: ParseOptions) -> Result<Vec<String>, String> {
    let mut parser = Parser::new(body, format, options);
    let mut lines = Vec::new();
    loop {
        match parser.next_entry() {
            Ok(Some(entry)) => lines.push(shown(&entry)),
            Ok(None) => return Ok(lines),
            Err(error) => {
                assert_eq!(parser.next_entry(), Ok(None), "nothing follows an error");
                return Err(error.to_string());
            }
        }
    }
}

fn text(body: &str) -> Result<Vec<String>, String> {
    read(body.as_bytes(), Format::Text, ParseOptions::default())
}

fn open_metrics(body: &str) -> Result<Vec<String>, String> {
    read(body.as_bytes(), Format::OpenMetrics, ParseOptions::default())
}

fn shown_labels(labels: &[Label<'_>]) -> String {
    let pairs: Vec<_> = labels.iter().map(|l| format!("{}={:?}", l.name, l.value)).collect();
    format!("{{{}}}", pairs.join(","))
}

fn shown_exemplar(exemplar: &Exemplar<'_>) -> String {
    let time = exemplar.timestamp_millis.map(|t| format!(" {t}")).unwrap_or_default();
    format!(" # {} {}{time}", shown_labels(exemplar.labels), exemplar.value)
}

fn shown(entry: &Entry<'_>) -> String {
    match entry {
        Entry::Type { name, kind } => format!("type {name} {}", kind.name()),
        Entry::Help { name, help } => format!("help {name} {help:?}"),
        Entry::Unit { name, unit } => format!("unit {name} {unit}"),
        Entry::Series(series) => {
            let time = series.timestamp_millis.map(|t| format!(" {t}")).unwrap_or_default();
            let start = series.start_millis.map(|t| format!(" since {t}")).unwrap_or_default();
            let exemplar = series.exemplar.as_ref().map(shown_exemplar).unwrap_or_default();
            let labels = shown_labels(series.labels);
            format!("{}{labels} {}{time}{start}{exemplar}", series.name, series.value)
        }
        Entry::Histogram(series) => {
            let start = series.start_millis.map(|t| format!(" since {t}")).unwrap_or_default();
            let exemplars: String = series.exemplars.iter().map(shown_exemplar).collect();
            let buckets = series.histogram.bucket_count();
            let labels = shown_labels(series.labels);
            format!("{}{labels} histogram of {buckets}{start}{exemplars}", series.name)
        }
    }
}

#[test]
fn the_older_text_is_read_with_all_its_freedom() {
    let body = "\
# HELP http_requests_total Requests,\\nby code \\\\ \\\"all\\\".\n\
#TYPE is a comment here\n\
# TYPE http_requests_total counter\n\
http_requests_total{code=\"200\",path=\"/a\\\\b\\\"c\\n\",} 1.5e3 1395066363000\n\
\n\
  \t spaced { a = \"x\" , b = \"y\" }   +Inf   \n\
# a comment\n\
#\n\
{\"utf8.name\", \"label.dot\"=\"v\", plain=\"w\"} -3\n\
{a=\"b\",\"name last\"} 4\n\
# TYPE \"quoted.family\" gauge\n\
no_labels NaN\n\
empty{} 0\n\
broken_line{a=\"one\ntwo\"} 1\n\
last 7";
    assert_eq!(
        text(body).unwrap(),
        [
            "help http_requests_total \"Requests,\\nby code \\\\ \\\\\\\"all\\\\\\\".\"",
            "type http_requests_total counter",
            "http_requests_total{code=\"200\",path=\"/a\\\\b\\\"c\\n\"} 1500 1395066363000",
            "spaced{a=\"x\",b=\"y\"} inf",
            "utf8.name{label.dot=\"v\",plain=\"w\"} -3",
            "name last{a=\"b\"} 4",
            "type quoted.family gauge",
            "no_labels{} NaN",
            "empty{} 0",
            "broken_line{a=\"one\\ntwo\"} 1",
            "last{} 7",
        ]
    );
    assert_eq!(text("").unwrap(), Vec::<String>::new());
}

#[test]
fn bounds_of_buckets_and_quantiles_have_one_text() {
    let body = "# TYPE h histogram\nh_bucket{le=\"1\"} 1\nh_bucket{le=\"0.50\"} 1\n\
                h_bucket{le=\"1000000\"} 2\nh_bucket{le=\"+Inf\"} 2\n\
                # TYPE s summary\ns{quantile=\"1\"} 1\n# TYPE g gauge\ng{le=\"1\"} 1\n";
    let lines = text(body).unwrap();
    assert_eq!(
        lines[1..5],
        [
            "h_bucket{le=\"1.0\"} 1",
            "h_bucket{le=\"0.5\"} 1",
            "h_bucket{le=\"1e+06\"} 2",
            "h_bucket{le=\"+Inf\"} 2"
        ]
    );
    assert_eq!(lines[6], "s{quantile=\"1.0\"} 1");
    assert_eq!(lines[8], "g{le=\"1\"} 1");
}

#[test]
fn a_series_has_the_same_key_whatever_its_value() {
    let body = b"a{x=\"1\"} 1 5\na{x=\"1\"}  2\nb 1\n";
    let mut parser = Parser::new(body, Format::Text, ParseOptions::default());
    let mut keys = Vec::new();
    while let Some(Entry::Series(series)) = parser.next_entry().unwrap() {
        keys.push(String::from_utf8(series.key.to_vec()).unwrap());
    }
    assert_eq!(keys, ["a{x=\"1\"}", "a{x=\"1\"}", "b"]);
}

#[test]
fn wrong_text_is_refused_with_its_line_and_what_was_expected() {
    for (body, expected) in [
        ("a 1\nb\n", "line 2: expected a value, found the end"),
        ("a x\n", "line 1: expected a number, found \"x\""),
        ("a 1e999\n", "line 1: expected a number, found \"1e999\""),
        ("a 1 2 3\n", "line 1: expected the end of the line, found \"3\""),
        ("a 1 soon\n", "line 1: expected a time in milliseconds, found \"soon\""),
        ("a{b} 1\n", "line 1: expected `=`, found \"} 1\""),
        ("a{b=c} 1\n", "line 1: expected a quoted string, found \"c} 1\""),
        ("a{b=\"c} 1\n", "line 1: expected a string with a closing quote, found \"\\\"c} 1\""),
        ("a{1=\"c\"} 1\n", "line 1: expected the name of a label or `}`, found \"1=\\\"c\\\"} 1\""),
        ("a{b=\"c\"", "line 1: expected the name of a label or `}`, found the end"),
        (
            "\n\n# TYPE a histo\n",
            "line 3: expected counter, gauge, histogram, summary or untyped, found \"histo\"",
        ),
        ("# TYPE 1a counter\n", "line 1: expected the name of a metric, found \"1a counter\""),
        (
            "{a=\"b\"} 1\n",
            "line 1: expected the name of a metric, `{\"name\"` or `#`, found \"{a=\\\"b\\\"} 1\"",
        ),
        ("a{\"b\"} 1\n", "line 1: expected one name of the metric, found \"\\\"b\\\"} 1\""),
        ("<html>\n", "line 1: expected the name of a metric, `{\"name\"` or `#`, found \"<html>\""),
        ("a 1 # {x=\"y\"} 1\n", "line 1: expected a time in milliseconds, found \"#\""),
        ("a{b=\"\\", "line 1: expected a string with a closing quote, found \"\\\"\\\\\""),
    ] {
        assert_eq!(text(body).unwrap_err(), expected, "{body:?}");
    }
    let error = read(b"a 1\nb{c=\"\xff\"} 1\n", Format::Text, ParseOptions::default());
    assert_eq!(error.unwrap_err(), "line 2: expected UTF-8, found other bytes");
}

#[test]
fn open_metrics_has_units_exemplars_and_start_times() {
    let body = "\
# TYPE req_seconds histogram\n\
# UNIT req_seconds seconds\n\
# HELP req_seconds How \\\"long\\\".\n\
req_seconds_bucket{a=\"1\",le=\"0.5\"} 3 # {trace_id=\"x\\\"y\"} 0.43 1600096945.479\n\
req_seconds_bucket{a=\"1\",le=\"+Inf\"} 4 1600096945.5 # {} 9\n\
req_seconds_count{a=\"1\"} 4\n\
req_seconds_sum{a=\"1\"} 9.5\n\
req_seconds_created{a=\"1\"} 1520430000.123\n\
req_seconds_count{a=\"2\"} 0\n\
# TYPE c counter\n\
c_total 17\n\
c_created 1\n\
# TYPE my_created gauge\n\
my_created 2\n\
# TYPE up info\n\
up_info{v=\"1\"} 1\n\
# TYPE st stateset\n\
st{st=\"on\"} 1\n\
# EOF\n";
    assert_eq!(
        open_metrics(body).unwrap(),
        [
            "type req_seconds histogram",
            "unit req_seconds seconds",
            "help req_seconds \"How \\\"long\\\".\"",
            "req_seconds_bucket{a=\"1\",le=\"0.5\"} 3 since 1520430000123 \
             # {trace_id=\"x\\\"y\"} 0.43 1600096945479",
            "req_seconds_bucket{a=\"1\",le=\"+Inf\"} 4 1600096945500 since 1520430000123 # {} 9",
            "req_seconds_count{a=\"1\"} 4 since 1520430000123",
            "req_seconds_sum{a=\"1\"} 9.5 since 1520430000123",
            "req_seconds_count{a=\"2\"} 0",
            "type c counter",
            "c_total{} 17 since 1000",
            "type my_created gauge",
            "my_created{} 2",
            "type up info",
            "up_info{v=\"1\"} 1",
            "type st stateset",
            "st{st=\"on\"} 1",
        ]
    );
}

#[test]
fn open_metrics_is_strict() {
    for (body, expected) in [
        ("", "line 1: expected `# EOF` as the last line, found the end"),
        ("a 1\n", "line 2: expected `# EOF` as the last line, found the end"),
        ("a 1", "line 1: expected the end of the line, found the end"),
        ("# EOF\na 1\n", "line 2: expected nothing after `# EOF`, found \"a 1\""),
        ("a  1\n# EOF\n", "line 1: expected a value, found \" 1\""),
        ("\n# EOF\n", "line 1: expected the name of a metric, `{\"name\"` or `#`, found the end"),
        (
            "# comment\n# EOF\n",
            "line 1: expected `# HELP`, `# TYPE`, `# UNIT` or `# EOF`, found \"# comment\"",
        ),
        (
            "# UNIT a seconds\n# EOF\n",
            "line 1: expected a metric whose name ends in _seconds, found a",
        ),
        ("a{b=\"c\" d=\"e\"} 1\n# EOF\n", "line 1: expected `,` or `}`, found \" d=\\\"e\\\"} 1\""),
        ("a 1 NaN\n# EOF\n", "line 1: expected a time in seconds, found \"NaN\""),
        ("a 1 # {\"x\"} 1\n# EOF\n", "line 1: expected `=` and a value, found \"} 1\""),
    ] {
        assert_eq!(open_metrics(body).unwrap_err(), expected, "{body:?}");
    }
    assert_eq!(open_metrics("# EOF").unwrap(), Vec::<String>::new());
}

/// A family with one metric, whose content is written by `content`.
fn family(name: &str, kind: u64, content: impl FnOnce(&mut Writer)) -> Vec<u8> {
    let mut message = Writer::new();
    message.bytes_field(1, name.as_bytes());
    message.bytes_field(2, b"Help.");
    message.varint_field(3, kind);
    message.message(4, |metric| {
        metric.message(1, |label| {
            label.bytes_field(1, b"a");
            label.bytes_field(2, b"1");
        });
        content(metric);
    });
    message.bytes_field(5, b"seconds");
    let message = message.into_bytes();
    let mut out = Writer::new();
    out.varint(message.len() as u64);
    out.raw(&message);
    out.into_bytes()
}

fn protobuf(body: &[u8], native: bool, classic: bool) -> Result<Vec<String>, String> {
    let options = ParseOptions { native_histograms: native, classic_beside_native: classic };
    read(body, Format::Protobuf, options)
}

fn exemplar(writer: &mut Writer, field: u32, seconds: Option<u64>) {
    writer.message(field, |exemplar| {
        exemplar.message(1, |label| {
            label.bytes_field(1, b"trace_id");
            label.bytes_field(2, b"t");
        });
        exemplar.double_field(2, 0.25);
        if let Some(seconds) = seconds {
            exemplar.message(3, |time| {
                time.varint_field(1, seconds);
                time.varint_field(2, 5_000_000);
            });
        }
    });
}

#[test]
fn protobuf_reads_like_text() {
    let mut body = family("c_total", 0, |metric| {
        metric.message(3, |counter| {
            counter.double_field(1, 2.5);
            exemplar(counter, 2, Some(7));
            counter.message(3, |start| start.varint_field(1, 3));
        });
        metric.varint_field(6, 1234);
    });
    body.extend(family("s", 2, |metric| {
        metric.message(4, |summary| {
            summary.varint_field(1, 10);
            summary.double_field(2, 5.5);
            summary.message(3, |quantile| {
                quantile.double_field(1, 1.0);
                quantile.double_field(2, 0.75);
            });
        });
    }));
    assert_eq!(
        protobuf(&body, false, false).unwrap(),
        [
            "help c_total \"Help.\"",
            "unit c_total seconds",
            "type c_total counter",
            "c_total{a=\"1\"} 2.5 1234 since 3000 # {trace_id=\"t\"} 0.25 7005",
            "help s \"Help.\"",
            "unit s seconds",
            "type s summary",
            "s_count{a=\"1\"} 10",
            "s_sum{a=\"1\"} 5.5",
            "s{a=\"1\",quantile=\"1.0\"} 0.75",
        ]
    );
}

fn histogram_family(deltas: u32) -> Vec<u8> {
    family("h", 4, |metric| {
        metric.message(7, |histogram| {
            histogram.varint_field(1, 6);
            histogram.double_field(2, 8.0);
            histogram.message(3, |bucket| {
                bucket.varint_field(1, 4);
                bucket.double_field(2, 1.0);
                exemplar(bucket, 3, None);
            });
            histogram.sint32_field(5, 3);
            histogram.double_field(6, 1e-128);
            histogram.message(12, |span| {
                span.sint32_field(1, -2);
                span.varint_field(2, 3);
            });
            for _ in 0..deltas {
                histogram.varint_field(13, 2);
            }
            exemplar(histogram, 16, Some(9));
            exemplar(histogram, 16, None);
        });
    })
}

#[test]
fn native_histograms_come_as_what_is_asked_for() {
    let body = histogram_family(3);
    let native = "h{a=\"1\"} histogram of 3 # {trace_id=\"t\"} 0.25 9005";
    let classic = [
        "h_count{a=\"1\"} 6",
        "h_sum{a=\"1\"} 8",
        "h_bucket{a=\"1\",le=\"1.0\"} 4 # {trace_id=\"t\"} 0.25",
        "h_bucket{a=\"1\",le=\"+Inf\"} 6",
    ];
    assert_eq!(protobuf(&body, true, false).unwrap()[3..], [native]);
    assert_eq!(protobuf(&body, false, false).unwrap()[3..], classic);
    assert_eq!(protobuf(&body, true, true).unwrap()[3..], [&[native][..], &classic].concat());
    let mut parser = Parser::new(
        &body,
        Format::Protobuf,
        ParseOptions { native_histograms: true, classic_beside_native: false },
    );
    for _ in 0..3 {
        parser.next_entry().unwrap();
    }
    let Some(Entry::Histogram(series)) = parser.next_entry().unwrap() else { panic!() };
    assert_eq!(series.histogram.schema, 3);
    assert_eq!(series.histogram.positive_spans, [Span { offset: -2, length: 3 }]);
    let HistogramCounts::Integer { count, positive, .. } = series.histogram.counts else {
        panic!()
    };
    assert_eq!((count, positive), (6, vec![1, 1, 1]));
}

#[test]
fn wrong_protobuf_is_refused() {
    let wrong = protobuf(&histogram_family(2), true, false).unwrap_err();
    assert_eq!(
        wrong,
        "protobuf: metric family \"h\": positive side: spans require 3 buckets, have 2"
    );
    let mut body = histogram_family(3);
    body.pop();
    assert_eq!(
        protobuf(&body, true, false).unwrap_err(),
        "protobuf: message ends inside a field at byte 2"
    );
    let unknown_type = family("x", 9, |_| {});
    assert_eq!(
        protobuf(&unknown_type, true, false).unwrap_err(),
        "protobuf: metric family \"x\": expected a type from 0 to 5, found 9"
    );
    assert!(protobuf(b"# HELP this is text\n", true, false).is_err());
}

#[test]
fn whatever_is_cut_off_or_changed_ends_in_entries_or_an_error() {
    let texts = [
        (Format::Text, b"# HELP a \\x\n# TYPE a histogram\na_bucket{le=\"1\",b=\"\xc3\xbc\\n\"} 1 5\n".to_vec()),
        (Format::OpenMetrics, b"# TYPE a counter\na_total{b=\"c\"} 1 2.5 # {d=\"\\\"\"} 1 2\na_created{b=\"c\"} 1\n# EOF\n".to_vec()),
        (Format::Protobuf, histogram_family(3)),
    ];
    let options = ParseOptions { native_histograms: true, classic_beside_native: true };
    for (format, body) in texts {
        read(&body, format, options).unwrap();
        for at in 0..body.len() {
            let _ = read(&body[..at], format, options);
            for byte in [0, b'"', b'\\', b'\n', b'{', 0x80, 0xff] {
                let mut changed = body.clone();
                changed[at] = byte;
                let _ = read(&changed, format, options);
            }
        }
    }
}

/// Writes the same families in either format.
fn written(format: Format, escaping: Escaping) -> String {
    let mut writer = TextWriter::new(format, escaping);
    writer.family("req_seconds_total", MetricKind::Counter, "Line\n\"two\" \\", "seconds");
    let exemplar = SampleExemplar {
        labels: &[("trace_id", "x\"y")],
        value: 1.0,
        timestamp_millis: Some(1_500),
    };
    writer.sample("req_seconds_total", [("a", "b\\\"\n")], 17.0, Some(2_000), Some(exemplar));
    writer.family("a.gauge", MetricKind::Unknown, "", "");
    writer.sample("a.gauge", [("dotted.label", "v")], f64::NAN, None, None);
    writer.sample("a.gauge", [], 1e6, Some(-1_250), None);
    writer.finish()
}

#[test]
fn text_is_written_as_prometheus_reads_it() {
    assert_eq!(
        written(Format::Text, Escaping::Underscores),
        "# HELP req_seconds_total Line\\n\"two\" \\\\\n\
         # TYPE req_seconds_total counter\n\
         req_seconds_total{a=\"b\\\\\\\"\\n\"} 17 2000\n\
         # TYPE a_gauge untyped\n\
         a_gauge{dotted_label=\"v\"} NaN\n\
         a_gauge 1e+06 -1250\n"
    );
    assert_eq!(
        written(Format::OpenMetrics, Escaping::AllowUtf8),
        "# HELP req_seconds Line\\n\\\"two\\\" \\\\\n\
         # TYPE req_seconds counter\n\
         # UNIT req_seconds seconds\n\
         req_seconds_total{a=\"b\\\\\\\"\\n\"} 17.0 2 # {trace_id=\"x\\\"y\"} 1.0 1.5\n\
         # TYPE \"a.gauge\" unknown\n\
         {\"a.gauge\",\"dotted.label\"=\"v\"} NaN\n\
         {\"a.gauge\"} 1e+06 -1.25\n\
         # EOF\n"
    );
}

#[test]
fn what_is_written_is_read_back() {
    let lines = open_metrics(&written(Format::OpenMetrics, Escaping::AllowUtf8)).unwrap();
    assert_eq!(
        lines,
        [
            "help req_seconds \"Line\\n\\\"two\\\" \\\\\"",
            "type req_seconds counter",
            "unit req_seconds seconds",
            "req_seconds_total{a=\"b\\\\\\\"\\n\"} 17 2000 # {trace_id=\"x\\\"y\"} 1 1500",
            "type a.gauge unknown",
            "a.gauge{dotted.label=\"v\"} NaN",
            "a.gauge{} 1000000 -1250",
        ]
    );
    let lines = text(&written(Format::Text, Escaping::AllowUtf8)).unwrap();
    assert_eq!(lines[0], "help req_seconds_total \"Line\\n\\\"two\\\" \\\\\"");
    assert_eq!(lines[2], "req_seconds_total{a=\"b\\\\\\\"\\n\"} 17 2000");
}
