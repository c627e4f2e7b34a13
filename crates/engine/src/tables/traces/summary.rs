//! Spans of traces to summaries, in any order and in as many parts as they come.

use std::cmp::Ordering;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type, TimestampNanosecondType};
use arrow_array::{
    Array, ArrayRef, DictionaryArray, FixedSizeBinaryArray, RecordBatch, StringArray,
};
use datafusion::common::{Result, internal_datafusion_err, internal_err};
use hashbrown::HashMap;
use kymo_store::scan::ColumnRef;
use kymo_store::tables::spans::field;

use super::TraceColumn;

/// Number of a text.
pub(super) type Text = u32;

/// What is known of a trace.
#[derive(Debug, Clone)]
pub(super) struct Summary {
    pub(super) trace_id: [u8; 16],
    pub(super) start: i64,
    pub(super) end: i64,
    pub(super) spans: i64,
    pub(super) errors: i64,
    pub(super) root: Option<Root>,
    /// Without doubles, in no order.
    pub(super) services: Vec<Text>,
}

/// The earliest span without a parent.
#[derive(Debug, Clone, Copy)]
pub(super) struct Root {
    start: i64,
    pub(super) name: Option<Text>,
    pub(super) service: Option<Text>,
    pub(super) status: Option<Text>,
}

/// Which columns of spans are read, and where they are in a batch.
#[derive(Debug, Clone, Default)]
pub(super) struct Reads {
    pub(super) columns: Vec<ColumnRef>,
    start: Option<usize>,
    duration: Option<usize>,
    parent: Option<usize>,
    name: Option<usize>,
    service: Option<usize>,
    status: Option<usize>,
    wants_root: bool,
    wants_services: bool,
}

impl Reads {
    /// What is needed for these columns of traces, and for their start if it is tested.
    pub(super) fn of(columns: &[TraceColumn], tests_start: bool) -> Self {
        use TraceColumn::{
            Duration, EndTime, ErrorCount, RootName, RootService, ServiceCount, Services,
            StartTime, Status,
        };
        let any = |wanted: &[TraceColumn]| columns.iter().any(|column| wanted.contains(column));
        let wants_root = any(&[RootName, RootService, Status]);
        let wants_services = any(&[ServiceCount, Services]);
        let wants_end = any(&[EndTime, Duration]);
        let mut reads = Self { wants_root, wants_services, ..Self::default() };
        let mut place = |is_wanted: bool, number: usize| {
            is_wanted.then(|| {
                reads.columns.push(ColumnRef::Field(number));
                reads.columns.len() - 1
            })
        };
        place(true, field::TRACE_ID);
        let start =
            place(wants_root || wants_end || tests_start || any(&[StartTime]), field::START_TIME);
        let duration = place(wants_end, field::DURATION);
        let parent = place(wants_root, field::PARENT_SPAN_ID);
        let name = place(any(&[RootName]), field::NAME);
        let service = place(wants_services || any(&[RootService]), field::SERVICE);
        let status = place(any(&[Status, ErrorCount]), field::STATUS);
        Self { start, duration, parent, name, service, status, ..reads }
    }
}

/// Summaries of traces.
#[derive(Debug)]
pub(super) struct Summaries {
    reads: Reads,
    pub(super) texts: Texts,
    places: HashMap<[u8; 16], u32>,
    pub(super) traces: Vec<Summary>,
    /// Services beyond what a summary takes itself.
    services: usize,
    by_code: [Codes; 3],
}

impl Summaries {
    pub(super) fn new(reads: Reads) -> Self {
        Self {
            reads,
            texts: Texts::default(),
            places: HashMap::new(),
            traces: Vec::new(),
            services: 0,
            by_code: Default::default(),
        }
    }

    /// Bytes that are held.
    pub(super) fn bytes(&self) -> usize {
        self.texts.bytes
            + self.places.capacity() * (size_of::<([u8; 16], u32)>() + 1)
            + self.traces.capacity() * size_of::<Summary>()
            + self.services * 2 * size_of::<Text>()
    }

    /// Takes what there is out, and begins anew; texts keep their numbers.
    pub(super) fn take(&mut self) -> Vec<Summary> {
        self.places.clear();
        self.services = 0;
        std::mem::take(&mut self.traces)
    }

