//! Whose data a query reads.

/// One tenant or several, each named once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tenants(Vec<String>);

impl Tenants {
    /// These together; nobody's if there are none.
    pub fn new(names: impl IntoIterator<Item = String>) -> Self {
        let mut names: Vec<String> = names.into_iter().collect();
        names.sort_unstable();
        // Who is named twice is not read twice.
        names.dedup();
        Self(names)
    }

    /// Their names, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }

    /// Whose line the query waits in: to name others with oneself gives no second line.
    pub(crate) fn line(&self) -> &str {
        self.0.first().map_or("", String::as_str)
    }
}

impl std::fmt::Display for Tenants {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0.join("|"))
    }
}

impl From<&str> for Tenants {
    fn from(name: &str) -> Self {
        Self(vec![name.to_owned()])
    }
}

impl From<&String> for Tenants {
    fn from(name: &String) -> Self {
        Self::from(name.as_str())
    }
}

impl From<&Tenants> for Tenants {
    fn from(tenants: &Tenants) -> Self {
        tenants.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_tenant_is_named_once_and_in_order() {
        let tenants = Tenants::new(["b", "a", "b"].map(str::to_owned));
        assert_eq!(tenants.names().collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(tenants.to_string(), "a|b");
        assert_eq!((tenants.line(), Tenants::from("c").line()), ("a", "c"));
    }
}
