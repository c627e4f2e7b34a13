//! Log records that a doubly-instrumented client sends twice, kept once.
//!
//! Two handlers of one logger make two records of each line: the same time, text, severity, ids,
//! scope and resource. One says where in the code the line is (`code.file.path` and the like), the
//! other does not, and the times at which they were observed differ. A tenant that asks for it
//! ([`Limits::deduplicate_logs`](crate::Limits::deduplicate_logs)) has one of them:
//! - of copies in one request that with the most attributes, and of equals the first,
//! - of copies in different requests the one that came first, if the others come within
//!   [`DEDUPLICATED_FOR`], to the same process, and no more than [`MAX_DEDUPLICATED_RECORDS`] later.
//!
//! Records that differ in any other attribute are two, however much else they share: a clock may
//! tick once for many. Records without a time are never taken for copies. What a request brought is
//! remembered when it is durable ([`Deduplication::remember`]), not before: a sender that was told to
//! try again would otherwise find its records gone.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use kymo_condition::edit::{self, Retained};
use kymo_wire::{LogRecordView, LogsView, Signal, View, WireError};
use xxhash_rust::xxh3::{Xxh3, xxh3_128};

use crate::limits::{DEDUPLICATED_FOR, MAX_DEDUPLICATED_RECORDS};

/// What begins the names of attributes that one of two copies has alone.
const PLACE_IN_CODE: &[u8] = b"code.";

/// What makes a record the same as another of its tenant: a hash that is long enough to be taken for
/// it.
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
pub(crate) struct Deduplication(Arc<Mutex<Seen>>);

/// What was seen is no setting: two that are configured alike are equal.
impl PartialEq for Deduplication {
    fn eq(&self, _other: &Self) -> bool {
        true
    }
}

impl Eq for Deduplication {}

/// Records of this period and of the one before, so that each is known for at least one whole period.
#[derive(Debug, Default)]
struct Seen {
    /// When this period began.
    began: Option<Instant>,
    current: HashSet<LogKey>,
    previous: HashSet<LogKey>,
}

impl Seen {
    fn knows(&self, key: &LogKey, now: Instant) -> bool {
        let Some(began) = self.began else { return false };
        let age = now.saturating_duration_since(began);
        (age < DEDUPLICATED_FOR * 2 && self.current.contains(key))
            || (age < DEDUPLICATED_FOR && self.previous.contains(key))
    }

    fn add(&mut self, key: LogKey, now: Instant) {
        let age = now.saturating_duration_since(*self.began.get_or_insert(now));
        if self.current.len() >= MAX_DEDUPLICATED_RECORDS || age >= DEDUPLICATED_FOR {
            let current = std::mem::take(&mut self.current);
            self.previous = if age < DEDUPLICATED_FOR * 2 { current } else { HashSet::new() };
            self.began = Some(now);
        }
        self.current.insert(key);
    }
}

impl Deduplication {
    /// Leaves copies out of a request of log records.
    pub(crate) fn apply(&self, tenant: &str, protobuf: &[u8]) -> Result<Unique, WireError> {
        let records = keyed(tenant, protobuf)?;
        let kept = self.best(&records);
        let copies = kept.iter().filter(|is_kept| !**is_kept).count() as u64;
        let keys = records.iter().zip(&kept).filter(|(_, is_kept)| **is_kept);
        let keys: Vec<LogKey> = keys.filter_map(|(record, _)| record.key).collect();
        if copies == 0 {
            return Ok(Unique { body: None, copies, keys });
        }
        let mut kept = kept.into_iter();
        let retained = edit::retain(Signal::Logs, protobuf, &mut |_| kept.next().unwrap_or(true))?;
        let body = match retained {
            Retained::All => None,
            Retained::None => Some(Vec::new()),
            Retained::Some(body) => Some(body),
        };
        Ok(Unique { body, copies, keys })
    }

