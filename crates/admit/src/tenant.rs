//! What may be the name of a tenant, for everyone who takes one from outside.

use crate::limits::MAX_TENANT_BYTES;

/// Says what is wrong with a name.
///
/// It goes into journal records, paths, metrics and the header `X-Scope-OrgID`: what a header cannot
/// carry, nobody could ask for. A bar stands between several names there.
///
/// # Errors
///
/// A sentence that goes on after "the tenant's name".
pub fn check_tenant(name: &str) -> Result<(), String> {
    let is_allowed = |found: &char| matches!(found, ' '..='~') && *found != '|';
    if name.is_empty() {
        Err("is empty".to_owned())
    } else if name.len() > MAX_TENANT_BYTES {
        Err(format!("has {} bytes, at most {MAX_TENANT_BYTES} are allowed", name.len()))
    } else if let Some(found) = name.chars().find(|found| !is_allowed(found)) {
        Err(format!("contains {found:?}; printable ASCII without a bar is allowed"))
    } else if name.trim() != name {
        Err("has spaces around it".to_owned())
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_header_cannot_carry_is_no_name() {
        for name in ["a", "team-a", "a b", "~", &"x".repeat(64)] {
            assert_eq!(check_tenant(name), Ok(()), "{name:?}");
        }
        for name in ["", "a|b", "b\u{fc}ro", " a", "a ", "a\tb", "a\n", &"x".repeat(65)] {
            assert!(check_tenant(name).is_err(), "{name:?}");
        }
    }
}
