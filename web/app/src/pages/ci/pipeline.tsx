/** One workflow over time: trends, and tables of runs, jobs, runners, caches and failures. */
import { getJson } from "../../frame/api";
import { href } from "../../frame/base";
import { useKeys } from "../../frame/keys";
import { navigate, pageLink, param, setParams } from "../../frame/router";
import { range } from "../../frame/time";
import { useAsk } from "../../frame/useask";
import { Button } from "../../ui/button";
import { duration } from "../../ui/format";
import { Icon } from "../../ui/icon";
import { Card, Figure, PageBody } from "../../ui/page";
import { addressSorting } from "../../ui/sorting";
import { Answer, Empty, Warning } from "../../ui/states";
import { Table } from "../../ui/table";
import { Tabs } from "../../ui/tabs";
import { Change, Cut, rate, runPath, seconds, useWeek } from "./bits";
import { branchesPath } from "./branches";
import "./ci.css";
import { Choices } from "./choices";
import { FAILED, searchFor, slowest } from "./differences";
import { hasFailed } from "./gantt";
import { CACHES, FAILURES, JOBS, RUNNERS, RUNS } from "./tables";
import { Trends } from "./trendcharts";
import type { Workflow } from "./types";

const TABS = ["runs", "jobs", "runners", "caches", "failures"] as const;
type Tab = (typeof TABS)[number];

/** Which of each are listed, where there are more. */
const LISTED: Record<Tab, string> = {
  runs: "the newest",
  jobs: "those that kept runners longest",
  runners: "those that worked longest",
  caches: "those that serve less than they did, then those that were asked most",
  failures: "those that came most often",
};

/** Lists another kind of thing, in its usual order. */
function list(view: Tab): void {
  setParams({ view, sort: undefined }, { replace: true });
}

function Figures({ data }: { data: Workflow }) {
  const pipeline = data.figures;
  if (!pipeline) return null;
  // Runners that are not listed worked too.
  const minutes = data.trend.reduce((sum, bin) => sum + bin.runner_minutes, 0);
  return (
    <div class="figures">
      <Figure label="Runs" value={pipeline.runs} hint={`${pipeline.runs_before} in the time before`} />
      <Figure
        label="Failed"
        value={rate(pipeline.failure_rate)}
        tone={(pipeline.failure_rate ?? 0) > 0.2 ? "bad" : undefined}
        hint={`${pipeline.failures} runs`}
      />
      <Figure
        label="Median"
        value={seconds(pipeline.median_seconds)}
        hint={
          pipeline.median_change === null ? (
            "no runs in the time before"
          ) : (
            <>
              <Change value={pipeline.median_change} /> against the time before
            </>
          )
        }
      />
      <Figure label="p95" value={seconds(pipeline.p95_seconds)} />
      <Figure label="Queue p95" value={seconds(pipeline.queue_p95_seconds)} />
      <Figure label="Runner time" value={duration(minutes * 60e9)} />
      {pipeline.hit_rate !== null && (
        <Figure
          label="Cache hits"
          value={rate(pipeline.hit_rate)}
          hint={pipeline.hit_rate_change !== null && <Change value={pipeline.hit_rate_change} worse="down" />}
        />
      )}
    </div>
  );
}

/** Ways to what distinguishes failed and slow runs from others, and failed jobs. */
function Distinguish({ data, kind }: { data: Workflow; kind: "run" | "job" }) {
  const filter = searchFor(kind, param("workflow") ?? "", param("repository"), param("branch"));
  const to = (sel: string) => href(pageLink("/traces", { q: filter, sel }));
  const ended = data.runs.filter(({ conclusion }) => conclusion === "success" || hasFailed(conclusion));
  const slow = kind === "run" ? slowest(ended.map((run) => run.seconds)) : undefined;
  const hasFailures = kind === "run" ? ended.some(({ conclusion }) => hasFailed(conclusion)) : true;
  return (
    <>
      {hasFailures && <a href={to(FAILED)}>What distinguishes failed {kind}s</a>}
      {slow && <a href={to(slow)}>What distinguishes slow runs</a>}
    </>
  );
}

