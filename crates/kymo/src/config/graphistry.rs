//! The names of Graphistry's `telemetry.env`, so that such a file works as it is.
//!
//! | name | what it does here |
//! |---|---|
//! | `ENABLE_OPEN_TELEMETRY` | nothing is recorded or forwarded unless it is true |
//! | `OTEL_COMPOSE_FILE` | `telemetry.yml` keeps, `telemetry.cloud.yml` forwards and keeps nothing |
//! | `OTEL_COLLECTOR_OTLP_HTTP_ENDPOINT`, `…_USERNAME`, `…_PASSWORD` | where that forwards to |
//! | `GF_SERVER_ROOT_URL`, `GF_SERVER_SERVE_FROM_SUB_PATH` | where people reach the server |
//!
//! They mean something once the file has one of them; then the environment wins over it, as it does
//! for other variables. What a flag, a `KYMO_…` variable or a configuration file says wins over all
//! of them.

use std::collections::BTreeMap;

use kymo_yaml::{Entry, from_node, references};

use super::Config;
use super::file::FileSettings;
use super::resolve::{Problem, Source};
use super::variables::EnvFile;

const ENABLE: &str = "ENABLE_OPEN_TELEMETRY";
const COMPOSE_FILE: &str = "OTEL_COMPOSE_FILE";
const ENDPOINT: &str = "OTEL_COLLECTOR_OTLP_HTTP_ENDPOINT";
const USERNAME: &str = "OTEL_COLLECTOR_OTLP_USERNAME";
const PASSWORD: &str = "OTEL_COLLECTOR_OTLP_PASSWORD";
const ROOT_URL: &str = "GF_SERVER_ROOT_URL";
const SUB_PATH: &str = "GF_SERVER_SERVE_FROM_SUB_PATH";

/// All of them.
const NAMES: [&str; 7] = [ENABLE, COMPOSE_FILE, ENDPOINT, USERNAME, PASSWORD, ROOT_URL, SUB_PATH];

/// What the file is called that keeps everything, and the one that forwards everything.
const PACKAGED: &str = "telemetry.yml";
const CLOUD: &str = "telemetry.cloud.yml";
/// The destination that such a file makes, and its login if there is one.
const DESTINATION: &str = "\
destinations:
  - name: cloud
    protocol: http
    endpoint: '${env:OTEL_COLLECTOR_OTLP_HTTP_ENDPOINT}'
";
const LOGIN: &str = "    basic:
      username: '${env:OTEL_COLLECTOR_OTLP_USERNAME}'
      password: '${env:OTEL_COLLECTOR_OTLP_PASSWORD}'
";
/// Where Grafana is below the server's own URL.
const GRAFANA: &str = "/grafana";

/// What such a file says.
pub(crate) struct Graphistry<'a> {
    pub(crate) file: &'a EnvFile,
    /// The environment over the file.
    pub(crate) referred: &'a BTreeMap<String, String>,
}

