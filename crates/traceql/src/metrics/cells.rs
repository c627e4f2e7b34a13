//! One cell for each row and point.
//!
//! A row is a series in the making. Some answers have one row with ten thousand points, others a
//! hundred thousand rows with a few spans each; so cells come in pages of up to [`PAGE_POINTS`]
//! points of one row, and only pages that were touched exist:
//!
//! ```text
//! table: row 0 │ 0 │ – │ row 1 │ – │ 1 │ …      cells: │ page 0 … │ page 1 … │ …
//! ```

/// Points of a page, if there are as many. A quarter of a kilobyte of counts.
const PAGE_POINTS: usize = 32;

const NO_PAGE: u32 = u32::MAX;

/// One cell for each row and point.
#[derive(Debug, Clone)]
pub(super) struct Cells<T> {
    points: usize,
    page_bits: u32,
    pages_per_row: usize,
    /// What cells are before anything is put in.
    empty: T,
    /// The page of each row and stretch of points.
    table: Vec<u32>,
    cells: Vec<T>,
}

impl<T: Clone> Cells<T> {
    pub(super) fn new(points: usize, empty: T) -> Self {
        let page_points = points.clamp(1, PAGE_POINTS).next_power_of_two();
        Self {
            points,
            page_bits: page_points.trailing_zeros(),
            pages_per_row: points.div_ceil(page_points).max(1),
            empty,
            table: Vec::new(),
            cells: Vec::new(),
        }
    }

    /// Makes room for this many rows.
    pub(super) fn extend_rows(&mut self, rows: usize) {
        let pages = rows * self.pages_per_row;
        if pages > self.table.len() {
            self.table.resize(pages, NO_PAGE);
        }
    }

    /// The cell of a row and point, made if it is new; none if there is no such row or point.
    #[inline]
    pub(super) fn cell(&mut self, row: usize, point: usize) -> Option<&mut T> {
        if point >= self.points {
            return None;
        }
        let slot = row * self.pages_per_row + (point >> self.page_bits);
        let mut page = *self.table.get(slot)?;
        if page == NO_PAGE {
            page = self.new_page(slot);
        }
        let within = point & ((1 << self.page_bits) - 1);
        self.cells.get_mut(((page as usize) << self.page_bits) + within)
    }

    #[cold]
    fn new_page(&mut self, slot: usize) -> u32 {
        let page = (self.cells.len() >> self.page_bits) as u32;
        self.cells.resize(self.cells.len() + (1 << self.page_bits), self.empty.clone());
        self.table[slot] = page;
        page
    }

    fn pages_of(&self, row: usize) -> &[u32] {
        let first = row * self.pages_per_row;
        self.table.get(first..first + self.pages_per_row).unwrap_or_default()
    }

    /// Whether a row was never touched.
    pub(super) fn is_untouched(&self, row: usize) -> bool {
        self.pages_of(row).iter().all(|page| *page == NO_PAGE)
    }

    /// The cells of a row that may have been touched, by point.
    pub(super) fn row(&self, row: usize) -> impl Iterator<Item = (usize, &T)> {
        let size = 1 << self.page_bits;
        let pages = self.pages_of(row).iter().enumerate().filter(|(_, page)| **page != NO_PAGE);
        pages
            .flat_map(move |(number, page)| {
                let begin = *page as usize * size;
                (number * size..).zip(&self.cells[begin..begin + size])
            })
            .take_while(|(point, _)| *point < self.points)
    }

    /// Every cell of a row, by point.
    pub(super) fn whole_row(&self, row: usize) -> impl Iterator<Item = (usize, &T)> {
        let pages = self.pages_of(row);
        (0..self.points).map(move |point| {
            let page = pages.get(point >> self.page_bits).copied().unwrap_or(NO_PAGE);
            let within = point & ((1 << self.page_bits) - 1);
            let index = ((page as usize) << self.page_bits) + within;
            let cell = if page == NO_PAGE { None } else { self.cells.get(index) };
            (point, cell.unwrap_or(&self.empty))
        })
    }

    /// Puts the cells of another in. `rows` are the rows here that its rows are; `join` puts one
    /// cell into another.
    pub(super) fn merge(&mut self, other: Self, rows: &[usize], mut join: impl FnMut(&mut T, T)) {
        let Self { page_bits, pages_per_row, empty, table, mut cells, .. } = other;
        for (slot, page) in table.into_iter().enumerate().filter(|(_, page)| *page != NO_PAGE) {
            let Some(row) = rows.get(slot / pages_per_row) else { continue };
            let first_point = (slot % pages_per_row) << page_bits;
            for within in 0..1 << page_bits {
                let from = &mut cells[((page as usize) << page_bits) + within];
                let Some(into) = self.cell(*row, first_point + within) else { continue };
                join(into, std::mem::replace(from, empty.clone()));
            }
        }
    }

    /// How many cells may have been touched, of all rows.
    pub(super) fn touched(&self) -> usize {
        self.cells.len()
    }

    /// Memory that cells take, without what they own themselves.
    pub(super) fn bytes(&self) -> usize {
        self.table.capacity() * size_of::<u32>() + self.cells.capacity() * size_of::<T>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_kept_apart_by_row_and_point() {
        for points in [1, 2, 31, 32, 33, 60, 1000] {
            let mut cells = Cells::new(points, 0);
            cells.extend_rows(3);
            for row in 0..3 {
                for point in (0..points).rev().step_by(7) {
                    *cells.cell(row, point).unwrap() += row * points + point + 1;
                }
            }
            for row in 0..3 {
                let expected = |point: usize| match (points - 1 - point).is_multiple_of(7) {
                    true => row * points + point + 1,
                    false => 0,
                };
                let whole: Vec<_> = cells.whole_row(row).map(|(_, cell)| *cell).collect();
                assert_eq!(whole, (0..points).map(expected).collect::<Vec<_>>());
                assert!(cells.row(row).all(|(point, cell)| *cell == expected(point)));
            }
        }
    }

    #[test]
    fn what_is_not_there_is_refused() {
        let mut cells = Cells::new(60, 0);
        cells.extend_rows(1);
        assert!(cells.cell(0, 60).is_none() && cells.cell(1, 0).is_none());
        assert!(cells.is_untouched(0) && cells.is_untouched(7));
        assert_eq!((cells.row(7).count(), cells.whole_row(7).count()), (0, 60));
    }

    #[test]
    fn untouched_points_take_no_memory() {
        let mut cells = Cells::new(10_000, 0_u64);
        cells.extend_rows(1_000);
        for row in 0..1_000 {
            *cells.cell(row, row * 9).unwrap() += 1;
        }
        assert!(cells.bytes() < 3_000_000, "{}", cells.bytes());
    }
}
