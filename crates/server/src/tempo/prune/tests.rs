use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use kymo_wire::AnyValueView;
use kymo_wire::encode::SpanFields;

use super::fixture::{
    MILLIS, Seen, Sent, encoded, fan, handlers, left, outline, pruned, seen, sent, shown, write,
};
use super::*;

#[test]
fn a_summary_has_the_longest_spans_fields_the_time_of_all_and_what_they_took() {
    let mut spans = fan(5);
    for (span, took_millis) in spans[1..].iter_mut().zip([5, 15, 75, 30, 11_000]) {
        span.took_millis = took_millis;
        *span = span.clone().with("db.rows", &took_millis.to_string());
    }
    let left = left("", &spans);
    assert_eq!(outline(&left), ["5x SELECT", "root"]);
    let summary = &left[1];
    assert_eq!(summary.parent, 1);
    assert!(spans.iter().all(|span| span.id != summary.id) && summary.id != 0);
    assert_eq!(summary.start_nanos, 1010 * MILLIS);
    assert_eq!(summary.end_nanos, (1014 + 11_000) * MILLIS);
    assert_eq!(summary.events, 1);
    let expected = [
        ("aggregation.duration_avg_ns", "2225000000"),
        ("aggregation.duration_max_ns", "11000000000"),
        ("aggregation.duration_min_ns", "5000000"),
        ("aggregation.duration_total_ns", "11125000000"),
        ("aggregation.histogram_bucket_bounds_s", "0.005 0.01 0.025 0.05 0.1 0.25 0.5 1 2.5 5 10"),
        ("aggregation.histogram_bucket_counts", "1 1 2 3 4 4 4 4 4 4 4 5"),
        ("aggregation.is_summary", "true"),
        ("aggregation.span_count", "5"),
        ("db.rows", "11000"),
    ];
    let attributes: Vec<(&str, &str)> =
        summary.attributes.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
    assert_eq!(attributes, expected);
}

#[test]
fn five_leaves_are_enough_unless_another_number_is_given() {
    assert_eq!(outline(&left("", &fan(4))).len(), 5);
    assert_eq!(pruned("", &encoded(&fan(4))), Pruned::Nothing);
    assert_eq!(outline(&left("", &fan(5))), ["5x SELECT", "root"]);
    assert_eq!(outline(&left("span_pruning_min_spans=2", &fan(2))), ["2x SELECT", "root"]);
    assert_eq!(outline(&left("span_pruning_min_spans=6", &fan(5))).len(), 6);
}

#[test]
fn leaves_differ_by_name_kind_status_trace_state_and_the_name_of_their_parent() {
    let differ = |change: fn(&mut Sent)| {
        let mut spans = fan(4);
        spans.push(sent(2, 0, "other root"));
        spans[4..5].iter_mut().for_each(change);
        outline(&left("span_pruning_min_spans=2", &spans)).len()
    };
    assert_eq!(differ(|_| ()), 3);
    assert_eq!(differ(|span| span.took_millis = 99), 3);
    for change in [
        |span: &mut Sent| span.name.push('x'),
        |span: &mut Sent| span.kind = 3,
        |span: &mut Sent| span.status = 2,
        |span: &mut Sent| span.trace_state = "ot=th:8",
        |span: &mut Sent| span.parent = 2,
        |span: &mut Sent| span.parent = 0,
    ] {
        assert_eq!(differ(change), 4);
    }
}

#[test]
fn attributes_count_if_a_pattern_names_them() {
    let mut spans = fan(4);
    for (span, (operation, rows)) in
        spans[1..].iter_mut().zip([("get", "1"), ("put", "2"), ("get", "3"), ("put", "4")])
    {
        *span = span.clone().with("db.operation", operation).with("rows", rows);
    }
    let count = |group_by: &str| {
        let parameters = format!("span_pruning_min_spans=2&span_pruning_group_by={group_by}");
        outline(&left(&parameters, &spans))
    };
    assert_eq!(count(""), ["4x SELECT", "root"]);
    assert_eq!(count("db.*"), ["2x SELECT", "2x SELECT", "root"]);
    assert_eq!(count("nobody,+db.operation"), ["2x SELECT", "2x SELECT", "root"]);
    assert_eq!(count("rows").len(), 5);
}

