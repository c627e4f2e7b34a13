//! A node in few numbers: GPUs against the stand-in, the rest against this machine.

mod stand_in;

use std::time::{Duration, Instant};

use kymo_probe::node::{NodeOptions, NodeProbe, NodeUsage};
use rustix::time::{ClockId, clock_gettime};

use stand_in::StandIn;

fn probe(stand_in: &StandIn) -> NodeProbe {
    let nvml_library = Some(stand_in.library());
    NodeProbe::new(&NodeOptions { nvml_library, gpu_processes: true, ..NodeOptions::default() })
}

/// Polls until something is true.
fn until(probe: &mut NodeProbe, is_true: impl Fn(&NodeUsage) -> bool) -> NodeUsage {
    let deadline = Instant::now() + Duration::from_secs(30);
    loop {
        let usage = probe.poll();
        if is_true(&usage) {
            return usage;
        }
        assert!(Instant::now() < deadline, "not in time: {usage:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn ids(usage: &NodeUsage) -> Vec<u32> {
    usage.gpus.iter().map(|gpu| gpu.id).collect()
}

#[test]
fn gpus_tell_how_busy_they_are_and_who_uses_them() {
    let stand_in = StandIn::build();
    let mut probe = probe(&stand_in);
    let usage = until(&mut probe, |usage| !usage.gpus.is_empty());
    assert_eq!(ids(&usage), [0, 1], "the third fails every call");
    assert_eq!(usage.gpu_percent, Some(80.0));
    let first = &usage.gpus[0];
    assert_eq!((first.uuid.as_str(), first.name.as_str()), ("GPU-0000-0", "Stand-in H100"));
    assert_eq!(first.percent, Some(80.0));
    assert_eq!(
        (first.memory_used_bytes, first.memory_total_bytes),
        (Some(2 << 30), Some(80 << 30))
    );

    let own = usage.gpu_processes.iter().find(|process| process.pid == std::process::id());
    let own = own.expect("this process");
    assert_eq!((own.gpu_id, own.memory_used_bytes), (0, Some(1 << 30)), "in both lists, once");
    assert!(own.percent.is_some(), "{own:?}");
    let unsized_one = usage.gpu_processes.iter().find(|process| process.pid == 4_000_001);
    assert_eq!(unsized_one.expect("one that tells no size").memory_used_bytes, None);
}

#[test]
fn a_gpu_that_is_lost_is_left_out_until_it_comes_back() {
    let stand_in = StandIn::build();
    let mut probe = probe(&stand_in);
    until(&mut probe, |usage| ids(usage) == [0, 1]);
    stand_in.lose("0");
    until(&mut probe, |usage| ids(usage) == [1]);
    stand_in.lose("");
    until(&mut probe, |usage| ids(usage) == [0, 1]);
    stand_in.tell("no_driver", "");
    let usage = until(&mut probe, |usage| usage.gpus.is_empty());
    assert_eq!(usage.gpu_percent, None);
}

#[test]
fn a_driver_that_hangs_holds_up_nothing_and_its_last_answer_grows_too_old() {
    let stand_in = StandIn::build();
    let mut probe = probe(&stand_in);
    until(&mut probe, |usage| !usage.gpus.is_empty());
    stand_in.tell("hang", "");
    let began = Instant::now();
    let usage = until(&mut probe, |usage| usage.gpus.is_empty());
    assert!(began.elapsed() >= Duration::from_secs(4), "{:?}", began.elapsed());
    assert!(usage.memory_used_bytes.is_some());
    let before = Instant::now();
    drop(probe);
    assert!(before.elapsed() < Duration::from_secs(1), "the thread is not waited for");
    stand_in.tell_no_more("hang");
}

#[test]
fn this_machine_is_measured_and_a_poll_is_cheap() {
    let mut probe = NodeProbe::new(&NodeOptions { gpu: false, ..NodeOptions::default() });
    let first = probe.poll();
    assert_eq!(
        (first.cpu_percent, first.disk_read_bytes, first.net_sent_bytes),
        (None, None, None)
    );
    let usage = until(&mut probe, |usage| usage.cpu_percent.is_some());
    assert!((0.0..=100.0).contains(&usage.cpu_percent.expect("it is there")));
    assert!(usage.memory_percent.is_some_and(|percent| percent > 0.0 && percent < 100.0));
    assert!(usage.disk_write_bytes.is_some() && usage.net_recv_bytes.is_some(), "{usage:?}");

    const POLLS: u32 = 1000;
    let cpu_micros = || {
        let now = clock_gettime(ClockId::ThreadCPUTime);
        now.tv_sec * 1_000_000 + now.tv_nsec / 1000
    };
    let before = cpu_micros();
    for _ in 0..POLLS {
        probe.poll();
    }
    let each = (cpu_micros() - before) / i64::from(POLLS);
    println!("{each} µs of processor time each poll");
    assert!(each < 1000, "{each} µs: expected about 20, and at most 100 on a machine that is idle");
}
