//! The name of a service, and of spans that have none.

use kymo_traceql::ast::{Attribute, BinaryOp, Expr, Literal, Name, Scope};

use super::tags::{compare, keyed};

/// What stands for the name of a service where a resource has none, or an empty one: that of
/// Jaeger's own conversion.
pub(super) const NO_SERVICE: &str = "OTLPResourceNoServiceName";

const KEY: &str = "service.name";

/// The attribute that has the name.
pub(super) fn attribute() -> Attribute {
    let name = Name::Keyed { scope: Scope::Resource, key: KEY.to_owned() };
    Attribute { of_parent: false, name }
}

/// A name as it is shown.
pub(super) fn shown(name: String) -> String {
    if name.is_empty() { NO_SERVICE.to_owned() } else { name }
}

/// Spans of a service.
pub(super) fn filter(name: &str) -> Expr {
    let is = |literal| compare(keyed(Scope::Resource, KEY), BinaryOp::Equal, literal);
    let named = is(Literal::Text(name.to_owned()));
    match name {
        NO_SERVICE => Expr::any([is(Literal::Nil), is(Literal::Text(String::new())), named]),
        _ => named,
    }
}

/// The same in SQL.
pub(super) fn condition(name: &str) -> String {
    let column = format!("\"resource.{KEY}\"");
    let named = format!("{column} = {}", quoted(name));
    match name {
        NO_SERVICE => format!("({column} IS NULL OR {column} = '' OR {named})"),
        _ => named,
    }
}

/// A text in SQL, whatever is in it.
pub(super) fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_without_a_name_are_found_under_the_one_that_is_shown() {
        assert_eq!(shown(String::new()), NO_SERVICE);
        assert_eq!(shown("shop".to_owned()), "shop");
        assert_eq!(filter("shop").to_string(), "resource.service.name = \"shop\"");
        let nameless = filter(NO_SERVICE).to_string();
        assert!(nameless.starts_with("resource.service.name = nil || "), "{nameless}");
        assert!(condition(NO_SERVICE).contains("IS NULL"));
        assert_eq!(condition("it's"), "\"resource.service.name\" = 'it''s'");
    }
}