#[test]
fn parents_become_one_when_nothing_else_is_below_them() {
    let mut spans = handlers(3);
    let two = "span_pruning_min_spans=2";
    let whole = left(two, &spans);
    assert_eq!(outline(&whole), ["3x SELECT", "3x handler", "root"]);
    let id_of = |name: &str| whole.iter().find(|span| span.name == name).unwrap().id;
    let parent_of = |name: &str| whole.iter().find(|span| span.name == name).unwrap().parent;
    assert_eq!(parent_of("SELECT"), id_of("handler"));
    assert_eq!(parent_of("handler"), 1);

    let leaves_alone = left(&format!("{two}&span_pruning_max_parent_depth=0"), &spans);
    assert_eq!(outline(&leaves_alone), ["3x SELECT", "handler", "handler", "handler", "root"]);
    let summary = leaves_alone.iter().find(|span| span.count().is_some()).unwrap();
    assert_eq!(summary.parent, 100, "below the first of their parents");

    spans.push(sent(300, 102, "INSERT"));
    let expected = ["2x handler", "3x SELECT", "INSERT", "handler", "root"];
    assert_eq!(outline(&left(two, &spans)), expected);
    spans[3].status = 2;
    let expected = ["3x SELECT", "INSERT", "handler", "handler", "handler", "root"];
    assert_eq!(outline(&left(two, &spans)), expected, "one parent alone is not enough");
}

#[test]
fn levels_above_are_counted() {
    let mut spans = handlers(4);
    for (nth, span) in spans.iter_mut().filter(|span| span.name == "handler").enumerate() {
        span.parent = 50 + nth as u64 % 2;
    }
    spans.extend([sent(50, 1, "batch"), sent(51, 1, "batch")]);
    let depth = |depth: &str| {
        let parameters = format!("span_pruning_min_spans=2&span_pruning_max_parent_depth={depth}");
        outline(&left(&parameters, &spans))
    };
    assert_eq!(depth("1"), ["4x SELECT", "4x handler", "batch", "batch", "root"]);
    for all in ["2", "-1", "18446744073709551615"] {
        assert_eq!(depth(all), ["2x batch", "4x SELECT", "4x handler", "root"]);
    }
}

#[test]
fn roots_and_spans_without_their_parent_stay_as_parents_and_become_one_as_leaves() {
    let two = "span_pruning_min_spans=2";
    // Parents that are not there: the way a filter leaves a trace.
    let lost = [sent(1, 90, "x"), sent(2, 91, "x"), sent(3, 0, "x")];
    let left_of_lost = left(two, &lost);
    assert_eq!(outline(&left_of_lost), ["3x x"]);
    assert_eq!(left_of_lost[0].parent, 90);
    let roots = [sent(1, 0, "r"), sent(2, 99, "r"), sent(3, 1, "x"), sent(4, 2, "x")];
    assert_eq!(outline(&left(two, &roots)), ["2x x", "r", "r"]);
}

#[test]
fn no_span_that_is_left_has_lost_its_parent() {
    // Pseudo-random trees of few names, so that there is much to prune.
    for seed in 1..200_u64 {
        let mut state = seed;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % below
        };
        let spans: Vec<Sent> = (1..=40)
            .map(|id| {
                let parent = if id == 1 { 0 } else { 1 + random(id - 1) };
                sent(id, parent, ["a", "b"][random(2) as usize])
            })
            .collect();
        let left = left("span_pruning_min_spans=2&span_pruning_max_parent_depth=-1", &spans);
        let ids: BTreeSet<u64> = left.iter().map(|span| span.id).collect();
        assert_eq!(ids.len(), left.len(), "{seed}: ids are unique");
        let has_parent = |span: &Seen| span.parent == 0 || ids.contains(&span.parent);
        assert!(left.iter().all(has_parent), "{seed}: {left:?}");
        let counted: usize = left.iter().map(|span| span.count().unwrap_or(1)).sum();
        assert_eq!(counted, spans.len(), "{seed}: each span is counted once");
    }
}

