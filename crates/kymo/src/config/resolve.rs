//! From flags, variables and files to one configuration, or to all that is wrong with them.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use kymo_yaml::limits::MAX_TEXT_BYTES;
use kymo_yaml::{Entry, amounts};

use super::file::{self, FileSettings};
use super::flags::ConfigArgs;
use super::graphistry::Graphistry;
use super::setting::Setting;
use super::tenants::{self, Tenant};
use super::value::Value;
use super::variables::{self, EnvFile, Variables};
use super::{Config, check, table};

/// Where a value is from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Source {
    Default,
    File { path: String, line: u64 },
    EnvFile { path: String, line: u64 },
    Environment,
    Flag,
}

/// Something wrong, and where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Problem {
    place: String,
    message: String,
}

impl Problem {
    pub(crate) fn new(place: impl Into<String>, message: impl Into<String>) -> Self {
        Self { place: place.into(), message: message.into() }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.message)
    }
}

/// A configuration and how it came about.
#[derive(Debug)]
pub(crate) struct Resolved {
    pub(crate) config: Config,
    /// By key; what is missing has its default.
    pub(crate) sources: BTreeMap<&'static str, Source>,
    pub(crate) tenants: Vec<Tenant>,
    /// Lists and other shapes, as they stand in the file.
    pub(crate) sections: Vec<Entry>,
    /// What is odd without being wrong.
    pub(crate) warnings: Vec<String>,
}

/// All that a configuration is made of.
#[derive(Debug, Default)]
pub(crate) struct Inputs {
    /// Flags with their values.
    pub(crate) flags: Vec<(&'static Setting, Value)>,
    pub(crate) environment: Vec<(OsString, OsString)>,
    /// The text of a file of variables.
    pub(crate) env_file: Option<(PathBuf, String)>,
    /// The text of a YAML file.
    pub(crate) config_file: Option<(PathBuf, String)>,
}

/// Reads the files that flags or variables name, and resolves.
pub(crate) fn resolve(args: &ConfigArgs) -> Result<Resolved, Vec<Problem>> {
    let env_file = args.env_file.as_deref().map(read).transpose()?;
    let named = args.config.clone().or_else(|| {
        let (path, text) = env_file.as_ref()?;
        variables::config_file(path, text)
    });
    let config_file = named.as_deref().map(read).transpose()?;
    resolve_inputs(Inputs {
        flags: args.flags.clone(),
        environment: std::env::vars_os().collect(),
        env_file,
        config_file,
    })
}

/// Reads a file, up to what any configuration has: a device has no end.
pub(crate) fn read(path: &Path) -> Result<(PathBuf, String), Vec<Problem>> {
    let wrong = |what: String| vec![Problem::new(path.display().to_string(), what)];
    let mut bytes = Vec::new();
    let opened = std::fs::File::open(path);
    let limit = MAX_TEXT_BYTES as u64 + 1;
    opened
        .and_then(|file| file.take(limit).read_to_end(&mut bytes))
        .map_err(|error| wrong(format!("cannot be read: {error}")))?;
    if bytes.len() > MAX_TEXT_BYTES {
        let most = amounts::size_text(MAX_TEXT_BYTES as u64);
        return Err(wrong(format!("is larger than {most}: expected a file of settings")));
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        let line = error.as_bytes()[..error.utf8_error().valid_up_to()]
            .iter()
            .filter(|byte| **byte == b'\n')
            .count();
        wrong(format!("line {} is not UTF-8 text: save the file as UTF-8", line + 1))
    })?;
    Ok((path.to_owned(), text))
}

