//! Where each consumer stands, in memory and in the file `cursors`.
//!
//! A cursor is a promise by its consumer: all before it is done. It never goes back while the
//! journal is open; after a crash it may, because the file is written lazily. It is never ahead of
//! what was promised. Files are written by `retention.rs`.

use std::collections::BTreeMap;

use crate::format::{Fault, JournalId, Position, u16_at, u64_at};
use crate::limits::{MAX_CURSOR_NAME_BYTES, MAX_CURSORS};
use crate::small_file;
use crate::{Error, Result};

const MAGIC: &[u8; 8] = b"KYMOJCUR";
const ENTRIES_AT: usize = 48;

/// What a consumer may cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CursorOptions {
    /// How far it may lag. None: without bound.
    ///
    /// Enforced in whole segments when it jumps, so what it holds on disk is at most this and one
    /// segment.
    pub budget_bytes: Option<u64>,
    /// Past the budget, appends are refused as busy instead of the cursor jumping forward.
    pub back_pressure: bool,
}

/// A consumer's place, as `Journal::cursors` tells it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cursor {
    /// The consumer.
    pub name: String,
    /// All before this is done.
    pub position: Position,
    /// Bytes between it and the end.
    pub lag_bytes: u64,
    /// Whether someone has registered it since the journal was opened.
    pub registered: bool,
}

#[derive(Debug, Clone)]
pub(crate) struct CursorState {
    pub(crate) position: Position,
    /// None until someone registers it.
    pub(crate) options: Option<CursorOptions>,
}

/// All cursors by name.
#[derive(Debug, Clone, Default)]
pub(crate) struct Cursors {
    pub(crate) by_name: BTreeMap<String, CursorState>,
}

impl Cursors {
    /// Registers a cursor; one that is new begins at `oldest`. Returns where it stands.
    pub(crate) fn register(
        &mut self,
        name: &str,
        options: CursorOptions,
        oldest: Position,
    ) -> Result<Position> {
        let is_new = !self.by_name.contains_key(name);
        let possible = (1..=MAX_CURSOR_NAME_BYTES).contains(&name.len());
        if !possible || (is_new && self.by_name.len() >= MAX_CURSORS) {
            return Err(Error::BadCursor { name: name.to_owned() });
        }
        let cursor = self
            .by_name
            .entry(name.to_owned())
            .or_insert(CursorState { position: oldest, options: None });
        cursor.options = Some(options);
        Ok(cursor.position)
    }

    /// Drops the cursors nobody registered; returns their names.
    pub(crate) fn retire_unregistered(&mut self) -> Vec<String> {
        let retired: Vec<String> = self
            .by_name
            .iter()
            .filter(|(_, cursor)| cursor.options.is_none())
            .map(|(name, _)| name.clone())
            .collect();
        for name in &retired {
            self.by_name.remove(name);
        }
        retired
    }

    /// The position below which nobody needs anything; none without cursors.
    pub(crate) fn least(&self) -> Option<Position> {
        self.by_name.values().map(|cursor| cursor.position).min()
    }

    /// Whether a consumer that applies back-pressure lags more than its budget behind `end`.
    pub(crate) fn is_back_pressured(&self, end: Position) -> bool {
        self.by_name.values().any(|cursor| match cursor.options {
            Some(CursorOptions { budget_bytes: Some(budget), back_pressure: true }) => {
                end.saturating_sub(cursor.position) > budget
            }
            _ => false,
        })
    }
}

/// What the file `cursors` holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CursorFile {
    pub(crate) id: JournalId,
    /// The log was on disk up to here.
    pub(crate) synced: Position,
    pub(crate) next_sequence: u64,
    pub(crate) positions: Vec<(String, Position)>,
}

impl CursorFile {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let [low, high] = (self.positions.len() as u16).to_le_bytes();
        let mut bytes = small_file::begin(MAGIC, [low, high, 0, 0, 0, 0], &self.id);
        bytes.extend_from_slice(&self.synced.to_le_bytes());
        bytes.extend_from_slice(&self.next_sequence.to_le_bytes());
        for (name, position) in &self.positions {
            bytes.extend_from_slice(&position.to_le_bytes());
            bytes.extend_from_slice(&(name.len() as u16).to_le_bytes());
            bytes.extend_from_slice(name.as_bytes());
        }
        small_file::finish(bytes)
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<CursorFile, Fault> {
        let (id, framed) = small_file::check(MAGIC, bytes)?;
        if framed.len() < ENTRIES_AT {
            return Err(Fault::Damaged);
        }
        let mut rest = &framed[ENTRIES_AT..];
        let mut positions = Vec::new();
        for _ in 0..u16_at(framed, 10) {
            let name_len = if rest.len() < 10 { 0 } else { usize::from(u16_at(rest, 8)) };
            let Some(name) = rest.get(10..10 + name_len) else { return Err(Fault::Damaged) };
            let name = std::str::from_utf8(name).map_err(|_| Fault::Damaged)?;
            positions.push((name.to_owned(), u64_at(rest, 0)));
            rest = &rest[10 + name_len..];
        }
        Ok(CursorFile {
            id,
            synced: u64_at(framed, 32),
            next_sequence: u64_at(framed, 40),
            positions,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_reads_back_and_every_cut_or_flip_is_damage() {
        let file = CursorFile {
            id: [7; 16],
            synced: 1 << 40,
            next_sequence: 99,
            positions: vec![("forward/a".into(), 12), ("store".into(), 1 << 33)],
        };
        let bytes = file.encode();
        assert_eq!(CursorFile::decode(&bytes), Ok(file));
        for len in 0..bytes.len() {
            assert_eq!(CursorFile::decode(&bytes[..len]), Err(Fault::Damaged), "cut at {len}");
        }
        for at in 0..bytes.len() {
            let mut bad = bytes.clone();
            bad[at] ^= 0x10;
            assert_eq!(CursorFile::decode(&bad), Err(Fault::Damaged), "flip at {at}");
        }
    }
}
