//! GPUs, against a stand-in for NVIDIA's library that is built here and loaded as the real one is.

mod stand_in;

use std::time::Duration;

use kymo_probe::{Kind, Probe, ProbeOptions, Snapshot};

use stand_in::StandIn;

fn options(stand_in: &StandIn) -> ProbeOptions {
    ProbeOptions {
        host: false,
        nvml_library: Some(stand_in.library()),
        hostname: Some("here".to_owned()),
        ..ProbeOptions::default()
    }
}

fn of(snapshot: &Snapshot, gpu: &str, name: &str) -> Option<f64> {
    snapshot.value(name, &[("gpu", gpu)])
}

#[test]
fn a_gpu_that_fails_every_call_does_not_hide_the_others() {
    let stand_in = StandIn::build();
    let mut probe = Probe::new(&options(&stand_in));
    let first = probe.collect();
    let second = probe.collect();

    assert_eq!(of(&first, "0", "DCGM_FI_DEV_SM_CLOCK"), Some(1000.0));
    assert_eq!(of(&first, "1", "DCGM_FI_DEV_MEM_CLOCK"), Some(2001.0));
    assert_eq!(of(&first, "1", "DCGM_FI_DEV_GPU_TEMP"), Some(41.0));
    assert_eq!(of(&first, "0", "DCGM_FI_DEV_MEMORY_TEMP"), Some(55.0));
    assert_eq!(of(&first, "0", "DCGM_FI_DEV_POWER_USAGE"), Some(250.5));
    assert_eq!(of(&first, "0", "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION"), Some(123_456_789_012.0));
    assert_eq!(of(&first, "0", "DCGM_FI_DEV_GPU_UTIL"), Some(80.0));
    assert_eq!(of(&first, "0", "DCGM_FI_DEV_FB_USED"), Some(2048.0));
    assert_eq!(of(&first, "0", "DCGM_FI_DEV_FB_FREE"), Some(78_848.0));
    assert_eq!(of(&first, "0", "DCGM_FI_DEV_FB_RESERVED"), Some(1024.0));
    assert_eq!(of(&first, "0", "DCGM_FI_DEV_CORRECTABLE_REMAPPED_ROWS"), Some(2.0));
    assert_eq!(of(&first, "0", "DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS"), Some(1.0));
    assert_eq!(of(&first, "0", "DCGM_FI_DEV_DEC_UTIL"), Some(6.0));
    assert_eq!(of(&first, "1", "DCGM_FI_DEV_DEC_UTIL"), None, "one call failed, not the GPU");
    assert_eq!(of(&first, "1", "DCGM_FI_DEV_ENC_UTIL"), Some(5.0));

    assert_eq!(of(&second, "2", "DCGM_FI_DEV_GPU_TEMP"), None);
    assert_eq!(of(&second, "2", "kymo_gpu_errors_total"), Some(2.0));
    assert_eq!(of(&second, "0", "kymo_gpu_errors_total"), Some(0.0));
    let success = second.value("node_scrape_collector_success", &[("collector", "gpu")]);
    assert_eq!(success, Some(1.0));
}

#[test]
fn labels_and_types_are_those_of_dcgm_exporter() {
    let stand_in = StandIn::build();
    let snapshot = Probe::new(&options(&stand_in)).collect();
    let family = snapshot.family("DCGM_FI_DEV_GPU_TEMP").unwrap();
    let expected = [
        ("gpu", "0"),
        ("UUID", "GPU-0000-0"),
        ("pci_bus_id", "00000000:00:00.0"),
        ("device", "nvidia0"),
        ("modelName", "Stand-in H100"),
        ("hostname", "here"),
        ("DCGM_FI_DRIVER_VERSION", "999.42.01"),
    ];
    assert_eq!(family.samples[0].labels, expected.map(|(n, v)| (n, v.to_owned())));
    assert_eq!(family.kind, Kind::Gauge);
    let kind = |name| snapshot.family(name).unwrap().kind;
    assert_eq!(kind("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION"), Kind::Counter);
    assert_eq!(kind("DCGM_FI_DEV_PCIE_REPLAY_COUNTER"), Kind::Counter);
    assert_eq!(kind("DCGM_FI_DEV_XID_ERRORS"), Kind::Gauge);
    assert_eq!(of(&snapshot, "0", "DCGM_FI_DEV_VGPU_LICENSE_STATUS"), Some(0.0));
}

