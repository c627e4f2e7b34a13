//! The table of settings as arguments of a command.

use std::path::PathBuf;

use clap::builder::StyledStr;
use clap::{Arg, ArgAction, ArgMatches, Command, Error, FromArgMatches};

use super::setting::Setting;
use super::table::GROUPS;
use super::value::{Kind, Value};

const CONFIG: &str = "config";
const ENV_FILE: &str = "env_file";
/// Names the YAML file, also in a file of variables.
pub(crate) const CONFIG_VARIABLE: &str = "KYMO_CONFIG";

/// Files to read, and settings by flag.
#[derive(Debug, Clone, Default)]
pub(crate) struct ConfigArgs {
    pub(crate) config: Option<PathBuf>,
    pub(crate) env_file: Option<PathBuf>,
    pub(crate) flags: Vec<(&'static Setting, Value)>,
}

impl clap::Args for ConfigArgs {
    fn augment_args(mut command: Command) -> Command {
        command = command.arg(file_argument(
            CONFIG,
            "config",
            "Read settings from a YAML file",
            "Read settings from a YAML file. Flags and variables win over it. [env: KYMO_CONFIG]",
        ));
        command = command.arg(file_argument(
            ENV_FILE,
            "env-file",
            "Read KYMO_… variables from a file of KEY=VALUE lines",
            "Read KYMO_… variables from a file of KEY=VALUE lines, as compose does. The environment \
             wins over it. [env: KYMO_ENV_FILE]",
        ));
        for group in GROUPS {
            for setting in group.settings {
                command = command.arg(argument(setting).help_heading(group.title));
                if is_on_by_default(setting) {
                    command = command.arg(negative(setting).help_heading(group.title));
                }
            }
        }
        command
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for ConfigArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let mut args = Self::default();
        args.update_from_arg_matches(matches)?;
        Ok(args)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        let file = |id: &str, variable: &str| {
            let named = matches.get_one::<PathBuf>(id).cloned();
            let by_variable = || std::env::var_os(variable).filter(|path| !path.is_empty());
            named.or_else(|| by_variable().map(PathBuf::from))
        };
        self.config = file(CONFIG, CONFIG_VARIABLE);
        self.env_file = file(ENV_FILE, "KYMO_ENV_FILE");
        self.flags = super::table::settings()
            .filter_map(|setting| {
                if is_on_by_default(setting) && matches.get_flag(&negative_id(setting)) {
                    return Some((setting, Value::Switch(false)));
                }
                Some((setting, matches.get_one::<Value>(setting.key)?.clone()))
            })
            .collect();
        Ok(())
    }
}

fn file_argument(
    id: &'static str,
    flag: &'static str,
    short: &'static str,
    long: &'static str,
) -> Arg {
    Arg::new(id)
        .long(flag)
        .value_name("FILE")
        .value_parser(clap::value_parser!(PathBuf))
        .value_hint(clap::ValueHint::FilePath)
        .help(short)
        .long_help(long)
}

/// The flag of a setting.
fn argument(setting: &'static Setting) -> Arg {
    let argument = Arg::new(setting.key)
        .long(setting.flag())
        .value_name(setting.kind.placeholder())
        .value_parser(move |text: &str| setting.read(text))
        .help(short_help(setting))
        .long_help(long_help(setting));
    match setting.kind {
        // `--compaction` alone is as good as `--compaction true`. Commands with settings have no
        // other arguments that could be taken for its value.
        Kind::Switch => {
            let argument = argument.num_args(0..=1).default_missing_value("true");
            match is_on_by_default(setting) {
                true => argument.overrides_with(negative_id(setting)),
                false => argument,
            }
        }
        Kind::Path => argument.value_hint(clap::ValueHint::DirPath),
        Kind::File => argument.value_hint(clap::ValueHint::FilePath),
        _ => argument,
    }
}

/// Whether a setting is a switch that is on unless something else is said.
fn is_on_by_default(setting: &Setting) -> bool {
    matches!(setting.kind, Kind::Switch) && setting.default_text() == "true"
}

fn negative_id(setting: &Setting) -> String {
    format!("no-{}", setting.key)
}

/// The flag that switches something off: `--no-probe`.
fn negative(setting: &'static Setting) -> Arg {
    let flag = setting.flag();
    Arg::new(negative_id(setting))
        .long(format!("no-{flag}"))
        .action(ArgAction::SetTrue)
        .overrides_with(setting.key)
        .help(format!("The same as --{flag}=false"))
}

fn short_help(setting: &Setting) -> StyledStr {
    let first = setting.about.split(". ").next().unwrap_or(setting.about);
    format!("{} [default: {}]", first.trim_end_matches('.'), shown_default(setting)).into()
}

fn long_help(setting: &Setting) -> StyledStr {
    let (about, default) = (setting.about, shown_default(setting));
    let (key, variable) = (setting.key, setting.variable());
    format!("{about}\n[default: {default}] [env: {variable}] [yaml: {key}]").into()
}

/// The default; a word for one that is no text.
pub(crate) fn shown_default(setting: &Setting) -> String {
    // Blanks between the items, so that lines of the manual can be broken there.
    let text = match setting.kind {
        Kind::List | Kind::Durations => setting.default_text().replace(',', ", "),
        _ => setting.default_text(),
    };
    if text.is_empty() { "nothing".to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use clap::Args;

    use super::super::Config;
    use super::super::resolve::{Inputs, Resolved, resolve_inputs};
    use super::super::table;
    use super::*;

    fn parse(arguments: &[&str]) -> Result<ConfigArgs, Error> {
        let command = ConfigArgs::augment_args(Command::new("kymo"));
        ConfigArgs::from_arg_matches(&command.try_get_matches_from(arguments)?)
    }

    /// A text that a setting takes and that is not its default. Some settings hold others in
    /// bounds: a small number fits each of them.
    fn other_text(setting: &Setting) -> &'static str {
        let default = setting.get(&Config::default());
        let texts = [
            "true",
            "false",
            "3",
            "7s",
            "8MiB",
            "localhost:1",
            "/a",
            "debug",
            "memory",
            "json",
            "NoTranslation",
            "optional",
            "1.3",
            "everybody",
            "http://x",
            "collector",
            "90s",
        ];
        let fits = |text: &&str| setting.read(text).is_ok_and(|value| value != default);
        texts.into_iter().find(fits).expect("a text")
    }

    /// Whether it makes sense only together with others, or has a form that is checked with them.
    fn is_refused_alone(setting: &Setting) -> bool {
        let keys = ["store.enabled", "auth", "listen.aliases", "trusted_proxies"];
        setting.key.starts_with("tls.") || keys.contains(&setting.key)
    }

    /// `a.b: x` as nested keys.
    fn yaml(key: &str, text: &str) -> String {
        let parts: Vec<&str> = key.split('.').collect();
        format!("{}: {text}{}\n", parts.join(": {"), "}".repeat(parts.len() - 1))
    }

    #[test]
    fn every_setting_is_reached_by_flag_variable_and_key() {
        for setting in table::settings().filter(|setting| !is_refused_alone(setting)) {
            let text = other_text(setting);
            let flag = format!("--{}={text}", setting.flag());
            let flags = parse(&["kymo", &flag]).unwrap().flags;
            let variable = format!("{}={text}", setting.variable());
            let environment = vec![(setting.variable().into(), text.into())];
            let ways: BTreeMap<&str, Inputs> = BTreeMap::from([
                ("flag", Inputs { flags, ..Inputs::default() }),
                ("environment", Inputs { environment, ..Inputs::default() }),
                (
                    "env file",
                    Inputs { env_file: Some(("e".into(), variable)), ..Inputs::default() },
                ),
                (
                    "file",
                    Inputs {
                        config_file: Some(("c".into(), yaml(setting.key, text))),
                        ..Inputs::default()
                    },
                ),
            ]);
            for (way, inputs) in ways {
                let Resolved { config, sources, warnings, .. } = resolve_inputs(inputs)
                    .unwrap_or_else(|problems| panic!("{setting:?} by {way}: {problems:?}"));
                assert_eq!(
                    setting.get(&config),
                    setting.read(text).unwrap(),
                    "{setting:?} by {way}"
                );
                assert_eq!(sources.keys().copied().collect::<Vec<_>>(), [setting.key], "{way}");
                assert!(warnings.is_empty(), "{warnings:?}");
            }
        }
    }

    #[test]
    fn a_wrong_flag_says_what_is_expected() {
        let error = parse(&["kymo", "--store-flush-after", "10"]).unwrap_err().to_string();
        assert!(error.contains("'--store-flush-after <DURATION>'"), "{error}");
        assert!(error.contains("expected a duration with its unit, such as"), "{error}");
        let error = parse(&["kymo", "--store-flush-aftr", "10m"]).unwrap_err().to_string();
        assert!(error.contains("--store-flush-after"), "{error}");
    }

    #[test]
    fn a_switch_needs_no_value() {
        let value = |flags: &[&str]| {
            parse(&[&["kymo"], flags].concat()).unwrap().flags.last().unwrap().1.clone()
        };
        assert_eq!(value(&["--compaction"]), Value::Switch(true));
        assert_eq!(value(&["--compaction", "--http", "h:1"]), Value::Switch(true));
        assert_eq!(value(&["--compaction=false"]), Value::Switch(false));
        assert_eq!(value(&["--compaction", "false"]), Value::Switch(false));
        assert_eq!(value(&["--no-compaction"]), Value::Switch(false));
        assert_eq!(value(&["--no-compaction", "--compaction"]), Value::Switch(true));
        assert_eq!(value(&["--compaction", "--no-compaction"]), Value::Switch(false));
    }
}
