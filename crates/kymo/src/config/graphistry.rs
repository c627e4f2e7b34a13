//! The names of Graphistry's `telemetry.env`, so that such a file works as it is.
//!
//! | name | what it does here |
//! |---|---|
//! | `ENABLE_OPEN_TELEMETRY` | nothing is recorded or forwarded unless it is true |
//! | `OTEL_COMPOSE_FILE` | `telemetry.yml` keeps, `telemetry.cloud.yml` forwards and keeps nothing |
//! | `OTEL_COLLECTOR_OTLP_HTTP_ENDPOINT`, `…_USERNAME`, `…_PASSWORD` | where that forwards to |
//! | `GF_SERVER_ROOT_URL`, `GF_SERVER_SERVE_FROM_SUB_PATH` | where people reach the server |
//!
//! What a flag, a `KYMO_…` variable or a configuration file says wins over them.

use std::collections::BTreeMap;
use std::path::Path;

use kymo_forward::destination::{BasicSettings, DestinationProtocol, DestinationSettings};
use kymo_yaml::Secret;

use super::Config;
use super::resolve::{Problem, Source};

const ENABLE: &str = "ENABLE_OPEN_TELEMETRY";
const COMPOSE_FILE: &str = "OTEL_COMPOSE_FILE";
const ENDPOINT: &str = "OTEL_COLLECTOR_OTLP_HTTP_ENDPOINT";
const USERNAME: &str = "OTEL_COLLECTOR_OTLP_USERNAME";
const PASSWORD: &str = "OTEL_COLLECTOR_OTLP_PASSWORD";
const ROOT_URL: &str = "GF_SERVER_ROOT_URL";
const SUB_PATH: &str = "GF_SERVER_SERVE_FROM_SUB_PATH";

/// All of them.
pub(crate) const NAMES: [&str; 7] =
    [ENABLE, COMPOSE_FILE, ENDPOINT, USERNAME, PASSWORD, ROOT_URL, SUB_PATH];

/// What the file is called that keeps everything, and the one that forwards everything.
const PACKAGED: &str = "telemetry.yml";
const CLOUD: &str = "telemetry.cloud.yml";
/// The destination that such a file makes.
const DESTINATION: &str = "cloud";

/// What such a file says, by name; empty if it is none. What is set to nothing is there too.
pub(crate) fn of_file(text: &str) -> BTreeMap<&'static str, String> {
    let mut found = BTreeMap::new();
    for line in text.lines() {
        let line = line.trim().trim_start_matches("export ");
        let Some((name, value)) = line.split_once('=') else { continue };
        if let Some(known) = NAMES.into_iter().find(|known| *known == name.trim()) {
            found.insert(known, value.trim().trim_matches(['"', '\'']).to_owned());
        }
    }
    found
}

/// Puts what such a file says into a configuration, where nobody else has said it.
pub(crate) fn apply(
    config: &mut Config,
    sources: &mut BTreeMap<&'static str, Source>,
    path: &Path,
    text: &str,
    has_config_file: bool,
    problems: &mut Vec<Problem>,
) {
    let names = of_file(text);
    if names.is_empty() {
        return;
    }
    let get = |name: &str| names.get(name).map(String::as_str).unwrap_or_default();
    let source = |name: &str| Source::EnvFile {
        path: path.display().to_string(),
        line: line_of(text, name),
    };
    let mut problem = |name: &str, what: String| {
        let place = format!("{}:{}: {name}", path.display(), line_of(text, name));
        problems.push(Problem::new(place, what));
    };
    let is_said = |key: &str| sources.contains_key(key);
    let mut set = Vec::new();
    if !is_said("recording.enabled") {
        config.server.is_recording = is_true(get(ENABLE));
        set.push(("recording.enabled", source(ENABLE)));
    }
    match get(COMPOSE_FILE).rsplit('/').next().unwrap_or_default() {
        "" | PACKAGED => {}
        _ if !config.server.is_recording => {}
        CLOUD => {
            if !is_said("store.enabled") {
                config.server.store_enabled = false;
                set.push(("store.enabled", source(COMPOSE_FILE)));
            }
            match get(ENDPOINT) {
                "" => problem(COMPOSE_FILE, format!("{CLOUD} forwards, but {ENDPOINT} is not set")),
                endpoint => config.server.destinations.push(destination(
                    endpoint,
                    get(USERNAME),
                    get(PASSWORD),
                )),
            }
        }
        _ if has_config_file => {}
        other => problem(
            COMPOSE_FILE,
            format!(
                "{other:?} is a file of your own: say what it does with --config FILE, or set it to \
                 {PACKAGED} or {CLOUD}"
            ),
        ),
    }
    let root_url = get(ROOT_URL);
    if !root_url.is_empty() && is_true(get(SUB_PATH)) && !is_said("external_url") {
        config.server.collect.external_url = Some(root_url.to_owned());
        set.push(("external_url", source(ROOT_URL)));
    }
    sources.extend(set);
}

