//! The records of one resource, judged and written again.
//!
//! Records that are put under another version of their resource get a group of their own, behind
//! those of the versions that appeared before; within a group they keep their order. The same holds
//! for scopes within a resource.

use kymo_wire::encode::Writer;
use kymo_wire::{MetricView, Signal, View, WireError};

use super::attributes::each_field;
use super::walk::{each_record, points_of};
use super::{Editor, Fate, Group, field};

/// What becomes of the records of one resource.
pub(super) struct Regroup {
    signal: Signal,
    fates: Vec<Fate>,
    /// For each scope, the end of its records in `fates`.
    ends: Vec<usize>,
    gone: u64,
    is_all_same: bool,
    has_empty: bool,
}

impl Regroup {
    pub(super) fn new(signal: Signal) -> Self {
        Self {
            signal,
            fates: Vec::new(),
            ends: Vec::new(),
            gone: 0,
            is_all_same: true,
            has_empty: false,
        }
    }

    /// Asks for every record of a resource.
    pub(super) fn judge<'a, E: From<WireError>>(
        &mut self,
        group: &Group<'a>,
        editor: &mut impl Editor<'a, E>,
    ) -> Result<(), E> {
        self.fates.clear();
        self.ends.clear();
        (self.gone, self.is_all_same, self.has_empty) = (0, true, group.scopes.is_empty());
        editor.begin_resource(group.resource.as_ref());
        for scope in group.scopes {
            let scope = scope?;
            editor.begin_scope(scope.scope.as_ref());
            let begin = self.fates.len();
            each_record(self.signal, group.resource, &scope, &mut |record| {
                let fate = editor.record(record)?;
                self.gone += u64::from(fate == Fate::Gone);
                self.is_all_same &= fate == Fate::Same;
                self.fates.push(fate);
                Ok::<(), E>(())
            })?;
            self.has_empty |= begin == self.fates.len();
            self.ends.push(self.fates.len());
        }
        Ok(())
    }

    pub(super) fn kept(&self) -> u64 {
        self.fates.len() as u64 - self.gone
    }

    pub(super) fn gone(&self) -> u64 {
        self.gone
    }

    pub(super) fn is_changed(&self, removes_empty_groups: bool) -> bool {
        !self.is_all_same || removes_empty_groups && self.has_empty
    }

    /// Writes the group as groups of a request, none if nothing is left of it.
    pub(super) fn write<'v>(
        &self,
        group: &Group<'_>,
        version: impl Fn(u32) -> &'v [u8],
        out: &mut Writer,
    ) -> Result<(), WireError> {
        for number in distinct(self.fates.iter().filter_map(placed).map(|(resource, _)| resource)) {
            let resource = (number != 0).then(|| version(number));
            out.message(field::RESOURCE_GROUPS, |out| {
                let mut nth = 0;
                rewrite(group.raw, field::RESOURCE, resource, out, |number_of, content, out| {
                    if number_of != field::SCOPE_GROUPS {
                        return Ok(false);
                    }
                    self.scope_group(nth, number, content, &version, out)?;
                    nth += 1;
                    Ok(true)
                })
            })?;
        }
        Ok(())
    }

    /// The records of the scope that was `nth`, as far as they belong to a version of the resource.
    fn scope_group<'v>(
        &self,
        nth: usize,
        resource: u32,
        raw: &[u8],
        version: &impl Fn(u32) -> &'v [u8],
        out: &mut Writer,
    ) -> Result<(), WireError> {
        let begin = nth.checked_sub(1).and_then(|before| self.ends.get(before)).copied();
        let end = self.ends.get(nth).copied().unwrap_or_default();
        let fates = self.fates.get(begin.unwrap_or(0)..end).unwrap_or_default();
        let scopes = fates.iter().filter_map(placed).filter(|place| place.0 == resource);
        for number in distinct(scopes.map(|(_, scope)| scope)) {
            let scope = (number != 0).then(|| version(number));
            let mut items = Items { place: (resource, number), fates: fates.iter() };
            out.message(field::SCOPE_GROUPS, |out| {
                rewrite(raw, field::SCOPE, scope, out, |number_of, content, out| {
                    if number_of != field::ITEMS {
                        return Ok(false);
                    }
                    match self.signal {
                        Signal::Metrics => items.metric(content, out)?,
                        _ => items.record(field::ITEMS, content, out),
                    }
                    Ok(true)
                })
            })?;
        }
        Ok(())
    }
}

