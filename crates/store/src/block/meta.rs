//! What is known of a block without opening it: its path and its entry in the
//! node object or commit log.

use prost::Message;

use crate::schema::Signal;
use crate::tables::order::DAY_NANOS;

/// A block as the commit log knows it.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct BlockMeta {
    /// Day partition, in days since 1970; [`LATE_DAY`] for the late block.
    #[prost(sint64, tag = "1")]
    pub day: i64,
    /// Least time of a row.
    #[prost(sint64, tag = "2")]
    pub min_time_nanos: i64,
    /// Greatest time of a row.
    #[prost(sint64, tag = "3")]
    pub max_time_nanos: i64,
    /// 0 for flushed, 1 for compacted.
    #[prost(uint32, tag = "4")]
    pub level: u32,
    /// The node that wrote it.
    #[prost(string, tag = "5")]
    pub node: String,
    /// The node's flush or compaction sequence.
    #[prost(uint64, tag = "6")]
    pub sequence: u64,
    /// Which block of that flush.
    #[prost(uint32, tag = "7")]
    pub part: u32,
    /// Rows.
    #[prost(uint64, tag = "8")]
    pub rows: u64,
    /// Bytes of the file.
    #[prost(uint64, tag = "9")]
    pub size_bytes: u64,
    /// CRC32C of the file's last [`BlockMeta::tail_bytes`] bytes, footer and
    /// indexes among them.
    #[prost(fixed32, tag = "10")]
    pub tail_crc: u32,
    /// How many bytes that is.
    #[prost(uint64, tag = "11")]
    pub tail_bytes: u64,
    /// Bytes of its pages when decompressed: what joining it takes in memory.
    #[prost(uint64, tag = "12")]
    pub plain_bytes: u64,
}

/// The partition of very late data that compaction divides again.
pub const LATE_DAY: i64 = i64::MIN;

impl BlockMeta {
    /// The path below the store's root.
    pub fn path(&self, tenant: &str, signal: Signal) -> String {
        format!("{}/{}/{}/{}", encode_tenant(tenant), signal.name(), self.day_name(), self.name())
    }

    /// The file's name.
    pub fn name(&self) -> String {
        format!(
            "{:020}-{:020}-L{}-{}-{}-{}.parquet",
            self.min_time_nanos,
            self.max_time_nanos,
            self.level,
            self.node,
            self.sequence,
            self.part
        )
    }

    fn day_name(&self) -> String {
        if self.day == LATE_DAY { "late".to_owned() } else { day_name(self.day) }
    }

    /// Level, node and sequence of a file of that name.
    pub fn parse_name(name: &str) -> Option<(u32, &str, u64)> {
        let stem = name.strip_suffix(".parquet")?;
        let mut parts = stem.splitn(4, '-');
        let (_min, _max) = (parts.next()?, parts.next()?);
        let level = parts.next()?.strip_prefix('L')?.parse().ok()?;
        let mut tail = parts.next()?.rsplitn(3, '-');
        let (_part, sequence, node) = (tail.next()?, tail.next()?, tail.next()?);
        Some((level, node, sequence.parse().ok()?))
    }
}

/// A day as `yyyy-mm-dd`.
pub fn day_name(day: i64) -> String {
    // Civil from days: eras of 400 years, years that begin in March.
    let shifted = day + 719_468;
    let era = shifted.div_euclid(146_097);
    let of_era = shifted.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * of_year + 2) / 153;
    let day_of_month = of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{day_of_month:02}")
}

/// The day of a time.
pub fn day_of(time_nanos: i64) -> i64 {
    time_nanos.div_euclid(DAY_NANOS)
}

/// A tenant's name as one path component: what is not a letter, digit, `_`, `.`
/// or `-` is percent-encoded, and so is a first `.`; the empty name is `%`, and a
/// tenant `nodes` does not get in the way of the node objects.
pub fn encode_tenant(tenant: &str) -> String {
    if tenant == crate::commit::node::PREFIX {
        return "%6Eodes".to_owned();
    }
    let mut encoded = String::with_capacity(tenant.len());
    for (nth, byte) in tenant.bytes().enumerate() {
        let plain = byte.is_ascii_alphanumeric()
            || matches!(byte, b'_' | b'-')
            || (byte == b'.' && nth > 0);
        if plain {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    if encoded.is_empty() { "%".to_owned() } else { encoded }
}

/// The tenant of an encoded path component.
pub fn decode_tenant(encoded: &str) -> Option<String> {
    if encoded == "%" {
        return Some(String::new());
    }
    let mut bytes = Vec::with_capacity(encoded.len());
    let mut rest = encoded.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        if *first == b'%' {
            let digits = std::str::from_utf8(after.get(..2)?).ok()?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            rest = &after[2..];
        } else {
            bytes.push(*first);
            rest = after;
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_have_their_names() {
        assert_eq!(day_name(0), "1970-01-01");
        assert_eq!(day_name(19_782), "2024-02-29");
        assert_eq!(day_name(-1), "1969-12-31");
        assert_eq!(day_name(84_005), "2199-12-31");
    }

    #[test]
    fn tenants_come_back_and_are_one_component() {
        for tenant in ["default", "", "a/b", "..", ".", "Ä%20", "x y", "a.b-c_d", "nodes"] {
            let encoded = encode_tenant(tenant);
            assert_ne!(encoded, "nodes");
            assert!(!encoded.contains('/') && !encoded.starts_with('.') && !encoded.is_empty());
            assert_eq!(decode_tenant(&encoded).as_deref(), Some(tenant));
        }
    }

    #[test]
    fn names_tell_level_node_and_sequence() {
        let meta = BlockMeta {
            min_time_nanos: 5,
            max_time_nanos: 1_700_000_000_000_000_000,
            level: 1,
            node: "node-a-1".into(),
            sequence: 42,
            part: 3,
            ..BlockMeta::default()
        };
        assert_eq!(BlockMeta::parse_name(&meta.name()), Some((1, "node-a-1", 42)));
        assert_eq!(BlockMeta::parse_name("x.parquet"), None);
        assert!(meta.path("default", Signal::Spans).starts_with("default/spans/1970-01-01/0000"));
    }
}
