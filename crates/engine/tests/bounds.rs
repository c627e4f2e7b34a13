//! What a query may take: memory, time, rows, a turn; and that it ends when nobody listens.
#![allow(clippy::unwrap_used, clippy::panic, unreachable_pub, reason = "a test")]

#[allow(dead_code, reason = "other tests use the rest")]
mod support;

use std::time::{Duration, Instant};

use futures::StreamExt;
use kymo_engine::{Engine, EngineError, EngineOptions};
use support::{Place, block_on, long_spans_request, wait_until};

fn options() -> EngineOptions {
    EngineOptions { threads: 2, ..EngineOptions::default() }
}

/// A query with an answer of many batches.
const LONG: &str = "SELECT span_id, name, start_time FROM spans";
/// A query that takes longer than any limit.
const ENDLESS: &str =
    "SELECT sum(duration_nanos % g.value) FROM spans, generate_series(1, 1000000000000) g";

#[test]
fn a_query_that_needs_more_memory_than_it_may_have_fails_and_leaves_the_others_alone() {
    let place = Place::new(EngineOptions { query_memory_bytes: 2 << 20, ..options() });
    place.fill(100_000);
    for query in [
        "SELECT * FROM spans ORDER BY name, span_id",
        "SELECT span_id, count(*) FROM spans GROUP BY span_id",
        "SELECT a.name FROM spans a JOIN spans b ON a.span_id = b.span_id",
    ] {
        match block_on(place.lines(query)) {
            Err(EngineError::Memory { limit_bytes, of_all_queries: false }) => {
                assert_eq!(limit_bytes, 2 << 20);
            }
            other => panic!("{query}: {:?}", other.map(|lines| lines.len())),
        }
    }
    assert_eq!(block_on(place.lines("SELECT count(*) AS n FROM spans")).unwrap()[1], "100000");
    place.wait_until("memory is given back", |stats| stats.memory_bytes == 0);
}

#[test]
fn all_queries_together_have_a_bound_too() {
    let place = Place::new(EngineOptions { memory_bytes: 2 << 20, ..options() });
    place.fill(100_000);
    let error = block_on(place.lines("SELECT * FROM spans ORDER BY name, span_id")).unwrap_err();
    assert!(matches!(error, EngineError::Memory { of_all_queries: true, .. }), "{error}");
}

#[test]
fn a_query_that_takes_too_long_ends_with_an_error() {
    let place =
        Place::new(EngineOptions { query_timeout: Duration::from_millis(300), ..options() });
    place.fill(20_000);
    let error = block_on(place.lines(ENDLESS)).unwrap_err();
    assert!(matches!(error, EngineError::Timeout { .. }), "{error}");
    place.wait_until("scans end", |stats| stats.scans_running == 0 && stats.running == 0);
    assert_eq!(block_on(place.lines("SELECT 1 AS one")).unwrap(), ["one", "1"]);
}

/// Queries that compute for longer than any limit and have no row to hand out meanwhile.
const SILENT: [&str; 5] = [
    "SELECT count(*) FROM spans a JOIN spans b ON a.kind = b.kind \
     AND a.duration_nanos + b.duration_nanos < -1",
    "SELECT count(*) FROM spans a, spans b WHERE a.duration_nanos + b.duration_nanos < -1",
    "SELECT count(*) FROM spans a LEFT SEMI JOIN spans b ON a.kind = b.kind",
    "SELECT count(*) FROM spans a, spans b WHERE a.duration_nanos + b.duration_nanos + random() < -1",
    "WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n",
];

#[test]
fn a_join_that_finds_nothing_ends_in_time_or_when_nobody_listens() {
    let place =
        Place::new(EngineOptions { query_timeout: Duration::from_millis(300), ..options() });
    place.fill(200_000);
    let patient = Engine::new(place.store.clone(), options()).unwrap();
    for query in SILENT {
        let begun = Instant::now();
        match block_on(place.lines(query)) {
            Err(EngineError::Timeout { .. }) => {}
            other => panic!("{query}: {other:?}"),
        }
        place.wait_until("ended", |stats| stats.running == 0 && stats.scans_running == 0);
        block_on(async { drop(patient.sql("default", query).await.unwrap()) });
        wait_until(&patient, "left", |stats| stats.running == 0 && stats.scans_running == 0);
        assert!(begun.elapsed() < Duration::from_secs(5), "{query}: {:?}", begun.elapsed());
    }
    wait_until(&patient, "all are counted", |stats| stats.cancelled == SILENT.len() as u64);
    wait_until(&patient, "memory is given back", |stats| stats.memory_bytes == 0);
}

