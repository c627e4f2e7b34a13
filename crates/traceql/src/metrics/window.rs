//! Points that tell of more than the step before them: a window that slides.

/// Joins each item with the `width - 1` items before it, as far as there are any.
///
/// Windows are doubled, and taken by one where the width is odd, so that the items are joined
/// about twice the logarithm of the width often, not as often as it is wide. No window holds an
/// item twice: counts stay right.
pub(super) fn slide<T: Clone>(items: &[T], width: usize, join: impl Fn(&mut T, T)) -> Vec<T> {
    let mut windows = items.to_vec();
    // More than all that is before is no more than all.
    let width = width.min(items.len());
    let mut reached = 1;
    for bit in (0..width.max(1).ilog2()).rev() {
        for at in (reached..windows.len()).rev() {
            let before = windows[at - reached].clone();
            join(&mut windows[at], before);
        }
        reached *= 2;
        if width >> bit & 1 == 1 {
            for at in reached..windows.len() {
                join(&mut windows[at], items[at - reached].clone());
            }
            reached += 1;
        }
    }
    windows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_item_is_joined_once_with_each_of_those_before_it() {
        for count in [0, 1, 2, 7, 40] {
            let items: Vec<Vec<usize>> = (0..count).map(|item| vec![item]).collect();
            for width in [0, 1, 2, 3, 4, 5, 6, 7, 10, 39, 40, 41, usize::MAX] {
                let windows = slide(&items, width, |into, mut from| into.append(&mut from));
                for (at, mut window) in windows.into_iter().enumerate() {
                    window.sort_unstable();
                    let first = (at + 1).saturating_sub(width.max(1));
                    assert_eq!(window, (first..=at).collect::<Vec<_>>(), "{count} {width}");
                }
            }
        }
    }

    #[test]
    fn a_wide_window_takes_few_joins() {
        let joins = std::cell::Cell::new(0);
        slide(&[0; 1000], 127, |_, _| joins.set(joins.get() + 1));
        assert!(joins.get() <= 12 * 1000, "{}", joins.get());
    }
}
