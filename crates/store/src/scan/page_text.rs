//! Looking for a text in all texts of a page at once.
//!
//! The texts of a page lie one after another. To run a search over all of them
//! and see in which one a hit lies is several times as fast as to begin a search
//! in each.

use std::ops::Range;

use memchr::memmem::Finder;
use regex::bytes::Regex;

use super::mask::Mask;
use super::packed::Ints;
use super::value_test::ValueTest;
use crate::column::Dict;

/// The page is searched as a whole if at least one row in this many is alive.
const ALIVE_SHARE: usize = 8;

/// Which entries of `dict` pass, where it pays to find out for all of them: if
/// they are the values of a page without a dictionary, most are wanted, and there
/// is something that can be looked for in all of them at once.
pub(super) fn passing(
    codes: &Ints<'_>,
    dict: &Dict,
    test: &ValueTest,
    alive: &Mask,
) -> Option<Vec<bool>> {
    let (search, negated) = Search::of(test)?;
    if alive.count() * ALIVE_SHARE < dict.len() || !are_in_order(codes, dict.len()) {
        return None;
    }
    let mut passing = vec![negated; dict.len()];
    let mut pass = |nth: usize| passing[nth] = !negated;
    match search {
        Search::Text(finder) => each_with(dict, finder, |nth, _| pass(nth)),
        Search::Match(regex) => each_match(dict, regex, pass),
        Search::MatchWith(finder, regex) => each_with(dict, finder, |nth, text| {
            if regex.is_match(text) {
                pass(nth);
            }
        }),
    }
    Some(passing)
}

/// What to look for in all texts at once.
enum Search<'a> {
    Text(&'a Finder<'static>),
    Match(&'a Regex),
    /// The text, and then the match in those which have it.
    MatchWith(&'a Finder<'static>, &'a Regex),
}

impl<'a> Search<'a> {
    /// What to look for, and whether those pass that do not have it.
    fn of(test: &'a ValueTest) -> Option<(Self, bool)> {
        match test {
            ValueTest::Contains { finder, negated } if !finder.needle().is_empty() => {
                Some((Self::Text(finder), *negated))
            }
            ValueTest::Match { regex, required, negated } if required.is_local => {
                Some((Self::Match(regex), *negated))
            }
            ValueTest::Match { regex, required, negated } => {
                let finder = required.literal.as_ref()?;
                Some((Self::MatchWith(finder, regex), *negated))
            }
            _ => None,
        }
    }
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
    let (mut at, mut entry) = (0, Entry::first(ends));
    while let Some(found) = bytes.get(at..).and_then(|rest| finder.find(rest)) {
        let hit = at + found;
        let Some(range) = entry.seek(hit) else { return };
        if hit + finder.needle().len() <= range.end {
            at = range.end;
            each(entry.nth, &bytes[range]);
        } else {
            // It reaches into the next entry, but another may begin within it.
            at = hit + 1;
        }
    }
}

/// Calls `each` with every entry that has a match within it, of an expression whose
/// matches do not depend on what is around them: then what lies before the first match
/// in all texts has none.
fn each_match(dict: &Dict, regex: &Regex, mut each: impl FnMut(usize)) {
    let (bytes, ends) = dict.joined();
    let (mut at, mut entry) = (0, Entry::first(ends));
    while let Some(found) = regex.find_at(bytes, at) {
        let Some(range) = entry.seek(found.start()) else { return };
        at = range.end;
        // One that reaches into the next entry may hide a shorter or later one.
        if found.end() <= range.end || regex.is_match(&bytes[range]) {
            each(entry.nth);
        }
    }
}

/// The entry that a place in all texts belongs to.
struct Entry<'a> {
    ends: &'a [u32],
    nth: usize,
    start: usize,
}

impl<'a> Entry<'a> {
    fn first(ends: &'a [u32]) -> Self {
        Self { ends, nth: 0, start: 0 }
    }

    /// Goes on to the entry of a place that is not before this one.
    fn seek(&mut self, place: usize) -> Option<Range<usize>> {
        loop {
            let end = *self.ends.get(self.nth)? as usize;
            if place < end {
                return Some(self.start..end);
            }
            self.start = end;
            self.nth += 1;
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

    fn matching(texts: &[&str], pattern: &str) -> Vec<usize> {
        let mut dict = Dict::default();
        texts.iter().for_each(|text| {
            dict.push(text.as_bytes());
        });
        let mut found = Vec::new();
        each_match(&dict, &Regex::new(pattern).unwrap(), |nth| found.push(nth));
        found
    }

    #[test]
    fn matches_are_those_within_one_text() {
        assert_eq!(matching(&["ab", "ba", "", "xabx", "b"], "a[bc]"), [0, 3]);
        assert!(matching(&["a", "b", "a", "b"], "ab").is_empty());
        assert_eq!(matching(&["xab", "cd"], "abc|ab"), [0], "a shorter one is hidden");
        assert_eq!(matching(&["a1bb", "c", "1"], "a1bbc|bb|c1"), [0], "a later one is hidden");
        assert_eq!(matching(&["aa", "a", "aaa"], "a{2}"), [0, 2]);
        assert!(matching(&["", ""], "a").is_empty());
        assert!(matching(&[], "a").is_empty());
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
        assert_eq!(none, Some(vec![true, false, false]));
        let regex = ValueTest::regex("two$|t[eh]ree", true).unwrap();
        let none = passing(&Ints::U32(0, &[0, 1, 2]), &dict, &regex, &Mask::first(3));
        assert_eq!(none, None, "no text is common to both, and an end is none in the midst");
        let regex = ValueTest::regex("t.ree$", true).unwrap();
        let some = passing(&Ints::U32(0, &[0, 1, 2]), &dict, &regex, &Mask::first(3));
        assert_eq!(some, Some(vec![true, true, false]));
    }
}
