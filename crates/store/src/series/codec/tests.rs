//! Tests of the codec as a whole: what goes in comes out, whatever the bytes nothing panics, and the
//! format does not drift.

use super::*;

/// A small generator of random numbers, so that a failure can be repeated.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}

const NASTY_DOUBLES: [u64; 14] = [
    0x0000_0000_0000_0000, // 0.0
    0x8000_0000_0000_0000, // -0.0
    0x7ff0_0000_0000_0000, // infinity
    0xfff0_0000_0000_0000, // -infinity
    0x7ff8_0000_0000_0000, // NaN
    0x7ff0_0000_0000_0002, // a signalling NaN: Prometheus' stale marker
    0xffff_ffff_ffff_ffff, // a NaN with every bit
    0x0000_0000_0000_0001, // the least above zero
    0x8000_0000_0000_0001,
    0x7fef_ffff_ffff_ffff, // the greatest
    0xffef_ffff_ffff_ffff,
    0x3fb9_9999_9999_999a, // 0.1
    0x4340_0000_0000_0000, // 2^53
    0x4320_0000_0000_0000, // 2^51
];

const NASTY_INTS: [i64; 8] =
    [0, 1, -1, i64::MAX, i64::MIN, i64::MIN + 1, 1 << 62, 1_700_000_000_000_000_000];

/// A manner of making numbers, such as series have.
#[derive(Clone, Copy)]
struct Manner(u64);

impl Manner {
    const ALL: std::ops::Range<u64> = 0..10;

    fn double(self, random: &mut Random, index: usize, last: f64) -> f64 {
        match self.0 {
            0 => 42.0,
            1 => last + random.below(100) as f64,
            2 => ((last + random.below(2001) as f64 / 1000.0 - 1.0) * 1000.0).round() / 1000.0,
            3 => f64::from_bits(random.next()),
            4 => f64::from_bits(NASTY_DOUBLES[random.below(14) as usize]),
            5 if random.chance(3) => f64::from_bits(NASTY_DOUBLES[random.below(14) as usize]),
            5 => index as f64 * 0.25,
            6 => f64::from(random.next() as i32 as f32 * 0.1),
            7 => last + random.next() as f64 / 1e19,
            8 if random.chance(2) => 0.0,
            8 => last + 5.0,
            _ => -(random.below(1 << 20) as f64) * 4096.0,
        }
    }

    fn int(self, random: &mut Random, index: usize, last: i64) -> i64 {
        match self.0 {
            0 => 7,
            1 => last.wrapping_add(random.below(100) as i64),
            2 => random.below(1000) as i64 - 500,
            3 => random.next() as i64,
            4 => NASTY_INTS[random.below(8) as usize],
            5 if random.chance(3) => NASTY_INTS[random.below(8) as usize],
            5 => index as i64,
            6 => (random.next() as i64) << 40,
            7 => (index * index) as i64,
            8 if random.chance(2) => 0,
            8 => last.wrapping_add(10_000_000_000),
            _ => {
                1_700_000_000_000_000_000
                    + index as i64 * 10_000_000_000
                    + random.below(3_000_000) as i64
            }
        }
    }

    fn doubles(self, random: &mut Random, count: usize) -> Vec<f64> {
        let mut last = 1000.0;
        let next = |index| {
            last = self.double(random, index, last);
            last
        };
        (0..count).map(next).collect()
    }

    fn ints(self, random: &mut Random, count: usize) -> Vec<i64> {
        let mut last = 0;
        let next = |index| {
            last = self.int(random, index, last);
            last
        };
        (0..count).map(next).collect()
    }
}

