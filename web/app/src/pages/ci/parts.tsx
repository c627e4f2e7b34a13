/** Tables below the chart of a run: critical path, failures, caches, earlier runs. */
import { href } from "../../frame/base";
import { link } from "../../frame/router";
import { count, percent } from "../../ui/format";
import { Icon } from "../../ui/icon";
import { quote } from "../../ui/quote";
import { addressSorting } from "../../ui/sorting";
import { Empty } from "../../ui/states";
import { type Column, Table } from "../../ui/table";
import { Cut, Delta, Ended, rate, SpanLink, seconds } from "./bits";
import { figure, words } from "./columns";
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

/** Logs of a run may come before its first span, and after its last. */
const LOGS_MARGIN_MILLIS = 60_000;

/** What failed, with what it said. */
export function RunFailures({ told }: { told: RunDocument }) {
  if (told.failures.length === 0) return <Empty title="Nothing failed" />;
  const { trace_id: trace, start_ms: start, end_ms: end } = told.run;
  const logs = link("/explore/logs", {
    q: `{service_name=~".+"} | trace_id=${quote(trace)}`,
    from: Math.floor(start - LOGS_MARGIN_MILLIS),
    to: Math.ceil(end + LOGS_MARGIN_MILLIS),
  });
  return (
    <>
      <Cut
        listed={told.failures.length}
        total={told.failures_total}
        what="failures"
        which="tests first, then steps, commands and jobs"
      />
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
              <a href={href(logs)}>
                <Icon name="logs" size={14} /> logs
              </a>
            </div>
            {failure.message && <pre class="ci-message">{failure.message}</pre>}
          </li>
        ))}
      </ul>
    </>
  );
}

export const RUN_CACHES: Column<RunCache>[] = [
  words("job", "Job", "minmax(180px, 2fr)", (row) => row.job),
  words("name", "Cache", "minmax(120px, 1fr)", (row) => row.name),
  figure("hits", "Hits", (row) => row.hits, String, "80px"),
  figure("misses", "Misses", (row) => row.misses, String, "80px"),
  figure("errors", "Errors", (row) => row.errors, String, "80px"),
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
  figure("usual", "Usual", (row) => row.usual_hit_rate, rate, "90px"),
];

const EARLIER: Column<Job>[] = [
  words("job", "Job", "minmax(200px, 2fr)", (job) => job.name),
  {
    id: "ended",
    title: "Ended",
    width: "120px",
    value: (job) => job.conclusion ?? "",
    render: (job) => <Ended conclusion={job.conclusion} />,
  },
  figure("ran", "Ran", (job) => job.run_seconds, seconds, "110px"),
  figure("usual", "Median before", (job) => job.usual_seconds, seconds, "120px"),
  {
    id: "delta",
    title: "Longer by",
    width: "110px",
    align: "right",
    value: (job) => job.delta_seconds ?? undefined,
    render: (job) => <Delta value={job.delta_seconds} />,
  },
];

/** Names, and how many more there are. */
export function named(names: readonly string[], total: number): string {
  const rest = total - names.length;
  return rest > 0 ? `${names.join(", ")} and ${count(rest)} more` : names.join(", ");
}

/** Jobs against the median of earlier runs; those that are new, and those that are missing. */
export function Earlier({ told }: { told: RunDocument }) {
  const { earlier } = told;
  if (earlier.runs === 0) return <Empty title="No earlier runs of this workflow in the 90 days before" />;
  return (
    <>
      <p class="ci-note">
        Against the median of {earlier.runs} earlier runs, {seconds(earlier.median_seconds)}.
        {earlier.new_jobs.length > 0 && <> New: {named(earlier.new_jobs, earlier.new_jobs_total)}.</>}
        {earlier.missing_jobs.length > 0 && (
          <span class="warn"> Missing: {named(earlier.missing_jobs, earlier.missing_jobs_total)}.</span>
        )}
      </p>
      <Table
        columns={EARLIER}
        rows={told.jobs}
        label="Jobs against earlier runs"
        rowKey={(job) => job.span_id}
        {...addressSorting({ column: "delta", descending: true }, "sort.earlier")}
      />
    </>
  );
}
