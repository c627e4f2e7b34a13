//! Admission: what stands between a receiver and the journal.
//!
//! A receiver has some bytes, and knows from headers whose they are, what they hold and how they
//! are encoded. [`Admission::admit`], or for Prometheus' remote-write
//! [`Admission::admit_remote_write`] and for Loki's push [`Admission::admit_push`], decides what becomes of them:
//!
//! ```text
//! body ─> tenant, size ─> decompress ─> JSON to protobuf ─> wire::inspect ─> audience, rules ─> Admitted ─> journal
//!              │          (bounded)     (if it is JSON)     (one walk)       (one walk, if any)    │
//!              └──────────────┴────────────────┴─────────────────┘                                 └─> partial success
//!                                  Refusal
//! ```
//!
//! What it promises:
//! - What was admitted can be read again: every consumer of the journal decodes it without a fault.
//! - A body that is not at fault is handed on as it came, still compressed. It is encoded again
//!   only if something in it had to be refused or changed, if it is JSON (protobuf is smaller, and
//!   so nobody has to read JSON twice), or if it is deflate without its wrapper, which others do
//!   not read.
//! - Whatever is refused or changed is counted by reason, and the sender is told. What a rule or the
//!   audience leaves out is counted too, but the sender is not told: it is not at fault.
//! - No bytes make it panic, and none make it allocate out of proportion to [`Limits`].
//!
//! What it refuses as a whole is a [`Refusal`]; then nothing of that request is kept. Single
//! records with a fault are refused alone, or repaired: [`kymo_wire::inspect`] has the table, for
//! Prometheus' remote-write [`kymo_wire::remote_write::inspect`](mod@kymo_wire::remote_write::inspect).
//!
//! ```
//! use bytes::Bytes;
//! use kymo_admit::{Admission, Compression, Format, Refusal, Signal};
//!
//! let admission = Admission::default();
//! let admit = |format, compression, body: &'static [u8]| {
//!     admission.admit("default", Signal::Traces, format, compression, Bytes::from_static(body))
//! };
//!
//! // A span without ids cannot be kept, and its sender is told.
//! let json = br#"{"resourceSpans": [{"scopeSpans": [{"spans": [{"name": "lost"}]}]}]}"#;
//! let admitted = admit(Format::Json, Compression::None, json)?;
//! assert_eq!(admitted.items, 0);
//! let (rejected, message) = admitted.partial_success().expect("something was refused");
//! assert_eq!(rejected, 1);
//! assert_eq!(message, "1 refused (trace id is not 16 bytes or is all zero)");
//!
//! // What cannot be decoded is refused as a whole.
//! let refusal = admit(Format::Protobuf, "gzip".parse()?, b"not gzip").unwrap_err();
//! assert_eq!(refusal.reason(), "malformed");
//! # Ok::<(), Refusal>(())
//! ```
//!
//! | module | what it is for |
//! |---|---|
//! | [`admission`] | the decision, with the limits of each tenant |
//! | [`audience`] | who is recorded: flags, and the decision on each record |
//! | [`encoding`] | formats and compressions, by the names that headers give them |
//! | [`limits`] | every limit, with its reason |
//! | [`outcome`] | what was admitted, or why nothing was |
//! | [`rules`] | records that are left out and attributes that are changed, by configuration |
//! | [`Rates`] | how much a tenant may send a second |
//! | [`check_tenant`] | what may be the name of a tenant |
//! | [`LogKey`] | log records that are sent twice, kept once |
//! | `active_series` | how many series a tenant may have |
//! | `decompress` | gzip, deflate, zstd and snappy within a bound; for other protocols [`unpack`] |

mod active_series;
pub mod admission;
pub mod audience;
mod decompress;
mod deduplicate;
pub mod encoding;
pub mod limits;
pub mod outcome;
mod rates;
pub mod rules;
mod tenant;

pub use admission::Admission;
pub use decompress::unpack;
pub use deduplicate::LogKey;
pub use encoding::{Compression, Format};
pub use kymo_wire::Signal;
pub use kymo_wire::loki::Format as PushFormat;
pub use kymo_wire::remote_write::{Counts, Version};
pub use limits::{LimitError, Limits};
pub use outcome::{Admitted, Counted, Refusal, RemoteWrite, Stage};
pub use rates::Rates;
pub use rules::{Dropped, Rules};
pub use tenant::check_tenant;