/// Resolves what was read.
pub(crate) fn resolve_inputs(inputs: Inputs) -> Result<Resolved, Vec<Problem>> {
    let mut problems = Vec::new();
    let mut resolver = Resolver::default();
    let env_file = match &inputs.env_file {
        Some((path, text)) => EnvFile::read(path, text, &mut problems),
        None => EnvFile::default(),
    };
    let referred = variables::referred(&env_file, &inputs.environment);
    let mut from_file = match &inputs.config_file {
        Some((path, text)) => file::read(path, text, &referred, &mut problems),
        None => FileSettings::default(),
    };
    let mut variables = env_file.variables();
    for found in std::mem::take(&mut from_file.settings) {
        resolver.set(found.setting, found.value, found.source, &mut problems);
    }
    variables.extend(variables::of_environment(inputs.environment, &mut problems));
    resolver.set_variables(&variables, &mut problems);
    for (setting, value) in inputs.flags {
        resolver.set(setting, value, Source::Flag, &mut problems);
    }
    let Resolver { mut config, mut sources } = resolver;
    config.take(std::mem::take(&mut from_file.sections));
    tenants::apply(&mut config, &from_file.tenants, &mut problems);
    let graphistry = Graphistry { file: &env_file, referred: &referred };
    let made = graphistry.apply(&mut config, &mut sources, &from_file, &mut problems);
    check::check(&mut config, &sources, &from_file, &mut problems);
    if !problems.is_empty() {
        return Err(problems);
    }
    let warnings = variables::unknown(&variables);
    let FileSettings { tenants, sections_as_written: mut sections, .. } = from_file;
    sections.extend(made);
    Ok(Resolved { config, sources, tenants, sections, warnings })
}

#[derive(Debug, Default)]
struct Resolver {
    config: Config,
    sources: BTreeMap<&'static str, Source>,
}

impl Resolver {
    /// Sets a value over what was there before.
    fn set(
        &mut self,
        setting: &'static Setting,
        value: Value,
        source: Source,
        problems: &mut Vec<Problem>,
    ) {
        if setting.set(&mut self.config, value) {
            self.sources.insert(setting.key, source);
        } else {
            problems.push(Problem::new(name(setting, &source), setting.expected()));
        }
    }

    fn set_variables(&mut self, variables: &Variables, problems: &mut Vec<Problem>) {
        for setting in table::settings() {
            let variable = setting.variable();
            let Some((text, source)) = variables.get(&variable) else { continue };
            match setting.read(text) {
                Ok(value) => self.set(setting, value, source.clone(), problems),
                Err(expected) => {
                    let what = format!("{text:?} is no value for it: {expected}");
                    problems.push(Problem::new(name(setting, source), what));
                }
            }
        }
    }
}

