//! The processors `probabilistic_sampler` and `tail_sampling`: which traces go to destinations.

use std::time::Duration;

use crate::Translator;
use crate::document::{Map, Value};
use crate::limits::{MAX_TAIL_TRACES, MAX_TAIL_WAIT_SECS};
use crate::model::{Component, Pipeline, Signal};
use crate::ottl::{Context, said};
use crate::section::Section;
use crate::traceql::{any_of, attribute, check, quoted};

pub(super) fn translate(
    component: &Component<'_>,
    pipeline: &Pipeline,
    translator: &mut Translator<'_>,
) {
    let section = Section::of(component.part.word(), component.entry, translator.notes);
    let (at, path) = (section.at, section.path.clone());
    if pipeline.signal != Signal::Traces {
        let what = format!("{path}: only traces are sampled, not {}", pipeline.signal.word());
        section.notes.lost(at, what);
        return;
    }
    let sampling = match component.kind() {
        "probabilistic_sampler" => head(section),
        _ => tail(section),
    };
    let Some(sampling) = sampling else { return };
    for named in &pipeline.exporters {
        let destination =
            translator.out.destinations.iter_mut().find(|known| known.exporter == named.value);
        let Some(destination) = destination else { continue };
        match &destination.sampling {
            Some(known) if *known != sampling => {
                let what =
                    format!("{path}: {} is sampled in another way already", destination.name);
                translator.notes.lost(at, what);
            }
            _ => {
                destination.sampling = Some(sampling.clone());
                let what = format!("{path}: sampling of {}", destination.name);
                translator.notes.translated(at, what);
            }
        }
    }
}

fn ratio(percentage: f64) -> Value {
    // Six digits are finer than anybody asks for, and leave no traces of binary fractions.
    let ratio = format!("{:.6}", (percentage / 100.0).clamp(0.0, 1.0));
    let ratio = ratio.trim_end_matches('0');
    Value::word(ratio.strip_suffix('.').map_or(ratio.to_owned(), |whole| format!("{whole}.0")))
}

fn head(mut section: Section<'_>) -> Option<Map> {
    let percentage = section.fraction("sampling_percentage");
    section.noted(
        &["hash_seed", "mode", "fail_closed", "sampling_precision"],
        "the trace id decides, in the same way on all nodes",
    );
    section
        .lost(&["attribute_source", "from_attribute", "sampling_priority"], "the trace id decides");
    let (at, path, notes) = (section.at, section.path.clone(), section.notes);
    section.finish();
    if percentage.is_none() {
        notes.lost(at, format!("{path}: expected sampling_percentage"));
    }
    percentage.map(|percentage| Map::of("ratio", ratio(percentage.value)))
}

/// What the policies ask for: a trace goes if one of them takes it.
#[derive(Default)]
struct Policies {
    errors: bool,
    slower_than_millis: Option<u64>,
    conditions: Vec<String>,
    ratio: Option<f64>,
}

fn tail(mut section: Section<'_>) -> Option<Map> {
    let mut policies = Policies::default();
    let found = section.sections("policies");
    for policy in found {
        policies.add(policy);
    }
    let mut tail = Map::default();
    if policies.errors {
        tail.set("errors", Value::word(true));
    }
    if let Some(millis) = policies.slower_than_millis {
        let time = crate::durations::shown(millis.saturating_mul(1_000_000));
        tail.set("slower_than", Value::Word(time));
    }
    tail.set_some("where", any_of(&policies.conditions).map(Value::Text));
    tail.set_some("ratio", policies.ratio.map(ratio));
    let has_policies = !tail.is_empty();
    let longest = Duration::from_secs(MAX_TAIL_WAIT_SECS);
    let wait = section.duration_within("decision_wait", Duration::ZERO, longest);
    let wait = wait.map_or("30s".to_owned(), |wait| wait.value);
    tail.set("wait", Value::Word(wait));
    let traces = section.number_within("num_traces", 0, MAX_TAIL_TRACES);
    if let Some(traces) = traces.filter(|traces| traces.value > 0) {
        tail.set("max_traces", Value::word(traces.value));
    }
    section.noted(
        &[
            "expected_new_traces_per_sec",
            "decision_cache",
            "maximum_trace_size_bytes",
            "block_on_overflow",
        ],
        "memory for traces is bounded by max_traces",
    );
    section.lost(
        &["drop_pending_traces_on_shutdown", "sample_on_first_match"],
        "this is not a choice here",
    );
    let (at, path, notes) = (section.at, section.path.clone(), section.notes);
    section.finish();
    if !has_policies {
        notes.lost(at, format!("{path}: none of its policies can be said, so all traces go"));
    }
    has_policies.then(|| Map::of("tail", tail.into()))
}

