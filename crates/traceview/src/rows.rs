//! Spans in tree order: depth first, children by start.

use crate::forest::{Forest, Place};

/// A row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// Which span, by its number in the forest.
    pub span: u32,
    /// 0 at the top.
    pub depth: u32,
    /// What it took beyond its children: the time in which none of them ran.
    pub self_nanos: i64,
    /// Its children.
    pub children: u32,
    /// Children, and theirs.
    pub descendants: u32,
}

/// All rows, in order.
pub fn rows(places: &[Place], forest: &Forest) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::with_capacity(places.len());
    let mut left: Vec<(u32, u32)> = forest.tops.iter().rev().map(|top| (*top, 0)).collect();
    while let Some((span, depth)) = left.pop() {
        let children = forest.children(span);
        rows.push(Row {
            span,
            depth,
            self_nanos: self_nanos(places, span, children),
            children: children.len() as u32,
            descendants: 0,
        });
        left.extend(children.iter().rev().map(|child| (*child, depth + 1)));
    }
    count_descendants(&mut rows);
    rows
}

/// Those behind a row that are deeper, until one is not.
fn count_descendants(rows: &mut [Row]) {
    let mut above: Vec<usize> = Vec::new();
    for nth in 0..=rows.len() {
        let depth = rows.get(nth).map(|row| row.depth);
        while let Some(last) = above.last().copied()
            && depth.is_none_or(|depth| rows[last].depth >= depth)
        {
            rows[last].descendants = (nth - last - 1) as u32;
            above.pop();
        }
        above.push(nth);
    }
}

/// The time of a span in which no child of it ran. What children did before it began or after it
/// ended counts for nothing: clocks differ, and work may outlast who began it.
fn self_nanos(places: &[Place], span: u32, children: &[u32]) -> i64 {
    let Place { start_nanos: begin, end_nanos: end, .. } = places[span as usize];
    let mut covered_to = begin;
    let mut own = 0i64;
    // Children are by start.
    for child in children {
        let child = &places[*child as usize];
        let (from, to) = (child.start_nanos.clamp(begin, end), child.end_nanos.clamp(begin, end));
        own = own.saturating_add(from.saturating_sub(covered_to).max(0));
        covered_to = covered_to.max(to);
    }
    own.saturating_add(end.saturating_sub(covered_to))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forest::tests::{id_of, place, sorted};
    use crate::random::Random;

    fn shown(places: &[Place]) -> Vec<(u64, u32, i64, u32)> {
        let rows = rows(places, &Forest::new(places));
        let show = |row: &Row| {
            (id_of(&places[row.span as usize]), row.depth, row.self_nanos, row.descendants)
        };
        rows.iter().map(show).collect()
    }

    #[test]
    fn rows_are_depth_first_and_own_time_is_what_no_child_ran() {
        let places = sorted([
            place(1, 0, 0, 100),
            place(2, 1, 10, 40),
            place(3, 1, 30, 60),
            place(4, 2, 10, 40),
            // Clocks differ: begins before its parent; outlasts it; ran when it was over.
            place(5, 3, 20, 35),
            place(6, 1, 90, 150),
            place(7, 1, 120, 130),
            // Ended before it began.
            place(8, 1, 70, 65),
        ]);
        assert_eq!(
            shown(&places),
            [
                (1, 0, 40, 7),
                (2, 1, 0, 1),
                (4, 2, 30, 0),
                (3, 1, 25, 1),
                (5, 2, 15, 0),
                (8, 1, 0, 0),
                (6, 1, 60, 0),
                (7, 1, 10, 0),
            ]
        );
    }

    #[test]
    fn own_time_is_what_counting_each_nanosecond_gives() {
        let mut random = Random::new(5);
        for _ in 0..1_000 {
            let count = 1 + random.below(12);
            let places = sorted((1..=count).map(|id| {
                let from = random.below(40) as i64;
                place(id, random.below(id), from, from + random.below(30) as i64)
            }));
            let forest = Forest::new(&places);
            for row in rows(&places, &forest) {
                let is_at = |span: u32, nano: i64| {
                    let place = &places[span as usize];
                    (place.start_nanos..place.end_nanos).contains(&nano)
                };
                let is_own = |nano: &i64| {
                    let children = forest.children(row.span);
                    is_at(row.span, *nano) && !children.iter().any(|child| is_at(*child, *nano))
                };
                assert_eq!(row.self_nanos, (0..100).filter(is_own).count() as i64, "{places:?}");
            }
        }
    }

    #[test]
    fn fifty_thousand_children_and_a_chain_as_long_are_done_in_no_time() {
        let begun = std::time::Instant::now();
        let wide = (2..=50_001).map(|id| place(id, 1, id as i64, id as i64 + 1));
        let wide = sorted(wide.chain([place(1, 0, 0, 60_000)]));
        let rows_of_wide = rows(&wide, &Forest::new(&wide));
        assert_eq!((rows_of_wide[0].descendants, rows_of_wide[0].self_nanos), (50_000, 10_000));
        let deep: Vec<Place> =
            (1..=50_000).map(|id| place(id, id - 1, id as i64, 90_000)).collect();
        let rows_of_deep = rows(&deep, &Forest::new(&deep));
        assert_eq!((rows_of_deep[49_999].depth, rows_of_deep[0].descendants), (49_999, 49_999));
        assert!(begun.elapsed().as_secs() < 5, "{:?}", begun.elapsed());
    }
}