/// A setting as it is called where its value is from.
pub(crate) fn name(setting: &Setting, source: &Source) -> String {
    match source {
        Source::Default => setting.key.to_owned(),
        Source::File { path, line } => format!("{path}:{line}: {}", setting.key),
        Source::EnvFile { path, line } => format!("{path}:{line}: {}", setting.variable()),
        Source::Environment => setting.variable(),
        Source::Flag => format!("--{}", setting.flag()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inputs(file: &str) -> Inputs {
        Inputs { config_file: Some(("k.yaml".into(), file.into())), ..Inputs::default() }
    }

    fn problems(file: &str) -> Vec<String> {
        resolve_inputs(inputs(file)).unwrap_err().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn the_flag_wins_over_the_environment_over_the_file_over_the_default() {
        let setting = table::find("query.max_running").unwrap();
        let flag = setting.read("1").unwrap();
        let inputs = |flags, environment, env_file, file| {
            let mut inputs = Inputs::default();
            if flags {
                inputs.flags = vec![(setting, flag.clone())];
            }
            if environment {
                inputs.environment = vec![("KYMO_QUERY_MAX_RUNNING".into(), "2".into())];
            }
            if env_file {
                inputs.env_file = Some(("e".into(), "KYMO_QUERY_MAX_RUNNING=3".into()));
            }
            if file {
                inputs.config_file = Some(("c".into(), "query: {max_running: 41}".into()));
            }
            let resolved = resolve_inputs(inputs).unwrap();
            let source = resolved.sources.get(setting.key).cloned().unwrap_or(Source::Default);
            (resolved.config.server.engine.max_running, source)
        };
        assert_eq!(inputs(true, true, true, true), (1, Source::Flag));
        assert_eq!(inputs(false, true, true, true), (2, Source::Environment));
        let env_file = Source::EnvFile { path: "e".into(), line: 1 };
        assert_eq!(inputs(false, false, true, true), (3, env_file));
        let file = Source::File { path: "c".into(), line: 1 };
        assert_eq!(inputs(false, false, false, true), (41, file));
        let default = kymo_server::ServerOptions::default().engine.max_running;
        assert_eq!(inputs(false, false, false, false), (default, Source::Default));
    }

    #[test]
    fn a_typo_is_refused_with_its_place_and_the_nearest_key() {
        assert_eq!(
            problems("store:\n  flsh_after: 10m\nhttpp: 1\nflush_rows: 5\nzebra: 1\n"),
            [
                "k.yaml:2:3: store.flsh_after is not a setting; did you mean store.flush_after?",
                "k.yaml:3:1: httpp is not a setting; did you mean http?",
                "k.yaml:4:1: flush_rows is not a setting; did you mean store.flush_rows?",
                "k.yaml:5:1: zebra is not a setting; docs/configuration.md lists them all",
            ]
        );
    }

    #[test]
    fn a_wrong_value_says_what_is_expected() {
        let all = problems(
            "http: 3200\nstore: {flush_after: 10}\nquery:\n  max_running: many\n  memory:\n\
             journal: {durability: [disk]}\nlimits: 5\nlog: {level: {x: 1}}\nstore_url: s3://x\n",
        );
        let expected = [
            "k.yaml:1:7: http is \"3200\": expected HOST:PORT, such as 127.0.0.1:3200 or [::1]:0",
            "k.yaml:2:22: store.flush_after is \"10\": expected a duration with its unit, such as \
             500ms, 10m or 1h30m",
            "k.yaml:4:16: query.max_running is \"many\": expected a whole number from 1 to 1000000",
            "k.yaml:5:3: query.memory has no value: expected a size with its unit of at least \
             64KiB, such as 128MiB or 1GiB",
            "k.yaml:6:23: journal.durability is a list: expected one of disk, memory",
            "k.yaml:7:9: limits is a group of settings: put them below it, such as max_request_bytes",
            "k.yaml:8:14: log.level has keys below it: expected error, warn, info, debug, trace, or \
             kymo_store=debug,info",
            "k.yaml:9:1: store_url is not a setting; did you mean store.url?",
        ];
        assert_eq!(all, expected);
    }

    #[test]
    fn a_key_without_a_value_is_refused_unless_it_is_a_limit() {
        let all = problems("data:\nhttp: ~\nstore: {node: null}\n");
        assert_eq!(
            all,
            [
                "k.yaml:1:1: data has no value: expected the path of a directory",
                "k.yaml:2:1: http has no value: expected HOST:PORT, such as 127.0.0.1:3200 or [::1]:0",
                "k.yaml:3:9: store.node has no value: expected up to 64 letters, digits, - and _, \
                 such as node-1",
            ]
        );
        let config =
            resolve_inputs(inputs("query: {max_rows: }\nstore: {url: }\n")).unwrap().config;
        assert_eq!((config.server.engine.max_rows, config.server.store_url), (None, None));
    }

    #[test]
    fn a_time_of_nothing_is_refused_where_it_would_end_everything() {
        let all = problems(
            "request_timeout: 0\nquery: {timeout: 0s}\nretention: {logs: {max_age: 0}}\n\
             tenants: {a: {retention: {spans: {max_age: 0}}}}\n",
        );
        let timeout = "expected a duration with its unit of at least 1ms, such as 10m or 1h30m";
        let age = "expected a duration with its unit of at least 1s, such as 10m or 1h30m, or none";
        assert_eq!(
            all,
            [
                format!("k.yaml:1:18: request_timeout is \"0\": {timeout}"),
                format!("k.yaml:2:18: query.timeout is \"0s\": {timeout}"),
                format!("k.yaml:3:29: retention.logs.max_age is \"0\": {age}"),
                format!("k.yaml:4:44: retention.spans.max_age is \"0\": {age}"),
            ]
        );
        assert!(resolve_inputs(inputs("retention: {logs: {max_age: none}}\n")).is_ok());
    }

    #[test]
    fn counts_and_sizes_that_no_machine_has_are_refused() {
        let all = problems(
            "max_connections: 9999999999999999999\nmax_receiving_bytes: 2000TiB\n\
             query: {threads: 100000, max_running: 9999999999999999999}\n\
             store: {flush_rows: 9999999999999999999, flush_points: 5000000000}\n",
        );
        let places: Vec<&str> =
            all.iter().filter_map(|problem| problem.split(' ').nth(1)).collect();
        assert_eq!(
            places,
            [
                "max_connections",
                "max_receiving_bytes",
                "query.threads",
                "query.max_running",
                "store.flush_rows",
                "store.flush_points",
            ],
            "{all:?}"
        );
    }

    #[test]
    fn texts_that_look_like_numbers_keep_their_form() {
        let text = "store: {node: 007}\ndata: 1.10\nbase_path: ''\n";
        let config = resolve_inputs(inputs(text)).unwrap().config.server;
        assert_eq!(config.store.node, "007");
        assert_eq!(config.data, Path::new("1.10"));
        let node = resolve_inputs(inputs("store: {node: on}\n")).unwrap().config.server.store.node;
        assert_eq!(node, "on");
    }

    #[test]
    fn wrong_variables_are_refused_by_name() {
        let inputs = Inputs {
            environment: vec![("KYMO_STORE_FLUSH_AFTER".into(), "soon".into())],
            env_file: Some(("k.env".into(), "KYMO_HTTP=here".into())),
            ..Inputs::default()
        };
        let problems = resolve_inputs(inputs).unwrap_err();
        let problems: Vec<_> = problems.iter().map(ToString::to_string).collect();
        assert_eq!(problems.len(), 2, "{problems:?}");
        assert!(
            problems[0].starts_with("k.env:1: KYMO_HTTP: \"here\" is no value for it: expected")
        );
        assert!(problems[1].starts_with("KYMO_STORE_FLUSH_AFTER: \"soon\" is no value"));
    }

    #[test]
    fn a_tenant_has_its_own_limits_and_the_others_of_all() {
        let text = "limits: {max_attributes: 10, max_nesting: 3}\n\
                    retention: {logs: {max_age: 7d}}\n\
                    tenants:\n  team-a:\n    limits: {max_attributes: 99}\n\
                    \x20   retention: {spans: {max_bytes: 1GiB}, logs: {max_age: none}}\n";
        let config = resolve_inputs(inputs(text)).unwrap().config.server;
        let own = config.admission.limits_for("team-a");
        assert_eq!((own.max_attributes_per_record, own.max_nesting), (99, 3));
        assert_eq!(config.admission.limits_for("other").max_attributes_per_record, 10);
        use kymo_store::Signal;
        assert_eq!(config.retention.of("team-a", Signal::Spans).max_bytes, Some(1 << 30));
        assert_eq!(config.retention.of("team-a", Signal::Logs).max_age, None);
        assert!(config.retention.of("other", Signal::Logs).max_age.is_some());
        assert_eq!(config.retention.of("other", Signal::Spans).max_bytes, None);
    }

    #[test]
    fn a_tenant_cannot_have_what_all_share() {
        let all = problems("tenants:\n  a: {http: x}\n  b: {limts: {}}\n  '': {}\n  d: 5\n");
        assert_eq!(
            all,
            [
                "k.yaml:2:7: http is the same for all tenants; set it outside of tenants",
                "k.yaml:3:7: limts is not a setting of a tenant; did you mean limits?",
                "k.yaml:4:3: the tenant's name \"\" is empty",
                "k.yaml:5:6: tenants.d is a group of settings: put them below it, such as limits",
            ]
        );
    }

    #[test]
    fn settings_that_do_not_fit_together_are_refused() {
        let all = problems(
            "http: 127.0.0.1:9\notlp_http: 127.0.0.1:9\nquery: {memory: 1MiB, memory_per_query: 2MiB}\n",
        );
        assert_eq!(all.len(), 2, "{all:?}");
        assert!(all[0].contains("http") && all[0].contains("otlp_http"), "{all:?}");
        assert!(all[1].contains("query.memory_per_query"), "{all:?}");
        let less = resolve_inputs(inputs("query: {memory: 1MiB}\n")).unwrap().config.server.engine;
        assert_eq!(less.query_memory_bytes, 1 << 20, "a default gives way");
        let bucket = "query: {timeout: 1h}\nstore: {url: 's3://b/p'";
        let long = resolve_inputs(inputs(&format!("{bucket}}}\n"))).unwrap().config.server;
        assert!(long.store.grace > long.engine.query_timeout, "a default gives way");
        let both = problems(&format!("{bucket}, grace: 10m}}\n"));
        assert!(both[0].starts_with("k.yaml:1: query.timeout: is not less than"), "{both:?}");
        let local = resolve_inputs(inputs("query: {timeout: 1h}\n")).unwrap().config.server;
        assert!(local.store.grace < local.engine.query_timeout, "a directory needs no long grace");
        assert!(resolve_inputs(inputs("http: 127.0.0.1:0\notlp_http: 127.0.0.1:0\n")).is_ok());
    }
}
