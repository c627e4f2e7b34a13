//! Variables: what they offer, what is chosen, in which order they are found out.
//!
//! ```text
//! order ─> for each: question ─> (asked by the caller) ─> shape: regex, sort ─> choose ─> Held
//!               └─ or a list of its own
//! ```
//!
//! Nothing is asked here: [`question`](mod@question) says what is to be asked of the engine.
//!
//! | module | what it holds |
//! |---|---|
//! | [`order`](mod@order) | which variable needs which, and what needs itself |
//! | [`lists`] | variables that have their values with them |
//! | [`question`](mod@question) | what a query variable asks |
//! | [`shape`] | answers as options: regular expression, order, duplicates |
//! | [`choose`](mod@choose) | what is chosen, by link, dashboard or default |
//! | [`adhoc`] | conditions added to every query |

pub mod adhoc;
pub mod choose;
pub mod lists;
pub mod order;
pub mod question;
pub mod shape;

pub use adhoc::Filter;
pub use choose::{Chosen, choose};
pub use order::{Order, order};
pub use question::{Question, question};
