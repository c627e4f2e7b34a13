//! The documents that can be asked for, and how large they may be.
//!
//! Paths in a patch have together the square of a trace's depth. A patch that may not be sent is
//! therefore measured without them: what they would take is known.

use std::io::{self, Write};

use kymo_wire::WireError;
use serde::Serialize;

use super::compare::Comparison;
use super::patch::{self, Patch};
use super::summary::{self, Summary};
use crate::limits::{DIFF_ATTACHED_PATCH_BYTES, DIFF_MAX_ANSWER_BYTES};

const COMPOSED_VERSION: &str = "trace-summary-v0-composed";

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Format {
    /// Every difference.
    #[default]
    Patch,
    /// Where to look.
    Summary,
    /// That, and the patch if it is small.
    Composed,
}

impl Format {
    pub(super) const ALL: [Self; 3] = [Self::Patch, Self::Summary, Self::Composed];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Patch => patch::VERSION,
            Self::Summary => summary::VERSION,
            Self::Composed => COMPOSED_VERSION,
        }
    }
}

/// Why there is no document.
#[derive(Debug, thiserror::Error)]
pub(super) enum Undone {
    #[error("the stored trace cannot be read: {0}")]
    Unreadable(#[from] WireError),
    #[error("the differences cannot be written: {0}")]
    Unwritable(#[from] serde_json::Error),
    #[error(
        "the differences take {size_bytes} bytes, and at most {max_bytes} are sent; ask for the \
         format {} instead",
        summary::VERSION
    )]
    TooLarge { size_bytes: u64, max_bytes: usize },
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Composed<'c> {
    version: &'static str,
    summary: Summary<'c>,
    #[serde(skip_serializing_if = "Option::is_none")]
    patch: Option<Patch<'c>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    patch_omitted: Option<Omitted>,
}

/// A patch that is not there, rather than one that is not whole.
#[derive(Debug, Serialize)]
struct Omitted {
    bytes: u64,
    reason: &'static str,
}

/// The differences between two encoded `TracesData`, as JSON.
pub(super) fn differences(base: &[u8], compare: &[u8], format: Format) -> Result<Vec<u8>, Undone> {
    let comparison = Comparison::of(base, compare)?;
    match format {
        Format::Patch => {
            measured_patch(&comparison, DIFF_MAX_ANSWER_BYTES)?.1.into_json(DIFF_MAX_ANSWER_BYTES)
        }
        Format::Summary => written(&Summary::of(&comparison)),
        Format::Composed => written(&composed(&comparison, DIFF_ATTACHED_PATCH_BYTES)?),
    }
}

fn composed<'c>(
    comparison: &'c Comparison<'c>,
    max_patch_bytes: usize,
) -> Result<Composed<'c>, Undone> {
    let (patch, text) = measured_patch(comparison, max_patch_bytes)?;
    let bytes = text.size_bytes;
    let is_omitted = bytes > max_patch_bytes as u64;
    Ok(Composed {
        version: COMPOSED_VERSION,
        summary: Summary::of(comparison),
        patch: (!is_omitted).then_some(patch),
        patch_omitted: is_omitted.then_some(Omitted { bytes, reason: "over_budget" }),
    })
}

/// A patch, and its text if that is short enough.
fn measured_patch<'c>(
    comparison: &'c Comparison<'c>,
    max_bytes: usize,
) -> Result<(Patch<'c>, Text), Undone> {
    let path_bytes = comparison.path_bytes();
    let shows_paths = path_bytes <= max_bytes as u64;
    let patch = Patch::of(comparison, shows_paths);
    let mut text = Text::of(&patch, max_bytes)?;
    if !shows_paths {
        text.size_bytes += path_bytes;
    }
    Ok((patch, text))
}

fn written(document: &impl Serialize) -> Result<Vec<u8>, Undone> {
    Text::of(document, DIFF_MAX_ANSWER_BYTES)?.into_json(DIFF_MAX_ANSWER_BYTES)
}

/// The JSON of a document. Beyond its bound it is counted and not kept.
#[derive(Debug)]
struct Text {
    kept: Vec<u8>,
    size_bytes: u64,
    max_bytes: usize,
}

impl Text {
    fn of(document: &impl Serialize, max_bytes: usize) -> Result<Self, serde_json::Error> {
        let mut text = Self { kept: Vec::new(), size_bytes: 0, max_bytes };
        serde_json::to_writer(&mut text, document)?;
        Ok(text)
    }

    fn into_json(self, max_bytes: usize) -> Result<Vec<u8>, Undone> {
        if self.size_bytes > max_bytes as u64 {
            return Err(Undone::TooLarge { size_bytes: self.size_bytes, max_bytes });
        }
        Ok(self.kept)
    }
}

impl Write for Text {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        self.size_bytes += piece.len() as u64;
        if self.size_bytes <= self.max_bytes as u64 {
            self.kept.extend_from_slice(piece);
        } else {
            self.kept = Vec::new();
        }
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tempo::diff::fixture::{encoded, failed, span};
    use opentelemetry_proto::tonic::trace::v1::Span as Sent;
    use serde_json::Value;
    use std::time::{Duration, Instant};

