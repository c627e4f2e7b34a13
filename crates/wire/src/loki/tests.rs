//! Pushes in both formats become the same request, and nothing makes them panic.

use serde_json::json;

use super::*;
use crate::encode::Writer;
use crate::tests::random::Random;
use crate::{LogsView, View, inspect_logs, text};

/// A record, its labels before it: `a=1 b=2 | 5 line | k=v | trace span`.
fn shown(body: &[u8]) -> Vec<String> {
    let mut out = Vec::new();
    for group in LogsView::parse(body).unwrap().resources {
        let group = group.unwrap();
        let pairs = |attributes: crate::Repeated<'_, crate::KeyValueView<'_>>| {
            let pair = |pair: Result<crate::KeyValueView<'_>, _>| {
                let pair = pair.unwrap();
                let crate::AnyValueView::String(value) = pair.value else { panic!("no text") };
                format!("{}={}", text(pair.key), text(value))
            };
            attributes.into_iter().map(pair).collect::<Vec<_>>().join(" ")
        };
        let labels = pairs(group.resource.unwrap().attributes);
        for scope in group.scopes {
            let scope = scope.unwrap();
            assert_eq!(scope.scope.unwrap().name, SCOPE);
            for log in scope.items {
                let log = log.unwrap();
                let crate::AnyValueView::String(line) = log.body else { panic!("no text") };
                let hex = |id: &[u8]| id.iter().map(|b| format!("{b:02x}")).collect::<String>();
                out.push(format!(
                    "{labels} | {} {} | {} | {} {}",
                    log.time_unix_nano,
                    text(line),
                    pairs(log.attributes),
                    hex(log.trace_id),
                    hex(log.span_id)
                ));
            }
        }
    }
    out
}

fn of_json(push: &serde_json::Value) -> Result<Push, PushError> {
    read(Format::Json, push.to_string().as_bytes(), &Bounds::default())
}

#[test]
fn a_push_becomes_records_under_the_labels_of_their_streams() {
    let trace = "5b8efff798038103d269b633813fc60c";
    let push = json!({ "other": 1, "streams": [
        { "values": [["1", "a", { "trace_id": trace, "span_id": "EEE19B7EC3C1B174", "k.2-x": "v" }],
                     ["2", "b\n\u{1f600}"], ["1", "a"], ["1", "a"]],
          "stream": { "pod": "p-1", "app": "shop", "empty": "" } },
        { "stream": { "app": "edge" }, "values": [["3", ""]] },
        { "stream": { "app": "shop", "pod": "p-1" },
          "values": [["2", "b\n\u{1f600}"], ["2", "b\n\u{1f600}", { "late": "1" }], ["2", "c"], ["9", "d", { "1st": "x" }]] },
        { "stream": { "app": "silent" }, "values": [] },
    ]});
    let push = of_json(&push).unwrap();
    assert_eq!(push.faults, []);
    assert_eq!(
        shown(&push.body),
        [
            format!("app=shop pod=p-1 | 1 a | k_2_x=v span_id=EEE19B7EC3C1B174 | {trace} "),
            "app=shop pod=p-1 | 2 b\n\u{1f600} |  |  ".to_owned(),
            "app=shop pod=p-1 | 1 a |  |  ".to_owned(),
            "app=shop pod=p-1 | 2 b\n\u{1f600} | late=1 |  ".to_owned(),
            "app=shop pod=p-1 | 2 c |  |  ".to_owned(),
            "app=shop pod=p-1 | 9 d | key_1st=x |  ".to_owned(),
            "app=edge | 3  |  |  ".to_owned(),
        ]
    );
    assert_eq!(inspect_logs(&push.body, &crate::Limits::default()).unwrap().items, 7);
}

#[test]
fn what_is_wrong_is_left_out_and_told() {
    let push = json!({ "streams": [
        { "stream": { "a.b": "1" }, "values": [["1", "x"], ["2", "y"]] },
        { "stream": { "a": "1" }, "values": [["0", "no time"], ["-5", "too early"], ["7", "fine"]] },
        { "stream": { "1a": "1" }, "values": [["1", "x"]] },
    ]});
    let push = of_json(&push).unwrap();
    assert_eq!(shown(&push.body), ["a=1 | 7 fine |  |  "]);
    let faults: Vec<_> = push.faults.iter().map(|f| (f.reason, f.count)).collect();
    assert_eq!(faults, [("invalid_labels", 3), ("invalid_time", 2)]);
    assert_eq!(push.faults[0].message, "label \"a.b\": expected a name of letters, digits and _");
    let bounds = Bounds { max_value_bytes: 3, ..Bounds::default() };
    let long = json!({ "streams": [
        { "stream": { "a": "1" }, "values": [["1", "longer line", { "m": "long" }], ["2", "fine"]] },
        { "stream": { "a": "long" }, "values": [["1", "x"]] },
    ]});
    let push = read(Format::Json, long.to_string().as_bytes(), &bounds).unwrap();
    assert_eq!(shown(&push.body), ["a=1 | 2 fine |  |  "]);
    assert_eq!(push.faults.len(), 2);
}

