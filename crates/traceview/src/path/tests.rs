//! The path against examples, and slack and savings against a schedule that is played through.

use super::*;
use crate::forest::tests::{id_of, place, sorted};
use crate::random::Random;

fn shown(places: &[Place]) -> Vec<(u64, i64, i64, i64)> {
    let id = |span: Option<u32>| span.map_or(0, |nth| id_of(&places[nth as usize]));
    let path = paths(places, &Forest::new(places)).stretches;
    for pair in path.windows(2) {
        assert_eq!(pair[0].to_nanos, pair[1].from_nanos, "{path:?}");
    }
    path.iter().map(|s| (id(s.span), s.from_nanos, s.to_nanos, s.room_nanos)).collect()
}

#[test]
fn the_path_leads_through_the_children_that_ended_last() {
    let places = sorted([
        place(1, 0, 0, 100),
        place(2, 1, 10, 40),
        place(3, 1, 10, 60),
        place(4, 1, 70, 90),
        place(5, 3, 20, 50),
    ]);
    let expected = [
        (1, 0, 10, 100),
        (3, 10, 20, 20),
        (5, 20, 50, 30),
        (3, 50, 60, 20),
        (1, 60, 70, 100),
        (4, 70, 90, 20),
        (1, 90, 100, 100),
    ];
    assert_eq!(shown(&places), expected);
}

#[test]
fn clocks_that_differ_and_work_that_outlasts_its_parent_do_no_harm() {
    let places = sorted([
        place(1, 0, 100, 200),
        // Begins before its parent, ends after it, and one that is over before it begins.
        place(2, 1, 50, 150),
        place(3, 1, 180, 500),
        place(4, 1, 10, 20),
        place(5, 1, 300, 400),
        place(6, 1, 170, 160),
    ]);
    let expected = [(2, 100, 150, 50), (1, 150, 180, 100), (3, 180, 200, 20)];
    assert_eq!(shown(&places), expected);
}

#[test]
fn without_one_root_it_leads_from_the_first_start_to_the_last_end() {
    let missing = sorted([place(2, 9, 0, 10), place(3, 9, 20, 30), place(4, 3, 22, 24)]);
    let expected =
        [(2, 0, 10, 10), (0, 10, 20, 30), (3, 20, 22, 10), (4, 22, 24, 2), (3, 24, 30, 10)];
    assert_eq!(shown(&missing), expected);
    // An orphan counts as the one root's child.
    let orphan = sorted([place(1, 0, 0, 10), place(2, 9, 4, 8)]);
    assert_eq!(shown(&orphan), [(1, 0, 4, 10), (2, 4, 8, 4), (1, 8, 10, 10)]);
    let circle = sorted([place(1, 2, 0, 10), place(2, 1, 2, 6)]);
    assert_eq!(shown(&circle), [(1, 0, 2, 10), (2, 2, 6, 4), (1, 6, 10, 10)]);
    assert_eq!(shown(&[]), []);
    assert_eq!(shown(&[place(1, 0, 5, 5)]), []);
}

/// Slack and saving of each span, by id.
fn by_id(places: &[Place]) -> Vec<(u64, i64, i64)> {
    let found = paths(places, &Forest::new(places));
    let show = |(nth, place): (usize, &Place)| {
        (id_of(place), found.slack_nanos[nth], found.saving_nanos[nth])
    };
    let mut shown: Vec<_> = places.iter().enumerate().map(show).collect();
    shown.sort_unstable();
    shown
}

#[test]
fn slack_is_the_time_to_what_was_waited_for_and_adds_up() {
    let places = sorted([
        place(1, 0, 0, 100),
        place(2, 1, 0, 90),
        place(3, 1, 10, 60),
        place(4, 3, 20, 50),
        place(5, 3, 20, 45),
        // Nothing waits for an instant, and this one lies where the root itself was at work.
        place(6, 1, 95, 95),
    ]);
    let expected = [(1, 0, 100), (2, 0, 30), (3, 30, 0), (4, 30, 0), (5, 35, 0), (6, 0, 0)];
    assert_eq!(by_id(&places), expected);
}