/// Points of any type, of numbers made in some manner each.
fn random_points(random: &mut Random, count: usize) -> Points {
    let mut manner = || Manner(random.below(Manner::ALL.end));
    let manners = [manner(), manner(), manner(), manner()];
    let steady = random.chance(50);
    let type_number = random.below(5);
    let values = match type_number {
        0 | 1 => PointValues::Numbers(random_numbers(random, manners, steady, count)),
        2 => PointValues::Histograms(Box::new(random_histograms(random, manners, steady, count))),
        3 => {
            let histograms = random_exponential(random, manners, steady, count);
            PointValues::ExponentialHistograms(Box::new(histograms))
        }
        _ => PointValues::Summaries(random_summaries(random, manners, steady, count)),
    };
    let times = manners[2].ints(random, count);
    let starts = match random.below(3) {
        0 => vec![0; count],
        1 => [17].iter().chain(&times).take(count).copied().collect(),
        _ => manners[3].ints(random, count),
    };
    let mut points = Points::new(values);
    for (time, start) in times.into_iter().zip(starts) {
        let flags = if steady { 0 } else { random.next() as u32 };
        points.push(time, start, flags);
    }
    points
}

fn random_numbers(random: &mut Random, m: [Manner; 4], steady: bool, count: usize) -> Numbers {
    let ints = m[0].ints(random, count);
    let doubles = m[1].doubles(random, count);
    let kind = random.below(3);
    let mut numbers = Numbers::default();
    for (int, double) in ints.into_iter().zip(doubles) {
        numbers.push(match if steady { kind } else { random.below(3) } {
            0 => Number::Absent,
            1 => Number::Int(int),
            _ => Number::Double(double),
        });
    }
    numbers
}

/// A list whose length now and then changes, unless `steady`.
fn list_len(random: &mut Random, steady: bool) -> usize {
    if steady || random.chance(80) { 5 } else { random.below(9) as usize }
}

fn optional(random: &mut Random, steady: bool, value: f64) -> Option<f64> {
    (steady || random.chance(70)).then_some(value)
}

fn random_histograms(
    random: &mut Random,
    m: [Manner; 4],
    steady: bool,
    count: usize,
) -> Histograms {
    let mut histograms = Histograms::default();
    let sums = m[0].doubles(random, count);
    let mut running = [0_u64; 9];
    for sum in sums {
        let len = list_len(random, steady);
        for slot in &mut running {
            *slot = slot.wrapping_add(m[1].int(random, 3, 1) as u64);
        }
        let bucket_counts = &running[..len];
        let in_buckets = bucket_counts.iter().fold(0_u64, |sum, count| sum.wrapping_add(*count));
        let bounds_len = list_len(random, steady);
        histograms.push(&Histogram {
            count: if steady { in_buckets } else { random.next() },
            sum: optional(random, steady, sum),
            min: optional(random, false, sum - 1.0),
            max: None,
            bucket_counts,
            bounds: &[0.005, -0.0, f64::NAN, 1.0, 2.5, 7.0, 10.0, 20.0, 30.0][..bounds_len],
        });
    }
    histograms
}

fn random_exponential(
    random: &mut Random,
    m: [Manner; 4],
    steady: bool,
    count: usize,
) -> ExponentialHistograms {
    let mut histograms = ExponentialHistograms::default();
    let sums = m[0].doubles(random, count);
    let mut running = [0_u64; 9];
    for sum in sums {
        for slot in &mut running {
            *slot = slot.wrapping_add(random.below(5));
        }
        let len = list_len(random, steady);
        let offset = if steady { -3 } else { random.next() as i32 };
        let buckets =
            |present: bool| present.then_some(Buckets { offset, counts: &running[..len] });
        let (has_positive, has_negative) = (steady || random.chance(80), random.chance(10));
        histograms.push(&ExponentialHistogram {
            count: random.below(1000),
            sum: optional(random, steady, sum),
            min: None,
            max: optional(random, false, sum + 1.0),
            scale: if steady { 8 } else { random.next() as i32 },
            zero_count: random.below(3),
            zero_threshold: if steady { -0.0 } else { m[1].double(random, 1, 1.0) },
            positive: buckets(has_positive),
            negative: buckets(has_negative),
        });
    }
    histograms
}

