//! The walk itself. It changes nothing and counts what [`rewrite`](super::rewrite) will change.

use std::cmp::Ordering;

use super::inspect::{Counts, RefusalReason, RepairReason};
use super::views::{
    ExemplarRefsView, ExemplarView, MetadataRefsView, MetadataView, RequestView, SampleView,
    SeriesRefsView, SeriesView, SymbolTable, WriteRequestView,
};
use super::{HistogramBuffers, HistogramFault, HistogramView, METRIC_NAME};
use crate::limits::{
    Limits, MAX_EXEMPLAR_LABELS_BYTES, MAX_REQUEST_LABELS_BYTES, MAX_SERIES_LABELS_BYTES,
};
use crate::proto::{WireError, WireErrorKind};
use crate::repeated::{Repeated, View};
use crate::tags::{write1_label, write1_series};

/// Name and value of a label, or why there is none.
pub(super) type Label<'a> = Result<(&'a [u8], &'a [u8]), LabelFault>;

/// Why a label cannot be read.
#[derive(Debug, Clone, Copy)]
pub(super) enum LabelFault {
    /// The request is broken.
    Wire(WireError),
    /// There is no such text.
    Reference,
}

/// The labels of a series or exemplar of 1.0.
pub(super) fn labels_1<'a>(
    labels: &Repeated<'a, super::LabelView<'a>>,
) -> impl Iterator<Item = Label<'a>> + Clone {
    labels.iter().map(|label| match label {
        Ok(label) => Ok((label.name, label.value)),
        Err(error) => Err(LabelFault::Wire(error)),
    })
}

/// The labels of a series or exemplar of 2.0.
pub(super) fn labels_2<'a>(
    symbols: &SymbolTable<'a>,
    references: &crate::Numbers<'a, crate::numbers::Varint>,
) -> impl Iterator<Item = Label<'a>> + Clone {
    symbols.labels(references).map(|label| label.ok_or(LabelFault::Reference))
}

/// What is to be done with the labels of a series.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Judgement {
    Keep,
    Repair { is_out_of_order: bool, empty: u64 },
    Refuse(RefusalReason),
}

/// What the walk has found so far.
pub(super) struct Checker<'l> {
    limits: &'l Limits,
    max_time_millis: u64,
    min_time_millis: i64,
    /// Labels of what was walked over, written out.
    labels_bytes: usize,
    pub(super) counts: Counts,
    pub(super) refused: [u64; RefusalReason::ALL.len()],
    pub(super) repaired: [u64; RepairReason::ALL.len()],
    buffers: HistogramBuffers,
}

impl<'l> Checker<'l> {
    pub(super) fn new(limits: &'l Limits) -> Self {
        Self {
            limits,
            max_time_millis: limits.max_time_unix_nanos / 1_000_000,
            min_time_millis: (limits.min_point_time_unix_nanos / 1_000_000) as i64,
            labels_bytes: 0,
            counts: Counts::default(),
            refused: [0; _],
            repaired: [0; _],
            buffers: HistogramBuffers::default(),
        }
    }

    /// Whether the body can be kept as it is.
    pub(super) fn is_clean(&self) -> bool {
        self.refused == [0; _] && self.repaired == [0; _]
    }

    /// Walks a request of 1.0.
    pub(super) fn request_1(&mut self, body: &[u8]) -> Result<(), WireError> {
        let request = WriteRequestView::parse(body)?;
        for series in request.series {
            self.series_1(&series?)?;
        }
        for metadata in request.metadata {
            if self.is_metadata_1(&metadata?) {
                self.counts.metadata += 1;
            } else {
                self.repair(RepairReason::Metadata);
            }
        }
        Ok(())
    }

    /// Walks a request of 2.0.
    pub(super) fn request_2(&mut self, body: &[u8]) -> Result<(), WireError> {
        let request = RequestView::parse(body)?;
        let symbols = request.symbols.table()?;
        for series in request.series {
            self.series_2(&symbols, &series?)?;
            if self.labels_bytes > MAX_REQUEST_LABELS_BYTES {
                let kind = WireErrorKind::LabelsTooLong(MAX_REQUEST_LABELS_BYTES);
                return Err(WireError { kind, offset: 0 });
            }
        }
        Ok(())
    }

