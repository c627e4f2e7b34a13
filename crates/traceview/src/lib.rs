//! Traces as people look at them.
