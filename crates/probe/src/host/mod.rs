//! The host: one collector for each subject of the kernel, with node-exporter's names.
//!
//! All that the dashboard "Node Exporter Full" shows is here but systemd's units, which would need
//! its bus.

mod clock;
mod conntrack;
mod cpu;
mod disk;
mod filesystem;
mod hwmon;
mod identity;
mod interrupts;
mod kernel;
mod memory;
mod mounts;
mod netclass;
mod netdev;
mod netstat;
mod own;
mod power;
mod pressure;
mod processes;
mod slow_mounts;
mod sockets;
mod softnet;
mod thermal;

pub(crate) use self::disk::is_partition_or_loop;
use crate::options::ProbeOptions;
use crate::probe::Collector;

/// All collectors of the host.
pub(crate) fn collectors(options: &ProbeOptions) -> Vec<Box<dyn Collector>> {
    let (proc, sys, root) = (&options.proc_root, &options.sys_root, &options.root_fs);
    vec![
        Box::new(identity::Uname),
        Box::new(identity::Os::new(root)),
        Box::new(identity::Dmi::new(sys)),
        Box::new(cpu::Cpu::new(proc)),
        Box::new(cpu::CpuFrequency::new(sys)),
        Box::new(kernel::Stat::new(proc)),
        Box::new(kernel::LoadAverages::new(proc)),
        Box::new(kernel::FileDescriptors::new(proc)),
        Box::new(kernel::Entropy::new(proc)),
        Box::new(kernel::HungTasks::new(proc)),
        Box::new(kernel::SchedulerStatistics::new(proc)),
        Box::new(interrupts::Interrupts::new(proc)),
        Box::new(pressure::Pressure::new(proc)),
        Box::new(memory::MemoryInfo::new(proc)),
        Box::new(memory::VirtualMemory::new(proc)),
        Box::new(disk::Disks::new(proc, sys)),
        Box::new(filesystem::FileSystems::new(proc, root)),
        Box::new(netdev::NetDevices::new(proc, sys)),
        Box::new(netclass::NetClass::new(sys)),
        Box::new(netstat::NetStatistics::new(proc)),
        Box::new(sockets::SocketStatistics::new(proc)),
        Box::new(sockets::TcpStates::new(proc)),
        Box::new(sockets::UdpQueues::new(proc)),
        Box::new(softnet::Softnet::new(proc)),
        Box::new(softnet::Arp::new(proc)),
        Box::new(conntrack::Conntrack::new(proc)),
        Box::new(processes::Processes::new(proc)),
        Box::new(clock::Time::new(sys)),
        Box::new(clock::Timex),
        Box::new(hwmon::Hwmon::new(sys)),
        Box::new(thermal::Thermal::new(sys)),
        Box::new(power::PowerSupplies::new(sys)),
        Box::new(own::OwnProcess::new(proc)),
        Box::new(own::TextFiles),
    ]
}

/// Small trees of files in place of `/proc` and `/sys`.
#[cfg(test)]
pub(crate) mod fixture {
    use std::path::Path;

    use crate::model::{Builder, Snapshot};
    use crate::probe::Collector;

    /// A directory that is removed when it is dropped.
    pub(crate) struct Tree(tempfile::TempDir);

    impl Tree {
        pub(crate) fn new(files: &[(&str, &str)]) -> Self {
            let tree = Self(tempfile::tempdir().unwrap());
            files.iter().for_each(|(path, content)| tree.write(path, content));
            tree
        }

        pub(crate) fn write(&self, path: &str, content: &str) {
            let path = self.0.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, content).unwrap();
        }

        pub(crate) fn path(&self) -> &Path {
            self.0.path()
        }
    }

    /// What a collector finds; it must not fail.
    pub(crate) fn collect(collector: &mut dyn Collector) -> Snapshot {
        let mut builder = Builder::new();
        collector.collect(&mut builder).unwrap();
        builder.finish()
    }

    /// Whether a collector says that its subject is not there.
    pub(crate) fn is_absent(collector: &mut dyn Collector) -> bool {
        let mut builder = Builder::new();
        let result = collector.collect(&mut builder);
        result.is_err_and(|e| e.is_absent()) && builder.finish().families.is_empty()
    }
}
