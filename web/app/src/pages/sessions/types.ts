/** What `/api/sessions` and `/api/board` answer; `docs/sessions/api.md` describes it. */

export interface TaskCounts {
  created: number;
  submitted: number;
  running: number;
  completed: number;
  failed: number;
  canceled: number;
  unfinished: number;
}

export interface ListedSession {
  id: string;
  name: string;
  service: string | null;
  trace_id: string | null;
  host: string | null;
  started: string | null;
  ended: string | null;
  state: "running" | "ended" | "lost";
  duration_seconds: number | null;
  tasks: TaskCounts;
  spans: number;
  errors: number;
  last_seen: string | null;
}

export interface Sessions {
  sessions: ListedSession[];
  truncated: boolean;
}

/** Where a task stands; without an end it is unfinished, in a session that does not go on. */
export type Status =
  | "created"
  | "submitted"
  | "queued"
  | "running"
  | "completed"
  | "failed"
  | "canceled"
  | "unfinished";

export interface Funnel extends TaskCounts {
  queued: number;
}

export interface Throughput {
  mean_per_second: number;
  max_per_second: number;
  bin_seconds: number;
  bins: {
    at_seconds: number;
    completed: number;
    failed: number;
    canceled: number;
    completed_so_far: number;
  }[];
}

export interface ConcurrencyPoint {
  at_seconds: number;
  mean: number;
  max: number;
}

export interface Gpu {
  gpu: string;
  last_percent: number;
  mean_percent: number;
  series: (number | null)[];
  idle_share: number | null;
}

/** A node; bars are columns of the same length. */
export interface LaneNode {
  node: string;
  lanes: number;
  running: number;
  lane: number[];
  start_ms: number[];
  end_ms: number[];
  status: Status[];
  name: number[];
  task: string[];
  cpu_percent: (number | null)[] | null;
  gpus: Gpu[];
}

export interface Lanes {
  series_start_ms: number;
  series_end_ms: number;
  nodes: LaneNode[];
  names: string[];
  is_truncated: boolean;
}

export interface Straggler {
  id: string;
  name: string;
  node: string | null;
  span_id: string | null;
  is_running: boolean;
  seconds: number;
  median_seconds: number;
  times_median: number;
}

export interface Replay {
  start_ms: number;
  end_ms: number;
  started: number[];
  ended: number[];
  failed: number[];
}

export interface Board {
  session: {
    id: string;
    name: string;
    service: string | null;
    host: string | null;
    backend: string | null;
    trace_id: string | null;
    state: "running" | "ended" | "lost";
    start_ms: number | null;
    end_ms: number | null;
    seconds: number;
    error: string | null;
  };
  at_ms: number;
  is_replay: boolean;
  funnel: Funnel;
  throughput: Throughput;
  concurrency: ConcurrencyPoint[];
  rate_per_second: number;
  eta_seconds: number | null;
  waits: {
    queue_p50_seconds: number;
    queue_p95_seconds: number;
    run_p50_seconds: number;
    run_p95_seconds: number;
  };
  lanes: Lanes;
  idle_gpus: { node: string; gpu: string | null; since_ms: number; seconds: number }[];
  stragglers: Straggler[];
  /** How many there are, of which those are the first. */
  stragglers_total: number;
  failures: {
    error_type: string;
    count: number;
    message: string | null;
    tasks: string[];
    first_at_seconds: number | null;
  }[];
  replay: Replay;
  notes: string[];
}

export interface Task {
  id: string;
  name: string;
  status: Status;
  span_id: string | null;
  backend: string | null;
  node: string | null;
  executable: string | null;
  task_type: string | null;
  created_ms: number | null;
  submitted_ms: number | null;
  started_ms: number | null;
  ended_ms: number | null;
  wait_seconds: number | null;
  seconds: number | null;
  error_type: string | null;
  error_message: string | null;
}

export interface Tasks {
  total: number;
  offset: number;
  tasks: Task[];
}

export interface NamedTasks {
  tasks: number;
  failed: number;
  total_seconds: number;
  p50_seconds: number;
  p95_seconds: number;
}

export interface ComparedSide {
  id: string;
  name: string;
  state: string;
  started: string | null;
  seconds: number;
  throughput: Throughput;
  concurrency: ConcurrencyPoint[];
  nodes: {
    node: string;
    cpu_percent: number | null;
    memory_percent: number | null;
    gpu_percent: number | null;
    gpus: number;
  }[];
}

export interface Compared {
  a: ComparedSide;
  b: ComparedSide;
  figures: {
    figures: { name: string; unit: string; values: (number | null)[]; changes: (number | null)[] }[];
  } | null;
  names: { name: string; a: NamedTasks | null; b: NamedTasks | null; change: number | null }[];
  is_truncated: boolean;
}
