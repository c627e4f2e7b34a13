//! The whole probe on the machine that runs the tests.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;

use kymo_probe::{Probe, ProbeOptions, Snapshot};

fn host() -> Probe {
    Probe::new(&ProbeOptions { gpu: false, ..ProbeOptions::default() })
}

/// Names of labels by family.
type Names = BTreeMap<String, BTreeSet<String>>;

fn names_of(snapshot: &Snapshot) -> Names {
    let labels = |family: &kymo_probe::Family| {
        let labels = family.samples.iter().flat_map(|sample| &sample.labels);
        labels.map(|(name, _)| (*name).to_owned()).collect()
    };
    snapshot.families.iter().map(|family| (family.name.to_string(), labels(family))).collect()
}

fn dashboards() -> Option<PathBuf> {
    Some(PathBuf::from(std::env::var_os("KYMO_TEST_DATA")?).join("dashboards"))
}

#[test]
fn what_every_linux_machine_has_is_there() {
    let snapshot = host().collect();
    for name in [
        "node_uname_info",
        "node_cpu_seconds_total",
        "node_memory_MemTotal_bytes",
        "node_load1",
        "node_boot_time_seconds",
        "node_filefd_allocated",
        "node_network_receive_bytes_total",
        "node_time_seconds",
        "node_timex_sync_status",
        "node_vmstat_pgfault",
        "node_netstat_Tcp_CurrEstab",
        "node_sockstat_TCP_alloc",
        "node_processes_threads",
        "node_tcp_connection_states",
        "process_open_fds",
        "node_scrape_collector_success",
    ] {
        assert!(snapshot.family(name).is_some(), "{name} is missing");
    }
}

#[test]
fn no_collector_fails_here_and_no_series_comes_twice() {
    let snapshot = host().collect();
    for sample in &snapshot.family("node_scrape_collector_success").unwrap().samples {
        assert_eq!(sample.value, 1.0, "{:?}", sample.labels);
    }
    for family in &snapshot.families {
        let distinct: BTreeSet<_> = family.samples.iter().map(|sample| &sample.labels).collect();
        assert_eq!(distinct.len(), family.samples.len(), "{}", family.name);
        assert!(!family.samples.is_empty() && !family.help.is_empty(), "{}", family.name);
    }
}

#[test]
fn collectors_can_be_left_out() {
    let without = ["cpu", "interrupts"].map(str::to_owned).into();
    let options = ProbeOptions { gpu: false, without, ..ProbeOptions::default() };
    let snapshot = Probe::new(&options).collect();
    assert!(snapshot.family("node_cpu_seconds_total").is_none());
    assert!(snapshot.family("node_interrupts_total").is_none());
    assert!(snapshot.family("node_load1").is_some());
}

#[test]
fn an_empty_machine_is_no_error() {
    let empty = tempfile::tempdir().unwrap();
    let options = ProbeOptions {
        proc_root: empty.path().join("proc"),
        sys_root: empty.path().join("sys"),
        root_fs: empty.path().to_owned(),
        gpu: false,
        ..ProbeOptions::default()
    };
    let snapshot = Probe::new(&options).collect();
    assert!(snapshot.family("node_uname_info").is_some());
    let failed = snapshot.value("node_scrape_collector_success", &[("collector", "cpu")]);
    assert_eq!(failed, None, "absent, not failed");
}

/// A scrape of node-exporter: the names of labels by family.
fn scraped(text: &str) -> Names {
    let mut names = Names::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let end = line.find(['{', ' ']).unwrap_or(line.len());
        let labels = names.entry(line[..end].to_owned()).or_default();
        let rest = line[end..].strip_prefix('{').and_then(|rest| rest.rsplit_once('}'));
        let mut rest = rest.map_or("", |(labels, _)| labels);
        while let Some((name, after)) = rest.split_once("=\"") {
            labels.insert(name.trim_start_matches(',').to_owned());
            let value_end = after.find("\",").map_or(after.len(), |at| at + 1);
            rest = &after[value_end..];
        }
    }
    names
}

