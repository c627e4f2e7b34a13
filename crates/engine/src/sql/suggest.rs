//! Names that are not there: what was nearly right, and what there is.

use datafusion::common::{Column, SchemaError, TableReference};
use datafusion::error::DataFusionError;

use crate::error::{Fault, FaultKind};
use crate::tables::{AttributeScope, TableName};

/// Names as unlike as this are not worth to be suggested.
const LEAST_LIKENESS: f64 = 0.7;
/// The same of functions: of hundreds one is a little like anything.
const LEAST_LIKENESS_OF_FUNCTIONS: f64 = 0.85;

/// Functions that stand for tables.
pub(crate) const TABLE_FUNCTIONS: [&str; 4] =
    ["trace_tree", "critical_path", "generate_series", "range"];

/// That there is no such function that stands for a table.
pub(crate) fn table_function(name: &str) -> Fault {
    let near = nearest(name, TABLE_FUNCTIONS.into_iter());
    let hint = near.map_or_else(|| ":".to_owned(), |near| format!(", did you mean `{near}`?"));
    let known = TABLE_FUNCTIONS.join(", ");
    let message =
        format!("there is no table function `{name}`{hint} the table functions are {known}");
    Fault::new(FaultKind::Function, message)
}

/// That there is no such table.
pub(crate) fn table(name: &str) -> Fault {
    let plain = name.trim_matches('"').to_lowercase();
    let near = nearest(&plain, TableName::ALL.iter().map(|table| table.name()));
    let hint = near.map_or_else(|| ":".to_owned(), |near| format!(", did you mean `{near}`?"));
    let message = format!("there is no table `{name}`{hint} the tables are {}", TableName::list());
    Fault::new(FaultKind::Table, message)
}

/// That there is no such function; `None` if the error is another one.
pub(crate) fn function<'a>(
    error: &DataFusionError,
    known: impl Iterator<Item = &'a str>,
) -> Option<Fault> {
    let DataFusionError::Plan(message) = error.find_root() else { return None };
    let (name, _) = message.strip_prefix("Invalid function '")?.split_once('\'')?;
    let near = nearest_within(LEAST_LIKENESS_OF_FUNCTIONS, &name.to_lowercase(), known);
    let hint = near.map_or_else(String::new, |near| format!(", did you mean `{near}`?"));
    Some(Fault::new(FaultKind::Function, format!("there is no function `{name}`{hint}")))
}

/// That there is no such column; `None` if the error is another one.
pub(crate) fn column(error: &SchemaError) -> Option<Fault> {
    let SchemaError::FieldNotFound { field, valid_fields } = error else { return None };
    // What stands before the dot of `http.method` is taken for a table; if there is none of that
    // name, it belongs to the key.
    let is_table = |table: &TableReference| {
        valid_fields.iter().any(|known| known.relation.as_ref() == Some(table))
    };
    let name = match &field.relation {
        Some(table) if !is_table(table) => format!("{table}.{}", field.name()),
        _ => field.name().to_owned(),
    };
    let mut message = format!("there is no column `{name}`");
    let plain = |column: &Column| column.name().to_owned();
    let known: Vec<String> = valid_fields.iter().map(plain).collect();
    if name.contains('.') && AttributeScope::split(&name).is_none() {
        message += &format!(
            ": attributes are named by whose they are, for example \"span.{name}\" or \"resource.{name}\""
        );
        return Some(Fault::new(FaultKind::Column, message));
    }
    if AttributeScope::split(&name).is_some() {
        message += ", rows have no attributes of that kind";
    } else if let Some(near) = nearest(&name.to_lowercase(), known.iter().map(String::as_str)) {
        message += &format!(", did you mean `{near}`?");
    }
    let mut fixed: Vec<&str> = known
        .iter()
        .map(String::as_str)
        .filter(|known| AttributeScope::split(known).is_none())
        .collect();
    fixed.dedup();
    if !fixed.is_empty() {
        let separator = if message.ends_with('?') { " the" } else { ": the" };
        message += &format!("{separator} columns are {}", fixed.join(", "));
    }
    Some(Fault::new(FaultKind::Column, message))
}

fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    nearest_within(LEAST_LIKENESS, name, known)
}

fn nearest_within<'a>(
    least_likeness: f64,
    name: &str,
    known: impl Iterator<Item = &'a str>,
) -> Option<&'a str> {
    known
        .map(|known| (strsim::jaro_winkler(name, known), known))
        .filter(|(likeness, _)| *likeness >= least_likeness)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, known)| known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_nearly_right_is_suggested() {
        let text = table("spasn").message;
        assert!(text.starts_with("there is no table `spasn`, did you mean `spans`? the"), "{text}");
        let text = table("customers").message;
        assert!(text.starts_with("there is no table `customers`: the tables are"), "{text}");
    }

    #[test]
    fn a_column_that_looks_like_an_attribute_is_explained() {
        let error = |name: &str| SchemaError::FieldNotFound {
            field: Box::new(Column::new_unqualified(name)),
            valid_fields: ["name", "start_time"].map(Column::new_unqualified).to_vec(),
        };
        let text = column(&error("http.method")).unwrap().message;
        assert!(text.contains("\"span.http.method\""), "{text}");
        let text = column(&error("start_tme")).unwrap().message;
        assert!(text.contains("did you mean `start_time`? the columns are name"), "{text}");
    }
}
