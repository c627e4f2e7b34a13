//! Every bound of the server that is not a setting, with its reason.

use std::time::Duration;

/// A connection must send its first request within this time, and may idle so long between requests.
/// Senders export every 60 s by default, and one that finds its connection closed under its hands
/// loses a try.
pub const IDLE_TIMEOUT: Duration = Duration::from_secs(150);

/// From the first byte of a request's head to its end: it is sent at once, and who takes longer only
/// holds a place.
pub const HEAD_TIMEOUT: Duration = Duration::from_secs(20);

/// Between two pieces of a request body. A sender that is slower holds memory for nothing.
pub const BODY_PAUSE_TIMEOUT: Duration = Duration::from_secs(20);

/// What is read and thrown away of a request that is refused, before it is answered.
pub const DRAIN_BYTES: u64 = 256 << 20;
/// The time for that.
pub const DRAIN_TIMEOUT: Duration = Duration::from_secs(10);

/// Bodies up to this are copied out of the buffer that they came in. The journal remembers bodies,
/// and would keep buffers of many times their size.
pub const COPIED_BYTES: usize = 64 << 10;

/// Files that the page sends to be shown, over all requests, until each is laid out: one of the
/// largest, or several. They take no room from those who send records, whom one such file would keep
/// out for minutes.
pub const PAGE_FILES_BYTES: usize = kymo_page::UPLOAD_MAX_BYTES;
/// The time for such a file to come: that is 256 MiB over a line of 4 Mbit/s.
pub const PAGE_FILE_TIMEOUT: Duration = Duration::from_secs(600);
/// Anything else that the page sends: the largest is a file of dashboards. Most paths take less.
pub const PAGE_QUESTION_BYTES: usize = 16 << 20;
/// The time for that.
pub const PAGE_QUESTION_TIMEOUT: Duration = Duration::from_secs(60);

/// Bytes of a query's text.
pub const MAX_QUERY_BYTES: usize = 1 << 20;

/// The longest text of an error over gRPC. It stands in a header, and a query that is quoted may be
/// long.
pub const GRPC_ERROR_BYTES: usize = 4 << 10;

/// HTTP/2 flow control: what a sender may have under way on one stream, and on one connection. A
/// request of common size passes without waiting for a window update.
pub const STREAM_WINDOW_BYTES: u32 = 1 << 20;
/// See [`STREAM_WINDOW_BYTES`].
pub const CONNECTION_WINDOW_BYTES: u32 = 4 << 20;
/// Larger frames mean fewer pieces to put together.
pub const FRAME_BYTES: u32 = 256 << 10;
/// Requests at once on one connection.
pub const MAX_STREAMS: u32 = 256;
/// Bytes of all headers of a request of HTTP/2.
pub const MAX_HEADER_BYTES: u32 = 64 << 10;
/// Bytes that are held of a connection of HTTP/1 before they are understood: its whole head, of which
/// the address may be 64 KiB. Thousands may be begun at once.
pub const MAX_HEAD_BYTES: usize = 128 << 10;

/// Connections that are alive but silent are asked after this time, and closed when they do not
/// answer.
pub const PING_INTERVAL: Duration = Duration::from_secs(60);
/// See [`PING_INTERVAL`].
pub const PING_TIMEOUT: Duration = Duration::from_secs(30);

/// How far metrics of spans may lag behind what is received. Counting is many times as fast as
/// receiving, so that a lag is a disk that is full.
pub const DERIVE_BUDGET_BYTES: u64 = 1 << 30;
/// Tenants of whose spans metrics are made. Each may have as many series as the setting says.
pub const MAX_DERIVE_TENANTS: usize = 1000;
/// Bytes of a request with spans, unpacked: more than any that is admitted.
pub const DERIVE_UNPACKED_BYTES: usize = 1 << 30;
/// How long its thread waits for a record before it looks whether it was called.
pub const DERIVE_READ_WAIT: Duration = Duration::from_millis(50);
/// How long it rests when the journal could not be read.
pub const DERIVE_REST: Duration = Duration::from_secs(1);
/// How long a server that stops waits for its last write.
pub const DERIVE_STOP_TIMEOUT: Duration = Duration::from_secs(5);

