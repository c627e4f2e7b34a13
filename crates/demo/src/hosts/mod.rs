//! The machines that everything runs on, as node-exporter and dcgm-exporter tell of them.
//!
//! Names and labels are those of the exporters, and of the server's own probe: dashboards that were
//! made for them show these machines.

mod gpu;
mod node;

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

#[derive(Debug)]
pub(crate) struct Hosts {
    random: Random,
    start_nanos: u64,
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
    pub(crate) fn new(mut random: Random, start_nanos: u64) -> Self {
        let host = |(name, work, memory_gib, gpus): (&'static str, Work, f64, usize)| Host {
            node: Node::new(name, work, memory_gib, random.unit()),
            node_resource: resource("node", name, 9_100),
            gpus: (0..gpus).map(|number| Gpu::new(name, number, &mut random)).collect(),
            gpu_resource: resource("dcgm", name, 9_400),
        };
        let hosts = HOSTS.into_iter().map(host).collect();
        Self { random, start_nanos, next_nanos: start_nanos, hosts }
    }

    pub(crate) fn advance(&mut self, to_nanos: u64, batch: &mut Batch) {
        while self.next_nanos <= to_nanos {
            let (start_nanos, nanos) = (self.start_nanos, self.next_nanos);
            let seconds = METRICS_EVERY as f64 / 1e9;
            for host in &mut self.hosts {
                let writer = batch.metrics(&host.node_resource, "node_exporter");
                let points = Points { writer, start_nanos, nanos };
                host.node.tell(points, seconds, &mut self.random);
                for gpu in &mut host.gpus {
                    let writer = batch.metrics(&host.gpu_resource, "dcgm-exporter");
                    let points = Points { writer, start_nanos, nanos };
                    gpu.tell(points, seconds, nanos - start_nanos, &mut self.random);
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
