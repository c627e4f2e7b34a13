/** One run: its chart, what decided how long it took, runners, caches, failures, and earlier runs. */
import { getJson } from "../../frame/api";
import { href } from "../../frame/base";
import { link, param, setParams } from "../../frame/router";
import { useEverySeen } from "../../frame/seen";
import { refreshes } from "../../frame/time";
import { useAsk } from "../../frame/useask";
import { Button } from "../../ui/button";
import { SelectField } from "../../ui/field";
import { count, fullTime } from "../../ui/format";
import { Icon } from "../../ui/icon";
import { Card, Figure, PageBody } from "../../ui/page";
import { addressSorting } from "../../ui/sorting";
import { Answer, Warning } from "../../ui/states";
import { Table } from "../../ui/table";
import { Tabs } from "../../ui/tabs";
import type { PageProps } from "..";
import { Change, Ended, pipelineLink, rate, seconds } from "./bits";
import { Chart } from "./chart";
import "./ci.css";
import { GROUPINGS, hasFailed } from "./gantt";
import { Earlier, Path, RUN_CACHES, RunFailures } from "./parts";
import { RUNNERS } from "./tables";
import type { Run, RunDocument } from "./types";

/** How long after an answer a run that goes on is asked about again. */
const RUNNING_MILLIS = 10_000;

function safe(url: string | null): string | undefined {
  return url && /^https?:\/\//.test(url) ? url : undefined;
}

function Head({ run }: { run: Run }) {
  const facts = [run.branch, run.commit?.slice(0, 8), run.event, run.actor].filter(Boolean);
  return (
    <p class="ci-facts">
      <Ended conclusion={run.conclusion} />
      <span>{run.repository}</span>
      {facts.map((fact) => (
        <span key={fact} class="muted">
          {fact}
        </span>
      ))}
      {run.attempt && run.attempt !== "1" && <span class="muted">attempt {run.attempt}</span>}
      <span class="muted">{fullTime(run.start_ms)}</span>
      {run.title && <b class="ellipsis">{run.title}</b>}
    </p>
  );
}

function Figures({ told }: { told: RunDocument }) {
  const { run, earlier, jobs, runners } = told;
  const minutes = runners.reduce((sum, row) => sum + row.runner_minutes, 0);
  const billed = runners.reduce((sum, row) => sum + row.billed_minutes, 0);
  const failed = jobs.filter((job) => hasFailed(job.conclusion));
  const waited = Math.max(0, ...jobs.map((job) => job.queue_seconds));
  return (
    <div class="figures">
      <Figure
        label={run.is_running ? "Runs for" : "Took"}
        value={seconds(run.seconds)}
        hint={
          earlier.runs > 0 && run.is_running ? (
            `${seconds(earlier.median_seconds)} in the middle of ${earlier.runs} earlier`
          ) : earlier.runs > 0 ? (
            <>
              <Change value={earlier.change} /> against {earlier.runs} earlier
            </>
          ) : (
            "no earlier runs"
          )
        }
      />
      <Figure
        label="Jobs"
        value={told.jobs_total}
        hint={failed.length > 0 ? `${failed.length} failed` : "none failed"}
        tone={failed.length > 0 ? "bad" : undefined}
      />
      <Figure label="Longest wait" value={seconds(waited)} />
      <Figure label="Runner time" value={seconds(minutes * 60)} hint={`${billed} minutes billed`} />
      {told.caches.length > 0 && <CacheFigure told={told} />}
    </div>
  );
}

function CacheFigure({ told }: { told: RunDocument }) {
  // A name with a dot is of one language or compiler, which the whole counts too.
  const files = told.caches.filter((cache) => !cache.name.includes("."));
  const sum = (of: "hits" | "misses" | "errors") => files.reduce((total, cache) => total + cache[of], 0);
  const asked = sum("hits") + sum("misses");
  return (
    <Figure
      label="Cache hits"
      value={rate(asked > 0 ? sum("hits") / asked : null)}
      hint={`${sum("hits")} hits, ${sum("misses")} misses, ${sum("errors")} errors`}
    />
  );
}