    /// Walks a series of 1.0; whether anything of it is kept.
    pub(super) fn series_1(&mut self, series: &SeriesView<'_>) -> Result<bool, WireError> {
        let judgement = self.judge_1(series)?;
        let points = series.samples.count() + series.histograms.count();
        if !self.labels(judgement, points) {
            return Ok(false);
        }
        self.points(&series.samples, &series.histograms)?;
        for exemplar in series.exemplars {
            let is_sound = self.is_exemplar_1(&exemplar?)?;
            self.exemplar(is_sound);
        }
        Ok(true)
    }

    /// Walks a series of 2.0; whether anything of it is kept.
    pub(super) fn series_2(
        &mut self,
        symbols: &SymbolTable<'_>,
        series: &SeriesRefsView<'_>,
    ) -> Result<bool, WireError> {
        let judgement = self.judge_2(symbols, series)?;
        let points = series.samples.count() + series.histograms.count();
        if !self.labels(judgement, points) {
            return Ok(false);
        }
        self.points(&series.samples, &series.histograms)?;
        for exemplar in series.exemplars {
            let is_sound = self.is_exemplar_2(symbols, &exemplar?)?;
            self.exemplar(is_sound);
        }
        match series.metadata.filter(|metadata| !metadata.is_empty()) {
            Some(metadata) if self.is_metadata_2(symbols, &metadata) => self.counts.metadata += 1,
            Some(_) => self.repair(RepairReason::Metadata),
            None => {}
        }
        Ok(true)
    }

    pub(super) fn judge_1(&mut self, series: &SeriesView<'_>) -> Result<Judgement, WireError> {
        // Tags and short lengths are ASCII too, so that one test does for all labels.
        let is_ascii = series.labels_raw.is_some_and(<[u8]>::is_ascii);
        let are_few = series.labels.count() <= self.limits.max_attributes;
        let are_short = self.limits.max_value_bytes >= MAX_SHORT_BYTES;
        if is_ascii && are_few && are_short && series.labels_raw.is_some_and(are_usual) {
            return Ok(Judgement::Keep);
        }
        self.judge(labels_1(&series.labels), series.labels.count(), is_ascii)
    }

    pub(super) fn judge_2(
        &mut self,
        symbols: &SymbolTable<'_>,
        series: &SeriesRefsView<'_>,
    ) -> Result<Judgement, WireError> {
        let count = series.labels.count().div_ceil(2);
        self.judge(labels_2(symbols, &series.labels), count, symbols.are_all_utf8())
    }

