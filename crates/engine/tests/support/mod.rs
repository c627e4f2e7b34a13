//! A store with data of a test, and answers as text.

use std::path::Path;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};
use futures::StreamExt;
use kymo_engine::{Engine, EngineError, EngineOptions, EngineStats};
use kymo_journal::{Compression, Format, OsDisk, Record, Signal};
use kymo_store::{Options, Store};
use kymo_wire::AnyValueView;
use kymo_wire::encode::{SpanFields, Writer};

/// Where the rows of a test are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// In memory.
    Head,
    /// In one block of each signal.
    Block,
    /// Each request in a block of its own, the last in memory.
    Spread,
    /// Each request in a block of its own, then compacted.
    Compacted,
}

impl Layout {
    pub const ALL: [Self; 4] = [Self::Head, Self::Block, Self::Spread, Self::Compacted];
}

/// An engine over a store in a directory that lives as long.
pub struct Place {
    pub engine: Engine,
    pub store: Arc<Store>,
    pub dir: tempfile::TempDir,
}

impl Place {
    pub fn new(options: EngineOptions) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open_dir(
            Arc::new(OsDisk),
            dir.path(),
            None,
            kymo_journal::Options::default(),
            Options::default(),
        )
        .unwrap();
        let store = Arc::new(store);
        let engine = Engine::new(store.clone(), options).unwrap();
        Self { engine, store, dir }
    }

    /// With the lines of OTLP/JSON files.
    pub fn with_files(files: &[&Path], layout: Layout) -> Self {
        let place = Self::new(EngineOptions { threads: 2, ..EngineOptions::default() });
        let texts: Vec<String> =
            files.iter().map(|file| std::fs::read_to_string(file).unwrap()).collect();
        let lines: Vec<&str> = texts.iter().flat_map(|text| text.lines()).collect();
        for (nth, line) in lines.iter().enumerate() {
            place.append("default", line);
            let is_last = nth + 1 == lines.len();
            if layout == Layout::Compacted || (layout == Layout::Spread && !is_last) {
                place.store.flush().unwrap();
            }
        }
        match layout {
            Layout::Block => place.store.flush().unwrap(),
            Layout::Compacted => {
                place.store.compact(kymo_store::compact::Effort::Everything).unwrap();
            }
            _ => {}
        }
        place
    }

    /// Appends a request of OTLP/JSON.
    pub fn append(&self, tenant: &str, line: &str) {
        let signal = match line {
            _ if line.contains("\"resourceSpans\"") => Signal::Traces,
            _ if line.contains("\"resourceLogs\"") => Signal::Logs,
            _ => Signal::Metrics,
        };
        let record = Record {
            signal,
            format: Format::OtlpJson,
            compression: Compression::None,
            tenant,
            body: line.as_bytes().to_vec().into(),
            received_nanos: 0,
        };
        self.store.journal().append(record).unwrap();
    }

    /// All batches of an answer.
    pub async fn batches(&self, query: &str) -> Result<(SchemaRef, Vec<RecordBatch>), EngineError> {
        batches(&self.engine, query).await
    }

    /// The answer as text: names of the columns, then a line for each row.
    pub async fn lines(&self, query: &str) -> Result<Vec<String>, EngineError> {
        let (schema, batches) = self.batches(query).await?;
        let names: Vec<&str> = schema.fields().iter().map(|f| f.name().as_str()).collect();
        let mut lines = vec![names.join(" | ")];
        lines.extend(rows(&batches));
        Ok(lines)
    }
}

/// All batches of an answer.
pub async fn batches(
    engine: &Engine,
    query: &str,
) -> Result<(SchemaRef, Vec<RecordBatch>), EngineError> {
    let mut rows = engine.sql("default", query).await?;
    let mut batches = Vec::new();
    while let Some(batch) = rows.next().await {
        batches.push(batch?);
    }
    Ok((rows.schema(), batches))
}

