//! Where a run goes: a file, a server, or both.

use std::path::PathBuf;

use kymo_ci::environment::Environment;
use kymo_service::ExportSettings;
use kymo_service::export::{Asked, Signal};
use kymo_session::{Checkpoint, KeyValue, SessionOptions, WhenFull};

use super::{Args, limits};
use crate::output;

/// Variables that name a server.
const ENDPOINTS: [&str; 5] = [
    "KYMO_OTLP_ENDPOINT",
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
    "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT",
    "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT",
];

/// What was chosen.
#[derive(Debug)]
pub(super) struct Destination {
    file: Option<PathBuf>,
    export: Option<ExportSettings>,
}

impl Destination {
    /// A server, if one is named; a file, if none is or one is asked for.
    pub(super) fn choose(args: &Args, name: &str, environment: &Environment) -> Self {
        let is_named = args.endpoint.is_some()
            || ENDPOINTS.iter().any(|variable| environment.get(variable).is_some());
        let export = is_named.then(|| {
            let asked = Asked {
                endpoint: args.endpoint.clone(),
                protocol: args.protocol,
                ..Asked::default()
            };
            let variable = |name: &str| environment.get(name).map(str::to_owned);
            ExportSettings::resolve(&asked, variable)
        });
        let export = match export {
            Some(Ok(export)) if !export.is_nowhere() => Some(export),
            Some(Err(error)) => {
                output::warning(&format!("nothing is sent, a file is written instead: {error}"));
                None
            }
            Some(Ok(_)) | None => None,
        };
        let usual = || export.is_none().then(|| PathBuf::from(file_name(name)));
        Self { file: args.file.clone().or_else(usual), export }
    }

    /// The server's settings.
    pub(super) fn export(&self) -> Option<&ExportSettings> {
        self.export.as_ref()
    }

    /// The server, for people: where spans go, else the first that there is.
    pub(super) fn server(&self) -> Option<String> {
        let export = self.export.as_ref()?;
        Signal::ALL.iter().find_map(|signal| Some(export.of(*signal).otlp()?.authority()))
    }

    /// How the session is set up.
    pub(super) fn options(&self, args: &Args, name: &str) -> SessionOptions {
        let tags = args.tag.iter();
        let mut options = SessionOptions::new(name);
        options.backend = Some("run".to_owned());
        options.attributes =
            tags.map(|(key, value)| KeyValue::new(key.clone(), value.clone())).collect();
        options.checkpoint = self.file.clone().map_or(Checkpoint::None, Checkpoint::File);
        options.poll_every = Some(args.poll.unwrap_or(limits::POLL_EVERY));
        // The command must not wait for what is told of it.
        options.when_full = WhenFull::Drop;
        options.export.clone_from(&self.export);
        options
    }
}

/// The file of a session, in the working directory whatever the name is.
fn file_name(name: &str) -> String {
    let is_safe = |c: char| !(c == '/' || c == '\\' || c.is_control());
    let safe: String = name.chars().map(|c| if is_safe(c) { c } else { '_' }).collect();
    // One that begins with a dot would not be seen.
    format!("{}.kymo.jsonl", safe.trim_start_matches('.'))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::cli::{Cli, Command};

    fn choose(flags: &[&str], variables: &[(&str, &str)]) -> Destination {
        let words = [&["kymo", "run"], flags, &["--", "true"]].concat();
        let Command::Run(args) = Cli::parse_from(words).command else { panic!("another command") };
        Destination::choose(&args, "train", &variables.iter().copied().collect())
    }

    #[test]
    fn a_server_takes_the_place_of_the_file_unless_both_are_wanted() {
        let file = |destination: &Destination| destination.file.clone();
        let none = choose(&[], &[]);
        assert_eq!((file(&none), none.server()), (Some("train.kymo.jsonl".into()), None));
        let named = choose(&["--endpoint", "http://a.test:4317"], &[]);
        assert_eq!((file(&named), named.server()), (None, Some("http://a.test:4317".to_owned())));
        let both = choose(&["--file", "x.jsonl"], &[("KYMO_OTLP_ENDPOINT", "http://b.test:1")]);
        assert_eq!(file(&both), Some("x.jsonl".into()));
        assert_eq!(both.server(), Some("http://b.test:1".to_owned()));
        let traces = choose(&[], &[("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://c.test:1")]);
        assert_eq!(file(&traces), None);
    }

    #[test]
    fn what_cannot_be_sent_is_written() {
        let odd = [
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://a.test"),
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "pigeon"),
        ];
        assert_eq!(choose(&[], &odd).file, Some("train.kymo.jsonl".into()));
        let off = [
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://a.test"),
            ("OTEL_TRACES_EXPORTER", "none"),
            ("OTEL_METRICS_EXPORTER", "none"),
            ("OTEL_LOGS_EXPORTER", "none"),
        ];
        assert_eq!(choose(&[], &off).file, Some("train.kymo.jsonl".into()));
    }

    #[test]
    fn a_file_stays_in_the_working_directory() {
        assert_eq!(file_name("../../etc/passwd"), "_.._etc_passwd.kymo.jsonl");
        assert_eq!(file_name("a b"), "a b.kymo.jsonl");
    }
}