#[test]
fn a_reader_that_is_always_slow_does_not_keep_its_turn() {
    let place =
        Place::new(EngineOptions { query_timeout: Duration::from_millis(400), ..options() });
    place.fill(200_000);
    let mut batches = 0;
    let error = block_on(async {
        let mut rows = place.engine.sql("default", LONG).await.unwrap();
        loop {
            // Never as slow as the limit, but often.
            tokio::time::sleep(Duration::from_millis(100)).await;
            match rows.next().await {
                Some(Ok(_)) => batches += 1,
                other => break other,
            }
        }
    });
    assert!(matches!(error, Some(Err(EngineError::Cancelled))), "{error:?}");
    assert!(batches < 20, "{batches}");
}

#[test]
fn whoever_leaves_while_the_query_waits_or_is_planned_is_counted() {
    let place = Place::new(EngineOptions { max_running: 1, ..options() });
    place.fill(200_000);
    block_on(async {
        let first = place.engine.sql("default", LONG).await.unwrap();
        let waits = tokio::time::timeout(
            Duration::from_millis(20),
            place.engine.sql("default", "SELECT 1"),
        );
        assert!(waits.await.is_err());
        assert_eq!(place.engine.stats().cancelled, 1);
        drop(first);
    });
    place.wait_until("all ended", |stats| stats.running == 0 && stats.cancelled == 2);
}

#[test]
fn scans_have_threads_enough_with_one_query_thread() {
    let place = Place::new(EngineOptions { max_running: 4, threads: 1, ..options() });
    place.fill(100_000);
    let many = ["SELECT name FROM spans"; 32].join(" UNION ALL ");
    let asking = async {
        // Nobody reads their answers, so that all their scans wait.
        let mut unread = Vec::new();
        for _ in 0..3 {
            let mut rows = place.engine.sql("default", &many).await.unwrap();
            assert!(rows.next().await.unwrap().is_ok());
            unread.push(rows);
        }
        place.wait_until("their scans run", |stats| stats.scans_running > 130);
        place.lines("SELECT count(*) AS n FROM spans").await.unwrap()
    };
    let answered = block_on(async { tokio::time::timeout(Duration::from_secs(30), asking).await });
    assert_eq!(answered.unwrap()[1], "100000");
}

#[test]
fn texts_that_all_differ_are_counted_and_still_come_through() {
    let place = Place::new(EngineOptions { query_memory_bytes: 128 << 20, ..options() });
    let text = "x".repeat(20_000);
    for part in 0..4 {
        place.append_spans(long_spans_request(part * 1500, 1500, &text));
    }
    place.store.flush().unwrap();
    block_on(async {
        let query = "SELECT \"span.stacktrace\" FROM spans";
        let mut rows = place.engine.sql("default", query).await.unwrap();
        let mut rows_seen = rows.next().await.unwrap().unwrap().num_rows();
        place.wait_until("the next is held", |stats| stats.memory_bytes > 16 << 20);
        while let Some(batch) = rows.next().await {
            rows_seen += batch.unwrap().num_rows();
        }
        assert_eq!(rows_seen, 6000);
    });
    place.wait_until("memory is given back", |stats| stats.memory_bytes == 0);
    let options = EngineOptions { query_memory_bytes: 4 << 20, ..options() };
    let small = Engine::new(place.store.clone(), options).unwrap();
    let error = block_on(async {
        let query = "SELECT \"span.stacktrace\" FROM spans";
        let mut rows = small.sql("default", query).await.unwrap();
        rows.next().await.unwrap().unwrap_err()
    });
    assert!(matches!(error, EngineError::Memory { .. }), "{error}");
}

