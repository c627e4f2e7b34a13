//! Tenants that have limits or retention of their own: `tenants: {NAME: {limits: …}}`.

use kymo_admit::check_tenant;
use kymo_yaml::{Entry, Node};

use super::Config;
use super::file::{Found, Reader, Scope, TENANTS, group_expected};
use super::resolve::{Problem, name};

/// What a file says about a tenant.
#[derive(Debug)]
pub(crate) struct Tenant {
    pub(crate) name: String,
    pub(crate) settings: Vec<Found>,
}

/// Reads the value of `tenants`.
pub(crate) fn read(reader: &mut Reader<'_>, entry: &Entry) -> Vec<Tenant> {
    let mut tenants = Vec::new();
    let entries = match &entry.node {
        Node::Map(entries) => entries,
        Node::Null => return tenants,
        _ => {
            reader.problem(entry.at, "tenants is a group: put a tenant's name below it");
            return tenants;
        }
    };
    for entry in entries {
        let name = &entry.key;
        if let Err(why) = check_tenant(name) {
            reader.problem(entry.key_at, format!("the tenant's name {name:?} {why}"));
            continue;
        }
        let mut settings = Vec::new();
        match &entry.node {
            Node::Map(entries) => {
                for entry in entries {
                    reader.entry(Scope::Tenant, "", entry, &mut settings);
                }
            }
            Node::Null => {}
            _ => {
                let key = format!("{TENANTS}.{name}");
                reader.problem(entry.at, group_expected(&key, "limits"));
            }
        }
        tenants.push(Tenant { name: name.clone(), settings });
    }
    tenants
}

/// Gives tenants their values, over those of all.
pub(crate) fn apply(config: &mut Config, tenants: &[Tenant], problems: &mut Vec<Problem>) {
    for tenant in tenants {
        let mut own = config.clone();
        for found in &tenant.settings {
            if !found.setting.set(&mut own, found.value.clone()) {
                let place = name(found.setting, &found.source);
                problems.push(Problem::new(place, found.setting.expected()));
            }
        }
        let has = |group: &str| tenant.settings.iter().any(|s| s.setting.key.starts_with(group));
        let name = || tenant.name.clone();
        if has("limits.") {
            config.tenant_limits.insert(name(), own.limits);
        }
        if has("retention.") {
            config.server.retention.tenants.insert(name(), own.server.retention.default);
        }
    }
}