    /// Adds spans.
    pub(super) fn add(&mut self, batch: &RecordBatch) -> Result<()> {
        let Some(ids) = batch.column(0).as_fixed_size_binary_opt() else {
            return internal_err!("trace ids are bytes");
        };
        let reads = self.reads.clone();
        let column = |place: Option<usize>| place.map(|place| batch.column(place));
        let [names, services, statuses] = [reads.name, reads.service, reads.status]
            .map(|place| place.map(|place| dictionary(batch.column(place))).transpose());
        let (names, services, statuses) = (names?, services?, statuses?);
        let starts = column(reads.start).map(|c| c.as_primitive::<TimestampNanosecondType>());
        let durations = column(reads.duration).map(|c| c.as_primitive::<Int64Type>());
        let parents = column(reads.parent);
        let mut last: Option<usize> = None;
        for row in 0..batch.num_rows() {
            let place = self.place(ids, row, last)?;
            last = Some(place);
            let start = starts.map_or(0, |starts| starts.value(row));
            let end = start.saturating_add(durations.map_or(0, |d| d.value(row).max(0)));
            let status = text_at(&mut self.texts, &mut self.by_code[2], statuses, row);
            let service = text_at(&mut self.texts, &mut self.by_code[1], services, row);
            let is_error = status.is_some_and(|status| self.texts.get(status) == "error");
            let trace = &mut self.traces[place];
            trace.start = trace.start.min(start);
            trace.end = trace.end.max(end);
            trace.spans += 1;
            trace.errors += i64::from(is_error);
            if let Some(service) = service.filter(|_| reads.wants_services)
                && !trace.services.contains(&service)
            {
                trace.services.push(service);
                self.services += 1;
            }
            if reads.wants_root && parents.is_some_and(|parents| parents.is_null(row)) {
                let name = text_at(&mut self.texts, &mut self.by_code[0], names, row);
                let root = Root { start, name, service, status };
                let trace = &mut self.traces[place];
                if trace.root.is_none_or(|known| self.texts.is_before(&root, &known)) {
                    trace.root = Some(root);
                }
            }
        }
        Ok(())
    }

    /// The place of a row's trace. Spans of one trace mostly lie together.
    fn place(
        &mut self,
        ids: &FixedSizeBinaryArray,
        row: usize,
        last: Option<usize>,
    ) -> Result<usize> {
        let id = ids.value(row);
        if let Some(last) = last.filter(|last| self.traces[*last].trace_id == id) {
            return Ok(last);
        }
        let id: [u8; 16] =
            id.try_into().map_err(|_| internal_datafusion_err!("a trace id has 16 bytes"))?;
        let traces = &mut self.traces;
        let place = *self.places.entry(id).or_insert_with(|| {
            traces.push(Summary {
                trace_id: id,
                start: i64::MAX,
                end: i64::MIN,
                spans: 0,
                errors: 0,
                root: None,
                services: Vec::new(),
            });
            traces.len() as u32 - 1
        });
        Ok(place as usize)
    }
}

fn dictionary(column: &ArrayRef) -> Result<&DictionaryArray<Int32Type>> {
    column
        .as_dictionary_opt::<Int32Type>()
        .filter(|dictionary| dictionary.values().as_string_opt::<i32>().is_some())
        .ok_or_else(|| internal_datafusion_err!("texts come by code"))
}

/// The number of the text of a row.
fn text_at(
    texts: &mut Texts,
    codes: &mut Codes,
    column: Option<&DictionaryArray<Int32Type>>,
    row: usize,
) -> Option<Text> {
    let column = column?;
    let code = column.key(row)?;
    Some(codes.text(texts, column.values(), code))
}

/// Texts, each once.
#[derive(Debug, Default)]
pub(super) struct Texts {
    numbers: HashMap<Arc<str>, Text>,
    texts: Vec<Arc<str>>,
    bytes: usize,
}

impl Texts {
    pub(super) fn get(&self, text: Text) -> &str {
        &self.texts[text as usize]
    }

    fn number(&mut self, text: &str) -> Text {
        if let Some(number) = self.numbers.get(text) {
            return *number;
        }
        let (number, text): (Text, Arc<str>) = (self.texts.len() as Text, text.into());
        self.bytes += text.len() + 2 * size_of::<(Arc<str>, Text)>() + 2 * size_of::<usize>();
        self.texts.push(text.clone());
        self.numbers.insert(text, number);
        number
    }

    /// Whether a root comes before another: by start, then by what it is, so that the answer does
    /// not depend on where spans lie.
    fn is_before(&self, a: &Root, b: &Root) -> bool {
        let text = |text: Option<Text>| text.map(|text| self.get(text));
        let order = a.start.cmp(&b.start).then_with(|| text(a.name).cmp(&text(b.name)));
        let order = order.then_with(|| text(a.service).cmp(&text(b.service)));
        order.then_with(|| text(a.status).cmp(&text(b.status))) == Ordering::Less
    }
}

/// Numbers of the texts of a dictionary, each looked for once.
#[derive(Debug, Default)]
struct Codes {
    dictionary: Option<ArrayRef>,
    numbers: Vec<Option<Text>>,
}

impl Codes {
    fn text(&mut self, texts: &mut Texts, dictionary: &ArrayRef, code: usize) -> Text {
        if !self.dictionary.as_ref().is_some_and(|known| Arc::ptr_eq(known, dictionary)) {
            self.dictionary = Some(dictionary.clone());
            self.numbers.clear();
            self.numbers.resize(dictionary.len(), None);
        }
        *self.numbers[code].get_or_insert_with(|| {
            let known: &StringArray = dictionary.as_string();
            texts.number(known.value(code))
        })
    }
}
