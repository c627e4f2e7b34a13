//! JSON with line breaks and indentation, made from JSON without, piece by piece.

const INDENT: &[u8] = b"    ";

/// Where a document is.
#[derive(Debug, Default)]
pub(super) struct Pretty {
    depth: usize,
    in_text: bool,
    is_escaped: bool,
    /// A bracket was opened, and nothing came since.
    is_opened: bool,
}

impl Pretty {
    /// The next piece of a document, indented.
    pub(super) fn indent(&mut self, piece: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(piece.len() * 2);
        for byte in piece {
            self.byte(*byte, &mut out);
        }
        out
    }

    fn byte(&mut self, byte: u8, out: &mut Vec<u8>) {
        if self.in_text {
            out.push(byte);
            let ends = byte == b'"' && !self.is_escaped;
            self.is_escaped = byte == b'\\' && !self.is_escaped;
            self.in_text = !ends;
            return;
        }
        let closes = matches!(byte, b'}' | b']');
        let was_opened = std::mem::take(&mut self.is_opened);
        if closes {
            self.depth = self.depth.saturating_sub(1);
        }
        if closes != was_opened {
            self.line(out);
        }
        out.push(byte);
        match byte {
            b'"' => self.in_text = true,
            b'{' | b'[' => {
                self.depth += 1;
                self.is_opened = true;
            }
            b',' => self.line(out),
            b':' => out.push(b' '),
            _ => {}
        }
    }

    fn line(&self, out: &mut Vec<u8>) {
        out.push(b'\n');
        for _ in 0..self.depth {
            out.extend_from_slice(INDENT);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Serialize;

    #[test]
    fn a_document_looks_as_a_library_writes_it() {
        let document = serde_json::json!({
            "a": [1, {"b": "x,{\"}:\\"}, [], {}],
            "c": {"d": null, "e": [[true]]},
            "f": "\\",
        });
        let mut expected = Vec::new();
        let formatter = serde_json::ser::PrettyFormatter::with_indent(INDENT);
        let mut serializer = serde_json::Serializer::with_formatter(&mut expected, formatter);
        document.serialize(&mut serializer).unwrap();
        let compact = document.to_string();
        for size in [1, 3, compact.len()] {
            let mut pretty = Pretty::default();
            let pieces = compact.as_bytes().chunks(size).flat_map(|piece| pretty.indent(piece));
            assert_eq!(String::from_utf8(pieces.collect()), String::from_utf8(expected.clone()));
        }
    }
}