/// Request bodies above this are decoded where the runtime knows that a thread is busy: about a
/// millisecond.
pub const INLINE_CHECK_BYTES: usize = 1 << 20;
/// The same for bodies that must be unpacked, or read as JSON. At worst one becomes a thousand
/// times as large.
pub const INLINE_DECODE_BYTES: usize = 16 << 10;

/// Tenants with metrics of their own. Names come from senders; metrics must not grow with them.
pub const MAX_METRIC_TENANTS: usize = 200;

/// Series of the server's own metrics that are stored. There are some hundreds: each protocol, kind
/// of query and reason has its own, and latencies have one for each bucket.
pub const MAX_OWN_SERIES: usize = 10_000;

/// Time that senders are asked to wait while the disk is full or the server stops.
pub const UNAVAILABLE_RETRY: Duration = Duration::from_secs(10);

/// Pause after `accept` failed, mostly for want of file descriptors.
pub const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// How often that is said.
pub const ACCEPT_WARNING_EVERY: Duration = Duration::from_secs(30);

/// Requests that an inlet (`kymo run`) has read and nobody has worked off yet. Some seconds of what
/// the busiest program sends; one request alone may be larger.
pub const INLET_BYTES: usize = 64 << 20;

/// Connections of an inlet: as many processes of one tree, each with an exporter for every signal.
pub const INLET_CONNECTIONS: usize = 4096;

/// A peer that takes none of what was sent to it for so long is gone.
pub const PEER_TIMEOUT: Duration = Duration::from_secs(120);

/// The time for the last flush when the server stops. What it does not get done is in the journal,
/// and done after the next start.
pub const LAST_FLUSH_TIMEOUT: Duration = Duration::from_secs(4);

/// Pieces of a response that wait for a slow reader.
pub const RESPONSE_PIECES: usize = 2;

/// How long browsers may remember that they are allowed to send.
pub const PREFLIGHT_AGE: Duration = Duration::from_secs(3600);

/// Traces in the answer to a search, as Tempo has it.
pub const MAX_SEARCH_TRACES: usize = 262_144;
/// Traces where none are asked for, as Tempo has it.
pub const DEFAULT_SEARCH_TRACES: usize = 20;
/// Spans to show of each spanset. Tempo shows a hundred.
pub const MAX_SPANS_PER_SET: usize = 100_000;
/// Spans where none are asked for, as Tempo has it.
pub const DEFAULT_SPANS_PER_SET: usize = 3;
/// Patterns by which attributes of spans to prune are chosen. Each is tried on every name that a trace
/// has.
pub const MAX_PRUNING_PATTERNS: usize = 100;

/// A question for the differences between two traces. It holds two ids.
pub const DIFF_MAX_REQUEST_BYTES: usize = 8 << 10;
/// Both traces together, as they are encoded. They are in memory as a whole, and so is what is made
/// of them: for each span, as much again.
pub const DIFF_MAX_TRACES_BYTES: usize = 64 << 20;
/// Their spans: what is made of a span does not get smaller with it.
pub const DIFF_MAX_SPANS: usize = 500_000;
/// Comparisons at once, for the same reason.
pub const DIFFS_AT_ONCE: usize = 2;
/// The differences as JSON.
pub const DIFF_MAX_ANSWER_BYTES: usize = 64 << 20;
/// A patch that is sent with a summary, as Tempo has it.
pub const DIFF_ATTACHED_PATCH_BYTES: usize = 64 << 10;

/// Time that a query for series covers if it names none.
pub const DEFAULT_METRICS_RANGE: Duration = Duration::from_secs(3600);
/// Spans that are shown as examples of series where no number is asked for.
pub const DEFAULT_EXEMPLARS: usize = 100;
/// More examples than anybody looks at.
pub const MAX_EXEMPLARS: usize = 10_000;

/// Tags of a search by tags, Tempo's of old and Jaeger's. Each is compared with every span.
pub const MAX_TAGS: usize = 100;

/// A message of a streamed answer, where it can be divided.
pub const STREAM_MESSAGE_BYTES: usize = 1 << 20;
/// One that cannot. Clients of gRPC take at most 4 MiB.
pub const MAX_MESSAGE_BYTES: usize = 7 << 19;

