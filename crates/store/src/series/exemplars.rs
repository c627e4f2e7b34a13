//! The field `exemplars` of a row: what was sent, with the number of its point.
//!
//! For each exemplar: the number of its point within the row (from 0), the
//! length of the message, both as varints, and the encoded `Exemplar` message as
//! it came. Exemplars of one point keep their order and are neighbours.

use crate::pages::{PageError, read_varint, write_varint};

/// Appends an exemplar of the point numbered `point`.
pub(crate) fn push(point: usize, exemplar: &[u8], out: &mut Vec<u8>) {
    write_varint(point as u64, out);
    write_varint(exemplar.len() as u64, out);
    out.extend_from_slice(exemplar);
}

/// Walks the exemplars of a row: number of the point, encoded `Exemplar`.
#[derive(Debug, Clone)]
pub struct Exemplars<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Exemplars<'a> {
    /// The exemplars in a row's field; none if it has no such field.
    pub fn new(field: &'a [u8]) -> Self {
        Self { bytes: field, at: 0 }
    }

    fn read(&mut self) -> Result<(usize, &'a [u8]), PageError> {
        let point = read_varint(self.bytes, &mut self.at)? as usize;
        let length = read_varint(self.bytes, &mut self.at)? as usize;
        let end = self.at.checked_add(length).filter(|end| *end <= self.bytes.len());
        let end = end.ok_or(PageError("exemplar cut short"))?;
        let exemplar = &self.bytes[self.at..end];
        self.at = end;
        Ok((point, exemplar))
    }
}

impl<'a> Iterator for Exemplars<'a> {
    type Item = Result<(usize, &'a [u8]), PageError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.at >= self.bytes.len() {
            return None;
        }
        let exemplar = self.read();
        if exemplar.is_err() {
            self.at = self.bytes.len();
        }
        Some(exemplar)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exemplars_come_back_and_a_cut_field_is_an_error() {
        let mut field = Vec::new();
        push(3, b"first", &mut field);
        push(300, b"", &mut field);
        let all: Vec<_> = Exemplars::new(&field).collect::<Result<_, _>>().unwrap();
        assert_eq!(all, [(3, &b"first"[..]), (300, b"")]);
        for end in 1..field.len() {
            let cut: Vec<_> = Exemplars::new(&field[..end]).collect();
            let at_boundary = end == 7;
            assert_eq!(cut.last().unwrap().is_ok(), at_boundary, "cut at {end}");
        }
    }
}