impl Policies {
    fn add(&mut self, mut policy: Section<'_>) {
        policy.take("name");
        let kind = policy.text("type").map(|kind| kind.value).unwrap_or_default();
        let (at, path, notes) = (policy.at, policy.path.clone(), policy.notes);
        let details = policy.section(&kind);
        if policy.is_empty() && self.take(&kind, details) {
            return;
        }
        policy.finish();
        notes.lost(
            at,
            format!("{path}: this policy ({kind}) cannot be said; what it alone takes does not go"),
        );
    }

    /// Whether a policy could be said.
    fn take(&mut self, kind: &str, details: Option<Section<'_>>) -> bool {
        let Some(mut details) = details else {
            let is_all = kind == "always_sample";
            if is_all {
                self.ratio = Some(100.0);
            }
            return is_all;
        };
        let is_said = match kind {
            "always_sample" => {
                self.ratio = Some(100.0);
                true
            }
            "status_code" => {
                let codes = details.texts("status_codes");
                let codes: Vec<_> =
                    codes.iter().map(|code| code.value.to_ascii_lowercase()).collect();
                self.statuses(&codes)
            }
            "latency" => match details.number("threshold_ms") {
                Some(millis) if !details.has("upper_threshold_ms") => {
                    let lowest = self
                        .slower_than_millis
                        .map_or(millis.value, |known| known.min(millis.value));
                    self.slower_than_millis = Some(lowest);
                    true
                }
                _ => false,
            },
            "probabilistic" => match details.fraction("sampling_percentage") {
                Some(percentage) => {
                    details.take("hash_salt");
                    self.ratio = Some(
                        self.ratio.map_or(percentage.value, |known| known.max(percentage.value)),
                    );
                    true
                }
                None => false,
            },
            "string_attribute" => self.text_attribute(&mut details),
            "numeric_attribute" => self.number_attribute(&mut details),
            "boolean_attribute" => match (details.text("key"), details.flag("value")) {
                (Some(key), Some(value)) => {
                    self.condition(format!("{} = {value}", attribute("", &key.value)))
                }
                _ => false,
            },
            "ottl_condition" => {
                details.take("error_mode");
                let spans = details.texts("span");
                !spans.is_empty()
                    && spans.iter().all(|text| match said(&text.value, Context::Span) {
                        Ok(condition) => self.condition(condition),
                        Err(_) => false,
                    })
            }
            _ => false,
        };
        let is_whole = details.is_empty();
        details.take_all();
        is_said && is_whole
    }

    fn statuses(&mut self, codes: &[String]) -> bool {
        codes.iter().all(|code| match code.as_str() {
            "error" => {
                self.errors = true;
                true
            }
            "ok" | "unset" => self.condition(format!("status = {code}")),
            _ => false,
        })
    }

    /// An attribute of a span or of its resource.
    fn text_attribute(&mut self, details: &mut Section<'_>) -> bool {
        let Some(key) = details.text("key") else { return false };
        let is_pattern = details.flag("enabled_regex_matching") == Some(true);
        let is_inverted = details.flag("invert_match") == Some(true);
        details.take("cache_max_size");
        let name = attribute("", &key.value);
        let values: Vec<_> = details
            .texts("values")
            .iter()
            .map(|value| match is_pattern {
                true => format!("{name} =~ {}", quoted(&crate::pattern::whole(&value.value))),
                false => format!("{name} = {}", quoted(&value.value)),
            })
            .collect();
        match any_of(&values) {
            Some(condition) if !is_inverted => self.condition(condition),
            _ => false,
        }
    }

    fn number_attribute(&mut self, details: &mut Section<'_>) -> bool {
        let Some(key) = details.text("key") else { return false };
        let name = attribute("", &key.value);
        let bounds: Vec<_> = [("min_value", ">="), ("max_value", "<=")]
            .into_iter()
            .filter_map(|(bound, sign)| {
                details.number(bound).map(|value| format!("{name} {sign} {}", value.value))
            })
            .collect();
        match crate::traceql::all_of(&bounds) {
            Some(condition) => self.condition(condition),
            None => false,
        }
    }

    fn condition(&mut self, condition: String) -> bool {
        let is_good = check(&condition).is_ok();
        if is_good {
            self.conditions.push(condition);
        }
        is_good
    }
}
