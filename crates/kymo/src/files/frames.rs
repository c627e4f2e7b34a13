//! Requests in protobuf: one that is a whole file, or many, each after its length.

use std::io::{self, BufRead, Read};

use super::Found;
use super::fault::{Fault, Place};
use super::input::Stream;
use super::limits::{MAX_REQUEST_BYTES, SPLIT_REQUEST_BYTES};

/// Field 1 with a length: the repeated resource groups, which are all that a request has.
pub(super) const GROUP_TAG: u8 = 1 << 3 | 2;

/// A stream of bytes with the place that is read next.
struct Cursor<R> {
    stream: R,
    offset: u64,
    /// After an error, nothing more can be read.
    is_over: bool,
}

impl<R: BufRead> Cursor<R> {
    fn new(stream: R) -> Self {
        Self { stream, offset: 0, is_over: false }
    }

    fn byte(&mut self) -> io::Result<Option<u8>> {
        let Some(byte) = self.stream.fill_buf()?.first().copied() else { return Ok(None) };
        self.stream.consume(1);
        self.offset += 1;
        Ok(Some(byte))
    }

    /// A length, and its bytes as they are appended to `raw`.
    fn length(&mut self, raw: &mut Vec<u8>) -> Result<usize, String> {
        let mut length = 0u64;
        for shift in (0..35).step_by(7) {
            let byte = self.byte().map_err(unreadable)?.ok_or("ends within a length")?;
            raw.push(byte);
            length |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                let fits = usize::try_from(length).ok().filter(|n| *n <= MAX_REQUEST_BYTES);
                return fits.ok_or_else(|| too_large(length));
            }
        }
        Err("a length of more than five bytes: this is not OTLP protobuf".to_owned())
    }

    /// Appends exactly so many bytes.
    fn bytes(&mut self, length: usize, out: &mut Vec<u8>) -> Result<(), String> {
        let read = self.stream.by_ref().take(length as u64).read_to_end(out);
        let read = read.map_err(unreadable)?;
        self.offset += read as u64;
        if read < length {
            return Err(format!("is cut short: {read} of {length} bytes are there"));
        }
        Ok(())
    }

    /// The end, with its reason.
    fn fail(&mut self, at: u64, why: String) -> Option<Result<Found, Fault>> {
        self.is_over = true;
        Some(Err(Fault::at(Place::Byte(at), why)))
    }
}

fn unreadable(error: io::Error) -> String {
    format!("cannot be read: {error}")
}

fn too_large(length: u64) -> String {
    format!("a length of {length} bytes is more than the {MAX_REQUEST_BYTES} a request may have")
}

/// A file that is one request, given in pieces of whole resource groups.
pub(super) struct Groups<R = Stream>(Cursor<R>);

impl<R: BufRead> Groups<R> {
    pub(super) fn new(stream: R) -> Self {
        Self(Cursor::new(stream))
    }

    pub(super) fn offset(&self) -> u64 {
        self.0.offset
    }

    pub(super) fn next(&mut self) -> Option<Result<Found, Fault>> {
        if self.0.is_over {
            return None;
        }
        let first = self.0.offset;
        let mut body = Vec::new();
        while body.len() < SPLIT_REQUEST_BYTES {
            let at = self.0.offset;
            match self.group(&mut body) {
                Ok(true) => {}
                Ok(false) => break,
                Err(why) => return self.0.fail(at, why),
            }
        }
        let request = Found { place: Place::Byte(first), signal: None, body };
        (!request.body.is_empty()).then_some(Ok(request))
    }

    /// Appends the next group with its tag and length; false at the end.
    fn group(&mut self, body: &mut Vec<u8>) -> Result<bool, String> {
        match self.0.byte().map_err(unreadable)? {
            None => return Ok(false),
            Some(GROUP_TAG) => body.push(GROUP_TAG),
            Some(tag) => return Err(format!("expected a resource group, found tag {tag:#04x}")),
        }
        let length = self.0.length(body)?;
        self.0.bytes(length, body)?;
        Ok(true)
    }
}

/// Requests, each after its length.
pub(super) struct Frames<R = Stream>(Cursor<R>);

impl<R: BufRead> Frames<R> {
    pub(super) fn new(stream: R) -> Self {
        Self(Cursor::new(stream))
    }

    pub(super) fn offset(&self) -> u64 {
        self.0.offset
    }

    pub(super) fn next(&mut self) -> Option<Result<Found, Fault>> {
        if self.0.is_over || self.0.stream.fill_buf().is_ok_and(<[u8]>::is_empty) {
            return None;
        }
        let at = self.0.offset;
        match self.frame() {
            Ok((first, body)) => Some(Ok(Found { place: Place::Byte(first), signal: None, body })),
            Err(why) => self.0.fail(at, why),
        }
    }

    /// The next request and where it begins.
    fn frame(&mut self) -> Result<(u64, Vec<u8>), String> {
        let length = self.0.length(&mut Vec::with_capacity(5))?;
        let first = self.0.offset;
        let mut body = Vec::with_capacity(length);
        self.0.bytes(length, &mut body)?;
        match body.first() {
            None | Some(&GROUP_TAG) => Ok((first, body)),
            Some(tag) => Err(format!(
                "expected a request of {length} bytes, found tag {tag:#04x}; all after it is lost"
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bodies(mut next: impl FnMut() -> Option<Result<Found, Fault>>) -> Vec<String> {
        let mut seen = Vec::new();
        while let Some(request) = next() {
            seen.push(match request {
                Ok(request) => format!("{:?} {:x?}", request.place, request.body),
                Err(fault) => fault.to_string(),
            });
        }
        seen
    }

    #[test]
    fn frames_come_one_by_one_and_damage_ends_them() {
        let good = [2, 0x0a, 0, 0, 4, 0x0a, 0, 0x0a, 0];
        let mut frames = Frames::new(&good[..]);
        let seen = bodies(|| frames.next());
        assert_eq!(seen, ["Byte(1) [a, 0]", "Byte(4) []", "Byte(5) [a, 0, a, 0]"]);
        assert_eq!(frames.offset(), 9);

        let mut cut = Frames::new(&[2, 0x0a, 0, 9, 0x0a][..]);
        let seen = bodies(|| cut.next());
        assert_eq!(seen[1], " at byte 3: is cut short: 1 of 9 bytes are there");
        let mut noise = Frames::new(&[2, 0x0a, 0, 0xff, 0xff, 0xff, 0xff, 0x7f][..]);
        assert!(bodies(|| noise.next())[1].contains("is more than the"));
        let mut other = Frames::new(&[3, 1, 2, 3, 2, 0x0a, 0][..]);
        assert_eq!(bodies(|| other.next()).len(), 1, "nothing is guessed after lost framing");
    }

    #[test]
    fn a_large_request_is_read_in_pieces() {
        let mut group = vec![GROUP_TAG, 0x80, 0x80, 0x40];
        group.resize(4 + (1 << 20), 7);
        let file = group.repeat(9);
        let mut groups = Groups::new(&file[..]);
        let mut pieces = Vec::new();
        while let Some(request) = groups.next() {
            pieces.extend(request.map(|r| r.body.len() / group.len()));
        }
        assert_eq!(pieces, [4, 4, 1]);
        let mut cut = Groups::new(&file[..group.len() + 10]);
        assert!(cut.next().unwrap().is_err());
        assert!(cut.next().is_none());
    }
}