fn random_summaries(random: &mut Random, m: [Manner; 4], steady: bool, count: usize) -> Summaries {
    let mut summaries = Summaries::default();
    let sums = m[0].doubles(random, count);
    for sum in sums {
        let len = list_len(random, steady);
        let values = m[1].doubles(random, len);
        let quantiles = [0.0, 0.5, 0.9, 0.99, 1.0, f64::NAN, 0.1, 0.2, 0.3];
        let pairs = values.iter().enumerate().map(|(index, value)| (quantiles[index], *value));
        summaries.push(random.next() >> 20, sum, pairs);
    }
    summaries
}

/// Everything that points say, with doubles as bits, so that equal means equal to the bit.
fn facts(points: &Points) -> Vec<String> {
    let bits = |doubles: &[f64]| doubles.iter().map(|d| d.to_bits()).collect::<Vec<_>>();
    let optional = |double: Option<f64>| double.map(f64::to_bits);
    let values: Vec<String> = match &points.values {
        PointValues::Numbers(numbers) => numbers
            .iter()
            .map(|number| match number {
                Number::Double(double) => format!("double {:x}", double.to_bits()),
                other => format!("{other:?}"),
            })
            .collect(),
        PointValues::Histograms(histograms) => histograms
            .iter()
            .map(|h| {
                let doubles = [h.sum, h.min, h.max].map(optional);
                format!("{} {doubles:?} {:?} {:?}", h.count, h.bucket_counts, bits(h.bounds))
            })
            .collect(),
        PointValues::ExponentialHistograms(histograms) => histograms
            .iter()
            .map(|h| {
                let doubles = [h.sum, h.min, h.max, Some(h.zero_threshold)].map(optional);
                let ranges = (h.positive, h.negative);
                format!("{} {doubles:?} {} {} {ranges:?}", h.count, h.scale, h.zero_count)
            })
            .collect(),
        PointValues::Summaries(summaries) => summaries
            .iter()
            .map(|s| {
                let doubles = (s.sum.to_bits(), bits(s.quantiles), bits(s.values));
                format!("{} {doubles:?}", s.count)
            })
            .collect(),
        // Of these, `native` has tests of its own.
        PointValues::NativeHistograms(histograms) => {
            histograms.iter().map(|h| format!("{h:?}")).collect()
        }
    };
    let starts = points.start_times_nanos.iter().zip(points.flags.iter());
    let common = points.times_nanos.iter().zip(starts);
    assert_eq!(values.len(), points.len());
    common.zip(values).map(|(common, value)| format!("{common:?} {value}")).collect()
}

fn encode(points: &Points) -> (Vec<u8>, Vec<u8>) {
    let (mut times, mut values) = (Vec::new(), Vec::new());
    encode_times(&points.times_nanos, &mut times).unwrap();
    encode_values(points, &mut values).unwrap();
    (times, values)
}

fn doubles_of(values: impl IntoIterator<Item = f64>) -> Points {
    let mut numbers = Numbers::default();
    values.into_iter().for_each(|value| numbers.push(Number::Double(value)));
    let count = numbers.len();
    let mut points = Points::new(PointValues::Numbers(numbers));
    (0..count as i64).for_each(|index| points.push(index * 10_000_000_000, 0, 0));
    points
}

fn values_len(points: &Points) -> usize {
    encode(points).1.len()
}

#[test]
fn points_of_every_type_come_back_to_the_bit() {
    let mut random = Random(1);
    for round in 0..3000 {
        let count = match round % 4 {
            0 => random.below(5),
            1 => random.below(40),
            2 => 240 + random.below(40),
            _ => random.below(600),
        };
        let points = random_points(&mut random, count as usize);
        let (times, values) = encode(&points);
        let back = decode(&times, &values).unwrap();
        assert_eq!(facts(&back), facts(&points), "round {round}");
    }
}

