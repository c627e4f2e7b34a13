//! What the header says: texts, totals, and what is odd about the trace.

use std::borrow::Cow;

use hashbrown::HashMap;
use serde::Serialize;

use super::flags;
use super::texts::{Texts, cut};
use crate::limits::{
    HEADER_MAX_RESOURCES, HEADER_MAX_ROOTS, MESSAGE_MAX_BYTES, MESSAGES_MAX_BYTES, NAMES_MAX_BYTES,
    PATH_MAX_STRETCHES, TEXT_MAX_BYTES,
};
use crate::read::{Piece, Resource};
use crate::tree::TraceTree;
use crate::value::hex;

/// The header without its list of columns.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Header<'a> {
    trace: &'a str,
    trace_id: String,
    revision: String,
    t0: String,
    duration_nanos: i64,
    spans: usize,
    main: Option<Main<'a>>,
    roots: Vec<usize>,
    names: Vec<Cow<'a, str>>,
    messages: Vec<Cow<'a, str>>,
    hosts: Vec<Cow<'a, str>>,
    services: Vec<Service<'a>>,
    scopes: Vec<ScopeName<'a>>,
    resources: Vec<ResourceName<'a>>,
    totals: Totals,
    critical_path: CriticalPath,
    warnings: Vec<Warning>,
}

/// Places in tables, by row.
pub(super) struct Codes {
    pub(super) names: Vec<u32>,
    pub(super) services: Vec<u32>,
    pub(super) messages: Vec<i32>,
}

#[derive(Serialize)]
struct Main<'a> {
    row: usize,
    name: Cow<'a, str>,
    service: Cow<'a, str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Service<'a> {
    name: Cow<'a, str>,
    #[serde(skip_serializing_if = "str::is_empty")]
    namespace: Cow<'a, str>,
    spans: usize,
    errors: usize,
    self_nanos: i64,
    critical_nanos: i64,
}

#[derive(Serialize)]
struct ScopeName<'a> {
    name: Cow<'a, str>,
    version: Cow<'a, str>,
}

#[derive(Serialize)]
struct ResourceName<'a> {
    service: u32,
    host: Option<u32>,
    instance: Option<Cow<'a, str>>,
    spans: usize,
}

#[derive(Serialize, Default)]
#[serde(rename_all = "camelCase")]
struct Totals {
    spans: usize,
    errors: usize,
    roots: usize,
    orphans: usize,
    running: usize,
    skewed: usize,
    cycles: usize,
    duplicates: usize,
    untimed: usize,
    events: u64,
    links: u64,
    services: usize,
    hosts: usize,
    resources: usize,
    max_depth: u32,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CriticalPath {
    duration_nanos: i64,
    idle_nanos: i64,
    spans: usize,
    stretches: usize,
    truncated: bool,
}

#[derive(Serialize)]
struct Warning {
    code: &'static str,
    count: usize,
    row: Option<usize>,
    text: String,
}

impl<'a> Header<'a> {
    pub(super) fn of(
        tree: &'a TraceTree,
        shown_id: &'a str,
        damaged_blocks: usize,
        flags: &[u32],
    ) -> (Self, Codes) {
        let mut names = Texts::new(TEXT_MAX_BYTES, NAMES_MAX_BYTES);
        let mut messages = Texts::new(MESSAGE_MAX_BYTES, MESSAGES_MAX_BYTES);
        let resources = Resources::of(tree);
        let message = |row: usize, messages: &mut Texts<'a>| {
            let text = tree.bytes(tree.spans[row].message);
            if text.is_empty() { -1 } else { messages.code(text).cast_signed() }
        };
        let rows = 0..tree.len();
        let codes = Codes {
            names: rows.clone().map(|row| names.code(tree.name(row))).collect(),
            services: tree
                .spans
                .iter()
                .map(|span| resources.service_of[span.resource as usize])
                .collect(),
            messages: rows.map(|row| message(row, &mut messages)).collect(),
        };
        let text = |piece: Piece| cut(tree.bytes(piece), TEXT_MAX_BYTES);
        let scopes = tree.scopes.iter();
        let totals = totals(tree, flags, &resources);
        let header = Self {
            trace: shown_id,
            trace_id: hex(&tree.trace_id),
            revision: tree.revision(),
            t0: tree.start_nanos.to_string(),
            duration_nanos: tree.end_nanos - tree.start_nanos,
            spans: tree.len(),
            main: tree.main_row().map(|row| Main {
                row,
                name: text(tree.spans[row].name),
                service: text(tree.resource(row).service),
            }),
            roots: tree.tops().take(HEADER_MAX_ROOTS).collect(),
            scopes: scopes
                .map(|scope| ScopeName { name: text(scope.name), version: text(scope.version) })
                .collect(),
            warnings: warnings(tree, flags, damaged_blocks, names.is_full()),
            names: names.into_texts(),
            messages: messages.into_texts(),
            hosts: resources.hosts,
            services: resources.services,
            resources: resources.shown,
            totals,
            critical_path: critical_path(tree),
        };
        (header, codes)
    }
}

/// Services, hosts and resources of a trace.
struct Resources<'a> {
    services: Vec<Service<'a>>,
    hosts: Vec<Cow<'a, str>>,
    shown: Vec<ResourceName<'a>>,
    /// The service of each resource.
    service_of: Vec<u32>,
}

