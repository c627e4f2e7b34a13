//! Grafana's dashboards.
