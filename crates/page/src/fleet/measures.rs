//! What is asked of machines: expressions of PromQL over the names of node-exporter and dcgm-exporter.
//! In an expression `$host` stands for the condition on the host.

/// A figure of hosts or of GPUs.
pub(super) struct Measure {
    pub(super) name: &'static str,
    /// A unit as dashboards name it.
    pub(super) unit: &'static str,
    pub(super) expression: &'static str,
}

const fn measure(name: &'static str, unit: &'static str, expression: &'static str) -> Measure {
    Measure { name, unit, expression }
}

/// Figures of a host, one for each `instance`.
pub(super) const OF_HOSTS: [Measure; 9] = [
    measure(
        "cpu",
        "percentunit",
        "1 - avg by (instance) (rate(node_cpu_seconds_total{mode=\"idle\"$host}[2m]))",
    ),
    measure(
        "memory",
        "percentunit",
        "1 - node_memory_MemAvailable_bytes{instance!=\"\"$host} \
         / node_memory_MemTotal_bytes{instance!=\"\"$host}",
    ),
    measure("memory_total", "bytes", "node_memory_MemTotal_bytes{instance!=\"\"$host}"),
    measure("load", "short", "node_load1{instance!=\"\"$host}"),
    measure("cores", "short", "count by (instance) (node_cpu_seconds_total{mode=\"idle\"$host})"),
    measure(
        "filesystem",
        "percentunit",
        "max by (instance) (1 - node_filesystem_avail_bytes{fstype!~\"tmpfs|ramfs|overlay|squashfs\"$host} \
         / node_filesystem_size_bytes{fstype!~\"tmpfs|ramfs|overlay|squashfs\"$host})",
    ),
    measure(
        "disk",
        "Bps",
        "sum by (instance) (rate(node_disk_read_bytes_total{instance!=\"\"$host}[2m])) \
         + sum by (instance) (rate(node_disk_written_bytes_total{instance!=\"\"$host}[2m]))",
    ),
    measure(
        "network",
        "Bps",
        "sum by (instance) (rate(node_network_receive_bytes_total{device!=\"lo\"$host}[2m])) \
         + sum by (instance) (rate(node_network_transmit_bytes_total{device!=\"lo\"$host}[2m]))",
    ),
    measure("booted", "dateTimeAsIso", "node_boot_time_seconds{instance!=\"\"$host}"),
];

/// Figures of a GPU.
pub(super) const OF_GPUS: [Measure; 8] = [
    measure("utilisation", "percent", "DCGM_FI_DEV_GPU_UTIL{gpu!=\"\"$host}"),
    measure("memory_used", "decmbytes", "DCGM_FI_DEV_FB_USED{gpu!=\"\"$host}"),
    measure("memory_free", "decmbytes", "DCGM_FI_DEV_FB_FREE{gpu!=\"\"$host}"),
    measure("power", "watt", "DCGM_FI_DEV_POWER_USAGE{gpu!=\"\"$host}"),
    measure("temperature", "celsius", "DCGM_FI_DEV_GPU_TEMP{gpu!=\"\"$host}"),
    measure("clock", "hertz", "DCGM_FI_DEV_SM_CLOCK{gpu!=\"\"$host} * 1000000"),
    measure("tensor", "percentunit", "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE{gpu!=\"\"$host}"),
    measure("xid", "short", "DCGM_FI_DEV_XID_ERRORS{gpu!=\"\"$host}"),
];

/// An expression for all hosts, or for those that a condition (`, instance=~"…"`) names.
pub(super) fn of(expression: &str, condition: &str) -> String {
    expression.replace("$host", condition)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_expression_can_be_read_with_and_without_a_condition() {
        for measure in OF_HOSTS.iter().chain(&OF_GPUS) {
            for condition in ["", ", instance=~\"a\""] {
                let query = of(measure.expression, condition);
                kymo_promql::parser::parse(&query).unwrap_or_else(|why| panic!("{query}: {why}"));
            }
        }
    }
}
