//! The exporter `file`: OTLP as lines of JSON, rotated.

use super::add;
use crate::Translator;
use crate::document::{Map, Value};
use crate::limits::{DEFAULT_BACKUPS, DEFAULT_ROTATION_MEGABYTES, MAX_ROTATED_FILES};
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
        // Zero is the default for the collector.
        let megabytes = if megabytes == 0 { DEFAULT_ROTATION_MEGABYTES } else { megabytes };
        rotate.set("max_size", Value::Word(format!("{megabytes}MiB")));
        // Of ours, the one that is being written counts as well; zero keeps all of them.
        let most = MAX_ROTATED_FILES - 1;
        let backups = match rotation.number_within("max_backups", 0, most) {
            None => DEFAULT_BACKUPS,
            Some(all) if all.value == 0 => {
                rotation.bounded("max_backups", "all", &most.to_string(), all.at);
                most
            }
            Some(backups) => backups.value,
        };
        rotate.set("max_files", Value::word(backups + 1));
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
