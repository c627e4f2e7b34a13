//! The receiver `hostmetrics`: the probe, whose names are node-exporter's.

use std::time::Duration;

use crate::document::Value;
use crate::limits::MIN_PROBE_INTERVAL_MILLIS;
use crate::output::Output;
use crate::section::Section;

pub(super) fn translate(mut section: Section<'_>, out: &mut Output) {
    out.probe.set("enabled", Value::word(true));
    let least = Duration::from_millis(MIN_PROBE_INTERVAL_MILLIS);
    let interval = section.duration_within("collection_interval", least, Duration::MAX);
    if let Some(interval) = interval {
        out.probe.set("interval", Value::Word(interval.value));
    } else {
        out.probe.set_with("interval", Value::word("1m"), "the collector's default");
    }
    let what = format!(
        "{}: probe, which tells more, under the names of node-exporter (system.cpu.time is \
         node_cpu_seconds_total) and not by scraper",
        section.path
    );
    section.notes.noted(section.at, what);
    if let Some(mut scrapers) = section.section("scrapers") {
        let all: Vec<_> = scrapers.take_all();
        for entry in all {
            let scraper = Section::of(&scrapers.path, entry, section.notes);
            match entry.key.as_str() {
                "process" => processes(scraper, out),
                "cpu" | "disk" | "load" | "filesystem" | "memory" | "network" | "paging"
                | "processes" | "system" | "nfs" => narrowed(scraper),
                _ => {
                    let what = format!("{}: there is no such scraper", scraper.path);
                    section.notes.lost(entry.key_at, what);
                }
            }
        }
    }
    section.noted(&["initial_delay", "metadata_collection_interval"], "the probe begins at once");
    section.lost(&["root_path"], "the probe looks at the machine as it sees it");
    section.finish();
}

/// Settings that would leave something out.
fn narrowed(mut scraper: Section<'_>) {
    scraper.noted(&["metrics"], "the probe tells all that it knows");
    for entry in scraper.take_all() {
        let what = format!("{}.{}: the probe tells all that it knows", scraper.path, entry.key);
        scraper.notes.noted(entry.key_at, what);
    }
}

/// Processes are told by name.
fn processes(mut scraper: Section<'_>, out: &mut Output) {
    let mut names = Vec::new();
    if let Some(mut include) = scraper.section("include") {
        let found = include.texts("names");
        let is_strict = include.text("match_type").is_some_and(|kind| kind.value == "strict");
        if is_strict {
            names.extend(found.into_iter().map(|name| name.value));
        } else {
            let what =
                format!("{}: processes are named one by one in probe.processes", include.path);
            include.notes.lost(include.at, what);
        }
        include.finish();
    }
    if names.is_empty() {
        let what = format!("{}: name the processes to tell of in probe.processes", scraper.path);
        scraper.notes.lost(scraper.at, what);
    } else {
        out.probe.set("processes", Value::texts(names));
    }
    scraper.noted(
        &[
            "metrics",
            "mute_process_name_error",
            "mute_process_exe_error",
            "mute_process_io_error",
            "mute_process_user_error",
            "mute_process_cgroup_error",
            "mute_process_all_errors",
            "scrape_process_delay",
            "resource_attributes",
        ],
        "the probe tells what it may read",
    );
    scraper.finish();
}
