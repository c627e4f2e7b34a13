/** One workflow over time: trends, and tables of runs, jobs, runners, caches and failures. */
import { getJson } from "../../frame/api";
import { href } from "../../frame/base";
import { useKeys } from "../../frame/keys";
import { navigate, pageLink, param, setParams } from "../../frame/router";
import { range, setRange } from "../../frame/time";
import { useAsk } from "../../frame/useask";
import { Button } from "../../ui/button";
import { colorAt } from "../../ui/colors";
import { duration, percent } from "../../ui/format";
import { Icon } from "../../ui/icon";
import { Card, Figure, PageBody } from "../../ui/page";
import { Answer, Empty, Warning } from "../../ui/states";
import { Table } from "../../ui/table";
import { Tabs } from "../../ui/tabs";
import { type Line, TimeChart } from "../../ui/timechart";
import { Change, rate, runPath, seconds, useWeek } from "./bits";
import { branchesPath } from "./branches";
import "./ci.css";
import { Choices } from "./choices";
import { FAILED, searchFor, slowest } from "./differences";
import { hasFailed } from "./gantt";
import { CACHES, FAILURES, JOBS, RUNNERS, RUNS } from "./tables";
import { type HAS, timeOf, told } from "./trends";
import type { TrendBin, Workflow } from "./types";

const TABS = ["runs", "jobs", "runners", "caches", "failures"] as const;

/** A line of a chart, by what it shows of a part of the time. */
type TrendLine = Omit<Line, "values"> & { of: (bin: TrendBin) => number | null };

function Trend({
  title,
  bins,
  has,
  lines,
  format,
  max,
}: {
  title: string;
  bins: readonly TrendBin[];
  has: keyof typeof HAS;
  lines: readonly TrendLine[];
  format: (value: number) => string;
  max?: number;
}) {
  const shown = told(bins, has);
  return (
    <Card title={title}>
      <TimeChart
        times={shown.map((bin) => bin.start_ms)}
        lines={lines.map(({ of, ...line }) => ({ ...line, values: shown.map(of) }))}
        height={130}
        label={title}
        format={format}
        range={timeOf(bins)}
        min={0}
        max={max}
        sync="ci"
        onZoom={(from, to) => setRange(from, to)}
      />
    </Card>
  );
}

function Trends({ bins }: { bins: readonly TrendBin[] }) {
  const hasCache = told(bins, "cache").length > 0;
  return (
    <div class="ci-trends">
      <Trend
        title="Duration: median, p95"
        bins={bins}
        has="duration"
        format={seconds}
        lines={[
          { label: "median", color: colorAt(0), of: (bin) => bin.median_seconds, points: true },
          { label: "p95", color: colorAt(1), of: (bin) => bin.p95_seconds, dash: [4, 3], points: true },
        ]}
      />
      <Trend
        title="Runs and failures"
        bins={bins}
        has="runs"
        format={(value) => String(Math.round(value))}
        lines={[
          { label: "runs", color: colorAt(14), of: (bin) => bin.runs, bars: true, fill: 0.4 },
          { label: "failed", color: colorAt(9), of: (bin) => bin.failures, bars: true, fill: 0.9 },
        ]}
      />
      <Trend
        title="Waiting for runners, p95"
        bins={bins}
        has="queue"
        format={seconds}
        lines={[{ label: "queue p95", color: colorAt(4), of: (bin) => bin.queue_p95_seconds, points: true }]}
      />
      {hasCache ? (
        <Trend
          title="Cache hits"
          bins={bins}
          has="cache"
          max={1}
          format={percent}
          lines={[{ label: "hit rate", color: colorAt(2), of: (bin) => bin.hit_rate, points: true }]}
        />
      ) : (
        <Trend
          title="Runner minutes"
          bins={bins}
          has="minutes"
          format={(value) => duration(value * 60e9)}
          lines={[
            {
              label: "runner minutes",
              color: colorAt(3),
              of: (bin) => bin.runner_minutes,
              bars: true,
              fill: 0.5,
            },
          ]}
        />
      )}
    </div>
  );
}

function Figures({ data }: { data: Workflow }) {
  const pipeline = data.figures;
  if (!pipeline) return null;
  const minutes = data.runners.reduce((sum, row) => sum + row.runner_minutes, 0);
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
  const sizes = {
    runs: data.runs.length,
    jobs: data.jobs.length,
    runners: data.runners.length,
    caches: data.caches.length,
    failures: data.failures.length,
  };
  const tabs = TABS.map((id) => ({
    id,
    label: id[0]!.toUpperCase() + id.slice(1),
    count: String(sizes[id]),
  }));
  const marked = param("mark");
  return (
    <Card
      title={
        <Tabs
          tabs={tabs}
          current={view}
          label="What is listed"
          onChange={(next) => setParams({ view: next }, { replace: true })}
        />
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
      {view === "runs" && (
        <Table
          columns={RUNS}
          rows={data.runs}
          label="Runs"
          rowKey={(run) => run.trace_id}
          isSelected={(run) => run.trace_id === marked}
          onOpen={(run) => navigate(runPath(run.trace_id))}
        />
      )}
      {view === "jobs" && <Table columns={JOBS} rows={data.jobs} label="Jobs" rowKey={(row) => row.job} />}
      {view === "runners" && (
        <Table columns={RUNNERS} rows={data.runners} label="Runners by label" rowKey={(row) => row.labels} />
      )}
      {view === "caches" &&
        (data.caches.length === 0 ? (
          <Empty title="No statistics of caches">
            <p>
              Jobs that leave <code>sccache-stats.txt</code> behind tell of theirs.
            </p>
          </Empty>
        ) : (
          <Table columns={CACHES} rows={data.caches} label="Caches by job" rowKey={(row) => row.job} />
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
      run: () => setParams({ view }, { replace: true }),
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
              {data.is_truncated && (
                <Warning>There are more runs or jobs than are shown: choose less time.</Warning>
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
