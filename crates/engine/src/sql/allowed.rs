//! What may be asked: `SELECT`, `WITH`, `VALUES`, `EXPLAIN`, `SHOW TABLES` and `DESCRIBE`.
//! Nothing that writes, changes settings, or reads anything but the tables.

use std::ops::ControlFlow;

use datafusion::sql::parser::{DFParser, Statement};
use datafusion::sql::sqlparser::ast::{
    DescribeAlias, Expr, Ident, ObjectName, Query, Select, SetExpr, Statement as SqlStatement,
    TableFactor, Visit, Visitor,
};

use super::suggest;
use crate::error::{EngineError, Fault, FaultKind};
use crate::functions;
use crate::limits::FROM_MAX_RELATIONS;
use crate::tables::TableName;

/// The statement if it may run, or what stands for it.
pub(super) fn check(statement: Statement) -> Result<Statement, EngineError> {
    match statement {
        Statement::Statement(inner) => match *inner {
            SqlStatement::ShowTables { .. } => show_tables(),
            other => {
                check_sql(&other)?;
                Ok(Statement::Statement(Box::new(other)))
            }
        },
        Statement::Explain(mut explain) => {
            let inner = std::mem::replace(&mut *explain.statement, empty());
            match &inner {
                Statement::Statement(sql) if matches!(**sql, SqlStatement::Query(_)) => {}
                _ => return Err(refused("EXPLAIN of anything but a query")),
            }
            *explain.statement = check(inner)?;
            Ok(Statement::Explain(explain))
        }
        Statement::CreateExternalTable(_) => Err(refused("CREATE EXTERNAL TABLE")),
        Statement::CopyTo(_) => Err(refused("COPY")),
        Statement::Reset(_) => Err(refused("RESET")),
    }
}

fn empty() -> Statement {
    Statement::Statement(Box::new(SqlStatement::ShowFunctions { filter: None }))
}

fn refused(what: &str) -> EngineError {
    let tables = TableName::list();
    let message = format!("{what} is not allowed: queries only read the tables {tables}");
    EngineError::NotAllowed(message.into())
}

fn check_sql(statement: &SqlStatement) -> Result<(), EngineError> {
    let mut checker = Checker;
    if let ControlFlow::Break(error) = statement.visit(&mut checker) {
        return Err(*error);
    }
    match statement {
        SqlStatement::Query(_) => Ok(()),
        SqlStatement::Explain {
            describe_alias: DescribeAlias::Describe | DescribeAlias::Desc,
            statement,
            ..
        } if matches!(**statement, SqlStatement::Query(_)) => Ok(()),
        SqlStatement::ExplainTable {
            describe_alias: DescribeAlias::Describe | DescribeAlias::Desc,
            table_name,
            ..
        } => known_table(table_name),
        other => Err(refused(&first_words(other))),
    }
}

fn known_table(name: &ObjectName) -> Result<(), EngineError> {
    let named = |ident: &Ident| match ident.quote_style {
        Some(_) => ident.value.clone(),
        None => ident.value.to_lowercase(),
    };
    let parts: Vec<String> = name.0.iter().filter_map(|part| part.as_ident()).map(named).collect();
    let table = match &parts[..] {
        [table] => Some(table),
        [schema, table] if schema == "public" => Some(table),
        _ => None,
    };
    match table.and_then(|table| TableName::from_name(table)) {
        Some(_) => Ok(()),
        None => Err(EngineError::Invalid(suggest::table(&name.to_string()))),
    }
}

/// The words that tell what a statement is.
fn first_words(statement: &SqlStatement) -> String {
    let text = statement.to_string();
    let words = text.split_whitespace();
    let words: Vec<&str> = words
        .take_while(|word| word.chars().all(|letter| letter.is_ascii_uppercase()))
        .take(2)
        .collect();
    if words.is_empty() { "this statement".to_owned() } else { words.join(" ") }
}

/// The names of the tables, as a query.
fn show_tables() -> Result<Statement, EngineError> {
    let names: Vec<String> =
        TableName::ALL.iter().map(|table| format!("('{}')", table.name())).collect();
    let query =
        format!("SELECT table_name FROM (VALUES {}) AS tables (table_name)", names.join(", "));
    let mut statements =
        DFParser::parse_sql(&query).map_err(|error| EngineError::of_plan(&error))?;
    statements
        .pop_front()
        .ok_or_else(|| EngineError::Internal("no statement for SHOW TABLES".to_owned()))
}

struct Checker;

impl Checker {
    fn refuse(what: &str) -> ControlFlow<Box<EngineError>> {
        ControlFlow::Break(Box::new(refused(what)))
    }
}

impl Visitor for Checker {
    type Break = Box<EngineError>;

