//! Records of the journal as a destination takes them: what it wants of them, in its format.
//!
//! A record of which everything goes, in the format it came in, keeps its bytes.

use bytes::Bytes;
use kymo_condition::edit::Retained;
use kymo_journal::{Compression, Entry, Format};
use kymo_wire::Signal;
use kymo_wire::remote_write::Version;

use super::pack::unpack;
use super::prometheus::{Translator, convert_version, to_otlp};
use super::selection::Selection;
use super::status::wire_signal;

/// What a record becomes.
pub(crate) enum Prepared {
    /// Nothing of it goes.
    Nothing,
    /// A request.
    Request {
        /// How it is encoded.
        format: Format,
        /// How it is packed.
        compression: Compression,
        /// Its bytes.
        bytes: Bytes,
    },
    /// Spans that wait until their traces are decided on: a request of OTLP.
    Spans(Bytes),
    /// It cannot be read.
    Damaged(String),
}

/// Prepares records for one destination.
pub(crate) struct Preparer {
    pub(crate) selection: Selection,
    /// For remote-write: its version, and what makes samples of points.
    pub(crate) remote_write: Option<(Version, Translator)>,
    /// Whether spans wait until their traces are decided on.
    pub(crate) holds_spans: bool,
}

impl Preparer {
    /// What a record becomes.
    pub(crate) fn prepare(&mut self, entry: &Entry) -> Prepared {
        let signal = wire_signal(entry.signal);
        if !self.selection.wants(signal, &entry.tenant) {
            return Prepared::Nothing;
        }
        let as_it_is = || Prepared::Request {
            format: entry.format,
            compression: entry.compression,
            bytes: entry.body.clone(),
        };
        let is_held = self.holds_spans && signal == Signal::Traces;
        if self.is_format(entry.format) && !self.selection.looks_inside(signal) && !is_held {
            return as_it_is();
        }
        let prepared = self.look_inside(entry, signal, is_held);
        match prepared {
            Ok(Some(prepared)) => prepared,
            Ok(None) => as_it_is(),
            Err(why) => Prepared::Damaged(format!("the request {why}")),
        }
    }

    /// Whether requests of a format are sent as they are.
    fn is_format(&self, format: Format) -> bool {
        match &self.remote_write {
            None => format == Format::OtlpProtobuf,
            Some((Version::One, _)) => format == Format::RemoteWrite1,
            Some((Version::Two, _)) => format == Format::RemoteWrite2,
        }
    }

    /// What a record becomes that has to be looked into; none if it stays as it is.
    fn look_inside(
        &mut self,
        entry: &Entry,
        signal: Signal,
        is_held: bool,
    ) -> Result<Option<Prepared>, String> {
        let plain = unpack(&entry.body, entry.compression).map_err(|error| error.to_string())?;
        let otlp = as_otlp(signal, entry.format, &plain)?;
        let not_otlp = |error| format!("is not OTLP: {error}");
        let retained = match self.selection.looks_inside(signal) {
            true => self.selection.select(signal, &otlp).map_err(not_otlp)?,
            false => Retained::All,
        };
        let is_whole = matches!(retained, Retained::All);
        let wanted = match retained {
            Retained::All => otlp,
            Retained::None => return Ok(Some(Prepared::Nothing)),
            Retained::Some(bytes) => bytes.into(),
        };
        if is_held {
            return Ok(Some(Prepared::Spans(wanted)));
        }
        if is_whole && self.is_format(entry.format) {
            return Ok(None);
        }
        let Some((version, translator)) = &mut self.remote_write else {
            return Ok(Some(request(Format::OtlpProtobuf, wanted)));
        };
        let format = match version {
            Version::One => Format::RemoteWrite1,
            Version::Two => Format::RemoteWrite2,
        };
        let is_other_version = matches!(entry.format, Format::RemoteWrite1 | Format::RemoteWrite2);
        let bytes = if is_whole && is_other_version {
            convert_version(&plain, *version)
        } else {
            translator.translate(&wanted, *version)
        };
        let bytes = bytes.map_err(|error| error.to_string())?;
        Ok(Some(if bytes.is_empty() { Prepared::Nothing } else { request(format, bytes.into()) }))
    }
}

fn request(format: Format, bytes: Bytes) -> Prepared {
    Prepared::Request { format, compression: Compression::None, bytes }
}

/// A request as OTLP in protobuf.
fn as_otlp(signal: Signal, format: Format, plain: &Bytes) -> Result<Bytes, String> {
    let converted = |version| to_otlp(plain, version).map(Bytes::from);
    match format {
        Format::OtlpProtobuf => Ok(plain.clone()),
        Format::OtlpJson => kymo_wire::json::decode(signal, plain)
            .map(Bytes::from)
            .map_err(|error| format!("is not OTLP: {error}")),
        Format::RemoteWrite1 => converted(Version::One).map_err(|error| error.to_string()),
        Format::RemoteWrite2 => converted(Version::Two).map_err(|error| error.to_string()),
        Format::Loki => Err("is of Loki's format, which is not forwarded".to_owned()),
    }
}
