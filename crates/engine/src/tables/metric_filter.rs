//! Filters on `metric`: from names in Prometheus to series of the store.
//!
//! The store knows what a name is made of, not the name. There are few metrics and many points:
//! the metrics of the snapshot are read first, the filters are tried on their names, and the
//! store is asked for the points of those that pass.

use std::ops::ControlFlow;
use std::sync::Arc;

use arrow_array::{BooleanArray, RecordBatch, StringArray};
use arrow_schema::{Field, Schema};
use datafusion::arrow::compute::cast;
use datafusion::catalog::Session;
use datafusion::common::cast::as_boolean_array;
use datafusion::common::{DFSchema, Result};
use datafusion::error::DataFusionError;
use datafusion::logical_expr::Expr;
use kymo_store::StoreError;
use kymo_store::scan::{ColumnRef, Predicate, Prepared, Scan};
use kymo_store::schema::Signal;
use kymo_store::snapshot::Snapshot;

use super::metric::{METRIC_PARTS, MetricNames, MetricParts};
use super::text_type;
use crate::limits::METRICS_PUSHED_MAX;
use crate::scan::reading::context;
use crate::scan::translate::Pushed;
use crate::state::{QueryState, Reading};

/// Adds what filters on `metric` ask for to what the store tests; returns the other filters.
pub(super) fn push(
    session: &dyn Session,
    reading: &Reading,
    snapshot: &Snapshot,
    state: &QueryState,
    pushed: &Pushed,
    filters: Vec<Expr>,
) -> Result<(Pushed, Vec<Expr>)> {
    let (on_metric, others): (Vec<Expr>, Vec<Expr>) =
        filters.into_iter().partition(is_on_metric_only);
    if on_metric.is_empty() {
        return Ok((pushed.clone(), others));
    }
    let metrics = metrics(reading, snapshot, pushed, state).map_err(|error| {
        let message = error.to_string();
        state.fail(error);
        DataFusionError::Execution(message)
    })?;
    let passing = passing(session, metrics.parts(), &on_metric)?;
    let chosen: Vec<Predicate> = metrics
        .parts()
        .iter()
        .zip(passing.iter())
        .filter(|(_, passes)| *passes == Some(true))
        .map(|(parts, _)| parts.predicate())
        .collect();
    if chosen.len() > METRICS_PUSHED_MAX {
        return Ok((pushed.clone(), on_metric.into_iter().chain(others).collect()));
    }
    let predicates = pushed.predicate.clone().into_iter().chain([Predicate::Or(chosen)]);
    let predicate = Some(Predicate::And(predicates.collect()));
    Ok((Pushed { time: pushed.time.clone(), predicate }, others))
}

fn is_on_metric_only(filter: &Expr) -> bool {
    let columns = filter.column_refs();
    !columns.is_empty() && columns.iter().all(|column| column.name() == "metric")
}

/// What the metrics are made of that may have points.
fn metrics(
    reading: &Reading,
    snapshot: &Snapshot,
    pushed: &Pushed,
    state: &QueryState,
) -> std::result::Result<MetricNames, StoreError> {
    let sources = reading.store.sources(snapshot, pushed.time.clone())?;
    let scan = Scan {
        columns: METRIC_PARTS.map(ColumnRef::Field).to_vec(),
        predicate: pushed.predicate.clone(),
        time: pushed.time.clone(),
        ..Scan::default()
    };
    let mut names = MetricNames::default();
    let context = context(reading, state.clock().gone().clone());
    let prepared = Prepared::new(&sources, Signal::Series, &scan, context)?;
    prepared.run(&mut |batch| {
        names
            .numbers(&batch, 0)
            .map_err(|error| StoreError::Query(format!("cannot read names: {error}")))?;
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(names)
}

/// Which of the metrics pass all filters.
fn passing(
    session: &dyn Session,
    metrics: &[MetricParts],
    filters: &[Expr],
) -> Result<BooleanArray> {
    let schema = Arc::new(Schema::new(vec![Field::new("metric", text_type(), true)]));
    let names: StringArray = metrics.iter().map(MetricParts::metric).collect();
    let names = cast(&names, &text_type())?;
    let batch = RecordBatch::try_new(schema.clone(), vec![names])?;
    let df_schema = DFSchema::try_from(schema)?;
    let mut passing = BooleanArray::from(vec![true; metrics.len()]);
    for filter in filters {
        let test = session.create_physical_expr(filter.clone(), &df_schema)?;
        let result = test.evaluate(&batch)?.into_array(metrics.len())?;
        passing = datafusion::arrow::compute::and_kleene(&passing, as_boolean_array(&result)?)?;
    }
    Ok(passing)
}