    fn pre_visit_statement(&mut self, statement: &SqlStatement) -> ControlFlow<Self::Break> {
        match statement {
            SqlStatement::Query(_)
            | SqlStatement::Explain { .. }
            | SqlStatement::ExplainTable { .. } => ControlFlow::Continue(()),
            other => Self::refuse(&first_words(other)),
        }
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<Self::Break> {
        if let Expr::Function(call) = expr
            && let Some(name) = call.name.0.last().and_then(|part| part.as_ident())
            && let Some(message) = functions::left_out(&name.value)
        {
            let fault = Fault::new(FaultKind::Function, message);
            return ControlFlow::Break(Box::new(EngineError::NotAllowed(fault)));
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<Self::Break> {
        if !query.locks.is_empty() {
            return Self::refuse("FOR UPDATE");
        }
        match &*query.body {
            SetExpr::Insert(_) => Self::refuse("INSERT"),
            SetExpr::Update(_) => Self::refuse("UPDATE"),
            SetExpr::Delete(_) => Self::refuse("DELETE"),
            SetExpr::Merge(_) => Self::refuse("MERGE"),
            _ => ControlFlow::Continue(()),
        }
    }

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<Self::Break> {
        if select.into.is_some() {
            return Self::refuse("SELECT INTO");
        }
        let relations: usize = select.from.iter().map(|from| 1 + from.joins.len()).sum();
        if relations > FROM_MAX_RELATIONS {
            let message = format!(
                "{relations} relations in one FROM, at most {FROM_MAX_RELATIONS} are possible"
            );
            return ControlFlow::Break(Box::new(EngineError::Invalid(message.into())));
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<Self::Break> {
        if let TableFactor::Table { name, .. } = factor {
            let quoted = name.0.iter().filter_map(|part| part.as_ident());
            if quoted.into_iter().any(|ident| ident.quote_style == Some('\'')) {
                return Self::refuse("reading a file");
            }
        }
        ControlFlow::Continue(())
    }
}

#[cfg(test)]
mod tests {
    use crate::error::EngineError;

    fn parse(query: &str) -> Result<super::super::Parsed, EngineError> {
        super::super::parse(&query.into())
    }

    #[test]
    fn only_what_reads_the_tables_is_allowed() {
        for query in [
            "SELECT 1",
            "VALUES (1, 'a'), (2, 'b')",
            "WITH a AS (SELECT name FROM spans) SELECT * FROM a UNION ALL SELECT body FROM logs",
            "EXPLAIN SELECT * FROM spans",
            "EXPLAIN ANALYZE VERBOSE SELECT * FROM spans",
            "SHOW TABLES",
            "DESCRIBE spans",
            "DESC logs",
            "DESCRIBE SPANS",
            "DESCRIBE public.\"spans\"",
            "SELECT * FROM generate_series(1, 3)",
            "SELECT * FROM public.spans",
        ] {
            if let Err(error) = parse(query) {
                panic!("{query}: {error}");
            }
        }
    }

    #[test]
    fn what_writes_or_reaches_elsewhere_is_refused_as_not_allowed() {
        for query in [
            "CREATE TABLE a AS SELECT 1",
            "CREATE VIEW a AS SELECT 1",
            "CREATE EXTERNAL TABLE a STORED AS CSV LOCATION '/etc/passwd'",
            "CREATE DATABASE a",
            "DROP TABLE spans",
            "INSERT INTO spans SELECT * FROM spans",
            "WITH a AS (INSERT INTO spans SELECT * FROM spans) SELECT * FROM a",
            "UPDATE spans SET name = 'a'",
            "DELETE FROM spans",
            "TRUNCATE TABLE spans",
            "COPY spans TO '/tmp/a.csv'",
            "COPY (SELECT 1) TO 's3://a/b.parquet'",
            "EXPLAIN COPY spans TO '/tmp/a.csv'",
            "EXPLAIN INSERT INTO spans SELECT * FROM spans",
            "SET datafusion.execution.batch_size = 1",
            "RESET datafusion.execution.batch_size",
            "SHOW ALL",
            "SHOW FUNCTIONS",
            "SELECT * INTO a FROM spans",
            "SELECT * FROM spans FOR UPDATE",
            "SELECT * FROM '/etc/passwd'",
            "SELECT * FROM 'https://example.org/a.csv'",
            "BEGIN",
            "PREPARE a AS SELECT 1",
            "EXECUTE a",
            "GRANT ALL ON spans TO a",
        ] {
            match parse(query) {
                Err(EngineError::NotAllowed(fault)) => {
                    assert!(fault.message.contains("not allowed"), "{query}: {fault}");
                }
                other => panic!("{query}: {other:?}"),
            }
        }
    }
}
