//! A question in SQL: its text, the values of its parameters, and who asks as clients of PostgreSQL
//! know him.

use std::collections::BTreeMap;

use arrow_schema::{DataType, SchemaRef};

use crate::clock::Asker;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::rows::Rows;
use crate::tenants::Tenants;

/// The value of a parameter. It stands for a literal, so that text beside a time or an id is one.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// None.
    Null,
    /// True or false.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A number with a point.
    Float(f64),
    /// Text, or anything that is written as text.
    Text(String),
    /// A moment, in nanoseconds since 1970.
    Time(i64),
    /// Bytes.
    Bytes(Vec<u8>),
    /// Several.
    List(Vec<Value>),
}

/// What is known of a parameter.
#[derive(Debug, Clone, PartialEq)]
pub enum Parameter {
    /// Its value.
    Value(Value),
    /// Its type; there is no value yet.
    Type(DataType),
    /// Nothing.
    Unknown,
}

/// Who asks, and for what, as clients of PostgreSQL know it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PgSession {
    /// The database: the name of the tenant.
    pub database: String,
    /// Databases that there are for whoever asks.
    pub databases: Vec<String>,
    /// His name.
    pub user: String,
    /// The server's version, for people.
    pub version: String,
    /// The number of the connection.
    pub pid: i32,
    /// Settings by name.
    pub settings: BTreeMap<String, String>,
}

/// A question.
#[derive(Debug, Clone, Default)]
pub struct Asked {
    /// The query.
    pub text: String,
    /// What is known of its parameters, in order.
    pub parameters: Vec<Parameter>,
    /// Who asks, if he speaks as one does to PostgreSQL. Then what only PostgreSQL understands is
    /// understood, and columns have the names that it gives them.
    pub session: Option<PgSession>,
}

impl From<&str> for Asked {
    fn from(text: &str) -> Self {
        Self { text: text.to_owned(), ..Self::default() }
    }
}

/// What a question will be answered with.
#[derive(Debug, Clone)]
pub struct Description {
    /// Columns of the answer.
    pub schema: SchemaRef,
    /// Types of the parameters, in order, as far as they can be told.
    pub parameters: Vec<Option<DataType>>,
}

/// The name of a column for whoever asked: two may have the same, and are told apart within.
#[must_use]
pub fn shown_name(name: &str) -> &str {
    crate::sql::shown(name)
}

impl Engine {
    /// Answers a question over what was acknowledged for some tenants, as [`Engine::sql`] does.
    pub async fn ask(
        &self,
        tenants: impl Into<Tenants>,
        asked: Asked,
    ) -> Result<Rows, EngineError> {
        let mut asker = Asker::new(self.counters());
        let begun = self.begin(tenants.into(), asked, &mut asker).await;
        asker.answered(&begun);
        begun
    }

    /// What a question would be answered with. Nothing runs, but what there is to read is looked up:
    /// types of attributes depend on it.
    pub async fn describe(
        &self,
        tenants: impl Into<Tenants>,
        asked: Asked,
    ) -> Result<Description, EngineError> {
        let mut asker = Asker::new(self.counters());
        let working = |query: crate::query::Query| query.describe();
        let described = self.in_turn(tenants.into(), asked, &mut asker, working).await;
        let described = described.map(|(description, _)| description);
        asker.answered(&described);
        described
    }

    /// Tenants that have data.
    pub async fn tenants(&self) -> Result<Vec<String>, EngineError> {
        let core = self.core().clone();
        self.runtime().blocking(move || Ok(core.reading.store.tenants()?)).await
    }

    /// Tables and their fixed columns.
    pub async fn tables(&self) -> Result<Vec<(&'static str, SchemaRef)>, EngineError> {
        let mut tables = Vec::new();
        for table in crate::tables::TableName::ALL {
            let asked = Asked::from(format!("SELECT * FROM {}", table.name()).as_str());
            let described = self.describe(Tenants::new([]), asked).await?;
            tables.push((table.name(), described.schema));
        }
        Ok(tables)
    }
}
