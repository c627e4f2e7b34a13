//! Gzip, deflate, zstd and snappy, with a bound on what they become.
//!
//! A few kilobytes can claim to be gigabytes, or be. Memory is given as bytes come out, up to the
//! limit and one byte more, by which a body is known to be too large. What a body says about its
//! own size is believed only in proportion to its length.
//!
//! What is accepted here is read by everybody who decodes the journal: whole streams that end
//! where the body ends, with checksums that hold. One case is not, and says so
//! ([`Plain::is_read_by_others`]).
//!
//! Each thread keeps its buffer and its zstd context for the next request.

use std::cell::RefCell;
use std::io::Read;

use bytes::Bytes;
use flate2::bufread::{DeflateDecoder, GzDecoder, ZlibDecoder};
use zstd::zstd_safe::{
    DCtx, InBuffer, OutBuffer, ResetDirective, get_error_name, get_frame_content_size,
};

use crate::encoding::Compression;
use crate::limits::{
    BELIEVED_RATIO, KEPT_BUFFER_BYTES, MAX_MEMBERS, MAX_SNAPPY_RATIO, MAX_ZSTD_WINDOW_BYTES,
    MIN_BUFFER_BYTES,
};
use crate::outcome::{Refusal, Stage};

/// A decompressed body.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plain<'a> {
    pub(crate) bytes: &'a [u8],
    /// Whether the compressed body is in the form that its name stands for. Deflate without the
    /// zlib wrapper is not: it can be read here, but must be handed on decompressed.
    pub(crate) is_read_by_others: bool,
}

#[derive(Default)]
struct Scratch {
    /// All of its length is room to write to, so that nothing is set to zero again and again.
    buffer: Vec<u8>,
    zstd: Option<DCtx<'static>>,
}

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::default();
}

/// A message of a protocol that is not OTLP, decompressed; an empty one stays empty.
pub fn unpack(compression: Compression, body: Bytes, limit_bytes: usize) -> Result<Bytes, Refusal> {
    if body.is_empty() || compression == Compression::None {
        let too_large = Refusal::TooLarge { stage: Stage::Received, limit_bytes };
        return if body.len() > limit_bytes { Err(too_large) } else { Ok(body) };
    }
    decompress(compression, &body, limit_bytes, |plain| Ok(Bytes::copy_from_slice(plain.bytes)))
}

/// Decompresses a body that is not empty and hands the result to `then`.
pub(crate) fn decompress<R>(
    compression: Compression,
    body: &[u8],
    limit_bytes: usize,
    then: impl FnOnce(Plain<'_>) -> Result<R, Refusal>,
) -> Result<R, Refusal> {
    SCRATCH.with_borrow_mut(|Scratch { buffer, zstd }| {
        let mut out = Output { buffer, filled_bytes: 0, limit_bytes };
        let is_read_by_others = match compression {
            Compression::None => {
                return then(Plain { bytes: body, is_read_by_others: true });
            }
            Compression::Gzip => gzip(body, &mut out).map(|()| true),
            Compression::Deflate => deflate(body, &mut out),
            Compression::Zstd => {
                zstd_frames(body, zstd.get_or_insert_with(DCtx::create), &mut out).map(|()| true)
            }
            Compression::Snappy => snappy(body, &mut out).map(|()| true),
        };
        let result = is_read_by_others
            .and_then(|is_read_by_others| then(Plain { bytes: out.filled()?, is_read_by_others }));
        if buffer.len() > KEPT_BUFFER_BYTES {
            *buffer = Vec::new();
        }
        result
    })
}

/// Where decompressed bytes go.
struct Output<'a> {
    buffer: &'a mut Vec<u8>,
    filled_bytes: usize,
    limit_bytes: usize,
}

impl Output<'_> {
    fn too_large(&self) -> Refusal {
        Refusal::TooLarge { stage: Stage::Decompressed, limit_bytes: self.limit_bytes }
    }

    /// Makes room for what a body of `body_bytes` claims to become.
    fn expect(&mut self, claimed_bytes: usize, body_bytes: usize) {
        let believed = claimed_bytes.min(body_bytes.saturating_mul(BELIEVED_RATIO));
        let size = (self.filled_bytes + believed).min(self.limit_bytes) + 1;
        self.grow(size);
    }

    /// Exactly, where a vector by itself would take up to twice as much.
    fn grow(&mut self, size_bytes: usize) {
        if let Some(more_bytes) = size_bytes.checked_sub(self.buffer.len()) {
            self.buffer.reserve_exact(more_bytes);
            self.buffer.resize(size_bytes, 0);
        }
    }

    /// Room for more, never none.
    fn room(&mut self) -> Result<&mut [u8], Refusal> {
        if self.filled_bytes > self.limit_bytes {
            return Err(self.too_large());
        }
        let max_bytes = self.limit_bytes + 1;
        if self.filled_bytes == self.buffer.len() {
            let size = (2 * self.buffer.len()).max(MIN_BUFFER_BYTES).min(max_bytes);
            self.grow(size);
        }
        let end = self.buffer.len().min(max_bytes);
        Ok(&mut self.buffer[self.filled_bytes..end])
    }

    /// What came out, unless it is more than allowed.
    fn filled(&self) -> Result<&[u8], Refusal> {
        if self.filled_bytes > self.limit_bytes {
            return Err(self.too_large());
        }
        Ok(&self.buffer[..self.filled_bytes])
    }

    /// Takes everything that `source` has.
    fn take_all(&mut self, what: &str, mut source: impl Read) -> Result<(), Refusal> {
        loop {
            let read = source.read(self.room()?);
            match read.map_err(|error| malformed(what, error))? {
                0 => return Ok(()),
                bytes => self.filled_bytes += bytes,
            }
        }
    }
}