#[test]
fn an_answer_with_too_many_rows_is_an_error_and_never_cut() {
    let place = Place::new(EngineOptions { max_rows: Some(1000), ..options() });
    place.fill(2000);
    let lines = block_on(place.lines("SELECT name FROM spans LIMIT 1000")).unwrap();
    assert_eq!(lines.len(), 1001);
    let error = block_on(place.lines("SELECT name FROM spans LIMIT 1001")).unwrap_err();
    assert!(matches!(error, EngineError::Rows { limit: 1000 }), "{error}");
}

#[test]
fn a_limit_is_kept_whoever_finds_the_rows() {
    let place = Place::new(options());
    place.fill(100_000);
    for filter in ["true", "\"span.number\" < 500", "name LIKE 'work%'", "length(name) > 3"] {
        for limit in [0, 1, 999, 20_001] {
            let query = format!("SELECT name FROM spans WHERE {filter} LIMIT {limit}");
            assert_eq!(block_on(place.lines(&query)).unwrap().len(), limit + 1, "{query}");
        }
    }
}

#[test]
fn queries_wait_for_their_turn_and_one_too_many_is_told_when_to_come_again() {
    let place = Place::new(EngineOptions { max_running: 1, max_waiting: 1, ..options() });
    place.fill(200_000);
    block_on(async {
        // Nobody reads its answer, so it keeps its turn.
        let first = place.engine.sql("default", LONG).await.unwrap();
        let engine = place.engine.clone();
        let second = tokio::spawn(async move { engine.sql("default", "SELECT 1").await });
        while place.engine.stats().waiting == 0 {
            tokio::task::yield_now().await;
        }
        match place.engine.sql("default", "SELECT 1").await {
            Err(EngineError::Busy { retry_after }) => assert!(retry_after.as_secs() >= 1),
            other => panic!("{other:?}"),
        }
        drop(first);
        assert_eq!(second.await.unwrap().unwrap().count().await, 1);
    });
    place.wait_until("all ended", |stats| stats.running == 0 && stats.waiting == 0);
}

#[test]
fn a_deep_query_that_is_refused_needs_no_deep_stack() {
    let place = Place::new(EngineOptions { max_running: 1, max_waiting: 0, ..options() });
    place.fill(200_000);
    let first = block_on(place.engine.sql("default", LONG)).unwrap();
    let engine = place.engine.clone();
    let asking = move || {
        let deep = format!("SELECT 1{}", " AND 1".repeat(2900));
        block_on(engine.sql("default", &deep)).unwrap_err()
    };
    let asker = std::thread::Builder::new().stack_size(128 << 10).spawn(asking).unwrap();
    assert!(matches!(asker.join().unwrap(), EngineError::Busy { .. }));
    drop(first);
}

#[test]
fn a_hundred_queries_at_once_are_all_answered() {
    let place = Place::new(options());
    place.fill(20_000);
    block_on(async {
        let queries = (0..100).map(|nth| {
            let engine = place.engine.clone();
            let query = format!("SELECT count(*) FROM spans WHERE \"span.number\" = {nth}");
            async move {
                let mut rows = engine.sql(&format!("tenant-{}", nth % 7), &query).await.unwrap();
                rows.next().await.unwrap().unwrap().num_rows()
            }
        });
        let answers = futures::future::join_all(queries).await;
        assert_eq!(answers.iter().sum::<usize>(), 100);
    });
}

#[test]
fn dropping_an_answer_ends_the_query_and_its_scans() {
    let place = Place::new(options());
    place.fill(200_000);
    block_on(async {
        let mut rows = place.engine.sql("default", LONG).await.unwrap();
        assert!(rows.next().await.unwrap().unwrap().num_rows() > 0);
        assert_eq!(place.engine.stats().running, 1);
        drop(rows);
    });
    place.wait_until("all ended", |stats| stats.running == 0 && stats.scans_running == 0);
    place.wait_until("it is counted", |stats| stats.cancelled == 1);
    let stats = place.engine.stats();
    assert_eq!(stats.finished, 0);
    assert!(stats.rows_answered < 200_000);
    // Also one that has no row to hand out.
    block_on(async {
        drop(place.engine.sql("default", ENDLESS).await.unwrap());
    });
    place.wait_until("all ended", |stats| stats.running == 0 && stats.scans_running == 0);
    place.wait_until("memory is given back", |stats| stats.memory_bytes == 0);
}

