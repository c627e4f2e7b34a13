//! Log records that a doubly-instrumented client sends twice, kept once.
//!
//! Two handlers of one logger make two records of each line: the same time, text, severity, ids,
//! scope and resource, but one has attributes that the other lacks (`code.file.path` and the like),
//! and the times at which they were observed differ. A tenant that asks for it
//! ([`Limits::deduplicate_logs`](crate::Limits::deduplicate_logs)) has one of them:
//! - of copies in one request that with the most attributes, and of equals the first,
//! - of copies in different requests the one that came first, if the others come within
//!   [`DEDUPLICATED_FOR`] and no more than [`MAX_DEDUPLICATED_RECORDS`] later.
//!
//! Records without a time are never taken for copies. What a request brought is remembered when it
//! is durable ([`Deduplication::remember`]), not before: a sender that was told to try again would
//! otherwise find its records gone.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use kymo_condition::edit::{self, Retained};
use kymo_wire::{LogsView, Signal, View, WireError};
use xxhash_rust::xxh3::Xxh3;

use crate::limits::{DEDUPLICATED_FOR, MAX_DEDUPLICATED_RECORDS, MAX_RATED_TENANTS};

/// What makes a record the same as another: a hash that is long enough to be taken for it.
pub type LogKey = u128;

/// A request of which copies were left out.
#[derive(Debug)]
pub(crate) struct Unique {
    /// The request, if it is another now.
    pub(crate) body: Option<Vec<u8>>,
    /// Records that were left out.
    pub(crate) copies: u64,
    /// What is to be remembered of those that stay.
    pub(crate) keys: Vec<LogKey>,
}

/// Records of all tenants that were seen a short time ago. Clones share them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Deduplication(Arc<Mutex<HashMap<String, Seen>>>);

/// What was seen is no setting: two that are configured alike are equal.
impl PartialEq for Deduplication {
    fn eq(&self, _other: &Self) -> bool {
        true
    }
}

impl Eq for Deduplication {}

/// Records of a tenant: of this period and of the one before, so that each is known for at least
/// one whole period.
#[derive(Debug)]
struct Seen {
    began: Instant,
    current: HashSet<LogKey>,
    previous: HashSet<LogKey>,
}

impl Seen {
    fn new(now: Instant) -> Self {
        Self { began: now, current: HashSet::new(), previous: HashSet::new() }
    }

    fn turn(&mut self, now: Instant) {
        let is_full = self.current.len() >= MAX_DEDUPLICATED_RECORDS;
        let age = now.saturating_duration_since(self.began);
        if is_full || age >= DEDUPLICATED_FOR {
            let current = std::mem::take(&mut self.current);
            self.previous = if age < DEDUPLICATED_FOR * 2 { current } else { HashSet::new() };
            self.began = now;
        }
    }
}

impl Deduplication {
    /// Leaves copies out of a request of log records.
    pub(crate) fn apply(&self, tenant: &str, protobuf: &[u8]) -> Result<Unique, WireError> {
        let records = keyed(protobuf)?;
        let mut kept = self.best(tenant, &records);
        let copies = kept.iter().filter(|is_kept| !**is_kept).count() as u64;
        let keys = records.iter().zip(&kept).filter(|(_, is_kept)| **is_kept);
        let keys: Vec<LogKey> = keys.filter_map(|(record, _)| record.key).collect();
        if copies == 0 {
            return Ok(Unique { body: None, copies, keys });
        }
        let mut kept = kept.drain(..);
        let retained = edit::retain(Signal::Logs, protobuf, &mut |_| kept.next().unwrap_or(true))?;
        let body = match retained {
            Retained::All => None,
            Retained::None => Some(Vec::new()),
            Retained::Some(body) => Some(body),
        };
        Ok(Unique { body, copies, keys })
    }

    /// Which records of a request stay.
    fn best(&self, tenant: &str, records: &[Keyed]) -> Vec<bool> {
        let mut best: HashMap<LogKey, usize> = HashMap::with_capacity(records.len());
        let tenants = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        let seen = tenants.get(tenant);
        let is_recent = |key: &LogKey| {
            seen.is_some_and(|seen| {
                let age = now.saturating_duration_since(seen.began);
                (age < DEDUPLICATED_FOR * 2 && seen.current.contains(key))
                    || (age < DEDUPLICATED_FOR && seen.previous.contains(key))
            })
        };
        let mut kept = vec![true; records.len()];
        for (place, record) in records.iter().enumerate() {
            let Some(key) = record.key else { continue };
            if is_recent(&key) {
                kept[place] = false;
                continue;
            }
            match best.get_mut(&key) {
                None => {
                    best.insert(key, place);
                }
                Some(before) if records[*before].attributes < record.attributes => {
                    kept[*before] = false;
                    *before = place;
                }
                Some(_) => kept[place] = false,
            }
        }
        kept
    }

    /// Remembers records that are durable now.
    pub(crate) fn remember(&self, tenant: &str, keys: &[LogKey]) {
        let now = Instant::now();
        let mut tenants = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !tenants.contains_key(tenant) {
            if tenants.len() >= MAX_RATED_TENANTS {
                // Names come from senders: those that were silent for a while are forgotten.
                tenants.retain(|_, seen| {
                    now.saturating_duration_since(seen.began) < DEDUPLICATED_FOR * 2
                });
            }
            if tenants.len() >= MAX_RATED_TENANTS {
                return;
            }
        }
        let seen = tenants.entry(tenant.to_owned()).or_insert_with(|| Seen::new(now));
        for key in keys {
            seen.turn(now);
            seen.current.insert(*key);
        }
    }
}

