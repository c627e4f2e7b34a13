//! Aggregations from end to end: what each function answers, and that parts do not matter.

use super::testing::{Random, grid, shown, text};
use super::{Aggregation, Grid, Measured, Series};
use crate::ast::{Attribute, Intrinsic, MetricsFunction, Name, Scope};
use crate::value::OwnedValue;

fn keyed(key: &str) -> Attribute {
    Attribute { of_parent: false, name: Name::Keyed { scope: Scope::Span, key: key.to_owned() } }
}

fn intrinsic(intrinsic: Intrinsic) -> Attribute {
    Attribute { of_parent: false, name: Name::Intrinsic(intrinsic) }
}

/// What a function answers for these points and values, without groups.
fn measure(function: MetricsFunction, spans: &[(usize, f64)]) -> Vec<Measured> {
    let mut aggregation = Aggregation::new(&function, &[], &grid(3), true);
    for (number, (point, value)) in spans.iter().enumerate() {
        let all = aggregation.group(&[]);
        aggregation.add(all, *point, *value, number as i64, number as u64);
    }
    aggregation.finish()
}

fn series_of(measured: Vec<Measured>) -> Vec<Series> {
    measured.into_iter().map(|measured| measured.series).collect()
}

fn shown_of(function: MetricsFunction, spans: &[(usize, f64)]) -> Vec<String> {
    shown(&series_of(measure(function, spans)))
}

const SPANS: [(usize, f64); 4] = [(0, 0.1), (0, 0.2), (2, 0.3), (0, f64::NAN)];

#[test]
fn rates_and_counts_are_zero_where_nothing_is_and_count_what_has_no_value() {
    let count = shown_of(MetricsFunction::CountOverTime, &SPANS);
    assert_eq!(count, ["{__name__=count_over_time} 0:3 1:0 2:1"]);
    let half_seconds = Grid::range(0, 1_000_000_000, 500_000_000).unwrap();
    let mut rate = Aggregation::new(&MetricsFunction::Rate, &[], &half_seconds, false);
    let all = rate.group(&[]);
    rate.add(all, 2, 0.0, 0, 0);
    let points: Vec<_> = rate.finish()[0].series.points.iter().map(|point| point.1).collect();
    assert_eq!(points, [0.0, 0.0, 2.0]);
}

#[test]
fn without_spans_there_is_a_count_but_nothing_else() {
    let of = keyed("num");
    assert_eq!(shown_of(MetricsFunction::Rate, &[]), ["{__name__=rate} 0:0 1:0 2:0"]);
    for function in [
        MetricsFunction::MinOverTime(of.clone()),
        MetricsFunction::MaxOverTime(of.clone()),
        MetricsFunction::SumOverTime(of.clone()),
        MetricsFunction::AvgOverTime(of.clone()),
        MetricsFunction::QuantileOverTime(of.clone(), vec![0.5]),
        MetricsFunction::HistogramOverTime(of.clone()),
    ] {
        assert!(measure(function.clone(), &[]).is_empty(), "{function:?}");
        assert!(measure(function, &[(0, f64::NAN)]).is_empty());
    }
    let mut grouped = Aggregation::new(&MetricsFunction::Rate, &[of], &grid(3), false);
    grouped.group(&[text("seen, but nothing was added")]);
    assert!(grouped.finish().is_empty());
}

#[test]
fn numbers_are_left_out_where_nothing_is() {
    let duration = || intrinsic(Intrinsic::Duration);
    let min = shown_of(MetricsFunction::MinOverTime(duration()), &SPANS);
    assert_eq!(min, ["{__name__=min_over_time} 0:0.1 2:0.3"]);
    let max = shown_of(MetricsFunction::MaxOverTime(duration()), &SPANS);
    assert_eq!(max, ["{__name__=max_over_time} 0:0.2 2:0.3"]);
    let avg = shown_of(MetricsFunction::AvgOverTime(duration()), &SPANS);
    assert_eq!(avg, ["{__name__=avg_over_time} 0:0.15 2:0.3"]);
}

/// All functions that are measured by an [`Aggregation`].
fn functions() -> Vec<MetricsFunction> {
    let of = || keyed("num");
    vec![
        MetricsFunction::Rate,
        MetricsFunction::CountOverTime,
        MetricsFunction::MinOverTime(of()),
        MetricsFunction::MaxOverTime(of()),
        MetricsFunction::SumOverTime(of()),
        MetricsFunction::AvgOverTime(of()),
        MetricsFunction::QuantileOverTime(of(), vec![0.5, 0.9]),
        MetricsFunction::HistogramOverTime(of()),
    ]
}