fn malformed(what: &str, problem: impl std::fmt::Display) -> Refusal {
    Refusal::Malformed(format!("{what}: {problem}"))
}

fn gzip(body: &[u8], out: &mut Output<'_>) -> Result<(), Refusal> {
    // The last four bytes are the size of the last member, which mostly is the only one.
    if let Some(size) = body.last_chunk() {
        out.expect(u32::from_le_bytes(*size) as usize, body.len());
    }
    let mut rest = body;
    for _ in 0..MAX_MEMBERS {
        let mut member = GzDecoder::new(rest);
        out.take_all("gzip", &mut member)?;
        rest = member.into_inner();
        if rest.is_empty() {
            return Ok(());
        }
    }
    Err(malformed("gzip", format_args!("more than {MAX_MEMBERS} members")))
}

/// Whether the body was wrapped in zlib, as it should be.
fn deflate(body: &[u8], out: &mut Output<'_>) -> Result<bool, Refusal> {
    let is_wrapped = is_zlib(body);
    let rest = if is_wrapped {
        let mut stream = ZlibDecoder::new(body);
        out.take_all("deflate", &mut stream)?;
        stream.into_inner()
    } else {
        let mut stream = DeflateDecoder::new(body);
        out.take_all("deflate", &mut stream)?;
        stream.into_inner()
    };
    if !rest.is_empty() {
        return Err(malformed("deflate", format_args!("{} bytes after its end", rest.len())));
    }
    Ok(is_wrapped)
}

/// Whether a zlib header is in front. Deflate by itself never looks like one: its first byte would
/// announce an uncompressed block and have bits set that every encoder leaves at zero.
fn is_zlib(body: &[u8]) -> bool {
    let [method, flags, ..] = *body else { return false };
    method & 0x0f == 8 && u16::from_be_bytes([method, flags]).is_multiple_of(31)
}

/// Snappy's block format says its size in front and is decoded at once. So the size is checked before
/// memory is given: a body that claims more than its length allows cannot be right.
fn snappy(body: &[u8], out: &mut Output<'_>) -> Result<(), Refusal> {
    let error = |error: snap::Error| malformed("snappy", error);
    let size_bytes = snap::raw::decompress_len(body).map_err(error)?;
    if size_bytes > out.limit_bytes {
        return Err(out.too_large());
    }
    if size_bytes > body.len().saturating_mul(MAX_SNAPPY_RATIO) {
        return Err(malformed("snappy", "claims to be larger than it can be"));
    }
    out.grow(size_bytes);
    let room = &mut out.buffer[..size_bytes];
    out.filled_bytes = snap::raw::Decoder::new().decompress(body, room).map_err(error)?;
    Ok(())
}

fn zstd_frames(
    body: &[u8],
    context: &mut DCtx<'static>,
    out: &mut Output<'_>,
) -> Result<(), Refusal> {
    let error = |code| malformed("zstd", get_error_name(code));
    let mut input = InBuffer::around(body);
    for _ in 0..MAX_MEMBERS {
        begin_frame(&body[input.pos()..], out)?;
        context.reset(ResetDirective::SessionOnly).map_err(error)?;
        loop {
            let mut output = OutBuffer::around(out.room()?);
            let left = context.decompress_stream(&mut output, &mut input).map_err(error)?;
            let written = output.pos();
            out.filled_bytes += written;
            if left == 0 {
                break;
            }
            if written == 0 && input.pos() == body.len() {
                return Err(malformed("zstd", "incomplete frame"));
            }
        }
        if input.pos() == body.len() {
            return Ok(());
        }
    }
    Err(malformed("zstd", format_args!("more than {MAX_MEMBERS} frames")))
}

/// Judges a frame by its header (RFC 8878, 3.1.1), before memory is given to it.
fn begin_frame(frame: &[u8], out: &mut Output<'_>) -> Result<(), Refusal> {
    const FRAME: u32 = 0xfd2f_b528;
    const SKIPPABLE: u32 = 0x184d_2a50;
    const ONE_SEGMENT: u8 = 0x20;
    let (magic, rest) = frame.split_first_chunk().ok_or_else(|| malformed("zstd", "no header"))?;
    match u32::from_le_bytes(*magic) {
        FRAME => {}
        magic if magic & !0xf == SKIPPABLE => return Ok(()),
        _ => return Err(malformed("zstd", "not the start of a frame")),
    }
    let is_one_segment = rest.first().is_some_and(|descriptor| descriptor & ONE_SEGMENT != 0);
    if let [_, window, ..] = *rest
        && !is_one_segment
    {
        let base_bytes = 1u64 << (10 + (window >> 3));
        check_window(base_bytes + base_bytes / 8 * u64::from(window & 7))?;
    }
    let claimed_bytes = get_frame_content_size(frame)
        .map_err(|_| malformed("zstd", "no header, or no content size where one is announced"))?;
    let Some(claimed_bytes) = claimed_bytes else { return Ok(()) };
    let left_bytes = out.limit_bytes.saturating_sub(out.filled_bytes);
    if claimed_bytes > left_bytes as u64 {
        return Err(out.too_large());
    }
    // Such a frame has no window of its own: all of its content is.
    if is_one_segment {
        check_window(claimed_bytes)?;
    }
    out.expect(claimed_bytes as usize, frame.len());
    Ok(())
}

fn check_window(window_bytes: u64) -> Result<(), Refusal> {
    if window_bytes > MAX_ZSTD_WINDOW_BYTES {
        let problem = format_args!("window of {window_bytes} bytes, use at most 8 MiB");
        return Err(malformed("zstd", problem));
    }
    Ok(())
}
