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
/// The longest pause of a destination, unless it asks for more: it may be down for hours, and should
/// be found soon when it is back.
pub const LONGEST_DESTINATION_PAUSE: Duration = Duration::from_secs(30);
/// The longest pause that a server is granted: one that asks for a day would be forgotten.
pub const LONGEST_ASKED_PAUSE: Duration = Duration::from_secs(3600);
/// The longest timeout and the longest pause that a destination may ask for: what is more is a typo.
pub const MAX_DESTINATION_WAIT: Duration = Duration::from_secs(24 * 3600);
/// Tries of a request whose answers say neither yes nor no (no status of gRPC, a page of a proxy, a
/// path that is not there), before others are tried to find out who is to blame: about a minute with
/// the usual pauses, in which a proxy in front of a server that restarts has come to its senses.
pub const DOUBTFUL_TRIES: u32 = 10;
/// Requests in a row that say neither yes nor no before the server is blamed: so many of one sender
/// may have the same fault.
pub const FIRST_IN_DOUBT: usize = 16;
/// The same after some times: a server that fails at everything is asked no more at once.
pub const MAX_IN_DOUBT: usize = 256;
/// Their bytes, which are held in memory.
pub const MAX_IN_DOUBT_BYTES: usize = 64 << 20;
/// Journal bytes of a destination, unless it says otherwise: ten minutes at 17 MB/s, days of what most
/// send.
pub const DEFAULT_BUDGET_BYTES: u64 = 10 << 30;
/// Requests of a destination that may be on their way at once: each holds its bytes in memory.
pub const MAX_CONCURRENCY: usize = 64;
/// Bytes of records that are sent as one request. Servers of gRPC refuse messages of more than 4 MiB
/// unless told otherwise.
pub const MAX_JOINED_BYTES: usize = 3 << 20;
/// Records that are sent as one request: a refused one is sent again record by record.
pub const MAX_JOINED_RECORDS: usize = 64;
/// A request, unpacked: what admission takes.
pub const MAX_UNPACKED_BYTES: usize = 64 << 20;
/// A request, said in another format: remote-write has all labels of a point for each bucket, OTLP for
/// each sample, so that a small request can become one that takes all memory. Those of 4 MiB that real
/// senders make have less than half of it.
pub const MAX_CONVERTED_BYTES: usize = 128 << 20;
/// How long a reader waits for records before it looks whether it should stop.
pub const READ_WAIT: Duration = Duration::from_millis(250);
/// The same while requests are on their way, whose ends it must see, too.
pub const READ_WAIT_IN_FLIGHT: Duration = Duration::from_millis(10);
/// How long requests on their way may take to end when a destination is stopped.
pub const STOP_WAIT: Duration = Duration::from_secs(1);
/// How often a connection that waits for an answer is asked whether it is still there: a machine that
/// lost its power says nothing.
pub const KEEP_ALIVE: Duration = Duration::from_secs(20);
/// How often files with passwords and tokens are looked at.
pub const CREDENTIALS_CHECK: Duration = Duration::from_secs(1);
/// Bytes of a file with a password or token.
pub const MAX_CREDENTIAL_BYTES: u64 = 64 << 10;
/// How often files with certificates are looked at.
pub const CERTIFICATES_CHECK: Duration = Duration::from_secs(2);
/// Bytes of a file of refused records; then a new one is begun, and the one before the last deleted.
pub const MAX_REFUSED_FILE_BYTES: u64 = 64 << 20;
/// A message about one destination is logged at most this often.
pub const LOG_INTERVAL: Duration = Duration::from_secs(10);
/// The size at which a file of records is put aside, unless told otherwise.
pub const DEFAULT_ROTATE_BYTES: u64 = 100 << 20;
/// The smallest such size that can be asked for: less would be a file for each request.
pub const MIN_ROTATE_BYTES: u64 = 4 << 10;
/// Files of records that are kept, unless told otherwise.
pub const DEFAULT_ROTATE_FILES: usize = 10;
/// Most of them: each rotation renames all.
pub const MAX_ROTATE_FILES: usize = 1000;
/// Bytes of a file of records that are written at once.
pub const FILE_BUFFER_BYTES: usize = 256 << 10;
/// How long after its first span a trace is decided on, unless told otherwise: most traces are complete
/// within a few seconds.
pub const DEFAULT_TAIL_WAIT: Duration = Duration::from_secs(10);
/// The longest: so long the journal is held for traces that nobody decided on.
pub const MAX_TAIL_WAIT: Duration = Duration::from_secs(600);
/// Traces that are held at once, unless told otherwise.
pub const DEFAULT_TAIL_TRACES: usize = 100_000;
/// Most of them: about 100 bytes each beside their spans.
pub const MAX_TAIL_TRACES: usize = 10_000_000;
/// Bytes of spans that are held until their traces are decided on; beyond that the oldest traces are
/// decided on early.
pub const MAX_TAIL_BYTES: usize = 256 << 20;
/// Decisions on traces that are remembered for late spans: at 1,000 traces a second more than a minute;
/// about 4 MB if full.
pub const MAX_TAIL_DECISIONS: usize = 100_000;
/// Bytes that are read of a file of decisions: names of tenants can be long.
pub const MAX_TAIL_FILE_BYTES: u64 = 64 << 20;
/// Series whose deltas are added up for remote-write; beyond that those not seen for longest begin
/// anew, like a counter that was reset. About 100 bytes each.
pub const MAX_ACCUMULATED_SERIES: usize = 200_000;
/// Buckets of an exponential histogram on one side of zero, the empty ones between included: two of a
/// native one can be two billion apart. Those of SDKs have 160.
pub const MAX_DENSE_BUCKETS: i64 = 4096;
/// Bytes of a name of a destination: it is part of names of files and cursors.
pub const MAX_DESTINATION_NAME_BYTES: usize = 64;
/// Records that are read at once if most of them are not wanted: then the cursor moves.
pub const MAX_GATHERED_RECORDS: usize = 1024;
