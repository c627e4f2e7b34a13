//! Every limit of processing rules, with its reason.

/// Rules of one configuration. Each is asked for every record.
pub const MAX_RULES: usize = 1000;

/// Attributes that one rule may name. Real ones name a few.
pub const MAX_NAMES: usize = 1000;

/// The longest name of a rule: it is a label of the server's own metrics.
pub const MAX_RULE_NAME_BYTES: usize = 64;

/// The longest value that a rule inserts. It may be added to every record of a request, so that it
/// multiplies what is stored.
pub const MAX_INSERTED_BYTES: usize = 4 << 10;

/// The longest text that takes the place of what is redacted. A value may consist of nothing but
/// matches, so that it may become so many times as long.
pub const MAX_REPLACEMENT_BYTES: usize = 64;

/// The memory that one regular expression may take when compiled.
pub const MAX_PATTERN_BYTES: usize = 1 << 20;

/// Versions that rules may make of one resource and its scopes. Each rule that changes the resource
/// of some records doubles them at worst, and each gets a group of its own.
pub(super) const MAX_VERSIONS: usize = 256;

/// Bytes of all versions of one resource and its scopes. Those in between are held too, so that it
/// is more than a request may have at last.
pub(super) const MAX_VERSIONS_BYTES: usize = 4 * crate::limits::MAX_BODY_BYTES;

/// Hexadecimal digits of a hash: 128 bits, so that two values have one only by intent.
pub const HASH_DIGITS: usize = 32;
