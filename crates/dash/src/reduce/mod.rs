//! Reducers: one value out of a column, such as its mean or its last value that is not null.
//!
//! They are used by transformations, by legends and by panels that show single values, under the ids
//! that dashboards give them. Results are Grafana's, with these differences by design:
//! - What has no result is null, where Grafana has null, NaN, undefined or the largest number.
//! - Texts and truths are not null, where Grafana's `allIsNull` says so.
//! - Percentiles and medians read texts as numbers and leave out what is none, NaN included.
//! - Nothing has no changes and no different values, where Grafana has no result for that.

pub mod shown;
mod standard;

use std::collections::HashSet;

use serde_json::{Map, Value as Json};

use crate::frame::{Field, Kind, Value};
use standard::Standard;

/// A way to make one value of many.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reducer {
    /// The last value that is neither null nor NaN.
    LastNotNull,
    /// The last value.
    Last,
    /// The first value that is neither null nor NaN.
    FirstNotNull,
    /// The first value.
    First,
    /// The least.
    Min,
    /// The greatest.
    Max,
    /// The sum divided by the count.
    Mean,
    /// The value in the middle.
    Median,
    /// The mean square of the distance from the mean.
    Variance,
    /// The root of the variance.
    StdDev,
    /// The sum.
    Sum,
    /// How many values are not null.
    Count,
    /// How many values there are.
    CountAll,
    /// The greatest less the least.
    Range,
    /// The sum of all increases, a decrease being a counter's restart.
    Delta,
    /// The least distance from one value to the next.
    Step,
    /// The last less the first.
    Diff,
    /// The least that is above zero.
    LogMin,
    /// Whether all are zero.
    AllIsZero,
    /// Whether all are null.
    AllIsNull,
    /// How often the value changes.
    ChangeCount,
    /// How many different values there are.
    DistinctCount,
    /// The last less the first, in percent of the first.
    DiffPercent,
    /// All values as a list.
    AllValues,
    /// All different values as a list.
    UniqueValues,
    /// The value below which that percentage lies, from 1 to 99.
    Percentile(u8),
}

/// Ids and titles; an id that is an older name of the same comes after it.
const NAMES: &[(&str, &str, Reducer)] = &[
    ("lastNotNull", "Last *", Reducer::LastNotNull),
    ("current", "Last *", Reducer::LastNotNull),
    ("last", "Last", Reducer::Last),
    ("firstNotNull", "First *", Reducer::FirstNotNull),
    ("first", "First", Reducer::First),
    ("min", "Min", Reducer::Min),
    ("max", "Max", Reducer::Max),
    ("mean", "Mean", Reducer::Mean),
    ("avg", "Mean", Reducer::Mean),
    ("median", "Median", Reducer::Median),
    ("variance", "Variance", Reducer::Variance),
    ("stdDev", "StdDev", Reducer::StdDev),
    ("sum", "Total", Reducer::Sum),
    ("total", "Total", Reducer::Sum),
    ("count", "Count", Reducer::Count),
    ("countAll", "Count all", Reducer::CountAll),
    ("range", "Range", Reducer::Range),
    ("delta", "Delta", Reducer::Delta),
    ("step", "Step", Reducer::Step),
    ("diff", "Difference", Reducer::Diff),
    ("logmin", "Min (above zero)", Reducer::LogMin),
    ("allIsZero", "All Zeros", Reducer::AllIsZero),
    ("allIsNull", "All Nulls", Reducer::AllIsNull),
    ("changeCount", "Change Count", Reducer::ChangeCount),
    ("distinctCount", "Distinct Count", Reducer::DistinctCount),
    ("diffperc", "Difference percent", Reducer::DiffPercent),
    ("allValues", "All values", Reducer::AllValues),
    ("uniqueValues", "All unique values", Reducer::UniqueValues),
];

impl Reducer {
    /// The reducer of that id.
    pub fn from_id(id: &str) -> Option<Self> {
        if let Some((_, _, reducer)) = NAMES.iter().find(|(known, ..)| *known == id) {
            return Some(*reducer);
        }
        let percentile = id.strip_prefix('p')?.parse().ok()?;
        (1..=99).contains(&percentile).then_some(Self::Percentile(percentile))
    }

