/** Tables below the chart of a run: critical path, failures, caches, earlier runs. */
import { href } from "../../frame/base";
import { link } from "../../frame/router";
import { percent } from "../../ui/format";
import { Icon } from "../../ui/icon";
import { Empty } from "../../ui/states";
import { type Column, Table } from "../../ui/table";
import { Delta, Ended, rate, SpanLink, seconds } from "./bits";
import type { Job, RunCache, RunDocument } from "./types";

/** The jobs that decided how long the run took, and what each cost. */
export function Path({ told }: { told: RunDocument }) {
  return (
    <>
      <ol class="ci-path">
        {told.path.map((place) => {
          const job = told.jobs[place.job]!;
          return (
            <li key={job.span_id}>
              <SpanLink trace={told.run.trace_id} span={job.span_id}>
                {job.name}
              </SpanLink>
              <span class="ci-path-bar" aria-hidden="true">
                <span style={{ width: `${Math.min(100, (place.share ?? 0) * 100)}%` }} />
              </span>
              <span class="ci-path-share">{place.share === null ? "" : percent(place.share)}</span>
              <span class="muted">
                waited {seconds(job.queue_seconds)}, ran {seconds(job.run_seconds)}; without it the run would
                have ended {seconds(place.saves_seconds)} earlier
              </span>
            </li>
          );
        })}
      </ol>
      <p class="muted ci-note">
        GitHub does not tell which job needs which: before each job comes the one that had ended last when it
        was created.
      </p>
    </>
  );
}

/** What failed, with what it said. */
export function RunFailures({ told }: { told: RunDocument }) {
  if (told.failures.length === 0) return <Empty title="Nothing failed" />;
  const trace = told.run.trace_id;
  return (
    <ul class="ci-failures">
      {told.failures.map((failure) => (
        <li key={failure.span_id}>
          <div class="row">
            <Ended conclusion="failure" short />
            <SpanLink trace={trace} span={failure.span_id}>
              {failure.name}
            </SpanLink>
            <span class="muted">
              {failure.kind} of {failure.job}
            </span>
            <a href={href(link("/explore/logs", { q: `{} | trace_id="${trace}"` }))}>
              <Icon name="logs" size={14} /> logs
            </a>
          </div>
          {failure.message && <pre class="ci-message">{failure.message}</pre>}
        </li>
      ))}
    </ul>
  );
}

const number = (value: number) => String(value);

export const RUN_CACHES: Column<RunCache>[] = [
  {
    id: "job",
    title: "Job",
    width: "minmax(180px, 2fr)",
    value: (row) => row.job,
    render: (row) => <span class="ellipsis">{row.job}</span>,
  },
  {
    id: "name",
    title: "Cache",
    width: "minmax(120px, 1fr)",
    value: (row) => row.name,
    render: (row) => row.name,
  },
  ...(["hits", "misses", "errors"] as const).map(
    (what): Column<RunCache> => ({
      id: what,
      title: what[0]!.toUpperCase() + what.slice(1),
      width: "80px",
      align: "right",
      value: (row) => row[what],
      render: (row) => number(row[what]),
    }),
  ),
  {
    id: "rate",
    title: "Hit rate",
    width: "90px",
    align: "right",
    value: (row) => row.hit_rate ?? undefined,
    render: (row) => {
      const isLess =
        row.hit_rate !== null && row.usual_hit_rate !== null && row.usual_hit_rate - row.hit_rate > 0.1;
      return <span class={isLess ? "bad" : ""}>{rate(row.hit_rate)}</span>;
    },
  },
  {
    id: "usual",
    title: "Usual",
    width: "90px",
    align: "right",
    value: (row) => row.usual_hit_rate ?? undefined,
    render: (row) => rate(row.usual_hit_rate),
  },
];

const EARLIER: Column<Job>[] = [
  {
    id: "job",
    title: "Job",
    width: "minmax(200px, 2fr)",
    value: (job) => job.name,
    render: (job) => <span class="ellipsis">{job.name}</span>,
  },
  {
    id: "ended",
    title: "Ended",
    width: "120px",
    value: (job) => job.conclusion ?? "",
    render: (job) => <Ended conclusion={job.conclusion} />,
  },
  {
    id: "ran",
    title: "Ran",
    width: "110px",
    align: "right",
    value: (job) => job.run_seconds,
    render: (job) => seconds(job.run_seconds),
  },
  {
    id: "usual",
    title: "Median before",
    width: "120px",
    align: "right",
    value: (job) => job.usual_seconds ?? undefined,
    render: (job) => seconds(job.usual_seconds),
  },
  {
    id: "delta",
    title: "Longer by",
    width: "110px",
    align: "right",
    value: (job) => job.delta_seconds ?? undefined,
    render: (job) => <Delta value={job.delta_seconds} />,
  },
];

/** Jobs against the median of earlier runs; those that are new, and those that are missing. */
export function Earlier({ told }: { told: RunDocument }) {
  const { earlier } = told;
  if (earlier.runs === 0) return <Empty title="No earlier runs of this workflow in the 90 days before" />;
  return (
    <>
      <p class="ci-note">
        Against the median of {earlier.runs} earlier runs, {seconds(earlier.median_seconds)}.
        {earlier.new_jobs.length > 0 && <> New: {earlier.new_jobs.join(", ")}.</>}
        {earlier.missing_jobs.length > 0 && (
          <span class="warn"> Missing: {earlier.missing_jobs.join(", ")}.</span>
        )}
      </p>
      <Table
        columns={EARLIER}
        rows={told.jobs}
        label="Jobs against earlier runs"
        rowKey={(job) => job.span_id}
        sorting={{ column: "delta", descending: true }}
      />
    </>
  );
}
