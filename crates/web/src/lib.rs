//! The page, embedded.