impl Graphistry<'_> {
    /// Puts what the file says into a configuration, where nobody else has said it. Gives the
    /// section that would say the same in a configuration file.
    pub(crate) fn apply(
        &self,
        config: &mut Config,
        sources: &mut BTreeMap<&'static str, Source>,
        from_file: &FileSettings,
        problems: &mut Vec<Problem>,
    ) -> Option<Entry> {
        if !NAMES.iter().any(|name| self.file.get(name).is_some()) {
            return None;
        }
        if !sources.contains_key("recording.enabled") {
            config.server.is_recording = self.truth(ENABLE, problems);
            sources.insert("recording.enabled", self.file.source(ENABLE));
        }
        if !sources.contains_key("external_url")
            && self.truth(SUB_PATH, problems)
            && let Some(url) = public_url(self.get(ROOT_URL))
        {
            config.server.collect.external_url = Some(url);
            sources.insert("external_url", self.file.source(ROOT_URL));
        }
        match self.get(COMPOSE_FILE).rsplit('/').next().unwrap_or_default() {
            "" | PACKAGED => None,
            _ if !config.server.is_recording => None,
            CLOUD => {
                if !sources.contains_key("store.enabled") {
                    config.server.store_enabled = false;
                    sources.insert("store.enabled", self.file.source(COMPOSE_FILE));
                }
                self.forward(config, from_file, problems)
            }
            _ if from_file.path.is_some() => None,
            other => {
                let what = format!(
                    "{other:?} is a file of your own: say what it does with --config FILE, or set \
                     it to {PACKAGED} or {CLOUD}"
                );
                problems.push(Problem::new(self.file.place(COMPOSE_FILE), what));
                None
            }
        }
    }

    /// The destination, unless the configuration file has its own.
    fn forward(
        &self,
        config: &mut Config,
        from_file: &FileSettings,
        problems: &mut Vec<Problem>,
    ) -> Option<Entry> {
        if from_file.section("destinations").is_some() {
            return None;
        }
        if self.get(ENDPOINT).is_empty() {
            let what = format!("{CLOUD} forwards, but {ENDPOINT} is not set");
            problems.push(Problem::new(self.file.place(COMPOSE_FILE), what));
            return None;
        }
        let has_login = !self.get(USERNAME).is_empty() || !self.get(PASSWORD).is_empty();
        let text = format!("{DESTINATION}{}", if has_login { LOGIN } else { "" });
        let variable = |name: &str| Some(self.get(name).to_owned());
        let made = kymo_yaml::parse(&text).and_then(|written| {
            let mut entries = written.clone();
            references::expand(&mut entries, &variable);
            let entry = entries.into_iter().next().zip(written.into_iter().next());
            entry
                .map(|(entry, written)| Ok((from_node(&entry.node, entry.at)?, written)))
                .transpose()
        });
        match made {
            Ok(made) => made.map(|(destinations, written)| {
                config.server.destinations = destinations;
                written
            }),
            Err(problem) => {
                problems.push(Problem::new(self.file.place(ENDPOINT), problem.words()));
                None
            }
        }
    }

    fn get(&self, name: &str) -> &str {
        self.referred.get(name).map(|value| value.trim()).unwrap_or_default()
    }

    /// Truth as shells and compose files write it; nothing is false.
    fn truth(&self, name: &str, problems: &mut Vec<Problem>) -> bool {
        match self.get(name).to_ascii_lowercase().as_str() {
            "true" | "1" | "yes" | "on" => true,
            "" | "false" | "0" | "no" | "off" => false,
            other => {
                let what = format!("{other:?} is neither true nor false");
                problems.push(Problem::new(self.file.place(name), what));
                false
            }
        }
    }
}

/// The URL of the server that Grafana's is below; none of a path alone, which names no host.
fn public_url(root_url: &str) -> Option<String> {
    let is_url = root_url.starts_with("http://") || root_url.starts_with("https://");
    // `%(domain)s` is for Grafana, which knows its own.
    if !is_url || root_url.contains("%(") {
        return None;
    }
    let url = root_url.trim_end_matches('/');
    Some(url.strip_suffix(GRAFANA).unwrap_or(url).trim_end_matches('/').to_owned())
}

#[cfg(test)]
mod tests {
    use super::super::resolve::{Inputs, Resolved, resolve_inputs};
    use super::super::show;

    fn resolve_with(
        file: &str,
        environment: &[(&str, &str)],
        config: Option<&str>,
    ) -> Result<Resolved, Vec<String>> {
        let environment = environment.iter().map(|(name, value)| (name.into(), value.into()));
        let inputs = Inputs {
            env_file: Some(("telemetry.env".into(), file.into())),
            environment: environment.collect(),
            config_file: config.map(|text| ("k.yaml".into(), text.into())),
            ..Inputs::default()
        };
        resolve_inputs(inputs)
            .map_err(|problems| problems.iter().map(ToString::to_string).collect())
    }

    fn resolve(file: &str) -> Result<Resolved, Vec<String>> {
        resolve_with(file, &[], None)
    }

    const CLOUD: &str = "ENABLE_OPEN_TELEMETRY=true\nOTEL_COMPOSE_FILE=telemetry.cloud.yml\n\
                         OTEL_COLLECTOR_OTLP_HTTP_ENDPOINT=\"https://hub.test/otlp\"\n\
                         OTEL_COLLECTOR_OTLP_USERNAME=ada\nexport OTEL_COLLECTOR_OTLP_PASSWORD='hu\"sh'\n";

    #[test]
    fn without_the_switch_nothing_is_recorded() {
        for file in [
            "ENABLE_OPEN_TELEMETRY=false\n",
            "ENABLE_OPEN_TELEMETRY=\n",
            "ENABLE_OPEN_TELEMETRY=\"\"  # not yet\n",
            "#ENABLE_OPEN_TELEMETRY=true\nOTEL_COMPOSE_FILE=telemetry.yml\n",
            "ENABLE_OPEN_TELEMETRY=false\nOTEL_COMPOSE_FILE=telemetry.cloud.yml\n",
        ] {
            assert!(!resolve(file).unwrap().config.server.is_recording, "{file}");
        }
        for file in [
            "ENABLE_OPEN_TELEMETRY=true\n",
            "export ENABLE_OPEN_TELEMETRY=\"True\" # yes\n",
            "KYMO_HTTP=127.0.0.1:0\n",
            "",
        ] {
            let resolved = resolve(file).unwrap();
            assert!(resolved.config.server.is_recording && resolved.warnings.is_empty(), "{file}");
            assert!(resolved.config.server.store_enabled);
        }
        let problems = resolve("A=1\nENABLE_OPEN_TELEMETRY=ture\n").unwrap_err();
        assert_eq!(
            problems,
            ["telemetry.env:2: ENABLE_OPEN_TELEMETRY: \"ture\" is neither true nor false"]
        );
    }

