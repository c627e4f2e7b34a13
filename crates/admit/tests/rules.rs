//! What rules make of requests, and what becomes of these in admission.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

use bytes::Bytes;
use kymo_admit::rules::{Applied, Dropped, RuleSettings, Rules};
use kymo_admit::{Admission, Compression, Format, Signal, Version};
use kymo_wire::remote_write::{Metadata, MetadataType, RequestWriter, SeriesWriter};
use kymo_wire::{View, json, remote_write};
use serde::Deserialize;

/// Rules as in a configuration.
fn rules(yaml: &str) -> Rules {
    #[derive(Deserialize)]
    struct Settings {
        rules: Vec<RuleSettings>,
    }
    let settings: Settings = kymo_yaml::from_str(yaml).unwrap();
    Rules::new(settings.rules, "pepper").unwrap()
}

/// What is wrong with a rule.
fn fault(yaml: &str) -> String {
    #[derive(Debug, Deserialize)]
    struct Settings {
        rules: Vec<RuleSettings>,
    }
    let settings: Settings = kymo_yaml::from_str(yaml).unwrap();
    Rules::new(settings.rules, "").unwrap_err().to_string()
}

fn decoded(signal: Signal, text: &str) -> Vec<u8> {
    json::decode(signal, text.as_bytes()).unwrap()
}

fn shown(signal: Signal, body: &[u8]) -> String {
    let mut text = Vec::new();
    json::encode(signal, body, &mut text).unwrap();
    String::from_utf8(text).unwrap()
}

/// A span with text and integer attributes, in JSON.
fn span(name: &str, attributes: &[(&str, &str)]) -> String {
    let attributes = attributes_json(attributes);
    format!(
        r#"{{"traceId":"0123456789abcdef0123456789abcdef","spanId":"0123456789abcdef","name":"{name}","attributes":[{attributes}]}}"#
    )
}

