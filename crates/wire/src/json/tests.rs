use super::*;
use crate::limits::MAX_NESTING;

/// Reads `text` and writes it again in the spelling OTLP specifies.
fn normal(signal: Signal, text: &str) -> String {
    let body = decode(signal, text.as_bytes()).unwrap_or_else(|error| panic!("{error}: {text}"));
    let mut out = Vec::new();
    encode(signal, &body, &mut out).expect("what was read can be written");
    String::from_utf8(out).expect("JSON is UTF-8")
}

fn in_span(members: &str) -> String {
    format!(r#"{{"resourceSpans":[{{"scopeSpans":[{{"spans":[{{{members}}}]}}]}}]}}"#)
}

fn in_value(value: &str) -> String {
    in_span(&format!(r#""attributes":[{{"key":"k","value":{value}}}]"#))
}

fn in_point(members: &str) -> String {
    format!(
        r#"{{"resourceMetrics":[{{"scopeMetrics":[{{"metrics":[{{"histogram":{{"dataPoints":[{{{members}}}]}}}}]}}]}}]}}"#
    )
}

fn error(text: &str) -> String {
    decode(Signal::Traces, text.as_bytes()).expect_err("must be refused").to_string()
}

#[test]
fn both_spellings_mean_the_same() {
    let specified = in_span(
        r#""traceId":"0102030405060708090a0b0c0d0e0f10","spanId":"a1a2a3a4a5a6a7a8","parentSpanId":"b1b2b3b4b5b6b7b8","name":"n","kind":2,"startTimeUnixNano":"1","endTimeUnixNano":"18446744073709551615","droppedLinksCount":3,"status":{"message":"m","code":2},"flags":256"#,
    );
    let protobuf_style = in_span(
        r#""trace_id":"AQIDBAUGBwgJCgsMDQ4PEA==","span_id":"oaKjpKWmp6g=","parent_span_id":"sbKztLW2t7g","name":"n","kind":"SPAN_KIND_SERVER","start_time_unix_nano":1,"end_time_unix_nano":18446744073709551615,"dropped_links_count":"3","status":{"message":"m","code":"STATUS_CODE_ERROR"},"flags":256.0"#,
    );
    assert_eq!(normal(Signal::Traces, &specified), specified);
    assert_eq!(normal(Signal::Traces, &protobuf_style), specified);
    let upper = specified.replace("a1a2a3a4a5a6a7a8", "A1A2A3A4A5A6A7A8");
    assert_eq!(normal(Signal::Traces, &upper), specified);
}

#[test]
fn every_type_of_value_is_read_and_written() {
    for value in [
        r#"{}"#,
        r#"{"stringValue":""}"#,
        r#"{"stringValue":"q\"\\\n ü 😀"}"#,
        r#"{"boolValue":false}"#,
        r#"{"intValue":"-9223372036854775808"}"#,
        r#"{"doubleValue":0.1}"#,
        r#"{"doubleValue":"NaN"}"#,
        r#"{"doubleValue":"-Infinity"}"#,
        r#"{"bytesValue":"+/8="}"#,
        r#"{"stringValueStrindex":-3}"#,
        r#"{"arrayValue":{"values":[{"intValue":"1"},{},{"arrayValue":{}}]}}"#,
        r#"{"kvlistValue":{"values":[{"key":"a","value":{"boolValue":true}},{"key":"a"}]}}"#,
    ] {
        let text = in_value(value);
        assert_eq!(normal(Signal::Traces, &text), text);
    }
    for (given, meant) in [
        (r#"{"intValue":7}"#, r#"{"intValue":"7"}"#),
        (r#"{"int_value":7e2}"#, r#"{"intValue":"700"}"#),
        (r#"{"doubleValue":3}"#, r#"{"doubleValue":3.0}"#),
        (r#"{"doubleValue":"2.5"}"#, r#"{"doubleValue":2.5}"#),
        (r#"{"bytesValue":"-_8"}"#, r#"{"bytesValue":"+/8="}"#),
        (r#"{"arrayValue":{"values":[null]}}"#, r#"{"arrayValue":{"values":[{}]}}"#),
        (r#"{"stringValue":null}"#, r#"{}"#),
        (r#"{"stringValue":"a","intValue":1}"#, r#"{"intValue":"1"}"#),
    ] {
        assert_eq!(normal(Signal::Traces, &in_value(given)), in_value(meant));
    }
}

#[test]
fn numbers_in_lists_are_read_as_string_or_number() {
    let given = in_point(
        r#""timeUnixNano":5,"count":"3","sum":null,"bucketCounts":["1",2],"explicit_bounds":[1,"Infinity"],"min":-0.0"#,
    );
    let meant = in_point(
        r#""timeUnixNano":"5","count":"3","bucketCounts":["1","2"],"explicitBounds":[1.0,"Infinity"],"min":-0.0"#,
    );
    assert_eq!(normal(Signal::Metrics, &given), meant);
}

#[test]
fn log_records_and_their_severity_names_are_read() {
    let given = r#"{"resourceLogs":[{"resource":{"attributes":[]},"scopeLogs":[{"logRecords":[{"severityNumber":"SEVERITY_NUMBER_INFO","body":{"stringValue":"b"},"eventName":"e"}]}],"schemaUrl":"s"}]}"#;
    let meant = given.replace(r#""SEVERITY_NUMBER_INFO""#, "9").replace(r#""attributes":[]"#, "");
    assert_eq!(normal(Signal::Logs, given), meant);
}

#[test]
fn a_byte_order_mark_and_unknown_members_are_passed_over() {
    let text = "\u{feff} {\"new\":[{\"a\":null}],\"resourceSpans\":[{\"newer\":{}}]}";
    assert_eq!(normal(Signal::Traces, text), r#"{"resourceSpans":[{}]}"#);
    assert_eq!(normal(Signal::Traces, "{}"), "{}");
}

#[test]
fn an_id_of_the_wrong_length_is_left_for_the_inspection_to_refuse() {
    for id in ["", "abcd", "0102030405060708090a0b", "0102030405060708090a0b0c"] {
        let text = in_span(&format!(r#""traceId":"{id}""#));
        assert_eq!(normal(Signal::Traces, &text), text);
    }
}

#[test]
fn errors_say_what_was_expected_and_where() {
    let place = "resourceSpans[0].scopeSpans[0].spans[0]";
    for (members, message) in [
        (r#""name":5"#, "invalid type: integer `5`, expected a string"),
        (r#""kind":"SPAN_KIND_ODD""#, r#""SPAN_KIND_ODD" is not a known name"#),
        (r#""kind":[]"#, "invalid type: sequence, expected the number or name of an enum value"),
        (r#""startTimeUnixNano":-1"#, "-1 is not between 0 and 18446744073709551615"),
        (r#""startTimeUnixNano":1.5"#, "expected nanoseconds since 1970 as string or number"),
        (r#""flags":4294967296"#, "4294967296 is not between 0 and 4294967295"),
        (r#""traceId":"xy""#, r#""xy" is not hex"#),
        (r#""traceId":"abc""#, r#""abc" is not hex"#),
        (r#""attributes":{}"#, "invalid type: map, expected a list"),
        (r#""attributes":[null]"#, "null is not allowed in this list"),
        (r#""status":"bad""#, r#"invalid type: string "bad", expected an object"#),
        (r#""name":"a","name":"b""#, "member occurs twice"),
    ] {
        let found = error(&in_span(members));
        assert!(found.contains(message), "{found}");
        assert!(found.contains(place), "{found}");
        assert!(found.contains(" at line 1 column "), "{found}");
    }
    assert!(error(r#"{"resourceSpans":["#).contains("EOF"));
    assert!(error(r#"{"resourceSpans":[]} x"#).contains("trailing characters"));
    assert!(error("5").contains("expected an object"));
}

#[test]
fn values_may_be_nested_as_deep_as_in_protobuf_and_no_deeper() {
    let nested = |levels: u32| {
        let lists = levels as usize - 1;
        let open = r#"{"kvlistValue":{"values":[{"key":"k","value":"#.repeat(lists);
        let event = format!(
            r#""events":[{{"attributes":[{{"key":"k","value":{open}{{}}{}}}]}}]"#,
            "}]}}".repeat(lists)
        );
        in_span(&event)
    };
    let deepest = nested(MAX_NESTING);
    assert_eq!(normal(Signal::Traces, &deepest), deepest);
    assert!(error(&nested(MAX_NESTING + 1)).contains("nested more than 24 levels deep"));
    assert!(error(&nested(100_000)).contains("deep"));
}

#[test]
fn protobufs_own_style_has_ids_in_base64_and_enumerations_by_name() {
    let span = in_span(
        r#""traceId":"0102030405060708090a0b0c0d0e0f10","kind":2,"status":{"code":2},"flags":7"#,
    );
    let body = decode(Signal::Traces, span.as_bytes()).expect("good");
    let mut out = Vec::new();
    encode_styled(Signal::Traces, &body, Style::Protobuf, &mut out).expect("good");
    let expected = in_span(
        r#""traceId":"AQIDBAUGBwgJCgsMDQ4PEA==","kind":"SPAN_KIND_SERVER","status":{"code":"STATUS_CODE_ERROR"},"flags":7"#,
    );
    assert_eq!(String::from_utf8_lossy(&out), expected);
}

#[test]
fn what_is_not_utf_8_is_refused_with_its_place_unless_nobody_reads_it() {
    let broken = |members: &str| -> Vec<u8> {
        in_span(members).bytes().map(|byte| if byte == b'?' { 0xff } else { byte }).collect()
    };
    let name = broken(r#""name":"a?b""#);
    let why = decode(Signal::Traces, &name).expect_err("must be refused").to_string();
    assert!(why.contains("resourceSpans[0].scopeSpans[0].spans[0].name"), "{why}");
    assert!(why.contains("unicode"), "{why}");
    let unknown = broken(r#""name":"ab","other":"?""#);
    let expected = decode(Signal::Traces, in_span(r#""name":"ab""#).as_bytes());
    assert_eq!(decode(Signal::Traces, &unknown).ok(), expected.ok());
}