    /// Which records of a request stay.
    fn best(&self, records: &[Keyed]) -> Vec<bool> {
        let mut best: HashMap<LogKey, usize> = HashMap::with_capacity(records.len());
        let seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        let mut kept = vec![true; records.len()];
        for (place, record) in records.iter().enumerate() {
            let Some(key) = record.key else { continue };
            if seen.knows(&key, now) {
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
    pub(crate) fn remember(&self, keys: &[LogKey]) {
        let now = Instant::now();
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        keys.iter().for_each(|key| seen.add(*key, now));
    }
}

/// A record as it is compared.
struct Keyed {
    /// None if it has no time.
    key: Option<LogKey>,
    attributes: usize,
}

/// All records of a tenant's request, in their order.
fn keyed(tenant: &str, protobuf: &[u8]) -> Result<Vec<Keyed>, WireError> {
    let mut records = Vec::new();
    for group in LogsView::parse(protobuf)?.resources {
        let group = group?;
        let resource = group.resource.map_or(&[][..], |resource| resource.raw);
        for scope in group.scopes {
            let scope = scope?;
            let mut hash = Xxh3::new();
            let scope_name = scope.scope.map_or(&[][..], |scope| scope.name);
            for bytes in [tenant.as_bytes(), resource, scope_name] {
                add(&mut hash, bytes);
            }
            for log in scope.items {
                let log = log?;
                let key = match log.time_unix_nano {
                    0 => None,
                    _ => Some(key_of(&log, hash.clone())?),
                };
                records.push(Keyed { key, attributes: log.attributes.count() });
            }
        }
    }
    Ok(records)
}

/// The key of a record, from the hash of what it shares with others.
fn key_of(log: &LogRecordView<'_>, mut hash: Xxh3) -> Result<LogKey, WireError> {
    hash.update(&log.time_unix_nano.to_le_bytes());
    hash.update(&log.severity_number.to_le_bytes());
    for bytes in [log.body_raw, log.trace_id, log.span_id, log.event_name] {
        add(&mut hash, bytes);
    }
    // A sum, so that their order is none of it.
    let mut attributes: u128 = 0;
    for entry in log.attributes {
        let entry = entry?;
        if !entry.key.starts_with(PLACE_IN_CODE) {
            attributes = attributes.wrapping_add(xxh3_128(entry.raw));
        }
    }
    hash.update(&attributes.to_le_bytes());
    Ok(hash.digest128())
}

fn add(hash: &mut Xxh3, bytes: &[u8]) {
    hash.update(&(bytes.len() as u64).to_le_bytes());
    hash.update(bytes);
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use kymo_wire::AnyValueView;
    use kymo_wire::encode::{LogFields, Writer};

    /// Records by time, line, and number of attributes that say where in the code it is.
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
                            let name = format!("code.{number}");
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
    fn records_that_differ_in_an_attribute_are_two_in_any_order_of_the_others() {
        let mut w = Writer::new();
        let orders: [&[(&str, i64)]; 4] = [
            &[("user", 1), ("order", 2)],
            &[("user", 1), ("order", 3)],
            // A copy of the first.
            &[("order", 2), ("user", 1), ("code.line.number", 7)],
            &[],
        ];
        w.resource_group(|w| {
            w.scope_group(|w| {
                for attributes in orders {
                    let fields = LogFields { time_unix_nano: 1, ..LogFields::default() };
                    w.log(&fields, |w| {
                        w.log_body(&AnyValueView::String(b"stored"));
                        for (key, value) in attributes {
                            w.log_attribute(key.as_bytes(), &AnyValueView::Int(*value));
                        }
                    });
                }
            });
        });
        let sent = w.into_bytes();
        let unique = Deduplication::default().apply("t", &sent).unwrap();
        assert_eq!(left(&unique, &sent), [(1, 2), (1, 3), (1, 0)]);
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
        seen.remember(&first.keys);
        let richer = request(&[(1, "a", 5), (3, "new", 0)]);
        let second = seen.apply("t", &richer).unwrap();
        assert_eq!(left(&second, &richer), [(3, 0)]);
        assert_eq!(left(&seen.apply("t", &sent).unwrap(), &sent), []);
        assert_eq!(seen.apply("other", &sent).unwrap().copies, 0);
    }

    #[test]
    fn what_is_remembered_is_bounded_in_number() {
        let (mut seen, now) = (Seen::default(), Instant::now());
        let last = 3 * MAX_DEDUPLICATED_RECORDS as LogKey;
        for key in 0..=last {
            seen.add(key, now);
            assert!(seen.current.len() <= MAX_DEDUPLICATED_RECORDS);
            assert!(seen.previous.len() <= MAX_DEDUPLICATED_RECORDS);
        }
        assert!(seen.knows(&last, now), "the last is known");
        assert!(seen.knows(&(last - MAX_DEDUPLICATED_RECORDS as LogKey), now), "and many before");
        assert!(!seen.knows(&0, now));
    }

    #[test]
    fn what_is_remembered_is_known_for_its_time_and_no_longer_than_twice() {
        let (mut seen, start) = (Seen::default(), Instant::now());
        let moment = Duration::from_millis(1);
        seen.add(1, start);
        seen.add(2, start + DEDUPLICATED_FOR - moment);
        assert!(seen.knows(&2, start + DEDUPLICATED_FOR * 2 - moment * 2));
        // Another period begins, and then one after silence.
        seen.add(3, start + DEDUPLICATED_FOR);
        assert!(seen.knows(&2, start + DEDUPLICATED_FOR * 2 - moment));
        assert!(!seen.knows(&2, start + DEDUPLICATED_FOR * 2));
        seen.add(4, start + DEDUPLICATED_FOR * 10);
        assert!(!seen.knows(&3, start + DEDUPLICATED_FOR * 10));
        assert!(seen.previous.is_empty(), "it takes no memory");
    }
}