/// Numbers are integers, everything else is text.
fn attributes_json(attributes: &[(&str, &str)]) -> String {
    let one = |(key, value): &(&str, &str)| match value.parse::<i64>() {
        Ok(number) => format!(r#"{{"key":"{key}","value":{{"intValue":"{number}"}}}}"#),
        Err(_) => format!(r#"{{"key":"{key}","value":{{"stringValue":"{value}"}}}}"#),
    };
    attributes.iter().map(one).collect::<Vec<_>>().join(",")
}

/// A request of one resource.
fn traces(resource: &[(&str, &str)], spans: &[String]) -> Vec<u8> {
    let resource = attributes_json(resource);
    let spans = spans.join(",");
    let text = format!(
        r#"{{"resourceSpans":[{{"resource":{{"attributes":[{resource}]}},"scopeSpans":[{{"scope":{{"name":"s"}},"spans":[{spans}]}}]}}]}}"#
    );
    decoded(Signal::Traces, &text)
}

fn logs(records: &[String]) -> Vec<u8> {
    let records = records.join(",");
    let text = format!(r#"{{"resourceLogs":[{{"scopeLogs":[{{"logRecords":[{records}]}}]}}]}}"#);
    decoded(Signal::Logs, &text)
}

fn changed(rules: &Rules, signal: Signal, body: &[u8]) -> (String, Vec<(String, u64)>) {
    let Applied::Changed { body, dropped, .. } = rules.apply(signal, body).unwrap() else {
        panic!("nothing changed")
    };
    (shown(signal, &body), counts(&dropped))
}

fn counts(dropped: &[Dropped]) -> Vec<(String, u64)> {
    dropped.iter().map(|dropped| (dropped.rule.to_string(), dropped.count)).collect()
}

/// The text without what all spans have.
fn brief(text: &str) -> String {
    let ids = r#""traceId":"0123456789abcdef0123456789abcdef","spanId":"0123456789abcdef","#;
    text.replace(ids, "")
}

const GRAPHISTRY: &str = r#"
rules:
  - {name: list-route, signals: [traces], where: 'span.http.route =~ ".*/list\\?skipContextTest=.*" && span.http.status_code = 200', drop: true}
  - {name: list-target, signals: [traces], where: 'span.http.target =~ ".*/list\\?skipContextTest=.*" && span.http.status_code = 200', drop: true}
  - {name: workers-route, signals: [traces], where: 'span.http.route =~ ".*/check-workers.*" && span.http.status_code = 200', drop: true}
  - {name: workers-target, signals: [traces], where: 'span.http.target =~ ".*/check-workers.*" && span.http.status_code = 200', drop: true}
  - {name: read-route, signals: [traces], where: 'span.http.route =~ ".*/read.*" && span.http.status_code = 200', drop: true}
  - {name: read-target, signals: [traces], where: 'span.http.target =~ ".*/read.*" && span.http.status_code = 200', drop: true}
  - {name: health, signals: [traces], where: 'span.http.route =~ ".*/health.*" || span.http.target =~ ".*/health.*"', drop: true}
  - {name: handler, signals: [traces], where: 'name = "readHandler" && span.http.status_code = 200', drop: true}
  - {insert: {.system: graphistry}, signals: [traces, metrics]}
  - {insert: {.graphistry_instance: one}, signals: [traces, metrics]}
"#;

#[test]
fn the_noise_that_graphistry_drops_is_dropped_and_the_rest_gets_its_attributes() {
    let rules = rules(GRAPHISTRY);
    let noise = [
        span("a", &[("http.route", "/list?skipContextTest=true"), ("http.status_code", "200")]),
        span("b", &[("http.target", "/api/list?skipContextTest=1"), ("http.status_code", "200")]),
        span("c", &[("http.route", "/check-workers"), ("http.status_code", "200")]),
        span("d", &[("http.target", "/x/check-workers/1"), ("http.status_code", "200")]),
        span("e", &[("http.route", "/read"), ("http.status_code", "200")]),
        span("f", &[("http.target", "/readiness"), ("http.status_code", "200")]),
        span("g", &[("http.route", "/health")]),
        span("h", &[("http.target", "/healthz?x"), ("http.status_code", "503")]),
        span("readHandler", &[("http.status_code", "200")]),
    ];
    let signal = [
        span("list", &[("http.route", "/list?skipContextTest=true"), ("http.status_code", "500")]),
        span("text", &[("http.route", "/read"), ("http.status_code", "200 OK")]),
        span("other", &[("http.route", "/upload"), ("http.status_code", "200")]),
        span("readHandler", &[("http.status_code", "404")]),
        span("mine", &[("system", "mine")]),
    ];
    let all = [&noise[..], &signal[..]].concat();
    let (text, dropped) = changed(&rules, Signal::Traces, &traces(&[], &all));
    assert_eq!(
        dropped,
        [
            ("list-route", 1),
            ("list-target", 1),
            ("workers-route", 1),
            ("workers-target", 1),
            ("read-route", 1),
            ("read-target", 1),
            ("health", 2),
            ("handler", 1)
        ]
        .map(|(rule, count)| (rule.to_owned(), count))
    );
    let with = |name, attributes: &[(&str, &str)], more: &[(&str, &str)]| {
        span(name, &[attributes, more].concat())
    };
    let (system, instance) = (("system", "graphistry"), ("graphistry_instance", "one"));
    let left = [
        with(
            "list",
            &[("http.route", "/list?skipContextTest=true"), ("http.status_code", "500")],
            &[system, instance],
        ),
        with(
            "text",
            &[("http.route", "/read"), ("http.status_code", "200 OK")],
            &[system, instance],
        ),
        with(
            "other",
            &[("http.route", "/upload"), ("http.status_code", "200")],
            &[system, instance],
        ),
        with("readHandler", &[("http.status_code", "404")], &[system, instance]),
        with("mine", &[("system", "mine")], &[instance]),
    ];
    assert_eq!(text, shown(Signal::Traces, &traces(&[], &left)));
    let (_, dropped) = changed(&rules, Signal::Traces, &traces(&[], &noise));
    assert_eq!(dropped.iter().map(|(_, count)| count).sum::<u64>(), 9);
}

#[test]
fn a_request_that_no_rule_changes_keeps_its_bytes() {
    let rules = rules(
        "rules:\n- {where: 'span.a = 1', drop: true}\n- {update: {span.b: 1}}\n- {delete: [span.c*]}\n- {insert: {resource.r: x}}\n- {redact: {attributes: ['*'], pattern: secret}}\n- {where: 'resource.r = nil', drop: true}\n",
    );
    let body = traces(&[("r", "y")], &[span("a", &[("x", "text")]), span("b", &[])]);
    assert_eq!(rules.apply(Signal::Traces, &body), Ok(Applied::Unchanged));
    let admission = Admission::default().with_rules(rules);
    let packed = Bytes::from(zstd::encode_all(&body[..], 3).unwrap());
    let admitted = admission
        .admit("default", Signal::Traces, Format::Protobuf, Compression::Zstd, packed.clone())
        .unwrap();
    assert_eq!((admitted.compression, &admitted.body), (Compression::Zstd, &packed));
    assert!(admitted.dropped.is_empty());
}

#[test]
fn each_action_does_what_it_says() {
    let attributes = [("a", "1"), ("b", "x"), ("a", "2"), ("http.url", "u"), ("http.x", "v")];
    for (rule, expected) in [
        ("insert: {span.a: 5, .new: [p, q]}", r#"a=1 b=x a=2 http.url=u http.x=v new=["p","q"]"#),
        (
            "insert: {.f: 1.5, .t: true, .q: '7'}",
            "a=1 b=x a=2 http.url=u http.x=v f=1.5 t=true q='7'",
        ),
        ("update: {span.a: 5, .new: 1}", "a=5 b=x a=5 http.url=u http.x=v"),
        ("upsert: {span.a: z, .new: 1}", "a=z b=x a=z http.url=u http.x=v new=1"),
        ("delete: [span.a, .http.*]", "b=x"),
        ("rename: {span.a: span.b}", "b=1 b=2 http.url=u http.x=v"),
        ("rename: {span.b: span.c, span.c: span.d}", "a=1 d=x a=2 http.url=u http.x=v"),
        (
            "redact: {attributes: [span.b, .http.*], pattern: '[uvx]', with: '<$0>'}",
            "a=1 b=<x> a=2 http.url=<u> http.x=<v>",
        ),
        // printf pepperx | sha256sum | cut -c1-32
        ("hash: [span.b]", "a=1 b=232069a0ae43819cace8baa9e99d3047 a=2 http.url=u http.x=v"),
    ] {
        let rules = rules(&format!("rules:\n- {{{rule}}}\n"));
        let (text, dropped) =
            changed(&rules, Signal::Traces, &traces(&[], &[span("n", &attributes)]));
        assert!(dropped.is_empty());
        let parsed = parsed_attributes(&text);
        assert_eq!(parsed, expected, "{rule}");
    }
}

/// Attributes of the first span, briefly: text that looks like a number is in quotes.
fn parsed_attributes(text: &str) -> String {
    let json: serde_json::Value = serde_json::from_str(text).unwrap();
    let list = &json["resourceSpans"][0]["scopeSpans"][0]["spans"][0]["attributes"];
    let value = |value: &serde_json::Value| {
        let (kind, value) = value.as_object().unwrap().iter().next().unwrap();
        match (kind.as_str(), value) {
            ("stringValue", serde_json::Value::String(text)) => match text.parse::<f64>() {
                Ok(_) => format!("'{text}'"),
                Err(_) => text.clone(),
            },
            ("arrayValue", list) => {
                let texts = list["values"].as_array().unwrap().iter();
                let texts: Vec<_> = texts.map(|text| text["stringValue"].to_string()).collect();
                format!("[{}]", texts.join(","))
            }
            (_, serde_json::Value::String(number)) => number.clone(),
            (_, other) => other.to_string(),
        }
    };
    let one = |attribute: &serde_json::Value| {
        format!("{}={}", attribute["key"].as_str().unwrap(), value(&attribute["value"]))
    };
    list.as_array().unwrap().iter().map(one).collect::<Vec<_>>().join(" ")
}

#[test]
fn rules_are_applied_in_order_and_see_what_was_made_before() {
    let rules = rules(
        "rules:\n- {insert: {.marked: 1}, where: 'name = \"a\"'}\n- {name: marked, where: 'span.marked = 1 && resource.env = nil', drop: true}\n- {upsert: {resource.env: x}, where: 'name = \"b\"'}\n- {name: moved, where: 'resource.env = \"x\" && span.k = 2', drop: true}\n- {where: 'resource.env = \"x\"', insert: {.seen: 1}}\n",
    );
    let body = traces(
        &[("r", "1")],
        &[span("a", &[]), span("b", &[("k", "1")]), span("c", &[]), span("b", &[("k", "2")])],
    );
    let (text, dropped) = changed(&rules, Signal::Traces, &body);
    assert_eq!(dropped, [("marked".to_owned(), 1), ("moved".to_owned(), 1)]);
    assert_eq!(
        brief(&text),
        r#"{"resourceSpans":[{"resource":{"attributes":[{"key":"r","value":{"intValue":"1"}},{"key":"env","value":{"stringValue":"x"}}]},"scopeSpans":[{"scope":{"name":"s"},"spans":[{"name":"b","attributes":[{"key":"k","value":{"intValue":"1"}},{"key":"seen","value":{"intValue":"1"}}]}]}]},{"resource":{"attributes":[{"key":"r","value":{"intValue":"1"}}]},"scopeSpans":[{"scope":{"name":"s"},"spans":[{"name":"c"}]}]}]}"#
    );
}

#[test]
fn a_resource_that_is_missing_is_made_for_an_attribute() {
    let rules = rules("rules:\n- {insert: {resource.system: g, scope.of: 1}}\n");
    let body = decoded(
        Signal::Logs,
        r#"{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"timeUnixNano":"1"}]}]}]}"#,
    );
    let (text, _) = changed(&rules, Signal::Logs, &body);
    assert_eq!(
        text,
        r#"{"resourceLogs":[{"resource":{"attributes":[{"key":"system","value":{"stringValue":"g"}}]},"scopeLogs":[{"scope":{"attributes":[{"key":"of","value":{"intValue":"1"}}]},"logRecords":[{"timeUnixNano":"1"}]}]}]}"#
    );
}

#[test]
fn everything_of_a_record_is_redacted_where_all_attributes_are_meant() {
    let rules = rules(
        "rules:\n- {redact: {attributes: ['*'], body: true, pattern: '\\d{4,}', with: '#'}}\n",
    );
    let text = r#"{"resourceSpans":[{"resource":{"attributes":[{"key":"r","value":{"stringValue":"1234"}}]},"scopeSpans":[{"scope":{"attributes":[{"key":"s","value":{"stringValue":"1234"}}]},"spans":[{"traceId":"0123456789abcdef0123456789abcdef","spanId":"0123456789abcdef","attributes":[{"key":"a","value":{"arrayValue":{"values":[{"stringValue":"1234"},{"intValue":"1234"}]}}}],"events":[{"attributes":[{"key":"e","value":{"stringValue":"1234 5"}}]}],"links":[{"traceId":"0123456789abcdef0123456789abcdef","spanId":"0123456789abcdef","attributes":[{"key":"l","value":{"stringValue":"x1234"}}]}]}]}]}]}"#;
    let (redacted, _) = changed(&rules, Signal::Traces, &decoded(Signal::Traces, text));
    assert_eq!(redacted.matches("1234\"").count(), 1, "only the number is left: {redacted}");
    assert_eq!(redacted.matches('#').count(), 5);
    let body = logs(&[r#"{"body":{"stringValue":"card 12345"},"attributes":[]}"#.to_owned()]);
    let (redacted, _) = changed(&rules, Signal::Logs, &body);
    assert!(redacted.contains(r#""body":{"stringValue":"card #"}"#), "{redacted}");
}

#[test]
fn exemplars_of_points_of_every_type_are_redacted() {
    let rules =
        rules("rules:\n- {redact: {attributes: ['*'], pattern: ada}}\n- {delete: [exemplar.b]}\n");
    let exemplar = r#"[{"filteredAttributes":[{"key":"a","value":{"stringValue":"ada"}},{"key":"b","value":{"stringValue":"x"}}]}]"#;
    for kind in ["gauge", "sum", "histogram", "exponentialHistogram"] {
        let text = format!(
            r#"{{"resourceMetrics":[{{"scopeMetrics":[{{"metrics":[{{"name":"m","{kind}":{{"dataPoints":[{{"timeUnixNano":"1","exemplars":{exemplar}}}]}}}}]}}]}}]}}"#
        );
        let (changed, _) = changed(&rules, Signal::Metrics, &decoded(Signal::Metrics, &text));
        let left = r#""filteredAttributes":[{"key":"a","value":{"stringValue":"***"}}]"#;
        assert!(changed.contains(left), "{changed}");
    }
}

#[test]
fn keep_drops_the_rest_of_its_signals_alone() {
    let rules = rules("rules:\n- {name: only-a, where: 'span.k = 1', keep: true}\n");
    let body = traces(&[], &[span("a", &[("k", "1")]), span("b", &[])]);
    let (text, dropped) = changed(&rules, Signal::Traces, &body);
    assert_eq!(dropped, [("only-a".to_owned(), 1)]);
    assert!(text.contains("\"a\"") && !text.contains("\"b\""));
    let body = logs(&[r#"{"timeUnixNano":"1"}"#.to_owned()]);
    assert_eq!(rules.apply(Signal::Logs, &body), Ok(Applied::Unchanged));
}

#[test]
fn groups_without_a_record_do_not_stay() {
    let rules = rules("rules:\n- {delete: [resource.user]}\n");
    let text = r#"{"resourceSpans":[{"resource":{"attributes":[{"key":"user","value":{"stringValue":"ada"}}]}}]}"#;
    let body = decoded(Signal::Traces, text);
    let applied = rules.apply(Signal::Traces, &body).unwrap();
    assert_eq!(applied, Applied::Changed { body: vec![], items: 0, dropped: vec![] });
}

#[test]
fn admission_counts_what_rules_drop_and_does_not_tell_the_sender() {
    let rules = rules("rules:\n- {name: noise, where: 'name = \"a\"', drop: true}\n");
    let admission = Admission::default().with_rules(rules);
    let admit = |spans: &[String]| {
        let body = Bytes::from(traces(&[], spans));
        admission
            .admit("default", Signal::Traces, Format::Protobuf, Compression::None, body)
            .unwrap()
    };
    let admitted = admit(&[span("a", &[]), span("b", &[]), span("a", &[])]);
    assert_eq!((admitted.items, counts(&admitted.dropped)), (1, vec![("noise".to_owned(), 2)]));
    assert_eq!(admitted.partial_success(), None);
    assert_eq!(admitted.compression, Compression::None);
    assert_eq!(admitted.body, traces(&[], &[span("b", &[])]));
    let nothing = admit(&[span("a", &[])]);
    assert!(nothing.is_empty() && nothing.body.is_empty());
}

#[test]
fn what_is_wrong_with_a_rule_is_said() {
    for (rule, message) in [
        (
            "{}",
            "rule rule-1: it does nothing; expected one of drop, keep, delete, rename, insert, update, upsert, hash, redact",
        ),
        (
            "{name: a b, drop: true}",
            "rule a b: its name must be 1 to 64 letters, digits, '_', '.' or '-'",
        ),
        (
            "{name: audience, drop: true}",
            "rule audience: this name is that of the audience in counts; choose another",
        ),
        (
            "{keep: true}",
            "rule rule-1: keep needs a condition; without one it would keep everything",
        ),
        (
            "{drop: true, delete: [.a]}",
            "rule rule-1: drop and keep stand alone; put what else is to be done into a rule of its own",
        ),
        (
            "{where: '.a =', drop: true}",
            "rule rule-1: where: column 5: unexpected end of the condition, expected a value",
        ),
        (
            "{where: 'span.a = 1', signals: [logs], drop: true}",
            "rule rule-1: its condition is about spans, so that signals must be [traces]",
        ),
        (
            "{signals: [], drop: true}",
            "rule rule-1: signals is empty; leave it out for all signals",
        ),
        (
            "{delete: [system]}",
            "rule rule-1: \"system\" has no scope: expected .system, span.system, resource.system",
        ),
        (
            "{signals: [logs], delete: [span.x]}",
            "rule rule-1: no record of this rule's signals has \"span.x\"",
        ),
        (
            "{rename: {span.a: resource.a}}",
            "rule rule-1: \"span.a\" cannot become \"resource.a\": both must have the same scope",
        ),
        ("{redact: {pattern: x}}", "rule rule-1: redact needs attributes, or body: true"),
        (
            "{redact: {attributes: [.a], pattern: '.*'}}",
            "rule rule-1: pattern matches empty text too; expected at least one character, as .+ for .*",
        ),
        (
            "{redact: {attributes: [.a], pattern: '('}}",
            "rule rule-1: pattern: \"(\" is no regular expression: unclosed group",
        ),
        (
            "{redact: {body: true, pattern: x}, signals: [traces]}",
            "rule rule-1: body: true is about log records; signals must have logs",
        ),
        (
            "{name: a, drop: true}\n- {name: a, drop: true}",
            "rule a: another rule has this name; names must be different",
        ),
    ] {
        assert_eq!(fault(&format!("rules:\n- {rule}\n")), message);
    }
}

#[test]
fn a_rule_that_is_off_is_checked_and_does_nothing() {
    let rules = rules("rules:\n- {enabled: false, drop: true}\n");
    assert!(rules.is_empty());
    assert_eq!(rules.names().collect::<Vec<_>>(), ["rule-1"]);
    assert!(fault("rules:\n- {enabled: false, delete: [x]}\n").contains("has no scope"));
}

#[test]
fn no_salt_is_shown() {
    let rules = rules("rules:\n- {hash: [.a]}\n");
    assert!(!format!("{rules:?}").contains("pepper"));
}

fn labels(version: Version, body: &[u8]) -> Vec<String> {
    let show = |labels: Vec<(&[u8], &[u8])>| {
        let one = |(name, value): &(&[u8], &[u8])| {
            format!("{}={}", String::from_utf8_lossy(name), String::from_utf8_lossy(value))
        };
        labels.iter().map(one).collect::<Vec<_>>().join(" ")
    };
    match version {
        Version::One => {
            let request = remote_write::WriteRequestView::parse(body).unwrap();
            let series = request.series.iter().map(Result::unwrap);
            let labels = series.map(|series| {
                let labels = series.labels.iter().map(Result::unwrap);
                show(labels.map(|label| (label.name, label.value)).collect())
            });
            labels.collect()
        }
        Version::Two => {
            let request = remote_write::RequestView::parse(body).unwrap();
            let symbols = request.symbols.table().unwrap();
            let series = request.series.iter().map(Result::unwrap);
            series.map(|series| show(symbols.labels(&series.labels).flatten().collect())).collect()
        }
    }
}

fn request_1(series: &[&[(&str, &str)]]) -> Vec<u8> {
    let mut writer = kymo_wire::encode::Writer::new();
    for labels in series {
        writer.message(1, |w| {
            for (name, value) in *labels {
                remote_write::write_label(name.as_bytes(), value.as_bytes(), w);
            }
            w.message(2, |w| {
                w.double_field(1, 1.5);
                w.varint_field(2, 1_700_000_000_000);
            });
        });
    }
    writer.into_bytes()
}

fn request_2(series: &[&[(&str, &str)]]) -> Vec<u8> {
    let mut writer = RequestWriter::new();
    for labels in series {
        let metadata = Metadata { metric_type: MetadataType::Gauge, help: "help", unit: "unit" };
        writer.series(labels.iter().copied(), Some(metadata), |series: &mut SeriesWriter<'_>| {
            series.sample(1.5, 1_700_000_000_000, 0);
            series.exemplar([("trace_id", "abc")], 1.0, 1_700_000_000_000);
        });
    }
    writer.finish()
}

#[test]
fn labels_of_remote_write_are_changed_as_attributes_are() {
    let rules = rules(
        "rules:\n- {name: noise, where: 'name = \"noise\" && .user = \"ada\"', drop: true}\n- {where: 'resource.a = nil', drop: true}\n- {name: keep-shop, where: '.job = \"shop\"', keep: true, signals: [metrics]}\n- {insert: {.zone: eu, resource.r: 1}}\n- {delete: [label.secret*]}\n- {rename: {label.old: label.new}}\n- {redact: {attributes: ['*'], pattern: '\\d+', with: 'n'}}\n",
    );
    let series: [&[(&str, &str)]; 4] = [
        &[("__name__", "noise"), ("job", "shop"), ("user", "ada")],
        &[("__name__", "up1"), ("job", "shop"), ("old", "a1"), ("secret_x", "s")],
        &[("__name__", "up2"), ("job", "shop"), ("zone", "us")],
        &[("__name__", "up3"), ("job", "else")],
    ];
    let admission = Admission::default().with_rules(rules);
    for (version, body) in [(Version::One, request_1(&series)), (Version::Two, request_2(&series))]
    {
        let admitted = admission
            .admit_remote_write("default", version, Compression::None, Bytes::from(body))
            .unwrap();
        assert_eq!(
            labels(version, &admitted.body),
            ["__name__=up1 job=shop new=an zone=eu", "__name__=up2 job=shop zone=us"],
            "{version:?}"
        );
        assert_eq!(
            counts(&admitted.dropped),
            [("noise".to_owned(), 1), ("keep-shop".to_owned(), 1)]
        );
        assert_eq!((admitted.items, admitted.refused.len()), (2, 0));
        let bytes = admitted.body.as_ref();
        let has = |text: &str| bytes.windows(text.len()).any(|window| window == text.as_bytes());
        assert!(!has("ada") && !has("secret_x") && !has("up3"), "no text of what is gone is left");
        if version == Version::Two {
            let counts = admitted.remote_write.unwrap().counts;
            assert_eq!((counts.samples, counts.exemplars, counts.metadata), (2, 2, 2));
            let request = remote_write::RequestView::parse(bytes).unwrap();
            let symbols = request.symbols.table().unwrap();
            let first = request.series.iter().next().unwrap().unwrap();
            assert_eq!(symbols.get(first.metadata.unwrap().help), Some(&b"help"[..]));
            let exemplar = first.exemplars.iter().next().unwrap().unwrap();
            let label = symbols.labels(&exemplar.labels).next().unwrap();
            assert_eq!(label, Some((&b"trace_id"[..], &b"abc"[..])));
        }
    }
}

#[test]
fn remote_write_that_no_rule_changes_keeps_its_bytes() {
    let rules =
        rules("rules:\n- {where: '.job = \"x\"', drop: true}\n- {insert: {resource.a: 1}}\n");
    let series: [&[(&str, &str)]; 1] = [&[("__name__", "up"), ("job", "shop")]];
    for (version, body) in [(Version::One, request_1(&series)), (Version::Two, request_2(&series))]
    {
        assert_eq!(rules.apply_remote_write(version, &body), Ok(Applied::Unchanged));
    }
}
