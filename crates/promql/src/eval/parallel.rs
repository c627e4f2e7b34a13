//! Work on many rows, by several threads.

use std::ops::Range;

/// Cells below which a second thread costs more than it saves.
const MIN_CELLS_PER_THREAD: usize = 20_000;

/// Divides `items` among threads and gives what each came to, in order. `cells`
/// is how much work there is: little is done by the calling thread alone.
pub(crate) fn divide<T: Send>(
    threads: usize,
    items: usize,
    cells: usize,
    work: impl Fn(Range<usize>) -> T + Sync,
) -> Vec<T> {
    let parts = threads.min(cells / MIN_CELLS_PER_THREAD).min(items).max(1);
    if parts == 1 {
        return vec![work(0..items)];
    }
    let range = |part: usize| items * part / parts..items * (part + 1) / parts;
    std::thread::scope(|scope| {
        let work = &work;
        let others: Vec<_> =
            (1..parts).map(|part| scope.spawn(move || work(range(part)))).collect();
        let mut done = vec![work(range(0))];
        for other in others {
            match other.join() {
                Ok(result) => done.push(result),
                // A fault of ours in another thread is the same fault here.
                Err(fault) => std::panic::resume_unwind(fault),
            }
        }
        done
    })
}

/// Divides rows of `width` cells among threads; each gets its rows' cells to fill
/// and the number of its first row.
pub(crate) fn fill<T: Send>(
    threads: usize,
    cells: &mut [f64],
    width: usize,
    work: impl Fn(usize, &mut [f64]) -> T + Sync,
) -> Vec<T> {
    let rows = cells.len() / width.max(1);
    let parts = threads.min(cells.len() / MIN_CELLS_PER_THREAD).min(rows).max(1);
    if parts == 1 {
        return vec![work(0, cells)];
    }
    std::thread::scope(|scope| {
        let work = &work;
        let (mut rest, mut first) = (cells, 0);
        let mut others = Vec::new();
        for part in 1..parts {
            let last = rows * part / parts;
            let (mine, others_cells) = rest.split_at_mut((last - first) * width);
            others.push((first, mine));
            (rest, first) = (others_cells, last);
        }
        let handles: Vec<_> = others
            .into_iter()
            .map(|(first, cells)| scope.spawn(move || work(first, cells)))
            .collect();
        let last = work(first, rest);
        let mut done = Vec::with_capacity(parts);
        for handle in handles {
            match handle.join() {
                Ok(result) => done.push(result),
                Err(fault) => std::panic::resume_unwind(fault),
            }
        }
        done.push(last);
        done
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_filled_once() {
        for threads in [1, 2, 3, 7] {
            let mut cells = vec![0.0; 10 * 50_000];
            let firsts = fill(threads, &mut cells, 10, |first, cells| {
                for (nth, row) in cells.chunks_mut(10).enumerate() {
                    row.iter_mut().for_each(|cell| *cell += (first + nth) as f64);
                }
                first
            });
            assert!(firsts.is_sorted());
            let is_right = |(nth, cell): (usize, &f64)| *cell == (nth / 10) as f64;
            assert!(cells.iter().enumerate().all(is_right));
        }
    }

    #[test]
    fn parts_come_in_order() {
        let parts = divide(4, 1000, 1_000_000, |range| range);
        assert_eq!(parts.len(), 4);
        assert_eq!((parts[0].start, parts[3].end), (0, 1000));
        assert!(parts.windows(2).all(|pair| pair[0].end == pair[1].start));
        assert!(divide(4, 10, 10, |range| range).len() == 1);
    }
}
