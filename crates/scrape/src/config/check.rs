//! From the keys of a file to settings: defaults filled in, combinations checked.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use kymo_wire::exposition::Escaping;
use serde_saphyr::{Location, Spanned};

use super::error::ConfigError;
use super::http::HttpSettings;
use super::units::{format_duration, parse_bytes, parse_duration};
use super::{
    JobLimits, JobSettings, ScrapeProtocol, ScrapeSettings, alerting, raw, relabel, targets,
};
use crate::limits::MIN_INTERVAL;

const DEFAULT_INTERVAL: Duration = Duration::from_secs(60);
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(10);

/// A file, and what the paths in it are relative to.
pub(super) struct Source<'a> {
    pub(super) file: &'a Path,
    pub(super) directory: &'a Path,
}

impl Source<'_> {
    pub(super) fn refuse(&self, at: Location, message: impl Into<String>) -> ConfigError {
        ConfigError::at(self.file, at, message)
    }

    pub(super) fn duration(
        &self,
        found: &Option<Spanned<String>>,
    ) -> Result<Option<Duration>, ConfigError> {
        let Some(found) = found else { return Ok(None) };
        let wrong = || {
            let message =
                format!("not a valid duration string: {:?}; expected such as 15s", found.value);
            self.refuse(found.referenced, message)
        };
        parse_duration(&found.value).map(Some).ok_or_else(wrong)
    }

    fn bytes(&self, found: &Option<Spanned<String>>) -> Result<Option<u64>, ConfigError> {
        let Some(found) = found else { return Ok(None) };
        let wrong = || {
            let message = format!("not a valid size: {:?}; expected such as 10MB", found.value);
            self.refuse(found.referenced, message)
        };
        parse_bytes(&found.value).map(Some).ok_or_else(wrong)
    }

    fn protocol(&self, at: Location, word: &str) -> Result<ScrapeProtocol, ConfigError> {
        let found = ScrapeProtocol::ALL.into_iter().find(|protocol| protocol.name() == word);
        found.ok_or_else(|| {
            let known: Vec<_> = ScrapeProtocol::ALL.iter().map(|p| p.name()).collect();
            let message =
                format!("unknown scrape protocol {word:?}, supported: {}", known.join(", "));
            self.refuse(at, message)
        })
    }

    fn protocols(
        &self,
        found: &Option<Spanned<Vec<String>>>,
    ) -> Result<Option<Vec<ScrapeProtocol>>, ConfigError> {
        let Some(found) = found else { return Ok(None) };
        let mut protocols = Vec::new();
        for word in &found.value {
            let protocol = self.protocol(found.referenced, word)?;
            if protocols.contains(&protocol) {
                let message = format!("duplicated protocol in scrape_protocols, got {word:?}");
                return Err(self.refuse(found.referenced, message));
            }
            protocols.push(protocol);
        }
        if protocols.is_empty() {
            let message = "scrape_protocols cannot be empty; remove the key for the default";
            return Err(self.refuse(found.referenced, message));
        }
        Ok(Some(protocols))
    }

    fn legacy_names(&self, found: &Option<Spanned<String>>) -> Result<Option<bool>, ConfigError> {
        let Some(found) = found else { return Ok(None) };
        match found.value.as_str() {
            "" => Ok(None),
            "utf8" => Ok(Some(false)),
            "legacy" => Ok(Some(true)),
            other => {
                let message = format!(
                    "unknown metric name validation scheme {other:?}; expected utf8 or legacy"
                );
                Err(self.refuse(found.referenced, message))
            }
        }
    }

    fn escaping(&self, found: &Option<Spanned<String>>) -> Result<Option<Escaping>, ConfigError> {
        let Some(found) = found.as_ref().filter(|found| !found.value.is_empty()) else {
            return Ok(None);
        };
        let wrong = || {
            let message = format!(
                "unknown metric name escaping scheme {:?}; expected allow-utf-8, underscores, \
                 dots or values",
                found.value
            );
            self.refuse(found.referenced, message)
        };
        Escaping::from_name(&found.value).map(Some).ok_or_else(wrong)
    }
}

/// What `global` says, checked.
struct Global {
    interval: Duration,
    timeout: Duration,
    protocols: Option<Vec<ScrapeProtocol>>,
    legacy_names: bool,
    escaping: Option<Escaping>,
    body_size_bytes: u64,
    keys: raw::Global,
}

