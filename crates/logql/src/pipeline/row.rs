//! An entry on its way through a pipeline.
//!
//! The labels of the stream and the structured metadata stay where the entry has them; a row
//! remembers which of them are gone, and holds what parsers and formats made, in one text that is
//! used again for the next entry. So an entry that a filter drops has cost no memory.
//!
//! A name is looked up among what was made first: what a parser finds under a name that the entry
//! has already gets another name, so that only a format can hide a label of the entry, and means
//! to. Metadata under a name that the stream has is called `name_extracted`.

use std::borrow::Cow;
use std::ops::Range;

use crate::entry::Entry;
use crate::labels::{ERROR, ERROR_DETAILS, EXTRACTED, Labels, LabelsBuilder};
use crate::template::Lookup;

/// What became of an entry.
#[derive(Debug, Default)]
pub(crate) struct Row {
    pub(crate) labels: RowLabels,
    /// The line that a stage made.
    made_line: String,
    is_line_made: bool,
    /// Memory for the next line that is made.
    spare: String,
}

impl Row {
    /// Begins with an entry.
    pub(crate) fn begin(&mut self, entry: &Entry<'_>) {
        self.labels.begin(entry);
        self.is_line_made = false;
    }

    /// The line as it is now.
    #[inline]
    pub(crate) fn line<'a>(&'a self, entry: &Entry<'a>) -> &'a str {
        if self.is_line_made { &self.made_line } else { entry.line }
    }

    /// Lets a stage read the line and change the labels.
    pub(crate) fn with_line<T>(
        &mut self,
        entry: &Entry<'_>,
        read: impl FnOnce(&str, &mut RowLabels) -> T,
    ) -> T {
        let line = if self.is_line_made { &*self.made_line } else { entry.line };
        read(line, &mut self.labels)
    }

    /// Lets a stage make a new line of the old one; it stays if the stage says so.
    pub(crate) fn make_line(
        &mut self,
        entry: &Entry<'_>,
        make: impl FnOnce(&str, &mut RowLabels, &mut String) -> bool,
    ) {
        self.spare.clear();
        let line = if self.is_line_made { &*self.made_line } else { entry.line };
        if make(line, &mut self.labels, &mut self.spare) {
            std::mem::swap(&mut self.spare, &mut self.made_line);
            self.is_line_made = true;
        }
    }
}

/// A label that was made.
#[derive(Debug, Clone)]
struct Made {
    name: Range<usize>,
    value: Range<usize>,
}

/// The labels of a row.
#[derive(Debug, Default)]
pub(crate) struct RowLabels {
    /// Names and values of what was made.
    text: String,
    made: Vec<Made>,
    /// Which labels of the stream are gone, by their place; empty if none are.
    stream_gone: Vec<bool>,
    /// The same for structured metadata.
    metadata_gone: Vec<bool>,
    error: Cow<'static, str>,
    error_details: String,
    /// Whether a parser could not read the line.
    is_unread: bool,
    /// Whether some metadata has a name of the stream.
    has_renamed: bool,
}

impl RowLabels {
    fn begin(&mut self, entry: &Entry<'_>) {
        self.text.clear();
        self.made.clear();
        self.stream_gone.clear();
        self.metadata_gone.clear();
        self.error = Cow::Borrowed("");
        self.error_details.clear();
        self.is_unread = false;
        self.has_renamed = false;
        for (nth, &(name, value)) in entry.metadata.iter().enumerate() {
            if name.starts_with("__error") && matches!(name, ERROR | ERROR_DETAILS) {
                match name {
                    ERROR => self.error = Cow::Owned(value.to_owned()),
                    _ => value.clone_into(&mut self.error_details),
                }
                gone(&mut self.metadata_gone, entry.metadata.len(), nth);
            }
            self.has_renamed |= entry.stream.has(name);
        }
    }

    /// The error of the row; empty if there is none.
    pub(crate) fn error(&self) -> &str {
        &self.error
    }

    /// More about the error.
    pub(crate) fn error_details(&self) -> &str {
        &self.error_details
    }

