//! Figures as pages: for a terminal, for a repository, for programs, for a browser.
//!
//! | module | what it is for |
//! |---|---|
//! | [`text`] | a terminal: tables and charts of block characters |
//! | [`markdown`] | tables and short charts, for issues and pull requests |
//! | [`json`] | programs |
//! | [`html`] | one page that needs nothing else |
//!
//! All four say the same: their tables come from one place (`tables`). Text from data is escaped
//! in each as it needs to be.

pub mod html;
pub mod json;
pub mod markdown;
mod tables;
#[cfg(test)]
mod tests;
pub mod text;
