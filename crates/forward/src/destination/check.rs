//! Whether destinations make sense, before anything is started; and how they are told of.

use std::collections::HashSet;
use std::fmt;

use kymo_wire::Signal;

use super::connect::url_of;
use super::selection::Selection;
use super::settings::{
    CompressionSetting, DestinationProtocol, DestinationSettings, FormatSetting, SamplingSettings,
};
use super::tail::Tail;
use crate::limits::{
    MAX_CONCURRENCY, MAX_DESTINATION_NAME_BYTES, MAX_DESTINATION_WAIT, MAX_ROTATE_FILES,
    MAX_TAIL_TRACES, MAX_TAIL_WAIT, MIN_ROTATE_BYTES,
};
use crate::settings::{OtlpSettings, Protocol};

/// Something about a destination that cannot be. It shows no secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DestinationProblem {
    /// The destination.
    pub destination: String,
    /// The key that is wrong, or missing.
    pub key: &'static str,
    /// What is wrong with it, and what was expected.
    pub message: String,
}

impl fmt::Display for DestinationProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "destination {:?}: {}: {}", self.destination, self.key, self.message)
    }
}

/// Everything that is wrong with a list of destinations; those that are off are looked at, too.
#[must_use]
pub fn check(all: &[DestinationSettings]) -> Vec<DestinationProblem> {
    let mut problems = Vec::new();
    let (mut names, mut paths) = (HashSet::new(), HashSet::new());
    for settings in all {
        if !names.insert(settings.name.as_str()) {
            problems.push(DestinationProblem {
                destination: settings.name.clone(),
                key: "name",
                message: "two destinations have this name, expected another for each".to_owned(),
            });
        }
        if settings.path.as_ref().is_some_and(|path| !paths.insert(path)) {
            problems.push(DestinationProblem {
                destination: settings.name.clone(),
                key: "path",
                message: "two destinations write this file, expected another for each".to_owned(),
            });
        }
        let mut checking = Checking { settings, problems: &mut problems };
        checking.name();
        checking.target();
        checking.signals();
        checking.sampling();
        checking.credentials();
        checking.bounds();
    }
    problems
}

struct Checking<'a> {
    settings: &'a DestinationSettings,
    problems: &'a mut Vec<DestinationProblem>,
}