    #[inline]
    fn judge<'a>(
        &mut self,
        labels: impl Iterator<Item = Label<'a>> + Clone,
        count: usize,
        is_utf8: bool,
    ) -> Result<Judgement, WireError> {
        if count > self.limits.max_attributes {
            return Ok(Judgement::Refuse(RefusalReason::Labels));
        }
        let mut last: &[u8] = &[];
        let (mut has_name, mut is_out_of_order, mut empty) = (false, false, 0);
        let mut refusal = None;
        let mut bytes = 0;
        for label in labels.clone() {
            let (name, value) = match label {
                Ok(label) => label,
                Err(LabelFault::Wire(error)) => return Err(error),
                Err(LabelFault::Reference) => {
                    return Ok(Judgement::Refuse(RefusalReason::Reference));
                }
            };
            let max_bytes = self.limits.max_value_bytes;
            if !is_utf8 && (str::from_utf8(name).is_err() || str::from_utf8(value).is_err()) {
                refusal = Some(RefusalReason::Text);
            } else if name.is_empty() {
                refusal = Some(RefusalReason::LabelName);
            } else if value.len() > max_bytes || name.len() > max_bytes {
                refusal = Some(RefusalReason::LabelLength);
            }
            match last.cmp(name) {
                Ordering::Less => {}
                Ordering::Equal if !name.is_empty() => refusal = Some(RefusalReason::LabelTwice),
                Ordering::Equal => {}
                Ordering::Greater => is_out_of_order = true,
            }
            last = name;
            bytes += name.len() + value.len();
            empty += u64::from(value.is_empty());
            has_name |= name == METRIC_NAME && !value.is_empty();
        }
        self.labels_bytes += bytes;
        if bytes > MAX_SERIES_LABELS_BYTES {
            refusal = refusal.or(Some(RefusalReason::LabelLength));
        }
        if refusal.is_none() && is_out_of_order && has_name_twice(labels) {
            refusal = Some(RefusalReason::LabelTwice);
        }
        Ok(match refusal {
            Some(reason) => Judgement::Refuse(reason),
            None if !has_name => Judgement::Refuse(RefusalReason::MetricName),
            None if is_out_of_order || empty > 0 => Judgement::Repair { is_out_of_order, empty },
            None => Judgement::Keep,
        })
    }

    /// Counts what was found about the labels of a series; whether it is kept.
    fn labels(&mut self, judgement: Judgement, points: usize) -> bool {
        match judgement {
            Judgement::Keep => {}
            Judgement::Repair { is_out_of_order, empty } => {
                self.repaired[RepairReason::LabelOrder as usize] += u64::from(is_out_of_order);
                self.repaired[RepairReason::EmptyLabel as usize] += empty;
            }
            Judgement::Refuse(reason) => {
                self.refused[reason as usize] += points.max(1) as u64;
                return false;
            }
        }
        true
    }

    fn points(
        &mut self,
        samples: &Repeated<'_, SampleView>,
        histograms: &Repeated<'_, HistogramView<'_>>,
    ) -> Result<(), WireError> {
        for sample in samples {
            match self.sample_fault(&sample?) {
                None => self.counts.samples += 1,
                Some(reason) => self.refused[reason as usize] += 1,
            }
        }
        for histogram in histograms {
            match self.histogram_fault(&histogram?)? {
                None => self.counts.histograms += 1,
                Some(reason) => self.refused[reason as usize] += 1,
            }
        }
        Ok(())
    }

    #[inline]
    pub(super) fn sample_fault(&self, sample: &SampleView) -> Option<RefusalReason> {
        self.time_fault(sample.time_millis, sample.start_time_millis)
    }

    #[inline]
    fn time_fault(&self, time_millis: i64, start_millis: i64) -> Option<RefusalReason> {
        if !self.is_time(time_millis) || !self.is_time(start_millis) {
            return Some(RefusalReason::Time);
        }
        (time_millis < self.min_time_millis).then_some(RefusalReason::TooOld)
    }

    pub(super) fn histogram_fault(
        &mut self,
        histogram: &HistogramView<'_>,
    ) -> Result<Option<RefusalReason>, WireError> {
        let fault = self.time_fault(histogram.time_millis, histogram.start_time_millis);
        if fault.is_some() {
            return Ok(fault);
        }
        match histogram.resolve(&mut self.buffers) {
            Ok(_) => Ok(None),
            Err(HistogramFault::Wire(error)) => Err(error),
            Err(_) => Ok(Some(RefusalReason::Histogram)),
        }
    }

    pub(super) fn is_exemplar_1(&mut self, exemplar: &ExemplarView<'_>) -> Result<bool, WireError> {
        self.is_exemplar(labels_1(&exemplar.labels), exemplar.time_millis)
    }

    pub(super) fn is_exemplar_2(
        &mut self,
        symbols: &SymbolTable<'_>,
        exemplar: &ExemplarRefsView<'_>,
    ) -> Result<bool, WireError> {
        self.is_exemplar(labels_2(symbols, &exemplar.labels), exemplar.time_millis)
    }

    fn is_exemplar<'a>(
        &mut self,
        labels: impl Iterator<Item = Label<'a>>,
        time_millis: i64,
    ) -> Result<bool, WireError> {
        let mut is_sound = self.is_time(time_millis);
        let mut bytes = 0;
        for label in labels {
            match label {
                Ok((name, value)) => {
                    bytes += name.len() + value.len();
                    is_sound &= !name.is_empty() && self.is_text(name) && self.is_text(value);
                }
                Err(LabelFault::Wire(error)) => return Err(error),
                Err(LabelFault::Reference) => is_sound = false,
            }
            // More is not walked over: it would take as long as the labels are.
            if bytes > MAX_EXEMPLAR_LABELS_BYTES {
                return Ok(false);
            }
        }
        self.labels_bytes += bytes;
        Ok(is_sound)
    }

    fn exemplar(&mut self, is_sound: bool) {
        if is_sound {
            self.counts.exemplars += 1;
        } else {
            self.repair(RepairReason::Exemplar);
        }
    }

    pub(super) fn is_metadata_1(&self, metadata: &MetadataView<'_>) -> bool {
        let texts = [metadata.family, metadata.help, metadata.unit];
        !metadata.family.is_empty() && texts.into_iter().all(|text| self.is_text(text))
    }

    pub(super) fn is_metadata_2(
        &self,
        symbols: &SymbolTable<'_>,
        metadata: &MetadataRefsView,
    ) -> bool {
        let texts = [metadata.help, metadata.unit];
        texts.into_iter().all(|text| symbols.get(text).is_some_and(|text| self.is_text(text)))
    }

    fn is_text(&self, text: &[u8]) -> bool {
        text.len() <= self.limits.max_value_bytes && str::from_utf8(text).is_ok()
    }

    #[inline]
    fn is_time(&self, millis: i64) -> bool {
        // A negative one is beyond every limit.
        millis as u64 <= self.max_time_millis
    }

    fn repair(&mut self, reason: RepairReason) {
        self.repaired[reason as usize] += 1;
    }
}