#[test]
fn an_engine_can_be_dropped_where_others_wait_for_it() {
    let place = Place::new(options());
    place.fill(200_000);
    block_on(async {
        let mut rows = place.engine.sql("default", LONG).await.unwrap();
        drop(place);
        let mut last = None;
        while let Some(batch) = rows.next().await {
            last = Some(batch);
        }
        assert!(matches!(last, Some(Err(EngineError::Cancelled))), "{last:?}");
    });
}

#[test]
fn an_answer_that_is_cut_short_by_the_end_of_the_engine_is_an_error() {
    let place = Place::new(options());
    place.fill(40_000);
    for _ in 0..30 {
        let engine = Engine::new(place.store.clone(), options()).unwrap();
        let (rows_seen, end) = block_on(async {
            let mut rows = engine.sql("default", LONG).await.unwrap();
            drop(engine);
            let mut rows_seen = 0;
            loop {
                match rows.next().await {
                    Some(Ok(batch)) => rows_seen += batch.num_rows(),
                    end => break (rows_seen, end),
                }
            }
        });
        match end {
            None => assert_eq!(rows_seen, 40_000),
            Some(Err(EngineError::Cancelled)) => {}
            other => panic!("{rows_seen} rows, then {other:?}"),
        }
    }
}

#[test]
fn a_trace_is_found_by_its_id_and_others_see_none_of_it() {
    let place = Place::new(options());
    place.fill(100);
    let mut trace_id = [1; 16];
    trace_id[8..].copy_from_slice(&7u64.to_be_bytes());
    block_on(async {
        let found = place.engine.trace("default", trace_id).await.unwrap().unwrap();
        assert_eq!(found.spans, 10);
        assert!(place.engine.trace("other", trace_id).await.unwrap().is_none());
        assert!(place.engine.trace("default", [9; 16]).await.unwrap().is_none());
    });
}

#[test]
fn a_trace_has_its_bounds_too() {
    let place = Place::new(EngineOptions { memory_bytes: 1 << 20, ..options() });
    let mut trace_id = [1; 16];
    trace_id[8..].copy_from_slice(&0u64.to_be_bytes());
    place.append_spans(long_spans_request(0, 10, &"x".repeat(100_000)));
    let error = block_on(place.engine.trace("default", trace_id)).unwrap_err();
    assert!(matches!(error, EngineError::Memory { of_all_queries: true, .. }), "{error}");
    assert_eq!(place.engine.stats().memory_bytes, 0);
    let hurried = Engine::new(
        place.store.clone(),
        EngineOptions { query_timeout: Duration::ZERO, ..options() },
    );
    let error = block_on(hurried.unwrap().trace("default", trace_id)).unwrap_err();
    assert!(matches!(error, EngineError::Timeout { .. }), "{error}");
    // Someone who hangs up before the answer; now and then it is there at once.
    let engine = Engine::new(place.store.clone(), options()).unwrap();
    let hangs_up = || async {
        let mut asked = Box::pin(engine.trace("default", trace_id));
        futures::poll!(asked.as_mut()).is_pending()
    };
    assert!((0..100).any(|_| block_on(hangs_up())));
    wait_until(&engine, "the turn is given back", |stats| stats.running == 0);
    assert_eq!(engine.stats().cancelled, 1);
}

#[test]
fn a_join_that_multiplies_rows_ends_with_an_error_that_says_so() {
    let place = Place::new(EngineOptions { max_rows: Some(1000), ..options() });
    place.fill(20_000);
    // Each row of a name with all others of it.
    let query = "SELECT a.span_id, b.span_id FROM spans a JOIN spans b ON a.name = b.name";
    match block_on(place.lines(query)) {
        Err(EngineError::Rows { limit: 1000 }) => {}
        other => panic!("{:?}", other.map(|lines| lines.len())),
    }
    place.wait_until("all ended", |stats| stats.running == 0 && stats.memory_bytes == 0);
}

