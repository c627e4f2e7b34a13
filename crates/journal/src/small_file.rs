//! The frame that `cursors` and `.kd` files share: magic, version, journal id, contents, CRC.
//!
//! Both are small, written as a whole and read as a whole. A file that is not right is `Damaged`;
//! its callers can do without it.

use crate::format::{Fault, JournalId, VERSION, refuse_newer, u16_at, u32_at};

/// Bytes before the contents; the fields at 10..16 belong to the contents' owner.
pub(crate) const FRAME_HEADER_BYTES: usize = 32;

/// Begins a file; `fields` are its bytes 10..16.
pub(crate) fn begin(magic: &[u8; 8], fields: [u8; 6], id: &JournalId) -> Vec<u8> {
    let mut bytes = vec![0; FRAME_HEADER_BYTES];
    bytes[0..8].copy_from_slice(magic);
    bytes[8..10].copy_from_slice(&VERSION.to_le_bytes());
    bytes[10..16].copy_from_slice(&fields);
    bytes[16..32].copy_from_slice(id);
    bytes
}

/// Ends a file.
pub(crate) fn finish(mut bytes: Vec<u8>) -> Vec<u8> {
    let crc = crc32c::crc32c(&bytes);
    bytes.extend_from_slice(&crc.to_le_bytes());
    bytes
}

/// Checks a file; gives its id and all of it before the CRC.
pub(crate) fn check<'a>(magic: &[u8; 8], bytes: &'a [u8]) -> Result<(JournalId, &'a [u8]), Fault> {
    let Some(crc_at) = bytes.len().checked_sub(4).filter(|&at| at >= FRAME_HEADER_BYTES) else {
        return Err(Fault::Damaged);
    };
    let framed = &bytes[..crc_at];
    if &bytes[0..8] != magic || crc32c::crc32c(framed) != u32_at(bytes, crc_at) {
        return Err(Fault::Damaged);
    }
    refuse_newer(u16_at(bytes, 8))?;
    let mut id = [0; 16];
    id.copy_from_slice(&bytes[16..32]);
    Ok((id, framed))
}