/// Lengths up to this are a single byte.
const MAX_SHORT_BYTES: usize = 0x7f;

/// Whether labels are encoded as all senders do, short, none of them empty, in order, and one of
/// them is the metric's name. It is nearly always so, and seen here at a fraction of the cost of
/// reading them; what is not so is judged label by label.
#[inline]
fn are_usual(labels: &[u8]) -> bool {
    const LABEL: u8 = write1_series::LABELS as u8;
    const NAME: u8 = write1_label::NAME as u8;
    const VALUE: u8 = write1_label::VALUE as u8;
    let mut rest = labels;
    let mut last = (0, &[][..]);
    let mut has_name = false;
    while let [LABEL, length @ ..0x80, NAME, name_length @ 1..0x80, after @ ..] = rest {
        let Some((name, value)) = after.split_at_checked(usize::from(*name_length)) else {
            return false;
        };
        let [VALUE, value_length @ 1..0x80, value @ ..] = value else { return false };
        let Some((_, next)) = value.split_at_checked(usize::from(*value_length)) else {
            return false;
        };
        let this = (leading(after, name.len()), name);
        if usize::from(*length) != rest.len() - next.len() - 2 || last >= this {
            return false;
        }
        has_name |= name == METRIC_NAME;
        (last, rest) = (this, next);
    }
    has_name && rest.is_empty()
}

/// The first bytes of a name, at most eight, as a number that is ordered as names are. Most names
/// differ in them, and numbers are compared faster than bytes.
#[inline]
fn leading(from_name: &[u8], name_bytes: usize) -> u64 {
    let unused_bits = 64 - 8 * name_bytes.min(8) as u32;
    let Some(bytes) = from_name.first_chunk() else {
        let mut bytes = [0; 8];
        let short = &from_name[..name_bytes.min(from_name.len()).min(8)];
        bytes[..short.len()].copy_from_slice(short);
        return u64::from_be_bytes(bytes);
    };
    u64::from_be_bytes(*bytes).unbounded_shr(unused_bits).unbounded_shl(unused_bits)
}

/// Whether two labels have one name, of labels in any order.
#[cold]
fn has_name_twice<'a>(labels: impl Iterator<Item = Label<'a>>) -> bool {
    let mut names: Vec<&[u8]> = labels.flatten().map(|(name, _)| name).collect();
    names.sort_unstable();
    names.windows(2).any(|pair| pair[0] == pair[1])
}
