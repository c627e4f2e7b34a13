//! Rules, and the audience, on a request of OTLP: one walk for both.
//!
//! A record goes through the rules one after the other. As long as none changed it, conditions look
//! at it where it lies in the request, and at its resource once for all its records. From the first
//! change on they look at what was made of it, until the next change.

use std::collections::HashMap;

use kymo_condition::edit::{Editor, Fate, edit, field};
use kymo_condition::{Reading, Record};
use kymo_wire::{ResourceView, ScopeView, Signal, View, WireError};

use super::action::{Change, list};
use super::error::ApplyError;
use super::limits::{MAX_VERSIONS, MAX_VERSIONS_BYTES};
use super::{Act, Applied, Rule, RuleSet, Rules, Tally};
use crate::limits::MAX_BODY_BYTES;

/// What decides on records before the rules do.
pub(crate) type Admit<'g> = &'g mut dyn FnMut(&Record<'_>) -> bool;

/// Applies rules to a request, and before them what else decides on its records.
pub(crate) fn process(
    signal: Signal,
    protobuf: &[u8],
    rules: &Rules,
    admit: Option<Admit<'_>>,
) -> Result<Applied, ApplyError> {
    let set = rules.set(signal);
    if set.rules.is_empty() && admit.is_none() {
        return Ok(Applied::Unchanged);
    }
    let mut pass = Pass::new(rules, set, admit);
    let edited = edit(signal, protobuf, &mut pass)?;
    Ok(match edited.body {
        None => Applied::Unchanged,
        Some(body) => {
            Applied::Changed { body, items: edited.items, dropped: pass.tally.finish(rules) }
        }
    })
}

struct Pass<'r, 'g, 'a> {
    rules: &'r Rules,
    set: &'r RuleSet,
    admit: Option<Admit<'g>>,
    tally: Tally,
    reading: Reading<'r, 'a>,
    /// Whether `reading` has the record that is looked at.
    is_read: bool,
    /// Whether conditions on resources alone hold for this resource, by rule.
    of_resource: Vec<Option<bool>>,
    /// Whether conditions hold for what was made of a record, by rule.
    of_changed: Vec<bool>,
    /// Changed resources and scopes; the number of each is its place, from 1.
    versions: Vec<Vec<u8>>,
    /// What rules make of a version of the resource: by version and rule.
    resources: HashMap<(u32, usize), u32>,
    scopes: HashMap<(u32, usize), u32>,
    /// Bytes of changed records that are held, and of versions.
    records_bytes: usize,
    versions_bytes: usize,
}

/// A record as far as it was changed.
#[derive(Default)]
struct Current {
    resource: u32,
    scope: u32,
    own: Option<Vec<u8>>,
    is_changed: bool,
    /// Whether [`Pass::of_changed`] is about it.
    is_answered: bool,
}

impl<'r, 'g, 'a> Pass<'r, 'g, 'a> {
    fn new(rules: &'r Rules, set: &'r RuleSet, admit: Option<Admit<'g>>) -> Self {
        Self {
            rules,
            set,
            admit,
            tally: Tally::default(),
            reading: set.conditions.reading(),
            is_read: false,
            of_resource: vec![None; set.rules.len()],
            of_changed: Vec::new(),
            versions: Vec::new(),
            resources: HashMap::new(),
            scopes: HashMap::new(),
            records_bytes: 0,
            versions_bytes: 0,
        }
    }

    /// Whether a rule is about a record that is still as it came.
    fn holds(&mut self, place: usize, rule: &Rule, record: &Record<'a>) -> bool {
        let Some(nth) = rule.condition else { return true };
        let is_resource_only = self.set.conditions.is_resource_only(nth);
        if is_resource_only && let Some(Some(known)) = self.of_resource.get(place) {
            return *known;
        }
        if !self.is_read {
            self.reading.read(record);
            self.is_read = true;
        }
        let holds = self.reading.holds(nth);
        if is_resource_only && let Some(known) = self.of_resource.get_mut(place) {
            *known = Some(holds);
        }
        holds
    }

    /// Whether a rule is about what was made of a record.
    fn holds_now(
        &mut self,
        place: usize,
        rule: &Rule,
        record: &Record<'a>,
        current: &mut Current,
    ) -> Result<bool, WireError> {
        if rule.condition.is_none() {
            return Ok(true);
        }
        if !current.is_answered {
            self.answer(record, current)?;
            current.is_answered = true;
        }
        Ok(self.of_changed.get(place).copied().unwrap_or_default())
    }

    /// Asks all conditions about what was made of a record.
    fn answer(&mut self, record: &Record<'a>, current: &Current) -> Result<(), WireError> {
        let resource = match current.resource {
            0 => record.resource().copied(),
            number => Some(ResourceView::parse(self.version(number))?),
        };
        let scope = match current.scope {
            0 => record.scope().copied(),
            number => Some(ScopeView::parse(self.version(number))?),
        };
        let raw = current.own.as_deref().unwrap_or(record.raw());
        let record = record.with(resource, scope, raw)?;
        let mut reading = self.set.conditions.reading();
        reading.read(&record);
        let holds = |rule: &Rule| rule.condition.is_none_or(|nth| reading.holds(nth));
        let answers: Vec<bool> = self.set.rules.iter().map(holds).collect();
        self.of_changed = answers;
        Ok(())
    }