/// Reads a whole file.
pub(super) fn file(text: &str, path: &Path) -> Result<ScrapeSettings, ConfigError> {
    let found: Option<raw::File> =
        serde_saphyr::from_str(text).map_err(|error| ConfigError::from_yaml(path, &error))?;
    let mut found = found.unwrap_or_default();
    let directory = path.parent().unwrap_or(Path::new(""));
    let source = Source { file: path, directory };
    let (global_at, keys) = match found.global.take() {
        Some(global) => (global.referenced, global.value),
        None => (Location::UNKNOWN, raw::Global::default()),
    };
    let global = global(&source, global_at, keys)?;
    let mut jobs: Vec<Arc<JobSettings>> = Vec::new();
    add_jobs(&source, &global, found.scrape_configs.take(), &mut jobs)?;
    for pattern in found.scrape_config_files.take().into_iter().flatten() {
        for path in matching(&source, &pattern)? {
            let text = std::fs::read_to_string(&path)
                .map_err(|error| ConfigError::new(&path, format!("cannot be read: {error}")))?;
            let found: Option<raw::JobsFile> = serde_saphyr::from_str(&text)
                .map_err(|error| ConfigError::from_yaml(&path, &error))?;
            let directory = path.parent().unwrap_or(Path::new(""));
            let source = Source { file: &path, directory };
            add_jobs(&source, &global, found.unwrap_or_default().scrape_configs, &mut jobs)?;
        }
    }
    Ok(ScrapeSettings {
        jobs,
        external_labels: external_labels(&global.keys),
        evaluation_interval: evaluation_interval(&source, &global.keys)?,
        rule_query_offset: source.duration(&global.keys.rule_query_offset)?,
        alerting: alerting::settings(&source, found.alerting.take())?,
        rule_files: found.rule_files.take().unwrap_or_default(),
        ignored_keys: ignored(&found, &global.keys),
    })
}

/// How often rules are evaluated; zero is the default, as with all intervals.
fn evaluation_interval(
    source: &Source<'_>,
    keys: &raw::Global,
) -> Result<Option<Duration>, ConfigError> {
    let given = source.duration(&keys.evaluation_interval)?.filter(|given| !given.is_zero());
    let too_short = given.filter(|given| *given < MIN_INTERVAL);
    let (Some(interval), Some(key)) = (too_short, &keys.evaluation_interval) else {
        return Ok(given);
    };
    let (given, least) = (format_duration(interval), format_duration(MIN_INTERVAL));
    let message = format!("evaluation_interval is {given}; expected at least {least}");
    Err(source.refuse(key.referenced, message))
}

/// External labels, with variables of the environment put in.
fn external_labels(keys: &raw::Global) -> BTreeMap<String, String> {
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    let labels = keys.external_labels.iter().flatten();
    labels.map(|(name, value)| (name.clone(), expand(value, &variable))).collect()
}

/// Puts in `$name` and `${name}`; `$$` is a dollar.
fn expand(text: &str, variable: &dyn Fn(&str) -> String) -> String {
    let is_letter = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once('$') {
        out.push_str(before);
        let braced = behind.strip_prefix('{').and_then(|behind| behind.split_once('}'));
        if let Some(behind) = behind.strip_prefix('$') {
            out.push('$');
            rest = behind;
        } else if let Some((name, behind)) = braced {
            out.push_str(&variable(name));
            rest = behind;
        } else {
            let end = behind.find(|c| !is_letter(c)).unwrap_or(behind.len());
            out.push_str(&variable(&behind[..end]));
            rest = &behind[end..];
        }
    }
    out.push_str(rest);
    out
}

fn ignored(found: &raw::File, global: &raw::Global) -> Vec<&'static str> {
    let keys = [
        ("remote_write", found.remote_write.is_some()),
        ("remote_read", found.remote_read.is_some()),
        ("storage", found.storage.is_some()),
        ("tracing", found.tracing.is_some()),
        ("otlp", found.otlp.is_some()),
        ("runtime", found.runtime.is_some()),
        ("global.query_log_file", global.query_log_file.is_some()),
        ("global.scrape_failure_log_file", global.scrape_failure_log_file.is_some()),
    ];
    keys.into_iter().filter(|(_, is_there)| *is_there).map(|(key, _)| key).collect()
}

fn matching(source: &Source<'_>, pattern: &str) -> Result<Vec<PathBuf>, ConfigError> {
    let pattern = source.directory.join(pattern);
    let paths = glob::glob(&pattern.to_string_lossy()).map_err(|error| {
        let message = format!("scrape_config_files {}: {error}", pattern.display());
        ConfigError::new(source.file, message)
    })?;
    Ok(paths.flatten().collect())
}

