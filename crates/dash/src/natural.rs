//! The order in which people look for names.

use std::cmp::Ordering;

/// Order of texts without regard to case, numbers within them by their value.
pub(crate) fn natural(left: &str, right: &str) -> Ordering {
    let (left, right) = (left.to_lowercase(), right.to_lowercase());
    let (mut left, mut right) = (left.as_str(), right.as_str());
    loop {
        let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
        let (a, b) = (digits(left), digits(right));
        if a > 0 && b > 0 {
            let (x, y) = (left[..a].trim_start_matches('0'), right[..b].trim_start_matches('0'));
            let order = x.len().cmp(&y.len()).then_with(|| x.cmp(y));
            if order.is_ne() {
                return order;
            }
            (left, right) = (&left[a..], &right[b..]);
            continue;
        }
        match (left.chars().next(), right.chars().next()) {
            (Some(x), Some(y)) if x == y => {
                (left, right) = (&left[x.len_utf8()..], &right[y.len_utf8()..]);
            }
            (x, y) => return x.cmp(&y),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_within_names_are_ordered_by_value() {
        let mut names = ["gpu 10", "GPU 2", "gpu", "gpu 02 b", "cpu 1"];
        names.sort_by(|a, b| natural(a, b));
        assert_eq!(names, ["cpu 1", "gpu", "GPU 2", "gpu 02 b", "gpu 10"]);
    }
}
