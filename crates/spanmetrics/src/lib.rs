//! Metrics of spans, and of services that call each other.
