//! Names of labels out of names of fields: what a label name may not hold becomes `_`.

/// What a byte may be part of. Lines are read byte by byte, and a table is the quickest answer.
const KINDS: [u8; 256] = {
    let mut kinds = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let b = byte as u8;
        if b.is_ascii_alphanumeric() || b == b'_' {
            kinds[byte] |= NAME;
        }
        if b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.') {
            kinds[byte] |= PLAIN;
        }
        if b <= b' ' || matches!(b, b'=' | b'"') {
            kinds[byte] |= LOGFMT_END;
        }
        byte += 1;
    }
    kinds
};

/// Of a label's name.
pub(super) const NAME: u8 = 1;
/// Of a number or word of JSON.
pub(super) const PLAIN: u8 = 2;
/// What ends a name or value of logfmt.
pub(super) const LOGFMT_END: u8 = 4;

/// Whether a byte is of a kind.
#[inline]
pub(super) fn is(byte: u8, kind: u8) -> bool {
    KINDS[usize::from(byte)] & kind != 0
}

/// Appends a field's name as part of a label's name. A digit that would come first gets `_`
/// before it; blanks around the name do not count.
pub(super) fn push_sanitised(out: &mut String, name: &str) {
    let name = name.trim();
    if out.is_empty() && name.starts_with(|c: char| c.is_ascii_digit()) {
        out.push('_');
    }
    if name.bytes().all(|b| is(b, NAME)) {
        out.push_str(name);
        return;
    }
    out.extend(name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' }));
}

/// Whether a field's name is a label's name as it is, so that nothing need be copied.
pub(super) fn is_clean(name: &[u8]) -> bool {
    match name.first() {
        Some(first) if !first.is_ascii_digit() => name.iter().all(|b| is(*b, NAME)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sanitised(name: &str) -> String {
        let mut out = String::new();
        push_sanitised(&mut out, name);
        out
    }

    #[test]
    fn what_a_label_name_may_not_hold_becomes_an_underscore() {
        assert_eq!(sanitised("user-agent"), "user_agent");
        assert_eq!(sanitised("cache.hit"), "cache_hit");
        assert_eq!(sanitised("1st"), "_1st");
        assert_eq!(sanitised(" a b "), "a_b");
        assert_eq!(sanitised("naïve✓"), "na_ve_");
        assert_eq!(sanitised(""), "");
        let mut nested = String::from("a_");
        push_sanitised(&mut nested, "1st");
        assert_eq!(nested, "a_1st");
    }

    #[test]
    fn only_names_that_need_nothing_are_clean() {
        for name in ["a", "_entry", "status2"] {
            assert!(is_clean(name.as_bytes()), "{name}");
            assert_eq!(sanitised(name), name);
        }
        for name in ["", "1st", "a-b", " a", "é"] {
            assert!(!is_clean(name.as_bytes()), "{name}");
        }
    }
}