#[test]
fn a_trace_that_was_pruned_before_stays_as_it_is() {
    let Pruned::Now(once) = pruned("", &encoded(&fan(9))) else { panic!("nine are enough") };
    assert_eq!(pruned("span_pruning_min_spans=2", &once), Pruned::Before);
    // An attribute of that name that is no boolean says nothing, and gives way.
    let mut spans = fan(5);
    spans[1] = spans[1].clone().with("aggregation.is_summary", "true");
    assert_eq!(left("", &spans)[1].attributes["aggregation.is_summary"], "true");
    let trace = encoded(&spans);
    let Pruned::Now(smaller) = pruned("", &trace) else { panic!("five are enough") };
    let count = |bytes: &[u8]| bytes.windows(10).filter(|at| *at == b"is_summary").count();
    assert_eq!(count(&smaller), 1);
}

#[test]
fn the_same_question_has_the_same_answer() {
    let trace = encoded(&handlers(20));
    assert_eq!(pruned("", &trace), pruned("", &trace));
}

#[test]
fn a_summary_takes_no_id_that_a_span_has() {
    let mut spans = fan(5);
    let taken = left("", &spans)[1].id;
    spans.push(Sent { id: taken, ..sent(2, 1, "other") });
    let left = left("", &spans);
    assert_eq!(outline(&left), ["5x SELECT", "other", "root"]);
    assert_ne!(left[1].id, taken);
}

#[test]
fn the_first_in_the_trace_says_where_a_summary_belongs() {
    // The queries come in another order than the handlers that they are below.
    let spans = [
        sent(1, 0, "root"),
        sent(50, 1, "a"),
        sent(51, 1, "b"),
        sent(100, 50, "handler"),
        sent(101, 51, "handler"),
        sent(200, 101, "SELECT"),
        sent(201, 100, "SELECT"),
    ];
    let left = left("span_pruning_min_spans=2", &spans);
    let handler = left.iter().find(|span| span.name == "handler").unwrap();
    assert_eq!((handler.count(), handler.parent), (Some(2), 50));
}

#[test]
fn spans_that_share_an_id_stay() {
    let mut spans = fan(6);
    spans[2].id = spans[1].id;
    assert_eq!(outline(&left("span_pruning_min_spans=4", &spans)).len(), 4);
    assert_eq!(outline(&left("span_pruning_min_spans=5", &spans)).len(), 7);
    let mut spans = handlers(3);
    spans.push(sent(100, 1, "other"));
    let expected = ["2x handler", "3x SELECT", "handler", "other", "root"];
    assert_eq!(outline(&left("span_pruning_min_spans=2", &spans)), expected);
}

#[test]
fn groups_that_are_empty_then_are_left_out_and_the_rest_of_them_stays() {
    let mut out = Writer::new();
    let mut spans = fan(5);
    spans[3].took_millis = 500;
    for span in &spans {
        out.resource_group(|out| {
            let name = span.id.to_string();
            out.resource(|out| {
                out.resource_attribute(b"service.name", &AnyValueView::String(name.as_bytes()));
            });
            out.scope_group(|out| {
                out.scope(b"lib", b"2", |_| ());
                write(out, span);
                out.scope_schema_url(b"scope schema");
            });
            out.resource_schema_url(b"schema");
        });
    }
    let Pruned::Now(smaller) = pruned("", &out.into_bytes()) else { panic!("five are enough") };
    let resources = TracesView::parse(&smaller).unwrap().resources;
    let mut services = Vec::new();
    for resource in resources {
        let resource = resource.unwrap();
        assert_eq!(resource.schema_url, b"schema");
        let attribute = resource.resource.unwrap().attributes.iter().next().unwrap().unwrap();
        services.push(shown(attribute.value));
        let scope = resource.scopes.iter().next().unwrap().unwrap();
        assert_eq!(
            (scope.schema_url, scope.scope.unwrap().version),
            (&b"scope schema"[..], &b"2"[..])
        );
    }
    assert_eq!(services, ["1", "12"], "the root's, and that of the longest");
}