    fn read(base: &[u8], compare: &[u8], format: Format) -> Value {
        serde_json::from_slice(&differences(base, compare, format).unwrap()).unwrap()
    }

    /// Each the child of the one before.
    fn chain(count: u64, name: &str) -> Vec<Sent> {
        (1..=count).map(|id| span(id, id - 1, "a", name, id, id + 1)).collect()
    }

    fn siblings(count: u64) -> Vec<Sent> {
        let root = [span(1, 0, "a", "root", 0, 1_000_000)].into_iter();
        root.chain((2..count + 2).map(|id| span(id, 1, "a", "call", id, id + 1))).collect()
    }

    /// Far more than it takes, and far less than anything quadratic.
    #[track_caller]
    fn quickly<T>(work: impl FnOnce() -> T) -> T {
        let began = Instant::now();
        let made = work();
        assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
        made
    }

    #[test]
    fn a_composed_answer_has_the_patch_up_to_its_bound() {
        let (base, compare) = (encoded(chain(3, "x")), encoded(chain(4, "x")));
        let patch = read(&base, &compare, Format::Patch);
        let answer = read(&base, &compare, Format::Composed);
        assert_eq!(answer["version"], "trace-summary-v0-composed");
        assert_eq!(answer["summary"], read(&base, &compare, Format::Summary));
        assert_eq!(answer["patch"], patch);
        assert!(answer.get("patchOmitted").is_none());

        let size = differences(&base, &compare, Format::Patch).unwrap().len();
        let comparison = Comparison::of(&base, &compare).unwrap();
        assert!(composed(&comparison, size).unwrap().patch_omitted.is_none());
        // Paths are left out only where they alone are too much.
        for max_bytes in [size - 1, 1] {
            let short = serde_json::to_value(composed(&comparison, max_bytes).unwrap()).unwrap();
            assert!(short.get("patch").is_none());
            let omitted = serde_json::json!({"bytes": size, "reason": "over_budget"});
            assert_eq!(short["patchOmitted"], omitted);
        }
    }

    #[test]
    fn many_siblings_of_one_name_are_matched_quickly() {
        let (base, mut changed) = (siblings(20_000), siblings(20_000));
        changed[20_000] = failed(changed[20_000].clone());
        let (base, compare) = (encoded(base), encoded(changed));
        let patch = quickly(|| read(&base, &compare, Format::Patch));
        assert_eq!(patch["stats"]["matchedSpans"], 20_001);
        assert_eq!(patch["stats"]["modifiedSpans"], 1);
        assert_eq!(patch["modified"][0]["span"]["path"], serde_json::json!([0, 19_999]));
    }

    #[test]
    fn many_siblings_under_other_parents_are_matched_quickly() {
        let mut moved = siblings(20_000);
        moved[0].name = "other".to_owned();
        let (base, compare) = (encoded(siblings(20_000)), encoded(moved));
        let patch = quickly(|| read(&base, &compare, Format::Patch));
        assert_eq!(patch["stats"]["matchedSpans"], 20_000);
    }

    #[test]
    fn a_chain_of_many_spans_is_compared_quickly() {
        let mut changed = chain(100_000, "x");
        changed[99_999] = failed(changed[99_999].clone());
        let (base, compare) = (encoded(chain(100_000, "x")), encoded(changed));
        let patch = quickly(|| read(&base, &compare, Format::Patch));
        assert_eq!(patch["stats"]["modifiedSpans"], 1);
        assert_eq!(patch["modified"][0]["span"]["path"].as_array().unwrap().len(), 100_000);
    }

    #[test]
    fn a_patch_that_is_too_large_is_measured_and_not_made() {
        let (base, compare) = (encoded(chain(100_000, "x")), encoded(chain(100_000, "y")));
        let refused = quickly(|| differences(&base, &compare, Format::Patch)).unwrap_err();
        let Undone::TooLarge { size_bytes, .. } = refused else { panic!("{refused}") };
        // Four paths for each level, of two bytes for each level above.
        assert!(size_bytes > 4 * 100_000 * 100_000, "{size_bytes}");
        let answer = quickly(|| read(&base, &compare, Format::Composed));
        assert_eq!(answer["patchOmitted"]["bytes"], size_bytes);
        assert_eq!(answer["summary"]["stats"]["addedSpans"], 100_000);
    }

    #[test]
    fn a_circle_of_many_spans_ends() {
        let mut circle = chain(50_000, "x");
        circle[0].parent_span_id = 50_000_u64.to_be_bytes().to_vec();
        let bytes = encoded(circle);
        let summary = quickly(|| read(&bytes, &bytes, Format::Summary));
        assert_eq!(summary["stats"]["matchedSpans"], 50_000);
    }

    #[test]
    fn damaged_bytes_are_an_error() {
        let bytes = encoded(chain(2, "x"));
        let undone = differences(&bytes, &bytes[..10], Format::Patch).unwrap_err();
        assert!(matches!(undone, Undone::Unreadable(_)), "{undone}");
    }
}