fn global(source: &Source<'_>, at: Location, keys: raw::Global) -> Result<Global, ConfigError> {
    let interval = source.duration(&keys.scrape_interval)?.filter(|interval| !interval.is_zero());
    let interval = interval.unwrap_or(DEFAULT_INTERVAL);
    let timeout = source.duration(&keys.scrape_timeout)?.filter(|timeout| !timeout.is_zero());
    if timeout.is_some_and(|timeout| timeout > interval) {
        return Err(source.refuse(at, "global scrape timeout greater than scrape interval"));
    }
    Ok(Global {
        interval,
        timeout: timeout.unwrap_or(DEFAULT_TIMEOUT).min(interval),
        protocols: source.protocols(&keys.scrape_protocols)?,
        legacy_names: source.legacy_names(&keys.metric_name_validation_scheme)?.unwrap_or(false),
        escaping: source.escaping(&keys.metric_name_escaping_scheme)?,
        body_size_bytes: source.bytes(&keys.body_size_limit)?.unwrap_or(0),
        keys,
    })
}

fn add_jobs(
    source: &Source<'_>,
    global: &Global,
    found: Option<Vec<Spanned<Option<raw::Job>>>>,
    jobs: &mut Vec<Arc<JobSettings>>,
) -> Result<(), ConfigError> {
    for found in found.into_iter().flatten() {
        let at = found.referenced;
        let Some(found) = found.value else {
            return Err(source.refuse(at, "empty or null scrape config section"));
        };
        let job = job(source, global, at, found)?;
        if jobs.iter().any(|other| other.job_name == job.job_name) {
            let message = format!("found multiple scrape configs with job name {:?}", job.job_name);
            return Err(source.refuse(at, message));
        }
        jobs.push(Arc::new(job));
    }
    Ok(())
}

/// Interval and timeout: the job's, or those of all, made to fit each other.
fn times(
    source: &Source<'_>,
    global: &Global,
    at: Location,
    name: &str,
    found: &raw::Job,
) -> Result<(Duration, Duration), ConfigError> {
    let given = source.duration(&found.scrape_interval)?.filter(|given| !given.is_zero());
    let interval = given.unwrap_or(global.interval);
    if interval < MIN_INTERVAL {
        let message = format!(
            "scrape interval of job {name:?} is {}; expected at least {}",
            format_duration(interval),
            format_duration(MIN_INTERVAL)
        );
        return Err(source.refuse(at, message));
    }
    let timeout = source.duration(&found.scrape_timeout)?.filter(|given| !given.is_zero());
    if timeout.is_some_and(|timeout| timeout > interval) {
        let message = format!(
            "scrape timeout greater than scrape interval for scrape config with job name {name:?}"
        );
        return Err(source.refuse(at, message));
    }
    Ok((interval, timeout.unwrap_or(global.timeout.min(interval))))
}

fn job(
    source: &Source<'_>,
    global: &Global,
    at: Location,
    mut found: raw::Job,
) -> Result<JobSettings, ConfigError> {
    let job_name = found.job_name.take().map(|name| name.value).unwrap_or_default();
    if job_name.is_empty() {
        return Err(source.refuse(at, "job_name is empty"));
    }
    let (scrape_interval, scrape_timeout) = times(source, global, at, &job_name, &found)?;
    if let Some(key) = &found.scrape_failure_log_file {
        let message = "scrape_failure_log_file is not supported; failures are in /api/v1/targets";
        return Err(source.refuse(key.referenced, message));
    }
    let keys = &global.keys;
    let native_histograms =
        found.scrape_native_histograms.or(keys.scrape_native_histograms).unwrap_or(false);
    let legacy_names =
        source.legacy_names(&found.metric_name_validation_scheme)?.unwrap_or(global.legacy_names);
    let escaping = source.escaping(&found.metric_name_escaping_scheme)?.or(global.escaping);
    let default_escaping = if legacy_names { Escaping::Underscores } else { Escaping::AllowUtf8 };
    let escaping = escaping.unwrap_or(default_escaping);
    if legacy_names && escaping == Escaping::AllowUtf8 {
        let message = "utf8 metric names requested but validation scheme is not set to UTF8";
        return Err(source.refuse(at, message));
    }
    let protocols = source.protocols(&found.scrape_protocols)?.or_else(|| global.protocols.clone());
    let fallback_scrape_protocol = match &found.fallback_scrape_protocol {
        Some(word) => Some(source.protocol(word.referenced, &word.value)?),
        None => None,
    };
    let scheme = scheme(source, &found.scheme)?;
    let limits = limits(source, global, &found)?;
    let static_configs = targets::lists(source, found.static_configs.take())?;
    let file_discoveries = targets::files(source, found.file_sd_configs.take())?;
    let http_discoveries = targets::servers(source, found.http_sd_configs.take())?;
    let relabel_rules = relabel::rules(source.file, found.relabel_configs.take(), legacy_names)?;
    let metric_relabel_rules =
        relabel::rules(source.file, found.metric_relabel_configs.take(), legacy_names)?;
    let http = HttpSettings::from_raw(source.file, source.directory, found.http())?;
    Ok(JobSettings {
        job_name,
        scrape_interval,
        scrape_timeout,
        scrape_protocols: protocols.unwrap_or_else(|| default_protocols(native_histograms)),
        fallback_scrape_protocol,
        metrics_path: found.metrics_path.unwrap_or_else(|| "/metrics".to_owned()),
        scheme,
        params: found.params.unwrap_or_default(),
        honor_labels: found.honor_labels.unwrap_or(false),
        honor_timestamps: found.honor_timestamps.unwrap_or(true),
        track_timestamps_staleness: found.track_timestamps_staleness.unwrap_or(false),
        enable_compression: found.enable_compression.unwrap_or(true),
        http,
        static_configs,
        file_discoveries,
        http_discoveries,
        relabel_rules,
        metric_relabel_rules,
        limits,
        legacy_names,
        escaping,
        native_histograms,
        classic_beside_native: found
            .always_scrape_classic_histograms
            .or(found.scrape_classic_histograms)
            .or(keys.always_scrape_classic_histograms)
            .unwrap_or(false),
        convert_classic: found
            .convert_classic_histograms_to_nhcb
            .or(keys.convert_classic_histograms_to_nhcb)
            .unwrap_or(false),
        extra_scrape_metrics: found
            .extra_scrape_metrics
            .or(keys.extra_scrape_metrics)
            .unwrap_or(false),
    })
}

