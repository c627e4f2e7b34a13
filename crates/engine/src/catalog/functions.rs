//! Functions of PostgreSQL that clients call about the catalogue.
//!
//! Most of them say the same of everything, since there is nothing else here: nothing has a default,
//! everything may be read. Some look a name up by its number.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, BooleanArray, StringArray};
use arrow_schema::DataType;
use datafusion::arrow::compute::cast;
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, TypeSignature,
    Volatility,
};

use super::contents::{self, FunctionText, OWNER_OID, UTF8_ENCODING};
use super::types::TYPES;

/// What a function does.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Act {
    /// Says the same, whatever it is asked.
    Same(ScalarValue),
    /// Says whether a number is none of these.
    NoneOf(Arc<BTreeSet<i64>>),
    /// Says what a number stands for; NULL if for nothing.
    Named(Arc<BTreeMap<i64, String>>),
    /// Quotes a name where it has to be.
    Quoted,
    /// Bytes with a unit.
    Size,
}

/// A function.
#[derive(Debug)]
struct Told {
    name: &'static str,
    signature: Signature,
    act: Act,
}

/// What a function tells of a row.
type Telling<'t> = dyn Fn(&dyn Array, usize) -> Option<String> + 't;

impl PartialEq for Told {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && self.act == other.act
    }
}

impl Eq for Told {}

impl Hash for Told {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.name.hash(hasher);
    }
}

impl Told {
    fn function(name: &'static str, act: Act) -> Arc<ScalarUDF> {
        let any = vec![TypeSignature::Nullary, TypeSignature::VariadicAny];
        let signature = Signature::one_of(any, Volatility::Stable);
        Arc::new(ScalarUDF::from(Self { name, signature, act }))
    }
}

impl ScalarUDFImpl for Told {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(match &self.act {
            Act::Same(value) => value.data_type(),
            Act::NoneOf(_) => DataType::Boolean,
            Act::Named(_) | Act::Quoted | Act::Size => DataType::Utf8,
        })
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let told: Box<Telling<'_>> = match &self.act {
            Act::Same(value) => return Ok(ColumnarValue::Scalar(value.clone())),
            Act::NoneOf(numbers) => return none_of(numbers, &args),
            Act::Named(names) => {
                let names = names.clone();
                Box::new(move |numbers, row| {
                    names.get(&numbers.as_primitive::<Int64Type>().value(row)).cloned()
                })
            }
            Act::Quoted => Box::new(|texts, row| Some(quoted(texts.as_string::<i32>().value(row)))),
            Act::Size => {
                Box::new(|numbers, row| Some(sized(numbers.as_primitive::<Int64Type>().value(row))))
            }
        };
        let Some(first) = args.args.first() else {
            return Ok(ColumnarValue::Scalar(ScalarValue::Utf8(None)));
        };
        let is_scalar = matches!(first, ColumnarValue::Scalar(_));
        let wanted = match self.act {
            Act::Quoted => DataType::Utf8,
            _ => DataType::Int64,
        };
        let first = first.to_array(if is_scalar { 1 } else { args.number_rows })?;
        let first = cast(&first, &wanted)?;
        let answers = (0..first.len())
            .map(|row| if first.is_null(row) { None } else { told(&*first, row) })
            .collect::<StringArray>();
        if is_scalar {
            return Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&answers, 0)?));
        }
        Ok(ColumnarValue::Array(Arc::new(answers)))
    }
}

fn none_of(numbers: &BTreeSet<i64>, args: &ScalarFunctionArgs) -> Result<ColumnarValue> {
    let Some(first) = args.args.first() else {
        return Ok(ColumnarValue::Scalar(ScalarValue::Boolean(None)));
    };
    let asked = cast(&first.to_array(args.number_rows)?, &DataType::Int64)?;
    let asked = asked.as_primitive::<Int64Type>().iter();
    let answers: BooleanArray =
        asked.map(|number| number.map(|number| !numbers.contains(&number))).collect();
    Ok(ColumnarValue::Array(Arc::new(answers)))
}

/// A name as it can stand in SQL.
pub(crate) fn quoted(name: &str) -> String {
    let begins = name.starts_with(|letter: char| letter.is_ascii_lowercase() || letter == '_');
    let is_plain =
        |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '_';
    if begins && name.chars().all(is_plain) {
        return name.to_owned();
    }
    format!("\"{}\"", name.replace('"', "\"\""))
}

