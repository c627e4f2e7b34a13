//! Every limit of this crate, with its reason. The language's own are in [`kymo_traceql::limits`].

/// The longest condition. Those that people write have some hundred bytes, those that programs
/// write some thousand; each is evaluated on every record.
pub const MAX_CONDITION_BYTES: usize = 16 << 10;

/// Names that are compared one after the other with the key of an attribute. If there are more, they
/// are looked up in a hash table.
pub(crate) const FEW_KEYS: usize = 16;

/// Room for so many attributes is made at once when some of a record are changed; SDKs send fewer.
pub(crate) const USUAL_ATTRIBUTES: usize = 16;

/// What a piece of a condition may take up in an error.
pub(crate) const MAX_QUOTED_CHARS: usize = 60;
