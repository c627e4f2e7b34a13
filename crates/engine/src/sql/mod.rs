//! SQL text to a statement that may run: parsed, checked, its names resolved.
//!
//! | module | what it holds |
//! |---|---|
//! | `dialect` | how queries are written |
//! | `allowed` | what may be asked: queries, and nothing that writes or reads elsewhere |
//! | `names` | attributes that a query names, in either way of writing them |
//! | `wildcard` | `*` stays what it is, whatever attributes a query names elsewhere |
//! | `ids` | ids that are compared with hex text |
//! | `suggest` | names that are nearly right |
//! | `parameters` | values that are put in for parameters |
//! | `postgres` | what only PostgreSQL understands, as we say it |

mod allowed;
mod dialect;
pub(crate) mod ids;
mod names;
mod parameters;
mod postgres;
pub(crate) mod suggest;
mod wildcard;

pub(crate) use parameters::{Parameters, with_nulls};
pub(crate) use postgres::shown;

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use datafusion::error::DataFusionError;
use datafusion::sql::parser::{DFParserBuilder, Statement};
use datafusion::sql::resolve::resolve_table_references;
use datafusion::sql::sqlparser::ast::{ObjectNamePart, TableFactor, VisitMut, VisitorMut};
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan, Tokenizer};

use crate::asked::Asked;
use crate::asof;
use crate::catalog;
use crate::error::{EngineError, Fault, FaultKind};
use crate::limits::{
    QUERY_MAX_ATTRIBUTES, QUERY_MAX_BYTES, QUERY_MAX_DEPTH, QUERY_MAX_OPERATORS, QUERY_MAX_WORDS,
};
use crate::tables::TableName;
use crate::trace_functions::Kind;

/// A statement that may run.
#[derive(Debug, Clone)]
pub(crate) struct Parsed {
    /// The statement, ready for planning.
    pub(crate) statement: Statement,
    /// The tables that it reads.
    pub(crate) tables: BTreeSet<TableName>,
    /// The attribute columns that it names, by their whole name.
    pub(crate) attributes: BTreeSet<String>,
    /// Relations of the catalogue that it reads.
    pub(crate) catalog: BTreeSet<catalog::Read>,
    /// Its parameters.
    pub(crate) parameters: Parameters,
    /// The functions of ours that it calls for a table.
    pub(crate) functions: Vec<Kind>,
}

/// Parses and checks one statement.
pub(crate) fn parse(asked: &Asked) -> Result<Parsed, EngineError> {
    let mut statement = statement(&asked.text)?;
    if let Some(session) = &asked.session {
        postgres::rewrite(&mut statement, session)?;
    }
    let parameters = parameters::put_in(&mut statement, &asked.parameters)?;
    let mut statement = allowed::check(statement)?;
    let attributes = names::resolve(&mut statement);
    if attributes.len() > QUERY_MAX_ATTRIBUTES {
        let named = attributes.len();
        return Err(EngineError::Invalid(
            format!(
                "the query names {named} attributes, at most {QUERY_MAX_ATTRIBUTES} are possible"
            )
            .into(),
        ));
    }
    wildcard::hide(&mut statement, &attributes);
    let called = called(&mut statement)?;
    let (tables, catalog) = tables(&mut statement, &called)?;
    asof::bracket(&mut statement);
    let functions = Kind::ALL.into_iter().filter(|kind| called.contains(kind.name())).collect();
    Ok(Parsed { statement, tables, attributes, catalog, parameters, functions })
}