/// Not benchmarks: they only hold that nothing is quadratic, or as deep as a trace.
#[test]
fn chains_fans_and_rings_of_a_hundred_thousand_spans_end_soon() {
    const COUNT: u64 = 100_000;
    let parameters = "span_pruning_min_spans=2&span_pruning_max_parent_depth=-1&\
                      span_pruning_group_by=*a*b";
    let began = Instant::now();
    let chain: Vec<Sent> = (1..=COUNT).map(|id| sent(id, id - 1, "x")).collect();
    assert_eq!(left(parameters, &chain).len(), COUNT as usize);
    // Two chains from one root, of which each level becomes one span.
    let mut twins = vec![sent(1, 0, "root")];
    twins.extend((2..=COUNT).map(|id| sent(id, if id <= 3 { 1 } else { id - 2 }, "x")));
    twins.pop();
    assert_eq!(left(parameters, &twins).len(), COUNT as usize / 2);
    assert_eq!(left(parameters, &fan(COUNT)).len(), 2);
    let ring: Vec<Sent> = (1..=COUNT).map(|id| sent(id, 1 + id % COUNT, "x")).collect();
    assert_eq!(left(parameters, &ring).len(), COUNT as usize);
    assert_eq!(left(parameters, &[sent(5, 5, "own parent"), sent(6, 5, "x")]).len(), 2);
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
}

#[test]
fn clocks_that_were_set_back_do_no_harm() {
    let mut out = Writer::new();
    out.resource_group(|out| {
        out.scope_group(|out| {
            for (id, start, end) in [(1_u64, 10, 5), (2, u64::MAX, 0), (3, 0, u64::MAX)] {
                let fields = SpanFields {
                    span_id: &id.to_be_bytes(),
                    start_time_unix_nano: start,
                    end_time_unix_nano: end,
                    ..SpanFields::default()
                };
                out.span(&fields, |_| ());
            }
        });
    });
    let Pruned::Now(smaller) = pruned("span_pruning_min_spans=2", &out.into_bytes()) else {
        panic!("three are enough")
    };
    let summary = &seen(&smaller)[0];
    assert_eq!((summary.start_nanos, summary.end_nanos), (0, u64::MAX));
    assert_eq!(summary.attributes["aggregation.duration_min_ns"], i64::MIN.to_string());
    assert_eq!(summary.attributes["aggregation.duration_max_ns"], i64::MAX.to_string());
}

#[test]
fn what_is_asked_for_wrongly_is_refused() {
    let of = |text: &str| Pruning::of(&Parameters::parse(text).unwrap());
    assert_eq!(of(""), Ok(None));
    assert_eq!(of("span_pruning=false&span_pruning_min_spans=x"), Ok(None));
    let default = of("span_pruning=1").unwrap().unwrap();
    assert_eq!((default.min_spans, default.max_parent_depth), (5, 1));
    assert_eq!(of("span_pruning=true&span_pruning_group_by=,"), Ok(Some(default)));
    for (name, bad) in [
        ("span_pruning_min_spans", "1"),
        ("span_pruning_min_spans", "-5"),
        ("span_pruning_min_spans", "many"),
        ("span_pruning_max_parent_depth", "-2"),
        ("span_pruning_max_parent_depth", "1.5"),
        ("span_pruning_group_by", "db.[a"),
    ] {
        let error = of(&format!("span_pruning=true&{name}={bad}")).unwrap_err();
        assert!(error.starts_with(&format!("invalid {name}: expected")), "{error}");
        assert!(error.ends_with(&format!("not {bad:?}")), "{error}");
    }
    assert!(of("span_pruning=maybe").unwrap_err().contains("true or false"));
}

#[test]
fn damaged_bytes_are_an_error() {
    let mut trace = encoded(&fan(5));
    trace.truncate(trace.len() - 3);
    let pruning = Pruning::of(&Parameters::parse("span_pruning=true").unwrap()).unwrap().unwrap();
    assert!(pruning.prune(&trace).is_err());
}
