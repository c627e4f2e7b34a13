//! The labels of `absent_over_time`.

use std::collections::BTreeMap;

use crate::labels::Labels;
use crate::matcher::{LabelMatcher, MatchOp};

/// Those that the selector says lines would have: a label that it names once, as equal.
pub(super) fn labels(matchers: &[LabelMatcher]) -> Labels {
    let mut values: BTreeMap<&str, Option<&str>> = BTreeMap::new();
    for matcher in matchers {
        let value = (matcher.op == MatchOp::Equal).then_some(matcher.value.as_str());
        values.entry(&matcher.name).and_modify(|known| *known = None).or_insert(value);
    }
    Labels::of(values.into_iter().filter_map(|(name, value)| Some((name, value?))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_labels_that_are_named_once_and_equal_are_known() {
        let matcher = |name, op, value| LabelMatcher::new(name, op, value).unwrap();
        let labels = labels(&[
            matcher("a", MatchOp::Equal, "1"),
            matcher("b", MatchOp::Matches, "2"),
            matcher("c", MatchOp::Equal, "3"),
            matcher("c", MatchOp::NotEqual, "4"),
        ]);
        assert_eq!(labels.to_string(), r#"{a="1"}"#);
    }
}