    #[test]
    fn what_others_say_wins_over_the_file() {
        let off = "ENABLE_OPEN_TELEMETRY=false\n";
        let by_environment = [("ENABLE_OPEN_TELEMETRY", "true")];
        assert!(resolve_with(off, &by_environment, None).unwrap().config.server.is_recording);
        let empty = [("ENABLE_OPEN_TELEMETRY", "")];
        let on = "ENABLE_OPEN_TELEMETRY=true\n";
        assert!(resolve_with(on, &empty, None).unwrap().config.server.is_recording);
        let config = Some("recording: {enabled: true}\n");
        assert!(resolve_with(off, &[], config).unwrap().config.server.is_recording);
        let own = "destinations: [{name: mine, protocol: grpc, endpoint: 'http://x:1'}]\n";
        let resolved = resolve_with(CLOUD, &[], Some(own)).unwrap();
        let names = resolved.config.server.destinations.iter().map(|one| one.name.as_str());
        assert_eq!(names.collect::<Vec<_>>(), ["mine"]);
        let environment = [("ENABLE_OPEN_TELEMETRY", "false")];
        let unaware = resolve_with("KYMO_HTTP=127.0.0.1:0\n", &environment, None).unwrap();
        assert!(unaware.config.server.is_recording, "no file of that kind is there");
    }

    #[test]
    fn the_compose_file_says_what_becomes_of_records() {
        let resolved = resolve(CLOUD).unwrap();
        assert!(!resolved.config.server.store_enabled);
        let destination = &resolved.config.server.destinations[0];
        assert_eq!(destination.endpoint.as_deref(), Some("https://hub.test/otlp"));
        let basic = destination.basic.as_ref().unwrap();
        assert_eq!(basic.username, "ada");
        assert_eq!(basic.password.as_ref().unwrap().reveal(), "hu\"sh");
        assert!(!format!("{destination:?}").contains("hu\"sh"));
        let shown = show::yaml(&resolved);
        assert!(shown.contains("endpoint: '${env:OTEL_COLLECTOR_OTLP_HTTP_ENDPOINT}'"), "{shown}");
        assert!(!shown.contains("hu\"sh"), "{shown}");
        let open = CLOUD.lines().take(3).collect::<Vec<_>>().join("\n");
        assert!(resolve(&open).unwrap().config.server.destinations[0].basic.is_none());
        let missing = "ENABLE_OPEN_TELEMETRY=true\nOTEL_COMPOSE_FILE=telemetry.cloud.yml\n";
        let problems = resolve(missing).unwrap_err();
        assert!(problems[0].starts_with("telemetry.env:2: OTEL_COMPOSE_FILE: "), "{problems:?}");
        let custom = "ENABLE_OPEN_TELEMETRY=true\nOTEL_COMPOSE_FILE=custom_telemetry.yml\n";
        assert!(resolve(custom).unwrap_err()[0].contains("--config"));
        assert!(resolve_with(custom, &[], Some("")).is_ok());
        let packaged = "ENABLE_OPEN_TELEMETRY=true\nOTEL_COMPOSE_FILE=./telemetry.yml\n";
        assert!(resolve(packaged).unwrap().config.server.store_enabled);
    }

    #[test]
    fn the_public_url_is_the_one_that_grafanas_is_below() {
        let url = |root: &str, sub_path: &str| {
            let file = format!(
                "ENABLE_OPEN_TELEMETRY=true\nGF_SERVER_ROOT_URL={root}\n\
                 GF_SERVER_SERVE_FROM_SUB_PATH={sub_path}\n"
            );
            resolve(&file).unwrap().config.server.collect.external_url
        };
        assert_eq!(url("https://x.test/grafana", "false"), None);
        assert_eq!(url("https://x.test/grafana", ""), None);
        assert_eq!(url("https://x.test/grafana/", "true").as_deref(), Some("https://x.test"));
        let below = url("\"https://x.test/tools/grafana\"", "true");
        assert_eq!(below.as_deref(), Some("https://x.test/tools"));
        assert_eq!(url("https://x.test/own", "true").as_deref(), Some("https://x.test/own"));
        assert_eq!(url("/grafana", "true"), None, "it names no host");
        assert_eq!(url("%(protocol)s://%(domain)s/grafana/", "true"), None);
    }
}