/// The one statement of a text.
fn statement(query: &str) -> Result<Statement, EngineError> {
    if query.len() > QUERY_MAX_BYTES {
        let size_bytes = query.len();
        return Err(EngineError::Invalid(
            format!("the query has {size_bytes} bytes, at most {QUERY_MAX_BYTES} are possible")
                .into(),
        ));
    }
    let tokens = Tokenizer::new(&dialect::Kymo, query)
        .tokenize_with_location()
        .map_err(|error| not_parsed(&error.to_string()))?;
    // Every level of an expression takes a word or an operator, so this bounds its depth, also
    // that of long chains (`1 + 1 + …`), which the parser's own limit does not see.
    let (words, operators) = count(&tokens);
    for (what, found, most) in [
        ("words and operators", words, QUERY_MAX_WORDS),
        ("operators", operators, QUERY_MAX_OPERATORS),
    ] {
        if found > most {
            return Err(EngineError::Invalid(
                format!(
                    "the query has {found} {what}, at most {most} are possible: use IN (…) for long lists"
                )
                .into(),
            ));
        }
    }
    let syntax = |error: DataFusionError| match EngineError::of_plan(&error) {
        EngineError::Invalid(fault) => not_parsed(&fault.message),
        other => other,
    };
    let mut statements = DFParserBuilder::new(tokens)
        .with_dialect(&dialect::Kymo)
        .with_recursion_limit(QUERY_MAX_DEPTH)
        .build()
        .and_then(|mut parser| parser.parse_statements())
        .map_err(syntax)?;
    match (statements.pop_front(), statements.len()) {
        (Some(statement), 0) => Ok(statement),
        (None, _) => Err(EngineError::Invalid("there is no query".into())),
        (Some(_), more) => {
            let message = format!("one statement at a time: there are {}", more + 1);
            Err(EngineError::Invalid(message.into()))
        }
    }
}

fn not_parsed(why: &str) -> EngineError {
    EngineError::Invalid(Fault::new(FaultKind::Syntax, format!("syntax: {why}")))
}

/// Whether a token can add a level to an expression.
fn is_word(token: &Token) -> bool {
    !matches!(
        token,
        Token::Whitespace(_)
            | Token::Comma
            | Token::Number(..)
            | Token::SingleQuotedString(_)
            | Token::EscapedStringLiteral(_)
            | Token::HexStringLiteral(_)
            | Token::LParen
            | Token::RParen
            | Token::EOF
    )
}

/// How many words and operators there are, and how many of them are operators that chains can be
/// made of. A sign before a number of a list is neither.
fn count(tokens: &[TokenWithSpan]) -> (usize, usize) {
    let (mut words, mut operators) = (0, 0);
    let mut follows_value = true;
    let mut is_compared = false;
    for token in tokens.iter().map(|token| &token.token) {
        let is_operator = match token {
            Token::Whitespace(_) => continue,
            Token::Minus | Token::Plus if !follows_value => continue,
            Token::Word(word) => {
                is_compared &= !matches!(
                    word.keyword,
                    Keyword::AND | Keyword::OR | Keyword::WHEN | Keyword::ON | Keyword::WHERE
                );
                word.keyword == Keyword::IS
            }
            // One is the end of a chain, more are a chain: `a = b = c`.
            Token::Eq | Token::Neq | Token::Lt | Token::Gt | Token::LtEq | Token::GtEq => {
                std::mem::replace(&mut is_compared, true)
            }
            Token::Period | Token::SemiColon | Token::DoubleQuotedString(_) => false,
            other => is_word(other),
        };
        words += usize::from(is_word(token));
        operators += usize::from(is_operator);
        follows_value = !matches!(token, Token::Comma | Token::LParen);
    }
    (words, operators)
}

