//! What the session's span says of a command, if it is one: as `kymo run` and `kymo ci exec` write it.

use kymo_wire::{AnyValueView, array_values};
use serde::Serialize;

use super::values::{as_text, cut, number};

/// A command, and what it used with everything that it started.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Process {
    /// The command line.
    pub command: Option<String>,
    /// Its exit status.
    pub exit_code: Option<i64>,
    /// The signal that ended it.
    pub signal: Option<i64>,
    /// Time in programs.
    pub cpu_user_seconds: Option<f64>,
    /// Time in the system.
    pub cpu_system_seconds: Option<f64>,
    /// Cores that were busy in the mean.
    pub cores_busy: Option<f64>,
    /// The most memory of all its processes together.
    pub peak_resident_bytes: Option<f64>,
    /// The most processes at a time.
    pub most_processes: Option<f64>,
    /// Read from storage.
    pub disk_read_bytes: Option<f64>,
    /// Written to storage.
    pub disk_write_bytes: Option<f64>,
    /// Received by its network namespace.
    pub net_recv_bytes: Option<f64>,
    /// Sent by its network namespace.
    pub net_sent_bytes: Option<f64>,
    /// Mean use of GPUs.
    pub gpu_percent: Option<f64>,
    /// The most memory of GPUs.
    pub gpu_memory_max_bytes: Option<f64>,
}

impl Process {
    /// Takes in an attribute of a span; others than those of processes are left alone.
    pub(super) fn read(slot: &mut Option<Box<Self>>, key: &[u8], value: &AnyValueView<'_>) {
        let Some(key) = key.strip_prefix(b"process.") else { return };
        let process = slot.get_or_insert_default();
        let whole = || match value {
            AnyValueView::Int(number) => Some(*number),
            _ => None,
        };
        match key {
            b"command_args" => process.command = command(value),
            b"exit.code" => process.exit_code = whole(),
            b"signal" => process.signal = whole(),
            b"cpu_user_seconds" => process.cpu_user_seconds = number(value),
            b"cpu_system_seconds" => process.cpu_system_seconds = number(value),
            b"cores_busy" => process.cores_busy = number(value),
            b"tree_peak_resident_bytes" => process.peak_resident_bytes = number(value),
            b"tree_most_processes" => process.most_processes = number(value),
            b"disk_read_bytes" => process.disk_read_bytes = number(value),
            b"disk_write_bytes" => process.disk_write_bytes = number(value),
            b"net_recv_bytes" => process.net_recv_bytes = number(value),
            b"net_sent_bytes" => process.net_sent_bytes = number(value),
            b"gpu_percent" => process.gpu_percent = number(value),
            b"gpu_memory_max_bytes" => process.gpu_memory_max_bytes = number(value),
            _ => {}
        }
    }

    /// Whether it says how the command ended: attributes of a process alone, as any span may have
    /// them, do not make it a command.
    pub(super) fn is_command(&self) -> bool {
        self.exit_code.is_some()
    }
}

/// The words of a command, with quotes where a shell would need them.
fn command(value: &AnyValueView<'_>) -> Option<String> {
    let AnyValueView::Array(raw) = value else {
        return as_text(value).map(|text| cut(&text).to_owned());
    };
    let mut line = String::new();
    for word in array_values(raw).map_while(Result::ok) {
        let word = as_text(&word).unwrap_or_default();
        if !line.is_empty() {
            line.push(' ');
        }
        let is_plain = |c: char| c.is_alphanumeric() || "-_./:=,@%+".contains(c);
        match !word.is_empty() && word.chars().all(is_plain) {
            true => line.push_str(&word),
            false => line.push_str(&format!("'{}'", word.replace('\'', r"'\''"))),
        }
        // The rest would be cut anyway.
        if line.len() > cut(&line).len() {
            break;
        }
    }
    Some(cut(&line).to_owned()).filter(|line| !line.is_empty())
}