function Legend() {
  const onlyPath = param("path") === "1";
  const unfold = param("unfold") === "1";
  const by = GROUPINGS.find((grouping) => grouping === param("by")) ?? "job";
  return (
    <>
      <span class="gantt-legend">
        <i class="gantt-part gantt-queue" /> queue <i class="gantt-part gantt-dispatch" /> dispatch{" "}
        <i class="gantt-part gantt-run gantt-good" /> run <i class="gantt-part gantt-run gantt-bad" /> failed
      </span>
      <Button
        kind="quiet"
        icon="flag"
        pressed={onlyPath}
        onClick={() => setParams({ path: onlyPath ? undefined : "1" }, { replace: true })}
      >
        Critical path
      </Button>
      <Button
        kind="quiet"
        icon="columns"
        pressed={unfold}
        onClick={() => setParams({ unfold: unfold ? undefined : "1", open: undefined }, { replace: true })}
      >
        {by === "runner" ? "Unfold runners" : "Unfold matrices"}
      </Button>
      <SelectField
        label="Jobs together"
        hideLabel
        value={by}
        options={[
          ["job", "by job"],
          ["runner", "by runner"],
          ["matrix", "by matrix"],
        ]}
        onChange={(next) =>
          setParams({ by: next === "job" ? undefined : next, open: undefined }, { replace: true })
        }
      />
    </>
  );
}

function Parts({ told }: { told: RunDocument }) {
  const tabs = [
    { id: "path", label: "Critical path", count: String(told.path.length) },
    { id: "failures", label: "Failures", count: String(told.failures_total) },
    { id: "runners", label: "Runners", count: String(told.runners.length) },
    { id: "caches", label: "Caches", count: String(told.caches.length) },
    { id: "earlier", label: "Earlier runs", count: String(told.earlier.runs) },
  ];
  const first = told.failures.length > 0 ? "failures" : "path";
  const view = tabs.find(({ id }) => id === param("view"))?.id ?? first;
  return (
    <Card
      title={
        <Tabs
          tabs={tabs}
          current={view}
          label="More about the run"
          onChange={(next) => setParams({ view: next }, { replace: true })}
        />
      }
    >
      {view === "path" && <Path told={told} />}
      {view === "failures" && <RunFailures told={told} />}
      {view === "runners" && (
        <Table
          columns={RUNNERS}
          rows={told.runners}
          label="Runners by label"
          rowKey={(row) => row.labels}
          {...addressSorting(undefined, "sort.runners")}
        />
      )}
      {view === "caches" && (
        <Table
          columns={RUN_CACHES}
          rows={told.caches}
          label="Caches by job"
          rowKey={(row) => `${row.job}\u0000${row.name}`}
          {...addressSorting(undefined, "sort.caches")}
        />
      )}
      {view === "earlier" && <Earlier told={told} />}
    </Card>
  );
}

export default function Page({ params }: PageProps) {
  const id = params.id ?? "";
  const asked = useAsk(
    (signal) => getJson<RunDocument>(`/api/ci/runs/${encodeURIComponent(id)}`, {}, signal),
    [id, refreshes.value],
  );
  const isRunning = asked.data?.run.is_running;
  useEverySeen(isRunning && !asked.loading ? RUNNING_MILLIS : 0, asked.again);
  // What is asked again while it runs is not dimmed every time.
  const shown = isRunning ? { ...asked, loading: false } : asked;
  const run = asked.data?.run;
  const name = run ? `${run.workflow ?? "Run"} ${run.run_id ? `#${run.run_id}` : ""}` : "Run";
  return (
    <PageBody
      title={name}
      actions={
        run && (
          <>
            {run.workflow && (
              <a class="button" href={pipelineLink(run.workflow, run.repository)}>
                <Icon name="ci" /> Workflow
              </a>
            )}
            <a class="button" href={href(link(`/trace/${run.trace_id}`))}>
              <Icon name="traces" /> Trace
            </a>
            {safe(run.url) && (
              <a class="button" href={safe(run.url)} target="_blank" rel="noreferrer">
                <Icon name="external" /> GitHub
              </a>
            )}
          </>
        )
      }
    >
      <Answer of={shown} lines={12}>
        {(told) => (
          <div class="stack">
            <Head run={told.run} />
            {told.run.is_running && (
              <Warning>This run goes on, or its last word has not come: jobs are shown as they end.</Warning>
            )}
            {told.has_more_spans && <Warning>This run has more jobs and steps than are read.</Warning>}
            {told.jobs_total > told.jobs.length && (
              <Warning>
                {count(told.jobs.length)} of {count(told.jobs_total)} jobs are shown: those that were created
                first.
              </Warning>
            )}
            <Figures told={told} />
            <Card title="Jobs" actions={<Legend />}>
              <Chart document={told} />
            </Card>
            <Parts told={told} />
          </div>
        )}
      </Answer>
    </PageBody>
  );
}
