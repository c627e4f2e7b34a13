//! What the session's span says of a command, if it is one: attributes `process.*` as `kymo run`
//! writes them.
//!
//! A command tells its words and how it ended. An exit code alone does not make one: `kymo ci exec`
//! writes it too, but its command line and figures have other names, which are not read here.

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
    /// Takes in an attribute of a span, if it is one of a command.
    pub(super) fn read(slot: &mut Option<Box<Self>>, key: &[u8], value: &AnyValueView<'_>) {
        let Some(key) = key.strip_prefix(b"process.") else { return };
        let whole = || match value {
            AnyValueView::Int(number) => Some(*number),
            _ => None,
        };
        let figure: fn(&mut Self) -> &mut Option<f64> = match key {
            b"command_args" => return slot.get_or_insert_default().command = command(value),
            b"exit.code" => return slot.get_or_insert_default().exit_code = whole(),
            b"signal" => return slot.get_or_insert_default().signal = whole(),
            b"cpu_user_seconds" => |of| &mut of.cpu_user_seconds,
            b"cpu_system_seconds" => |of| &mut of.cpu_system_seconds,
            b"cores_busy" => |of| &mut of.cores_busy,
            b"tree_peak_resident_bytes" => |of| &mut of.peak_resident_bytes,
            b"tree_most_processes" => |of| &mut of.most_processes,
            b"disk_read_bytes" => |of| &mut of.disk_read_bytes,
            b"disk_write_bytes" => |of| &mut of.disk_write_bytes,
            b"net_recv_bytes" => |of| &mut of.net_recv_bytes,
            b"net_sent_bytes" => |of| &mut of.net_sent_bytes,
            b"gpu_percent" => |of| &mut of.gpu_percent,
            b"gpu_memory_max_bytes" => |of| &mut of.gpu_memory_max_bytes,
            // Many spans name a process, as with its id: nothing is made for them.
            _ => return,
        };
        *figure(slot.get_or_insert_default()) = number(value);
    }

    /// Whether it says what was run and how that ended: either alone, as any span may have it, does
    /// not make it a command.
    pub(super) fn is_command(&self) -> bool {
        self.command.is_some() && self.exit_code.is_some()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_made_for_attributes_that_are_not_read() {
        let mut slot = None;
        for key in [&b"process.pid"[..], b"process.executable.name", b"exit.code", b"process."] {
            Process::read(&mut slot, key, &AnyValueView::Int(7));
        }
        assert_eq!(slot, None);
        Process::read(&mut slot, b"process.cores_busy", &AnyValueView::Double(1.5));
        assert_eq!(slot.map(|process| process.cores_busy), Some(Some(1.5)));
    }
}