#[test]
fn what_began_after_a_span_bounds_its_slack() {
    // 4 begins when 3 has ended, and may itself end by no more than 5 later.
    let places =
        sorted([place(1, 0, 0, 100), place(2, 1, 0, 100), place(3, 1, 0, 10), place(4, 1, 10, 95)]);
    assert_eq!(by_id(&places), [(1, 0, 100), (2, 0, 5), (3, 5, 0), (4, 5, 0)]);
}

#[test]
fn what_began_after_several_had_ended_bounds_all_of_them() {
    // 5 began 1 after 4, and may end by 1 later: 3 could not end later than 4 may.
    let places = sorted([
        place(1, 0, 0, 100),
        place(2, 1, 0, 100),
        place(3, 1, 0, 30),
        place(4, 1, 0, 40),
        place(5, 1, 41, 99),
    ]);
    let expected = [(1, 0, 100), (2, 0, 1), (3, 11, 0), (4, 1, 0), (5, 1, 0)];
    assert_eq!(by_id(&places), expected);
}

#[test]
fn what_runs_beside_the_rest_of_the_path_bounds_what_is_saved() {
    // Without 2, 3 would end at 50: but 4 ends at 95.
    let places =
        sorted([place(1, 0, 0, 100), place(2, 1, 0, 50), place(3, 1, 50, 100), place(4, 1, 0, 95)]);
    assert_eq!(by_id(&places), [(1, 0, 100), (2, 0, 5), (3, 0, 5), (4, 5, 0)]);
}

/// Plays through when a parent ends if one of its children takes `changed` more.
///
/// A child begins after all that had ended by then, so long after the last of them as it did; so
/// does the parent end.
fn end_of_parent(children: &[(i64, i64)], end: i64, changed: usize, by: i64) -> i64 {
    let mut by_end: Vec<usize> = (0..children.len()).collect();
    by_end.sort_by_key(|nth| children[*nth].1);
    // By end, so that whatever a child began after is known before.
    let mut new_ends = vec![0; children.len()];
    let after_all_ended_by = |at: i64, new_ends: &[i64]| {
        let ended = || (0..children.len()).filter(|nth| children[*nth].1 <= at);
        let last = ended().map(|nth| children[nth].1).max();
        let new_last = ended().map(|nth| new_ends[nth]).max();
        last.zip(new_last).map_or(at, |(last, new_last)| new_last + at - last)
    };
    for nth in by_end {
        let (from, to) = children[nth];
        let takes = to - from + if nth == changed { by } else { 0 };
        new_ends[nth] = after_all_ended_by(from, &new_ends) + takes;
    }
    after_all_ended_by(end, &new_ends)
}

#[test]
fn slack_and_savings_are_what_a_schedule_gives_that_is_played_through() {
    let mut random = Random::new(7);
    for _ in 0..3_000 {
        let end = 40;
        let count = 1 + random.below(7);
        let children: Vec<(i64, i64)> = (0..count)
            .map(|_| {
                let from = random.below(38) as i64;
                (from, from + 1 + random.below((end - from - 1) as u64) as i64)
            })
            .collect();
        let ids = children.iter().zip(2..);
        let all = ids.map(|((from, to), id)| place(id, 1, *from, *to));
        let places = sorted(all.chain([place(1, 0, 0, end)]));
        // Numbers of equal spans in the order of the forest, as the path breaks ties by them.
        let children: Vec<(i64, i64)> =
            places[1..].iter().map(|place| (place.start_nanos, place.end_nanos)).collect();
        if id_of(&places[0]) != 1 {
            continue;
        }
        let found = paths(&places, &Forest::new(&places));
        for (nth, (from, to)) in children.iter().enumerate() {
            let (slack, saving) = (found.slack_nanos[nth + 1], found.saving_nanos[nth + 1]);
            assert_eq!(end_of_parent(&children, end, nth, slack), end, "{children:?} {nth} later");
            let later = end_of_parent(&children, end, nth, slack + 1);
            assert!(later > end, "{children:?} {nth} has more slack than {slack}");
            for faster in [1, (to - from) / 2, to - from] {
                let ended = end_of_parent(&children, end, nth, -faster);
                assert_eq!(end - ended, saving.min(faster), "{children:?} {nth} {faster} faster");
            }
        }
    }
}