/// A record as it is compared.
struct Keyed {
    /// None if it has no time.
    key: Option<LogKey>,
    attributes: usize,
}

/// All records of a request, in their order.
fn keyed(protobuf: &[u8]) -> Result<Vec<Keyed>, WireError> {
    let mut records = Vec::new();
    for group in LogsView::parse(protobuf)?.resources {
        let group = group?;
        let resource = group.resource.map_or(&[][..], |resource| resource.raw);
        for scope in group.scopes {
            let scope = scope?;
            let mut hash = Xxh3::new();
            let add = |hash: &mut Xxh3, bytes: &[u8]| {
                hash.update(&(bytes.len() as u64).to_le_bytes());
                hash.update(bytes);
            };
            add(&mut hash, resource);
            add(&mut hash, scope.scope.map_or(&[][..], |scope| scope.name));
            for log in scope.items {
                let log = log?;
                let key = (log.time_unix_nano != 0).then(|| {
                    let mut hash = hash.clone();
                    hash.update(&log.time_unix_nano.to_le_bytes());
                    hash.update(&log.severity_number.to_le_bytes());
                    for bytes in [log.body_raw, log.trace_id, log.span_id, log.event_name] {
                        add(&mut hash, bytes);
                    }
                    hash.digest128()
                });
                records.push(Keyed { key, attributes: log.attributes.count() });
            }
        }
    }
    Ok(records)
}

#[cfg(test)]
mod tests {
    use super::*;
    use kymo_wire::AnyValueView;
    use kymo_wire::encode::{LogFields, Writer};

    /// Records by time, line, and number of attributes.
    fn request(records: &[(u64, &str, usize)]) -> Vec<u8> {
        let mut w = Writer::new();
        w.resource_group(|w| {
            w.scope_group(|w| {
                for (nth, (time, line, attributes)) in records.iter().enumerate() {
                    let fields = LogFields {
                        time_unix_nano: *time,
                        observed_time_unix_nano: nth as u64 + 1,
                        ..LogFields::default()
                    };
                    w.log(&fields, |w| {
                        w.log_body(&AnyValueView::String(line.as_bytes()));
                        for number in 0..*attributes {
                            let name = format!("a{number}");
                            w.log_attribute(name.as_bytes(), &AnyValueView::Bool(true));
                        }
                    });
                }
            });
        });
        w.into_bytes()
    }

    fn left(unique: &Unique, request: &[u8]) -> Vec<(u64, usize)> {
        let body = unique.body.as_deref().unwrap_or(request);
        let group = LogsView::parse(body).unwrap().resources.into_iter().next();
        let Some(group) = group else { return Vec::new() };
        let scope = group.unwrap().scopes.into_iter().next().unwrap().unwrap();
        let shown =
            |log: kymo_wire::LogRecordView<'_>| (log.time_unix_nano, log.attributes.count());
        scope.items.into_iter().map(|log| shown(log.unwrap())).collect()
    }

    #[test]
    fn the_richer_of_two_copies_stays_and_of_equals_the_first() {
        let seen = Deduplication::default();
        let sent = request(&[(1, "a", 0), (1, "a", 3), (2, "b", 2), (2, "b", 2), (2, "c", 0)]);
        let unique = seen.apply("t", &sent).unwrap();
        assert_eq!(left(&unique, &sent), [(1, 3), (2, 2), (2, 0)]);
        assert_eq!((unique.copies, unique.keys.len()), (2, 3));
        let clean = request(&[(1, "a", 0), (2, "a", 0)]);
        let unique = seen.apply("t", &clean).unwrap();
        assert!(unique.body.is_none() && unique.copies == 0);
    }

    #[test]
    fn records_without_a_time_are_all_kept() {
        let sent = request(&[(0, "a", 0), (0, "a", 0)]);
        let unique = Deduplication::default().apply("t", &sent).unwrap();
        assert_eq!((unique.copies, unique.keys.len()), (0, 0));
    }

    #[test]
    fn a_copy_of_what_is_durable_is_left_out_for_its_tenant_alone() {
        let seen = Deduplication::default();
        let sent = request(&[(1, "a", 0)]);
        let first = seen.apply("t", &sent).unwrap();
        assert_eq!(seen.apply("t", &sent).unwrap().copies, 0, "not durable yet");
        seen.remember("t", &first.keys);
        let richer = request(&[(1, "a", 5), (3, "new", 0)]);
        let second = seen.apply("t", &richer).unwrap();
        assert_eq!(left(&second, &richer), [(3, 0)]);
        assert_eq!(left(&seen.apply("t", &sent).unwrap(), &sent), []);
        assert_eq!(seen.apply("other", &sent).unwrap().copies, 0);
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let seen = Deduplication::default();
        let keys: Vec<LogKey> = (0..3 * MAX_DEDUPLICATED_RECORDS as u128).collect();
        seen.remember("t", &keys);
        let tenants = seen.0.lock().unwrap();
        let held = &tenants["t"];
        assert!(held.current.len() <= MAX_DEDUPLICATED_RECORDS);
        assert!(held.previous.len() <= MAX_DEDUPLICATED_RECORDS);
        assert!(held.current.contains(keys.last().unwrap()));
    }
}
