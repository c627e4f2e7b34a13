//! `topk`, `bottomk` and filters: from series to fewer series.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use super::Series;
use super::aggregation::NANOS_PER_SECOND;
use super::labels::sort;
use crate::ast::{BinaryOp, Literal, SeriesStage};

/// Applies stages to a whole answer, one after another. What comes out is sorted by labels, and
/// series that have no points are dropped.
///
/// Examples stay where their point stays.
#[must_use]
pub fn apply_stages(mut series: Vec<Series>, stages: &[SeriesStage]) -> Vec<Series> {
    sort(&mut series);
    for stage in stages {
        series = match stage {
            SeriesStage::TopK(count) => extremes(series, *count, |a, b| b.total_cmp(&a)),
            SeriesStage::BottomK(count) => extremes(series, *count, |a, b| a.total_cmp(&b)),
            SeriesStage::Filter(op, literal) => filter(series, *op, literal),
        };
    }
    series
}

/// At each time the points of `count` series, the least in `order`; of equal ones those of the
/// least labels.
fn extremes(
    series: Vec<Series>,
    count: usize,
    order: impl Fn(f64, f64) -> Ordering,
) -> Vec<Series> {
    let mut times: BTreeMap<i64, Vec<(f64, usize)>> = BTreeMap::new();
    for (number, series) in series.iter().enumerate() {
        for (time, value) in series.points.iter().filter(|(_, value)| !value.is_nan()) {
            // Zero has a sign, which is no reason to prefer one to another.
            times.entry(*time).or_default().push((*value + 0.0, number));
        }
    }
    let mut kept: Vec<Vec<i64>> = vec![Vec::new(); series.len()];
    for (time, mut values) in times {
        if count < values.len() {
            // The order is total, so which are chosen does not depend on how they are sorted.
            values
                .select_nth_unstable_by(count, |a, b| order(a.0, b.0).then_with(|| a.1.cmp(&b.1)));
            values.truncate(count);
        }
        for (_, number) in values {
            kept[number].push(time);
        }
    }
    let pairs = series.into_iter().zip(kept);
    retain(pairs, |times, (time, _)| times.binary_search(time).is_ok())
}

fn filter(series: Vec<Series>, op: BinaryOp, literal: &Literal) -> Vec<Series> {
    let passes = |value: f64, number: f64| match op {
        BinaryOp::Equal => value == number,
        BinaryOp::NotEqual => value != number,
        BinaryOp::Less => value < number,
        BinaryOp::LessEqual => value <= number,
        BinaryOp::Greater => value > number,
        BinaryOp::GreaterEqual => value >= number,
        _ => false,
    };
    // What is no number compares with none, and nothing passes.
    let Some(number) = number_of(literal) else { return Vec::new() };
    retain(series.into_iter().map(|series| (series, ())), |(), (_, value)| passes(*value, number))
}

/// The number that a literal is, durations in seconds.
pub(super) fn number_of(literal: &Literal) -> Option<f64> {
    match literal {
        Literal::Int(number) => Some(*number as f64),
        Literal::Float(number) => Some(*number),
        Literal::Duration(nanos) => Some(*nanos as f64 / NANOS_PER_SECOND),
        _ => None,
    }
}

