//! Numbers as drawings of a line: a spark line for a series, a bar for one number.

/// Heights of a spark line, lowest first.
pub(crate) const HEIGHTS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// Parts of a block, smallest first.
const PARTS: [char; 8] = ['▏', '▎', '▍', '▌', '▋', '▊', '▉', '█'];

/// A line of at most so many columns, from zero or the least to the most. A point that is missing
/// is a space.
#[must_use]
pub fn line(points: &[Option<f64>], columns: usize) -> String {
    line_to(points, columns, f64::NEG_INFINITY)
}

/// The same, up to a number if no point is above it: lines below each other are then comparable.
#[must_use]
pub fn line_to(points: &[Option<f64>], columns: usize, top: f64) -> String {
    let points = narrowed(points, columns);
    let known = || points.iter().flatten().copied().filter(|point| point.is_finite());
    let least = known().fold(0.0, f64::min);
    let most = known().fold(top, f64::max);
    let span = most - least;
    let draw = |point: &Option<f64>| match point.filter(|point| point.is_finite()) {
        None => ' ',
        Some(_) if span <= 0.0 => HEIGHTS[0],
        Some(point) => {
            let height = (point - least) / span * (HEIGHTS.len() - 1) as f64;
            HEIGHTS[(height.round() as usize).min(HEIGHTS.len() - 1)]
        }
    };
    points.iter().map(draw).collect()
}

/// Neighbours joined to their mean, so that no more points are left than there are columns.
fn narrowed(points: &[Option<f64>], columns: usize) -> Vec<Option<f64>> {
    if points.len() <= columns {
        return points.to_vec();
    }
    let bounds = |nth: usize| nth * points.len() / columns;
    (0..columns)
        .map(|nth| {
            let joined = points[bounds(nth)..bounds(nth + 1)].iter().flatten().copied();
            let known: Vec<f64> = joined.filter(|point| point.is_finite()).collect();
            (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64)
        })
        .collect()
}

/// A bar of at most so many columns for a part of the most.
#[must_use]
pub fn bar(number: f64, most: f64, columns: usize) -> String {
    if !(number > 0.0 && most > 0.0 && number.is_finite() && most.is_finite()) {
        return String::new();
    }
    let eighths = (number / most * (columns * PARTS.len()) as f64).round() as usize;
    let eighths = eighths.clamp(1, columns * PARTS.len());
    let mut text = "█".repeat(eighths / PARTS.len());
    if let Some(part) = (eighths % PARTS.len()).checked_sub(1) {
        text.push(PARTS[part]);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_shows_heights_and_gaps() {
        let points = [Some(0.0), Some(7.0), None, Some(3.5), Some(f64::NAN)];
        assert_eq!(line(&points, 10), "▁█ ▅ ");
        assert_eq!(line(&[Some(5.0); 3], 10), "███");
        assert_eq!(line(&[Some(0.0); 3], 10), "▁▁▁");
        assert_eq!(line(&[Some(-1.0), Some(1.0)], 10), "▁█");
        assert_eq!(line(&[], 10), "");
        assert_eq!(line_to(&[Some(0.0), Some(50.0)], 10, 100.0), "▁▅");
        assert_eq!(line_to(&[Some(0.0), Some(200.0)], 10, 100.0), "▁█");
    }

    #[test]
    fn a_long_line_is_narrowed() {
        let points: Vec<_> = (0..1000).map(|n| Some(f64::from(n))).collect();
        let drawn = line(&points, 8);
        assert_eq!(drawn, "▁▂▃▄▅▆▇█");
        assert_eq!(line(&points, 0), "");
        // What is no number hides nothing beside it.
        let points = [Some(1.0), Some(f64::NAN), None, Some(f64::INFINITY), Some(7.0), None];
        assert_eq!(line(&points, 3), "▂ █");
    }

    #[test]
    fn a_bar_is_never_longer_than_its_column_and_never_gone() {
        assert_eq!(bar(1.0, 1.0, 4), "████");
        assert_eq!(bar(0.5, 1.0, 4), "██");
        assert_eq!(bar(0.3, 1.0, 4), "█▎");
        assert_eq!(bar(0.000_1, 1.0, 4), "▏");
        for nothing in [0.0, -1.0, f64::NAN] {
            assert_eq!(bar(nothing, 1.0, 4), "");
        }
    }
}