impl Checking<'_> {
    fn wrong(&mut self, key: &'static str, message: impl Into<String>) {
        let destination = self.settings.name.clone();
        self.problems.push(DestinationProblem { destination, key, message: message.into() });
    }

    fn name(&mut self) {
        let name = &self.settings.name;
        let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte);
        let is_usable = (1..=MAX_DESTINATION_NAME_BYTES).contains(&name.len())
            && name.bytes().all(is_letter)
            // It is the name of a directory.
            && name != "."
            && name != "..";
        if !is_usable {
            self.wrong("name", "expected 1 to 64 letters, digits, underscores, dots or dashes");
        }
    }

    fn target(&mut self) {
        let settings = self.settings;
        let protocol = settings.protocol;
        let is_otlp_http =
            matches!(protocol, DestinationProtocol::Http | DestinationProtocol::HttpJson);
        for (key, value) in [
            ("traces_endpoint", &settings.traces_endpoint),
            ("metrics_endpoint", &settings.metrics_endpoint),
            ("logs_endpoint", &settings.logs_endpoint),
        ] {
            if value.is_some() && !is_otlp_http {
                self.wrong(key, "only protocol http has endpoints for signals; set endpoint");
            }
        }
        if !protocol.is_remote() {
            if settings.endpoint.is_some() {
                self.wrong("endpoint", format!("protocol {} has none", protocol.word()));
            }
            if protocol == DestinationProtocol::File && settings.path.is_none() {
                self.wrong("path", "protocol file needs one, such as out.jsonl");
            }
        } else {
            if settings.path.is_some() {
                self.wrong("path", "only protocol file has one; set endpoint");
            }
            let carried = settings.carried();
            let wrong = carried.into_iter().find_map(|signal| url_of(settings, signal).err());
            if let Some(message) = wrong {
                self.wrong("endpoint", message);
            }
        }
        if settings.path.is_some() && protocol == DestinationProtocol::Console {
            self.wrong("path", "only protocol file has one");
        }
        match (settings.format, protocol) {
            (Some(_), _) if protocol.is_remote() => {
                self.wrong("format", "only protocols file and console have one");
            }
            (Some(FormatSetting::Summary), DestinationProtocol::File) => {
                self.wrong("format", "a file has json, expected that or nothing");
            }
            _ => {}
        }
    }

    fn signals(&mut self) {
        let settings = self.settings;
        let possible = settings.protocol.possible();
        let asked = settings.signals.iter().flatten().map(|signal| signal.signal());
        let routed = settings.routes.iter().map(|route| route.signal.signal());
        for (key, signal) in asked
            .map(|signal| ("signals", signal))
            .chain(routed.map(|signal| ("routes", signal)))
            .filter(|(_, signal)| !possible.contains(signal))
            .collect::<Vec<(_, Signal)>>()
        {
            let protocol = settings.protocol.word();
            self.wrong(key, format!("protocol {protocol} cannot carry {signal}"));
        }
        if settings.signals.as_ref().is_some_and(Vec::is_empty) {
            self.wrong("signals", "nothing would go there; expected traces, metrics or logs");
        }
        if settings.tenants.as_ref().is_some_and(Vec::is_empty) {
            self.wrong("tenants", "nothing would go there; expected at least one");
        }
        if let Err(message) = Selection::new(settings) {
            self.wrong("routes", message);
        }
    }

    fn sampling(&mut self) {
        let Some(sampling) = &self.settings.sampling else { return };
        let SamplingSettings { ratio, tail } = sampling;
        if ratio.is_some() && tail.is_some() {
            self.wrong("sampling", "expected either ratio or tail, which has a ratio of its own");
        }
        if ratio.is_none() && tail.is_none() {
            self.wrong("sampling", "expected ratio or tail");
        }
        if !self.settings.carried().contains(&Signal::Traces) {
            self.wrong("sampling", "only traces are sampled, and none go there");
        }
        let tail_ratio = tail.as_ref().and_then(|tail| tail.ratio);
        for share in [*ratio, tail_ratio].into_iter().flatten() {
            if !(0.0..=1.0).contains(&share) {
                self.wrong("sampling", format!("ratio is {share}, expected 0 to 1"));
            }
        }
        let Some(tail) = tail else { return };
        let takes_any = tail.errors
            || tail.slower_than.is_some()
            || tail.condition.is_some()
            || tail.ratio.is_some();
        if !takes_any {
            self.wrong(
                "sampling",
                "tail takes no trace; expected errors, slower_than, where or ratio",
            );
        }
        if tail.wait > MAX_TAIL_WAIT {
            self.wrong("sampling", format!("wait is longer than {} s", MAX_TAIL_WAIT.as_secs()));
        }
        if !(1..=MAX_TAIL_TRACES).contains(&tail.max_traces) {
            self.wrong("sampling", format!("expected max_traces of 1 to {MAX_TAIL_TRACES}"));
        }
        if let Err(message) = Tail::new(tail) {
            self.wrong("sampling", message);
        }
    }

    fn credentials(&mut self) {
        let settings = self.settings;
        let ways =
            [settings.basic.is_some(), settings.bearer.is_some(), settings.bearer_file.is_some()];
        if ways.iter().filter(|is_set| **is_set).count() > 1 {
            self.wrong("basic", "expected one of basic, bearer and bearer_file");
        }
        if let Some(basic) = &settings.basic {
            match (&basic.password, &basic.password_file) {
                (Some(_), Some(_)) => {
                    self.wrong("basic", "expected either password or password_file");
                }
                (None, None) => self.wrong("basic", "expected password or password_file"),
                _ => {}
            }
            if basic.username.contains(':') {
                self.wrong("basic", "a username cannot have a colon");
            }
        }
        if settings.tls.key.is_some() && settings.tls.certificate.is_none() {
            self.wrong("tls", "has a key, expected a certificate beside it");
        }
        let pairs: Vec<(String, String)> = settings
            .headers
            .iter()
            .map(|(name, value)| (name.clone(), value.reveal().to_owned()))
            .collect();
        if let Err(message) = crate::client::headers(&pairs) {
            self.wrong("headers", message);
        }
        let has_secret = ways.contains(&true) || !settings.headers.is_empty();
        let needs_server = has_secret || settings.tls != Default::default();
        if needs_server && !settings.protocol.is_remote() {
            let protocol = settings.protocol.word();
            self.wrong("protocol", format!("{protocol} takes no headers, credentials or tls"));
        }
    }

    fn bounds(&mut self) {
        let settings = self.settings;
        let protocol = settings.protocol;
        let is_remote_write = protocol == DestinationProtocol::RemoteWrite;
        match settings.version {
            None => {}
            Some(1 | 2) if is_remote_write => {}
            Some(_) if is_remote_write => self.wrong("version", "expected 1 or 2"),
            Some(_) => self.wrong("version", "only protocol remote-write has one"),
        }
        let fits = match settings.compression {
            CompressionSetting::AsIs => true,
            CompressionSetting::Snappy => is_remote_write,
            _ => protocol.is_remote() && !is_remote_write,
        };
        if !fits {
            let expected = match protocol {
                DestinationProtocol::RemoteWrite => "is always packed by snappy",
                DestinationProtocol::File | DestinationProtocol::Console => "does not pack",
                _ => "takes as-is, none, gzip and zstd",
            };
            self.wrong("compression", format!("protocol {} {expected}", protocol.word()));
        }
        if !(1..=MAX_CONCURRENCY).contains(&settings.concurrency) {
            self.wrong("concurrency", format!("expected 1 to {MAX_CONCURRENCY}"));
        }
        if settings.timeout.is_zero() || settings.timeout > MAX_DESTINATION_WAIT {
            let most = MAX_DESTINATION_WAIT.as_secs() / 3600;
            self.wrong("timeout", format!("expected more than 0 and at most {most}h"));
        }
        if settings.retry.first.is_zero() || settings.retry.first > settings.retry.longest {
            self.wrong("retry", "expected first to be more than 0 and not longer than longest");
        }
        if settings.retry.longest > MAX_DESTINATION_WAIT {
            let most = MAX_DESTINATION_WAIT.as_secs() / 3600;
            self.wrong("retry", format!("expected longest to be at most {most}h"));
        }
        if settings.budget == 0 {
            self.wrong("budget", "nothing could wait for it; expected a size such as 10GiB");
        }
        let rotate = &settings.rotate;
        if rotate.max_size < MIN_ROTATE_BYTES {
            self.wrong("rotate", format!("expected max_size of at least {MIN_ROTATE_BYTES} bytes"));
        }
        if !(1..=MAX_ROTATE_FILES).contains(&rotate.max_files) {
            self.wrong("rotate", format!("expected max_files of 1 to {MAX_ROTATE_FILES}"));
        }
        if rotate.every.is_some_and(|every| every.is_zero()) {
            self.wrong("rotate", "expected every to be more than 0");
        }
    }
}

