//! Segment and record headers, byte by byte as in `docs/formats/journal.md`.
//!
//! Encoding and decoding only; no files here. Decoding refuses everything whose CRC is not right,
//! and tells apart "damaged" from "written by a newer version".

use xxhash_rust::xxh3::{xxh3_64, xxh3_128_with_seed};

use crate::limits::{ALIGN_BYTES, HEADER_BYTES, MAX_BODY_BYTES, MAX_TENANT_BYTES};

/// A logical byte offset in the whole log. It only grows and is never used twice.
pub type Position = u64;

/// The format this program writes, and the newest it reads.
pub(crate) const VERSION: u16 = 1;

/// The same of records: one of which something was taken away says how much space that left.
pub(crate) const RECORD_VERSION: u16 = 2;

/// Random number that all files of one journal carry.
pub(crate) type JournalId = [u8; 16];

/// A header as it is on disk.
pub(crate) type HeaderBytes = [u8; HEADER_BYTES as usize];

const SEGMENT_MAGIC: &[u8; 8] = b"KYMOJSEG";
/// What a record begins with.
pub(crate) const RECORD_MAGIC: &[u8; 4] = b"KJRC";
const CRC_AT: usize = 60;

/// Why bytes are not a header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Not a header, or not any more.
    Damaged,
    /// A header of a later format.
    Newer(u16),
}

