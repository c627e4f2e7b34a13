//! Every bound of this crate, with its reason.

use std::time::Duration;

/// How long one request may take, unless `OTEL_EXPORTER_OTLP_TIMEOUT` says otherwise: what
/// OpenTelemetry's specification has.
pub const EXPORT_TIMEOUT: Duration = Duration::from_secs(10);
/// Time for reaching a server: an address that swallows packets is not waited for as long as the
/// kernel would.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// The pause after a first failure; it doubles with each.
pub const FIRST_PAUSE: Duration = Duration::from_millis(200);
/// The longest pause.
pub const LONGEST_PAUSE: Duration = Duration::from_secs(5);
/// What is read of an answer: one of OTLP has a few dozen bytes.
pub const MAX_ANSWER_BYTES: usize = 64 << 10;
/// Characters of an answer that are quoted: enough for a sentence, not for a page.
pub const MAX_QUOTED_CHARS: usize = 500;
/// Characters of an error of the network that are quoted.
pub const MAX_CAUSE_CHARS: usize = 300;
/// Bytes of a file with certificates or a key: bundles of all public authorities have 250 KiB.
pub const MAX_CERTIFICATE_BYTES: u64 = 4 << 20;