/// The path by its definition, with recursion.
fn naive(places: &[Place], span: u32, from: i64, to: i64, found: &mut Vec<(u32, i64, i64)>) {
    let id = places[span as usize].span_id;
    let mut children: Vec<(i64, i64, std::cmp::Reverse<i64>, std::cmp::Reverse<u32>)> = Vec::new();
    for (nth, place) in places.iter().enumerate().filter(|(_, p)| p.parent_span_id == Some(id)) {
        let window = (place.start_nanos.max(from), place.end_nanos.min(to));
        if window.0 < window.1 {
            use std::cmp::Reverse;
            children.push((window.1, place.end_nanos, Reverse(window.0), Reverse(nth as u32)));
        }
    }
    let mut at = to;
    while let Some(last) = children.iter().filter(|child| child.0 <= at).max() {
        if last.0 < at {
            found.push((span, last.0, at));
        }
        naive(places, last.3.0, last.2.0, last.0, found);
        at = last.2.0;
    }
    if from < at {
        found.push((span, from, at));
    }
}

#[test]
fn random_trees_have_the_path_that_its_definition_gives() {
    let mut random = Random::new(11);
    for _ in 0..2_000 {
        let count = 1 + random.below(30);
        let mut places = vec![place(1, 0, 0, 1000)];
        for id in 2..=count {
            let parent = 1 + random.below(id - 1);
            let above = places[parent as usize - 1];
            let long = above.end_nanos - above.start_nanos;
            // Some begin too early or end too late.
            let from = above.start_nanos - 5 + random.below(long.max(1) as u64) as i64;
            places.push(place(id, parent, from, from + random.below(long as u64 + 10) as i64));
        }
        // A child may now come before its parent, which only the order of equals notices.
        let spans = sorted(places);
        let root = spans.iter().position(|place| place.parent_span_id.is_none()).unwrap() as u32;
        let mut expected = Vec::new();
        naive(&spans, root, 0, 1000, &mut expected);
        expected.sort_by_key(|(_, from, _)| *from);
        let found = paths(&spans, &Forest::new(&spans));
        let stretches: Vec<_> = found
            .stretches
            .iter()
            .map(|stretch| (stretch.span.unwrap(), stretch.from_nanos, stretch.to_nanos))
            .collect();
        assert_eq!(stretches, expected);
        assert_eq!(found.duration_nanos(), 1000);
    }
}

#[test]
fn fifty_thousand_children_and_a_chain_as_long_are_done_in_no_time() {
    let begun = std::time::Instant::now();
    let length = |places: &[Place]| paths(places, &Forest::new(places)).stretches.len();
    let wide = (2..=50_001).map(|id| place(id, 1, id as i64, id as i64 + 1));
    let wide = sorted(wide.chain([place(1, 0, 0, 60_000)]));
    assert_eq!(length(&wide), 50_002);
    let deep: Vec<Place> =
        (1..=50_000).map(|id| place(id, id - 1, id as i64, 200_000 - id as i64)).collect();
    assert_eq!(length(&deep), 99_999);
    // All end at once: each on the path in turn.
    let at_once: Vec<Place> =
        (1..=50_000).map(|id| place(id, u64::from(id > 1), id as i64, 90_000)).collect();
    assert_eq!(length(&at_once), 2);
    assert!(begun.elapsed().as_secs() < 5, "{:?}", begun.elapsed());
}
