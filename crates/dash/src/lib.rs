//! Grafana's dashboards.

pub mod frame;