/// Keeps points, the examples of these points, and the series that have any points then.
fn retain<T>(
    series: impl Iterator<Item = (Series, T)>,
    is_kept: impl Fn(&T, &(i64, f64)) -> bool,
) -> Vec<Series> {
    let retain_in = |(series, context): (Series, T)| {
        let Series { labels, points, mut exemplars } = series;
        // An example belongs to the first point that is not before it.
        exemplars.retain(|exemplar| {
            let place = points.partition_point(|(time, _)| *time < exemplar.time_nanos);
            points.get(place).is_some_and(|point| is_kept(&context, point))
        });
        let points: Vec<_> = points.into_iter().filter(|point| is_kept(&context, point)).collect();
        (!points.is_empty()).then_some(Series { labels, points, exemplars })
    };
    series.filter_map(retain_in).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::Exemplar;
    use crate::metrics::testing::{series, shown};

    fn answer() -> Vec<Series> {
        vec![
            series(&[("k", "b")], &[(0, 1.0), (1, 5.0), (2, 2.0)]),
            series(&[("k", "a")], &[(0, 1.0), (1, 4.0)]),
            series(&[("k", "c")], &[(0, 0.0), (1, 5.0), (2, 2.0)]),
        ]
    }

    #[test]
    fn topk_keeps_the_greatest_at_each_time_and_of_equals_the_least_labels() {
        let top = apply_stages(answer(), &[SeriesStage::TopK(1)]);
        assert_eq!(shown(&top), ["{k=a} 0:1", "{k=b} 1:5 2:2"]);
        let top = apply_stages(answer(), &[SeriesStage::TopK(2)]);
        assert_eq!(shown(&top), ["{k=a} 0:1", "{k=b} 0:1 1:5 2:2", "{k=c} 1:5 2:2"]);
    }

    #[test]
    fn bottomk_keeps_the_least_at_each_time_and_of_equals_the_least_labels() {
        let bottom = apply_stages(answer(), &[SeriesStage::BottomK(1)]);
        assert_eq!(shown(&bottom), ["{k=a} 1:4", "{k=b} 2:2", "{k=c} 0:0"]);
    }

    #[test]
    fn more_than_there_are_keeps_all_and_none_keeps_nothing() {
        let sorted = apply_stages(answer(), &[]);
        assert_eq!(apply_stages(answer(), &[SeriesStage::TopK(10)]), sorted);
        assert_eq!(apply_stages(answer(), &[SeriesStage::BottomK(10)]), sorted);
        assert!(apply_stages(answer(), &[SeriesStage::TopK(0)]).is_empty());
    }

    #[test]
    fn the_order_of_series_does_not_matter() {
        let mut reversed = answer();
        reversed.reverse();
        for stage in [SeriesStage::TopK(1), SeriesStage::BottomK(1), SeriesStage::TopK(2)] {
            let stages = std::slice::from_ref(&stage);
            assert_eq!(apply_stages(reversed.clone(), stages), apply_stages(answer(), stages));
        }
    }

    #[test]
    fn filters_drop_points_and_then_empty_series() {
        let filter =
            |op, literal| shown(&apply_stages(answer(), &[SeriesStage::Filter(op, literal)]));
        assert_eq!(filter(BinaryOp::GreaterEqual, Literal::Int(5)), ["{k=b} 1:5", "{k=c} 1:5"]);
        assert_eq!(filter(BinaryOp::Greater, Literal::Float(4.5)), ["{k=b} 1:5", "{k=c} 1:5"]);
        assert_eq!(filter(BinaryOp::Less, Literal::Duration(500_000_000)), ["{k=c} 0:0"]);
        assert_eq!(filter(BinaryOp::LessEqual, Literal::Int(0)), ["{k=c} 0:0"]);
        assert_eq!(filter(BinaryOp::Equal, Literal::Int(4)), ["{k=a} 1:4"]);
        assert_eq!(
            filter(BinaryOp::NotEqual, Literal::Int(1)),
            ["{k=a} 1:4", "{k=b} 1:5 2:2", "{k=c} 0:0 1:5 2:2"]
        );
        assert!(filter(BinaryOp::Equal, Literal::Text("4".to_owned())).is_empty());
        assert!(filter(BinaryOp::NotEqual, Literal::Nil).is_empty());
        assert!(filter(BinaryOp::Add, Literal::Int(1)).is_empty());
    }

    #[test]
    fn stages_come_one_after_another() {
        let stages = [
            SeriesStage::Filter(BinaryOp::Less, Literal::Int(5)),
            SeriesStage::TopK(1),
            SeriesStage::Filter(BinaryOp::Greater, Literal::Int(1)),
        ];
        assert_eq!(shown(&apply_stages(answer(), &stages)), ["{k=a} 1:4", "{k=b} 2:2"]);
    }

    #[test]
    fn examples_go_with_their_points() {
        let mut one = series(&[("k", "a")], &[(1, 1.0), (2, 9.0)]);
        for time in [500_000_000, 1_000_000_000, 1_000_000_001, 2_000_000_001] {
            one.exemplars.push(Exemplar { labels: Vec::new(), time_nanos: time, value: 1.0 });
        }
        let stage = SeriesStage::Filter(BinaryOp::Greater, Literal::Int(5));
        let kept = apply_stages(vec![one], &[stage]);
        let times: Vec<_> = kept[0].exemplars.iter().map(|exemplar| exemplar.time_nanos).collect();
        assert_eq!(times, [1_000_000_001]);
    }
}
