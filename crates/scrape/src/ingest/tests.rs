//! Answers, and what becomes of them.

use std::path::Path;

use kymo_wire::encode::Writer;

use super::*;
use crate::config::ScrapeSettings;
use crate::target::{Resolved, TargetGroup, resolve};

struct Fixture {
    job: Arc<JobSettings>,
    target: Target,
    cache: SeriesCache,
    time_millis: i64,
}

fn fixture(keys: &str) -> Fixture {
    let text = format!("scrape_configs:\n  - job_name: j\n{keys}");
    let settings = ScrapeSettings::from_yaml(&text, Path::new("x.yml")).unwrap();
    let job = settings.jobs[0].clone();
    let group = TargetGroup {
        labels: [("zone".to_owned(), "z1".to_owned())].into(),
        ..TargetGroup::default()
    };
    let Ok(Resolved::Active(target)) = resolve(&job, &group, "h:1") else { panic!() };
    Fixture { job, target: *target, cache: SeriesCache::default(), time_millis: 0 }
}

impl Fixture {
    fn scrape(&mut self, body: &str) -> (Counts, Result<Vec<String>, String>) {
        self.time_millis += 1_000;
        let (counts, result) = ingest(
            &mut self.cache,
            &self.job,
            &self.target,
            body.as_bytes(),
            Format::Text,
            self.time_millis,
        );
        let result = result.map(|series| {
            let mut lines: Vec<_> = series.iter().map(shown).collect();
            lines.sort();
            lines
        });
        (counts, result)
    }

    fn lines(&mut self, body: &str) -> Vec<String> {
        self.scrape(body).1.unwrap()
    }
}

fn shown(series: &ScrapedSeries) -> String {
    let value = match &series.value {
        _ if series.is_stale() => "stale".to_owned(),
        ScrapedValue::Float(value) => value.to_string(),
        ScrapedValue::Histogram(histogram) => format!("{} buckets", histogram.bucket_count()),
    };
    format!("{} {value} @{}", series.labels, series.time_millis)
}

