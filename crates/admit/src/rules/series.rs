//! Rules, and the audience, on a request of Prometheus' remote-write.
//!
//! The attributes of a series are its labels, but for the name of its metric. It has no resource and
//! no scope: what a rule does to these is left out, and a rule whose condition asks for them is not
//! about series at all.
//!
//! A series in 2.0 refers to texts of its request. If something is left out or changed, that table is
//! written again too, with what is still referred to: the labels of a series that was dropped are not
//! to be found in it.

use kymo_condition::edit::{Attributes, each_field, value};
use kymo_condition::{Label, Record};
use kymo_wire::encode::Writer;
use kymo_wire::remote_write::{self, METRIC_NAME, SeriesView, Version, WriteRequestView};
use kymo_wire::{AnyValueView, View, WireError, array_values, text};

use super::error::ApplyError;
use super::pass::Admit;
use super::symbols::{SERIES_2, SYMBOLS_2, Table, series_2};
use super::{Act, Applied, Rule, RuleSet, Rules, Tally};
use crate::limits::MAX_BODY_BYTES;

/// Series of a request of 1.0.
const SERIES_1: u32 = 1;
/// Labels of a series, in both versions.
pub(super) const LABELS: u32 = 1;

/// Applies rules to a request, and before them what else decides on its series.
pub(crate) fn process(
    version: Version,
    body: &[u8],
    rules: &Rules,
    admit: Option<Admit<'_>>,
) -> Result<Applied, ApplyError> {
    let set = rules.set(kymo_wire::Signal::Metrics);
    if set.rules.is_empty() && admit.is_none() {
        return Ok(Applied::Unchanged);
    }
    let mut judge =
        Judge { rules, set, admit, tally: Tally::default(), items: 0, written_bytes: 0 };
    let changed = match version {
        Version::One => request_1(body, &mut judge)?,
        Version::Two => request_2(body, &mut judge)?,
    };
    Ok(match changed {
        None => Applied::Unchanged,
        Some(body) => {
            Applied::Changed { body, items: judge.items, dropped: judge.tally.finish(rules) }
        }
    })
}

/// What becomes of a series.
enum Fate {
    Same,
    Gone,
    /// It has other labels, in order of their names.
    Labels(Vec<(Vec<u8>, Vec<u8>)>),
}

struct Judge<'r, 'g> {
    rules: &'r Rules,
    set: &'r RuleSet,
    admit: Option<Admit<'g>>,
    tally: Tally,
    /// Points of series that stay.
    items: u64,
    written_bytes: usize,
}

impl Judge<'_, '_> {
    /// What becomes of a series with so many points.
    fn series(
        &mut self,
        labels: &[Label<'_>],
        exemplar_labels: &[Label<'_>],
        points: usize,
    ) -> Result<Fate, ApplyError> {
        // A series without points counts as one.
        let count = points.max(1) as u64;
        if let Some(admit) = &mut self.admit
            && !admit(&Record::series_with_exemplars(labels, exemplar_labels))
        {
            self.tally.by_audience += count;
            return Ok(Fate::Gone);
        }
        let mut changed: Option<Vec<(Vec<u8>, Vec<u8>)>> = None;
        let mut answers: Option<Vec<bool>> = None;
        for (place, rule) in self.set.rules.iter().enumerate() {
            if !self.is_about_series(rule) {
                continue;
            }
            let holds = rule.condition.is_none() || {
                let answers =
                    answers.get_or_insert_with(|| self.answers(labels, changed.as_deref()));
                answers.get(place).copied().unwrap_or_default()
            };
            match &rule.act {
                Act::Drop if !holds => {}
                Act::Keep if holds => {}
                Act::Drop | Act::Keep => {
                    self.tally.add(rule.nth, count);
                    return Ok(Fate::Gone);
                }
                Act::Change(change) if holds && !change.own.is_empty() => {
                    let mut attributes = match &changed {
                        Some(changed) => attributes_of(borrowed(changed)),
                        None => attributes_of(labels.iter().copied()),
                    };
                    for action in &change.own {
                        action.apply(&mut attributes, &self.rules.0.hasher)?;
                    }
                    if attributes.is_changed() {
                        changed = Some(labels_of(&attributes, metric_name(labels)));
                        answers = None;
                    }
                }
                Act::Change(_) => {}
            }
        }
        self.items += points as u64;
        let Some(mut changed) = changed else { return Ok(Fate::Same) };
        changed.sort_unstable();
        let bytes: usize = changed.iter().map(|(name, value)| name.len() + value.len()).sum();
        self.written_bytes += bytes;
        if self.written_bytes > MAX_BODY_BYTES {
            return Err(ApplyError::TooLarge { limit_bytes: MAX_BODY_BYTES });
        }
        Ok(Fate::Labels(changed))
    }

    fn is_about_series(&self, rule: &Rule) -> bool {
        rule.condition.is_none_or(|nth| !self.set.conditions.reads_groups(nth))
    }

    /// Whether conditions hold, by rule.
    fn answers(&self, labels: &[Label<'_>], changed: Option<&[(Vec<u8>, Vec<u8>)]>) -> Vec<bool> {
        let changed: Option<Vec<Label<'_>>> = changed.map(|changed| borrowed(changed).collect());
        let record = Record::series(changed.as_deref().unwrap_or(labels));
        let mut reading = self.set.conditions.reading();
        reading.read(&record);
        let holds = |rule: &Rule| rule.condition.is_none_or(|nth| reading.holds(nth));
        self.set.rules.iter().map(holds).collect()
    }
}

fn borrowed(labels: &[(Vec<u8>, Vec<u8>)]) -> impl Iterator<Item = Label<'_>> {
    labels.iter().map(|(name, value)| (name.as_slice(), value.as_slice()))
}

fn metric_name<'a>(labels: &[Label<'a>]) -> &'a [u8] {
    labels.iter().find(|(name, _)| *name == METRIC_NAME).map_or(&[], |(_, value)| value)
}

