//! A collector's configuration: components by name, and pipelines that name them.
//!
//! What a collector itself would refuse to start with (a pipeline of an unknown signal, a name that
//! is not defined) is an error here as well: a translation of it would mean nothing.

use kymo_yaml::{Entry, Node, Place, nearest};

use crate::error::CollectorError;
use crate::limits::MAX_COMPONENTS;
use crate::notes::Notes;
use crate::receivers;
use crate::section::{Section, Taken};

/// What pipelines carry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Signal {
    Traces,
    Metrics,
    Logs,
}

impl Signal {
    pub(crate) const ALL: [Signal; 3] = [Signal::Traces, Signal::Metrics, Signal::Logs];

    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Traces => "traces",
            Self::Metrics => "metrics",
            Self::Logs => "logs",
        }
    }
}

/// The parts of a configuration that define components.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    Receivers,
    Processors,
    Exporters,
    Extensions,
    Connectors,
}

impl Part {
    pub(crate) const ALL: [Part; 5] =
        [Part::Receivers, Part::Processors, Part::Exporters, Part::Extensions, Part::Connectors];

    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Receivers => "receivers",
            Self::Processors => "processors",
            Self::Exporters => "exporters",
            Self::Extensions => "extensions",
            Self::Connectors => "connectors",
        }
    }
}

/// What a component is defined as.
pub(crate) struct Component<'a> {
    pub(crate) part: Part,
    pub(crate) entry: &'a Entry,
}

impl<'a> Component<'a> {
    /// `otlp` of `otlp/hub`.
    pub(crate) fn kind(&self) -> &'a str {
        self.entry.key.split('/').next().unwrap_or_default().trim()
    }

    pub(crate) fn section(&self, notes: &'a Notes) -> Section<'a> {
        Section::of(self.part.word(), self.entry, notes)
    }
}

/// Some receivers, processors in order, and exporters.
#[derive(Debug)]
pub(crate) struct Pipeline {
    pub(crate) name: String,
    pub(crate) at: Place,
    pub(crate) signal: Signal,
    pub(crate) receivers: Vec<Taken<String>>,
    pub(crate) processors: Vec<Taken<String>>,
    pub(crate) exporters: Vec<Taken<String>>,
}

/// All of it.
pub(crate) struct Collector<'a> {
    pub(crate) components: Vec<Component<'a>>,
    pub(crate) pipelines: Vec<Pipeline>,
    pub(crate) extensions: Vec<Taken<String>>,
    pub(crate) telemetry: Option<Section<'a>>,
}

impl<'a> Collector<'a> {
    pub(crate) fn read(entries: &'a [Entry], notes: &'a Notes) -> Result<Self, CollectorError> {
        let mut components = Vec::new();
        let mut service = None;
        for entry in entries {
            let part = Part::ALL.into_iter().find(|part| part.word() == entry.key);
            match part {
                Some(part) => {
                    let all = Section::of("", entry, notes).take_all();
                    components.extend(all.into_iter().map(|entry| Component { part, entry }));
                }
                None if entry.key == "service" => service = Some(Section::of("", entry, notes)),
                None => return Err(CollectorError::unknown_part(entry)),
            }
        }
        bounded("components", components.len())?;
        let Some(mut service) = service else { return Err(CollectorError::NoPipelines) };
        let extensions = service.texts("extensions");
        let telemetry = service.section("telemetry");
        let Some(entry) = service.take("pipelines") else {
            return Err(CollectorError::NoPipelines);
        };
        let Node::Map(all) = &entry.node else { return Err(CollectorError::NoPipelines) };
        let mut collector = Self { components, pipelines: Vec::new(), extensions, telemetry };
        bounded("extensions of the service", collector.extensions.len())?;
        let mut names = 0;
        for entry in all {
            names += names_in(&entry.node);
            bounded("names in pipelines", names)?;
            if let Some(pipeline) = collector.pipeline(entry, notes)? {
                collector.pipelines.push(pipeline);
            }
        }
        for named in &collector.extensions {
            collector.check(&[Part::Extensions], named, "service.extensions")?;
        }
        service.finish();
        Ok(collector)
    }

