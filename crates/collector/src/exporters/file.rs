//! The exporter `file`: OTLP as lines of JSON, rotated.

use super::add;
use crate::Translator;
use crate::document::{Map, Value};
use crate::limits::DEFAULT_ROTATION_MEGABYTES;
use crate::model::Signal;
use crate::section::Section;

pub(super) fn translate(
    mut section: Section<'_>,
    name: &str,
    signals: Vec<Signal>,
    translator: &mut Translator<'_>,
) {
    let Some(path) = section.text("path") else {
        let what = format!("{}: expected a path; there is no destination for it", section.path);
        section.notes.lost(section.at, what);
        section.finish();
        return;
    };
    let mut settings = Map::of("protocol", Value::text("file"));
    settings.set("path", Value::Text(path.value));
    if let Some(format) = section.text("format")
        && format.value != "json"
    {
        let what = format!("{}.format: lines of JSON are written", section.path);
        section.notes.lost(format.at, what);
    }
    if let Some(mut rotation) = section.section("rotation") {
        let mut rotate = Map::default();
        let megabytes =
            rotation.number("max_megabytes").map_or(DEFAULT_ROTATION_MEGABYTES, |size| size.value);
        rotate.set("max_size", Value::Word(format!("{megabytes}MiB")));
        rotate.set_some(
            "max_files",
            // Of ours, the one that is being written counts as well.
            rotation.number("max_backups").map(|files| Value::word(files.value.saturating_add(1))),
        );
        rotation.lost(&["max_days"], "old files go by their number, max_files");
        rotation.noted(&["localtime"], "names of files have no local time");
        rotation.finish();
        settings.set("rotate", rotate.into());
    }
    section.lost(&["compression"], "files are not compressed");
    section.lost(&["group_by", "encoding"], "all goes to one file, as OTLP in JSON");
    section.noted(&["append"], "a file that is there is continued");
    section.noted(&["flush_interval"], "lines are written before they count as sent");
    section.noted(&["create_directory"], "the directory has to be there");
    add(section, name, signals, settings, translator);
}