fn destination(endpoint: &str, username: &str, password: &str) -> DestinationSettings {
    let mut destination = DestinationSettings::new(DESTINATION, DestinationProtocol::Http);
    destination.endpoint = Some(endpoint.to_owned());
    if !username.is_empty() || !password.is_empty() {
        destination.basic = Some(BasicSettings {
            username: username.to_owned(),
            password: Some(Secret::new(password)),
            password_file: None,
        });
    }
    destination
}

/// Truth as shells and compose files write it.
fn is_true(text: &str) -> bool {
    ["true", "1", "yes", "on"].iter().any(|word| text.eq_ignore_ascii_case(word))
}

/// The line that a name is set in; the first if it is not.
fn line_of(text: &str, name: &str) -> u64 {
    let is_it = |line: &str| {
        let line = line.trim().trim_start_matches("export ");
        line.split_once('=').is_some_and(|(found, _)| found.trim() == name)
    };
    text.lines().position(is_it).map_or(1, |nth| nth as u64 + 1)
}

#[cfg(test)]
mod tests {
    use super::super::resolve::{Inputs, Resolved, resolve_inputs};

    fn resolve(file: &str) -> Result<Resolved, Vec<String>> {
        let env_file = Some(("telemetry.env".into(), file.into()));
        resolve_inputs(Inputs { env_file, ..Inputs::default() })
            .map_err(|problems| problems.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn without_the_switch_nothing_is_recorded() {
        for file in [
            "ENABLE_OPEN_TELEMETRY=false\n",
            "ENABLE_OPEN_TELEMETRY=\n",
            "#ENABLE_OPEN_TELEMETRY=true\nOTEL_COMPOSE_FILE=telemetry.yml\n",
        ] {
            assert!(!resolve(file).unwrap().config.server.is_recording, "{file}");
        }
        for file in ["ENABLE_OPEN_TELEMETRY=true\n", "KYMO_HTTP=127.0.0.1:0\n", ""] {
            let resolved = resolve(file).unwrap();
            assert!(resolved.config.server.is_recording && resolved.warnings.is_empty(), "{file}");
            assert!(resolved.config.server.store_enabled);
        }
    }

    #[test]
    fn the_compose_file_says_what_becomes_of_records() {
        let cloud = "ENABLE_OPEN_TELEMETRY=true\nOTEL_COMPOSE_FILE=telemetry.cloud.yml\n\
                     OTEL_COLLECTOR_OTLP_HTTP_ENDPOINT=\"https://hub.test/otlp\"\n\
                     OTEL_COLLECTOR_OTLP_USERNAME=ada\nOTEL_COLLECTOR_OTLP_PASSWORD=hush\n";
        let resolved = resolve(cloud).unwrap();
        assert!(!resolved.config.server.store_enabled);
        let destination = &resolved.config.server.destinations[0];
        assert_eq!(destination.endpoint.as_deref(), Some("https://hub.test/otlp"));
        assert!(!format!("{destination:?}").contains("hush"));
        let missing = "ENABLE_OPEN_TELEMETRY=true\nOTEL_COMPOSE_FILE=telemetry.cloud.yml\n";
        let problems = resolve(missing).unwrap_err();
        assert!(problems[0].starts_with("telemetry.env:2: OTEL_COMPOSE_FILE: "), "{problems:?}");
        let custom = "ENABLE_OPEN_TELEMETRY=true\nOTEL_COMPOSE_FILE=custom_telemetry.yml\n";
        assert!(resolve(custom).unwrap_err()[0].contains("--config"));
    }

    #[test]
    fn the_public_url_is_that_of_grafana() {
        let file = "ENABLE_OPEN_TELEMETRY=true\nGF_SERVER_ROOT_URL=https://x.test/grafana\n";
        assert_eq!(resolve(file).unwrap().config.server.collect.external_url, None);
        let file = format!("{file}GF_SERVER_SERVE_FROM_SUB_PATH=true\n");
        let resolved = resolve(&file).unwrap();
        let url = resolved.config.server.collect.external_url;
        assert_eq!(url.as_deref(), Some("https://x.test/grafana"));
    }
}