#[test]
fn doubles_of_every_manner_come_back_to_the_bit() {
    let mut random = Random(2);
    for manner in Manner::ALL {
        for count in [1, 2, 3, 16, 255, 256, 257, 600] {
            let points = doubles_of(Manner(manner).doubles(&mut random, count));
            let (times, values) = encode(&points);
            let back = decode(&times, &values).unwrap();
            assert_eq!(facts(&back), facts(&points), "manner {manner}, count {count}");
        }
    }
}

#[test]
fn the_fast_path_reads_what_the_whole_path_reads() {
    let mut random = Random(3);
    for _ in 0..1000 {
        let count = random.below(400) as usize;
        let points = random_points(&mut random, count);
        let (times_blob, values_blob) = encode(&points);
        let (mut times, mut doubles) = (vec![5], vec![5.0]);
        let result = decode_numbers_f64(&times_blob, &values_blob, &mut times, &mut doubles);
        let PointValues::Numbers(numbers) = &points.values else {
            assert!(matches!(result, Err(CodecError::Tag(_))));
            continue;
        };
        result.unwrap();
        assert_eq!(times[1..], points.times_nanos);
        let expected =
            numbers.iter().zip(points.flags.iter()).map(|(number, flags)| match number {
                _ if flags & 1 != 0 => STALE_NAN,
                Number::Absent => STALE_NAN,
                Number::Int(int) => int as f64,
                Number::Double(double) => double,
            });
        let expected: Vec<u64> = expected.map(f64::to_bits).collect();
        assert_eq!(doubles[1..].iter().map(|d| d.to_bits()).collect::<Vec<_>>(), expected);
    }
}

#[test]
fn corrupt_bytes_give_an_error_or_other_points_but_no_panic() {
    let mut random = Random(4);
    let read = |times: &[u8], values: &[u8]| {
        let _ = decode(times, values);
        let _ = decode_numbers_f64(times, values, &mut Vec::new(), &mut Vec::new());
    };
    for _ in 0..300 {
        let count = random.below(60) as usize;
        let points = random_points(&mut random, count);
        let (times, values) = encode(&points);
        for len in 0..times.len() {
            assert!(decode_times(&times[..len], &mut Vec::new()).is_err());
        }
        for len in 0..values.len() {
            assert!(decode(&times, &values[..len]).is_err());
        }
        for _ in 0..100 {
            let (mut times, mut values) = (times.clone(), values.clone());
            if random.chance(20) {
                let at = random.below(times.len() as u64) as usize;
                times[at] = random.next() as u8;
            }
            for _ in 0..1 + random.below(3) {
                let at = random.below(values.len() as u64) as usize;
                values[at] = random.next() as u8;
            }
            read(&times, &values);
        }
    }
    let times = encode(&doubles_of(vec![0.0; 3])).0;
    for round in 0..100_000 {
        let mut garbage: Vec<u8> = (0..random.below(40)).map(|_| random.next() as u8).collect();
        garbage.splice(0..0, [0x11 + (round % 4) as u8, 3]);
        read(&times, &garbage);
    }
}

#[test]
fn a_few_bytes_cannot_claim_more_than_the_limits() {
    let mut claim = vec![0x10];
    put_varint(&mut claim, MAX_POINTS as u64 + 1);
    claim.extend([0b100, 0]);
    let too_many = CodecError::Limit { count: MAX_POINTS as u64 + 1, limit: MAX_POINTS };
    assert_eq!(decode_times(&claim, &mut Vec::new()), Err(too_many));

    // A thousand points of 2^20 buckets each.
    let times: Vec<i64> = (0..1000).collect();
    let mut claim = vec![0x12];
    put_varint(&mut claim, 1000);
    claim.extend([0, 1, 0b100, 0, 0]);
    put_varint(&mut claim, 1 << 20);
    let too_many = CodecError::Limit { count: 1000 << 20, limit: MAX_LIST_ITEMS };
    assert_eq!(decode_values(&claim, times), Err(too_many));
}

