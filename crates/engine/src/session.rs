//! DataFusion as it is set up here: its functions, our rules, and no way out.
//!
//! No object store, no file format, no spilling to disk, no catalogue but the tables of the
//! query.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use datafusion::catalog::{
    CatalogProvider, MemoryCatalogProvider, MemoryCatalogProviderList, MemorySchemaProvider,
    SchemaProvider, TableProvider,
};
use datafusion::common::Result;
use datafusion::execution::FunctionRegistry;
use datafusion::execution::disk_manager::{DiskManagerBuilder, DiskManagerMode};
use datafusion::execution::memory_pool::MemoryPool;
use datafusion::execution::object_store::{
    DefaultObjectStoreRegistry, ObjectStoreRegistry, ObjectStoreUrl,
};
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::execution::{SessionState, SessionStateBuilder};
use datafusion::logical_expr::planner::ExprPlanner;
use datafusion::logical_expr::{Documentation, LogicalPlan};
use datafusion::optimizer::{Analyzer, AnalyzerRule, Optimizer, OptimizerRule};
use datafusion::prelude::SessionConfig;
use datafusion::sql::parser::Statement;

use crate::asof::{AsOfQueryPlanner, AsOfRelations, PushBelowAsOf};
use crate::catalog::{self, Catalogued, FunctionText};
use crate::error::Refusal;
use crate::functions::{self, BoundFunctions, JsonArrows};
use crate::limits::BATCH_ROWS;
use crate::plan;
use crate::sql::ids::HexIds;
use crate::sql::suggest;
use crate::trace_functions::TraceFunction;

const CATALOG: &str = "kymo";
const SCHEMA: &str = "public";