/// An as-of join of spans with themselves.
const AS_OF: &str = "SELECT count(b.start_time) AS n FROM spans a \
    ASOF JOIN spans b MATCH_CONDITION (a.start_time > b.start_time)";

#[test]
fn an_as_of_join_gives_each_row_once_and_holds_what_it_may() {
    let place = Place::new(options());
    place.fill(100_000);
    assert_eq!(block_on(place.lines(AS_OF)).unwrap(), ["n", "99999"]);
    let by_key = format!("{AS_OF} ON a.name = b.name AND a.trace_id = b.trace_id");
    assert_eq!(block_on(place.lines(&by_key)).unwrap(), ["n", "0"]);
    place.wait_until("memory is given back", |stats| stats.memory_bytes == 0);
    let poor = EngineOptions { query_memory_bytes: 1 << 20, ..options() };
    let poor = Engine::new(place.store.clone(), poor).unwrap();
    let error = block_on(support::batches(&poor, AS_OF)).unwrap_err();
    assert!(matches!(error, EngineError::Memory { of_all_queries: false, .. }), "{error}");
    wait_until(&poor, "memory is given back", |stats| stats.memory_bytes == 0);
}

#[test]
fn traces_and_trees_have_bounds_and_end_when_nobody_listens() {
    let place = Place::new(options());
    place.fill(200_000);
    assert_eq!(block_on(place.lines("SELECT count(*) AS n FROM traces")).unwrap(), ["n", "20000"]);
    let newest = "SELECT start_time FROM traces ORDER BY start_time DESC LIMIT 1";
    let last_start = format!("{:?}", block_on(place.lines(newest)).unwrap()[1]);
    let largest = "SELECT max(start_time) FROM traces";
    assert_eq!(last_start, format!("{:?}", block_on(place.lines(largest)).unwrap()[1]));
    let poor = EngineOptions { query_memory_bytes: 1 << 20, ..options() };
    let poor = Engine::new(place.store.clone(), poor).unwrap();
    let error = block_on(support::batches(&poor, "SELECT * FROM traces")).unwrap_err();
    assert!(matches!(error, EngineError::Memory { of_all_queries: false, .. }), "{error}");
    block_on(async { drop(place.engine.sql("default", "SELECT * FROM traces").await.unwrap()) });
    place.wait_until("ended", |stats| stats.running == 0 && stats.scans_running == 0);
    place.wait_until("memory is given back", |stats| stats.memory_bytes == 0);
}

#[test]
fn a_trace_that_is_shown_whole_may_be_larger_than_a_query_and_has_a_bound_of_its_own() {
    let place = Place::new(options());
    place.append_spans(long_spans_request(0, 50_000, "x"));
    let trace_id = [1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0];
    let engine_with = |trace_memory_bytes| {
        let options =
            EngineOptions { query_memory_bytes: 1 << 20, trace_memory_bytes, ..options() };
        Engine::new(place.store.clone(), options).unwrap()
    };
    let engine = engine_with(64 << 20);
    let refused = block_on(engine.trace("default", trace_id)).unwrap_err();
    assert!(matches!(refused, EngineError::Memory { limit_bytes: 0x10_0000, .. }), "{refused}");
    let whole = block_on(engine.large_trace("default", trace_id)).unwrap().unwrap();
    assert_eq!(whole.spans, 50_000);
    wait_until(&engine, "memory is given back", |stats| stats.memory_bytes == 0);
    let refused = block_on(engine_with(2 << 20).large_trace("default", trace_id)).unwrap_err();
    assert!(matches!(refused, EngineError::Memory { limit_bytes: 0x20_0000, .. }), "{refused}");
}

#[test]
fn a_trace_of_fifty_thousand_spans_has_a_tree_and_a_path() {
    let place = Place::new(options());
    place.append_spans(long_spans_request(0, 50_000, "x"));
    let id = "01010101010101010000000000000000";
    for function in ["trace_tree", "critical_path"] {
        let query = format!("SELECT count(*) AS n FROM {function}('{id}')");
        let begun = Instant::now();
        assert_eq!(block_on(place.lines(&query)).unwrap(), ["n", "50000"], "{function}");
        assert!(begun.elapsed() < Duration::from_secs(20), "{function}: {:?}", begun.elapsed());
    }
}
