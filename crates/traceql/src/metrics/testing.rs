//! What tests of this module share.

use super::{Grid, Series};
use crate::value::OwnedValue;

/// Numbers that look random, the same at every run.
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    /// SplitMix64.
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    /// Less than `end`.
    pub(super) fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    /// In `[0, 1)`.
    pub(super) fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    pub(super) fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last as u64 + 1) as usize);
        }
    }
}

/// Points at 0, 1, … seconds.
pub(super) fn grid(points: usize) -> Grid {
    let second = 1_000_000_000;
    Grid::range(0, (points as i64 - 1) * second, second).unwrap()
}

pub(super) fn text(text: &str) -> OwnedValue {
    OwnedValue::Text(text.to_owned())
}

/// A series with points at these seconds.
pub(super) fn series(labels: &[(&str, &str)], points: &[(i64, f64)]) -> Series {
    Series {
        labels: labels.iter().map(|(key, value)| ((*key).to_owned(), text(value))).collect(),
        points: points.iter().map(|(time, value)| (time * 1_000_000_000, *value)).collect(),
        exemplars: Vec::new(),
    }
}

/// Labels as `{key=value, …}` with the points that a series has, for comparing.
pub(super) fn shown(series: &[Series]) -> Vec<String> {
    let value = |value: &OwnedValue| match value {
        OwnedValue::Text(text) => text.clone(),
        OwnedValue::Int(number) => number.to_string(),
        OwnedValue::Float(number) => format!("{number:?}"),
        other => format!("{other:?}"),
    };
    let one = |series: &Series| {
        let labels: Vec<_> =
            series.labels.iter().map(|(key, of)| format!("{key}={}", value(of))).collect();
        let points: Vec<_> = series
            .points
            .iter()
            .map(|(time, value)| format!("{}:{value}", time / 1_000_000_000))
            .collect();
        format!("{{{}}} {}", labels.join(", "), points.join(" "))
    };
    series.iter().map(one).collect()
}