/// A table and its name.
pub(crate) type NamedTable = (&'static str, Arc<dyn TableProvider>);

/// What sessions are made from: everything that no query changes.
pub(crate) struct Sessions {
    base: SessionState,
    /// The same with functions of PostgreSQL, for queries that ask as its clients do.
    with_catalogue: SessionState,
    /// Functions that queries may call, for those who ask which there are.
    functions: Arc<Vec<FunctionText>>,
    /// Empty: nothing can be read but the tables.
    object_stores: Arc<dyn ObjectStoreRegistry>,
}

impl Sessions {
    pub(crate) fn new(threads: usize) -> Result<Self> {
        let object_stores = DefaultObjectStoreRegistry::new();
        object_stores.deregister_store(ObjectStoreUrl::local_filesystem().as_ref())?;
        let base = SessionStateBuilder::new()
            .with_config(config(threads))
            .with_default_features()
            .with_scalar_functions(functions::scalar_functions())
            .with_aggregate_functions(functions::aggregate_functions())
            .with_optimizer_rules(optimizer_rules())
            .with_query_planner(Arc::new(AsOfQueryPlanner))
            .with_relation_planners(vec![Arc::new(AsOfRelations)])
            .with_analyzer_rules(analyzer_rules())
            .with_physical_optimizer_rules(plan::rules())
            .with_table_factories(HashMap::new())
            .with_file_formats(Vec::new())
            .build();
        let mut planners = base.expr_planners().to_vec();
        planners.splice(
            0..0,
            [Arc::new(HexIds) as Arc<dyn ExprPlanner>, Arc::new(JsonArrows::default())],
        );
        let functions = Arc::new(offered(&base));
        let base =
            SessionStateBuilder::new_from_existing(base).with_expr_planners(planners).build();
        let mut with_catalogue = base.clone();
        for function in catalog::functions(&functions) {
            with_catalogue.register_udf(function)?;
        }
        Ok(Self { base, with_catalogue, functions, object_stores: Arc::new(object_stores) })
    }

    /// Functions that queries may call.
    pub(crate) fn functions(&self) -> &Arc<Vec<FunctionText>> {
        &self.functions
    }

    /// A session for one query, with its tables and its memory; with functions of PostgreSQL's
    /// catalogue if it has relations of that, be they none.
    pub(crate) fn session(
        &self,
        tables: Vec<NamedTable>,
        catalogue: Option<Vec<Catalogued>>,
        functions: Vec<TraceFunction>,
        memory: Arc<dyn MemoryPool>,
    ) -> Result<SessionState> {
        let mut schemas = BTreeMap::from([(SCHEMA.to_owned(), MemorySchemaProvider::new())]);
        let base = match &catalogue {
            Some(_) => &self.with_catalogue,
            None => &self.base,
        };
        let own = tables.into_iter().map(|(name, table)| (None, name.to_owned(), table));
        for (schema, name, table) in own.chain(catalogue.into_iter().flatten()) {
            let schema = schema.unwrap_or_else(|| SCHEMA.to_owned());
            schemas.entry(schema).or_default().register_table(name, table)?;
        }
        let catalog = MemoryCatalogProvider::new();
        for (name, schema) in schemas {
            catalog.register_schema(&name, Arc::new(schema))?;
        }
        let catalogs = MemoryCatalogProviderList::new();
        datafusion::catalog::CatalogProviderList::register_catalog(
            &catalogs,
            CATALOG.to_owned(),
            Arc::new(catalog),
        );
        let disk = DiskManagerBuilder::default().with_mode(DiskManagerMode::Disabled);
        let runtime = RuntimeEnvBuilder::new()
            .with_memory_pool(memory)
            .with_disk_manager_builder(disk)
            .with_object_store_registry(self.object_stores.clone())
            .build_arc()?;
        let mut session = SessionStateBuilder::new_from_existing(base.clone())
            .with_catalog_list(Arc::new(catalogs))
            .with_runtime_env(runtime)
            .build();
        for function in functions {
            session.register_udtf(function.kind.name(), Arc::new(function));
        }
        Ok(session)
    }

    /// The plan of a statement. DataFusion suggests any of the functions that are least unlike one
    /// that it does not find, and not always the same.
    pub(crate) async fn plan(
        &self,
        session: &SessionState,
        statement: Statement,
    ) -> Result<LogicalPlan> {
        let names = self.functions.iter().map(|known| known.name.as_str());
        let planned = session.statement_to_plan(statement).await;
        planned.map_err(|error| match suggest::function(&error, names) {
            Some(fault) => Refusal::error(fault),
            None => error,
        })
    }
}

/// Functions of a session, by name.
fn offered(session: &SessionState) -> Vec<FunctionText> {
    let text = |name: &str, kind, documentation: Option<&Documentation>| {
        let syntax = documentation.map_or("", |known| known.syntax_example.as_str());
        let arguments = syntax.split_once('(').and_then(|(_, rest)| rest.split_once(')'));
        let arguments = arguments.map_or_else(String::new, |(inner, _)| inner.to_owned());
        FunctionText { name: name.to_owned(), arguments, kind }
    };
    let scalar = session.scalar_functions().iter();
    let scalar = scalar.map(|(name, function)| text(name, "f", function.documentation()));
    let aggregate = session.aggregate_functions().iter();
    let aggregate = aggregate.map(|(name, function)| text(name, "a", function.documentation()));
    let window = session.window_functions().iter();
    let window = window.map(|(name, function)| text(name, "w", function.documentation()));
    let mut all: Vec<FunctionText> = scalar.chain(aggregate).chain(window).collect();
    all.sort_by(|a, b| (&a.name, a.kind).cmp(&(&b.name, b.kind)));
    all
}

/// DataFusion's rules and ours: ids before those that look for common types, functions behind.
fn analyzer_rules() -> Vec<Arc<dyn AnalyzerRule + Send + Sync>> {
    let mut rules = Analyzer::new().rules;
    rules.insert(0, Arc::new(HexIds));
    rules.push(Arc::new(BoundFunctions::new()));
    rules
}

/// DataFusion's rules, and ours behind the one that moves filters.
fn optimizer_rules() -> Vec<Arc<dyn OptimizerRule + Send + Sync>> {
    let mut rules = Optimizer::new().rules;
    let filters = rules.iter().rposition(|rule| rule.name() == "push_down_filter");
    rules.insert(filters.map_or(rules.len(), |place| place + 1), Arc::new(PushBelowAsOf));
    rules
}

fn config(threads: usize) -> SessionConfig {
    let mut config = SessionConfig::new()
        .with_target_partitions(threads.max(1))
        .with_batch_size(BATCH_ROWS)
        .with_information_schema(false)
        .with_create_default_catalog_and_schema(false)
        .with_default_catalog_and_schema(CATALOG, SCHEMA);
    let options = config.options_mut();
    options.execution.time_zone = Some("UTC".to_owned());
    // Scans hand out dictionaries of plain text; views of it would only be converted.
    options.sql_parser.map_string_types_to_utf8view = false;
    // Scans take what is known when they are planned; they do not look again while they run.
    options.optimizer.enable_dynamic_filter_pushdown = false;
    options.explain.logical_plan_only = false;
    config
}