#[test]
fn a_window_that_slides_tells_what_one_point_of_its_spans_would() {
    const S: i64 = 1_000_000_000;
    let mut random = Random::new(7);
    for (function, window) in functions().iter().flat_map(|f| [(f, 1), (f, 2), (f, 5), (f, 64)]) {
        let sliding = Grid::sliding(100 * S, 140 * S, 2 * S, window).unwrap();
        let begin = sliding.time().start;
        let covered = (sliding.time().end - begin) as u64;
        let spans: Vec<(i64, f64)> = (0..60)
            .map(|_| (begin + random.below(covered) as i64, random.below(1000) as f64 / 8.0))
            .collect();
        let measure = |grid: &Grid| {
            let mut aggregation = Aggregation::new(function, &[], grid, false);
            for (start, value) in &spans {
                if let Some(point) = grid.point_of(*start) {
                    let all = aggregation.group(&[]);
                    aggregation.add(all, point, *value, *start, 0);
                }
            }
            series_of(aggregation.finish())
        };
        let whole = measure(&sliding);
        assert!(!whole.is_empty());
        for end in (100..=140).rev().step_by(2).map(|second| second * S) {
            let begin = end - window as i64 * 2 * S;
            let alone = measure(&Grid::sliding(end, end, end - begin, 1).unwrap());
            for series in &whole {
                let told = series.points.iter().find(|(time, _)| *time == end).map(|of| of.1);
                let expected = alone.iter().find(|alone| alone.labels == series.labels);
                let expected = expected.and_then(|alone| alone.points.first().map(|of| of.1));
                // Quantiles and buckets are zero where there is nothing.
                assert_eq!(told.filter(|told| *told != 0.0), expected.filter(|told| *told != 0.0));
            }
        }
    }
}

#[test]
fn durations_are_added_as_nanoseconds_and_numbers_as_they_are() {
    for duration in [Intrinsic::Duration, Intrinsic::TraceDuration, Intrinsic::EventTimeSinceStart]
    {
        let sum = shown_of(MetricsFunction::SumOverTime(intrinsic(duration)), &SPANS);
        assert_eq!(sum, ["{__name__=sum_over_time} 0:0.3 2:0.3"]);
    }
    let sum = shown_of(MetricsFunction::SumOverTime(keyed("num")), &SPANS);
    assert_eq!(sum, ["{__name__=sum_over_time} 0:0.30000000000000004 2:0.3"]);
}

#[test]
fn quantiles_have_a_series_each_and_are_zero_where_nothing_is() {
    let spans: Vec<_> = (1..=10).map(|value| (1, f64::from(value))).collect();
    let function = MetricsFunction::QuantileOverTime(keyed("num"), vec![1.0, 0.5, 0.0, 0.95, 0.5]);
    assert_eq!(
        shown_of(function, &spans),
        [
            "{p=0.0} 0:0 1:1 2:0",
            "{p=0.5} 0:0 1:5 2:0",
            "{p=0.95} 0:0 1:10 2:0",
            "{p=1.0} 0:0 1:10 2:0"
        ]
    );
}

#[test]
fn histograms_have_a_series_for_each_power_of_two() {
    let spans = [(0, 0.3), (1, 0.3), (1, 0.5), (2, 0.15), (2, 0.0)];
    let of_duration = MetricsFunction::HistogramOverTime(intrinsic(Intrinsic::Duration));
    assert_eq!(
        shown_of(of_duration, &spans),
        [
            "{__bucket=0.0} 0:0 1:0 2:1",
            "{__bucket=0.268435456} 0:0 1:0 2:1",
            "{__bucket=0.536870912} 0:1 1:2 2:0",
        ]
    );
    let of_number = MetricsFunction::HistogramOverTime(keyed("num"));
    assert_eq!(
        shown_of(of_number, &spans),
        ["{__bucket=0.0} 0:0 1:0 2:1", "{__bucket=0.25} 0:0 1:0 2:1", "{__bucket=0.5} 0:1 1:2 2:0"]
    );
}

#[test]
fn labels_without_values_are_dropped_and_nil_is_told_if_all_are() {
    let by = [keyed("a"), keyed("b")];
    let mut counts = Aggregation::new(&MetricsFunction::CountOverTime, &by, &grid(1), false);
    let keys = [
        [OwnedValue::Nil, OwnedValue::Nil],
        [text("nil"), OwnedValue::Nil],
        [OwnedValue::Nil, OwnedValue::Int(5)],
        [text("x"), OwnedValue::Int(5)],
        [text("x"), OwnedValue::Float(5.0)],
        [text("x"), OwnedValue::Nil],
    ];
    for key in keys {
        let group = counts.group(&key);
        counts.add(group, 0, 0.0, 0, 0);
    }
    assert_eq!(
        shown(&series_of(counts.finish())),
        [
            "{span.a=nil} 0:2",
            "{span.a=x} 0:1",
            "{span.a=x, span.b=5} 0:1",
            "{span.a=x, span.b=5.0} 0:1",
            "{span.b=5} 0:1",
        ]
    );
    // A label of the function is one already.
    let quantile = MetricsFunction::QuantileOverTime(keyed("num"), vec![0.5]);
    for (function, label) in
        [(quantile, "p=0.5"), (MetricsFunction::HistogramOverTime(keyed("num")), "__bucket=4.0")]
    {
        let mut measured = Aggregation::new(&function, &by, &grid(1), false);
        let nowhere = measured.group(&[OwnedValue::Nil, OwnedValue::Nil]);
        measured.add(nowhere, 0, 4.0, 0, 0);
        let shown = shown(&series_of(measured.finish()));
        assert!(shown[0].starts_with(&format!("{{{label}}} ")), "{shown:?}");
    }
}

