/** What `/api/admin/…`, `/api/tokens`, `/api/audience` and `/api/destinations` answer. */

export interface Partition {
  tenant: string;
  signal: string;
  /** Days since 1970; the least number there is for what came very late. */
  day: number;
  blocks: number;
  compacted: number;
  rows: number;
  bytes: number;
  from_nanos: string;
  to_nanos: string;
}

export interface StorageState {
  data: string;
  /** Of all partitions, also those that are left out. */
  totals: { blocks: number; rows: number; bytes: number };
  /** The newest ones. */
  partitions: Partition[];
  partitions_left_out: number;
  heads: { signal: string; rows: number; bytes: number; since_nanos: string | null }[];
  journal: {
    lag_bytes: number;
    unapplied_bytes: number;
    records: number;
    bytes: number;
    syncs: number;
    failed_segments: number;
    quarantined_bytes: number;
  };
  flushed_nanos: string | null;
  compaction: {
    enabled: boolean;
    compactions: number;
    blocks_joined: number;
    blocks_written: number;
    duplicates_dropped: number;
  };
  flushes: number;
  flushes_failed: number;
  blocks_expired: number;
  blocks_damaged: number;
  deletions_pending: number;
  retention: {
    tenant: string;
    signal: string;
    max_age_seconds: number | null;
    max_bytes: number | null;
  }[];
}

export interface Sample {
  signal: string;
  tenant: string;
  protocol?: string;
  reason?: string;
  rule?: string;
  means?: string;
  advice?: string;
  count: number;
}

export interface IngestState {
  now_millis: number;
  started_millis: number;
  recording: boolean;
  requests: Sample[];
  bytes: Sample[];
  records: Sample[];
  duplicates: Sample[];
  refused_requests: Sample[];
  refused_records: Sample[];
  changed_records: Sample[];
  dropped_records: Sample[];
  deduplicated_records: Sample[];
  lag: { unapplied_bytes: number; unflushed_bytes: number };
}

export interface Counted {
  name: string;
  count: number;
}

export interface CardinalityState {
  series: number;
  metrics: Counted[];
  labels: Counted[];
  pairs: Counted[];
  attributes: { scope: string; keys: string[] }[];
}

export interface ShownQuery {
  id: string;
  kind: string;
  text: string;
  /** Whether the text is only its beginning. */
  is_cut: boolean;
  tenants: string;
  began_millis: number;
  seconds: number;
  rows_scanned: number;
  is_ending: boolean;
  outcome?: string;
}

export interface QueriesState {
  running: ShownQuery[];
  slow: ShownQuery[];
  waiting: number;
  memory_bytes: number;
  finished: number;
  cancelled: number;
  failed: { kind: string; count: number }[];
  rows_scanned: number;
  rows_answered: number;
}

export interface Destination {
  name: string;
  protocol: string;
  target: string;
  state: string;
  since_unix_millis: number;
  signals: {
    signal: string;
    sent_records: number;
    sent_bytes: number;
    rejected: number;
    refused_records: number;
    lost_records: number;
  }[];
  retries: number;
  lag_bytes: number;
  oldest_age_millis: number | null;
  last_error: { message: string; at_unix_millis: number } | null;
}

export interface Token {
  id: string;
  name: string;
  roles: string[];
  tenants: string[] | string;
  created_unix_secs: number;
  expires_unix_secs: number | null;
  ending: string;
}

export interface Flag {
  key: string;
  description: string;
  enabled: boolean;
  mode: "nobody" | "everybody" | "selected";
  users: string[];
  percentage: number;
  regex: string | null;
  attributes: string[];
  unknown: "nobody" | "everybody";
  where: string | null;
  signals: string[];
  updated_at_millis: number;
  updated_by: string;
}

export interface AuditEntry {
  key: string;
  action: string;
  by: string;
  at_millis: number;
  before: Record<string, unknown> | null;
  after: Record<string, unknown> | null;
}