/// A line for each row.
pub fn rows(batches: &[RecordBatch]) -> Vec<String> {
    let options = FormatOptions::default().with_null("NULL");
    let mut lines = Vec::new();
    for batch in batches {
        let columns: Vec<ArrayFormatter<'_>> = batch
            .columns()
            .iter()
            .map(|column| ArrayFormatter::try_new(column, &options).unwrap())
            .collect();
        for row in 0..batch.num_rows() {
            let values: Vec<String> =
                columns.iter().map(|column| column.value(row).to_string()).collect();
            lines.push(values.join(" | "));
        }
    }
    lines
}

/// A runtime of the caller, which is not the engine's.
pub fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

/// A request with `count` spans from the number `first` on, a second apart, in traces of ten.
pub fn spans_request(first: u64, count: u64) -> Vec<u8> {
    let mut writer = Writer::new();
    writer.resource_group(|w| {
        w.resource(|w| {
            let service = format!("service-{}", first % 3);
            w.resource_attribute(b"service.name", &AnyValueView::String(service.as_bytes()));
        });
        w.scope_group(|w| {
            for number in first..first + count {
                let mut trace_id = [1; 16];
                trace_id[8..].copy_from_slice(&(number / 10).to_be_bytes());
                let start = (1_700_000_000 + number) * 1_000_000_000;
                let name = format!("work {}", number % 100);
                let fields = SpanFields {
                    trace_id: &trace_id,
                    span_id: &(number + 1).to_be_bytes(),
                    name: name.as_bytes(),
                    start_time_unix_nano: start,
                    end_time_unix_nano: start + number,
                    ..SpanFields::default()
                };
                w.span(&fields, |w| {
                    let value = AnyValueView::Int((number % 1000) as i64);
                    w.span_attribute(b"number", &value);
                });
            }
        });
    });
    writer.into_bytes()
}

impl Place {
    /// Appends a request of encoded spans.
    pub fn append_spans(&self, body: Vec<u8>) {
        let record = Record {
            signal: Signal::Traces,
            format: Format::OtlpProtobuf,
            compression: Compression::None,
            tenant: "default",
            body: body.into(),
            received_nanos: 0,
        };
        self.store.journal().append(record).unwrap();
    }

    /// Appends spans and flushes them, a block for each 20,000.
    pub fn fill(&self, spans: u64) {
        for first in (0..spans).step_by(20_000) {
            self.append_spans(spans_request(first, 20_000.min(spans - first)));
            self.store.flush().unwrap();
        }
    }

    /// Waits until the engine's counts are so.
    pub fn wait_until(&self, what: &str, is_so: impl Fn(&EngineStats) -> bool) {
        wait_until(&self.engine, what, is_so);
    }
}

/// Waits until an engine's counts are so.
pub fn wait_until(engine: &Engine, what: &str, is_so: impl Fn(&EngineStats) -> bool) {
    let begun = std::time::Instant::now();
    while !is_so(&engine.stats()) {
        assert!(begun.elapsed().as_secs() < 60, "{what}: {:?}", engine.stats());
        std::thread::yield_now();
    }
}

/// A request with `count` spans of one trace, each with a text that no other has.
pub fn long_spans_request(first: u64, count: u64, text: &str) -> Vec<u8> {
    let mut writer = Writer::new();
    writer.resource_group(|w| {
        w.resource(|_| {});
        w.scope_group(|w| {
            for number in first..first + count {
                let mut trace_id = [1; 16];
                trace_id[8..].copy_from_slice(&0u64.to_be_bytes());
                let fields = SpanFields {
                    trace_id: &trace_id,
                    span_id: &(number + 1).to_be_bytes(),
                    name: b"long",
                    start_time_unix_nano: 1_700_000_000_000_000_000 + number,
                    end_time_unix_nano: 1_700_000_000_000_000_001 + number,
                    ..SpanFields::default()
                };
                w.span(&fields, |w| {
                    let text = format!("{number} {text}");
                    w.span_attribute(b"stacktrace", &AnyValueView::String(text.as_bytes()));
                });
            }
        });
    });
    writer.into_bytes()
}
