//! Looking for a text in all texts of a page at once.
//!
//! The texts of a page lie one after another. To run a search over all of them
//! and see in which one a hit lies is several times as fast as to begin a search
//! in each.

use memchr::memmem::Finder;

use super::mask::Mask;
use super::packed::Ints;
use super::value_test::ValueTest;
use crate::column::Dict;

/// The page is searched as a whole if at least one row in this many is alive.
const ALIVE_SHARE: usize = 8;

/// Which entries of `dict` pass, where it pays to find out for all of them: if
/// they are the values of a page without a dictionary, most are wanted, and there
/// is a text that those which pass, or those which do not, all have.
pub(super) fn passing(
    codes: &Ints<'_>,
    dict: &Dict,
    test: &ValueTest,
    alive: &Mask,
) -> Option<Vec<bool>> {
    let (finder, negated) = match test {
        ValueTest::Contains { finder, negated } => (finder, *negated),
        ValueTest::Match { required, negated, .. } => (required.literal.as_ref()?, *negated),
        _ => return None,
    };
    if finder.needle().is_empty()
        || alive.count() * ALIVE_SHARE < dict.len()
        || !are_in_order(codes, dict.len())
    {
        return None;
    }
    let mut passing = vec![negated; dict.len()];
    match test {
        ValueTest::Match { regex, .. } => each_with(dict, finder, |nth, text| {
            if regex.is_match(text) {
                passing[nth] = !negated;
            }
        }),
        _ => each_with(dict, finder, |nth, _| passing[nth] = !negated),
    }
    Some(passing)
}

/// Whether value *n* is entry *n*, for all of so many.
fn are_in_order(codes: &Ints<'_>, count: usize) -> bool {
    match codes {
        Ints::U32(0, codes) => codes.len() == count && codes.iter().zip(0..).all(|(a, b)| *a == b),
        _ => false,
    }
}

/// Calls `each` with every entry that has what is looked for within it.
fn each_with(dict: &Dict, finder: &Finder<'_>, mut each: impl FnMut(usize, &[u8])) {
    let (bytes, ends) = dict.joined();
    let (mut at, mut nth, mut start) = (0, 0, 0);
    while let Some(found) = bytes.get(at..).and_then(|rest| finder.find(rest)) {
        let hit = at + found;
        while let Some(end) = ends.get(nth)
            && *end as usize <= hit
        {
            start = *end as usize;
            nth += 1;
        }
        let Some(end) = ends.get(nth).map(|end| *end as usize) else { return };
        if hit + finder.needle().len() <= end {
            each(nth, &bytes[start..end]);
            at = end;
        } else {
            // It reaches into the next entry, but another may begin within it.
            at = hit + 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(texts: &[&str], needle: &str) -> Vec<usize> {
        let mut dict = Dict::default();
        for text in texts {
            dict.push(text.as_bytes());
        }
        let mut found = Vec::new();
        each_with(&dict, &Finder::new(needle), |nth, text| {
            assert_eq!(text, texts[nth].as_bytes());
            found.push(nth);
        });
        found
    }

    #[test]
    fn hits_are_those_within_one_text() {
        assert_eq!(found(&["ab", "ba", "", "abab", "b"], "ab"), [0, 3]);
        assert!(found(&["a", "b", "a", "b"], "ab").is_empty());
        assert_eq!(found(&["xa", "aa", "a", "", "", "aaa"], "aa"), [1, 5]);
        assert!(found(&["", "", ""], "a").is_empty());
        assert!(found(&[], "a").is_empty());
    }

    #[test]
    fn all_texts_are_searched_only_if_they_are_the_page() {
        let mut dict = Dict::default();
        for text in ["one", "two", "three"] {
            dict.push(text.as_bytes());
        }
        let test = ValueTest::contains("o", false).unwrap();
        let search = |codes: &[u32], alive: usize| {
            passing(&Ints::U32(0, codes), &dict, &test, &Mask::first(alive))
        };
        assert_eq!(search(&[0, 1, 2], 3), Some(vec![true, true, false]));
        assert_eq!(search(&[0, 2, 1], 3), None);
        assert_eq!(search(&[0, 1], 2), None);
        assert_eq!(search(&[0, 1, 2], 0), None);
        let regex = ValueTest::regex("two|t[eh]ree", true).unwrap();
        let none = passing(&Ints::U32(0, &[0, 1, 2]), &dict, &regex, &Mask::first(3));
        assert_eq!(none, None, "no text is common to both");
        let regex = ValueTest::regex("t.ree$", true).unwrap();
        let some = passing(&Ints::U32(0, &[0, 1, 2]), &dict, &regex, &Mask::first(3));
        assert_eq!(some, Some(vec![true, true, false]));
    }
}