/// Our tables that a statement reads, and relations of the catalogue; one that is none of them is
/// refused here, with their names.
fn tables(
    statement: &mut Statement,
    called: &BTreeSet<String>,
) -> Result<(BTreeSet<TableName>, BTreeSet<catalog::Read>), EngineError> {
    let (references, _) =
        resolve_table_references(statement, true).map_err(|error| EngineError::of_plan(&error))?;
    let (mut tables, mut catalog) = (BTreeSet::new(), BTreeSet::new());
    for reference in &references {
        if called.contains(reference.table()) {
            continue;
        }
        let (schema, name) = (reference.schema(), reference.table());
        if reference.catalog().is_none() && catalog::Relation::find(schema, name).is_some() {
            let schema = schema.map(str::to_owned);
            catalog.insert(catalog::Read { schema, name: name.to_owned() });
            continue;
        }
        let plain = reference.schema().is_none_or(|schema| schema == "public")
            && reference.catalog().is_none();
        match TableName::from_name(reference.table()).filter(|_| plain) {
            Some(table) => tables.insert(table),
            None => return Err(EngineError::Invalid(suggest::table(&reference.to_string()))),
        };
    }
    Ok((tables, catalog))
}

/// Functions that stand for tables: `generate_series(1, 3)`, `trace_tree('…')`. One that is none of
/// those that there are is refused.
fn called(statement: &mut Statement) -> Result<BTreeSet<String>, EngineError> {
    let mut functions = Functions::default();
    let _ = names::inner(statement).map(|statement| statement.visit(&mut functions));
    match functions.0.iter().find(|name| !suggest::TABLE_FUNCTIONS.contains(&name.as_str())) {
        Some(unknown) => Err(EngineError::Invalid(suggest::table_function(unknown))),
        None => Ok(functions.0),
    }
}

/// Names of functions that stand for tables, which are brought to lower case.
#[derive(Default)]
struct Functions(BTreeSet<String>);

impl VisitorMut for Functions {
    type Break = ();

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        if let TableFactor::Table { name, args: Some(_), .. } = factor
            && let Some(ObjectNamePart::Identifier(name)) = name.0.last_mut()
        {
            name.value = name.value.to_lowercase();
            name.quote_style = None;
            self.0.insert(name.value.clone());
        }
        ControlFlow::Continue(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(query: &str) -> Result<Parsed, EngineError> {
        super::parse(&query.into())
    }

    #[test]
    fn tables_and_attributes_of_a_query_are_found() {
        let parsed = parse(
            "WITH slow AS (SELECT * FROM spans WHERE span.http.method = 'GET') \
             SELECT l.body, l.resource.service.name FROM slow JOIN Logs l USING (trace_id) \
             WHERE l.\"log.Level\" > 3",
        )
        .unwrap();
        assert_eq!(parsed.tables, BTreeSet::from([TableName::Spans, TableName::Logs]));
        let expected = ["log.Level", "resource.service.name", "span.http.method"];
        assert_eq!(parsed.attributes.iter().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn an_unknown_table_is_refused_with_the_names_of_those_there_are() {
        let error = parse("SELECT * FROM span").unwrap_err();
        assert!(matches!(&error, EngineError::Invalid(fault) if fault.kind == FaultKind::Table));
        let text = error.to_string();
        assert!(text.contains("did you mean `spans`") && text.contains("points"), "{text}");
    }

    #[test]
    fn what_is_too_long_too_deep_or_not_one_statement_is_refused() {
        let deep = format!("SELECT {}1{}", "(".repeat(1000), ")".repeat(1000));
        let chain = format!("SELECT 1{}", " + 1".repeat(QUERY_MAX_OPERATORS + 1));
        let comparisons = format!("SELECT true{}", " = true".repeat(QUERY_MAX_OPERATORS + 2));
        let long = format!("SELECT '{}'", "x".repeat(QUERY_MAX_BYTES));
        for query in [&deep, &chain, &comparisons, &long, "", ";", "SELECT 1; SELECT 2", "SELEC 1"]
        {
            match parse(query) {
                Err(EngineError::Invalid(_)) => {}
                other => panic!("{:.40}: {other:?}", query),
            }
        }
        let list = format!("SELECT 1 IN ({}1)", "-1,".repeat(100_000));
        parse(&list).unwrap();
        let terms = format!("SELECT 1{}", " OR name = 'a'".repeat(900));
        parse(&terms).unwrap();
    }
}