/// Labels as attributes, without the name of the metric.
fn attributes_of<'l>(labels: impl Iterator<Item = Label<'l>>) -> Attributes<'static> {
    Attributes::of_texts(labels.filter(|(name, _)| *name != METRIC_NAME))
}

/// Attributes as labels. What is empty is no label.
fn labels_of(attributes: &Attributes<'_>, metric: &[u8]) -> Vec<(Vec<u8>, Vec<u8>)> {
    let others = attributes.iter().map(|(key, value)| (key.to_vec(), label_text(value)));
    let labels = others.chain([(METRIC_NAME.to_vec(), metric.to_vec())]);
    labels.filter(|(_, value)| !value.is_empty()).collect()
}

/// A value as the text of a label; a list is written as JSON.
fn label_text(value: AnyValueView<'_>) -> Vec<u8> {
    let AnyValueView::Array(raw) = value else {
        return value::plain_bytes(&[], value).into_owned();
    };
    let texts: Vec<String> = array_values(raw)
        .map_while(Result::ok)
        .filter_map(|member| match member {
            AnyValueView::String(bytes) => Some(text(bytes).into_owned()),
            _ => None,
        })
        .collect();
    serde_json::to_vec(&texts).unwrap_or_default()
}

/// Goes through a request of 1.0; nothing if it stays as it is.
fn request_1(body: &[u8], judge: &mut Judge<'_, '_>) -> Result<Option<Vec<u8>>, ApplyError> {
    let mut fates = Vec::new();
    let (mut labels, mut exemplar_labels) = (Vec::<Label<'_>>::new(), Vec::<Label<'_>>::new());
    for series in WriteRequestView::parse(body)?.series {
        let series = series?;
        labels.clear();
        for label in series.labels {
            let label = label?;
            labels.push((label.name, label.value));
        }
        exemplar_labels.clear();
        for exemplar in series.exemplars {
            for label in exemplar?.labels {
                let label = label?;
                exemplar_labels.push((label.name, label.value));
            }
        }
        let points = series.samples.count() + series.histograms.count();
        fates.push(judge.series(&labels, &exemplar_labels, points)?);
    }
    if fates.iter().all(|fate| matches!(fate, Fate::Same)) {
        return Ok(None);
    }
    let mut fates = fates.into_iter();
    let mut out = Writer::with_capacity(body.len());
    each_field(body, |number, content, whole| {
        if number != SERIES_1 {
            out.raw(whole);
            return Ok(());
        }
        match fates.next() {
            Some(Fate::Gone) => Ok(()),
            Some(Fate::Labels(labels)) => {
                out.message(SERIES_1, |out| series_1(content, &labels, out))
            }
            Some(Fate::Same) | None => {
                out.raw(whole);
                Ok(())
            }
        }
    })?;
    Ok(Some(out.into_bytes()))
}

fn series_1(raw: &[u8], labels: &[(Vec<u8>, Vec<u8>)], out: &mut Writer) -> Result<(), WireError> {
    // That it is a series was seen when it was judged.
    SeriesView::parse(raw)?;
    for (name, value) in labels {
        remote_write::write_label(name, value, out);
    }
    each_field(raw, |number, _, whole| {
        if number != LABELS {
            out.raw(whole);
        }
        Ok(())
    })
}

/// Goes through a request of 2.0; nothing if it stays as it is.
fn request_2(body: &[u8], judge: &mut Judge<'_, '_>) -> Result<Option<Vec<u8>>, ApplyError> {
    let request = remote_write::RequestView::parse(body)?;
    let symbols = request.symbols.table()?;
    let mut fates = Vec::new();
    let (mut labels, mut exemplar_labels) = (Vec::<Label<'_>>::new(), Vec::<Label<'_>>::new());
    for series in request.series {
        let series = series?;
        labels.clear();
        labels.extend(symbols.labels(&series.labels).flatten());
        exemplar_labels.clear();
        for exemplar in series.exemplars {
            exemplar_labels.extend(symbols.labels(&exemplar?.labels).flatten());
        }
        let points = series.samples.count() + series.histograms.count();
        fates.push(judge.series(&labels, &exemplar_labels, points)?);
    }
    if fates.iter().all(|fate| matches!(fate, Fate::Same)) {
        return Ok(None);
    }
    let mut table = Table::new(&symbols);
    let mut all = Writer::with_capacity(body.len());
    for (series, fate) in request.series.iter().zip(fates) {
        let series = series?;
        let labels: Vec<(u64, u64)> = match fate {
            Fate::Gone => continue,
            Fate::Same => symbols
                .labels(&series.labels)
                .flatten()
                .map(|(name, value)| (table.number(name), table.number(value)))
                .collect(),
            Fate::Labels(labels) => borrowed(&labels)
                .map(|(name, value)| (table.number(name), table.number(value)))
                .collect(),
        };
        all.message(SERIES_2, |out| series_2(&series, &labels, &mut table, out))?;
    }
    let mut out = table.into_written();
    out.raw(all.as_slice());
    each_field(body, |number, _, whole| {
        if !matches!(number, SYMBOLS_2 | SERIES_2) {
            out.raw(whole);
        }
        Ok(())
    })?;
    Ok(Some(out.into_bytes()))
}
