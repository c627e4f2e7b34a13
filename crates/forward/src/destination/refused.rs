//! What a destination refused for good: set aside, so that somebody can look at it.
//!
//! The file `<data>/forward/<destination>/refused.jsonl` has a line of JSON for each request:
//!
//! | member | what it is |
//! |---|---|
//! | `time` | when it was set aside, in milliseconds since 1970 |
//! | `signal`, `tenant` | what it carries, and whose it is |
//! | `format` | `otlp-protobuf`, `remote-write-1`, `remote-write-2`, … |
//! | `compression` | `none`, `gzip`, `zstd`, `deflate`, `snappy` |
//! | `why` | what the server said |
//! | `body` | the request in base64 |
//!
//! When it has reached [`MAX_REFUSED_FILE_BYTES`] it becomes `refused.1.jsonl`, and what had that
//! name is deleted: at most twice as much is kept. A request that cannot be written there is logged
//! and counted all the same, and does not hold up those behind it.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kymo_journal::{Compression, Format};
use serde::Serialize;

use super::file::sync_parent;
use super::outgoing::Outgoing;
use super::pack::joined;
use super::status::unix_millis;
use crate::limits::MAX_REFUSED_FILE_BYTES;

/// A request that was refused, and why.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub(crate) outgoing: Outgoing,
    pub(crate) why: String,
}

/// The file that they are set aside in.
pub(crate) struct RefusedFile {
    dir: PathBuf,
    max_bytes: u64,
}

#[derive(Serialize)]
struct Line<'a> {
    time: u64,
    signal: &'static str,
    tenant: &'a str,
    format: &'static str,
    compression: &'static str,
    why: &'a str,
    body: String,
}

impl RefusedFile {
    /// The file in the directory of a destination. Both are made when there is something to write.
    pub(crate) fn new(dir: PathBuf) -> Self {
        Self { dir, max_bytes: MAX_REFUSED_FILE_BYTES }
    }

    /// Sets a request aside.
    pub(crate) fn write(&self, refusal: &Refusal) -> io::Result<()> {
        let Outgoing { signal, tenant, format, compression, .. } = &refusal.outgoing;
        let line = Line {
            time: unix_millis(SystemTime::now()),
            signal: signal.name(),
            tenant,
            format: format_name(*format),
            compression: compression_name(*compression),
            why: &refusal.why,
            body: STANDARD.encode(joined(&refusal.outgoing.chunks())),
        };
        let mut line = serde_json::to_vec(&line)?;
        line.push(b'\n');
        fs::create_dir_all(&self.dir)?;
        let path = self.dir.join("refused.jsonl");
        let mut size_bytes = fs::metadata(&path).map_or(0, |found| found.len());
        if size_bytes > 0 && size_bytes + line.len() as u64 > self.max_bytes {
            fs::rename(&path, self.dir.join("refused.1.jsonl"))?;
            size_bytes = 0;
        }
        let mut file = private(&path)?;
        file.write_all(&line)?;
        file.sync_data()?;
        if size_bytes == 0 {
            sync_parent(&path);
        }
        Ok(())
    }
}

/// A file to append to that only its owner can read: it has what was meant for somebody else.
fn private(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.create(true).append(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

const fn format_name(format: Format) -> &'static str {
    match format {
        Format::OtlpProtobuf => "otlp-protobuf",
        Format::OtlpJson => "otlp-json",
        Format::RemoteWrite1 => "remote-write-1",
        Format::RemoteWrite2 => "remote-write-2",
        Format::Loki => "loki",
    }
}

const fn compression_name(compression: Compression) -> &'static str {
    match compression {
        Compression::None => "none",
        Compression::Gzip => "gzip",
        Compression::Zstd => "zstd",
        Compression::Deflate => "deflate",
        Compression::Snappy => "snappy",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::destination::outgoing::Part;

    #[test]
    fn refused_requests_are_kept_as_they_are_and_not_for_ever() {
        let dir = tempfile::tempdir().unwrap();
        let mut file = RefusedFile::new(dir.path().join("hub"));
        file.max_bytes = 300;
        let refusal = |byte: u8| Refusal {
            outgoing: Outgoing {
                signal: kymo_wire::Signal::Logs,
                tenant: "a".into(),
                format: Format::OtlpProtobuf,
                compression: Compression::Gzip,
                trial: Default::default(),
                parts: vec![Part { bytes: vec![byte; 90].into(), tickets: vec![1] }],
            },
            why: "no\nsuch tenant".to_owned(),
        };
        for byte in 1..=3 {
            file.write(&refusal(byte)).unwrap();
        }
        let read = |name: &str| fs::read_to_string(dir.path().join("hub").join(name));
        let newest = read("refused.jsonl").unwrap();
        let line: serde_json::Value = serde_json::from_str(&newest).unwrap();
        assert_eq!(line["why"], "no\nsuch tenant");
        assert_eq!((&line["signal"], &line["compression"]), (&"logs".into(), &"gzip".into()));
        let body = STANDARD.decode(line["body"].as_str().unwrap()).unwrap();
        assert_eq!(body, [3; 90]);
        assert_eq!(read("refused.1.jsonl").unwrap().lines().count(), 1, "the first is gone");
    }
}