    /// Sets the error.
    pub(crate) fn set_error(&mut self, error: &'static str, details: impl std::fmt::Display) {
        use std::fmt::Write as _;
        self.error = Cow::Borrowed(error);
        self.error_details.clear();
        // Writing to a string cannot fail.
        let _ = write!(self.error_details, "{details}");
    }

    /// Sets the error of a parser that could not read the line.
    pub(crate) fn set_unread(&mut self, error: &'static str, details: impl std::fmt::Display) {
        self.set_error(error, details);
        self.is_unread = true;
    }

    /// Whether a parser could not read the line.
    pub(crate) fn is_unread(&self) -> bool {
        self.is_unread
    }

    /// Takes the error away, and what was said about it.
    pub(crate) fn clear_error(&mut self) {
        self.error = Cow::Borrowed("");
        self.error_details.clear();
    }

    /// Takes away what was said about the error.
    pub(crate) fn clear_error_details(&mut self) {
        self.error_details.clear();
    }

    fn made_at(&self, name: &str) -> Option<usize> {
        self.made.iter().position(|made| &self.text[made.name.clone()] == name)
    }

    /// The value of a label, or of the error if it is named.
    pub(crate) fn get_or_error<'a>(&'a self, entry: &Entry<'a>, name: &str) -> Option<&'a str> {
        self.get(entry, name).or_else(|| {
            let text = match name {
                ERROR => self.error(),
                ERROR_DETAILS => self.error_details(),
                _ => "",
            };
            (!text.is_empty()).then_some(text)
        })
    }

    /// The value of a label. The error is none.
    pub(crate) fn get<'a>(&'a self, entry: &Entry<'a>, name: &str) -> Option<&'a str> {
        if let Some(at) = self.made_at(name) {
            return Some(&self.text[self.made[at].value.clone()]);
        }
        if let Some(at) = self.metadata_at(entry, name) {
            return entry.metadata.get(at).map(|(_, value)| *value);
        }
        let (at, value) = stream_at(entry, name)?;
        let is_there = !is_gone(&self.stream_gone, at) && !value.is_empty();
        is_there.then_some(value)
    }

    /// Where the metadata of a name is that is still there.
    fn metadata_at(&self, entry: &Entry<'_>, name: &str) -> Option<usize> {
        entry.metadata.iter().enumerate().position(|(nth, (found, _))| {
            let is_same = match self.is_renamed(entry, found) {
                true => name.strip_suffix(EXTRACTED) == Some(found),
                false => *found == name,
            };
            is_same && !is_gone(&self.metadata_gone, nth)
        })
    }

    fn is_renamed(&self, entry: &Entry<'_>, name: &str) -> bool {
        self.has_renamed && entry.stream.has(name)
    }

    /// Whether a parser has to call what it found under that name otherwise.
    pub(crate) fn is_taken(&self, entry: &Entry<'_>, name: &str) -> bool {
        entry.stream.has(name) || self.metadata_at(entry, name).is_some()
    }

    /// Whether a parser or format made a label of that name.
    pub(crate) fn is_made(&self, name: &str) -> bool {
        self.made_at(name).is_some()
    }

    /// How many labels were made.
    pub(crate) fn made_count(&self) -> usize {
        self.made.len()
    }

    /// Forgets what was made after there were so many.
    pub(crate) fn forget_made(&mut self, count: usize) {
        self.made.truncate(count);
    }

    /// Makes a label that there is not yet.
    pub(crate) fn make(&mut self, name: [&str; 2], value: &str) {
        let start = self.text.len();
        self.text.push_str(name[0]);
        self.text.push_str(name[1]);
        let middle = self.text.len();
        self.text.push_str(value);
        self.made.push(Made { name: start..middle, value: middle..self.text.len() });
    }

    /// Sets a label, whatever there is under its name.
    pub(crate) fn set(&mut self, entry: &Entry<'_>, name: &str, value: &str) {
        if let Some(at) = self.made_at(name) {
            let start = self.text.len();
            self.text.push_str(value);
            self.made[at].value = start..self.text.len();
            return;
        }
        self.hide(entry, name);
        self.make([name, ""], value);
    }