#[test]
fn what_is_no_push_is_refused_whole() {
    for (push, expected) in [
        (json!({}), "no streams"),
        (json!({ "streams": [] }), "no streams"),
        (json!({ "streams": null }), "no streams"),
        (json!([]), "expected an object with streams"),
        (json!({ "streams": [{ "stream": {}, "values": [[1, "x"]] }] }), "nanoseconds"),
        (json!({ "streams": [{ "stream": {}, "values": [["x", "x"]] }] }), "time \"x\""),
        (json!({ "streams": [{ "stream": {}, "values": [["1"]] }] }), "invalid length 1"),
        (json!({ "streams": [{ "stream": {}, "values": [["1", "x", {}, 1]] }] }), "more than"),
        (json!({ "streams": [{ "stream": {}, "values": [["1", "x", { "a": 1 }]] }] }), "a text"),
        (json!({ "streams": [{ "stream": { "a": 1 }, "values": [["1", "x"]] }] }), "a text"),
        (json!({ "streams": [{ "labels": "{}", "entries": [{ "line": "x" }] }] }), "send stream"),
    ] {
        let error = of_json(&push).unwrap_err().to_string();
        assert!(error.contains(expected), "{push}: {error}");
    }
    let bounds = Bounds { max_bytes: 100, ..Bounds::default() };
    let large =
        json!({ "streams": [{ "values": [["1", "x".repeat(50)], ["2", "x".repeat(50)]] }] });
    let refused = read(Format::Json, large.to_string().as_bytes(), &bounds);
    assert_eq!(refused, Err(PushError::TooLarge(100)));
    assert_eq!(read(Format::Protobuf, b"", &Bounds::default()), Err(PushError::Empty));
    assert!(matches!(
        read(Format::Protobuf, b"\x0a\x05x", &Bounds::default()),
        Err(PushError::Wire(_))
    ));
}

#[test]
fn bytes_that_are_no_utf_8_cost_nobody_else() {
    let mut json = br#"{"streams":[{"stream":{"a":"1"},"values":[["1","x"#.to_vec();
    json.extend_from_slice(b"\xff\"]]}]}");
    let push = read(Format::Json, &json, &Bounds::default()).unwrap();
    assert_eq!(shown(&push.body), ["a=1 | 1 x\u{fffd} |  |  "]);
    let body = protobuf(&[Pushed { labels: vec![], entries: vec![(1, "x".into(), vec![])] }], 0);
    assert_eq!(shown(&read(Format::Protobuf, &body, &Bounds::default()).unwrap().body).len(), 1);
}