function Lists({ data }: { data: Workflow }) {
  const view = TABS.find((id) => id === param("view")) ?? "runs";
  const tabs = TABS.map((id) => ({
    id,
    label: id[0]!.toUpperCase() + id.slice(1),
    count: String(data.totals[id]),
  }));
  const marked = param("mark");
  return (
    <Card
      title={
        <Tabs tabs={tabs} current={view} label="What is listed" onChange={(next) => list(next as Tab)} />
      }
      actions={
        view === "runs" && marked ? (
          <Button kind="quiet" icon="close" onClick={() => setParams({ mark: undefined }, { replace: true })}>
            Run marked: choose another to compare
          </Button>
        ) : view === "runs" ? (
          <Distinguish data={data} kind="run" />
        ) : view === "jobs" ? (
          <Distinguish data={data} kind="job" />
        ) : undefined
      }
    >
      <Cut listed={data[view].length} total={data.totals[view]} what={view} which={LISTED[view]} />
      {view === "runs" && (
        <Table
          columns={RUNS}
          rows={data.runs}
          label="Runs"
          rowKey={(run) => run.trace_id}
          isSelected={(run) => run.trace_id === marked}
          onOpen={(run) => navigate(runPath(run.trace_id))}
          {...addressSorting()}
        />
      )}
      {view === "jobs" && (
        <Table columns={JOBS} rows={data.jobs} label="Jobs" rowKey={(row) => row.job} {...addressSorting()} />
      )}
      {view === "runners" && (
        <Table
          columns={RUNNERS}
          rows={data.runners}
          label="Runners by label"
          rowKey={(row) => row.labels}
          {...addressSorting()}
        />
      )}
      {view === "caches" &&
        (data.caches.length === 0 ? (
          <Empty title="No statistics of caches">
            <p>
              Jobs that leave <code>sccache-stats.txt</code> behind tell of theirs.
            </p>
          </Empty>
        ) : (
          <Table
            columns={CACHES}
            rows={data.caches}
            label="Caches by job"
            rowKey={(row) => row.job}
            {...addressSorting()}
          />
        ))}
      {view === "failures" &&
        (data.failures.length === 0 ? (
          <Empty title="Nothing failed" />
        ) : (
          <Table
            columns={FAILURES}
            rows={data.failures}
            label="Failures"
            rowKey={(row) => row.span_id}
            onOpen={(row) => navigate(runPath(row.trace_id))}
            {...addressSorting()}
          />
        ))}
    </Card>
  );
}

export default function Page() {
  useWeek();
  const { from, to } = range.value;
  const [workflow, repository, branch] = [param("workflow") ?? "", param("repository"), param("branch")];
  const asked = useAsk(
    (signal) =>
      getJson<Workflow>(
        `/api/ci/pipelines/${encodeURIComponent(workflow)}/runs`,
        { start: Math.round(from), end: Math.round(to), repository, branch },
        signal,
      ),
    [range.value, workflow, repository, branch],
  );
  useKeys(
    "Workflow",
    TABS.map((view, at) => ({
      keys: String(at + 1),
      label: `List ${view}`,
      run: () => list(view),
    })),
  );
  const branches = [
    ...new Set((asked.data?.runs ?? []).map((run) => run.branch ?? "").filter(Boolean)),
  ].sort();
  // Where one is chosen, the list has no other.
  const main =
    ["main", "master"].find((name) => branches.includes(name)) ?? (branch ? undefined : branches[0]);
  const other = branch && branch !== main ? branch : branches.find((name) => name !== main);
  const repositories = (asked.data?.pipelines ?? []).map((row) => row.repository ?? "").filter(Boolean);
  return (
    <PageBody
      title={workflow || "Workflow"}
      actions={
        <>
          <Choices repositories={repositories} branches={branches} />
          <a class="button" href={href(branchesPath(workflow, repository, main, other))}>
            <Icon name="compare" /> Branches
          </a>
        </>
      }
    >
      <Answer of={asked}>
        {(data) =>
          data.runs.length === 0 ? (
            <Empty title={`This workflow did not run in this time${branch ? ` on ${branch}` : ""}`} />
          ) : (
            <div class="stack">
              {data.is_of_newest && (
                <Warning>
                  There are more runs, jobs, failures or statistics of caches than are counted: figures are of
                  the newest. Choose less time for all of them.
                </Warning>
              )}
              <Figures data={data} />
              <Trends bins={data.trend} />
              <Lists data={data} />
            </div>
          )
        }
      </Answer>
    </PageBody>
  );
}
