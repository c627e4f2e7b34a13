//! Labels of tenants. Names come from senders, and metrics must not grow with them.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use crate::limits::MAX_METRIC_TENANTS;

/// Stands for all tenants beyond those with metrics of their own.
const OTHERS: &str = "other";

/// The tenants with metrics of their own: the first that came.
#[derive(Debug, Default)]
pub(super) struct Tenants(Mutex<HashSet<String>>);

impl Tenants {
    /// The label of a tenant: its name, as long as there are not too many.
    pub(super) fn label(&self, name: &str) -> String {
        let mut named = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !named.contains(name) {
            if named.len() >= MAX_METRIC_TENANTS {
                return OTHERS.to_owned();
            }
            named.insert(name.to_owned());
        }
        name.to_owned()
    }
}