impl DestinationSettings {
    /// Where it is, without secrets.
    #[must_use]
    pub fn target(&self) -> String {
        let shown = |endpoint: &str| {
            let shown = OtlpSettings::new(endpoint, Protocol::Grpc).shown_endpoint();
            // Some have keys behind a question mark.
            shown.split(['?', '#']).next().unwrap_or_default().to_owned()
        };
        match (self.protocol, &self.path, &self.endpoint) {
            (DestinationProtocol::Console, _, _) => "console".to_owned(),
            (DestinationProtocol::File, Some(path), _) => path.display().to_string(),
            (_, _, Some(endpoint)) => shown(endpoint),
            _ => {
                let mut whole = Signal::ALL.iter().filter_map(|signal| self.endpoint_of(*signal));
                whole.next().map(shown).unwrap_or_default()
            }
        }
    }

    /// One line that says what goes where, without secrets.
    #[must_use]
    pub fn describe(&self) -> String {
        let signals: Vec<&str> = self.carried().iter().map(|signal| signal.name()).collect();
        let mut words =
            format!("{}: {} to {} ({})", self.name, signals.join(", "), self.target(), {
                self.protocol.word()
            });
        if !self.enabled {
            words.push_str(", off");
        }
        if !self.routes.is_empty() {
            words.push_str(&format!(", {} routes", self.routes.len()));
        }
        match &self.sampling {
            Some(SamplingSettings { tail: Some(_), .. }) => words.push_str(", chosen traces"),
            Some(SamplingSettings { ratio: Some(ratio), .. }) => {
                words.push_str(&format!(", {}% of traces", ratio * 100.0));
            }
            _ => {}
        }
        words
    }
}

#[cfg(test)]
mod tests;
