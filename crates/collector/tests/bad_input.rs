//! Text that is no configuration, and pieces of ones that are.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

mod common;

use common::{check_output, fixtures};
use kymo_collector::{CollectorError, Level, limits, translate};

fn error(text: &str) -> String {
    translate(text).unwrap_err().to_string()
}

const OTLP: &str = "receivers: {otlp: {protocols: {grpc: }}}\nexporters: {debug: }\n";

#[test]
fn what_is_not_yaml_is_refused_with_its_place() {
    let torn = error("receivers: [a\nexporters: }");
    assert!(torn.starts_with("not YAML: line "), "{torn}");
    assert!(error("- a\n- b\n").starts_with("not YAML: "));
    assert!(error("a: 1\na: 2\n").contains("line 2"));
}

#[test]
fn what_no_collector_would_start_with_is_refused_with_its_place() {
    assert_eq!(error(""), CollectorError::NoPipelines.to_string());
    assert_eq!(error(OTLP), CollectorError::NoPipelines.to_string());
    assert_eq!(error("service: {pipelines: 5}"), CollectorError::NoPipelines.to_string());
    assert_eq!(
        error("exporter: {}\n"),
        "line 1, column 1: exporter is not a part of a collector's configuration; did you mean \
         exporters?"
    );
    assert_eq!(
        error(&format!(
            "{OTLP}service:\n  pipelines:\n    traces: {{receivers: [otlp], exporters: [debg]}}\n"
        )),
        "line 5, column 45: service.pipelines.traces names debg, which is not defined below \
         exporters; did you mean debug?"
    );
    assert_eq!(
        error(&format!(
            "{OTLP}service: {{pipelines: {{trace: {{receivers: [otlp], exporters: [debug]}}}}}}\n"
        )),
        "line 3, column 23: pipeline trace has no known signal; did you mean traces?"
    );
    assert_eq!(
        error(&format!("{OTLP}service: {{pipelines: {{traces: {{receivers: [otlp]}}}}}}\n")),
        "line 3, column 23: service.pipelines.traces has no exporters"
    );
    let extension = format!(
        "{OTLP}service: {{extensions: [pprof], pipelines: {{traces: {{receivers: [otlp], exporters: [debug]}}}}}}\n"
    );
    assert!(error(&extension).contains("service.extensions names pprof"));
}

#[test]
fn what_is_larger_than_any_configuration_is_refused() {
    let large = "#".repeat(limits::MAX_TEXT_BYTES + 1);
    assert!(matches!(translate(&large), Err(CollectorError::TooLarge { .. })));
    let names = "otlp, ".repeat(limits::MAX_COMPONENTS + 1);
    let text = format!(
        "{OTLP}service: {{pipelines: {{traces: {{receivers: [{names}], exporters: [debug]}}}}}}\n"
    );
    assert!(matches!(translate(&text), Err(CollectorError::TooMany { .. })));
}

#[test]
fn unknown_components_and_keys_are_told_with_their_places() {
    let text = "receivers:\n  otlp: {protocols: {grpc: {endpont: x}}}\n  carbon: {}\n\
                exporters:\n  debug:\n  loki: {endpoint: x}\nservice:\n  pipelines:\n    \
                logs: {receivers: [otlp, carbon], exporters: [debug, loki]}\n";
    let translation = translate(text).unwrap();
    assert!(!translation.is_complete());
    let lost: Vec<_> = translation
        .notes
        .iter()
        .filter(|note| note.level == Level::NotTranslated)
        .map(ToString::to_string)
        .collect();
    assert_eq!(
        lost,
        [
            "line 2, column 29: not translated: receivers.otlp.protocols.grpc.endpont: this key \
             has no counterpart",
            "line 3, column 3: not translated: receivers.carbon: there is no receiver carbon",
            "line 6, column 3: not translated: exporters.loki: there is no destination for loki",
        ]
    );
}

#[test]
fn no_note_has_a_secret() {
    let text = "receivers: {otlp: {protocols: {grpc: {auth: {authenticator: basicauth/in}}}}}\n\
        extensions:\n  basicauth/in: {htpasswd: {inline: \"ada:$2y$05$hunter2\\nhunter2\\n\"}}\n  \
        basicauth/out: {client_auth: {username: u, password: hunter2, pasword: hunter2}}\n  \
        bearertokenauth: {token: hunter2, tokens: [hunter2], filename: {hunter2: 1}}\n\
        exporters:\n  otlp: {endpoint: 'a:1', auth: {authenticator: basicauth/out}, headers: {a: [hunter2]}}\n  \
        otlphttp: {endpoint: 'http://a', auth: {authenticator: bearertokenauth}, headers: hunter2}\n\
        service: {pipelines: {traces: {receivers: [otlp], exporters: [otlp, otlphttp]}}}\n";
    let translation = translate(text).unwrap();
    for note in &translation.notes {
        assert!(!note.to_string().contains("hunter2"), "{note}");
    }
}

/// A generator that is the same in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound.max(1) as u64) as usize
    }
}

#[test]
fn torn_and_garbled_configurations_never_panic_and_what_is_written_is_valid() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut translated = 0;
    for path in fixtures() {
        let text = std::fs::read_to_string(path).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        for round in 0..300 {
            let garbled = match round % 3 {
                0 => text.chars().take(random.below(text.len())).collect(),
                1 => {
                    let mut kept = lines.clone();
                    kept.remove(random.below(kept.len()));
                    kept.join("\n")
                }
                _ => {
                    let at = random.below(text.len());
                    let with = [
                        "\"", "(", "]", "{", "5", "\\", "$", "${", " and ", "\u{e9}", "null", "\n",
                    ];
                    let with = with[random.below(with.len())];
                    let before: String = text.chars().take(at).collect();
                    let after: String = text.chars().skip(at + random.below(3)).collect();
                    format!("{before}{with}{after}")
                }
            };
            if let Ok(translation) = translate(&garbled) {
                check_output(&translation);
                translated += 1;
            }
        }
    }
    assert!(translated > 200, "{translated}");
}
