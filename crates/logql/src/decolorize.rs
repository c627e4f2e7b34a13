//! `| decolorize`: lines without the sequences that colour terminals.
//!
//! Taken out are the sequences that set colours and move the cursor (`ESC [ ... m` and its like,
//! also when written with the single character U+009B), those that set titles and links
//! (`ESC ] ...` up to the bell or `ESC \`), and those of two or three characters. An escape
//! character that begins none of them stays.

use std::borrow::Cow;

const ESCAPE: char = '\u{1b}';
const CSI: char = '\u{9b}';

/// The line without its colours; borrowed if it has none.
pub fn decolorize(line: &str) -> Cow<'_, str> {
    // Most lines have neither an escape character nor the first byte of U+009B.
    if memchr::memchr2(0x1b, 0xC2, line.as_bytes()).is_none() {
        return Cow::Borrowed(line);
    }
    let Some(first) = line.find([ESCAPE, CSI]) else { return Cow::Borrowed(line) };
    let mut out = String::with_capacity(line.len());
    let mut rest = line;
    let mut next = Some(first);
    while let Some(at) = next {
        out.push_str(&rest[..at]);
        let length = sequence_bytes(&rest[at..]);
        if length == 0 {
            let kept = rest[at..].chars().next().map_or(1, char::len_utf8);
            out.push_str(&rest[at..at + kept]);
            rest = &rest[at + kept..];
        } else {
            rest = &rest[at + length..];
        }
        next = rest.find([ESCAPE, CSI]);
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// How long the sequence is that a text starts with; 0 if it is none.
pub(crate) fn sequence_bytes(text: &str) -> usize {
    if let Some(after) = text.strip_prefix(CSI) {
        return control_bytes(after).map_or(0, |length| CSI.len_utf8() + length);
    }
    let after = text.get(1..).unwrap_or_default();
    let length = match after.as_bytes() {
        [b'[', ..] => control_bytes(&after[1..]).map(|length| 2 + length),
        [b']', ..] => command_bytes(&after[1..]).map(|length| 2 + length),
        // The choice of a character set, and the like.
        [b' '..=b'/', b'0'..=b'~', ..] => Some(3),
        [b'0'..=b'9' | b'=' | b'>' | b'<' | b'A'..=b'Z' | b'c'..=b'~', ..] => Some(2),
        _ => None,
    };
    length.unwrap_or(0)
}

/// What follows `ESC [`: parameters, then one last character. It may be cut off by the line's end.
fn control_bytes(text: &str) -> Option<usize> {
    let parameters = text.bytes().take_while(|b| (b' '..=b'?').contains(b)).count();
    match text.as_bytes().get(parameters) {
        Some(b'@'..=b'~') => Some(parameters + 1),
        Some(_) => None,
        None => Some(parameters),
    }
}

/// What follows `ESC ]`: text up to the bell or `ESC \`.
fn command_bytes(text: &str) -> Option<usize> {
    let end = text.find(['\u{7}', ESCAPE])?;
    match &text.as_bytes()[end..] {
        [7, ..] => Some(end + 1),
        [_, b'\\', ..] => Some(end + 2),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_and_movements_are_taken_out() {
        for (coloured, plain) in [
            ("\u{1b}[32mINFO\u{1b}[0m ready", "INFO ready"),
            ("\u{1b}[1;31mERROR\u{1b}[0m disk \u{1b}[4mfull\u{1b}[24m", "ERROR disk full"),
            ("\u{1b}[38;5;208mx\u{1b}[K", "x"),
            ("\u{1b}[38:2::1:2:3mx", "x"),
            ("\u{9b}31mred\u{9b}m", "red"),
            ("\u{1b}[?25lhidden", "hidden"),
            ("\u{1b}(Btext\u{1b}=", "text"),
            ("\u{1b}]0;title\u{7}text", "text"),
            ("\u{1b}]8;;http://a/b\u{1b}\\link\u{1b}]8;;\u{1b}\\", "link"),
            ("日\u{1b}[1m本", "日本"),
            ("cut off \u{1b}[3", "cut off "),
        ] {
            assert_eq!(decolorize(coloured), plain, "{coloured:?}");
        }
    }

    #[test]
    fn what_is_no_sequence_stays() {
        for line in
            ["plain [32m", "", "\u{1b}", "a\u{1b}\u{e9}", "\u{1b}]open", "\u{1b}[é", "\u{9b}é"]
        {
            assert_eq!(decolorize(line), line, "{line:?}");
        }
        assert!(matches!(decolorize("plain"), Cow::Borrowed(_)));
    }
}