/// Tenants that a query may read together.
pub const MAX_TENANTS: usize = 64;

/// Rows of a batch of an answer that is a table.
pub const TABLE_BATCH_ROWS: usize = 8192;

/// Traces in the answer to a search of Jaeger. They come whole, so that there are fewer than in one
/// of Tempo.
pub const JAEGER_MAX_TRACES: usize = 10_000;
/// Traces where no number is asked for, as Jaeger has it.
pub const JAEGER_DEFAULT_TRACES: usize = 100;
/// Time before now that a search looks at if it names none, as Jaeger has it.
pub const JAEGER_LOOKBACK: Duration = Duration::from_secs(48 * 3600);
/// The same for dependencies.
pub const JAEGER_DEPENDENCIES_LOOKBACK: Duration = Duration::from_secs(24 * 3600);
/// Time before the end that the Monitor tab looks at if it names none, as Jaeger has it.
pub const JAEGER_MONITOR_LOOKBACK: Duration = Duration::from_secs(3600);
/// Time from one of its points to the next.
pub const JAEGER_MONITOR_STEP: Duration = Duration::from_secs(5);
/// Time before a point that it tells of.
pub const JAEGER_MONITOR_RATE: Duration = Duration::from_secs(600);
/// Services that it may ask for at once.
pub const JAEGER_MAX_SERVICES: usize = 100;
/// Services, and operations of one: more than anybody finds something in.
pub const JAEGER_MAX_NAMES: usize = 10_000;
/// Traces that are fetched for one answer at a time, while there is room for them.
pub const JAEGER_FETCHED_AT_ONCE: usize = 4;
/// A trace of which several may wait for a slow reader: as JSON, a thousand spans or so.
pub const JAEGER_SMALL_TRACE_BYTES: usize = 1 << 20;
/// Traces that wait for slow readers, over all answers, and files that are sent to be shown. Beyond
/// that none is fetched, and no file is taken.
pub const JAEGER_MAX_BYTES: usize = 128 << 20;
/// The time for which an answer waits for such room.
pub const JAEGER_ROOM_TIMEOUT: Duration = Duration::from_secs(30);
/// Time before now whose operations are listed, if there are any.
pub const JAEGER_OPERATIONS_LOOKBACK: Duration = Duration::from_secs(7 * 24 * 3600);
/// Summaries of traces in a message: 100 kB or so.
pub const JAEGER_SUMMARIES_AT_ONCE: usize = 200;
/// A file that is sent to be shown. It grows to several times its size while it is read.
pub const JAEGER_MAX_TRANSFORM_BYTES: usize = 64 << 20;

/// What a tenant sets for itself: many times what anybody needs.
pub const OVERRIDES_MAX_BYTES: usize = 128 << 10;
/// Attributes in all filters of that. Each may be a regular expression, which is compiled to see
/// whether it can be.
pub const OVERRIDES_MAX_FILTERED: usize = 128;
/// A question for a new token.
pub const TOKEN_MAX_REQUEST_BYTES: usize = 64 << 10;
/// A question to delete something: its condition, and little beside.
pub const DELETE_MAX_REQUEST_BYTES: usize = 160 << 10;
/// The condition of a deletion, which is kept in the audit.
pub const DELETE_MAX_CONDITION_BYTES: usize = 64 << 10;
/// Deletions that are listed: those of years, and each takes some objects to be read.
pub const DELETIONS_LISTED: usize = 1000;
/// Lines in the log about logins that failed, in [`LOGIN_LINES_EVERY`]: enough to see an attack.
pub const LOGIN_LINES: u32 = 20;
/// The time after which there may be as many again.
pub const LOGIN_LINES_EVERY: Duration = Duration::from_secs(10);
/// The time for a small document to come.
pub const SMALL_BODY_TIMEOUT: Duration = Duration::from_secs(20);
/// How often a node looks whether another has changed tokens or flags, where others write: they are
/// to be in force within a second, and to look takes a while.
pub const SETTINGS_POLL_EVERY: Duration = Duration::from_millis(500);
/// How often a change to a setting is made anew on what others have changed meanwhile.
pub const SETTING_TRIES: usize = 5;