    /// The id that dashboards write today.
    pub fn id(self) -> String {
        match self {
            Self::Percentile(percentile) => format!("p{percentile}"),
            reducer => name(reducer).map_or("", |(id, _)| id).to_owned(),
        }
    }

    /// What a legend or a header says.
    pub fn title(self) -> String {
        match self {
            Self::Percentile(percentile) => {
                let ending = match (percentile, percentile % 10) {
                    (4..=20, _) => "th",
                    (_, 1) => "st",
                    (_, 2) => "nd",
                    (_, 3) => "rd",
                    _ => "th",
                };
                format!("{percentile}{ending} %")
            }
            reducer => name(reducer).map_or("", |(_, title)| title).to_owned(),
        }
    }

    /// Whether the result has the unit of the values.
    pub fn keeps_unit(self) -> bool {
        !matches!(
            self,
            Self::Count
                | Self::CountAll
                | Self::AllIsNull
                | Self::AllIsZero
                | Self::ChangeCount
                | Self::DistinctCount
                | Self::DiffPercent
                | Self::AllValues
                | Self::UniqueValues
        )
    }

    /// What the result is, for a column of that kind.
    pub fn kind(self, of: Kind) -> Kind {
        match self {
            Self::Count | Self::CountAll | Self::ChangeCount | Self::DistinctCount => Kind::Number,
            Self::AllIsNull | Self::AllIsZero => Kind::Boolean,
            Self::AllValues | Self::UniqueValues => Kind::Other,
            Self::Last | Self::LastNotNull | Self::First | Self::FirstNotNull => of,
            // Moments and distances of times are counts of milliseconds.
            Self::Variance | Self::StdDev | Self::Range | Self::Delta | Self::Step | Self::Diff => {
                Kind::Number
            }
            _ => of,
        }
    }

    /// The result over the values of a field.
    pub fn reduce(self, field: &Field) -> Value {
        reduce(field, &[self]).pop().unwrap_or_default()
    }
}

fn name(reducer: Reducer) -> Option<(&'static str, &'static str)> {
    NAMES.iter().find(|(.., known)| *known == reducer).map(|(id, title, _)| (*id, *title))
}

/// How nulls count, by the field's `nullValueMode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Nulls {
    /// They are left out.
    Ignore,
    /// They are zeroes.
    AsZero,
    /// They are values.
    Keep,
}

impl Nulls {
    /// The way that a field's configuration asks for.
    pub fn of(field: &Field) -> Self {
        Self::from_name(field.config_text("nullValueMode").unwrap_or("connected"))
    }

    /// The way of that name.
    pub fn from_name(name: &str) -> Self {
        match name {
            "null as zero" => Self::AsZero,
            "null" => Self::Keep,
            _ => Self::Ignore,
        }
    }
}

/// The results of several reducers over the values of a field.
pub fn reduce(field: &Field, reducers: &[Reducer]) -> Vec<Value> {
    reduce_values(&field.values, field.kind, Nulls::of(field), reducers)
}

/// The results as JSON by the ids that were asked for; an unknown id is left out.
pub fn calcs<T: AsRef<str>>(field: &Field, ids: &[T]) -> Map<String, Json> {
    let known = ids.iter().filter_map(|id| Some((id.as_ref(), Reducer::from_id(id.as_ref())?)));
    let (ids, reducers): (Vec<&str>, Vec<Reducer>) = known.unzip();
    let results = reduce(field, &reducers);
    ids.iter().zip(results).map(|(id, value)| ((*id).to_owned(), value.to_json())).collect()
}

