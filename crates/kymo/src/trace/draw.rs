//! A trace as text: a line for each span, with its bar in time.
//!
//! ```text
//! NAME               SERVICE  KIND    DURATION  0 ─────────────── 1.24 s
//! GET /cart          shop     server    1.24 s  ████████████████████████
//! └─ SELECT          db       client   12.0 ms       ▏
//!      ! error: deadlock detected
//! ```

use super::id::hex;
use super::spans::Span;
use super::tree::{Node, Oddity, order};
use crate::terminal::{self, Paint};
use crate::units;

/// Levels that are drawn as such; deeper ones are numbered, or a line would grow with the depth.
const MAX_LEVELS: usize = 24;
/// The least and the most that columns get.
const NAME_COLUMNS: (usize, usize) = (12, 60);
const MAX_SERVICE_COLUMNS: usize = 24;
const DURATION_COLUMNS: usize = 9;
const BAR_COLUMNS: (usize, usize) = (10, 60);
const GAP: &str = "  ";

/// How it is to look.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Look {
    /// Width of a line.
    pub(crate) columns: usize,
    pub(crate) paint: Paint,
    pub(crate) attributes: bool,
}

/// Draws a trace, line by line.
pub(crate) fn draw(
    trace_id: &[u8],
    spans: &[Span],
    look: Look,
    mut line: impl FnMut(&str) -> bool,
) {
    let nodes = order(spans);
    let drawing = Drawing::new(spans, &nodes, look);
    let mut go_on = line(&drawing.summary(trace_id)) && line("") && line(&drawing.headings());
    let mut guides = Guides::default();
    for node in &nodes {
        guides.enter(node);
        go_on = go_on && line(&drawing.span_line(node, &guides));
        for note in drawing.notes(node) {
            go_on = go_on && line(&drawing.note_line(node, &guides, &note));
        }
        if !go_on {
            return;
        }
    }
}

struct Drawing<'a> {
    spans: &'a [Span],
    look: Look,
    start_nanos: u64,
    end_nanos: u64,
    name_columns: usize,
    service_columns: usize,
    kind_columns: usize,
    bar_columns: usize,
}

/// Something to say about a span.
enum Note {
    Error(String),
    Odd(String),
    Plain(String),
}

impl<'a> Drawing<'a> {
    fn new(spans: &'a [Span], nodes: &[Node], look: Look) -> Self {
        let start_nanos = spans.iter().map(|span| span.start_nanos).min().unwrap_or(0);
        let ends = spans.iter().map(|span| span.end_nanos.max(span.start_nanos));
        let end_nanos = ends.max().unwrap_or(0);
        let guide_columns = |node: &Node| 3 * node.depth.min(MAX_LEVELS) + level_mark(node).len();
        let name_width =
            |node: &Node| guide_columns(node) + terminal::width(&spans[node.span].name);
        let widest = |of: &dyn Fn(&Span) -> usize| spans.iter().map(of).max().unwrap_or(0);
        let service_columns = widest(&|span| terminal::width(&span.service));
        let service_columns = service_columns.max("SERVICE".len()).min(MAX_SERVICE_COLUMNS);
        let kind_columns = widest(&|span| kind(span.kind).len()).max("KIND".len());
        let fixed = service_columns + kind_columns + DURATION_COLUMNS + 4 * GAP.len();
        let free = look.columns.saturating_sub(fixed);
        // The names have what they need; the bars have the rest, and half of it at least.
        let names = nodes.iter().map(name_width).max().unwrap_or(0);
        let names = names.max("NAME".len()).min(free / 2).clamp(NAME_COLUMNS.0, NAME_COLUMNS.1);
        let bar_columns = free.saturating_sub(names).clamp(BAR_COLUMNS.0, BAR_COLUMNS.1);
        Self {
            spans,
            look,
            start_nanos,
            end_nanos,
            name_columns: names,
            service_columns,
            kind_columns,
            bar_columns,
        }
    }

    fn summary(&self, trace_id: &[u8]) -> String {
        let paint = self.look.paint;
        let services: std::collections::BTreeSet<&str> =
            self.spans.iter().map(|span| span.service.as_str()).collect();
        let errors = self.spans.iter().filter(|span| span.is_error).count();
        let counted = |count: usize, what: &str| {
            let plural = if count == 1 { "" } else { "s" };
            format!("{} {what}{plural}", units::count(count as u64))
        };
        let errors_text = counted(errors, "error");
        let errors = if errors > 0 { paint.red(&errors_text) } else { errors_text.as_str().into() };
        let start = i64::try_from(self.start_nanos).map_or_else(|_| "?".into(), units::time);
        format!(
            "{} {}  {}, {}, {errors}, {} from {start}",
            paint.bold("trace"),
            hex(trace_id),
            counted(self.spans.len(), "span"),
            counted(services.len(), "service"),
            units::nanos(i128::from(self.end_nanos - self.start_nanos)),
        )
    }

    fn headings(&self) -> String {
        let total = units::nanos(i128::from(self.end_nanos - self.start_nanos));
        let rule = self.bar_columns.saturating_sub(terminal::width(&total) + 4);
        let line = format!(
            "{}{GAP}{}{GAP}{}{GAP}{}{GAP}0 {} {total}",
            terminal::pad("NAME", self.name_columns),
            terminal::pad("SERVICE", self.service_columns),
            terminal::pad("KIND", self.kind_columns),
            terminal::pad_left("DURATION", DURATION_COLUMNS),
            "─".repeat(rule + 1),
        );
        self.look.paint.dim(&line).into_owned()
    }