/// Text that the tools of one request to MCP give. A model cannot read more; many cannot read as
/// much.
pub const MCP_MAX_ANSWER_BYTES: usize = 4 << 20;
/// Messages of a batch. They are answered one after another, while others wait.
pub const MCP_MAX_BATCH: usize = 32;
/// How long clients of MCP may keep the lists of tools and documents, which change with versions of
/// the server only.
pub const MCP_FRESH_FOR: Duration = Duration::from_secs(3600);

/// Steps that a range query of Prometheus' API may have, as there: enough for one point per pixel.
pub const PROMETHEUS_MAX_POINTS: i64 = 11_000;

/// Warnings, and infos, that an answer of Prometheus' API shows, as there.
pub const PROMETHEUS_MAX_NOTES: usize = 10;

/// Items of each list of `/prometheus/api/v1/status/tsdb`, as in Prometheus.
pub const PROMETHEUS_TSDB_ITEMS: usize = 10_000;

/// Time before now in which sessions are looked for if nobody says when.
pub const SESSIONS_LOOKBACK: Duration = Duration::from_secs(24 * 3600);
/// How far before the time that is looked at the beginning of a session is looked for: longer than
/// anything runs.
pub const SESSIONS_REACH: Duration = Duration::from_secs(30 * 24 * 3600);
/// Sessions in a list where no number is asked for.
pub const DEFAULT_SESSIONS: usize = 100;
/// More than anybody reads. Tasks of each are counted.
pub const MAX_SESSIONS: usize = 1000;
/// Sessions that are looked at for a list, those of the latest records: all of them are in memory.
pub const MAX_SESSIONS_FOUND: usize = 10_000;
/// Records of sessions whose tasks and spans are counted by their ids, over a whole list: a query
/// holds each id, with a hundred bytes or two. What the largest sessions have beyond is counted as
/// records.
pub const SESSION_RECORDS_BY_ID: i64 = 1_000_000;
/// Bytes of the name of a session: it stands in URLs, and a list of them in a query.
pub const SESSION_ID_MAX_BYTES: usize = 256;
/// Tasks, events or resource updates of a session where no number is asked for.
pub const DEFAULT_SESSION_ROWS: usize = 1000;
/// Those that are shown at most: some ten megabytes.
pub const MAX_SESSION_ROWS: usize = 20_000;
/// Tasks of the page of a session: usual ones of that size took some 250 MiB while it was made, one
/// whose texts are all long and all different takes a few times that. `kymo report` has room for
/// more, where it runs.
pub const REPORT_PAGE_TASKS: usize = 100_000;
/// Pages that are made at once; others wait.
pub const REPORT_PAGES: usize = 1;
/// How long: a page takes a second or two, and browsers do not wait for ever.
pub const REPORT_PAGE_WAIT: Duration = Duration::from_secs(30);
/// Rows that are read for each task that is shown. It has seven events at most; more are copies.
pub const ROWS_PER_TASK: usize = 24;
/// Tasks that one query asks for by name.
pub const TASK_NAMES: usize = 5000;
/// Bytes of their names: a query has a bound, and quotes are doubled.
pub const TASK_NAMES_BYTES: usize = 256 << 10;

/// Pages that are told each second what comes in, at once. Each costs a connection and little else.
pub const MAX_LIVE_PAGES: usize = 512;
/// Those of one tenant, which leaves places for others.
pub const MAX_TENANT_LIVE_PAGES: usize = 256;
/// How often they are told: as fast as numbers can be read.
pub const LIVE_RATES_EVERY: Duration = Duration::from_secs(1);
/// How often sessions that run are counted for them: that is a query.
pub const RUNNING_SESSIONS_EVERY: Duration = Duration::from_secs(10);

/// How much lies behind when a demo is started from the page: some seconds of work.
pub const DEMO_DEFAULT_HISTORY: Duration = Duration::from_secs(3_600);
/// The longest history of such a demo: a minute of work, and some hundred megabytes.
pub const DEMO_MAX_HISTORY: Duration = Duration::from_secs(24 * 3_600);
/// What is said of a demo that is to start is short.
pub const DEMO_MAX_REQUEST_BYTES: usize = 4 << 10;
/// How often a demo tells what has happened, as programs do.
pub const DEMO_TELLS_EVERY: Duration = Duration::from_secs(1);

