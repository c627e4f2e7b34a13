//! Which records of a request are kept, by flags on who made them.
#![allow(clippy::unwrap_used, clippy::panic, unreachable_pub, reason = "a test")]

use std::collections::{BTreeMap, BTreeSet};

use kymo_admit::audience::{Audience, AudienceSettings, Author, FlagBook, FlagPatch, Gate};
use kymo_condition::Record;
use kymo_wire::{LogsView, TracesView, View};
use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{
    AnyValue, ArrayValue, InstrumentationScope, KeyValue, KeyValueList,
};
use opentelemetry_proto::tonic::logs::v1::{LogRecord, ResourceLogs, ScopeLogs};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::span::{Event, Link};
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span};
use prost::Message;

const AUTHOR: Author<'_> = Author { by: "root", at_millis: 1 };

/// Flags from their documents.
fn book(flags: &[(&str, &str)]) -> FlagBook {
    let mut book = FlagBook::default();
    for (key, json) in flags {
        let said: FlagPatch = serde_json::from_str(json).unwrap();
        book.create(key, said, &AudienceSettings::default(), &AUTHOR).unwrap();
    }
    book
}

fn audience(flags: &[(&str, &str)]) -> Audience {
    Audience::new(book(flags))
}

fn attribute(key: &str, value: Value) -> KeyValue {
    KeyValue {
        key: key.to_owned(),
        value: Some(AnyValue { value: Some(value) }),
        ..KeyValue::default()
    }
}

fn user_attribute(key: &str, user: Option<&str>) -> Vec<KeyValue> {
    user.map(|user| attribute(key, Value::StringValue(user.to_owned()))).into_iter().collect()
}

fn trace_id(trace: u8) -> Vec<u8> {
    vec![trace; 16]
}

/// A span of a trace, which may name a user.
fn span(trace: u8, name: &str, user: Option<&str>) -> Span {
    Span {
        trace_id: trace_id(trace),
        span_id: vec![1; 8],
        name: name.to_owned(),
        attributes: user_attribute("user.id", user),
        ..Span::default()
    }
}

fn of_spans(spans: Vec<Span>) -> ResourceSpans {
    let scope_spans = vec![ScopeSpans { spans, ..ScopeSpans::default() }];
    ResourceSpans { scope_spans, ..ResourceSpans::default() }
}

