//! `kymo config`, and what `kymo serve` refuses to start with.

#![allow(clippy::unwrap_used, clippy::panic, unreachable_pub, reason = "a test")]

mod common;

use common::Place;

const TYPO: &str = "http: 127.0.0.1:0\nstore:\n  flush_aftr: 10m\nquery:\n  timeout: 10\n";

#[test]
fn a_typo_is_refused_with_line_column_and_nearest_key() {
    let place = Place::new();
    place.write("kymo.yaml", TYPO);
    for command in [&["config", "check"][..], &["config", "show"], &["serve"]] {
        let ran = place.kymo(&[command, &["--config", "kymo.yaml"]].concat()).expect(1);
        assert_eq!(
            ran.stderr,
            "error: kymo.yaml:3:3: store.flush_aftr is not a setting; did you mean store.flush_after?\n\
             error: kymo.yaml:5:12: query.timeout is \"10\": expected a duration with its unit of at \
             least 1ms, such as 10m or 1h30m\n"
        );
        assert_eq!(ran.stdout, "");
    }
    assert!(!place.path("kymo-data").exists(), "nothing was started");
}

#[test]
fn a_good_file_is_ok() {
    let place = Place::new();
    place.write(
        "kymo.yaml",
        "store: {flush_after: 5m}\ntenants: {a: {limits: {max_attributes: 1}}}\n",
    );
    let ran = place.kymo(&["config", "check", "--config", "kymo.yaml"]).expect(0);
    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("ok\n", ""));
    place.kymo(&["config", "check"]).expect(0);
    let ran = place.kymo(&["config", "check", "--config", "absent.yaml"]).expect(1);
    assert!(ran.stderr.starts_with("error: absent.yaml: cannot be read"), "{}", ran.stderr);
}

#[test]
fn the_flag_wins_over_the_environment_over_files_over_the_default() {
    let place = Place::new();
    place.write("kymo.yaml", "query: {max_running: 3}\nbase_path: /from-file\n");
    place.write("kymo.env", "KYMO_QUERY_MAX_WAITING=4\nKYMO_BASE_PATH=/from-env-file\n");
    let show = |variables: &[(&str, &str)], flags: &[&str]| {
        let mut command = place.command();
        command.args(["config", "show", "--format", "json"]);
        command.args(["--config", "kymo.yaml", "--env-file", "kymo.env"]).args(flags);
        let output = command.envs(variables.iter().copied()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let shown: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let settings = shown["settings"].clone();
        move |key: &str| {
            let source = settings[key]["source"].as_str().unwrap().to_owned();
            (settings[key]["value"].clone(), source)
        }
    };
    let plain = show(&[], &[]);
    assert_eq!(plain("query.max_running"), (3.into(), "kymo.yaml:1".into()));
    assert_eq!(plain("query.max_waiting"), (4.into(), "kymo.env:1".into()));
    assert_eq!(plain("base_path"), ("/from-env-file".into(), "kymo.env:2".into()));
    assert_eq!(plain("http"), ("127.0.0.1:3200".into(), "default".into()));
    let variables = [("KYMO_BASE_PATH", "/from-env"), ("KYMO_HTTP", "")];
    let with_variable = show(&variables, &[]);
    assert_eq!(with_variable("base_path"), ("/from-env".into(), "KYMO_BASE_PATH".into()));
    assert_eq!(with_variable("http").1, "default", "an empty variable counts as not set");
    let with_flag = show(&variables, &["--base-path", "/from-flag"]);
    assert_eq!(with_flag("base_path"), ("/from-flag".into(), "--base-path".into()));
}

#[test]
fn a_file_of_variables_may_name_the_configuration() {
    let place = Place::new();
    place.write("kymo.yaml", "query: {max_waiting: 3}\n");
    place.write("other.yaml", "query: {max_waiting: 4}\n");
    place.write("kymo.env", "KYMO_CONFIG=kymo.yaml\n");
    let shown = |more: &[&str]| {
        place.kymo(&[&["config", "show", "--env-file", "kymo.env"], more].concat()).expect(0).stdout
    };
    assert!(shown(&[]).contains("max_waiting: 3 "), "{}", shown(&[]));
    let with_flag = shown(&["--config", "other.yaml"]);
    assert!(with_flag.contains("max_waiting: 4 "), "{with_flag}");
    place.write("kymo.env", "KYMO_CONFIG=absent.yaml\n");
    let ran = place.kymo(&["serve", "--env-file", "kymo.env"]).expect(1);
    assert!(ran.stderr.starts_with("error: absent.yaml: cannot be read"), "{}", ran.stderr);
}

#[test]
fn a_misspelt_level_and_a_name_that_is_too_long_are_refused() {
    let place = Place::new();
    place.write(
        "kymo.yaml",
        format!("log: {{level: warning}}\nstore: {{node: {}}}\n", "n".repeat(65)),
    );
    let ran = place.kymo(&["config", "check", "--config", "kymo.yaml"]).expect(1);
    let mut lines = ran.stderr.lines();
    let level = "error: kymo.yaml:1:14: log.level is \"warning\": \"warning\" is not a level; did you \
                 mean warn?";
    assert_eq!(lines.next(), Some(level));
    let node = lines.next().unwrap_or_default();
    assert!(node.ends_with("expected up to 64 letters, digits, - and _, such as node-1"), "{node}");
}

#[test]
fn what_is_shown_can_be_the_file() {
    let place = Place::new();
    let flags = ["--log-level", "warn,kymo_store=debug", "--http", "[::1]:7", "--data", "a b: c"];
    let first = place.kymo(&[&["config", "show"], &flags[..]].concat()).expect(0).stdout;
    place.write("shown.yaml", &first);
    let second = place.kymo(&["config", "show", "--config", "shown.yaml"]).expect(0).stdout;
    let values = |text: &str| -> Vec<String> {
        text.lines().map(|line| line.split("  # ").next().unwrap().trim_end().to_owned()).collect()
    };
    assert_eq!(values(&first), values(&second));
}

#[test]
fn secrets_are_hidden_and_unknown_variables_are_told() {
    let place = Place::new();
    let mut command = place.command();
    command.args(["config", "show", "--store", "s3://key:hunter2@bucket/x"]);
    let output = command.env("KYMO_HTPP", "x").output().unwrap();
    let (stdout, stderr) =
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    assert!(stdout.contains("s3://***@bucket/x") && !stdout.contains("hunter2"), "{stdout}");
    assert_eq!(stderr, "warning: KYMO_HTPP is not known: did you mean KYMO_HTTP?\n");
}