impl<'a> Resources<'a> {
    fn of(tree: &'a TraceTree) -> Self {
        let mut found = Self {
            services: Vec::new(),
            hosts: Vec::new(),
            shown: Vec::new(),
            service_of: Vec::new(),
        };
        let mut known_services: HashMap<(&[u8], &[u8]), u32> = HashMap::new();
        let mut hosts = Texts::new(TEXT_MAX_BYTES, NAMES_MAX_BYTES);
        for resource in &tree.resources {
            let key = (tree.bytes(resource.service), tree.bytes(resource.namespace));
            let service = *known_services.entry(key).or_insert_with(|| {
                found.services.push(Service {
                    name: cut(key.0, TEXT_MAX_BYTES),
                    namespace: cut(key.1, TEXT_MAX_BYTES),
                    spans: 0,
                    errors: 0,
                    self_nanos: 0,
                    critical_nanos: 0,
                });
                found.services.len() as u32 - 1
            });
            found.service_of.push(service);
            let host = Some(tree.bytes(resource.host)).filter(|host| !host.is_empty());
            let host = host.map(|host| hosts.code(host));
            if found.shown.len() < HEADER_MAX_RESOURCES {
                let instance = instance(tree, resource);
                found.shown.push(ResourceName { service, host, instance, spans: 0 });
            }
        }
        found.hosts = hosts.into_texts();
        found.count(tree);
        found
    }

    fn count(&mut self, tree: &TraceTree) {
        for (row, (span, laid)) in tree.spans.iter().zip(&tree.laid).enumerate() {
            let service = &mut self.services[self.service_of[span.resource as usize] as usize];
            service.spans += 1;
            service.errors += usize::from(tree.is_error(row));
            service.self_nanos = service.self_nanos.saturating_add(laid.self_nanos);
            service.critical_nanos = service.critical_nanos.saturating_add(laid.critical_nanos);
            if let Some(resource) = self.shown.get_mut(span.resource as usize) {
                resource.spans += 1;
            }
        }
    }
}

fn instance<'a>(tree: &'a TraceTree, resource: &Resource) -> Option<Cow<'a, str>> {
    let text = tree.bytes(resource.instance);
    if text.is_empty() {
        return resource.instance_number.map(|pid| Cow::Owned(format!("pid {pid}")));
    }
    Some(cut(text, TEXT_MAX_BYTES))
}

fn totals(tree: &TraceTree, flags: &[u32], resources: &Resources<'_>) -> Totals {
    let count = |bit: u32| flags.iter().filter(|flags| **flags & bit != 0).count();
    Totals {
        spans: tree.len(),
        errors: count(flags::ERROR),
        roots: tree.tops().count(),
        orphans: count(flags::ORPHAN),
        running: count(flags::RUNNING),
        skewed: count(flags::SKEWED),
        cycles: count(flags::CYCLE),
        duplicates: count(flags::DUPLICATE),
        untimed: count(flags::UNTIMED),
        events: tree.spans.iter().map(|span| u64::from(span.events)).sum(),
        links: tree.spans.iter().map(|span| u64::from(span.links)).sum(),
        services: resources.services.len(),
        hosts: resources.hosts.len(),
        resources: tree.resources.len(),
        max_depth: tree.laid.iter().map(|laid| laid.depth).max().unwrap_or(0),
    }
}

fn critical_path(tree: &TraceTree) -> CriticalPath {
    let ends = tree.stretches.first().zip(tree.stretches.last());
    let idle = tree.stretches.iter().filter(|stretch| stretch.row.is_none());
    CriticalPath {
        duration_nanos: ends.map_or(0, |(first, last)| last.to_nanos - first.from_nanos),
        idle_nanos: idle.map(|stretch| stretch.to_nanos - stretch.from_nanos).sum(),
        spans: tree.laid.iter().filter(|laid| laid.is_critical).count(),
        stretches: tree.stretches.len(),
        truncated: tree.stretches.len() > PATH_MAX_STRETCHES,
    }
}

fn warnings(
    tree: &TraceTree,
    flags: &[u32],
    damaged_blocks: usize,
    names_are_cut: bool,
) -> Vec<Warning> {
    let mut found = Vec::new();
    let mut add = |code, rows: &mut dyn Iterator<Item = usize>, text: &str| {
        let first = rows.next();
        let count = usize::from(first.is_some()) + rows.count();
        if count > 0 {
            found.push(Warning { code, count, row: first, text: text.to_owned() });
        }
    };
    let with = |bit: u32| (0..flags.len()).filter(move |row| flags[*row] & bit != 0);
    let went_back = |row: &usize| tree.spans[*row].duration_nanos < 0;
    add(
        "clock-skew",
        &mut with(flags::SKEWED).filter(|row| !went_back(row)),
        "with a beginning before that of the parent, or after its end: clocks differ, or nobody waited",
    );
    add(
        "negative-duration",
        &mut (0..tree.len()).filter(went_back),
        "with an end before the beginning, shown as taking no time",
    );
    add("cycle", &mut with(flags::CYCLE), "in a circle of parents, which was cut");
    add("duplicate", &mut with(flags::DUPLICATE), "with the id of another span");
    add("orphan", &mut with(flags::ORPHAN), "with a parent that is not here");
    add("untimed", &mut with(flags::UNTIMED), "sent without a start");
    if names_are_cut {
        let text = "there are more names than can be shown".to_owned();
        found.push(Warning { code: "names-cut", count: 1, row: None, text });
    }
    if tree.stretches.len() > PATH_MAX_STRETCHES {
        let text = "the critical path has more stretches than can be shown".to_owned();
        found.push(Warning { code: "path-cut", count: tree.stretches.len(), row: None, text });
    }
    if damaged_blocks > 0 {
        let text = "blocks could not be read because they are damaged: spans may be missing";
        let (code, text) = ("damaged", text.to_owned());
        found.push(Warning { code, count: damaged_blocks, row: None, text });
    }
    found
}
