//! Tokens of ours: what they look like, and the book of those that were made.

pub mod book;
mod json;
pub mod text;

pub use book::{NewToken, TokenBook, TokenError, TokenRecord};
pub use text::TokenText;
