/** What `/api/ci` answers; `docs/ci.md` describes it. Times are milliseconds since 1970. */

export interface LastRun {
  trace_id: string;
  start_ms: number;
  seconds: number;
  conclusion: string | null;
  branch: string | null;
  run_id: number | null;
  attempt: number | null;
}

export interface Pipeline {
  repository: string | null;
  workflow: string;
  runs: number;
  running: number;
  failures: number;
  failure_rate: number | null;
  median_seconds: number | null;
  p95_seconds: number | null;
  median_change: number | null;
  runs_before: number;
  queue_p95_seconds: number | null;
  hit_rate: number | null;
  hit_rate_change: number | null;
  last_runs: LastRun[];
}

export interface Pipelines {
  start_ms: number;
  end_ms: number;
  pipelines: Pipeline[];
  repositories: string[];
  branches: string[];
  is_truncated: boolean;
}

export interface ListedRun extends LastRun {
  event: string | null;
  title: string | null;
  actor: string | null;
  jobs: number;
  failed_jobs: number;
  queue_seconds: number | null;
  runner_minutes: number;
  billed_minutes: number;
  hit_rate: number | null;
}

export interface TrendBin {
  start_ms: number;
  runs: number;
  failures: number;
  median_seconds: number | null;
  p95_seconds: number | null;
  queue_p95_seconds: number | null;
  hit_rate: number | null;
  runner_minutes: number;
}

export interface JobFigures {
  job: string;
  runs: number;
  failures: number;
  failure_rate: number | null;
  flaky: number;
  median_seconds: number | null;
  p95_seconds: number | null;
  queue_p95_seconds: number | null;
  runner_minutes: number;
  on_path: number;
  saves_seconds: number | null;
}

export interface Runners {
  labels: string;
  jobs: number;
  runner_minutes: number;
  billed_minutes: number;
  queue_median_seconds: number | null;
  queue_p95_seconds: number | null;
  queue_max_seconds: number | null;
}

export interface CacheTrend {
  job: string;
  hits: number;
  misses: number;
  errors: number;
  hit_rate: number | null;
  recent_hit_rate: number | null;
  earlier_hit_rate: number | null;
  is_regression: boolean;
  points: { trace_id: string; start_ms: number; hit_rate: number | null }[];
}

export interface Failing {
  kind: string;
  job: string;
  name: string;
  count: number;
  message: string | null;
  trace_id: string;
  span_id: string;
  last_ms: number;
}

export interface Workflow {
  start_ms: number;
  end_ms: number;
  /** All of it, of whatever repositories; `null` if it did not run. */
  figures: Pipeline | null;
  pipelines: Pipeline[];
  runs: ListedRun[];
  trend: TrendBin[];
  jobs: JobFigures[];
  runners: Runners[];
  caches: CacheTrend[];
  failures: Failing[];
  /** How many there are of each, of which the lists have the first. */
  totals: { runs: number; jobs: number; runners: number; caches: number; failures: number };
  /** Whether there is more than is counted: figures are of the newest. */
  is_of_newest: boolean;
}

export interface Run {
  trace_id: string;
  span_id: string | null;
  repository: string | null;
  workflow: string | null;
  branch: string | null;
  commit: string | null;
  pull_request: string | null;
  event: string | null;
  title: string | null;
  actor: string | null;
  run_id: string | null;
  attempt: string | null;
  url: string | null;
  conclusion: string | null;
  is_running: boolean;
  start_ms: number;
  /** Now, while it goes on. */
  end_ms: number;
  seconds: number;
}

/** How many spans lie below another, by kind. */
export type Below = Record<string, number>;

export interface Step {
  span_id: string;
  name: string;
  number: number | null;
  start_ms: number;
  seconds: number;
  conclusion: string | null;
  below: Below;
}

export interface Job {
  span_id: string;
  name: string;
  created_ms: number;
  taken_ms: number | null;
  ready_ms: number | null;
  end_ms: number;
  queue_seconds: number;
  dispatch_seconds: number;
  run_seconds: number;
  conclusion: string | null;
  is_running: boolean;
  is_carried_over: boolean;
  labels: string | null;
  runner: string | null;
  url: string | null;
  is_on_path: boolean;
  slack_seconds: number | null;
  usual_seconds: number | null;
  delta_seconds: number | null;
  steps: Step[];
  below: Below;
}

export interface RunCache {
  job: string;
  name: string;
  hits: number;
  misses: number;
  errors: number;
  hit_rate: number | null;
  usual_hit_rate: number | null;
}

export interface RunFailure {
  kind: string;
  job: string;
  name: string;
  message: string | null;
  span_id: string;
}

export interface RunDocument {
  run: Run;
  groups: { name: string; jobs: number[] }[];
  /** The first of as many as there are in all. */
  jobs: Job[];
  jobs_total: number;
  path: { job: number; share: number | null; saves_seconds: number }[];
  runners: Runners[];
  caches: RunCache[];
  failures: RunFailure[];
  failures_total: number;
  earlier: {
    runs: number;
    median_seconds: number | null;
    change: number | null;
    new_jobs: string[];
    new_jobs_total: number;
    missing_jobs: string[];
    missing_jobs_total: number;
  };
  /** Whether there are more jobs and steps than are read. */
  has_more_spans: boolean;
}

export interface Leaf {
  span_id: string;
  kind: string;
  name: string;
  start_ms: number;
  seconds: number;
  is_error: boolean;
  message: string | null;
}

export interface Cached {
  hits: number;
  misses: number;
  errors: number;
}

export interface ComparedSide {
  queue_seconds: number;
  run_seconds: number;
  conclusion: string | null;
  is_carried_over: boolean;
}

export interface Comparison {
  a: Run;
  b: Run;
  delta_seconds: number;
  change: number | null;
  jobs: {
    job: string;
    a: ComparedSide | null;
    b: ComparedSide | null;
    delta_seconds: number | null;
    steps: {
      step: string;
      a_seconds: number | null;
      b_seconds: number | null;
      delta_seconds: number | null;
    }[];
  }[];
  caches: {
    job: string;
    name: string;
    a: Cached | null;
    b: Cached | null;
    a_hit_rate: number | null;
    b_hit_rate: number | null;
  }[];
  attributes: { name: string; a: unknown; b: unknown }[];
  attributes_total: number;
  /** Whether jobs, steps or attributes are left out. */
  is_truncated: boolean;
}

/** A job over the last runs of a branch. */
export interface BranchSide {
  runs: number;
  failures: number;
  median_seconds: number | null;
  queue_median_seconds: number | null;
}

export interface ComparedBranch {
  branch: string;
  runs: number;
  failures: number;
  median_seconds: number | null;
  first_ms: number | null;
  last_ms: number | null;
  last_trace_id: string | null;
}

export interface ComparedBranches {
  a: ComparedBranch;
  b: ComparedBranch;
  delta_seconds: number | null;
  change: number | null;
  jobs: {
    job: string;
    a: BranchSide | null;
    b: BranchSide | null;
    delta_seconds: number | null;
    change: number | null;
  }[];
}