#[test]
fn activity_comes_from_the_monitor_or_else_from_what_is_nearest() {
    let stand_in = StandIn::build();
    let mut probe = Probe::new(&options(&stand_in));
    let first = probe.collect();
    assert_eq!(of(&first, "0", "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE"), None, "one sample is no span");
    for _ in 0..50 {
        probe.collect();
    }
    let later = probe.collect();
    assert_eq!(of(&later, "0", "DCGM_FI_PROF_GR_ENGINE_ACTIVE"), Some(0.75));
    assert_eq!(of(&later, "0", "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE"), Some(0.25));
    assert_eq!(of(&later, "0", "DCGM_FI_PROF_DRAM_ACTIVE"), Some(0.125));
    assert_eq!(of(&later, "0", "DCGM_FI_PROF_PCIE_TX_BYTES"), Some(2_097_152.0));
    assert_eq!(of(&later, "0", "DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL"), Some(210.0));
    assert_eq!(of(&later, "1", "DCGM_FI_PROF_GR_ENGINE_ACTIVE"), Some(0.8));
    assert_eq!(of(&later, "1", "DCGM_FI_PROF_DRAM_ACTIVE"), Some(0.3));
    assert_eq!(of(&later, "1", "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE"), None);
    assert!(of(&later, "1", "DCGM_FI_PROF_PCIE_RX_BYTES").unwrap() > 0.0);
}

#[test]
fn a_monitor_that_takes_no_samples_is_replaced_by_what_is_nearest() {
    let stand_in = StandIn::build();
    stand_in.tell("no_samples", "");
    let mut probe = Probe::new(&options(&stand_in));
    probe.collect();
    let snapshot = probe.collect();
    assert_eq!(of(&snapshot, "0", "DCGM_FI_PROF_GR_ENGINE_ACTIVE"), Some(0.8));
    assert_eq!(of(&snapshot, "0", "DCGM_FI_PROF_DRAM_ACTIVE"), Some(0.3));
    assert!(of(&snapshot, "0", "DCGM_FI_PROF_PCIE_TX_BYTES").unwrap() > 0.0);
    assert_eq!(of(&snapshot, "0", "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE"), None);
}

#[test]
fn errors_of_the_driver_are_kept_and_instances_and_processes_told_apart() {
    let stand_in = StandIn::build();
    let mut probe = Probe::new(&options(&stand_in));
    probe.collect();
    let snapshot = probe.collect();
    let text = ("err_msg", "GPU has fallen off the bus");
    let xid = snapshot.value("DCGM_FI_DEV_XID_ERRORS", &[("gpu", "0"), ("err_code", "79"), text]);
    assert_eq!(xid, Some(79.0), "told once, kept");
    let none = [("gpu", "1"), ("err_code", "0"), ("err_msg", "no error")];
    assert_eq!(snapshot.value("DCGM_FI_DEV_XID_ERRORS", &none), Some(0.0));

    let used = snapshot.family("DCGM_FI_DEV_FB_USED").unwrap();
    let instances: Vec<_> = used.samples.iter().filter(|s| s.labels.len() == 9).collect();
    assert_eq!(instances.len(), 2, "two that share a GPU instance are one");
    let labels = [("gpu", "1"), ("GPU_I_PROFILE", "1g.5gb"), ("GPU_I_ID", "7")];
    assert_eq!(snapshot.value("DCGM_FI_DEV_FB_USED", &labels), Some(2048.0));
    assert_eq!(snapshot.value("DCGM_FI_DEV_FB_FREE", &labels), Some(2048.0));
    for name in ["DCGM_FI_DEV_FB_USED", "DCGM_FI_DEV_FB_FREE", "DCGM_FI_DEV_FB_RESERVED"] {
        let samples = &snapshot.family(name).unwrap().samples;
        let of_whole: Vec<_> = samples.iter().filter(|s| s.labels.len() == 7).collect();
        assert_eq!(of_whole.len(), 1, "{name} of the divided GPU is that of its instances");
        assert_eq!(of_whole[0].labels[0].1, "0");
    }

    let memory = snapshot.family("kymo_gpu_process_memory_bytes").unwrap();
    assert_eq!(memory.samples.len(), 2, "one that tells no size is left out");
    let own = std::process::id().to_string();
    let labels = [("gpu", "0"), ("UUID", "GPU-0000-0"), ("pid", own.as_str())];
    let bytes = snapshot.value("kymo_gpu_process_memory_bytes", &labels);
    assert_eq!(bytes, Some(f64::from(1 << 30)), "in both lists, counted once");
    let unnamed = [("pid", "4000000"), ("process", "")];
    assert_eq!(snapshot.value("kymo_gpu_process_memory_bytes", &unnamed), Some(7.0));
}

