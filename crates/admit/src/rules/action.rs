//! What rules do to attributes.

use std::fmt;
use std::sync::Arc;

use kymo_condition::Record;
use kymo_condition::edit::{Attributes, change_attributes, change_each, field, value};
use kymo_wire::{AnyValueView, View, WireError};
use regex::Regex;
use ring::digest::{Context, SHA256};

use super::limits::HASH_DIGITS;
use super::target::{Keys, Level};

/// A message after something was done to it; nothing if it stays as it is.
type Changed = Result<Option<Vec<u8>>, WireError>;

/// One thing that is done to a list of attributes.
#[derive(Debug, Clone)]
pub(super) enum Action {
    Delete(Keys),
    Rename { from: Box<[u8]>, to: Box<[u8]> },
    Set { key: Box<[u8]>, value: Box<[u8]>, how: Set },
    Hash(Keys),
    Redact(Keys, Arc<Redaction>),
}

/// When a value is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Set {
    /// Where there is none.
    Insert,
    /// Where there is one.
    Update,
    Upsert,
}

impl Action {
    pub(super) fn apply(
        &self,
        attributes: &mut Attributes<'_>,
        hasher: &Hasher,
    ) -> Result<(), WireError> {
        match self {
            Self::Delete(keys) => {
                attributes.remove(|key| keys.has(key));
                Ok(())
            }
            Self::Rename { from, to } => attributes.rename(from, to),
            Self::Set { key, value, how } => {
                let is_there = attributes.contains(key);
                if is_there && *how != Set::Insert {
                    attributes.replace(|other| *other == **key, |_| Ok(Some(value.to_vec())))
                } else {
                    if !is_there && *how != Set::Update {
                        attributes.push(key, value);
                    }
                    Ok(())
                }
            }
            Self::Hash(keys) => attributes.replace(|key| keys.has(key), |raw| hasher.hash(raw)),
            Self::Redact(keys, redaction) => {
                attributes.replace(|key| keys.has(key), |raw| redaction.value(raw))
            }
        }
    }
}

/// A regular expression, and what takes the place of its matches.
#[derive(Debug)]
pub(super) struct Redaction {
    pub(super) pattern: Regex,
    pub(super) with: String,
}

impl Redaction {
    /// A value with its text redacted; nothing if nothing matches.
    fn value(&self, raw: &[u8]) -> Changed {
        value::change_text(raw, &mut |text| {
            let is_found = self.pattern.is_match(text);
            is_found.then(|| self.pattern.replace_all(text, self.with.as_str()).into_owned())
        })
    }
}

/// Hashes values, with a salt that nobody is shown.
#[derive(Clone, Default)]
pub(super) struct Hasher {
    pub(super) salt: String,
}

impl Hasher {
    /// The hash of a value, as text; nothing if there is no value.
    fn hash(&self, raw: &[u8]) -> Changed {
        let view = AnyValueView::parse(raw)?;
        if view == AnyValueView::Empty {
            return Ok(None);
        }
        let mut context = Context::new(&SHA256);
        context.update(self.salt.as_bytes());
        context.update(&value::plain_bytes(raw, view));
        let digest = context.finish();
        let digit = |value: u8| char::from_digit(u32::from(value), 16).unwrap_or('0');
        let digits = digest.as_ref().iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]);
        Ok(Some(value::text(&digits.take(HASH_DIGITS).collect::<String>())))
    }
}

impl fmt::Debug for Hasher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Hasher(***)")
    }
}

/// What a rule does to a record, by the lists that its attributes are in.
#[derive(Debug, Clone, Default)]
pub(super) struct Change {
    pub(super) resource: Vec<Action>,
    pub(super) scope: Vec<Action>,
    pub(super) own: Vec<Action>,
    events: Vec<Action>,
    links: Vec<Action>,
    exemplars: Vec<Action>,
    /// Of the body of a log record.
    pub(super) body: Vec<Arc<Redaction>>,
}

impl Change {
    pub(super) fn at(&mut self, level: Level) -> &mut Vec<Action> {
        match level {
            Level::Resource => &mut self.resource,
            Level::Scope => &mut self.scope,
            Level::Own => &mut self.own,
            Level::Event => &mut self.events,
            Level::Link => &mut self.links,
            Level::Exemplar => &mut self.exemplars,
        }
    }

    /// Adds what another rule does, after this one.
    pub(super) fn append(&mut self, next: &mut Self) {
        self.resource.append(&mut next.resource);
        self.scope.append(&mut next.scope);
        self.own.append(&mut next.own);
        self.events.append(&mut next.events);
        self.links.append(&mut next.links);
        self.exemplars.append(&mut next.exemplars);
        self.body.append(&mut next.body);
    }

    pub(super) fn is_empty(&self) -> bool {
        let of_groups = [&self.resource, &self.scope];
        let of_record = [&self.own, &self.events, &self.links, &self.exemplars];
        of_groups.into_iter().chain(of_record).all(Vec::is_empty) && self.body.is_empty()
    }

    /// The message of a record with everything done that is about the record itself; nothing if it
    /// stays as it is. `raw` is what was made of `record` so far.
    pub(super) fn record(&self, record: &Record<'_>, raw: &[u8], hasher: &Hasher) -> Changed {
        let Some(attributes_field) = record.attributes_field() else { return Ok(None) };
        let mut changed = None;
        let mut then = |step: &dyn Fn(&[u8]) -> Changed| {
            if let Some(after) = step(changed.as_deref().unwrap_or(raw))? {
                changed = Some(after);
            }
            Ok::<(), WireError>(())
        };
        if !self.own.is_empty() {
            then(&|raw| list(raw, attributes_field, &self.own, hasher))?;
        }
        if !self.events.is_empty() {
            then(&|raw| {
                change_each(raw, field::SPAN_EVENTS, |event| {
                    list(event, field::EVENT_ATTRIBUTES, &self.events, hasher)
                })
            })?;
        }
        if !self.links.is_empty() {
            then(&|raw| {
                change_each(raw, field::SPAN_LINKS, |link| {
                    list(link, field::LINK_ATTRIBUTES, &self.links, hasher)
                })
            })?;
        }
        if let Some(exemplars_field) = record.exemplars_field()
            && !self.exemplars.is_empty()
        {
            then(&|raw| {
                change_each(raw, exemplars_field, |exemplar| {
                    list(exemplar, field::EXEMPLAR_ATTRIBUTES, &self.exemplars, hasher)
                })
            })?;
        }
        for redaction in &self.body {
            then(&|raw| change_each(raw, field::LOG_BODY, |body| redaction.value(body)))?;
        }
        Ok(changed)
    }
}

/// A message with everything done to its attributes; nothing if it stays as it is.
pub(super) fn list(
    message: &[u8],
    attributes_field: u32,
    actions: &[Action],
    hasher: &Hasher,
) -> Changed {
    change_attributes(message, attributes_field, |attributes| {
        actions.iter().try_for_each(|action| action.apply(attributes, hasher))
    })
}
