//! The column types that points are kept in: cheap to append to, small while a chunk fills.

/// A column that is one value nearly always, such as start times and flags. While it is, only the
/// value and the length are kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Repeated<T> {
    first: T,
    len: usize,
    /// All values, as soon as two differ; empty before.
    all: Vec<T>,
}

impl<T: Copy + PartialEq + Default> Repeated<T> {
    /// An empty column.
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends a value.
    pub fn push(&mut self, value: T) {
        if self.len == 0 {
            self.first = value;
        } else if !self.all.is_empty() {
            self.all.push(value);
        } else if value != self.first {
            self.all.resize(self.len, self.first);
            self.all.push(value);
        }
        self.len += 1;
    }

    /// How many values there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The value at `index`, if the column reaches that far.
    pub fn get(&self, index: usize) -> Option<T> {
        if self.all.is_empty() && index < self.len {
            return Some(self.first);
        }
        self.all.get(index).copied()
    }

    /// The one value of a column that has only one; `None` also for an empty column.
    pub fn constant(&self) -> Option<T> {
        (self.len > 0 && self.all.is_empty()).then_some(self.first)
    }

    /// The values in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = T> + '_ {
        (0..self.len).map(|index| self.all.get(index).copied().unwrap_or(self.first))
    }

    /// A column of `len` times `value`.
    pub fn of(value: T, len: usize) -> Self {
        Self { first: value, len, all: Vec::new() }
    }
}

impl<T: Copy + PartialEq + Default> FromIterator<T> for Repeated<T> {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        let mut column = Self::new();
        values.into_iter().for_each(|value| column.push(value));
        column
    }
}

/// Doubles that may be absent.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OptionalDoubles {
    pub(super) present: Repeated<bool>,
    /// Those that are present.
    pub(super) values: Vec<f64>,
}

impl OptionalDoubles {
    /// Appends a value or its absence.
    pub fn push(&mut self, value: Option<f64>) {
        self.present.push(value.is_some());
        self.values.extend(value);
    }

    /// How many points there are, with or without a value.
    pub fn len(&self) -> usize {
        self.present.len()
    }

    /// Whether there is no point.
    pub fn is_empty(&self) -> bool {
        self.present.is_empty()
    }

    /// The points in order.
    pub fn iter(&self) -> impl Iterator<Item = Option<f64>> + '_ {
        let mut values = self.values.iter();
        self.present.iter().map(move |present| if present { values.next().copied() } else { None })
    }
}

/// A list for each point, the items of all lists in one vector.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Lists<T> {
    pub(super) lengths: Repeated<u32>,
    pub(super) items: Vec<T>,
}

impl<T: Copy> Lists<T> {
    /// Appends a list.
    pub fn push(&mut self, list: &[T]) {
        self.lengths.push(list.len() as u32);
        self.items.extend_from_slice(list);
    }

    /// How many lists there are.
    pub fn len(&self) -> usize {
        self.lengths.len()
    }

    /// Whether there is no list.
    pub fn is_empty(&self) -> bool {
        self.lengths.is_empty()
    }

    /// The lists in order.
    pub fn iter(&self) -> impl Iterator<Item = &[T]> + '_ {
        let mut rest = self.items.as_slice();
        self.lengths.iter().map(move |len| {
            let (list, after) = rest.split_at_checked(len as usize).unwrap_or((rest, &[]));
            rest = after;
            list
        })
    }
}

/// A list of doubles for each point that is mostly the list of the point before: bucket bounds,
/// quantiles. Each different list is kept once.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Layouts {
    pub(super) layouts: Vec<Vec<f64>>,
    pub(super) indexes: Repeated<u32>,
}

impl Layouts {
    /// How many of the latest layouts a new one is compared with.
    const REMEMBERED: usize = 4;

    /// Appends the list of a point.
    pub fn push(&mut self, list: impl ExactSizeIterator<Item = f64> + Clone) {
        let same = |layout: &Vec<f64>| {
            layout.len() == list.len()
                && layout.iter().zip(list.clone()).all(|(a, b)| a.to_bits() == b.to_bits())
        };
        let known = self.layouts.iter().enumerate().rev().take(Self::REMEMBERED);
        let index = known.filter(|(_, layout)| same(layout)).map(|(index, _)| index).next();
        let index = index.unwrap_or_else(|| {
            self.layouts.push(list.collect());
            self.layouts.len() - 1
        });
        self.indexes.push(index as u32);
    }

    /// How many points there are.
    pub fn len(&self) -> usize {
        self.indexes.len()
    }

    /// Whether there is no point.
    pub fn is_empty(&self) -> bool {
        self.indexes.is_empty()
    }

    /// The items of all different lists.
    pub(super) fn items(&self) -> usize {
        self.layouts.iter().map(Vec::len).sum()
    }

    /// The list of each point, in order.
    pub fn iter(&self) -> impl Iterator<Item = &[f64]> + '_ {
        let list = |index: u32| self.layouts.get(index as usize).map_or(&[][..], Vec::as_slice);
        self.indexes.iter().map(list)
    }
}
