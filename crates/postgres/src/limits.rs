//! Every bound of the crate, with its reason.

use std::time::Duration;

/// Bytes of the first message of a connection: names and a few settings.
pub const STARTUP_MAX_BYTES: usize = 10_000;
/// Bytes of another message: the longest query, and as much again for values several times over.
pub const MESSAGE_MAX_BYTES: usize = 8 << 20;
/// Bytes that are read ahead while a query runs; more wait in the socket.
pub const READ_AHEAD_BYTES: usize = 64 << 10;
/// Bytes that are gathered before they are sent.
pub const WRITE_BYTES: usize = 64 << 10;
/// Bytes of a password, of somebody who is not known yet. Tokens of identity providers are the longest.
pub const PASSWORD_MAX_BYTES: usize = 64 << 10;
/// From the beginning of a connection to the end of its login.
pub const STARTUP_TIMEOUT: Duration = Duration::from_secs(20);
/// Between two pieces of a message. Who is slower holds memory for nothing.
pub const MESSAGE_PAUSE_TIMEOUT: Duration = Duration::from_secs(20);
/// A client that asks for nothing for so long is let go. Pools keep connections for half an hour, and
/// each takes some kilobytes.
pub const IDLE_TIMEOUT: Duration = Duration::from_secs(2 * 3600);
/// A client that takes none of what is sent to it for so long is gone.
pub const PEER_TIMEOUT: Duration = Duration::from_secs(120);
/// How often it is looked again whether a client may still ask: a token may be revoked while its
/// connection is open.
pub const RECHECK_EVERY: Duration = Duration::from_secs(30);
/// Statements that a connection keeps prepared; drivers keep some hundred.
pub const MAX_STATEMENTS: usize = 1024;
/// Portals that a connection keeps. Each may hold a running query.
pub const MAX_PORTALS: usize = 16;
/// Bytes of all prepared statements of a connection, and of all values in its portals. Each message may
/// have half of them; a thousand such messages would be all memory there is.
pub const KEPT_MAX_BYTES: usize = 2 * MESSAGE_MAX_BYTES;
/// Statements in one text of the simple protocol.
pub const MAX_STATEMENTS_IN_TEXT: usize = 256;
/// Settings that a connection keeps beside those that are known.
pub const MAX_SETTINGS: usize = 256;
/// Bytes of a setting's name or value.
pub const SETTING_MAX_BYTES: usize = 8 << 10;
/// Bytes of rows that are encoded at once, and one row more: a text by code is short in memory, and
/// each of its rows has it whole.
pub const ENCODE_BYTES: usize = 1 << 20;
/// Columns of an answer: as many as messages can count.
pub const MAX_COLUMNS: usize = i16::MAX as usize;
/// Digits of a number that a client gives, before or behind the point. More than a double can have.
pub const NUMERIC_MAX_DIGITS: usize = 1000;
/// Elements of arrays within arrays: what is deeper is refused.
pub const ARRAY_MAX_DEPTH: usize = 1;
