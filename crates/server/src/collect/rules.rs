//! Rules: evaluated by the engine, written as any sender's samples, told to receivers.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use kymo_engine::Engine;
use kymo_engine::prometheus::PromQuery;
use kymo_engine::traceql::{MetricsQuery, Points};
use kymo_promql::ast::Expr;
use kymo_promql::eval::{Outcome, Times};
use kymo_promql::labels::{Labels, NAME};
use kymo_promql::sample::Value;
use kymo_rules::notify::{NotifierOptions, PreparedReceivers};
use kymo_rules::{
    BoxFuture, Evaluate, Group, Manager, Notifier, RuleFiles, RuleOptions, RuleSample, Sink,
    SinkError, VectorSample,
};
use kymo_scrape::ScrapeSettings;
use kymo_traceql::OwnedValue;
use kymo_wire::remote_write::RequestWriter;

use super::native::with_native;
use super::own::Own;
use crate::answer::Failure;
use crate::error::ServerError;
use crate::tenant;

const NANOS_PER_MILLI: i64 = 1_000_000;

/// Rules that are evaluated, as long as they are kept.
pub(crate) struct Rules {
    pub(crate) manager: Manager,
    notifier: Arc<Notifier>,
    /// Where this server is reached.
    external_url: String,
}

/// What a configuration says about rules, with all that can fail in taking it over done.
pub(super) struct PreparedRules {
    groups: Vec<Group>,
    receivers: PreparedReceivers,
    options: RuleOptions,
}

/// What rules are told that is not in their files.
fn rule_options(settings: &ScrapeSettings, external_url: &str) -> RuleOptions {
    let defaults = RuleOptions::default();
    RuleOptions {
        evaluation_interval: settings.evaluation_interval.unwrap_or(defaults.evaluation_interval),
        query_offset: settings.rule_query_offset.unwrap_or(defaults.query_offset),
        external_labels: settings.external_labels.clone(),
        external_url: external_url.to_owned(),
        ..defaults
    }
}

/// What receivers of alerts are told with each of them.
fn notifier_options(settings: &ScrapeSettings, external_url: &str) -> NotifierOptions {
    NotifierOptions {
        external_labels: settings.external_labels.clone(),
        external_url: external_url.to_owned(),
        ..NotifierOptions::default()
    }
}

impl Rules {
    /// Reads the rule files that a configuration names, and begins to evaluate them.
    pub(super) fn start(
        config: &Path,
        settings: &ScrapeSettings,
        external_url: String,
        engine: Engine,
        own: Own,
    ) -> Result<Self, ServerError> {
        let groups = RuleFiles::load(&patterns(config, settings))
            .map_err(|error| ServerError::Setting(error.to_string()))?;
        let options = notifier_options(settings, &external_url);
        let notifier = Notifier::start(settings.alerting.clone(), options);
        let notifier = Arc::new(notifier.map_err(ServerError::Setting)?);
        let (answers, sink) = (Arc::new(Answers { engine }), Arc::new(RuleSink { own }));
        let options = rule_options(settings, &external_url);
        let manager = Manager::start(groups, answers, sink, notifier.clone(), options);
        Ok(Self { manager, notifier, external_url })
    }

    /// Reads the files again, and the certificates for receivers. Nothing changes yet.
    pub(super) fn prepare(
        &self,
        config: &Path,
        settings: &ScrapeSettings,
    ) -> Result<PreparedRules, String> {
        let groups =
            RuleFiles::load(&patterns(config, settings)).map_err(|error| error.to_string())?;
        let options = notifier_options(settings, &self.external_url);
        let receivers = Notifier::prepare(settings.alerting.clone(), options)?;
        Ok(PreparedRules { groups, receivers, options: rule_options(settings, &self.external_url) })
    }

    /// Takes over what was prepared.
    pub(super) async fn apply(&self, prepared: PreparedRules) {
        self.notifier.apply(prepared.receivers).await;
        self.manager.reload_with(prepared.groups, prepared.options).await;
    }

    pub(super) async fn stop(&self) {
        self.manager.shutdown().await;
        self.notifier.shutdown().await;
    }
}

/// Patterns of rule files, which are relative to the configuration.
fn patterns(config: &Path, settings: &ScrapeSettings) -> Vec<PathBuf> {
    let directory = config.parent().unwrap_or_else(|| Path::new(""));
    settings.rule_files.iter().map(|pattern| directory.join(pattern)).collect()
}

/// Answers the queries of rules.
struct Answers {
    engine: Engine,
}