/// Writes the records that belong to one version of a resource and a scope.
struct Items<'f> {
    place: (u32, u32),
    fates: std::slice::Iter<'f, Fate>,
}

impl Items<'_> {
    fn record(&mut self, number: u32, raw: &[u8], out: &mut Writer) {
        let Some(fate) = self.fates.next() else { return };
        if placed(fate) != Some(self.place) {
            return;
        }
        match fate {
            Fate::Changed { record: Some(changed), .. } => out.bytes_field(number, changed),
            _ => out.bytes_field(number, raw),
        }
    }

    fn metric(&mut self, raw: &[u8], out: &mut Writer) -> Result<(), WireError> {
        let (count, data) = points_of(&MetricView::parse(raw)?);
        let points = self.fates.as_slice().get(..count).unwrap_or_default();
        if !points.iter().any(|fate| placed(fate) == Some(self.place)) {
            self.skip(count);
            return Ok(());
        }
        let is_as_it_was = |fate: &Fate| match fate {
            Fate::Same => self.place == (0, 0),
            Fate::Gone => false,
            Fate::Changed { record, .. } => record.is_none() && placed(fate) == Some(self.place),
        };
        if points.iter().all(is_as_it_was) {
            self.skip(count);
            out.bytes_field(field::ITEMS, raw);
            return Ok(());
        }
        // Of data that is there several times, the last counts.
        let mut fields_left = 0;
        each_field(raw, |number, _, _| {
            fields_left += u32::from(number == data);
            Ok(())
        })?;
        out.message(field::ITEMS, |out| {
            each_field(raw, |number, content, whole| {
                if !field::METRIC_DATA.contains(&number) {
                    out.raw(whole);
                } else if number == data {
                    fields_left -= 1;
                    if fields_left == 0 {
                        out.message(number, |out| self.data(content, out))?;
                    }
                }
                Ok(())
            })
        })
    }

    fn data(&mut self, raw: &[u8], out: &mut Writer) -> Result<(), WireError> {
        each_field(raw, |number, content, whole| {
            match number {
                field::DATA_POINTS => self.record(number, content, out),
                _ => out.raw(whole),
            }
            Ok(())
        })
    }

    fn skip(&mut self, count: usize) {
        self.fates = self.fates.as_slice().get(count..).unwrap_or_default().iter();
    }
}

/// Copies a message. The field `replaced` gets another content if there is one, and is added where
/// it is missing. `write` may write a field in its own way, and says whether it did.
fn rewrite(
    raw: &[u8],
    replaced: u32,
    by: Option<&[u8]>,
    out: &mut Writer,
    mut write: impl FnMut(u32, &[u8], &mut Writer) -> Result<bool, WireError>,
) -> Result<(), WireError> {
    if let Some(by) = by {
        out.bytes_field(replaced, by);
    }
    each_field(raw, |number, content, whole| {
        if number == replaced && by.is_some() {
            return Ok(());
        }
        if !write(number, content, out)? {
            out.raw(whole);
        }
        Ok(())
    })
}

/// The versions that a record belongs to; nothing if it is gone.
fn placed(fate: &Fate) -> Option<(u32, u32)> {
    match fate {
        Fate::Same => Some((0, 0)),
        Fate::Gone => None,
        Fate::Changed { resource, scope, .. } => Some((*resource, *scope)),
    }
}

/// Numbers in the order in which they appear, each once. They are few.
fn distinct(numbers: impl Iterator<Item = u32>) -> Vec<u32> {
    let mut found: Vec<u32> = Vec::new();
    for number in numbers {
        if found.last() != Some(&number) && !found.contains(&number) {
            found.push(number);
        }
    }
    found
}