/// Families of a default scrape that are none of a host, or that are left out on purpose.
fn is_left_out(name: &str) -> bool {
    let of_the_exporter = ["go_", "promhttp_", "node_exporter_build_info", "process_network_"];
    let on_purpose = ["node_selinux_enabled", "node_time_zone_offset_seconds"];
    of_the_exporter.iter().chain(&on_purpose).any(|prefix| name.starts_with(prefix))
}

#[test]
fn names_and_labels_are_those_of_node_exporter() {
    let Some(directory) = dashboards() else { return };
    let file = directory.join("node_exporter-1.11.1-default-scrape.txt");
    let theirs = scraped(&std::fs::read_to_string(file).unwrap());
    assert!(theirs.len() > 250, "the scrape is read");
    let ours = names_of(&host().collect());
    for (name, labels) in &theirs {
        if let Some(own) = ours.get(name) {
            assert_eq!(own, labels, "labels of {name}");
        }
    }
    let missing: Vec<&String> =
        theirs.keys().filter(|name| !ours.contains_key(*name) && !is_left_out(name)).collect();
    println!("not here: {missing:?}");
    // The machine of the scrape may have had hardware that this one lacks, but not much.
    assert!(missing.len() < 30, "{missing:?}");
}

#[test]
fn types_are_those_that_the_dashboard_was_made_for() {
    let Some(directory) = dashboards() else { return };
    let table = std::fs::read_to_string(directory.join("node_exporter_families.tsv")).unwrap();
    let snapshot = host().collect();
    let names = names_of(&snapshot);
    let mut missing = Vec::new();
    for line in table.lines().skip(1) {
        let columns: Vec<&str> = line.split('\t').collect();
        let [name, kind, labels, ..] = columns[..] else { panic!("{line}") };
        let Some(family) = snapshot.family(name) else {
            missing.push(name);
            continue;
        };
        // What node-exporter itself never shows is marked so.
        if kind == "?" {
            continue;
        }
        assert_eq!(family.kind.as_str(), kind, "type of {name}");
        let own: Vec<&str> = names[name].iter().map(String::as_str).collect();
        assert_eq!(own.join(","), labels, "labels of {name}");
    }
    println!("{} not here: {missing:?}", missing.len());
    // Sensors, cooling, power supplies, scaling of frequencies and systemd are not everywhere.
    assert!(missing.len() < 40, "{missing:?}");
}

#[test]
#[ignore = "a measurement of half a minute; run it alone, with --release --nocapture"]
fn a_collection_each_second_costs_little() {
    // As the server has it.
    let options = ProbeOptions { gpu: false, own_process: true, ..ProbeOptions::default() };
    let mut probe = Probe::new(&options);
    let samples = probe.collect().sample_count();
    let cpu_nanos = || {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
        time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
    };
    let (rounds, before) = (30_u32, cpu_nanos());
    let mut durations = BTreeMap::<String, f64>::new();
    for _ in 0..rounds {
        std::thread::sleep(Duration::from_secs(1));
        let snapshot = probe.collect();
        let family = snapshot.family("node_scrape_collector_duration_seconds").unwrap();
        for sample in &family.samples {
            *durations.entry(sample.labels[0].1.clone()).or_default() += sample.value;
        }
    }
    let cpu_millis = (cpu_nanos() - before) / 1e6 / f64::from(rounds);
    println!("{samples} samples, {cpu_millis:.2} ms of a processor for each collection");
    let mut durations: Vec<_> = durations.into_iter().map(|(name, secs)| (secs, name)).collect();
    durations.sort_by(|a, b| b.0.total_cmp(&a.0));
    for (secs, name) in durations.iter().take(12) {
        println!("{name:20} {:7.0} \u{b5}s", secs * 1e6 / f64::from(rounds));
    }
    assert!(cpu_millis < 10.0, "{cpu_millis} ms");
}
