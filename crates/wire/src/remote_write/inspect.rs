//! The admission check of remote-write: one validating walk over a whole request.
//!
//! What it lets pass is well-formed: every series has a metric's name and labels in order of their
//! names, in UTF-8, each once and none empty; times lie between 1970 and
//! [`Limits::max_time_unix_nanos`]; histograms are sound. If nothing is wrong the body is handed on
//! as it came, and nothing is allocated but one vector for the table of texts of a 2.0 request.
//!
//! | what is wrong | what happens |
//! |---|---|
//! | framing, wire type, labels that come to more than a request may hold | the request is refused |
//! | series without a name, with a label that has none, with a label twice, with text that is not UTF-8, with a reference to no text, with too many or too long labels | the series is refused, and all its points count |
//! | sample or histogram before 1970, too old or too late | the point is refused |
//! | histogram that is not sound ([`HistogramFault`](super::HistogramFault)) | the histogram is refused |
//! | labels that are not in order | they are put in order |
//! | label with an empty value, which means that there is no such label | it is dropped |
//! | exemplar with long labels, with text that is not UTF-8, with a reference to no text, or with a time out of range | it is dropped |
//! | metadata with the like | it is dropped |
//!
//! A series is never repaired in a way that would make another of it. Any value of a sample is
//! right, and so are samples out of order, or twice.

use std::borrow::Cow;

use super::check::Checker;
use super::{Version, rewrite};
use crate::limits::Limits;
use crate::proto::WireError;

/// How much of each a request holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Samples.
    pub samples: u64,
    /// Native histograms.
    pub histograms: u64,
    /// Exemplars.
    pub exemplars: u64,
    /// Families of metrics (1.0) or series (2.0) that something is said about.
    pub metadata: u64,
}

impl Counts {
    /// Samples and histograms.
    #[must_use]
    pub fn points(&self) -> u64 {
        self.samples + self.histograms
    }

    /// Whether there is nothing to keep.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// A request that may be kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inspected<'a> {
    /// The bytes to keep: those that came, or, if something was refused or repaired, new ones of
    /// the same version.
    pub body: Cow<'a, [u8]>,
    /// What `body` holds.
    pub counts: Counts,
    /// What was left out of `body`, for each reason how many samples and histograms; a series that
    /// has none counts as one.
    pub refused: Vec<(RefusalReason, u64)>,
    /// What was changed in `body`, for each reason how often.
    pub repaired: Vec<(RepairReason, u64)>,
}

/// Why a series, a sample or a histogram is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RefusalReason {
    /// A label is not UTF-8.
    Text,
    /// There is no label `__name__`.
    MetricName,
    /// A label has no name.
    LabelName,
    /// A label is there twice.
    LabelTwice,
    /// A label refers to a text that the request does not have.
    Reference,
    /// There are more labels than [`Limits::max_attributes`].
    Labels,
    /// A label is longer than [`Limits::max_value_bytes`], or all together are longer than
    /// [`MAX_SERIES_LABELS_BYTES`](crate::limits::MAX_SERIES_LABELS_BYTES).
    LabelLength,
    /// A time is before 1970 or after [`Limits::max_time_unix_nanos`].
    Time,
    /// A time is before [`Limits::min_point_time_unix_nanos`].
    TooOld,
    /// A histogram is not sound.
    Histogram,
}

impl RefusalReason {
    /// All reasons.
    pub const ALL: [Self; 10] = [
        Self::Text,
        Self::MetricName,
        Self::LabelName,
        Self::LabelTwice,
        Self::Reference,
        Self::Labels,
        Self::LabelLength,
        Self::Time,
        Self::TooOld,
        Self::Histogram,
    ];

    /// What was wrong, for the answer to the sender.
    #[must_use]
    pub const fn message(self) -> &'static str {
        match self {
            Self::Text => "label is not UTF-8",
            Self::MetricName => "series has no label __name__",
            Self::LabelName => "label has no name",
            Self::LabelTwice => "series has a label twice",
            Self::Reference => "label refers to a symbol that is not in the request",
            Self::Labels => "series has more labels than allowed",
            Self::LabelLength => "labels are longer than allowed",
            Self::Time => "time is before 1970 or later than allowed, by default after 2199",
            Self::TooOld => "sample is older than limits.metrics_window allows",
            Self::Histogram => "histogram is not valid",
        }
    }

    /// A word for metrics.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Text => "invalid_utf8",
            Self::MetricName => "missing_metric_name",
            Self::LabelName => "missing_label_name",
            Self::LabelTwice => "duplicate_label",
            Self::Reference => "invalid_reference",
            Self::Labels => "too_many_labels",
            Self::LabelLength => "label_too_long",
            Self::Time => "time_out_of_range",
            Self::TooOld => "too_old",
            Self::Histogram => "invalid_histogram",
        }
    }
}

/// What can be put right without refusing a series.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RepairReason {
    /// The labels of a series were not in order.
    LabelOrder,
    /// A label had an empty value and was dropped.
    EmptyLabel,
    /// An exemplar was dropped.
    Exemplar,
    /// Metadata was dropped.
    Metadata,
}

impl RepairReason {
    /// All reasons.
    pub const ALL: [Self; 4] = [Self::LabelOrder, Self::EmptyLabel, Self::Exemplar, Self::Metadata];

    /// What was done, for the answer to the sender.
    #[must_use]
    pub const fn message(self) -> &'static str {
        match self {
            Self::LabelOrder => "labels were not in order and are now",
            Self::EmptyLabel => "label without a value was dropped",
            Self::Exemplar => "exemplar with invalid labels or time was dropped",
            Self::Metadata => "metadata that is not valid was dropped",
        }
    }

    /// A word for metrics.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::LabelOrder => "labels_out_of_order",
            Self::EmptyLabel => "empty_label",
            Self::Exemplar => "invalid_exemplar",
            Self::Metadata => "invalid_metadata",
        }
    }
}

/// Checks a request. An error means that nothing of it can be kept; its offset counts from the
/// begin of the series or other part in which it was found.
pub fn inspect<'a>(
    version: Version,
    body: &'a [u8],
    limits: &Limits,
) -> Result<Inspected<'a>, WireError> {
    let mut checker = Checker::new(limits);
    match version {
        Version::One => checker.request_1(body)?,
        Version::Two => checker.request_2(body)?,
    }
    let body = match (checker.is_clean(), version) {
        (true, _) => Cow::Borrowed(body),
        (false, Version::One) => Cow::Owned(rewrite::request_1(body, limits)?),
        (false, Version::Two) => Cow::Owned(rewrite::request_2(body, limits)?),
    };
    let counted = |count: &u64| *count > 0;
    let refused = RefusalReason::ALL.into_iter().zip(checker.refused);
    let repaired = RepairReason::ALL.into_iter().zip(checker.repaired);
    Ok(Inspected {
        body,
        counts: checker.counts,
        refused: refused.filter(|(_, count)| counted(count)).collect(),
        repaired: repaired.filter(|(_, count)| counted(count)).collect(),
    })
}
