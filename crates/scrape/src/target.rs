//! Targets: what was discovered, relabeled into what is scraped.

use std::collections::BTreeMap;
use std::time::Duration;

use reqwest::Url;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::config::{JobSettings, format_duration, parse_duration};
use crate::labels::Labels;
use crate::limits::MIN_INTERVAL;
use crate::relabel::relabel;

/// Labels that only relabeling sees.
const META_PREFIX: &str = "__meta_";
/// Labels that are not on samples.
const RESERVED_PREFIX: &str = "__";
const PARAM_PREFIX: &str = "__param_";
const ADDRESS: &str = "__address__";
const SCHEME: &str = "__scheme__";
const METRICS_PATH: &str = "__metrics_path__";
const INTERVAL: &str = "__scrape_interval__";
const TIMEOUT: &str = "__scrape_timeout__";
const NATIVE: &str = "__scrape_native_histograms__";
const CLASSIC: &str = "__always_scrape_classic_histograms__";
const CONVERT: &str = "__convert_classic_histograms_to_nhcb__";

/// Targets that a discovery found together.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct TargetGroup {
    /// Where they are from, for error messages.
    pub(crate) source: String,
    pub(crate) targets: Vec<String>,
    pub(crate) labels: BTreeMap<String, String>,
}

/// Something to scrape.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Target {
    /// As discovered, before relabeling.
    pub(crate) discovered: Labels,
    /// On each of its samples.
    pub(crate) labels: Labels,
    pub(crate) url: Url,
    pub(crate) interval: Duration,
    pub(crate) timeout: Duration,
    pub(crate) native_histograms: bool,
    pub(crate) classic_beside_native: bool,
    pub(crate) convert_classic: bool,
    /// The same for the same target, with all that makes it one.
    pub(crate) id: u64,
}

/// What became of a discovered target.
#[derive(Debug, PartialEq)]
pub(crate) enum Resolved {
    Active(Box<Target>),
    /// Relabeling dropped what had these labels.
    Dropped(Labels),
}

/// Labels before relabeling: the target's, its group's, and those that say how to scrape.
fn discovered(job: &JobSettings, group: &TargetGroup, address: &str) -> Labels {
    let mut labels: Labels = group.labels.iter().map(|(n, v)| (n, v.as_str())).collect();
    labels.set(ADDRESS, address);
    let defaults = [
        ("job", job.job_name.clone()),
        (INTERVAL, format_duration(job.scrape_interval)),
        (TIMEOUT, format_duration(job.scrape_timeout)),
        (METRICS_PATH, job.metrics_path.clone()),
        (SCHEME, job.scheme.clone()),
        (NATIVE, job.native_histograms.to_string()),
        (CLASSIC, job.classic_beside_native.to_string()),
        (CONVERT, job.convert_classic.to_string()),
    ];
    let params = job.params.iter().filter_map(|(name, values)| {
        Some((format!("{PARAM_PREFIX}{name}"), values.first()?.clone()))
    });
    let defaults = defaults.into_iter().map(|(name, value)| (name.to_owned(), value));
    for (name, value) in defaults.chain(params) {
        if !labels.contains(&name) {
            labels.set(&name, value);
        }
    }
    labels
}

/// Relabels a discovered target and checks what comes of it.
pub(crate) fn resolve(
    job: &JobSettings,
    group: &TargetGroup,
    address: &str,
) -> Result<Resolved, String> {
    let discovered = discovered(job, group, address);
    let mut labels = discovered.clone();
    if !relabel(&mut labels, &job.relabel_rules) {
        return Ok(Resolved::Dropped(discovered));
    }
    let address = labels.get(ADDRESS).to_owned();
    if address.is_empty() {
        return Err("no address".to_owned());
    }
    if address.contains('/') {
        return Err(format!("{address:?} is not a valid hostname"));
    }
    let interval = duration(&labels, INTERVAL, "interval")?;
    if interval < MIN_INTERVAL {
        let (given, least) = (labels.get(INTERVAL), format_duration(MIN_INTERVAL));
        return Err(format!("scrape interval is {given}; expected at least {least}"));
    }
    let timeout = duration(&labels, TIMEOUT, "timeout")?;
    if timeout > interval {
        return Err(format!(
            "scrape timeout cannot be greater than scrape interval ({:?} > {:?})",
            labels.get(TIMEOUT),
            labels.get(INTERVAL)
        ));
    }
    let native_histograms = flag(&labels, NATIVE, job.native_histograms)?;
    let classic_beside_native = flag(&labels, CLASSIC, job.classic_beside_native)?;
    let convert_classic = flag(&labels, CONVERT, job.convert_classic)?;
    labels.retain(|name| !name.starts_with(META_PREFIX));
    if !labels.contains("instance") {
        labels.set("instance", address.as_str());
    }
    let url = url(job, &labels, &address)?;
    let id = xxh3_64_with_seed(url.as_str().as_bytes(), labels.stable_hash());
    labels.retain(|name| !name.starts_with(RESERVED_PREFIX));
    Ok(Resolved::Active(Box::new(Target {
        discovered,
        labels,
        url,
        interval,
        timeout,
        native_histograms,
        classic_beside_native,
        convert_classic,
        id,
    })))
}