/// The results of several reducers over values of that kind.
pub fn reduce_values(
    values: &[Value],
    kind: Kind,
    nulls: Nulls,
    reducers: &[Reducer],
) -> Vec<Value> {
    let mut standard: Option<Standard> = None;
    let mut sorted: Option<Vec<f64>> = None;
    let one = |reducer: &Reducer| match *reducer {
        Reducer::Last => values.last().cloned().unwrap_or_default(),
        Reducer::First => values.first().cloned().unwrap_or_default(),
        Reducer::LastNotNull => values.iter().rev().find(is_there).cloned().unwrap_or_default(),
        Reducer::FirstNotNull => values.iter().find(is_there).cloned().unwrap_or_default(),
        Reducer::CountAll => values.len().into(),
        Reducer::AllValues => Value::List(values.into()),
        Reducer::UniqueValues => Value::List(unique(values).into()),
        Reducer::ChangeCount => changes(values, nulls).into(),
        Reducer::DistinctCount => distinct(values, nulls).into(),
        Reducer::Variance | Reducer::StdDev if values.is_empty() => Value::Null,
        Reducer::Variance => variance(values, kind).into(),
        Reducer::StdDev => variance(values, kind).sqrt().into(),
        Reducer::Median => median(sorted.get_or_insert_with(|| sort(values, nulls))).into(),
        Reducer::Percentile(percentile) => {
            let sorted = sorted.get_or_insert_with(|| sort(values, nulls));
            let last = sorted.len().saturating_sub(1) as f64;
            let index = (last * (f64::from(percentile) / 100.0) + 0.5).floor();
            sorted.get(index as usize).copied().into()
        }
        reducer => {
            standard.get_or_insert_with(|| Standard::of(values, kind, nulls)).result(reducer)
        }
    };
    reducers.iter().map(one).collect()
}

/// Whether a value is neither null nor NaN.
fn is_there(value: &&Value) -> bool {
    !value.is_null() && !value.as_number().is_some_and(f64::is_nan)
}

fn unique(values: &[Value]) -> Vec<Value> {
    let mut seen = HashSet::new();
    values.iter().filter(|value| seen.insert(value.key())).cloned().collect()
}

/// The values that count, with nulls as zeroes where they are.
fn counted(values: &[Value], nulls: Nulls) -> impl Iterator<Item = Value> + '_ {
    values.iter().filter_map(move |value| match (value, nulls) {
        (Value::Null, Nulls::Ignore) => None,
        (Value::Null, Nulls::AsZero) => Some(Value::Number(0.0)),
        _ => Some(value.clone()),
    })
}

fn changes(values: &[Value], nulls: Nulls) -> usize {
    let mut last: Option<Value> = None;
    let mut count = 0;
    for value in counted(values, nulls) {
        count += usize::from(last.as_ref().is_some_and(|last| last != &value));
        last = Some(value);
    }
    count
}

fn distinct(values: &[Value], nulls: Nulls) -> usize {
    counted(values, nulls).map(|value| value.key()).collect::<HashSet<_>>().len()
}

/// The variance in one pass, by Welford's method: exact for values that are large and close.
fn variance(values: &[Value], kind: Kind) -> f64 {
    if !matches!(kind, Kind::Number | Kind::Time) {
        return 0.0;
    }
    let (mut mean, mut squares, mut count) = (0.0, 0.0, 0.0);
    for number in values.iter().filter_map(Value::as_number) {
        count += 1.0;
        let distance = number - mean;
        mean += distance / count;
        squares += distance * (number - mean);
    }
    if count > 0.0 { squares / count } else { 0.0 }
}

fn sort(values: &[Value], nulls: Nulls) -> Vec<f64> {
    let zero = matches!(nulls, Nulls::AsZero).then_some(0.0);
    let number = |value: &Value| if value.is_null() { zero } else { value.to_number() };
    let numbers = values.iter().filter_map(number).filter(|number| !number.is_nan());
    let mut sorted: Vec<f64> = numbers.collect();
    sorted.sort_by(f64::total_cmp);
    sorted
}

fn median(sorted: &[f64]) -> Option<f64> {
    let middle = sorted.len() / 2;
    let upper = *sorted.get(middle)?;
    if sorted.len() % 2 == 1 {
        return Some(upper);
    }
    Some((sorted.get(middle.checked_sub(1)?)? + upper) / 2.0)
}

#[cfg(test)]
mod tests;
