//! "Did you mean …": the known name that is nearest to one that is not known.

/// The candidate that differs in the fewest letters, if those are few.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = normal(word);
    let distance = |name: &str| strsim::damerau_levenshtein(&wanted, &normal(name));
    let measured = candidates.into_iter().map(|name| (distance(name), name));
    let (letters, name) = measured.min_by_key(|(letters, _)| *letters)?;
    (letters <= 1 + wanted.chars().count() / 4).then_some(name)
}

/// Letters alone decide: neither case nor the way in which words are joined.
fn normal(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typo_finds_its_word_and_nonsense_finds_none() {
        let names = ["flush_after", "flush_rows", "grace"];
        assert_eq!(nearest("flsh_afer", names), Some("flush_after"));
        assert_eq!(nearest("flushAfter", names), Some("flush_after"));
        assert_eq!(nearest("flush-rows", names), Some("flush_rows"));
        assert_eq!(nearest("garce", names), Some("grace"));
        assert_eq!(nearest("password", names), None);
        assert_eq!(nearest("x", []), None);
    }
}