    fn pipeline(
        &self,
        entry: &'a Entry,
        notes: &'a Notes,
    ) -> Result<Option<Pipeline>, CollectorError> {
        let word = entry.key.split('/').next().unwrap_or_default();
        let Some(signal) = Signal::ALL.into_iter().find(|signal| signal.word() == word) else {
            if word == "profiles" {
                let what = format!("service.pipelines.{}: profiles are not received", entry.key);
                notes.lost(entry.key_at, what);
                return Ok(None);
            }
            return Err(CollectorError::unknown_signal(entry));
        };
        let mut section = Section::of("service.pipelines", entry, notes);
        let pipeline = Pipeline {
            name: entry.key.clone(),
            at: entry.key_at,
            signal,
            receivers: section.texts("receivers"),
            processors: section.texts("processors"),
            exporters: section.texts("exporters"),
        };
        let path = section.path.clone();
        section.finish();
        for (parts, names) in [
            (&[Part::Receivers, Part::Connectors][..], &pipeline.receivers),
            (&[Part::Processors], &pipeline.processors),
            (&[Part::Exporters, Part::Connectors], &pipeline.exporters),
        ] {
            for named in names {
                self.check(parts, named, &path)?;
            }
        }
        for (names, what) in
            [(&pipeline.receivers, "receivers"), (&pipeline.exporters, "exporters")]
        {
            if names.is_empty() {
                return Err(CollectorError::Empty { at: pipeline.at, path, what });
            }
        }
        Ok(Some(pipeline))
    }

    fn check(&self, parts: &[Part], named: &Taken<String>, by: &str) -> Result<(), CollectorError> {
        if parts.iter().any(|part| self.component(*part, &named.value).is_some()) {
            return Ok(());
        }
        let of_parts = self.components.iter().filter(|known| parts.contains(&known.part));
        let meant = nearest(&named.value, of_parts.map(|known| known.entry.key.as_str()));
        Err(CollectorError::Undefined {
            at: named.at,
            name: named.value.clone(),
            by: by.to_owned(),
            part: parts.first().map_or("", |part| part.word()),
            meant: meant.map(str::to_owned),
        })
    }

    pub(crate) fn component(&self, part: Part, name: &str) -> Option<&Component<'a>> {
        self.components.iter().find(|known| known.part == part && known.entry.key.trim() == name)
    }

    /// The components of a part that pipelines use, in the order in which they are defined, with
    /// the signals they are used for.
    pub(crate) fn used(&self, part: Part) -> Vec<(&Component<'a>, Vec<Signal>)> {
        let of_part = self.components.iter().filter(|component| component.part == part);
        of_part
            .filter_map(|component| {
                let name = component.entry.key.trim();
                let uses = |pipeline: &Pipeline| {
                    let names = match part {
                        Part::Receivers => &pipeline.receivers,
                        Part::Processors => &pipeline.processors,
                        _ => &pipeline.exporters,
                    };
                    names.iter().any(|named| named.value == name)
                };
                let signals: Vec<_> = Signal::ALL
                    .into_iter()
                    .filter(|signal| {
                        self.pipelines.iter().any(|known| known.signal == *signal && uses(known))
                    })
                    .collect();
                (!signals.is_empty()).then_some((component, signals))
            })
            .collect()
    }

    /// Pipelines of a signal that something reaches which is received here, in order.
    pub(crate) fn fed(&self, signal: Signal) -> Vec<&Pipeline> {
        self.pipelines
            .iter()
            .filter(|pipeline| pipeline.signal == signal && self.is_fed(pipeline))
            .collect()
    }

    /// Whether a pipeline has a receiver that has a counterpart. Others are told themselves, and
    /// what is behind them would have nothing to do.
    pub(crate) fn is_fed(&self, pipeline: &Pipeline) -> bool {
        pipeline.receivers.iter().any(|named| self.is_received(&named.value))
    }

    /// Whether a name is that of a receiver that has a counterpart.
    pub(crate) fn is_received(&self, name: &str) -> bool {
        let receiver = self.component(Part::Receivers, name);
        receiver.is_some_and(|receiver| receivers::is_known(receiver.kind()))
    }
}

fn bounded(what: &'static str, count: usize) -> Result<(), CollectorError> {
    let limit = MAX_COMPONENTS;
    if count > limit { Err(CollectorError::TooMany { what, limit }) } else { Ok(()) }
}

/// How many components a pipeline lists.
fn names_in(pipeline: &Node) -> usize {
    let Node::Map(entries) = pipeline else { return 1 };
    let count = |entry: &Entry| match &entry.node {
        Node::List(items) => items.len(),
        _ => 1,
    };
    entries.iter().map(count).sum::<usize>().max(1)
}