macro_rules! coded_enum {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $code:literal,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $name { $($(#[$variant_doc])* $variant = $code,)* }

        impl $name {
            /// All of them, in the order of their codes.
            pub const ALL: &'static [$name] = &[$($name::$variant,)*];

            /// The byte that stands for it in a record.
            pub fn code(self) -> u8 {
                self as u8
            }

            /// The meaning of a byte in a record.
            pub fn from_code(code: u8) -> Option<$name> {
                match code {
                    $($code => Some($name::$variant),)*
                    _ => None,
                }
            }
        }
    };
}

coded_enum! {
    /// What a request carries.
    Signal {
        /// Spans.
        Traces = 1,
        /// Metric points.
        Metrics = 2,
        /// Log records.
        Logs = 3,
    }
}

coded_enum! {
    /// How a request's body is to be decoded, after decompression.
    Format {
        /// OTLP, protobuf.
        OtlpProtobuf = 1,
        /// OTLP, JSON.
        OtlpJson = 2,
        /// Prometheus remote-write 1.0.
        RemoteWrite1 = 3,
        /// Prometheus remote-write 2.0.
        RemoteWrite2 = 4,
        /// Loki push, protobuf.
        Loki = 5,
    }
}

coded_enum! {
    /// How a request's body is compressed.
    Compression {
        /// It is not.
        None = 0,
        /// gzip.
        Gzip = 1,
        /// Zstandard.
        Zstd = 2,
        /// deflate, with a zlib header.
        Deflate = 3,
        /// snappy, block format.
        Snappy = 4,
    }
}

/// The first 64 bytes of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SegmentHeader {
    pub(crate) id: JournalId,
    pub(crate) start: Position,
    /// What earlier segments hold from here on is void.
    pub(crate) previous_end: Position,
    pub(crate) first_sequence: u64,
}

impl SegmentHeader {
    pub(crate) fn encode(&self) -> HeaderBytes {
        let mut bytes = [0; HEADER_BYTES as usize];
        bytes[0..8].copy_from_slice(SEGMENT_MAGIC);
        bytes[8..10].copy_from_slice(&VERSION.to_le_bytes());
        bytes[16..32].copy_from_slice(&self.id);
        bytes[32..40].copy_from_slice(&self.start.to_le_bytes());
        bytes[40..48].copy_from_slice(&self.previous_end.to_le_bytes());
        bytes[48..56].copy_from_slice(&self.first_sequence.to_le_bytes());
        let crc = crc32c::crc32c(&bytes[..CRC_AT]);
        bytes[CRC_AT..].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    pub(crate) fn decode(bytes: &HeaderBytes) -> Result<SegmentHeader, Fault> {
        if &bytes[0..8] != SEGMENT_MAGIC
            || crc32c::crc32c(&bytes[..CRC_AT]) != u32_at(bytes, CRC_AT)
        {
            return Err(Fault::Damaged);
        }
        refuse_newer(u16_at(bytes, 8))?;
        let mut id = [0; 16];
        id.copy_from_slice(&bytes[16..32]);
        Ok(SegmentHeader {
            id,
            start: u64_at(bytes, 32),
            previous_end: u64_at(bytes, 40),
            first_sequence: u64_at(bytes, 48),
        })
    }
}

/// The first 64 bytes of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RecordHeader {
    pub(crate) compression: Compression,
    pub(crate) format: Format,
    pub(crate) signal: Signal,
    pub(crate) tenant_len: u16,
    pub(crate) body_len: u32,
    pub(crate) sequence: u64,
    pub(crate) received_nanos: u64,
    pub(crate) hash: u128,
    /// CRC32C of tenant and body.
    pub(crate) payload_crc: u32,
    /// Bytes behind the body that are not used any more (J8).
    pub(crate) spare_len: u32,
}

impl RecordHeader {
    /// Whether all that was in it has been taken away.
    pub(crate) fn is_erased(&self) -> bool {
        self.body_len == 0 && self.spare_len > 0
    }

    /// Bytes of tenant, body and what is not used behind them.
    pub(crate) fn room_len(&self) -> u64 {
        self.payload_len() + u64::from(self.spare_len)
    }

    /// Bytes of tenant and body.
    pub(crate) fn payload_len(&self) -> u64 {
        u64::from(self.tenant_len) + u64::from(self.body_len)
    }

    /// Bytes the record takes in its segment.
    pub(crate) fn size_bytes(&self) -> u64 {
        (HEADER_BYTES + self.room_len()).next_multiple_of(ALIGN_BYTES)
    }

    pub(crate) fn encode(&self, id: &JournalId, position: Position) -> HeaderBytes {
        let mut bytes = [0; HEADER_BYTES as usize];
        bytes[0..4].copy_from_slice(RECORD_MAGIC);
        // What was never changed is as older programs read it.
        let version = if self.spare_len > 0 { RECORD_VERSION } else { VERSION };
        bytes[4..6].copy_from_slice(&version.to_le_bytes());
        bytes[6] = self.compression.code();
        bytes[7] = self.format.code();
        bytes[8] = self.signal.code();
        bytes[10..12].copy_from_slice(&self.tenant_len.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.body_len.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.sequence.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.received_nanos.to_le_bytes());
        bytes[32..48].copy_from_slice(&self.hash.to_le_bytes());
        bytes[48..52].copy_from_slice(&self.payload_crc.to_le_bytes());
        bytes[52..56].copy_from_slice(&self.spare_len.to_le_bytes());
        let crc = record_crc(&bytes, id, position);
        bytes[CRC_AT..].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    pub(crate) fn decode(
        bytes: &HeaderBytes,
        id: &JournalId,
        position: Position,
    ) -> Result<RecordHeader, Fault> {
        if &bytes[0..4] != RECORD_MAGIC || record_crc(bytes, id, position) != u32_at(bytes, CRC_AT)
        {
            return Err(Fault::Damaged);
        }
        let version = u16_at(bytes, 4);
        refuse_newer_than(RECORD_VERSION, version)?;
        let (Some(compression), Some(format), Some(signal)) = (
            Compression::from_code(bytes[6]),
            Format::from_code(bytes[7]),
            Signal::from_code(bytes[8]),
        ) else {
            return Err(Fault::Damaged);
        };
        let header = RecordHeader {
            compression,
            format,
            signal,
            tenant_len: u16_at(bytes, 10),
            body_len: u32_at(bytes, 12),
            sequence: u64_at(bytes, 16),
            received_nanos: u64_at(bytes, 24),
            hash: u128::from_le_bytes(array_at(bytes, 32)),
            payload_crc: u32_at(bytes, 48),
            spare_len: if version == VERSION { 0 } else { u32_at(bytes, 52) },
        };
        let within_limits = usize::from(header.tenant_len) <= MAX_TENANT_BYTES
            && header.room_len() <= (MAX_TENANT_BYTES + MAX_BODY_BYTES) as u64
            && header.body_len as usize <= MAX_BODY_BYTES;
        if within_limits { Ok(header) } else { Err(Fault::Damaged) }
    }
}

/// CRC32C of tenant and body.
pub(crate) fn payload_crc(tenant: &[u8], body: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(tenant), body)
}

/// What two byte-identical requests of one tenant have in common, and no others.
pub(crate) fn request_hash(
    id: &JournalId,
    signal: Signal,
    format: Format,
    compression: Compression,
    tenant: &str,
    body: &[u8],
) -> u128 {
    // The random id is part of the seed, so that nobody can prepare a request that collides with
    // someone else's.
    let mut context = Vec::with_capacity(id.len() + 3 + tenant.len());
    context.extend_from_slice(id);
    context.extend_from_slice(&[signal.code(), format.code(), compression.code()]);
    context.extend_from_slice(tenant.as_bytes());
    xxh3_128_with_seed(body, xxh3_64(&context))
}

fn record_crc(bytes: &HeaderBytes, id: &JournalId, position: Position) -> u32 {
    let mut crc = crc32c::crc32c(id);
    crc = crc32c::crc32c_append(crc, &position.to_le_bytes());
    crc32c::crc32c_append(crc, &bytes[..CRC_AT])
}

/// Refuses a version that is newer than ours. Call it only under a right CRC.
pub(crate) fn refuse_newer(version: u16) -> Result<(), Fault> {
    refuse_newer_than(VERSION, version)
}

fn refuse_newer_than(newest: u16, version: u16) -> Result<(), Fault> {
    match version {
        0 => Err(Fault::Damaged),
        known if known <= newest => Ok(()),
        newer => Err(Fault::Newer(newer)),
    }
}

fn array_at<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let mut array = [0; N];
    array.copy_from_slice(&bytes[at..at + N]);
    array
}

/// Two bytes, little-endian.
pub(crate) fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(array_at(bytes, at))
}

/// Four bytes, little-endian.
pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(array_at(bytes, at))
}

