//! Every bound of this crate, with its reason. Those of a single request are `kymo-forward`'s.

use std::time::Duration;

/// Spans, and log records, that wait to be sent. At about 1 KiB each this is 16 MiB, which a
/// program that sends 1,000 a second fills in a quarter of a minute.
pub const QUEUE_ITEMS: usize = 16_384;

/// Collections of metrics that wait to be sent. They are cumulative: a newer one says all that an
/// older one did.
pub const QUEUE_COLLECTIONS: usize = 4;

/// Items of one request: about 1 MiB, a quarter of what receivers of gRPC take by default.
pub const BATCH_ITEMS: usize = 1_024;

/// How long an item waits for others before it is sent: what is seen late is of less use, and a
/// request a second is no load.
pub const LINGER: Duration = Duration::from_secs(1);

/// How long a batch is tried again while the endpoint cannot be reached: the restart of a server
/// is survived, and the queue's newest items are not kept out by old ones forever.
pub const BATCH_AGE: Duration = Duration::from_secs(120);

/// The first pause before a batch is tried again, which doubles from then on.
pub const FIRST_PAUSE: Duration = Duration::from_millis(500);

/// The longest pause before a batch is tried again: so long an endpoint that is back is not seen.
pub const LONGEST_PAUSE: Duration = Duration::from_secs(15);

/// Reasons for not keeping records that are told: a server that names each record in its reason
/// would fill the log, and nobody reads more of them.
pub const REASONS_TOLD: usize = 32;

/// Bytes of a configuration file.
pub const CONFIG_BYTES: u64 = 1024 * 1024;

/// How often metrics are sent, unless `OTEL_METRIC_EXPORT_INTERVAL` says otherwise: TuFT's
/// interval, since the minute of the specification is long for who watches a training run.
pub const METRICS_EVERY: Duration = Duration::from_secs(10);

/// How long an answer of the driver or of `/proc` serves all gauges that are read together.
pub const RESOURCE_AGE: Duration = Duration::from_millis(500);

/// How many share keys a context has: each is on every span and log record.
pub const SHARE_KEYS: usize = 32;

/// Bytes of a share key and of its value: W3C baggage allows 4,096 for a pair, and other programs
/// cut.
pub const SHARE_BYTES: usize = 1_024;

/// How long ending waits beyond its time for what was not sent to be counted, which takes no
/// network: a machine that is busy may not get to it at once.
pub const COUNTING_TIMEOUT: Duration = Duration::from_millis(500);

/// How long ending waits for what is queued, where nobody says how long.
pub const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(5);
