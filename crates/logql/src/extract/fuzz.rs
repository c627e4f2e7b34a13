//! Seeded noise: no line makes a parser panic, or gives what is no part of it.

use super::{JsonPaths, Logfmt, PatternFilter, PatternParser, json, unpack};
use crate::decolorize::decolorize;
use crate::ip::IpMatcher;
use crate::units;

struct Seeded(u64);

impl Seeded {
    fn below(&mut self, end: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end
    }

    fn line(&mut self) -> String {
        const PIECES: &[&str] = &[
            "{",
            "}",
            "[",
            "]",
            "\"",
            "\\",
            ":",
            ",",
            "\"a\"",
            "\"b\":",
            "1",
            "-",
            ".",
            "e",
            "null",
            "true",
            "nul",
            " ",
            "=",
            "a",
            "b=",
            "\\u",
            "\\ud83d",
            "\\\"",
            "é",
            "日",
            "\u{fffd}",
            "\u{0}",
            "\u{1b}",
            "[31m",
            "]8;;",
            "\u{7}",
            "\u{9b}",
            "<a>",
            "<_>",
            "<",
            ">",
            "10.0.0.1",
            "::1",
            "10",
            "256",
            "/8",
            "KiB",
            "ms",
            "h",
            "+",
            "_entry",
            "\"_entry\":\"x\"",
            "\t",
            "\n",
            "{\"a\":",
            "a=\"",
        ];
        (0..self.below(14)).map(|_| PIECES[self.below(PIECES.len())]).collect()
    }
}

#[test]
fn no_line_makes_a_parser_panic() {
    let paths = JsonPaths::parse(&[("x", "a.b[1]"), ("y", "a"), ("z", "[0]")]).unwrap();
    let pattern = PatternParser::new("<a>=<b>,<c>").unwrap();
    let ip = IpMatcher::new("10.0.0.0/8").unwrap();
    let mut random = Seeded(11);
    let mut found = 0;
    for _ in 0..100_000 {
        let line = random.line();
        let mut sink = |name: &str, value: &str| {
            found += 1;
            assert!(!name.is_empty() && value.len() <= line.len() * 3, "{line:?}");
        };
        // Errors are fine; panics are not.
        let _ = json::flatten(&line, &|_| true, &mut sink);
        let _ = paths.extract(&line, &mut sink);
        let _ = unpack::unpack(&line, &mut sink);
        for strict in [false, true] {
            let _ = Logfmt { strict, keep_empty: !strict }.extract(&line, &|_| true, &mut sink);
        }
        pattern.extract(&line, &mut sink);
        let _ = PatternParser::new(&line).map(|parser| parser.extract(&line, &mut sink));
        let _ = PatternFilter::new(&line).map(|filter| filter.matches(&line));
        let _ = JsonPaths::parse(&[("x", line.as_str())]);
        let _ = IpMatcher::new(&line);
        ip.matches_line(&line);
        assert!(decolorize(&line).len() <= line.len());
        let _ = (
            units::parse_go_duration(&line),
            units::parse_prometheus_duration(&line),
            units::parse_bytes(&line),
        );
    }
    assert!(found > 10_000, "{found}");
}

/// Whatever serde makes of a line, so does the flattening, if it is an object without oddities.
#[test]
fn valid_json_is_read_as_serde_reads_it() {
    let mut random = Seeded(5);
    for _ in 0..2000 {
        let fields: serde_json::Map<String, serde_json::Value> = (0..random.below(6))
            .map(|index| {
                let value = match random.below(4) {
                    0 => serde_json::json!(random.line().replace('\u{fffd}', "")),
                    1 => serde_json::json!(random.below(1000)),
                    2 => {
                        serde_json::json!({ "x": random.line().replace('\u{fffd}', ""), "n": null })
                    }
                    _ => serde_json::json!([random.line(), { "a": random.line() }]),
                };
                (format!("f{index}"), value)
            })
            .collect();
        let line = serde_json::Value::Object(fields.clone()).to_string();
        let mut expected = Vec::new();
        for (name, value) in &fields {
            match value {
                serde_json::Value::String(text) => expected.push((name.clone(), text.clone())),
                serde_json::Value::Number(number) => {
                    expected.push((name.clone(), number.to_string()))
                }
                serde_json::Value::Object(inner) => {
                    expected.push((format!("{name}_x"), inner["x"].as_str().unwrap().to_owned()));
                }
                _ => {}
            }
        }
        let mut found = Vec::new();
        json::flatten(&line, &|_| true, &mut |name, value| {
            found.push((name.to_owned(), value.to_owned()))
        })
        .unwrap_or_else(|error| panic!("{line}: {error}"));
        assert_eq!(found, expected, "{line}");
    }
}