    /// Does what a rule does to a record.
    fn change(
        &mut self,
        place: usize,
        change: &Change,
        record: &Record<'a>,
        current: &mut Current,
    ) -> Result<(), ApplyError> {
        let before = (current.resource, current.scope);
        if !change.resource.is_empty() {
            current.resource = self.resource(place, change, record, current.resource)?;
        }
        if !change.scope.is_empty() {
            current.scope = self.scope(place, change, record, current.scope)?;
        }
        let mut is_changed = before != (current.resource, current.scope);
        let raw = current.own.as_deref().unwrap_or(record.raw());
        if let Some(after) = change.record(record, raw, &self.rules.0.hasher)? {
            let before_bytes = current.own.as_ref().map_or(0, Vec::len);
            self.records_bytes = self.records_bytes + after.len() - before_bytes;
            within(self.records_bytes, MAX_BODY_BYTES)?;
            current.own = Some(after);
            is_changed = true;
        }
        if is_changed {
            current.is_changed = true;
            current.is_answered = false;
        }
        Ok(())
    }

    /// The version of a resource that a rule makes of another.
    fn resource(
        &mut self,
        place: usize,
        change: &Change,
        record: &Record<'a>,
        from: u32,
    ) -> Result<u32, ApplyError> {
        if let Some(known) = self.resources.get(&(from, place)) {
            return Ok(*known);
        }
        let came = record.resource().map_or(&[][..], |resource| resource.raw);
        let raw = if from == 0 { came } else { self.version(from) };
        let hasher = &self.rules.0.hasher;
        let changed = list(raw, field::RESOURCE_ATTRIBUTES, &change.resource, hasher)?;
        let to = self.added(from, changed)?;
        self.resources.insert((from, place), to);
        Ok(to)
    }

    /// The version of a scope that a rule makes of another.
    fn scope(
        &mut self,
        place: usize,
        change: &Change,
        record: &Record<'a>,
        from: u32,
    ) -> Result<u32, ApplyError> {
        if let Some(known) = self.scopes.get(&(from, place)) {
            return Ok(*known);
        }
        let came = record.scope().map_or(&[][..], |scope| scope.raw);
        let raw = if from == 0 { came } else { self.version(from) };
        let changed = list(raw, field::SCOPE_ATTRIBUTES, &change.scope, &self.rules.0.hasher)?;
        let to = self.added(from, changed)?;
        self.scopes.insert((from, place), to);
        Ok(to)
    }

    /// The number of a new version, or of the one that it was made of if that did not change.
    fn added(&mut self, from: u32, changed: Option<Vec<u8>>) -> Result<u32, ApplyError> {
        let Some(changed) = changed else { return Ok(from) };
        self.versions_bytes += changed.len();
        within(self.versions_bytes, MAX_VERSIONS_BYTES)?;
        within(self.versions.len() + 1, MAX_VERSIONS)?;
        self.versions.push(changed);
        Ok(self.versions.len() as u32)
    }

    fn gone(&mut self, nth: usize, current: &Current) -> Fate {
        self.tally.add(nth, 1);
        self.records_bytes -= current.own.as_ref().map_or(0, Vec::len);
        Fate::Gone
    }
}

/// Bounds what is made of a request, before it is written.
fn within(found: usize, most: usize) -> Result<(), ApplyError> {
    if found > most {
        return Err(ApplyError::TooLarge { limit_bytes: MAX_BODY_BYTES });
    }
    Ok(())
}

impl<'a> Editor<'a, ApplyError> for Pass<'_, '_, 'a> {
    fn begin_resource(&mut self, _resource: Option<&ResourceView<'a>>) {
        self.of_resource.fill(None);
        self.versions.clear();
        self.versions_bytes = 0;
        self.resources.clear();
    }

    fn begin_scope(&mut self, _scope: Option<&ScopeView<'a>>) {
        self.scopes.clear();
    }

    fn record(&mut self, record: &Record<'a>) -> Result<Fate, ApplyError> {
        if let Some(admit) = &mut self.admit
            && !admit(record)
        {
            self.tally.by_audience += 1;
            return Ok(Fate::Gone);
        }
        self.is_read = false;
        let mut current = Current::default();
        let set = self.set;
        for (place, rule) in set.rules.iter().enumerate() {
            let holds = match current.is_changed {
                false => self.holds(place, rule, record),
                true => self.holds_now(place, rule, record, &mut current)?,
            };
            match &rule.act {
                Act::Drop if holds => return Ok(self.gone(rule.nth, &current)),
                Act::Keep if !holds => return Ok(self.gone(rule.nth, &current)),
                Act::Change(change) if holds => self.change(place, change, record, &mut current)?,
                _ => {}
            }
        }
        let Current { resource, scope, own, is_changed, .. } = current;
        Ok(if is_changed { Fate::Changed { resource, scope, record: own } } else { Fate::Same })
    }

    fn version(&self, number: u32) -> &[u8] {
        let place = (number as usize).checked_sub(1);
        place.and_then(|place| self.versions.get(place)).map_or(&[], Vec::as_slice)
    }

    fn removes_empty_groups(&self) -> bool {
        true
    }
}
