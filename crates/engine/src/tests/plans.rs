//! What plans look like: that the store gets what it can do.

use super::lines;
use super::support::Place;
use kymo_wire::encode::{SpanFields, Writer};

/// A store with a block for each of three days, and a span in memory.
fn place() -> Place {
    let place = super::place();
    for day in 0..4u64 {
        let mut writer = Writer::new();
        writer.resource_group(|w| {
            w.scope_group(|w| {
                for nth in 0..20u64 {
                    let start = (1_767_225_600 + day * 86_400 + nth) * 1_000_000_000;
                    let fields = SpanFields {
                        trace_id: &[day as u8 + 1; 16],
                        span_id: &(nth + 1).to_be_bytes(),
                        name: b"work",
                        start_time_unix_nano: start,
                        end_time_unix_nano: start + 1,
                        ..SpanFields::default()
                    };
                    w.span(&fields, |_| ());
                }
            });
        });
        place.append_spans(writer.into_bytes());
        if day < 3 {
            place.store.flush().unwrap();
        }
    }
    place
}

/// The line of the physical plan that shows the scan.
fn scan_of(place: &Place, query: &str) -> String {
    let plan = lines(&place.engine, &format!("EXPLAIN FORMAT INDENT {query}")).unwrap().join("\n");
    let line = plan.lines().find(|line| line.contains("BlockScan"));
    line.unwrap_or_else(|| panic!("{query}:\n{plan}")).trim().to_owned()
}

#[test]
fn time_filters_leave_out_blocks_also_those_that_are_computed() {
    let place = place();
    for (filter, shown) in [
        ("start_time >= '2026-01-02' AND start_time < '2026-01-03'", "blocks=1 of 3"),
        (
            "start_time > '2026-01-02T00:00:00.000000001Z'",
            "from 2026-01-02T00:00:00.000000002Z, blocks=2 of 3",
        ),
        ("start_time BETWEEN '2026-01-02' AND '2026-01-03'", "blocks=2 of 3"),
        ("'2026-01-02' > start_time", "before 2026-01-02T00:00:00Z, blocks=1 of 3"),
        ("start_time = '2026-01-02T00:00:05'", "blocks=1 of 3"),
        ("start_time > now() + INTERVAL '1 hour'", "blocks=0 of 3"),
        ("start_time >= '2026-01-05'", "blocks=0 of 3"),
        ("start_time IS NOT NULL", "blocks=3 of 3"),
    ] {
        let scan = scan_of(&place, &format!("SELECT name FROM spans WHERE {filter}"));
        assert!(scan.contains(shown), "{filter}: {scan}");
        assert!(!scan.contains("tested again"), "{filter}: {scan}");
    }
}

#[test]
fn filters_on_fixed_columns_are_exact_and_those_on_attributes_are_tested_again() {
    let place = place();
    for (filter, predicate) in [
        ("name = 'work'", "predicate=name = 'work',"),
        ("name <> 'work'", "predicate=name <> 'work',"),
        ("NOT (name = 'work' OR duration_nanos > 5)", "duration_nanos <= 5"),
        (
            "trace_id = '01010101010101010101010101010101'",
            "predicate=trace_id = 01010101010101010101010101010101,",
        ),
        ("parent_span_id IS NULL", "predicate=NOT parent_span_id IS NOT NULL,"),
        ("name LIKE 'wo%'", "predicate=name ~"),
        ("name IN ('a', 'b', 'c', 'd', 'e')", "predicate=name IN ('a', 'b', 'c', 'd', 'e'),"),
    ] {
        let scan = scan_of(&place, &format!("SELECT span_id FROM spans WHERE {filter}"));
        assert!(scan.contains(predicate), "{filter}: {scan}");
        assert!(!scan.contains("tested again"), "{filter}: {scan}");
    }
    let scan = scan_of(&place, "SELECT span_id FROM spans WHERE \"span.a\" = 'x'");
    assert!(scan.contains("span.a = 'x'") && scan.contains("tested again"), "{scan}");
}

#[test]
fn the_first_rows_by_time_are_searched_for_and_limits_reach_the_scan() {
    let place = place();
    for (query, shown) in [
        ("SELECT name FROM spans ORDER BY start_time DESC LIMIT 5", "newest=5"),
        (
            "SELECT upper(name), start_time FROM spans ORDER BY start_time LIMIT 5 OFFSET 2",
            "oldest=7",
        ),
        (
            "SELECT name FROM spans WHERE kind = 'server' ORDER BY start_time DESC LIMIT 5",
            "newest=5",
        ),
        ("SELECT * FROM spans ORDER BY duration_nanos DESC LIMIT 5", "longest=5"),
        ("SELECT name FROM spans ORDER BY duration_nanos LIMIT 5", "shortest=5"),
        ("SELECT name FROM spans LIMIT 3", "limit=3"),
        ("SELECT count(*) FROM spans", "columns=[],"),
    ] {
        let scan = scan_of(&place, query);
        assert!(scan.contains(shown), "{query}: {scan}");
    }
    for query in [
        "SELECT name FROM spans ORDER BY start_time DESC, name LIMIT 5",
        "SELECT name FROM spans ORDER BY trace_duration_nanos LIMIT 5",
        "SELECT name FROM spans ORDER BY start_time",
    ] {
        let scan = scan_of(&place, query);
        assert!(!scan.contains("newest") && !scan.contains("oldest"), "{query}: {scan}");
    }
    let newest = "SELECT start_time FROM spans ORDER BY start_time DESC LIMIT 2";
    assert_eq!(
        lines(&place.engine, newest).unwrap(),
        ["2026-01-04T00:00:19Z", "2026-01-04T00:00:18Z"]
    );
}

#[test]
fn texts_are_grouped_by_code() {
    let place = place();
    let query =
        "EXPLAIN FORMAT INDENT SELECT \"resource.service.name\", count(*) FROM spans GROUP BY 1";
    let plan = lines(&place.engine, query).unwrap().join("\n");
    // Nobody has sent it, so it is plain text: then there is nothing to be won.
    assert!(!plan.contains("CodeGroups"), "{plan}");
    let query = "EXPLAIN FORMAT INDENT SELECT name, count(*) FROM spans GROUP BY 1";
    let plan = lines(&place.engine, query).unwrap().join("\n");
    assert!(plan.contains("CodeGroups: by=[name]"), "{plan}");
}

#[test]
fn an_analysed_plan_tells_what_was_read() {
    let place = place();
    let query = "EXPLAIN ANALYZE SELECT name FROM spans WHERE start_time >= '2026-01-03'";
    let plan = lines(&place.engine, query).unwrap().join("\n");
    assert!(plan.contains("rows_scanned=40") && plan.contains("output_rows=40"), "{plan}");
}