fn duration(labels: &Labels, name: &str, what: &str) -> Result<Duration, String> {
    let text = labels.get(name);
    let Some(duration) = parse_duration(text) else {
        return Err(format!("error parsing scrape {what}: not a valid duration string: {text:?}"));
    };
    if duration.is_zero() {
        return Err(format!("scrape {what} cannot be 0"));
    }
    Ok(duration)
}

fn flag(labels: &Labels, name: &str, default: bool) -> Result<bool, String> {
    match labels.get(name) {
        "" => Ok(default),
        "true" | "True" | "TRUE" | "t" | "T" | "1" => Ok(true),
        "false" | "False" | "FALSE" | "f" | "F" | "0" => Ok(false),
        other => Err(format!("error parsing {name}: expected true or false, found {other:?}")),
    }
}

fn url(job: &JobSettings, labels: &Labels, address: &str) -> Result<Url, String> {
    let scheme = labels.get(SCHEME);
    if !matches!(scheme, "http" | "https") {
        return Err(format!("unsupported scheme {scheme:?}; expected http or https"));
    }
    let mut url = Url::parse(&format!("{scheme}://{address}/"))
        .map_err(|error| format!("{address:?} is not a valid address: {error}"))?;
    url.set_path(labels.get(METRICS_PATH));
    let mut params = job.params.clone();
    for (name, value) in labels.iter() {
        let Some(name) = name.strip_prefix(PARAM_PREFIX) else { continue };
        let values = params.entry(name.to_owned()).or_default();
        match values.first_mut() {
            Some(first) => value.clone_into(first),
            None => values.push(value.to_owned()),
        }
    }
    for (name, values) in &params {
        for value in values {
            url.query_pairs_mut().append_pair(name, value);
        }
    }
    Ok(url)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::config::ScrapeSettings;

    fn resolved(keys: &str, group: &TargetGroup, address: &str) -> Result<Resolved, String> {
        let text = format!("scrape_configs:\n  - job_name: j\n{keys}");
        let settings = ScrapeSettings::from_yaml(&text, Path::new("x.yml")).unwrap();
        resolve(&settings.jobs[0], group, address)
    }

    fn active(keys: &str, group: &TargetGroup, address: &str) -> Target {
        match resolved(keys, group, address) {
            Ok(Resolved::Active(target)) => *target,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_target_has_its_labels_its_url_and_its_times() {
        let group = TargetGroup {
            labels: [("env", "prod"), ("__meta_x", "m"), ("__param_m", "b")]
                .map(|(n, v)| (n.to_owned(), v.to_owned()))
                .into(),
            ..TargetGroup::default()
        };
        let keys = "    params: {m: [a, c], k: ['v w']}\n    scrape_interval: 5s\n";
        let target = active(keys, &group, "h:1");
        assert_eq!(target.labels.to_string(), r#"{env="prod", instance="h:1", job="j"}"#);
        assert_eq!(target.url.as_str(), "http://h:1/metrics?k=v+w&m=b&m=c");
        assert_eq!(target.interval, Duration::from_secs(5));
        assert_eq!(target.discovered.get("__scrape_timeout__"), "5s");
        assert_eq!(target.discovered.get("__meta_x"), "m");
        assert_eq!(target.id, active(keys, &group, "h:1").id);
        assert_ne!(target.id, active(keys, &group, "h:2").id);
    }

    #[test]
    fn relabeling_decides_what_is_scraped_and_how() {
        let group = TargetGroup::default();
        let rules = "    relabel_configs:\n      - {source_labels: [__address__], target_label: \
                     __param_target}\n      - {target_label: __address__, replacement: 'p:9'}\n      \
                     - {target_label: __metrics_path__, replacement: /probe}\n      - {target_label: \
                     __scrape_interval__, replacement: 30s}\n      - {source_labels: \
                     [__param_target], target_label: instance}\n";
        let target = active(rules, &group, "site");
        assert_eq!(target.url.as_str(), "http://p:9/probe?target=site");
        assert_eq!(target.labels.get("instance"), "site");
        assert_eq!(target.interval, Duration::from_secs(30));
        let drop =
            "    relabel_configs: [{source_labels: [__address__], regex: x, action: drop}]\n";
        let Ok(Resolved::Dropped(labels)) = resolved(drop, &group, "x") else { panic!() };
        assert_eq!(labels.get(ADDRESS), "x");
    }

    #[test]
    fn what_cannot_be_scraped_is_refused() {
        let group = TargetGroup::default();
        let set = |label: &str, value: &str| {
            format!("    relabel_configs: [{{target_label: {label}, replacement: '{value}'}}]\n")
        };
        for (keys, address, expected) in [
            (String::new(), "", "no address"),
            (String::new(), "a/b", "\"a/b\" is not a valid hostname"),
            (set(INTERVAL, "0s"), "a", "scrape interval cannot be 0"),
            (set(INTERVAL, "1ms"), "a", "scrape interval is 1ms; expected at least 10ms"),
            (
                set(INTERVAL, "x"),
                "a",
                "error parsing scrape interval: not a valid duration string: \"x\"",
            ),
            (
                set(TIMEOUT, "2h"),
                "a",
                "scrape timeout cannot be greater than scrape interval (\"2h\" > \"1m\")",
            ),
            (set(SCHEME, "ftp"), "a", "unsupported scheme \"ftp\"; expected http or https"),
        ] {
            assert_eq!(resolved(&keys, &group, address), Err(expected.to_owned()), "{keys}");
        }
        assert!(resolved("", &group, "a b").unwrap_err().contains("not a valid address"));
    }
}