#[test]
fn samples_get_the_labels_of_their_target() {
    let mut fixture = fixture("");
    assert_eq!(
        fixture.lines("a{x=\"1\"} 5\n"),
        [r#"{__name__="a", instance="h:1", job="j", x="1", zone="z1"} 5 @1000"#]
    );
}

#[test]
fn a_label_that_is_there_already_is_exported_or_honored() {
    let body = "a{job=\"mine\",zone=\"q\",exported_zone=\"e\"} 1\n";
    assert_eq!(
        fixture("").lines(body),
        [concat!(
            r#"{__name__="a", exported_exported_zone="q", exported_job="mine", "#,
            r#"exported_zone="e", instance="h:1", job="j", zone="z1"} 1 @1000"#
        )]
    );
    assert_eq!(
        fixture("    honor_labels: true\n").lines(body),
        [r#"{__name__="a", exported_zone="e", instance="h:1", job="mine", zone="q"} 1 @1000"#]
    );
    assert_eq!(
        fixture("    honor_labels: true\n").lines("a{instance=\"\"} 1\n"),
        [r#"{__name__="a", job="j", zone="z1"} 1 @1000"#],
        "an empty label is honored, too"
    );
}

#[test]
fn series_that_vanish_end_once() {
    let mut fixture = fixture("    relabel_configs: [{regex: zone|instance, action: labeldrop}]\n");
    fixture.lines("a 1\nb 2\n");
    let without_b = fixture.lines("a 1\n");
    assert_eq!(without_b.len(), 2, "{without_b:?}");
    assert_eq!(
        without_b[1], r#"{__name__="b", instance="h:1", job="j"} stale @2000"#,
        "instance is set after relabeling"
    );
    assert_eq!(fixture.lines("a 1\n").len(), 1, "an end is told once");
    let ends = fixture.cache.end_all(9_000);
    assert_eq!(ends.len(), 1);
    assert!(ends[0].is_stale() && ends[0].time_millis == 9_000);
    assert_eq!(fixture.cache.end_all(9_000), []);
    assert_eq!(fixture.lines("a 1\n").len(), 1, "it comes back");
}

#[test]
fn what_fails_ends_all_series_that_were_sent_and_no_others() {
    let mut fixture = fixture("");
    fixture.lines("a 1\n");
    let (counts, result) = fixture.scrape("a 2\nnew 1\nwrong\n");
    assert_eq!(result.unwrap_err(), "line 3: expected a value, found the end");
    assert_eq!(counts.scraped, 2);
    let ends: Vec<_> = fixture.cache.end_all(2_000).iter().map(shown).collect();
    assert_eq!(ends, [r#"{__name__="a", instance="h:1", job="j", zone="z1"} stale @2000"#]);
}

#[test]
fn times_of_the_target_are_honored_unless_told_otherwise() {
    let mut honored = fixture("");
    assert!(honored.lines("a 1 500\nb 1\n")[0].ends_with("1 @500"));
    let lines = honored.lines("b 1\n");
    assert_eq!(lines.len(), 1, "a series with a time of its own has no end: {lines:?}");
    let mut tracked = fixture("    track_timestamps_staleness: true\n");
    tracked.lines("a 1 500\nb 1\n");
    assert_eq!(tracked.lines("b 1\n").len(), 2);
    let mut ignored = fixture("    honor_timestamps: false\n");
    assert!(ignored.lines("a 1 500\n")[0].ends_with("1 @1000"));
    let (counts, result) = honored.scrape("a 1 99999999999999\n");
    assert_eq!((counts.left_out, result.unwrap().len()), (1, 1), "the future is left out, b ends");
}

#[test]
fn samples_are_counted_before_and_after_relabeling() {
    let mut fixture = fixture(
        "    metric_relabel_configs:\n      - {source_labels: [__name__], regex: go_.*, action: drop}\n",
    );
    let body = "go_a 1\ngo_b 2\nx 3\nx 4\ny 1\n";
    let (counts, result) = fixture.scrape(body);
    assert_eq!(counts, Counts { scraped: 5, kept: 3, added: 2, left_out: 1 });
    assert_eq!(result.unwrap().len(), 2, "of two samples of a series the first counts");
    let (counts, _) = fixture.scrape(body);
    assert_eq!(counts, Counts { scraped: 5, kept: 3, added: 0, left_out: 1 });
}

#[test]
fn a_scrape_over_a_limit_is_dropped_whole() {
    for (keys, body, expected) in [
        ("    sample_limit: 2\n", "a 1\nb 1\nc 1\n", "sample limit exceeded"),
        (
            "    label_limit: 4\n",
            "a{x=\"1\"} 1\n",
            "label_limit exceeded (metric: a, number of labels: 5, limit: 4)",
        ),
        (
            "    label_name_length_limit: 8\n",
            "a{long_name=\"1\"} 1\n",
            "label_name_length_limit exceeded (metric: a, label name: long_name, length: 9, \
             limit: 8)",
        ),
        (
            "    label_value_length_limit: 3\n",
            "a{x=\"1234\"} 1\n",
            "label_value_length_limit exceeded (metric: a, label name: x, value: \"1234\", length: \
             4, limit: 3)",
        ),
        (
            "    metric_name_validation_scheme: legacy\n",
            "{\"a.b\"} 1\n",
            "invalid metric name or label names: {__name__=\"a.b\", instance=\"h:1\", job=\"j\", \
             zone=\"z1\"}",
        ),
        (
            "    metric_relabel_configs: [{regex: __name__, action: labeldrop}]\n",
            "a 1\n",
            "missing metric name (__name__ label)",
        ),
        ("", "a{x=\"1\",x=\"2\"} 1\n", "label name \"x\" is not unique in a sample of a"),
    ] {
        assert_eq!(fixture(keys).scrape(body).1.unwrap_err(), expected, "{keys}");
    }
    let mut fixture = fixture("    sample_limit: 2\n");
    let (counts, _) = fixture.scrape("a 1\nb 1\nc 1\nd 1\n");
    assert_eq!((counts.scraped, counts.kept, counts.added), (4, 4, 2), "all are counted");
    assert!(fixture.scrape("a 1\nb 1\n").1.is_ok());
}

#[test]
fn metadata_goes_to_the_samples_of_its_family_alone() {
    let mut fixture = fixture("");
    let body = "# HELP h Help.\n# TYPE h histogram\nh_bucket{le=\"+Inf\"} 1\nh_count 1\nh_sum 1\n\
                other 1\n";
    fixture.time_millis = 1;
    let (_, result) =
        ingest(&mut fixture.cache, &fixture.job, &fixture.target, body.as_bytes(), Format::Text, 1);
    let metadata: Vec<_> =
        result.unwrap().iter().map(|s| s.metadata.as_ref().map(|m| m.help.clone())).collect();
    let help = || Some("Help.".to_owned());
    assert_eq!(metadata, [help(), help(), help(), None]);
    let known = fixture.cache.changed_metadata().unwrap();
    assert_eq!((known.len(), known[0].kind), (1, MetricKind::Histogram));
    fixture.scrape(body).1.unwrap();
    assert_eq!(fixture.cache.changed_metadata(), None, "nothing changed");
    for _ in 0..12 {
        fixture.scrape("other 1\n").1.unwrap();
    }
    assert_eq!(fixture.cache.changed_metadata(), Some(Vec::new()), "it is forgotten in time");
}

#[test]
fn the_content_type_decides_the_format_and_a_fallback_helps() {
    let plain = fixture("").job;
    let with_fallback = fixture("    fallback_scrape_protocol: PrometheusText0.0.4\n").job;
    assert_eq!(format_of("application/openmetrics-text", &plain), Ok(Format::OpenMetrics));
    assert_eq!(
        format_of("text/html", &plain).unwrap_err(),
        "received unsupported Content-Type \"text/html\" and no fallback_scrape_protocol specified \
         for target"
    );
    assert!(format_of("", &plain).unwrap_err().contains("blank Content-Type"));
    assert_eq!(format_of("text/html", &with_fallback), Ok(Format::Text));
    assert_eq!(format_of("", &with_fallback), Ok(Format::Text));
}

#[test]
fn classic_histograms_are_converted_where_that_is_asked_for() {
    let body = "# TYPE h histogram\nh_bucket{p=\"1\",le=\"1\"} 2\nh_bucket{p=\"1\",le=\"+Inf\"} 3\n\
                h_sum{p=\"1\"} 4\nh_count{p=\"1\"} 3\nh_bucket{p=\"2\",le=\"1\"} 0\n\
                h_count{p=\"2\"} 9\n# TYPE g gauge\ng 1\n";
    let names = |fixture: &mut Fixture| -> Vec<_> {
        let lines = fixture.lines(body).into_iter();
        lines
            .map(|line| {
                line.replace(r#", instance="h:1", job="j""#, "").replace(r#", zone="z1""#, "")
            })
            .collect()
    };
    let convert = "    convert_classic_histograms_to_nhcb: true\n";
    let converted = [
        r#"{__name__="g"} 1 @1000"#,
        r#"{__name__="h", p="1"} 2 buckets @1000"#,
        r#"{__name__="h", p="2"} 2 buckets @1000"#,
    ];
    let mut fixture_converted = fixture(convert);
    assert_eq!(names(&mut fixture_converted), converted);
    assert!(fixture_converted.lines("g 1\n").iter().any(|line| line.contains("stale")));
    let both = format!("{convert}    always_scrape_classic_histograms: true\n");
    let lines = names(&mut fixture(&both));
    assert_eq!((lines.len(), &lines[..3]), (9, &converted.map(str::to_owned)[..]));
    let wrong = "# TYPE h histogram\nh_bucket{le=\"1\"} 2\nh_count 1\n";
    let (counts, result) = fixture(convert).scrape(wrong);
    assert_eq!((counts.left_out, result.unwrap().len()), (1, 0));
}

/// A protobuf answer with a native histogram of so many buckets in schema 3.
fn native(buckets: u64) -> Vec<u8> {
    let mut family = Writer::new();
    family.bytes_field(1, b"h");
    family.varint_field(3, 4);
    family.message(4, |metric| {
        metric.message(7, |histogram| {
            histogram.varint_field(1, buckets);
            histogram.sint32_field(5, 3);
            histogram.message(12, |span| {
                span.sint32_field(1, 1);
                span.varint_field(2, buckets);
            });
            // The first has one measurement, the others as many as the one before.
            for bucket in 0..buckets {
                histogram.varint_field(13, if bucket == 0 { 2 } else { 0 });
            }
        });
    });
    let mut out = Writer::new();
    out.varint(family.as_slice().len() as u64);
    out.raw(family.as_slice());
    out.into_bytes()
}

#[test]
fn native_histograms_are_made_coarser_until_they_fit() {
    let ingested = |keys: &str, buckets: u64| {
        let keys = format!("    scrape_native_histograms: true\n{keys}");
        let Fixture { job, target, mut cache, .. } = fixture(&keys);
        let (counts, result) =
            ingest(&mut cache, &job, &target, &native(buckets), Format::Protobuf, 1);
        assert_eq!(counts.scraped, 1);
        result.map(|series| match &series[0].value {
            ScrapedValue::Histogram(histogram) => (histogram.schema, histogram.bucket_count()),
            ScrapedValue::Float(value) => panic!("{value}"),
        })
    };
    assert_eq!(ingested("", 64), Ok((3, 64)));
    assert_eq!(ingested("    native_histogram_bucket_limit: 20\n", 64), Ok((1, 16)));
    assert_eq!(ingested("    native_histogram_min_bucket_factor: 2\n", 64), Ok((0, 8)));
    assert_eq!(
        ingested("    native_histogram_bucket_limit: 1\n", 5_000),
        Err("histogram bucket limit exceeded".to_owned())
    );
}

#[test]
fn an_answer_with_more_samples_than_memory_is_for_is_refused() {
    let body = "a 1\n".repeat(MAX_SAMPLES + 1);
    let expected = "more than 1000000 samples in an answer; to take more, set sample_limit to how \
                    many";
    assert_eq!(fixture("").scrape(&body).1, Err(expected.to_owned()));
    let (counts, result) = fixture("    sample_limit: 2000000\n").scrape(&body);
    assert_eq!((counts.scraped, result.is_ok()), (MAX_SAMPLES + 1, true));
}
