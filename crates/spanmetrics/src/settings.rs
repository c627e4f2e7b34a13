//! What is computed, and how it is named.

use std::time::Duration;

use crate::dimensions::Dimensions;
use crate::limits::{MAX_BOUNDS, MAX_DIMENSIONS};

/// Whose names the metrics have.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Naming {
    /// Those of Tempo's metrics generator: `traces_spanmetrics_calls_total{service=…}`.
    #[default]
    Tempo,
    /// Those of the collector's connector: `traces.span.metrics.calls{service.name=…}`.
    Collector,
}

impl Naming {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Tempo, Self::Collector];

    /// The word for it in settings.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Tempo => "tempo",
            Self::Collector => "collector",
        }
    }
}

/// Settings of one tenant's metrics.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Whose names they have.
    pub naming: Naming,
    /// Attributes that are labels too: of the resource, else of the span. `resource.KEY` and
    /// `span.KEY` say of which.
    pub dimensions: Vec<String>,
    /// Upper bounds of the buckets of latencies.
    pub buckets: Vec<Duration>,
    /// Whether histograms have exemplars.
    pub exemplars: bool,
    /// Whether resources are told as `traces_target_info`, and spans' metrics have labels `job` and
    /// `instance` to be joined with it.
    pub target_info: bool,
    /// The value of a label `collector_instance_id` of all series, where several servers write metrics
    /// of the same services to one place.
    pub instance: Option<String>,
    /// Combinations of labels, of spans and of services together. What comes beyond is counted
    /// without labels.
    pub max_series: usize,
    /// A series of which nothing has come for so long ends.
    pub idle_after: Duration,
    /// Who calls whom.
    pub graph: GraphSettings,
}

/// Settings of the service graph.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GraphSettings {
    /// Whether there is one.
    pub enabled: bool,
    /// Attributes that are labels, of both sides: `client_KEY` and `server_KEY`.
    pub dimensions: Vec<String>,
    /// Upper bounds of the buckets of latencies.
    pub buckets: Vec<Duration>,
    /// How long a span waits for its other side.
    pub wait: Duration,
    /// How many may wait.
    pub max_edges: usize,
    /// Attributes of a client's span that name a server which sends no spans, in this order.
    pub peer_attributes: Vec<String>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            naming: Naming::Tempo,
            dimensions: Vec::new(),
            buckets: doubling(Duration::from_millis(2), 14),
            exemplars: true,
            target_info: false,
            instance: None,
            max_series: 10_000,
            idle_after: Duration::from_secs(15 * 60),
            graph: GraphSettings::default(),
        }
    }
}

impl Default for GraphSettings {
    fn default() -> Self {
        let names = [
            "peer.service",
            "db.name",
            "db.namespace",
            "db.system",
            "db.system.name",
            "messaging.system",
        ];
        Self {
            enabled: true,
            dimensions: Vec::new(),
            buckets: doubling(Duration::from_millis(100), 8),
            wait: Duration::from_secs(10),
            max_edges: 10_000,
            peer_attributes: names.map(str::to_owned).to_vec(),
        }
    }
}

/// Bounds of which each is twice the one before.
fn doubling(first: Duration, count: u32) -> Vec<Duration> {
    (0..count).map(|nth| first * (1 << nth)).collect()
}

impl Settings {
    /// What is wrong, each with the name of its setting.
    #[must_use]
    pub fn problems(&self) -> Vec<(&'static str, String)> {
        let mut found = Vec::new();
        for (name, bounds) in [("buckets", &self.buckets), ("graph.buckets", &self.graph.buckets)] {
            if bounds.len() > MAX_BOUNDS || !bounds.is_sorted_by(|a, b| a < b) {
                let expected = format!(
                    "expected at most {MAX_BOUNDS} bounds, each longer than the one before"
                );
                found.push((name, expected));
            }
        }
        // Attributes that differ can be the same label: a.b and a_b, span.x and resource.x.
        let labels = |dimensions: Dimensions| -> Vec<String> {
            dimensions.labels().map(str::to_owned).collect()
        };
        let lists: [(&'static str, Vec<String>); 3] = [
            ("dimensions", labels(Dimensions::of_spans(self))),
            ("graph.dimensions", labels(Dimensions::of_graph(self))),
            ("graph.peer_attributes", self.graph.peer_attributes.clone()),
        ];
        for (name, keys) in lists {
            let repeated = keys.iter().enumerate().find(|(nth, key)| keys[..*nth].contains(key));
            if let Some((_, key)) = repeated {
                found.push((name, format!("{key} is there twice")));
            }
            if keys.len() > MAX_DIMENSIONS {
                found.push((name, format!("expected at most {MAX_DIMENSIONS} attributes")));
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_those_of_tempo_and_make_sense() {
        let settings = Settings::default();
        assert!(settings.problems().is_empty());
        assert_eq!(settings.buckets[13].as_secs_f64(), 16.384);
        let seconds: Vec<f64> = settings.graph.buckets.iter().map(Duration::as_secs_f64).collect();
        assert_eq!(seconds, [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8]);
    }

    #[test]
    fn what_cannot_be_is_told_by_its_name() {
        let mut settings = Settings::default();
        settings.buckets.reverse();
        settings.dimensions = vec!["a".into(), "b".into(), "a".into()];
        settings.graph.dimensions = (0..40).map(|nth| nth.to_string()).collect();
        let problems = settings.problems();
        assert_eq!(problems.len(), 3, "{problems:?}");
        assert_eq!(problems[0].0, "buckets");
        assert!(problems[0].1.starts_with("expected at most 63 bounds"));
        assert_eq!(problems[1], ("dimensions", "a is there twice".to_owned()));
        assert_eq!(problems[2].0, "graph.dimensions");
    }

    #[test]
    fn two_attributes_that_would_be_one_label_are_a_problem() {
        for two in [["span.x", "resource.x"], ["a.b", "a_b"], ["service", "__service"]] {
            let dimensions = two.map(str::to_owned).to_vec();
            let graph =
                GraphSettings { dimensions: dimensions.clone(), ..GraphSettings::default() };
            let settings = Settings { dimensions, ..Settings::default() };
            let problems = settings.problems();
            assert_eq!(problems.len(), 1, "{two:?}: {problems:?}");
            let of_graph = Settings { graph, ..Settings::default() }.problems();
            // There a label of spans is none.
            assert_eq!(of_graph.len(), usize::from(two[0] != "service"), "{two:?}");
        }
        let dotted = vec!["a.b".to_owned(), "a_b".to_owned()];
        let naming = Naming::Collector;
        let settings = Settings { dimensions: dotted, naming, ..Settings::default() };
        assert!(settings.problems().is_empty(), "they are written as they are");
    }
}