#[test]
fn labels_are_read_as_go_writes_them() {
    let read = |text: &str| {
        let pairs = labels::parse(text.as_bytes())?;
        Ok::<_, String>(pairs.iter().map(|(n, v)| (text_of(n), text_of(v))).collect::<Vec<_>>())
    };
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    assert_eq!(read(" { a = \"b\" , _c=`d\\n`,} "), Ok(vec![pair("a", "b"), pair("_c", "d\\n")]));
    assert_eq!(read("{}"), Ok(vec![]));
    assert_eq!(read(""), Ok(vec![]));
    assert_eq!(
        read(r#"{a="\"\\\n\t\a\b\f\r\v\x41\u00e9\U0001F600\101é"}"#),
        Ok(vec![pair("a", "\"\\\n\t\u{7}\u{8}\u{c}\r\u{b}A\u{e9}\u{1f600}A\u{e9}")])
    );
    for bad in [
        "{",
        "a=\"b\"",
        "{a}",
        "{a=b}",
        "{a=\"b}",
        "{a=\"b\" c=\"d\"}",
        "{a=\"b\"} x",
        "{1a=\"b\"}",
        "{a.b=\"c\"}",
        "{a=\"\\q\"}",
        "{a=\"\\x4\"}",
        "{a=\"\\u+123\"}",
        "{a=\"\\ud800\"}",
        "{a=\"\\777\"}",
        "{a=\"x\ny\"}",
        "{,}",
        "{a=`b}",
    ] {
        let error = read(bad).unwrap_err();
        assert!(error.contains("expected"), "{bad}: {error}");
    }
}

fn text_of(bytes: &[u8]) -> String {
    text(bytes).into_owned()
}

/// A time, the line, structured metadata.
type SentEntry = (u64, String, Vec<(String, String)>);

/// A stream that is written in both formats.
struct Pushed {
    labels: Vec<(String, String)>,
    entries: Vec<SentEntry>,
}

fn random_push(random: &mut Random) -> Vec<Pushed> {
    let names = ["app", "pod", "env", "a.b", "", "trace_id", "1x"];
    let values = ["", "x", "shop \"q\" \\ \n", "\u{e9}\u{1f600}", "00000000000000ff"];
    let trace = "5b8efff798038103d269b633813fc60c";
    let pairs = |random: &mut Random, most| {
        let pair = |random: &mut Random| {
            let value = if random.below(9) == 0 { trace } else { random.pick(&values) };
            ((*random.pick(&names)).to_owned(), value.to_owned())
        };
        (0..random.below(most)).map(|_| pair(random)).collect::<Vec<_>>()
    };
    let stream = |random: &mut Random| {
        let mut labels = pairs(random, 4);
        labels
            .retain(|(name, _)| random.below(20) == 0 || matches!(&**name, "app" | "pod" | "env"));
        let entries = (0..random.below(6))
            .map(|_| (random.below(4), (*random.pick(&values)).to_owned(), pairs(random, 3)))
            .collect();
        Pushed { labels, entries }
    };
    (0..1 + random.below(5)).map(|_| stream(random)).collect()
}

fn json_of(streams: &[Pushed]) -> Vec<u8> {
    // By hand, since a map would keep one of two equal names.
    let text = |text: &str| serde_json::Value::from(text).to_string();
    let object = |pairs: &[(String, String)]| {
        let pairs: Vec<_> = pairs.iter().map(|(n, v)| format!("{}:{}", text(n), text(v))).collect();
        format!("{{{}}}", pairs.join(","))
    };
    let stream = |stream: &Pushed| {
        let entry = |(time, line, metadata): &(u64, String, Vec<_>)| {
            format!("[\"{time}\",{},{}]", text(line), object(metadata))
        };
        let values: Vec<_> = stream.entries.iter().map(entry).collect();
        format!("{{\"stream\":{},\"values\":[{}]}}", object(&stream.labels), values.join(","))
    };
    let streams: Vec<_> = streams.iter().map(stream).collect();
    format!("{{\"streams\":[{}]}}", streams.join(",")).into_bytes()
}

fn protobuf(streams: &[Pushed], hash: u64) -> Vec<u8> {
    let mut w = Writer::new();
    for stream in streams {
        w.message(1, |w| {
            let pairs: Vec<_> = stream.labels.iter().map(|(n, v)| format!("{n}={v:?}")).collect();
            w.bytes_field(1, format!("{{{}}}", pairs.join(", ")).replace("\\u{", "?").as_bytes());
            for (time, line, metadata) in &stream.entries {
                w.message(2, |w| {
                    w.message(1, |w| w.varint_field(2, *time));
                    w.bytes_field(2, line.as_bytes());
                    for (name, value) in metadata {
                        w.message(3, |w| {
                            w.bytes_field(1, name.as_bytes());
                            w.bytes_field(2, value.as_bytes());
                        });
                    }
                });
            }
            w.varint_field(3, hash);
        });
    }
    w.bytes_field(2, b"json");
    w.into_bytes()
}

#[test]
fn both_formats_of_a_push_are_the_same_request() {
    for seed in 0..2_000 {
        let mut random = Random::new(seed);
        let streams = random_push(&mut random);
        let of_json = read(Format::Json, &json_of(&streams), &Bounds::default()).unwrap();
        let protobuf = protobuf(&streams, random.next());
        let of_protobuf = read(Format::Protobuf, &protobuf, &Bounds::default()).unwrap();
        assert_eq!(of_json.body, of_protobuf.body, "seed {seed}");
        let counts =
            |push: &Push| push.faults.iter().map(|f| (f.reason, f.count)).collect::<Vec<_>>();
        assert_eq!(counts(&of_json), counts(&of_protobuf), "seed {seed}");
        let inspected = inspect_logs(&of_json.body, &crate::Limits::default()).unwrap();
        assert!(inspected.refused.is_empty() && inspected.repaired.is_empty(), "seed {seed}");
        let mut lines = shown(&of_json.body);
        let sent: u64 = streams.iter().map(|stream| stream.entries.len() as u64).sum();
        let left_out: u64 = of_json.faults.iter().map(|fault| fault.count).sum();
        assert!(lines.len() as u64 + left_out <= sent, "seed {seed}");
        // The same is never there twice.
        let all = lines.len();
        lines.sort();
        lines.dedup();
        assert_eq!(lines.len(), all, "seed {seed}");
    }
}

#[test]
fn broken_pushes_are_errors_and_never_a_panic() {
    for seed in 0..3_000 {
        let mut random = Random::new(seed);
        let streams = random_push(&mut random);
        for (format, mut bytes) in
            [(Format::Json, json_of(&streams)), (Format::Protobuf, protobuf(&streams, 1))]
        {
            for _ in 0..1 + random.below(4) {
                let at = random.below(bytes.len() as u64) as usize;
                match random.below(3) {
                    0 => bytes[at] = random.next() as u8,
                    1 => bytes.truncate(at + 1),
                    _ => bytes.insert(at, random.next() as u8),
                }
            }
            if let Ok(push) = read(format, &bytes, &Bounds::default()) {
                inspect_logs(&push.body, &crate::Limits::default()).expect("well-formed OTLP");
            }
        }
    }
}