fn default_protocols(native_histograms: bool) -> Vec<ScrapeProtocol> {
    let is_wanted = |protocol: &ScrapeProtocol| {
        native_histograms || *protocol != ScrapeProtocol::PrometheusProto
    };
    ScrapeProtocol::ALL.into_iter().filter(is_wanted).collect()
}

pub(super) fn scheme(
    source: &Source<'_>,
    found: &Option<Spanned<String>>,
) -> Result<String, ConfigError> {
    let Some(found) = found else { return Ok("http".to_owned()) };
    match found.value.as_str() {
        "http" | "https" => Ok(found.value.clone()),
        other => {
            let message = format!("unknown scheme {other:?}; expected http or https");
            Err(source.refuse(found.referenced, message))
        }
    }
}

fn limits(
    source: &Source<'_>,
    global: &Global,
    found: &raw::Job,
) -> Result<JobLimits, ConfigError> {
    let keys = &global.keys;
    let of = |job: Option<usize>, global: Option<usize>| {
        job.filter(|limit| *limit > 0).or(global).unwrap_or(0)
    };
    let body_size_bytes = source.bytes(&found.body_size_limit)?.filter(|limit| *limit > 0);
    Ok(JobLimits {
        body_size_bytes: body_size_bytes.unwrap_or(global.body_size_bytes),
        samples: of(found.sample_limit, keys.sample_limit),
        labels: of(found.label_limit, keys.label_limit),
        label_name_bytes: of(found.label_name_length_limit, keys.label_name_length_limit),
        label_value_bytes: of(found.label_value_length_limit, keys.label_value_length_limit),
        targets: of(found.target_limit, keys.target_limit),
        dropped_targets: of(found.keep_dropped_targets, keys.keep_dropped_targets),
        histogram_buckets: found.native_histogram_bucket_limit.unwrap_or(0),
        histogram_schema: found.native_histogram_min_bucket_factor.and_then(finest_schema),
    })
}

/// The finest schema whose buckets grow by at least `factor`; `None` if all do.
fn finest_schema(factor: f64) -> Option<i32> {
    if factor <= 1.0 || factor.is_nan() {
        return None;
    }
    let floor = (-factor.log2().log2()).floor();
    let schema = floor.clamp(-4.0, 8.0) as i32;
    (schema < 8).then_some(schema)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_put_into_external_labels() {
        let variable = |name: &str| format!("<{name}>");
        assert_eq!(expand("a-$B_1-${c d}-$$x-$", &variable), "a-<B_1>-<c d>-$x-<>");
        assert_eq!(expand("plain", &variable), "plain");
    }

    #[test]
    fn a_growth_factor_gives_the_finest_schema_that_grows_as_much() {
        let schemas =
            [(65536.0, -4), (16.0, -2), (4.0, -1), (2.0, 0), (1.4, 1), (1.1, 2), (1.09, 3)];
        for (factor, schema) in schemas {
            assert_eq!(finest_schema(factor), Some(schema), "{factor}");
        }
        for factor in [0.0, 1.0, 1.002, f64::NAN] {
            assert_eq!(finest_schema(factor), None, "{factor}");
        }
    }
}
