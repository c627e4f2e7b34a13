//! Prints what the probe sees on this machine, in Prometheus' text format.

use kymo_probe::{Probe, ProbeOptions};

fn main() {
    let mut text = String::new();
    Probe::new(&ProbeOptions::default()).collect().write_text(&mut text);
    print!("{text}");
}