/// Hands each span of a request to `see`.
fn walk(request: &[u8], mut see: impl FnMut(&Record<'_>, &str)) {
    for group in TracesView::parse(request).unwrap().resources {
        let group = group.unwrap();
        for scope in group.scopes {
            let scope = scope.unwrap();
            for span in scope.items {
                let span = span.unwrap();
                let record = Record::span(group.resource.as_ref(), scope.scope.as_ref(), &span);
                see(&record, &kymo_wire::text(span.name));
            }
        }
    }
}

/// The names of spans that are kept of a request.
fn kept_of(audience: &Audience, tenant: &str, resource_spans: Vec<ResourceSpans>) -> Vec<String> {
    let request = ExportTraceServiceRequest { resource_spans }.encode_to_vec();
    let mut kept = Vec::new();
    let Some(mut gate) = audience.gate(tenant) else {
        walk(&request, |_, name| kept.push(name.to_owned()));
        return kept;
    };
    walk(&request, |record, _| gate.learn(record));
    walk(&request, |record, name| {
        if gate.records(record) {
            kept.push(name.to_owned());
        }
    });
    kept
}

fn kept(audience: &Audience, spans: Vec<Span>) -> Vec<String> {
    kept_of(audience, "default", vec![of_spans(spans)])
}

/// Whether a log record is kept.
fn keeps_log(audience: &Audience, trace: Option<u8>, user: Option<&str>) -> bool {
    let record = LogRecord {
        trace_id: trace.map(trace_id).unwrap_or_default(),
        attributes: user_attribute("user.id", user),
        ..LogRecord::default()
    };
    let scope_logs = vec![ScopeLogs { log_records: vec![record], ..ScopeLogs::default() }];
    let resource_logs = vec![ResourceLogs { scope_logs, ..ResourceLogs::default() }];
    let request = ExportLogsServiceRequest { resource_logs }.encode_to_vec();
    let Some(mut gate) = audience.gate("default") else { return true };
    let decide = |gate: &mut Gate, is_second: bool| {
        let mut is_kept = false;
        for group in LogsView::parse(&request).unwrap().resources {
            for scope in group.unwrap().scopes {
                for log in scope.unwrap().items {
                    let record = Record::log(None, None, &log.unwrap());
                    if is_second {
                        is_kept = gate.records(&record);
                    } else {
                        gate.learn(&record);
                    }
                }
            }
        }
        is_kept
    };
    decide(&mut gate, false);
    decide(&mut gate, true)
}

const ONLY_ADA: &str = r#"{"mode": "selected", "users": ["ada"], "attributes": ["user.id"]}"#;

#[test]
fn without_an_enabled_flag_there_is_no_gate() {
    assert!(Audience::default().gate("default").is_none());
    assert!(audience(&[("a", r#"{"enabled": false}"#)]).gate("default").is_none());
    assert!(audience(&[("a", r#"{"mode": "everybody"}"#)]).gate("default").is_some());
}

#[test]
fn a_new_flag_keeps_nobody_and_everybody_keeps_all() {
    let spans = || vec![span(1, "a", Some("ada")), span(2, "b", None)];
    assert_eq!(kept(&audience(&[("a", "{}")]), spans()), [""; 0]);
    assert_eq!(kept(&audience(&[("a", r#"{"mode": "everybody"}"#)]), spans()), ["a", "b"]);
}

#[test]
fn the_user_of_a_later_span_decides_on_the_earlier_ones_of_the_request() {
    let audience = audience(&[("a", ONLY_ADA)]);
    let spans = vec![
        span(1, "first", None),
        span(2, "of bob", None),
        span(1, "second", Some("ada")),
        span(2, "names bob", Some("bob")),
        span(3, "of nobody", None),
        span(1, "third", None),
    ];
    assert_eq!(kept(&audience, spans), ["first", "second", "third"]);
}

#[test]
fn later_requests_follow_the_first_decision_of_a_trace() {
    let audience = audience(&[("a", ONLY_ADA)]);
    assert_eq!(kept(&audience, vec![span(1, "early", None)]), [""; 0], "not known yet");
    assert_eq!(kept(&audience, vec![span(1, "named", Some("ada"))]), ["named"]);
    assert_eq!(kept(&audience, vec![span(1, "late", None)]), ["late"]);
    assert_eq!(kept(&audience, vec![span(2, "named", Some("bob"))]), [""; 0]);
    assert_eq!(kept(&audience, vec![span(2, "ada's", Some("ada"))]), [""; 0], "bob was first");
    let excluded = vec![span(1, "bob's", Some("bob")), span(1, "after", None)];
    assert_eq!(kept(&audience, excluded), ["after"], "who is excluded is not kept in any trace");
}

#[test]
fn another_tenant_s_trace_with_the_same_id_is_another_trace() {
    let audience = audience(&[("a", ONLY_ADA)]);
    let named = || vec![of_spans(vec![span(1, "named", Some("ada"))])];
    let unnamed = || vec![of_spans(vec![span(1, "late", None)])];
    assert_eq!(kept_of(&audience, "one", named()), ["named"]);
    assert_eq!(kept_of(&audience, "two", unnamed()), [""; 0]);
    assert_eq!(kept_of(&audience, "one", unnamed()), ["late"]);
}

#[test]
fn unknown_users_are_decided_by_the_flag_s_rule() {
    let open = r#"{"mode": "selected", "unknown": "everybody"}"#;
    let audience = audience(&[("a", open)]);
    assert_eq!(kept(&audience, vec![span(1, "early", None)]), ["early"]);
    assert_eq!(kept(&audience, vec![span(1, "named", Some("bob"))]), [""; 0]);
    assert_eq!(kept(&audience, vec![span(1, "late", None)]), [""; 0]);
}

#[test]
fn a_change_decides_open_traces_anew_by_the_users_that_are_known() {
    let audience = audience(&[("a", ONLY_ADA)]);
    let gate_before = audience.gate("default");
    assert_eq!(kept(&audience, vec![span(1, "named", Some("ada"))]), ["named"]);
    assert_eq!(kept(&audience, vec![span(2, "named", Some("bob"))]), [""; 0]);
    audience.clone().replace(book(&[("a", &ONLY_ADA.replace("ada", "bob"))]));
    assert_eq!(kept(&audience, vec![span(1, "of ada", None)]), [""; 0]);
    assert_eq!(kept(&audience, vec![span(2, "of bob", None)]), ["of bob"]);
    drop(gate_before);
    audience.replace(FlagBook::default());
    assert_eq!(kept(&audience, vec![span(1, "of ada", None)]), ["of ada"]);
}

#[test]
fn every_flag_that_is_about_a_record_has_to_allow_it() {
    let shop =
        r#"{"mode": "selected", "users": ["bob"], "where": "resource.service.name = \"shop\""}"#;
    let audience =
        audience(&[("all", r#"{"mode": "selected", "regex": "ada|bob"}"#), ("shop", shop)]);
    let of = |service: &str, spans| ResourceSpans {
        resource: Some(Resource {
            attributes: vec![attribute("service.name", Value::StringValue(service.to_owned()))],
            ..Resource::default()
        }),
        ..of_spans(spans)
    };
    let request = vec![
        of("shop", vec![span(1, "ada in shop", Some("ada")), span(2, "bob in shop", Some("bob"))]),
        of("desk", vec![span(1, "ada at desk", None), span(3, "cyd at desk", Some("cyd"))]),
    ];
    assert_eq!(kept_of(&audience, "default", request), ["bob in shop", "ada at desk"]);
}

#[test]
fn flags_may_look_for_users_in_different_attributes() {
    let by_customer = r#"{"mode": "selected", "users": ["acme"], "attributes": ["customer"]}"#;
    let audience = audience(&[("user", ONLY_ADA), ("customer", by_customer)]);
    let both = |trace, name: &str, user, customer| {
        let mut span = span(trace, name, Some(user));
        span.attributes.extend(user_attribute("customer", Some(customer)));
        span
    };
    let spans = vec![
        both(1, "both", "ada", "acme"),
        both(2, "wrong customer", "ada", "other"),
        both(3, "wrong user", "bob", "acme"),
        span(1, "after both", None),
        span(2, "after wrong", None),
    ];
    assert_eq!(kept(&audience, spans), ["both", "after both"]);
}

#[test]
fn users_are_found_in_record_scope_and_resource_by_the_flag_s_order() {
    let audience = audience(&[("a", r#"{"mode": "selected", "users": ["ada", "42"]}"#)]);
    let mut group = of_spans(vec![span(1, "of resource", None), span(2, "own", Some("bob"))]);
    group.resource = Some(Resource {
        attributes: user_attribute("user.id", Some("ada")),
        ..Resource::default()
    });
    let mut scoped = of_spans(vec![span(3, "of scope", None)]);
    scoped.scope_spans[0].scope = Some(InstrumentationScope {
        attributes: user_attribute("enduser.id", Some("ada")),
        ..InstrumentationScope::default()
    });
    let mut number = span(4, "number", None);
    number.attributes = vec![attribute("user.id", Value::IntValue(42))];
    let mut second = span(5, "second name", Some("bob"));
    second.attributes.extend(user_attribute("enduser.id", Some("ada")));
    let request = vec![group, scoped, of_spans(vec![number, second])];
    assert_eq!(kept_of(&audience, "default", request), ["of resource", "of scope", "number"]);
}

#[test]
fn an_attribute_that_names_nobody_does_not_hide_one_that_does() {
    let audience = audience(&[("a", r#"{"mode": "selected", "unknown": "everybody"}"#)]);
    let mut group = of_spans(vec![span(1, "empty", Some(""))]);
    assert_eq!(kept_of(&audience, "default", vec![group.clone()]), ["empty"], "not known");
    group.resource = Some(Resource {
        attributes: user_attribute("user.id", Some("bob")),
        ..Resource::default()
    });
    assert_eq!(kept_of(&audience, "default", vec![group]), [""; 0]);
}

#[test]
fn whoever_a_record_names_has_to_be_allowed() {
    let open = r#"{"mode": "selected", "users": ["ada", "cyd"], "unknown": "everybody"}"#;
    let audience = audience(&[("a", open)]);
    let with = |trace, name: &str, attributes: Vec<KeyValue>| {
        let mut span = span(trace, name, None);
        span.attributes = attributes;
        span
    };
    let users = |names: &[&str]| {
        let value = |name: &&str| AnyValue { value: Some(Value::StringValue((*name).to_owned())) };
        let values = names.iter().map(value).collect();
        vec![attribute("user.id", Value::ArrayValue(ArrayValue { values }))]
    };
    let of = |key: &str, name: &str| user_attribute(key, Some(name));
    let map = |name: &str| {
        let values = of("id", name);
        vec![attribute("user.id", Value::KvlistValue(KeyValueList { values }))]
    };
    let bytes = |name: &str| vec![attribute("user.id", Value::BytesValue(name.into()))];
    let excluded = vec![
        with(1, "twice", [of("user.id", "ada"), of("user.id", "bob")].concat()),
        with(2, "by another attribute", [of("user.id", "ada"), of("enduser.id", "bob")].concat()),
        with(3, "in a list", users(&["ada", "bob"])),
        with(4, "in a map", map("bob")),
        with(5, "in bytes", bytes("bob")),
    ];
    assert_eq!(kept(&audience, excluded), [""; 0]);
    let allowed = vec![
        with(11, "twice", [of("user.id", "ada"), of("user.id", "cyd")].concat()),
        with(12, "list", users(&["ada", "cyd"])),
        with(13, "map", map("ada")),
        with(14, "bytes", bytes("ada")),
    ];
    assert_eq!(kept(&audience, allowed), ["twice", "list", "map", "bytes"]);
    let mut group = of_spans(vec![span(21, "of ada", Some("ada")), span(22, "of nobody", None)]);
    group.resource = Some(Resource { attributes: of("user.id", "bob"), ..Resource::default() });
    assert_eq!(kept_of(&audience, "default", vec![group]), [""; 0], "the resource is bob's");
    assert_eq!(kept(&audience, vec![span(21, "later", None)]), ["later"], "ada's trace");
    assert_eq!(kept(&audience, vec![span(22, "later", None)]), [""; 0], "bob's trace");
}

#[test]
fn events_and_links_that_name_an_excluded_user_take_their_span_along() {
    let open = r#"{"mode": "selected", "users": ["ada"], "unknown": "everybody"}"#;
    let audience = audience(&[("a", open)]);
    let event = |trace, name: &str, user| Span {
        events: vec![Event {
            attributes: user_attribute("user.id", Some(user)),
            ..Event::default()
        }],
        ..span(trace, name, None)
    };
    let link = |trace, name: &str, user| Span {
        links: vec![Link {
            attributes: user_attribute("enduser.id", Some(user)),
            ..Link::default()
        }],
        ..span(trace, name, None)
    };
    let spans = vec![
        event(1, "event of ada", "ada"),
        event(2, "event of bob", "bob"),
        link(3, "link to ada", "ada"),
        link(4, "link to bob", "bob"),
        span(2, "beside", None),
    ];
    let expected = ["event of ada", "link to ada", "beside"];
    assert_eq!(kept(&audience, spans), expected, "they do not say whose the trace is");
}

#[test]
fn log_records_follow_their_trace_and_those_without_decide_for_themselves() {
    let audience = audience(&[("a", ONLY_ADA)]);
    kept(&audience, vec![span(1, "ada's", Some("ada")), span(2, "bob's", Some("bob"))]);
    assert!(keeps_log(&audience, Some(1), None));
    assert!(!keeps_log(&audience, Some(2), None));
    assert!(!keeps_log(&audience, Some(1), Some("bob")));
    assert!(keeps_log(&audience, None, Some("ada")));
    assert!(!keeps_log(&audience, None, Some("bob")));
    assert!(!keeps_log(&audience, None, None));
    // And spans follow what log records named.
    assert!(keeps_log(&audience, Some(3), Some("ada")));
    assert_eq!(kept(&audience, vec![span(3, "ada's too", None)]), ["ada's too"]);
}

#[test]
fn a_flag_is_about_its_signals_only() {
    let traces = r#"{"signals": ["traces"]}"#;
    let audience = audience(&[("a", traces)]);
    assert_eq!(kept(&audience, vec![span(1, "a", Some("ada"))]), [""; 0]);
    assert!(keeps_log(&audience, Some(1), Some("ada")));
    let gate = audience.gate("default").unwrap();
    use kymo_admit::Signal;
    assert!(gate.is_about(Signal::Traces) && !gate.is_about(Signal::Metrics));
    assert!(gate.is_about(Signal::Logs), "log records tell whose a trace is");
}

#[test]
fn series_of_remote_write_name_users_by_labels() {
    let audience = audience(&[("a", ONLY_ADA)]);
    let mut gate = audience.gate("default").unwrap();
    let mut keeps = |labels: &[(&[u8], &[u8])]| gate.records(&Record::series(labels));
    assert!(keeps(&[(b"__name__", b"up"), (b"user_id", b"ada")]));
    assert!(keeps(&[(b"user.id", b"ada")]));
    assert!(!keeps(&[(b"user_id", b"bob")]));
    assert!(!keeps(&[(b"__name__", b"up")]));
    let ada: &[(&[u8], &[u8])] = &[(b"user_id", b"ada")];
    let mut keeps = |exemplar| gate.records(&Record::series_with_exemplars(ada, exemplar));
    assert!(keeps(&[(b"user_id", b"ada"), (b"trace_id", b"0a")]));
    assert!(!keeps(&[(b"trace_id", b"0a"), (b"user_id", b"bob")]));
}

#[test]
fn nothing_that_is_printed_for_debugging_names_a_user() {
    let secret = r#"{"mode": "selected", "users": ["ada-lovelace"], "regex": "ada-l.*"}"#;
    let audience = audience(&[("a", secret)]);
    kept(&audience, vec![span(1, "a", Some("ada-lovelace")), span(2, "b", Some("bob-secret"))]);
    let mut gate = audience.gate("default").unwrap();
    let request = ExportTraceServiceRequest {
        resource_spans: vec![of_spans(vec![span(3, "c", Some("ada-lovelace"))])],
    };
    walk(&request.encode_to_vec(), |record, _| gate.learn(record));
    let book = audience.book();
    for text in [
        format!("{audience:?}"),
        format!("{gate:?}"),
        format!("{book:?}"),
        format!("{:?}", book.rule("a")),
        format!("{:?}", kymo_admit::audience::api::list(&book)),
    ] {
        assert!(!text.contains("ada-l") && !text.contains("bob-"), "{text}");
    }
}

/// Numbers that look random, the same for a seed.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % end as u64).unwrap()
    }
}

/// Spans of a hundred traces, each of one user whom some of its spans name, come in random order in
/// requests of random length, while flags change now and then. Held to the rule in plain words.
#[test]
fn random_requests_are_kept_as_the_rule_says() {
    const USERS: [&str; 4] = ["ada", "bob", "cyd", "dan"];
    for seed in 0..60 {
        let mut random = Random(seed);
        let unknown = ["nobody", "everybody"][random.below(2)];
        let flags = |random: &mut Random| {
            let users: BTreeSet<_> = (0..3).map(|_| USERS[random.below(4)]).collect();
            let json = serde_json::json!({"mode": "selected", "users": users, "unknown": unknown});
            (book(&[("a", &json.to_string())]), users)
        };
        let (first, mut selected) = flags(&mut random);
        let audience = Audience::new(first);
        let mut known: BTreeMap<u8, &str> = BTreeMap::new();
        for request in 0..40 {
            if random.below(8) == 0 {
                let (next, users) = flags(&mut random);
                audience.replace(next);
                selected = users;
            }
            let spans: Vec<_> = (0..random.below(30))
                .map(|_| {
                    let trace = 1 + u8::try_from(random.below(100)).unwrap();
                    let is_named = random.below(4) == 0;
                    (trace, is_named.then(|| USERS[usize::from(trace) % 4]))
                })
                .collect();
            for (trace, user) in &spans {
                known.extend(user.map(|user| (*trace, user)));
            }
            let is_kept = |trace: &u8| match known.get(trace) {
                Some(user) => selected.contains(user),
                None => unknown == "everybody",
            };
            let expected: Vec<_> =
                spans.iter().map(|(trace, _)| trace).filter(|trace| is_kept(trace)).collect();
            let expected: Vec<_> = expected.into_iter().map(u8::to_string).collect();
            let made = spans.iter().map(|(trace, user)| span(*trace, &trace.to_string(), *user));
            let found = kept(&audience, made.collect());
            assert_eq!(found, expected, "seed {seed}, request {request}");
        }
    }
}

#[test]
fn many_threads_see_one_user_of_a_trace() {
    let audience = audience(&[("a", ONLY_ADA)]);
    let decisions: Vec<Vec<bool>> = std::thread::scope(|scope| {
        let workers: Vec<_> = ["ada", "bob", "ada", "bob"]
            .into_iter()
            .map(|user| {
                let audience = &audience;
                scope.spawn(move || {
                    for trace in 1..=200 {
                        kept(audience, vec![span(trace, "named", Some(user))]);
                    }
                    (1..=200)
                        .map(|trace| !kept(audience, vec![span(trace, "x", None)]).is_empty())
                        .collect()
                })
            })
            .collect();
        workers.into_iter().map(|worker| worker.join().unwrap()).collect()
    });
    assert!(decisions.windows(2).all(|pair| pair[0] == pair[1]));
}