#[test]
fn what_cannot_be_encoded_is_refused() {
    let times = vec![0; MAX_POINTS + 1];
    assert!(matches!(encode_times(&times, &mut Vec::new()), Err(CodecError::Limit { .. })));
    let mut points = doubles_of([1.0, 2.0]);
    points.times_nanos.pop();
    let unequal = CodecError::Unequal { times: 1, values: 2 };
    assert_eq!(encode_values(&points, &mut Vec::new()), Err(unequal));
}

#[test]
fn blobs_that_do_not_belong_together_are_refused() {
    let (times, _) = encode(&doubles_of([1.0, 2.0]));
    let (_, values) = encode(&doubles_of([1.0, 2.0, 3.0]));
    assert_eq!(decode(&times, &values), Err(CodecError::Unequal { times: 2, values: 3 }));
    assert_eq!(decode(&values, &values), Err(CodecError::Tag(0x11)));
}

#[test]
fn the_bytes_of_numbers_do_not_drift() {
    let mut points = doubles_of([1.5, 1.625, 1.75, f64::NAN, 2.5]);
    points.start_times_nanos = Repeated::of(7, 5);
    let (times, values) = encode(&points);
    let expected_times: [&[u8]; 3] = [
        &[0x10, 5],                      // times, five points
        &[0b0101, 0],                    // order 1, constant; first value 0
        &[0x80, 0x90, 0xdf, 0xc0, 0x4a], // anchor: 10,000,000,000
    ];
    assert_eq!(times, expected_times.concat());
    let expected_values: [&[u8]; 8] = [
        &[0x11, 5],                      // numbers, five points
        &[0b1_0001],                     // all doubles, with start times
        &[3, 1, 3],                      // three decimals, one special value, at 3:
        &[0, 0, 0, 0, 0, 0, 0xf8, 0x7f], // NaN
        &[0b1001, 0xb8, 0x17],           // order 1, with divisor; first value 1500
        &[0xfa, 0x01, 125],              // anchor 125, divisor 125
        &[1, 3, 0b00_001_001, 0b1100],   // base -1, width 3: 1, 1, 0, 6
        &[0b0100, 14],                   // start times: constant 7
    ];
    assert_eq!(values, expected_values.concat());
}

#[test]
fn the_bytes_of_exceptions_do_not_drift() {
    let mut column = Vec::new();
    ints::encode_ints(&[5, 4, 5, 4, 4, 5, 4, 4, 4, 5, 4, -100_000, 5, 4, 4, 5], &mut column);
    let expected: [&[u8]; 4] = [
        &[0b0000, 8],                // order 0; base 4
        &[0x80 | 1],                 // width 1, with exceptions
        &[0b0010_0101, 0b1001_0010], // 5 as 1, 4 as 0
        &[1, 11, 0xa3, 0x8d, 0x06],  // one exception, at 11: -50,002 · 2 to be added
    ];
    assert_eq!(column, expected.concat());
}

#[test]
fn the_bytes_of_histograms_do_not_drift() {
    let mut histograms = Histograms::default();
    for (count, sum, bucket_counts) in [(3, 0.5, [1, 2]), (4, 0.75, [1, 3]), (5, 1.0, [1, 4])] {
        histograms.push(&Histogram {
            count,
            sum: Some(sum),
            min: None,
            max: None,
            bucket_counts: &bucket_counts,
            bounds: &[2.5],
        });
    }
    let mut points = Points::new(PointValues::Histograms(Box::new(histograms)));
    [10, 20, 30].into_iter().for_each(|time| points.push(time, 0, 1));
    let expected: [&[u8]; 10] = [
        &[0x12, 3, 0b100],           // histograms, three points, with flags
        &[0b0100, 2],                // flags: constant 1
        &[1, 0b0100, 2],             // one layout of bounds, of length 1:
        &[1, 0, 0b0100, 50],         // one decimal, no special value, constant 25
        &[0, 2],                     // bucket by bucket, two of them:
        &[0b0100, 2],                // constant 1
        &[0b0101, 4, 2],             // from 2 by 1
        &[0b0100, 0],                // counts: as the buckets say
        &[1, 2, 0, 0b0101, 100, 50], // sums: two decimals, from 50 by 25
        &[0, 0],                     // no min, no max
    ];
    assert_eq!(encode(&points).1, expected.concat());
}

