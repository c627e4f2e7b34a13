//! Traces as people look at them.

pub mod forest;
pub mod path;
#[cfg(test)]
mod random;
pub mod rows;
