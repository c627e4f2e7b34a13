//! What is visible: node objects and generation logs.
//!
//! A flush commits by one write of its node's object. Everything else that
//! changes what is visible commits by creating the next generation of a log, one
//! log for each tenant and signal. The formats and the rules that make every row
//! visible exactly once are in `docs/formats/log.md`.

pub mod log;
pub mod node;
pub mod state;

use prost::Message;

use crate::error::StoreError;

/// First bytes of every object of the commit protocol.
const MAGIC: [u8; 4] = *b"KYMO";

/// The version that is written, and the newest that is understood.
pub const VERSION: u32 = 1;

/// A message with its magic and checksum.
pub(crate) fn seal(message: &impl Message) -> Vec<u8> {
    let payload = message.encode_to_vec();
    let mut bytes = Vec::with_capacity(payload.len() + 8);
    bytes.extend_from_slice(&MAGIC);
    bytes.extend_from_slice(&crc32c::crc32c(&payload).to_le_bytes());
    bytes.extend_from_slice(&payload);
    bytes
}

/// The message in sealed bytes.
pub(crate) fn unseal<M: Message + Default>(bytes: &[u8], path: &str) -> Result<M, StoreError> {
    let corrupt = || StoreError::corrupt(format!("{path} is not what was written"));
    let (magic, rest) = bytes.split_first_chunk::<4>().ok_or_else(corrupt)?;
    let (crc, payload) = rest.split_first_chunk::<4>().ok_or_else(corrupt)?;
    if *magic != MAGIC || u32::from_le_bytes(*crc) != crc32c::crc32c(payload) {
        return Err(corrupt());
    }
    M::decode(payload).map_err(|_| corrupt())
}

/// Refuses what a newer program wrote.
pub(crate) fn check_version(least_reader: u32, path: &str) -> Result<(), StoreError> {
    if least_reader > VERSION {
        return Err(StoreError::Newer {
            what: path.to_owned(),
            found: least_reader,
            known: VERSION,
        });
    }
    Ok(())
}
