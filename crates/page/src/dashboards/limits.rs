//! Bounds of questions about dashboards, each with its reason.

use std::time::Duration;

use kymo_dash::limits::MAX_DASHBOARD_BYTES;

/// A file of dashboards.
pub(super) const MAX_BODY_BYTES: usize = 16 << 20;
/// A question about a dashboard that is being edited, with the values that are chosen. What is read takes
/// many times its size.
pub(super) const MAX_QUESTION_BYTES: usize = MAX_DASHBOARD_BYTES + (1 << 20);
/// A question about conditions: a key, a part of a value, a time.
pub(super) const MAX_CONDITION_BYTES: usize = 64 << 10;
/// The time to make of the variables of a dashboard what they offer, beside the time for their answers.
pub(super) const VARIABLES_WITHIN: Duration = Duration::from_secs(20);
/// The time to make of the answers for a panel what it shows. The largest take a few seconds.
pub(super) const SHAPED_WITHIN: Duration = Duration::from_secs(20);
/// The time to lay a dashboard out.
pub(super) const LAID_OUT_WITHIN: Duration = Duration::from_secs(20);
/// Panels that are asked at once for one reader: more would only wait for each other.
pub(super) const PANELS_AT_ONCE: usize = 6;
/// Panels of one question. The page asks for those that are seen.
pub(super) const MAX_PANELS_ASKED: usize = 500;
/// Points of a panel, if it and the page say nothing: about the pixels of a wide screen.
pub(super) const USUAL_POINTS: i64 = 1_000;
/// Points that may be asked for.
pub(super) const MAX_POINTS_ASKED: i64 = 10_000;
/// Series of a query that are given to a panel. Nobody tells more apart, and each is a frame.
pub(super) const MAX_SERIES: usize = 5_000;
/// Points of all series of a query, each two cells: 2,000 series over a wide screen.
pub(super) const MAX_POINTS: usize = kymo_dash::limits::MAX_CELLS / 2;
/// Rows of a table that are given to a panel.
pub(super) const MAX_ROWS: usize = 100_000;
/// Traces of a search, where the query names no limit. Grafana's 20 hide what a table is about.
pub(super) const USUAL_TRACES: i64 = 1_000;
/// Spans of a trace that are shown, where the query names no limit.
pub(super) const USUAL_SPANS_PER_SET: i64 = 1_000;
/// Traces that may be asked for.
pub(super) const MAX_TRACES: i64 = 20_000;
/// Spans of one trace that a panel draws. The page of a trace shows all.
pub(super) const MAX_TRACE_SPANS: usize = 10_000;
/// Lines of logs, where the query names no limit, as Loki's 1000.
pub(super) const USUAL_LINES: i64 = 1_000;
/// Lines that may be asked for.
pub(super) const MAX_LINES: i64 = 5_000;
/// Exemplars of a panel: dots over a graph.
pub(super) const MAX_EXEMPLARS: usize = 500;
/// Dashboards of a tenant: each is read once when the list is shown.
pub(super) const MAX_DASHBOARDS: usize = 2_000;
/// Files of provisioned dashboards.
pub(super) const MAX_FILES: usize = 2_000;
/// Letters of a dashboard's id, as Grafana allows.
pub(super) const MAX_UID_CHARS: usize = 40;
/// Letters of the folder that a dashboard is listed in.
pub(super) const MAX_FOLDER_CHARS: usize = 200;
/// Letters of a title in the list: all that are listed are kept in memory.
pub(super) const MAX_LISTED_TITLE_CHARS: usize = 500;
/// Tags in the list, and letters of each.
pub(super) const MAX_LISTED_TAGS: usize = 50;
/// See [`MAX_LISTED_TAGS`].
pub(super) const MAX_LISTED_TAG_CHARS: usize = 100;
/// Letters of the note to a version.
pub(super) const MAX_MESSAGE_CHARS: usize = 500;
/// For so long a folder is not read again.
pub(super) const FOLDER_FRESH_SECS: u64 = 3;
/// Keys and values that are offered for conditions.
pub(super) const MAX_OFFERED: usize = 1_000;
/// Warnings of a query: they say the same of many series.
pub(super) const MAX_WARNINGS: usize = 10;
/// Annotations of a dashboard that are asked. Nobody reads more kinds of marks over a graph.
pub(super) const MAX_ANNOTATIONS: usize = 20;
/// Marks of all annotations: a mark is a line of some pixels.
pub(super) const MAX_MARKS: usize = 1_000;
/// For so long an annotation may take. What is marked later is looked at no more.
pub(super) const ANNOTATIONS_WITHIN_SECS: u64 = 5;
/// A time as somebody writes it, which links repeat.
pub(super) const MAX_TIME_BYTES: usize = 64;
/// Panels of a layout as JSON. A panel is written once for each copy, whatever it holds.
pub(super) const MAX_LAYOUT_BYTES: usize = 64 << 20;