#[test]
fn what_is_grouped_by_twice_is_told_once() {
    let by = [keyed("a"), keyed("a")];
    let mut counts = Aggregation::new(&MetricsFunction::CountOverTime, &by, &grid(1), false);
    let group = counts.group(&[text("x"), text("x")]);
    counts.add(group, 0, 0.0, 0, 0);
    assert_eq!(shown(&series_of(counts.finish())), ["{span.a=x} 0:1"]);
}

#[test]
fn examples_are_the_newest_spans_with_what_was_measured() {
    let tokens = |measured: &Measured| -> Vec<_> {
        measured.candidates.iter().map(|of| (of.point, of.token, of.value)).collect()
    };
    let spans = [(0, 0.1), (0, 0.2), (2, 0.3)];
    let count = measure(MetricsFunction::CountOverTime, &spans);
    assert_eq!(tokens(&count[0]), [(0, 1, 2.0), (2, 2, 1.0)]);
    let max = measure(MetricsFunction::MaxOverTime(keyed("num")), &[(1, 5.0), (1, 4.0)]);
    assert_eq!(tokens(&max[0]), [(1, 1, 4.0)]);

    let quantiles = MetricsFunction::QuantileOverTime(keyed("num"), vec![0.1, 1.0]);
    let measured = measure(quantiles, &[(0, 1.0), (0, 9.0), (0, 8.0), (1, 7.0)]);
    assert_eq!(
        measured.iter().map(tokens).collect::<Vec<_>>(),
        [vec![(1, 3, 7.0)], vec![(0, 2, 8.0)]]
    );
    let histogram = measure(MetricsFunction::HistogramOverTime(keyed("num")), &spans);
    assert_eq!(
        histogram.iter().map(tokens).collect::<Vec<_>>(),
        [vec![], vec![(0, 1, 0.2)], vec![(2, 2, 0.3)]]
    );

    let mut without = Aggregation::new(&MetricsFunction::Rate, &[], &grid(1), false);
    let all = without.group(&[]);
    without.add(all, 0, 0.0, 0, 0);
    assert!(without.finish()[0].candidates.is_empty());
}

#[test]
fn points_of_an_answer_are_known_before_it_is_made() {
    let of = || keyed("num");
    let quantiles = |quantiles| MetricsFunction::QuantileOverTime(of(), quantiles);
    for (function, of_none, of_two_groups) in [
        (MetricsFunction::CountOverTime, 1_000, 2_000),
        (quantiles(vec![0.5, 0.9, 0.99]), 0, 3 * 2_000),
        (MetricsFunction::HistogramOverTime(of()), 0, 3 * 1_000),
        // A page for each group.
        (MetricsFunction::MaxOverTime(of()), 0, 64),
        (MetricsFunction::AvgOverTime(of()), 0, 64),
    ] {
        let mut aggregation = Aggregation::new(&function, &[of()], &grid(1_000), false);
        assert_eq!(aggregation.finished_points(), of_none, "{function:?}");
        for (group, value) in [("a", 1.0), ("a", 3.0), ("b", 3.0)] {
            let group = aggregation.group(&[text(group)]);
            aggregation.add(group, 500, value, 0, 0);
        }
        assert_eq!(aggregation.finished_points(), of_two_groups, "{function:?}");
        let found: usize = aggregation.finish().iter().map(|of| of.series.points.len()).sum();
        assert!(found <= of_two_groups, "{function:?}: {found}");
    }
}

#[test]
fn points_that_are_not_on_the_grid_are_ignored() {
    assert_eq!(
        shown_of(MetricsFunction::CountOverTime, &[(3, 1.0), (usize::MAX, 1.0)]),
        ["{__name__=count_over_time} 0:0 1:0 2:0"]
    );
}

/// Spans as they come, in no order: key, point, value, start, token.
type Span = (Vec<OwnedValue>, usize, f64, i64, u64);

