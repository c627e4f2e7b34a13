//! Every bound of the audience, with its reason.

/// Flags in a book: which of them allow a user is one machine word of bits.
pub const MAX_FLAGS: usize = 64;

/// Bytes of a flag's key: it is part of a URL.
pub const MAX_KEY_BYTES: usize = 64;

/// Users that one flag lists. Who selects more people than this selects by percentage or by regular
/// expression.
pub const MAX_USERS: usize = 10_000;

/// Bytes of a user's name. Ids, mail addresses and hashes are shorter. A longer one is cut to this,
/// in records and in questions alike, so that it is always decided in the same way.
pub const MAX_USER_BYTES: usize = 256;

/// Attributes that may name the user, of one flag. Every record is searched for each of them.
pub const MAX_ATTRIBUTES: usize = 16;

/// Bytes of the name of such an attribute: names of attributes are shorter.
pub const MAX_ATTRIBUTE_BYTES: usize = 256;

/// Bytes of a regular expression as it is written.
pub const MAX_REGEX_BYTES: usize = 1024;

/// Memory that a regular expression may take when compiled. 64 flags have one each.
pub const MAX_REGEX_COMPILED_BYTES: usize = 1 << 20;

/// Bytes of the condition that says what a flag is about: those that people write are shorter.
pub const MAX_CONDITION_BYTES: usize = 4096;

/// Bytes of a flag's description: a paragraph.
pub const MAX_DESCRIPTION_BYTES: usize = 1024;

/// Bytes of the name of who changes a flag, in the audit. Longer names are cut.
pub const MAX_AUTHOR_BYTES: usize = 256;

/// Bytes of all flags as JSON. With the audit they are one setting, and a setting has 1 MiB.
pub const MAX_FLAGS_BYTES: usize = 512 << 10;

/// Changes that the audit keeps: the last months of flags that people change by hand.
pub const MAX_AUDIT_ENTRIES: usize = 200;

/// Bytes of the audit as JSON; what is older is forgotten. It shares a setting with the flags.
pub const MAX_AUDIT_BYTES: usize = 256 << 10;

/// Users that one entry of the audit names as added, and as removed. The rest are counted.
pub const MAX_AUDIT_USERS: usize = 20;

/// Bytes of a document that is read as a book: what a setting can have.
pub const MAX_BOOK_BYTES: usize = 1 << 20;

/// Bytes of a question or a change over HTTP: a list of [`MAX_USERS`] users and the rest of a flag.
pub const MAX_REQUEST_BYTES: usize = MAX_FLAGS_BYTES;

/// Traces whose users are remembered. At 3,000 traces a second these are more than two minutes,
/// which is longer than nearly all traces take; some 45 MiB beside the names.
pub const MAX_REMEMBERED_TRACES: usize = 500_000;

/// Bytes of the names of those users: 67 for each trace, if no two had the same user. Names are
/// usually shorter; where they are longer, fewer traces are remembered.
pub const MAX_REMEMBERED_USER_BYTES: usize = 32 << 20;

/// Parts of that memory with locks of their own, so that requests do not queue for one.
pub(crate) const MEMORY_SHARDS: usize = 64;
