//! The machines that everything runs on, as node-exporter and dcgm-exporter tell of them.
//!
//! Names and labels are those of the exporters, and of the server's own probe: dashboards that were
//! made for them show these machines.
//!
//! What a machine tells is a function of the time alone. A demo that is started again tells the same of
//! the same time, and its counters go on.

mod gpu;
mod node;

use crate::SECOND;
use crate::batch::Batch;
use crate::limits::METRICS_EVERY;
use crate::metric::Points;
use crate::random::Random;
use crate::record::Resource;
use gpu::Gpu;
use node::{Node, Work};

/// Name, what it is for, memory in GiB, GPUs.
const HOSTS: [(&str, Work, f64, usize); 7] = [
    ("shop-1", Work::Serving, 32.0, 0),
    ("shop-2", Work::Serving, 32.0, 0),
    ("shop-3", Work::Serving, 32.0, 0),
    ("gpu-1", Work::Training, 512.0, 4),
    ("gpu-2", Work::Training, 512.0, 4),
    ("hpc-1", Work::Computing, 128.0, 0),
    ("hpc-2", Work::Computing, 64.0, 0),
];

/// Machines are started again once in so long, and their counters with them.
const REBOOT_EVERY: u64 = 64 * 86_400 * SECOND;

#[derive(Debug)]
pub(crate) struct Hosts {
    next_nanos: u64,
    hosts: Vec<Host>,
}

#[derive(Debug)]
struct Host {
    node: Node,
    node_resource: Resource,
    gpus: Vec<Gpu>,
    gpu_resource: Resource,
}

impl Hosts {
    pub(crate) fn new(seed: u64, start_nanos: u64) -> Self {
        let mut random = Random::new(seed);
        let host = |(name, work, memory_gib, gpus): (&'static str, Work, f64, usize)| Host {
            node: Node::new(name, work, memory_gib, random.unit()),
            node_resource: resource("node", name, 9_100),
            gpus: (0..gpus).map(|number| Gpu::new(name, number, &mut random)).collect(),
            gpu_resource: resource("dcgm", name, 9_400),
        };
        let hosts = HOSTS.into_iter().map(host).collect();
        // On a grid, so that two demos tell of the same moments.
        Self { next_nanos: start_nanos.next_multiple_of(METRICS_EVERY), hosts }
    }

    pub(crate) fn advance(&mut self, to_nanos: u64, batch: &mut Batch) {
        while self.next_nanos <= to_nanos {
            let nanos = self.next_nanos;
            let start_nanos = nanos - nanos % REBOOT_EVERY;
            for (number, host) in (0_u64..).zip(&self.hosts) {
                let mut random = Random::new(nanos ^ (number << 56));
                let writer = batch.metrics(&host.node_resource, "node_exporter");
                host.node.tell(Points { writer, start_nanos, nanos }, &mut random);
                for gpu in &host.gpus {
                    let writer = batch.metrics(&host.gpu_resource, "dcgm-exporter");
                    gpu.tell(Points { writer, start_nanos, nanos }, &mut random);
                }
            }
            self.next_nanos += METRICS_EVERY;
        }
    }
}

/// A target of an exporter: job and instance are made of it.
fn resource(job: &str, host: &str, port: u16) -> Resource {
    Resource::of(&[
        ("service.name", job),
        ("service.instance.id", &format!("{host}:{port}")),
        ("host.name", host),
        ("server.address", host),
        ("server.port", &port.to_string()),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_demos_tell_the_same_of_the_same_moment() {
        let moment = 120_000_000 * METRICS_EVERY;
        let told = |start_nanos: u64| {
            let mut hosts = Hosts::new(1, start_nanos);
            hosts.advance(moment - 1, &mut Batch::default());
            let mut batch = Batch::default();
            hosts.advance(moment, &mut batch);
            batch.finish()
        };
        assert_eq!(told(moment - 7 * METRICS_EVERY + 1), told(moment));
    }
}
