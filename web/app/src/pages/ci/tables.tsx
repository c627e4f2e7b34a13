/** Columns of the tables of a workflow. */
import { ago, fullTime } from "../../ui/format";
import { Spark } from "../../ui/spark";
import type { Column } from "../../ui/table";
import { Ended, minutes, rate, runLink, SpanLink, seconds } from "./bits";
import { figure, words } from "./columns";
import { Mark } from "./mark";
import type { CacheTrend, Failing, JobFigures, ListedRun, Runners } from "./types";

const plain = (value: number) => String(value);

export const RUNS: Column<ListedRun>[] = [
  {
    id: "run",
    title: "Run",
    width: "150px",
    value: (run) => run.run_id ?? undefined,
    render: (run) => (
      <a class="told-link" href={runLink(run.trace_id)}>
        {run.run_id ?? run.trace_id.slice(0, 8)}
        {(run.attempt ?? 1) > 1 && <span class="muted"> attempt {run.attempt}</span>}
      </a>
    ),
  },
  {
    id: "conclusion",
    title: "Ended",
    width: "110px",
    value: (run) => run.conclusion ?? "",
    render: (run) => <Ended conclusion={run.conclusion} />,
  },
  {
    id: "start",
    title: "Began",
    width: "130px",
    value: (run) => run.start_ms,
    render: (run) => <span title={fullTime(run.start_ms)}>{ago(run.start_ms)}</span>,
  },
  {
    id: "what",
    title: "What",
    width: "minmax(140px, 2fr)",
    value: (run) => run.branch ?? "",
    render: (run) => (
      <span class="ellipsis" title={run.title ?? ""}>
        <span class="muted">{[run.branch, run.event, run.actor].filter(Boolean).join(" · ")}</span>{" "}
        {run.title}
      </span>
    ),
  },
  figure("duration", "Took", (run) => run.seconds, seconds),
  figure("queue", "Longest wait", (run) => run.queue_seconds, seconds, "116px"),
  {
    id: "jobs",
    title: "Jobs",
    width: "90px",
    align: "right",
    value: (run) => run.failed_jobs,
    render: (run) => (
      <>
        {run.failed_jobs > 0 && <span class="bad">{run.failed_jobs} of </span>}
        {run.jobs}
      </>
    ),
  },
  figure("minutes", "Runners", (run) => run.runner_minutes, minutes),
  figure(
    "billed",
    "Billed",
    (run) => run.billed_minutes,
    (value) => `${value} m`,
    "72px",
  ),
  figure("cache", "Cache", (run) => run.hit_rate, rate, "72px"),
  { id: "mark", title: "", width: "92px", render: (run) => <Mark id={run.trace_id} compare="/ci/compare" /> },
];

export const JOBS: Column<JobFigures>[] = [
  words("job", "Job", "minmax(200px, 3fr)", (row) => row.job),
  figure("runs", "Runs", (row) => row.runs, plain, "64px"),
  {
    id: "failures",
    title: "Failed",
    width: "110px",
    align: "right",
    value: (row) => row.failure_rate ?? undefined,
    render: (row) => (
      <span class={row.failures > 0 ? "bad" : "muted"}>
        {row.failures > 0 ? `${row.failures} · ${rate(row.failure_rate)}` : "0"}
      </span>
    ),
  },
  {
    id: "flaky",
    title: "Flaky",
    width: "70px",
    align: "right",
    value: (row) => row.flaky,
    render: (row) => (
      <span
        class={row.flaky > 0 ? "warn" : "muted"}
        title="Failed in one attempt of a run, and went well in another"
      >
        {row.flaky}
      </span>
    ),
  },
  figure("median", "Median", (row) => row.median_seconds, seconds),
  figure("p95", "p95", (row) => row.p95_seconds, seconds),
  figure("queue", "Queue p95", (row) => row.queue_p95_seconds, seconds),
  figure("minutes", "Runners", (row) => row.runner_minutes, minutes),
  {
    id: "path",
    title: "On path",
    width: "84px",
    align: "right",
    value: (row) => row.on_path,
    render: (row) => <span title="Runs whose critical path it is on">{row.on_path || "–"}</span>,
  },
  {
    id: "saves",
    title: "Costs",
    width: "96px",
    align: "right",
    value: (row) => row.saves_seconds ?? undefined,
    render: (row) => (
      <span title="How much earlier those runs would have ended without it, in the middle">
        {seconds(row.saves_seconds)}
      </span>
    ),
  },
];

export const RUNNERS: Column<Runners>[] = [
  {
    id: "labels",
    title: "Labels",
    width: "minmax(160px, 2fr)",
    value: (row) => row.labels,
    render: (row) => <span class="ellipsis">{row.labels || "without labels"}</span>,
  },
  figure("jobs", "Jobs", (row) => row.jobs, plain, "64px"),
  figure("minutes", "Runner time", (row) => row.runner_minutes, minutes, "110px"),
  figure(
    "billed",
    "Billed",
    (row) => row.billed_minutes,
    (value) => `${value} m`,
  ),
  figure("median", "Queue median", (row) => row.queue_median_seconds, seconds, "110px"),
  figure("p95", "Queue p95", (row) => row.queue_p95_seconds, seconds),
  figure("max", "Longest wait", (row) => row.queue_max_seconds, seconds, "110px"),
];

export const CACHES: Column<CacheTrend>[] = [
  {
    id: "job",
    title: "Job",
    width: "minmax(200px, 2fr)",
    value: (row) => row.job,
    render: (row) => (
      <span class="ellipsis">
        {row.job}
        {row.is_regression && <b class="bad ci-flag">▼ serves less than it did</b>}
      </span>
    ),
  },
  figure("hits", "Hits", (row) => row.hits, plain, "76px"),
  figure("misses", "Misses", (row) => row.misses, plain, "76px"),
  figure("errors", "Errors", (row) => row.errors, plain, "76px"),
  figure("rate", "Hit rate", (row) => row.hit_rate, rate),
  figure("recent", "Last 5", (row) => row.recent_hit_rate, rate),
  figure("earlier", "20 before", (row) => row.earlier_hit_rate, rate),
  {
    id: "trend",
    title: "Over runs",
    width: "150px",
    render: (row) => (
      <Spark
        values={row.points.map((point) => point.hit_rate)}
        max={1}
        width={130}
        label={`Hit rate of ${row.job} over ${row.points.length} runs`}
        color={row.is_regression ? "var(--bad)" : "var(--good)"}
      />
    ),
  },
];

export const FAILURES: Column<Failing>[] = [
  figure("count", "Times", (row) => row.count, plain, "64px"),
  words("kind", "What", "60px", (row) => row.kind),
  {
    id: "name",
    title: "Name",
    width: "minmax(140px, 1fr)",
    value: (row) => row.name,
    render: (row) => (
      <span class="ellipsis">
        <SpanLink trace={row.trace_id} span={row.span_id}>
          {row.name}
        </SpanLink>
      </span>
    ),
  },
  words("job", "Job", "minmax(140px, 1fr)", (row) => row.job),
  {
    id: "message",
    title: "Said",
    width: "minmax(180px, 2fr)",
    render: (row) => (
      <span class="ellipsis mono" title={row.message ?? ""}>
        {row.message}
      </span>
    ),
  },
  {
    id: "last",
    title: "Last",
    width: "100px",
    value: (row) => row.last_ms,
    render: (row) => <a href={runLink(row.trace_id)}>{ago(row.last_ms)}</a>,
  },
];