impl Evaluate for Answers {
    fn promql<'a>(
        &'a self,
        expr: &'a Expr,
        time_millis: i64,
    ) -> BoxFuture<'a, Result<Vec<VectorSample>, String>> {
        Box::pin(async move {
            let query = PromQuery {
                expr: expr.clone(),
                times: Times::instant(time_millis),
                lookback: None,
                timeout: None,
            };
            let evaluation = self.engine.promql(tenant::DEFAULT, query).await;
            match evaluation.map_err(|error| error.to_string())?.outcome {
                Outcome::Vector { samples, .. } => Ok(samples),
                Outcome::Scalar { value, .. } => {
                    let (labels, value) = (Labels::default(), Value::Float(value));
                    Ok(vec![VectorSample { labels, value }])
                }
                _ => Err("rule result is not a vector or scalar".to_owned()),
            }
        })
    }

    fn traceql<'a>(
        &'a self,
        query: &'a str,
        time_millis: i64,
        interval: Duration,
    ) -> BoxFuture<'a, Result<Vec<VectorSample>, String>> {
        Box::pin(async move {
            let end_nanos = time_millis.saturating_mul(NANOS_PER_MILLI);
            let interval = i64::try_from(interval.as_nanos()).unwrap_or(i64::MAX);
            let query = MetricsQuery {
                query: kymo_traceql::parse(query).map_err(|error| error.to_string())?,
                start_nanos: end_nanos.saturating_sub(interval),
                end_nanos,
                points: Points::One,
                exemplars: 0,
            };
            let answer = self.engine.metrics(tenant::DEFAULT, query).await;
            let series = answer.map_err(|error| error.to_string())?.series;
            let sample = |series: kymo_traceql::metrics::Series| {
                let (_, value) = *series.points.last()?;
                let labels = series.labels.iter().filter(|(name, _)| name != NAME);
                let labels: Vec<(String, String)> =
                    labels.map(|(name, value)| (label_name(name), plain(value))).collect();
                let labels = Labels::of(labels.iter().map(|(n, v)| (n.as_str(), v.as_str())));
                Some(VectorSample { labels, value: Value::Float(value) })
            };
            Ok(series.into_iter().filter_map(sample).collect())
        })
    }
}

/// The name of an attribute as a label: `resource.service.name` is `resource_service_name`.
fn label_name(attribute: &str) -> String {
    let letter = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' };
    attribute.trim_start_matches('.').chars().map(letter).collect()
}

/// A value without quotes.
fn plain(value: &OwnedValue) -> String {
    match value {
        OwnedValue::Text(text) => text.to_string(),
        other => other.to_string(),
    }
}

/// Writes what rules give.
struct RuleSink {
    own: Own,
}

impl Sink for RuleSink {
    fn write(&self, samples: Vec<RuleSample>) -> BoxFuture<'_, Result<(), SinkError>> {
        Box::pin(async move {
            let lost = |failure: Failure| SinkError::Lost(failure.message);
            let mut pieces = self.own.pieces();
            for sample in &samples {
                write_sample(pieces.writer(), sample);
                pieces.send_if_large().await.map_err(lost)?;
            }
            match pieces.finish().await.map_err(lost)? {
                Some((count, why)) => Err(SinkError::Partly(count, why)),
                None => Ok(()),
            }
        })
    }
}

fn write_sample(writer: &mut RequestWriter, sample: &RuleSample) {
    let labels = sample.labels.iter().map(|label| (&*label.name, &*label.value));
    let labels: Vec<(&str, &str)> = labels.collect();
    writer.series(labels, None, |series| match &sample.value {
        Value::Float(value) => series.sample(*value, sample.time_millis, 0),
        Value::Histogram(histogram) => with_native(histogram, |native| {
            series.histogram(native, sample.time_millis, 0);
        }),
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_and_receivers_are_told_what_the_configuration_says() {
        let text = "global: {external_labels: {region: eu}, rule_query_offset: 20s, \
                    evaluation_interval: 5s}";
        let settings = ScrapeSettings::from_yaml(text, Path::new("p.yml")).unwrap();
        let options = rule_options(&settings, "http://kymo/prometheus");
        assert_eq!(options.query_offset, Duration::from_secs(20));
        assert_eq!(options.evaluation_interval, Duration::from_secs(5));
        assert_eq!(options.external_labels["region"], "eu");
        let options = notifier_options(&settings, "http://kymo/prometheus");
        assert_eq!(options.external_labels["region"], "eu");
        assert_eq!(options.external_url, "http://kymo/prometheus");
    }
}
