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

#[test]
fn sections_are_shown_without_secrets_and_can_be_the_file() {
    let place = Place::new();
    place.write(
        "kymo.yaml",
        "destinations:\n  - name: hub\n    protocol: http\n    endpoint: http://hub.test:1/?key=hunter2\n    \
         headers: {authorization: hunter2, x-team: '${env:TEAM:-hunter2}'}\n    concurrency: 2\n\
         rules:\n  - {name: noise, where: 'name = \"a\"', drop: true}\n\
         auth: [basic]\nusers: [{name: ada, password: hunter2, roles: [read]}]\n",
    );
    let shown = |more: &[&str]| {
        place.kymo(&[&["config", "show", "--config", "kymo.yaml"], more].concat()).expect(0).stdout
    };
    let yaml = shown(&[]);
    assert!(!yaml.contains("hunter2"), "{yaml}");
    assert!(yaml.contains("endpoint: 'http://hub.test:1/?***'"), "{yaml}");
    place.write("shown.yaml", &yaml);
    place.kymo(&["config", "check", "--config", "shown.yaml"]).expect(0);
    let json: serde_json::Value = serde_json::from_str(&shown(&["--format", "json"])).unwrap();
    assert!(!json.to_string().contains("hunter2"), "{json}");
    assert_eq!(json["sections"]["destinations"][0]["concurrency"], 2);
    assert_eq!(json["sections"]["rules"][0]["drop"], true);
}

#[test]
fn what_does_not_fit_within_a_section_is_told_with_its_place() {
    let place = Place::new();
    place.write(
        "kymo.yaml",
        "destinations:\n  - {name: hub, protocol: grpc, endpoint: 'http://a:1'}\n  \
         - name: hub\n    protocol: grpc\n    endpoint: http://http://b:1\n\
         rules:\n  - {name: good, drop: true}\n  - {name: odd, where: 'name =', drop: true}\n",
    );
    let ran = place.kymo(&["config", "check", "--config", "kymo.yaml"]).expect(1);
    let places: Vec<_> = ran.stderr.lines().map(|line| line.split(": ").nth(1).unwrap()).collect();
    assert_eq!(places, ["kymo.yaml:8:5", "kymo.yaml:3:5", "kymo.yaml:5:5"], "{}", ran.stderr);
    assert!(ran.stderr.contains("two destinations have this name"), "{}", ran.stderr);
    assert!(ran.stderr.contains("has two schemes"), "{}", ran.stderr);
}

#[test]
fn a_secret_in_the_wrong_place_is_not_repeated() {
    let place = Place::new();
    place.write(
        "kymo.yaml",
        "destinations: [{name: a, protocol: grpc, endpoint: 'http://a:1', basic: 'ada:hunter2'}]\n",
    );
    let ran = place.kymo(&["config", "check", "--config", "kymo.yaml"]).expect(1);
    assert!(!ran.stderr.contains("hunter2"), "{}", ran.stderr);
    assert!(ran.stderr.contains("kymo.yaml:1:73: destinations[0].basic: "), "{}", ran.stderr);
}

#[test]
fn files_that_are_no_configuration_are_refused() {
    let place = Place::new();
    std::fs::write(place.path("latin.yaml"), b"a: 1\nb: \xe9\n").unwrap();
    let check = |file: &str| place.kymo(&["config", "check", "--config", file]).expect(1).stderr;
    assert_eq!(
        check("latin.yaml"),
        "error: latin.yaml: line 2 is not UTF-8 text: save the file as UTF-8\n"
    );
    let endless = check("/dev/zero");
    assert!(endless.contains("is larger than 8MiB"), "{endless}");
    place.write("tab.yaml", "store:\n\tenabled: true\n");
    assert!(check("tab.yaml").starts_with("error: tab.yaml:2:"), "{}", check("tab.yaml"));
    place.write("twice.yaml", "store: {enabled: true}\nstore.enabled: false\n");
    assert_eq!(check("twice.yaml"), "error: twice.yaml:2:1: store.enabled is there twice\n");
    place.write(
        "missing.yaml",
        "query: {timeout: 'x${env:KYMO_TEST_NOWHERE}'}\nhttpp: 1\ndestinations:\n  \
         - {name: a, protocol: grpc, endpoint: '${env:KYMO_TEST_NOWHERE}'}\n",
    );
    let missing = check("missing.yaml");
    let lines: Vec<&str> = missing.lines().collect();
    assert!(lines[0].starts_with(
        "error: missing.yaml:1:18: the variable KYMO_TEST_NOWHERE is not set: set it, or write"
    ));
    assert!(lines[1].starts_with("error: missing.yaml:4:41: the variable"), "{missing}");
    assert!(lines[2].starts_with("error: missing.yaml:2:1: httpp"), "{missing}");
    assert_eq!(lines.len(), 3, "what follows from it is not told: {missing}");
}

