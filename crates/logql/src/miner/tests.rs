//! Miners and what they find.

use super::*;
use crate::extract::PatternFilter;

const SEC: i64 = 1_000_000_000;

fn mined(lines: &[&str]) -> Vec<String> {
    let mut miner = Miner::new(MinerLimits::default());
    for (time, line) in (0..).zip(lines) {
        miner.add(line, time * SEC, 1);
    }
    miner.patterns().iter().map(|pattern| format!("{} {}", pattern.total(), pattern.text)).collect()
}

#[test]
fn lines_that_are_alike_share_a_pattern() {
    assert_eq!(
        mined(&[
            "Job 17: read 500 rows from input.csv",
            "user alice logged in from 10.0.0.1",
            "Job 18: read 0 rows from other.csv",
            "user bob logged in from 10.0.0.2",
            "user carol logged in from 10.0.0.3",
            "disk full",
        ]),
        ["3 user <_> logged in from <_>", "2 Job <_>: read <_> rows from <_>", "1 disk full",]
    );
}

#[test]
fn lines_that_differ_stay_apart() {
    assert_eq!(mined(&["page served", "slow page", "cache miss"]).len(), 3);
    assert_eq!(
        mined(&[
            "level=info msg=\"order placed\" order=1 took=3ms",
            "level=warn msg=\"card declined\" order=2 took=4ms code=402",
            "level=info msg=\"order placed\" order=2 took=35ms",
        ]),
        [
            "2 level=info msg=\"order placed\" order=<_> took=<_>",
            "1 level=warn msg=\"card declined\" order=<_> took=<_> code=<_>",
        ]
    );
}

#[test]
fn severities_are_never_mixed() {
    assert_eq!(
        mined(&[
            "level=info msg=\"request done\" path=/a",
            "level=error msg=\"request done\" path=/b",
            "level=info msg=\"request done\" path=/c",
            "12:00:01 [WARN] pool x is slow",
            "12:00:02 [INFO] pool y is slow",
        ]),
        [
            "2 level=info msg=\"request done\" path=<_>",
            "1 <_> [INFO] pool y is slow",
            "1 <_> [WARN] pool x is slow",
            "1 level=error msg=\"request done\" path=/b",
        ]
    );
}

#[test]
fn counts_are_kept_by_time() {
    let mut miner = Miner::new(MinerLimits {
        bucket_nanos: 10 * SEC,
        max_buckets: 3,
        ..MinerLimits::default()
    });
    for (time, weight) in [(12, 1), (3, 5), (19, 2), (-1, 1)] {
        miner.add(&format!("tick {time}"), time * SEC, weight);
    }
    let patterns = miner.patterns();
    assert_eq!(patterns.len(), 1);
    assert_eq!(patterns[0].counts, [(-10 * SEC, 1), (0, 5), (10 * SEC, 3)]);
    assert_eq!((patterns[0].first_seen_nanos, patterns[0].last_seen_nanos), (-SEC, 19 * SEC));
    assert_eq!(patterns[0].sample, "tick -1");
    miner.add("tick 99", 99 * SEC, 1);
    assert_eq!(miner.patterns()[0].counts, [(0, 6), (10 * SEC, 3), (90 * SEC, 1)]);
}

/// Lines of many kinds, repeatable.
fn lines(count: usize) -> Vec<String> {
    let mut state = 42_u64;
    let mut below = move |end: u64| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % end
    };
    let names = ["alice", "bob", "carol", "dave", "erin"];
    (0..count)
        .map(|_| match below(8) {
            0 => {
                format!("GET /items/{} HTTP/1.1 {} {}ms", below(9999), 200 + below(300), below(500))
            }
            1 => format!(
                "user {} logged in from 10.0.{}.{}",
                names[below(5) as usize],
                below(9),
                below(250)
            ),
            2 => format!(
                "level=info msg=\"order placed\" order={} user=\"{}\"",
                below(9999),
                names[below(5) as usize]
            ),
            3 => format!("\u{1b}[3{}mWARN\u{1b}[0m retry {}/3", below(7), below(3)),
            4 => format!("<event id={}><{}></event>", below(99), names[below(5) as usize]),
            5 => format!("<{}> {}", below(9), names[below(5) as usize]),
            6 => format!("binary \u{1}\u{2}{} end", below(9)),
            _ => format!(
                "connection {:x}-{:x} closed: {}",
                below(1 << 32),
                below(1 << 32),
                names[below(5) as usize]
            ),
        })
        .collect()
}

#[test]
fn every_line_matches_a_pattern_as_a_filter() {
    let lines = lines(5000);
    let mut miner = Miner::new(MinerLimits::default());
    for (time, line) in (0..).zip(&lines) {
        miner.add(line, time * SEC, 1);
    }
    let patterns = miner.patterns();
    assert!(patterns.len() < 40, "{patterns:#?}");
    assert_eq!(patterns.iter().map(Pattern::total).sum::<u64>(), 5000);
    let filters: Vec<PatternFilter> =
        patterns.iter().map(|pattern| PatternFilter::new(&pattern.text).unwrap()).collect();
    for line in &lines {
        assert!(filters.iter().any(|filter| filter.matches(line)), "{line:?} {patterns:#?}");
    }
    for (pattern, filter) in patterns.iter().zip(&filters) {
        assert!(filter.matches(&pattern.sample), "{pattern:?}");
    }
}

#[test]
fn merged_miners_count_every_line_and_are_always_the_same() {
    let lines = lines(4000);
    let merged = || {
        let mut parts: Vec<Miner> = (0..4).map(|_| Miner::new(MinerLimits::default())).collect();
        for (index, line) in lines.iter().enumerate() {
            parts[index % 4].add(line, index as i64 * SEC, 1);
        }
        let mut whole = parts.remove(0);
        parts.into_iter().for_each(|part| whole.merge(part));
        whole.patterns()
    };
    let patterns = merged();
    assert_eq!(patterns.iter().map(Pattern::total).sum::<u64>(), 4000);
    assert_eq!(patterns, merged());
    assert!(patterns.len() < 40, "{}", patterns.len());
}

#[test]
fn the_pattern_seen_longest_ago_is_forgotten() {
    let mut miner = Miner::new(MinerLimits { max_patterns: 2, ..MinerLimits::default() });
    for (time, line) in
        [(1, "alpha beta"), (2, "gamma delta"), (3, "alpha beta"), (4, "epsilon zeta")]
    {
        miner.add(line, time * SEC, 10);
    }
    let texts: Vec<String> = miner.patterns().into_iter().map(|pattern| pattern.text).collect();
    assert_eq!(texts, ["alpha beta", "epsilon zeta"]);
    assert_eq!(miner.evicted(), (1, 10));
}

#[test]
fn any_lines_take_bounded_memory() {
    let mut miner = Miner::new(MinerLimits { max_patterns: 50, max_buckets: 10, bucket_nanos: 1 });
    let mut state = 3_u64;
    for time in 0..20_000_i64 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let line: String =
            (0..state >> 60).map(|shift| char::from((state >> (shift * 3)) as u8)).collect();
        miner.add(&line, time, 1);
    }
    let big = "long ".repeat(2 << 20);
    miner.add(&big, i64::MAX, u64::MAX);
    miner.add("", i64::MIN, 1);
    assert!(miner.clusters.len() <= 50);
    assert!(miner.patterns().iter().all(|pattern| pattern.counts.len() <= 10));
    for pattern in miner.patterns() {
        assert!(PatternFilter::new(&pattern.text).is_ok(), "{:?}", pattern.text);
    }
}