    fn span_line(&self, node: &Node, guides: &Guides) -> String {
        let span = &self.spans[node.span];
        let paint = self.look.paint;
        let guide = guides.of_span(node);
        let name_columns = self.name_columns.saturating_sub(terminal::width(&guide)).max(1);
        let name = terminal::fit(&span.name, name_columns);
        let name = terminal::pad(&name, name_columns);
        let service = terminal::fit(&span.service, self.service_columns);
        let duration = i128::from(span.end_nanos) - i128::from(span.start_nanos);
        let bar = self.bar(span);
        let line = format!(
            "{}{}{GAP}{}{GAP}{}{GAP}{}{GAP}{}",
            paint.dim(&guide),
            if span.is_error { paint.red(&name) } else { name.as_str().into() },
            terminal::pad(&service, self.service_columns),
            paint.dim(&terminal::pad(kind(span.kind), self.kind_columns)),
            terminal::pad_left(&units::nanos(duration), DURATION_COLUMNS),
            if span.is_error { paint.red(&bar) } else { bar.as_str().into() },
        );
        line.trim_end().to_owned()
    }

    /// Where the span lies in the trace's time.
    fn bar(&self, span: &Span) -> String {
        let total = u128::from((self.end_nanos - self.start_nanos).max(1));
        let columns = self.bar_columns as u128;
        let column = |nanos: u64| {
            (u128::from(nanos.saturating_sub(self.start_nanos)) * columns / total) as usize
        };
        let begin = column(span.start_nanos).min(self.bar_columns - 1);
        let end = column(span.end_nanos.max(span.start_nanos)).min(self.bar_columns);
        let bar = if end > begin { "█".repeat(end - begin) } else { "▏".to_owned() };
        format!("{}{bar}", " ".repeat(begin))
    }

    fn notes(&self, node: &Node) -> Vec<Note> {
        let span = &self.spans[node.span];
        let mut notes = Vec::new();
        if span.is_error {
            let text = if span.message.is_empty() {
                "error".to_owned()
            } else {
                format!("error: {}", span.message)
            };
            notes.push(Note::Error(text));
        }
        match node.oddity {
            Some(Oddity::ParentMissing) => {
                notes.push(Note::Odd(format!("parent {} not received", hex(&span.parent_id))));
            }
            Some(Oddity::Circle) => {
                let parent = hex(&span.parent_id);
                notes.push(Note::Odd(format!("parent {parent} is below it: a circle, cut here")));
            }
            None => {}
        }
        let parent_start = node.parent.map(|parent| self.spans[parent].start_nanos);
        if let Some(early) = parent_start.and_then(|start| start.checked_sub(span.start_nanos))
            && early > 0
        {
            let early = units::nanos(i128::from(early));
            notes.push(Note::Odd(format!("starts {early} before its parent: clocks differ")));
        }
        if span.is_open {
            notes.push(Note::Odd("has not ended: drawn to what was last heard".to_owned()));
        }
        if span.end_nanos < span.start_nanos {
            notes.push(Note::Odd("ends before it starts".to_owned()));
        }
        let counts = [(span.events, "event"), (span.links, "link")];
        let counts = counts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| {
            let plural = if *count == 1 { "" } else { "s" };
            format!("{count} {what}{plural}")
        });
        let counts: Vec<String> = counts.collect();
        if !counts.is_empty() {
            notes.push(Note::Plain(counts.join(", ")));
        }
        if self.look.attributes {
            let attributes = span.attributes.iter();
            notes.extend(attributes.map(|(key, value)| Note::Plain(format!("{key} = {value}"))));
        }
        notes
    }

    fn note_line(&self, node: &Node, guides: &Guides, note: &Note) -> String {
        let paint = self.look.paint;
        let guide = guides.of_note(node);
        let free = self.look.columns.saturating_sub(terminal::width(&guide) + 2).max(20);
        let (mark, text) = match note {
            Note::Error(text) => ("!", text),
            Note::Odd(text) => ("~", text),
            Note::Plain(text) => ("·", text),
        };
        let text = format!("{mark} {}", terminal::fit(text, free));
        let text = match note {
            Note::Error(_) => paint.red(&text),
            Note::Odd(_) | Note::Plain(_) => paint.dim(&text),
        };
        format!("{}{text}", paint.dim(&guide))
    }
}

/// The lines of the tree, for each level whether more of it follows.
#[derive(Debug, Default)]
struct Guides {
    more: Vec<bool>,
}

impl Guides {
    fn enter(&mut self, node: &Node) {
        self.more.truncate(node.depth);
        self.more.push(!node.is_last);
    }

    fn of_span(&self, node: &Node) -> String {
        if node.depth == 0 {
            return String::new();
        }
        let corner = if node.is_last { "└─ " } else { "├─ " };
        format!("{}{corner}{}", self.above(node.depth), level_mark(node))
    }

    fn of_note(&self, node: &Node) -> String {
        let own = match (node.depth, node.is_last) {
            (0, _) => "",
            (_, true) => "   ",
            (_, false) => "│  ",
        };
        let below = if node.has_children { "│ " } else { "  " };
        format!("{}{own}{below}", self.above(node.depth))
    }

    /// The last levels between the roots and a span's own.
    fn above(&self, depth: usize) -> String {
        let levels = self.more.get(1..depth).unwrap_or_default();
        let levels = &levels[levels.len().saturating_sub(MAX_LEVELS - 1)..];
        levels.iter().map(|more| if *more { "│  " } else { "   " }).collect()
    }
}

/// The number of a level that is too deep to be drawn.
fn level_mark(node: &Node) -> String {
    if node.depth > MAX_LEVELS { format!("[{}] ", node.depth) } else { String::new() }
}

fn kind(kind: i32) -> &'static str {
    match kind {
        1 => "internal",
        2 => "server",
        3 => "client",
        4 => "producer",
        5 => "consumer",
        _ => "",
    }
}