#[test]
fn regular_times_take_a_handful_of_bytes() {
    let regular: Vec<i64> =
        (0..360).map(|i| 1_700_000_000_000_000_000 + i * 10_000_000_000).collect();
    let mut blob = Vec::new();
    encode_times(&regular, &mut blob).unwrap();
    assert!(blob.len() <= 20, "{} bytes", blob.len());
}

#[test]
fn a_missed_scrape_costs_a_few_bytes() {
    let times: Vec<i64> = (0..360)
        .filter(|i| i % 100 != 50)
        .map(|i| 1_700_000_000_000_000_000 + i * 10_000_000_000)
        .collect();
    let mut blob = Vec::new();
    encode_times(&times, &mut blob).unwrap();
    assert!(blob.len() <= 48, "{} bytes", blob.len());
}

#[test]
fn jitter_costs_its_bits() {
    let mut random = Random(5);
    // Up to 4 ms late, in milliseconds: two bits each, and some change.
    let times: Vec<i64> = (0..360)
        .map(|i| (1_700_000_000_000 + i * 10_000 + random.below(4) as i64) * 1_000_000)
        .collect();
    let mut blob = Vec::new();
    encode_times(&times, &mut blob).unwrap();
    assert!(blob.len() <= 360 * 2 / 8 + 40, "{} bytes", blob.len());
}

#[test]
fn what_does_not_change_costs_nothing() {
    let few = values_len(&doubles_of(vec![0.1; 10]));
    assert_eq!(values_len(&doubles_of(vec![0.1; 127])), few);
    assert!(few <= 12, "{few} bytes");
}

#[test]
fn a_reset_and_a_stale_marker_do_not_spoil_a_counter() {
    let mut random = Random(6);
    let mut total = 0.0;
    let mut counter: Vec<f64> = (0..240)
        .map(|_| {
            total += random.below(16) as f64;
            1e9 + total
        })
        .collect();
    let undisturbed = values_len(&doubles_of(counter.clone()));
    counter[120..].iter_mut().for_each(|value| *value -= 1e9);
    counter[239] = STALE_NAN;
    let disturbed = values_len(&doubles_of(counter));
    assert!(disturbed <= undisturbed + 30, "{disturbed} bytes, not {undisturbed}");
}

#[test]
fn floats_in_doubles_cost_what_floats_cost() {
    let mut random = Random(7);
    let floats = (0..240).map(|_| random.below(1 << 24) as f32 / 3e7);
    let len = values_len(&doubles_of(floats.map(f64::from)));
    assert!(len <= 240 * 4, "{len} bytes");
}

#[test]
fn start_times_of_delta_sums_cost_nothing_even_with_jitter() {
    let mut random = Random(8);
    let mut points = doubles_of(vec![1.0; 240]);
    for (i, time) in (0..).zip(&mut points.times_nanos) {
        *time = 1_700_000_000_000_000_000 + i * 10_000_000_000 + random.below(1_000_000) as i64;
    }
    let plain = values_len(&points);
    let starts = [points.times_nanos[0] - 10_000_000_000];
    points.start_times_nanos =
        starts.iter().chain(&points.times_nanos).take(240).copied().collect();
    assert!(values_len(&points) <= plain + 20);
}