/// Days of signals of tenants that admins are shown, the last ones: more than a year of one tenant.
pub const ADMIN_MAX_PARTITIONS: usize = 2_000;
/// Metrics, labels and pairs that admins are shown of each.
pub const ADMIN_CARDINALITY_ITEMS: usize = 50;
/// Values of an attribute that are counted: beyond, it is too many anyway.
pub const ADMIN_MAX_VALUES: usize = 100_000;

/// Those who watch sessions at once. Each may hold what [`LIVE_WAITING_BYTES`] and
/// [`LIVE_MAX_REQUEST_BYTES`] say.
pub const LIVE_MAX_LISTENERS: usize = 96;
/// Those of one tenant, which leaves places for others.
pub const LIVE_MAX_TENANT_LISTENERS: usize = 64;
/// Requests that wait for one of them.
pub const LIVE_WAITING_REQUESTS: usize = 256;
/// Their bytes, as they came.
pub const LIVE_WAITING_BYTES: usize = 4 << 20;
/// A request that unpacks to more is left out, and counted as missed. Each watcher unpacks for
/// itself; batches of SDKs have a megabyte.
pub const LIVE_MAX_REQUEST_BYTES: usize = 4 << 20;
/// Pause after which one who watches is sent a comment, so that nobody between takes the connection
/// for dead.
pub const LIVE_COMMENT_EVERY: Duration = Duration::from_secs(15);
/// Text of messages that is sent at once to one who watches.
pub const STREAM_PIECE_BYTES: usize = 32 << 10;

/// Traces that are looked for of one subject, unless told otherwise.
pub const CORRELATE_TRACES: usize = 100;
/// The most that can be asked for: their ids stand in queries that follow.
pub const CORRELATE_MAX_TRACES: usize = 500;
/// Log records that are given of one subject, unless told otherwise.
pub const CORRELATE_LOGS: usize = 1_000;
/// The most that can be asked for.
pub const CORRELATE_MAX_LOGS: usize = 20_000;
/// Exceptions that are given of one subject.
pub const CORRELATE_MAX_EXCEPTIONS: usize = 1_000;
/// Exemplars that are given of one subject.
pub const CORRELATE_MAX_EXEMPLARS: usize = 1_000;
/// Hosts whose metrics are given: each is a name in an expression.
pub const CORRELATE_MAX_HOSTS: usize = 32;
/// Points of a series of a machine: as many as a small chart shows.
pub const CORRELATE_POINTS: i64 = 120;
/// How far around the time of a subject exemplars are looked for: metrics are sent once a minute, and
/// have the time of the observation or that of the collection.
pub const CORRELATE_REACH: Duration = Duration::from_secs(120);

/// Lines, fields' lines and groups of a volume that are given to who does not say how many: as Loki
/// has it.
pub const LOKI_DEFAULT_LINES: usize = 100;
/// Groups of a volume: more than a page shows.
pub const LOKI_MAX_VOLUMES: usize = 1000;
/// Fields, and values of one, that are told of to who does not say how many: as Loki has it.
pub const LOKI_DETECTED_FIELDS: usize = 1000;
/// Lines that fields are looked for in. Each is parsed, and its values are held.
pub const LOKI_DETECTED_LINES: usize = 10_000;
/// The longest that lines of a tail may be held back, so that late ones come in order: as Loki has
/// it.
pub const LOKI_TAIL_MAX_DELAY: Duration = Duration::from_secs(5);
/// A ping of a tail, which Grafana's proxies and Loki's own clients expect.
pub const LOKI_TAIL_PING_EVERY: Duration = Duration::from_secs(1);
/// Lines that wait for one who tails and is slow. Those beyond are left out and told.
pub const LOKI_TAIL_WAITING_BYTES: usize = 4 << 20;
/// Lines of one frame of a tail.
pub const LOKI_TAIL_FRAME_LINES: usize = 1000;
/// Lines that were left out of a tail and are told at once; further ones are left out silently.
pub const LOKI_TAIL_DROPPED: usize = 1000;
/// What one who tails may send. Nothing is expected of it but control frames.
pub const LOKI_TAIL_MESSAGE_BYTES: usize = 64 << 10;