/// The configurations that the translation is tested with.
fn collectors() -> Vec<std::path::PathBuf> {
    let fixtures =
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../collector/tests/fixtures");
    let files = std::fs::read_dir(fixtures).unwrap().map(|entry| entry.unwrap().path());
    let is_collector = |path: &std::path::PathBuf| {
        let name = path.file_name().unwrap().to_str().unwrap();
        name.ends_with(".yml") && name.matches('.').count() == 1
    };
    let mut files: Vec<_> = files.filter(is_collector).collect();
    files.sort();
    assert!(files.len() > 4, "{files:?}");
    files
}

#[test]
fn what_is_imported_from_a_collector_is_accepted() {
    let place = Place::new();
    place.write(
        "kymo.env",
        "LEADER=leader.test:4317\nHUB_TOKEN=t\nOUT_PASSWORD=p\nCLUSTER=c\nHUB_URL=https://hub.test\n\
         MY_POD_IP=127.0.0.1\n",
    );
    for collector in collectors() {
        let path = collector.to_str().unwrap();
        let imported = place.kymo(&["config", "import", path, "--output", "kymo.yaml", "--force"]);
        assert!(imported.code == 0 || imported.code == 1, "{path}: {}", imported.stderr);
        assert_eq!(imported.code == 1, imported.stderr.contains("not translated:"), "{path}");
        let flags = ["--config", "kymo.yaml", "--env-file", "kymo.env", "--insecure-listen"];
        let ran = place.kymo(&[&["config", "check"], &flags[..]].concat());
        assert_eq!(ran.code, 0, "{path}: {}", ran.stderr);
    }
}

#[test]
fn importing_writes_over_nothing_that_nobody_named() {
    let place = Place::new();
    let agent = collectors().into_iter().find(|path| path.ends_with("agent.yml")).unwrap();
    let agent = agent.to_str().unwrap();
    place.write("prometheus.yml", "mine: true\n");
    let ran = place.kymo(&["config", "import", agent]).expect(1);
    assert!(ran.stderr.contains("prometheus.yml is there already"), "{}", ran.stderr);
    assert_eq!(ran.stdout, "", "nothing is written before that is known");
    assert_eq!(std::fs::read_to_string(place.path("prometheus.yml")).unwrap(), "mine: true\n");
    std::fs::create_dir(place.path("out")).unwrap();
    let ran = place.kymo(&["config", "import", agent, "--output", "out/kymo.yaml"]);
    assert!(!ran.stderr.contains("error:"), "{}", ran.stderr);
    let written = std::fs::read_to_string(place.path("out/kymo.yaml")).unwrap();
    let named = place.path("out/prometheus.yml");
    assert!(named.is_file());
    let named = named.canonicalize().unwrap().display().to_string();
    assert!(written.contains(&format!("config: {named}\n")), "{named}\n{written}");
    place.kymo(&["config", "import", agent, "--force"]);
    assert_ne!(std::fs::read_to_string(place.path("prometheus.yml")).unwrap(), "mine: true\n");
    place.write("c.yml", std::fs::read_to_string(agent).unwrap());
    let ran = place.kymo(&["config", "import", "c.yml", "--output", "./c.yml"]).expect(1);
    assert!(ran.stderr.contains("the collector's own file"), "{}", ran.stderr);
    let ran = place.kymo(&["config", "import", "absent.yml"]).expect(1);
    assert!(ran.stderr.starts_with("error: absent.yml: cannot be read"), "{}", ran.stderr);
}