fn sized(bytes: i64) -> String {
    let mut value = bytes;
    for unit in ["bytes", "kB", "MB", "GB"] {
        if value.abs() < 10_240 {
            return format!("{value} {unit}");
        }
        value /= 1024;
    }
    format!("{value} TB")
}

/// Names of functions that say yes.
const YES: [&str; 13] = [
    "pg_function_is_visible",
    "pg_type_is_visible",
    "pg_operator_is_visible",
    "pg_collation_is_visible",
    "pg_conversion_is_visible",
    "pg_opclass_is_visible",
    "has_table_privilege",
    "has_schema_privilege",
    "has_column_privilege",
    "has_database_privilege",
    "has_any_column_privilege",
    "has_function_privilege",
    "pg_has_role",
];
/// Names of functions that say no.
const NO: [&str; 4] = [
    "pg_is_in_recovery",
    "pg_relation_is_publishable",
    "pg_is_other_temp_schema",
    "pg_relation_is_updatable",
];
/// Names of functions that have nothing to say.
const NOTHING: [&str; 16] = [
    "pg_get_expr",
    "pg_get_constraintdef",
    "pg_get_indexdef",
    "pg_get_viewdef",
    "pg_get_ruledef",
    "pg_get_triggerdef",
    "pg_get_partkeydef",
    "pg_get_serial_sequence",
    "pg_get_statisticsobjdef_columns",
    "pg_get_function_sqlbody",
    "pg_get_functiondef",
    "col_description",
    "shobj_description",
    "pg_tablespace_location",
    "inet_server_addr",
    "inet_client_addr",
];
/// Names of functions that count what nobody has counted.
const ZERO: [&str; 6] = [
    "pg_relation_size",
    "pg_table_size",
    "pg_indexes_size",
    "pg_total_relation_size",
    "pg_database_size",
    "pg_my_temp_schema",
];

/// All of them.
pub(crate) fn functions(offered: &[FunctionText]) -> Vec<Arc<ScalarUDF>> {
    let mut all = Vec::new();
    for name in YES {
        all.push(Told::function(name, Act::Same(ScalarValue::Boolean(Some(true)))));
    }
    for name in NO {
        all.push(Told::function(name, Act::Same(ScalarValue::Boolean(Some(false)))));
    }
    for name in NOTHING {
        all.push(Told::function(name, Act::Same(ScalarValue::Utf8(None))));
    }
    for name in ZERO {
        all.push(Told::function(name, Act::Same(ScalarValue::Int64(Some(0)))));
    }
    let hidden = Arc::new(contents::relations_out_of_sight());
    all.push(Told::function("pg_table_is_visible", Act::NoneOf(hidden)));
    let arguments = Arc::new(contents::function_arguments(offered));
    let results = arguments.keys().map(|oid| (*oid, "any".to_owned())).collect();
    let types = Arc::new(type_names());
    for (name, names) in [
        ("format_type", types.clone()),
        ("regtype_name", types),
        ("regclass_name", Arc::new(contents::relation_names())),
        ("regnamespace_name", Arc::new(contents::schema_names())),
        ("obj_description", Arc::new(contents::comments())),
        ("pg_get_function_arguments", arguments.clone()),
        ("pg_get_function_identity_arguments", arguments),
        ("pg_get_function_result", Arc::new(results)),
        ("pg_get_userbyid", Arc::new([(OWNER_OID, "kymo".to_owned())].into())),
        ("pg_encoding_to_char", Arc::new([(UTF8_ENCODING, "UTF8".to_owned())].into())),
    ] {
        all.push(Told::function(name, Act::Named(names)));
    }
    all.push(Told::function("quote_ident", Act::Quoted));
    all.push(Told::function("pg_size_pretty", Act::Size));
    all
}

/// Names of types in SQL by number.
fn type_names() -> BTreeMap<i64, String> {
    let mut names = BTreeMap::new();
    for known in &TYPES {
        names.insert(i64::from(known.oid), known.display.to_owned());
        if known.array_oid != 0 {
            names.insert(i64::from(known.array_oid), format!("{}[]", known.display));
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_quoted_where_they_have_to_be() {
        assert_eq!(quoted("spans"), "spans");
        assert_eq!(quoted("span.http.method"), "\"span.http.method\"");
        assert_eq!(quoted("A\"b"), "\"A\"\"b\"");
        assert_eq!(quoted(""), "\"\"");
    }

    #[test]
    fn functions_have_names_of_their_own() {
        let all = functions(&[]);
        let names: std::collections::HashSet<&str> = all.iter().map(|known| known.name()).collect();
        assert_eq!(names.len(), all.len());
    }
}