/// Eight bytes, little-endian.
pub(crate) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(array_at(bytes, at))
}

/// Sixteen bytes, little-endian.
pub(crate) fn u128_at(bytes: &[u8], at: usize) -> u128 {
    u128::from_le_bytes(array_at(bytes, at))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: JournalId = *b"0123456789abcdef";

    fn record() -> RecordHeader {
        RecordHeader {
            compression: Compression::Zstd,
            format: Format::OtlpProtobuf,
            signal: Signal::Logs,
            tenant_len: 7,
            body_len: 1000,
            sequence: 42,
            received_nanos: 1_700_000_000_000_000_000,
            hash: 0x0011_2233_4455_6677_8899_aabb_ccdd_eeff,
            payload_crc: 0xdead_beef,
            spare_len: 0,
        }
    }

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    #[test]
    fn a_record_header_has_these_bytes() {
        let expected = concat!(
            "4b4a5243",                         // magic
            "0100",                             // version
            "02",                               // zstd
            "01",                               // OTLP protobuf
            "03",                               // logs
            "00",                               // reserved
            "0700",                             // tenant length
            "e8030000",                         // body length
            "2a00000000000000",                 // sequence
            "00002a36fe9c9717",                 // receive time
            "ffeeddccbbaa99887766554433221100", // hash
            "efbeadde",                         // CRC of the payload
            "0000000000000000",                 // reserved
            "3683df09",                         // CRC of id, position, header
        );
        assert_eq!(hex(&record().encode(&ID, 4096)), expected);
        assert_eq!(record().size_bytes(), 64 + 1008);
    }

    #[test]
    fn a_record_without_its_body_takes_as_much_space_and_is_of_version_two() {
        let erased = RecordHeader { body_len: 0, spare_len: 1000, ..record() };
        let bytes = erased.encode(&ID, 4096);
        assert_eq!(hex(&bytes[4..6]), "0200");
        assert_eq!(hex(&bytes[12..16]), "00000000", "no body");
        assert_eq!(hex(&bytes[52..56]), "e8030000", "the space it took");
        assert_eq!(RecordHeader::decode(&bytes, &ID, 4096), Ok(erased));
        assert_eq!(erased.size_bytes(), record().size_bytes());
        assert!(erased.is_erased() && !record().is_erased());
    }

    #[test]
    fn a_segment_header_has_these_bytes() {
        let header = SegmentHeader { id: ID, start: 4096, previous_end: 4000, first_sequence: 17 };
        let expected = concat!(
            "4b594d4f4a534547",
            "0100",
            "000000000000",
            "30313233343536373839616263646566",
            "0010000000000000",
            "a00f000000000000",
            "1100000000000000",
            "00000000",
            "5a9c8dfb",
        );
        assert_eq!(hex(&header.encode()), expected);
        assert_eq!(SegmentHeader::decode(&header.encode()), Ok(header));
    }

    #[test]
    fn every_flipped_bit_of_a_header_is_noticed() {
        let good = record().encode(&ID, 64);
        assert_eq!(RecordHeader::decode(&good, &ID, 64), Ok(record()));
        for bit in 0..good.len() * 8 {
            let mut bad = good;
            bad[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(RecordHeader::decode(&bad, &ID, 64), Err(Fault::Damaged), "bit {bit}");
        }
    }

    #[test]
    fn a_header_counts_only_at_its_own_position_in_its_own_journal() {
        let bytes = record().encode(&ID, 64);
        assert_eq!(RecordHeader::decode(&bytes, &ID, 72), Err(Fault::Damaged));
        assert_eq!(RecordHeader::decode(&bytes, &[0; 16], 64), Err(Fault::Damaged));
    }

    #[test]
    fn a_newer_record_is_told_apart_from_damage() {
        let mut bytes = record().encode(&ID, 64);
        bytes[4] = 3;
        let crc = record_crc(&bytes, &ID, 64);
        bytes[CRC_AT..].copy_from_slice(&crc.to_le_bytes());
        assert_eq!(RecordHeader::decode(&bytes, &ID, 64), Err(Fault::Newer(3)));
    }

    #[test]
    fn the_hash_depends_on_all_that_makes_a_request() {
        let hash = |signal, format, compression, tenant: &str, body: &str| {
            request_hash(&ID, signal, format, compression, tenant, body.as_bytes())
        };
        let (otlp, none) = (Format::OtlpProtobuf, Compression::None);
        let all = [
            hash(Signal::Traces, otlp, none, "a", "b"),
            hash(Signal::Logs, otlp, none, "a", "b"),
            hash(Signal::Traces, Format::OtlpJson, none, "a", "b"),
            hash(Signal::Traces, otlp, Compression::Gzip, "a", "b"),
            hash(Signal::Traces, otlp, none, "b", "b"),
            hash(Signal::Traces, otlp, none, "a", "c"),
        ];
        let distinct: std::collections::HashSet<_> = all.iter().collect();
        assert_eq!(distinct.len(), all.len());
        assert_eq!(all[0], hash(Signal::Traces, otlp, none, "a", "b"));
    }
}