#[test]
fn a_gpu_that_is_lost_is_counted_and_seen_when_it_comes_back() {
    let stand_in = StandIn::build();
    let mut probe = Probe::new(&options(&stand_in));
    probe.collect();
    stand_in.lose("0");
    for errors in [1.0, 2.0] {
        let snapshot = probe.collect();
        assert_eq!(of(&snapshot, "0", "kymo_gpu_errors_total"), Some(errors));
        assert_eq!(of(&snapshot, "0", "DCGM_FI_DEV_GPU_TEMP"), None);
        assert_eq!(of(&snapshot, "1", "DCGM_FI_DEV_GPU_TEMP"), Some(41.0));
    }
    stand_in.lose("");
    let snapshot = probe.collect();
    assert_eq!(of(&snapshot, "0", "DCGM_FI_DEV_GPU_TEMP"), Some(40.0));
    assert_eq!(of(&snapshot, "0", "kymo_gpu_errors_total"), Some(2.0));
}

#[test]
fn the_error_with_which_a_gpu_is_lost_is_told_while_it_is_lost() {
    let stand_in = StandIn::build();
    let mut probe = Probe::new(&options(&stand_in));
    let xid = |snapshot: &Snapshot| of(snapshot, "0", "DCGM_FI_DEV_XID_ERRORS");
    assert_eq!(xid(&probe.collect()), Some(79.0));
    stand_in.lose("0");
    stand_in.tell("xid", "0 48");
    assert_eq!(xid(&probe.collect()), Some(48.0));
    let snapshot = probe.collect();
    let labels = [("gpu", "0"), ("UUID", "GPU-0000-0"), ("err_msg", "memory error of two bits")];
    assert_eq!(snapshot.value("DCGM_FI_DEV_XID_ERRORS", &labels), Some(48.0));
    assert_eq!(of(&snapshot, "0", "DCGM_FI_DEV_GPU_TEMP"), None);
    stand_in.tell("xid", "0 79");
    assert_eq!(xid(&probe.collect()), Some(79.0), "one that comes after the loss");
    stand_in.lose("");
    assert_eq!(xid(&probe.collect()), Some(79.0), "kept when it comes back");
}

fn success(snapshot: &Snapshot) -> Option<f64> {
    snapshot.value("node_scrape_collector_success", &[("collector", "gpu")])
}

#[test]
fn a_driver_that_is_loaded_later_is_found_and_one_that_is_loaded_anew_taken_up_again() {
    let stand_in = StandIn::build();
    stand_in.tell("no_driver", "");
    let retry = Duration::from_millis(200);
    let mut probe = Probe::new(&ProbeOptions { nvml_retry: retry, ..options(&stand_in) });
    assert!(probe.collect().families.is_empty(), "absent, not failed");
    stand_in.tell_no_more("no_driver");
    assert!(probe.collect().families.is_empty(), "not looked for each time");
    std::thread::sleep(retry);
    assert_eq!(of(&probe.collect(), "0", "DCGM_FI_DEV_GPU_TEMP"), Some(40.0));

    stand_in.tell("no_driver", "");
    let snapshot = probe.collect();
    assert_eq!((success(&snapshot), snapshot.families.len()), (Some(0.0), 2));
    assert!(snapshot.ended.iter().any(|series| series.name == "DCGM_FI_DEV_GPU_TEMP"));
    stand_in.tell_no_more("no_driver");
    let snapshot = probe.collect();
    assert_eq!(of(&snapshot, "0", "DCGM_FI_DEV_GPU_TEMP"), Some(40.0), "begun anew at once");
    assert_eq!(success(&snapshot), Some(1.0));
}

#[test]
fn no_library_means_no_metrics_and_no_error() {
    let options = ProbeOptions {
        host: false,
        nvml_library: Some("/nowhere/libnvidia-ml.so.1".into()),
        ..ProbeOptions::default()
    };
    let mut probe = Probe::new(&options);
    for _ in 0..2 {
        assert!(probe.collect().families.is_empty());
    }
}