    /// Takes a label away.
    pub(crate) fn remove(&mut self, entry: &Entry<'_>, name: &str) {
        if let Some(at) = self.made_at(name) {
            self.made.remove(at);
        }
        self.hide(entry, name);
    }

    /// Takes away what the entry has under a name.
    fn hide(&mut self, entry: &Entry<'_>, name: &str) {
        if let Some((at, _)) = stream_at(entry, name) {
            gone(&mut self.stream_gone, entry.stream.len(), at);
        }
        if let Some(at) = self.metadata_at(entry, name) {
            gone(&mut self.metadata_gone, entry.metadata.len(), at);
        }
    }

    /// Keeps only the labels that pass; errors stay.
    pub(crate) fn keep(&mut self, entry: &Entry<'_>, passes: impl Fn(&str, &str) -> bool) {
        let text = &self.text;
        self.made.retain(|made| passes(&text[made.name.clone()], &text[made.value.clone()]));
        for (nth, (name, value)) in entry.stream.iter().enumerate() {
            if !passes(name, value) {
                gone(&mut self.stream_gone, entry.stream.len(), nth);
            }
        }
        for (nth, (name, value)) in entry.metadata.iter().enumerate() {
            let passes = match self.is_renamed(entry, name) {
                true => passes(&format!("{name}{EXTRACTED}"), value),
                false => passes(name, value),
            };
            if !passes {
                gone(&mut self.metadata_gone, entry.metadata.len(), nth);
            }
        }
    }

    /// Whether the labels are those of the stream and nothing else.
    pub(crate) fn is_stream_only(&self, entry: &Entry<'_>) -> bool {
        self.made.is_empty()
            && self.stream_gone.is_empty()
            && entry.metadata.is_empty()
            && self.error.is_empty()
            && self.error_details.is_empty()
    }

    /// The labels of the stream that are left.
    pub(crate) fn stream(&self, entry: &Entry<'_>) -> Labels {
        if self.stream_gone.is_empty() {
            return entry.stream.clone();
        }
        let mut builder = LabelsBuilder::default();
        for (name, value) in self.each_stream(entry) {
            builder.push(name, value);
        }
        builder.finish()
    }

    /// The structured metadata that is left.
    pub(crate) fn metadata(&self, entry: &Entry<'_>) -> Labels {
        Labels::of(self.each_metadata(entry))
    }

    /// What parsers and formats made, and the error.
    pub(crate) fn parsed(&self) -> Labels {
        Labels::of(self.each_parsed())
    }

    fn each_stream<'a>(&'a self, entry: &Entry<'a>) -> impl Iterator<Item = (&'a str, &'a str)> {
        let labels = entry.stream.iter().enumerate();
        labels.filter(|(nth, _)| !is_gone(&self.stream_gone, *nth)).map(|(_, label)| label)
    }

    fn each_metadata<'a>(
        &'a self,
        entry: &Entry<'a>,
    ) -> impl Iterator<Item = (Cow<'a, str>, &'a str)> {
        let entry = *entry;
        let labels = entry.metadata.iter().enumerate();
        labels.filter(|(nth, _)| !is_gone(&self.metadata_gone, *nth)).map(move |(_, label)| {
            match self.is_renamed(&entry, label.0) {
                true => (Cow::Owned(format!("{}{EXTRACTED}", label.0)), label.1),
                false => (Cow::Borrowed(label.0), label.1),
            }
        })
    }

    fn each_parsed(&self) -> impl Iterator<Item = (&str, &str)> {
        let made = self.made.iter();
        let made = made.map(|made| (&self.text[made.name.clone()], &self.text[made.value.clone()]));
        let error = (!self.error.is_empty()).then_some((ERROR, &*self.error));
        let details =
            (!self.error_details.is_empty()).then_some((ERROR_DETAILS, &*self.error_details));
        made.chain(error).chain(details)
    }

    /// All labels, by name.
    pub(crate) fn all<'a>(&'a self, entry: &Entry<'a>) -> Vec<(Cow<'a, str>, &'a str)> {
        let mut all: Vec<(Cow<'a, str>, &'a str)> =
            Vec::with_capacity(entry.stream.len() + entry.metadata.len() + self.made.len());
        all.extend(self.each_stream(entry).map(|(name, value)| (Cow::Borrowed(name), value)));
        let sorted = all.len();
        all.extend(self.each_metadata(entry));
        all.extend(self.each_parsed().map(|(name, value)| (Cow::Borrowed(name), value)));
        if all.len() > sorted {
            all.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        }
        all
    }

    /// For templates.
    pub(crate) fn view<'a>(&'a self, entry: &'a Entry<'a>) -> View<'a> {
        View { labels: self, entry }
    }
}

