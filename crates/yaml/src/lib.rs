//! Configuration files: YAML as a tree that knows where each key stands, and types out of it.
//!
//! ```text
//!  text ─> tree (keys, values, places) ─> references (${env:X}) ─> read: serde ─> settings
//!                    └─> write                                         └─> Problem: place, what was meant
//! ```
//!
//! | module | what it is for |
//! |---|---|
//! | [`tree`] | keys and values with their places |
//! | [`references`] | variables of the environment in values |
//! | [`read`] | types out of a tree |
//! | [`problem`] | what is wrong, where, and what was probably meant |
//! | [`duration`], [`size`], [`Secret`] | fields with units, and those that nobody should see |
//! | [`amounts`] | durations, sizes and counts as people write them |
//! | [`nearest()`] | the known name that is nearest to one that is not known |
//! | [`mod@write`] | a tree as text |
//! | [`limits`] | every limit, with its reason |

pub mod amounts;
pub mod limits;
mod nearest;
pub mod problem;
pub mod read;
pub mod references;
mod texts;
pub mod tree;
pub mod write;

pub use nearest::nearest;
pub use problem::Problem;
pub use read::{from_node, from_str};
pub use texts::{Secret, duration, size};
pub use tree::{Entry, Item, Node, Place, Scalar, parse};

/// A text on one line: what a terminal would act on is escaped.
pub(crate) fn printable(text: &str) -> String {
    text.chars()
        .flat_map(|c| if c.is_control() { c.escape_default().collect() } else { vec![c] })
        .collect()
}
