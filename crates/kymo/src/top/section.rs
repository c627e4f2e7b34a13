//! Tables whose columns are queries.
//!
//! A row is what the key labels tell apart; a column is a query, whose series fill the rows that
//! they belong to.

use std::collections::BTreeMap;

use kymo_engine::traceql::{MetricsQuery, Points};
use kymo_report::spark;
use serde_json::{Map, Value, json};

use crate::failure::Failure;
use crate::frame::{Unit as Shown, readable};
use crate::promql::{self, Moments};
use crate::query::Asker;
use crate::source::Source;
use crate::table::{Align, Table};
use crate::{times, units};

/// Columns of a bar.
const BAR_COLUMNS: usize = 8;
/// What queries about spans look at.
const SPANS_SINCE_NANOS: i64 = 300_000_000_000;

/// What a number is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unit {
    Number,
    /// A part of one.
    Part,
    Bytes,
    BytesPerSecond,
    Mebibytes,
    Celsius,
    Watts,
}

/// A question, and in which language.
#[derive(Debug, Clone, Copy)]
enum Question {
    Promql(&'static str),
    /// Numbers over the last five minutes.
    Traceql(&'static str),
}
use Question::{Promql, Traceql};

/// A column.
#[derive(Debug)]
struct Column {
    heading: &'static str,
    /// The name in JSON.
    name: &'static str,
    unit: Unit,
    question: Question,
}

const fn column(
    heading: &'static str,
    name: &'static str,
    unit: Unit,
    question: Question,
) -> Column {
    Column { heading, name, unit, question }
}

/// A table.
#[derive(Debug)]
pub(super) struct Section {
    pub(super) title: &'static str,
    /// The name in JSON.
    pub(super) name: &'static str,
    /// Labels that tell rows apart, and their headings.
    keys: &'static [(&'static str, &'static str)],
    columns: &'static [Column],
}

/// All of them, from the top.
pub(super) static SECTIONS: [Section; 3] = [HOSTS, GPUS, SESSIONS];

const HOSTS: Section = Section {
    title: "HOSTS",
    name: "hosts",
    keys: &[("instance", "INSTANCE")],
    columns: &[
        column(
            "CPUS",
            "cpus",
            Unit::Number,
            Promql("count by (instance) (node_cpu_seconds_total{mode='idle'})"),
        ),
        column(
            "BUSY",
            "cpu_busy",
            Unit::Part,
            Promql(
                "clamp_min(1 - avg by (instance) (rate(node_cpu_seconds_total{mode='idle'}[1m])), 0)",
            ),
        ),
        column("LOAD", "load1", Unit::Number, Promql("max by (instance) (node_load1)")),
        column(
            "MEMORY",
            "memory_bytes",
            Unit::Bytes,
            Promql("max by (instance) (node_memory_MemTotal_bytes)"),
        ),
        column(
            "USED",
            "memory_used",
            Unit::Part,
            Promql(
                "1 - max by (instance) (node_memory_MemAvailable_bytes) / max by (instance) (node_memory_MemTotal_bytes)",
            ),
        ),
        column(
            "FULLEST",
            "filesystem_fullest",
            Unit::Part,
            Promql(
                "max by (instance) (1 - node_filesystem_avail_bytes{fstype!~'tmpfs|ramfs|squashfs|overlay'} / node_filesystem_size_bytes)",
            ),
        ),
        column(
            "READ",
            "disk_read",
            Unit::BytesPerSecond,
            Promql("sum by (instance) (rate(node_disk_read_bytes_total[1m]))"),
        ),
        column(
            "WRITTEN",
            "disk_written",
            Unit::BytesPerSecond,
            Promql("sum by (instance) (rate(node_disk_written_bytes_total[1m]))"),
        ),
        column(
            "NET IN",
            "network_received",
            Unit::BytesPerSecond,
            Promql("sum by (instance) (rate(node_network_receive_bytes_total{device!='lo'}[1m]))"),
        ),
        column(
            "NET OUT",
            "network_sent",
            Unit::BytesPerSecond,
            Promql("sum by (instance) (rate(node_network_transmit_bytes_total{device!='lo'}[1m]))"),
        ),
    ],
};

const GPUS: Section = Section {
    title: "GPUS",
    name: "gpus",
    keys: &[("instance", "INSTANCE"), ("gpu", "GPU"), ("modelName", "MODEL")],
    columns: &[
        column(
            "BUSY",
            "busy",
            Unit::Part,
            Promql("max by (instance, gpu, modelName) (DCGM_FI_DEV_GPU_UTIL) / 100"),
        ),
        column(
            "MEMORY",
            "memory_mebibytes",
            Unit::Mebibytes,
            Promql("sum by (instance, gpu, modelName) (DCGM_FI_DEV_FB_USED + DCGM_FI_DEV_FB_FREE)"),
        ),
        column(
            "USED",
            "memory_used",
            Unit::Part,
            Promql(
                "sum by (instance, gpu, modelName) (DCGM_FI_DEV_FB_USED) / sum by (instance, gpu, modelName) (DCGM_FI_DEV_FB_USED + DCGM_FI_DEV_FB_FREE)",
            ),
        ),
        column(
            "TEMP",
            "celsius",
            Unit::Celsius,
            Promql("max by (instance, gpu, modelName) (DCGM_FI_DEV_GPU_TEMP)"),
        ),
        column(
            "POWER",
            "watts",
            Unit::Watts,
            Promql("max by (instance, gpu, modelName) (DCGM_FI_DEV_POWER_USAGE)"),
        ),
    ],
};

/// Programs whose resource has a session's id; `tasks_…` are the metrics of workflow systems.
const SESSIONS: Section = Section {
    title: "SESSIONS",
    name: "sessions",
    keys: &[("session_id", "SESSION")],
    columns: &[
        column(
            "RUNNING",
            "tasks_running",
            Unit::Number,
            Promql("sum by (session_id) (tasks_running{session_id!=''})"),
        ),
        column(
            "DONE",
            "tasks_completed",
            Unit::Number,
            Promql("sum by (session_id) (tasks_completed_total{session_id!=''})"),
        ),
        column(
            "FAILED",
            "tasks_failed",
            Unit::Number,
            Promql("sum by (session_id) (tasks_failed_total{session_id!=''})"),
        ),
        column(
            "PROGRAMS",
            "programs",
            Unit::Number,
            Promql("count by (session_id) (target_info{session_id!=''})"),
        ),
        column(
            "SPANS 5m",
            "spans_5m",
            Unit::Number,
            Traceql("{ resource.session_id != nil } | count_over_time() by (resource.session_id)"),
        ),
        column(
            "ERRORS 5m",
            "errors_5m",
            Unit::Number,
            Traceql(
                "{ resource.session_id != nil && status = error } | count_over_time() by (resource.session_id)",
            ),
        ),
    ],
};

/// What was found: rows by their keys, a number or none for each column.
#[derive(Debug)]
pub(super) struct Rows {
    section: &'static Section,
    rows: BTreeMap<Vec<String>, Vec<Option<f64>>>,
}

impl Section {
    /// Asks all its questions.
    pub(super) fn look(&'static self, source: &Source) -> Result<Rows, Failure> {
        let mut rows: BTreeMap<Vec<String>, Vec<Option<f64>>> = BTreeMap::new();
        for (nth, column) in self.columns.iter().enumerate() {
            let found = match column.question {
                Promql(query) => self.promql(source, query)?,
                Traceql(query) => self.traceql(source, query)?,
            };
            for (key, number) in found {
                let row = rows.entry(key).or_insert_with(|| vec![None; self.columns.len()]);
                row[nth] = Some(number);
            }
        }
        Ok(Rows { section: self, rows })
    }

    fn promql(&self, source: &Source, query: &str) -> Result<Vec<(Vec<String>, f64)>, Failure> {
        let answer = promql::ask(source, query, &Moments::at(times::now() / 1_000_000))?;
        let row = |series: promql::Series| {
            let key = self.keys.iter().map(|(label, _)| series.label(label).to_owned()).collect();
            Some((key, series.last()?))
        };
        Ok(answer.series()?.into_iter().filter_map(row).collect())
    }

    fn traceql(&self, source: &Source, query: &str) -> Result<Vec<(Vec<String>, f64)>, Failure> {
        let query = kymo_traceql::parse(query).map_err(|why| Failure::Other(why.to_string()))?;
        let now = times::now();
        let found = Asker::new(source).series(MetricsQuery {
            query,
            start_nanos: now - SPANS_SINCE_NANOS,
            end_nanos: now,
            points: Points::One,
            exemplars: 0,
        })?;
        let row = |series: kymo_traceql::metrics::Series| {
            let (_, number) = *series.points.first()?;
            let value = |label: &str| {
                let is_it =
                    |name: &str| name.rsplit_once('.').map_or(name, |(_, key)| key) == label;
                let found = series.labels.iter().find(|(name, _)| is_it(name));
                found.map(|(_, value)| value.to_string()).unwrap_or_default()
            };
            Some((self.keys.iter().map(|(label, _)| value(label)).collect(), number))
        };
        Ok(found.into_iter().filter_map(row).collect())
    }
}

impl Rows {
    pub(super) fn title(&self) -> &'static str {
        self.section.title
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// For people.
    pub(super) fn table(&self) -> Table {
        let keys = self.section.keys.iter().map(|(_, heading)| (*heading, Align::Left));
        let columns = self.section.columns.iter().map(|column| (column.heading, Align::Right));
        let mut table = Table::new(&keys.chain(columns).collect::<Vec<_>>());
        for (key, numbers) in &self.rows {
            let key = key.iter().map(|part| units::printable(part));
            let cells = self.section.columns.iter().zip(numbers);
            let cells = cells.map(|(column, number)| shown(*number, column.unit));
            table.row(key.chain(cells).collect());
        }
        table
    }

    /// For programs: an object for each row.
    pub(super) fn json(&self) -> Value {
        let row = |(key, numbers): (&Vec<String>, &Vec<Option<f64>>)| {
            let keys = self.section.keys.iter().zip(key);
            let mut row: Map<String, Value> =
                keys.map(|((label, _), value)| ((*label).to_owned(), json!(value))).collect();
            let columns = self.section.columns.iter().zip(numbers);
            row.extend(columns.map(|(column, number)| (column.name.to_owned(), json!(number))));
            Value::Object(row)
        };
        self.rows.iter().map(row).collect()
    }
}

fn shown(number: Option<f64>, unit: Unit) -> String {
    let Some(number) = number.filter(|number| number.is_finite()) else { return "–".to_owned() };
    let bytes = |number: f64| units::bytes(number.max(0.0) as u64);
    match unit {
        Unit::Number => readable(number, Shown::None),
        Unit::Part => {
            let bar = spark::bar(number, 1.0, BAR_COLUMNS);
            format!("{bar:<BAR_COLUMNS$} {:>3.0} %", number * 100.0)
        }
        Unit::Bytes => bytes(number),
        Unit::BytesPerSecond => format!("{}/s", bytes(number)),
        Unit::Mebibytes => bytes(number * 1024.0 * 1024.0),
        Unit::Celsius => format!("{number:.0} °C"),
        Unit::Watts => format!("{number:.0} W"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_questions_can_be_read() {
        for column in SECTIONS.iter().flat_map(|section| section.columns) {
            match column.question {
                Promql(query) => drop(kymo_promql::parser::parse(query).unwrap()),
                Traceql(query) => drop(kymo_traceql::parse(query).unwrap()),
            }
        }
    }

    #[test]
    fn rows_are_tables_for_people_and_objects_for_programs() {
        let mut numbers = vec![None; HOSTS.columns.len()];
        (numbers[0], numbers[1], numbers[3]) = (Some(2.0), Some(0.5), Some(2048.0));
        let rows = Rows { section: &SECTIONS[0], rows: [(vec!["a".to_owned()], numbers)].into() };
        let text = rows.table().to_string();
        assert!(text.starts_with("INSTANCE  CPUS "), "{text}");
        assert!(text.contains("████      50 %") && text.contains("2.0 KiB"), "{text}");
        let json = rows.json();
        assert_eq!(json[0]["instance"], "a");
        assert_eq!(json[0]["cpu_busy"], 0.5);
        assert_eq!(json[0]["load1"], Value::Null);
    }
}
