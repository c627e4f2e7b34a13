//! Patterns in which a star stands for any number of characters.

/// Whether a pattern fits a text as a whole.
///
/// Takes time in proportion to the product of both lengths at most, which are those of names.
pub(crate) fn fits(pattern: &str, text: &str) -> bool {
    let (mut pattern, mut text) = (pattern.as_bytes(), text.as_bytes());
    // Behind the last star, and where in the text that was tried last. Earlier stars need not be
    // looked at again: whatever they could take more of, the last one can take as well.
    let mut retry: Option<(&[u8], &[u8])> = None;
    loop {
        match (pattern.split_first(), text.split_first()) {
            (Some((b'*', after)), _) => {
                pattern = after;
                retry = Some((after, text));
            }
            (Some((wanted, after)), Some((found, rest))) if wanted == found => {
                pattern = after;
                text = rest;
            }
            (None, None) => return true,
            _ => {
                let Some((after, tried)) = retry else { return false };
                let Some((_, rest)) = tried.split_first() else { return false };
                pattern = after;
                text = rest;
                retry = Some((after, rest));
            }
        }
    }
}

/// The same for names of DNS, label by label: a star stands for characters of one label, as in
/// certificates of servers.
pub(crate) fn fits_labels(pattern: &str, name: &str) -> bool {
    let (patterns, labels) = (pattern.split('.'), name.split('.'));
    patterns.clone().count() == labels.clone().count()
        && patterns.zip(labels).all(|(pattern, label)| fits(pattern, label))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_characters_and_for_none() {
        for (pattern, text) in [
            ("*", ""),
            ("*", "x"),
            ("runner-*", "runner-"),
            ("runner-*", "runner-12"),
            ("*-1", "runner-1"),
            ("a*b*c", "a-b-b-c"),
            ("a**c", "abc"),
            ("", ""),
            ("*\u{fc}*", "b\u{fc}ro"),
            ("*ab", "aab"),
            ("**", "x"),
        ] {
            assert!(fits(pattern, text), "{pattern} {text}");
        }
        for (pattern, text) in
            [("runner-*", "xrunner-1"), ("a*b", "abc"), ("", "x"), ("a*b*c", "acb"), ("a", "A")]
        {
            assert!(!fits(pattern, text), "{pattern} {text}");
        }
    }

    #[test]
    fn a_star_in_a_name_of_dns_stays_in_its_label() {
        assert!(fits_labels("*.example", "a.example"));
        assert!(!fits_labels("*.example", "a.b.example"));
        assert!(!fits_labels("*.example", "example"));
    }

    #[test]
    fn many_stars_take_no_longer_than_the_lengths_say() {
        let pattern = "*a".repeat(100) + "b";
        assert!(!fits(&pattern, &"a".repeat(1000)));
    }
}