fn spans(random: &mut Random, count: usize, points: usize) -> Vec<Span> {
    let values: [fn(&mut Random) -> f64; 4] = [
        |random| random.below(100) as f64,
        |random| random.below(3_000_000_000) as f64 / 1e9,
        |random| (random.unit() - 0.5) * 10_f64.powi(random.below(30) as i32 - 15),
        |random| [0.0, -0.0, f64::NAN, -1.5, f64::INFINITY][random.below(5) as usize],
    ];
    let value_of = values[random.below(4) as usize];
    (0..count as u64)
        .map(|token| {
            let service = match random.below(5) {
                0 => OwnedValue::Nil,
                number => text(&format!("service {number}")),
            };
            let code = match random.below(3) {
                0 => OwnedValue::Nil,
                number => OwnedValue::Int(number as i64),
            };
            let point = (random.unit() * random.unit() * points as f64) as usize;
            let start = random.below(50) as i64;
            (vec![service, code], point, value_of(random), start, token)
        })
        .collect()
}

fn aggregate(aggregation: &mut Aggregation, spans: &[Span]) {
    for (key, point, value, start_nanos, token) in spans {
        let group = aggregation.group(key);
        aggregation.add(group, *point, *value, *start_nanos, *token);
    }
}

/// Everything in the answer, numbers by their bits.
fn bits(measured: &[Measured]) -> Vec<String> {
    let one = |measured: &Measured| {
        let points: Vec<_> =
            measured.series.points.iter().map(|(time, value)| (time, value.to_bits())).collect();
        let candidates: Vec<_> = measured
            .candidates
            .iter()
            .map(|of| (of.point, of.token, of.start_nanos, of.value.to_bits()))
            .collect();
        format!("{:?} {points:?} {candidates:?}", measured.series.labels)
    };
    measured.iter().map(one).collect()
}

#[test]
fn any_order_and_any_division_gives_the_same_bits() {
    let by = [keyed("service"), keyed("code")];
    let mut random = Random::new(9);
    for of in [keyed("num"), intrinsic(Intrinsic::Duration)] {
        for function in [
            MetricsFunction::Rate,
            MetricsFunction::CountOverTime,
            MetricsFunction::MinOverTime(of.clone()),
            MetricsFunction::MaxOverTime(of.clone()),
            MetricsFunction::SumOverTime(of.clone()),
            MetricsFunction::AvgOverTime(of.clone()),
            MetricsFunction::QuantileOverTime(of.clone(), vec![0.01, 0.5, 0.9, 0.99]),
            MetricsFunction::HistogramOverTime(of.clone()),
        ] {
            for points in [1, 7, 200] {
                let mut spans = spans(&mut random, 3_000, points);
                let new = || Aggregation::new(&function, &by, &grid(points), true);
                let mut whole = new();
                aggregate(&mut whole, &spans);
                let most_points = whole.finished_points();
                let measured = whole.finish();
                let found: usize = measured.iter().map(|of| of.series.points.len()).sum();
                assert!(most_points >= found, "{function:?} {points}: {found} of {most_points}");
                let expected = bits(&measured);
                assert!(expected.len() >= 9, "{function:?} {}", expected.len());

                random.shuffle(&mut spans);
                let mut parts = Vec::new();
                for part in spans.chunks(1 + random.below(1_500) as usize) {
                    let mut aggregation = new();
                    aggregate(&mut aggregation, part);
                    parts.push(aggregation);
                }
                while parts.len() > 1 {
                    let from = parts.swap_remove(random.below(parts.len() as u64) as usize);
                    let into = random.below(parts.len() as u64) as usize;
                    parts[into].merge(from);
                }
                // Too much to print.
                assert!(bits(&parts.remove(0).finish()) == expected, "{function:?} {points}");
            }
        }
    }
}

#[test]
fn memory_is_told_as_it_grows_and_few_spans_take_little() {
    let by = [keyed("service")];
    for (function, limit_bytes) in [
        (MetricsFunction::CountOverTime, 1_200),
        (MetricsFunction::AvgOverTime(keyed("num")), 5_000),
        (MetricsFunction::QuantileOverTime(keyed("num"), vec![0.5]), 2_000),
        (MetricsFunction::HistogramOverTime(keyed("num")), 2_500),
    ] {
        let mut aggregation = Aggregation::new(&function, &by, &grid(60), false);
        let mut bytes = aggregation.bytes();
        for number in 0..1_000 {
            let group = aggregation.group(&[text(&format!("service {number}"))]);
            for point in 0..3 {
                aggregation.add(group, point * 20, 0.1 + point as f64, 0, 0);
            }
            assert!(aggregation.bytes() >= bytes);
            bytes = aggregation.bytes();
        }
        let each = bytes / 1_000;
        assert!((100..limit_bytes).contains(&each), "{function:?}: {each}");
    }
}