/// The labels of a row, as templates see them.
pub(crate) struct View<'a> {
    labels: &'a RowLabels,
    entry: &'a Entry<'a>,
}

impl Lookup for View<'_> {
    fn get(&self, name: &str) -> Option<Cow<'_, str>> {
        self.labels.get_or_error(self.entry, name).map(Cow::Borrowed)
    }

    fn each(&self, give: &mut dyn FnMut(&str, &str)) {
        for (name, value) in self.labels.all(self.entry) {
            give(&name, value);
        }
    }
}

fn stream_at<'a>(entry: &Entry<'a>, name: &str) -> Option<(usize, &'a str)> {
    let mut labels = entry.stream.iter().enumerate();
    labels.find(|(_, (found, _))| *found == name).map(|(at, (_, value))| (at, value))
}

fn is_gone(gone: &[bool], at: usize) -> bool {
    gone.get(at).copied().unwrap_or_default()
}

fn gone(gone: &mut Vec<bool>, count: usize, at: usize) {
    if gone.is_empty() {
        gone.resize(count, false);
    }
    if let Some(gone) = gone.get_mut(at) {
        *gone = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(row: &RowLabels, entry: &Entry<'_>) -> String {
        format!("{} {} {}", row.stream(entry), row.metadata(entry), row.parsed())
    }

    #[test]
    fn labels_of_each_kind_are_found_hidden_and_kept() {
        let stream = Labels::of([("app", "shop"), ("env", "prod")]);
        let metadata = [("app", "inner"), ("room", "north")];
        let entry =
            Entry { time_nanos: 0, sequence: 0, line: "", stream: &stream, metadata: &metadata };
        let mut row = Row::default();
        row.begin(&entry);
        let labels = &mut row.labels;
        assert_eq!(labels.get(&entry, "app"), Some("shop"));
        assert_eq!(labels.get(&entry, "app_extracted"), Some("inner"));
        assert!(labels.is_taken(&entry, "room") && labels.is_taken(&entry, "app_extracted"));
        labels.make(["room", EXTRACTED], "x");
        labels.set(&entry, "env", "dev");
        labels.set_error("SomeErr", "why");
        assert_eq!(
            shown(labels, &entry),
            r#"{app="shop"} {app_extracted="inner", room="north"} {__error__="SomeErr", __error_details__="why", env="dev", room_extracted="x"}"#
        );
        labels.remove(&entry, "app_extracted");
        labels.keep(&entry, |name, _| name.starts_with("room"));
        labels.clear_error();
        assert_eq!(shown(labels, &entry), r#"{} {room="north"} {room_extracted="x"}"#);
        row.begin(&entry);
        assert_eq!(row.labels.get(&entry, "env"), Some("prod"));
    }

    #[test]
    fn a_line_is_made_of_the_line_before() {
        let stream = Labels::default();
        let entry = Entry { time_nanos: 0, sequence: 0, line: "a", stream: &stream, metadata: &[] };
        let mut row = Row::default();
        row.begin(&entry);
        for _ in 0..2 {
            row.make_line(&entry, |line, _, out| {
                out.push_str(line);
                out.push('b');
                true
            });
        }
        row.make_line(&entry, |_, _, _| false);
        assert_eq!(row.line(&entry), "abb");
    }
}
