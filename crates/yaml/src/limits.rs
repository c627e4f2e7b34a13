//! Limits on configuration files, with their reasons. Depth, the number of values, and what references
//! within a file (`*x`) repeat are bounded by the parser.

/// The largest file that is read. One with thousands of tenants has a megabyte; what is larger was
/// named by mistake.
pub const MAX_TEXT_BYTES: usize = 8 << 20;
