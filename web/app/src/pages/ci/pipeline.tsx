/** One workflow over time: trends, and tables of runs, jobs, runners, caches and failures. */
import { getJson } from "../../frame/api";
import { useKeys } from "../../frame/keys";
import { navigate, param, setParams } from "../../frame/router";
import { range, setRange } from "../../frame/time";
import { useAsk } from "../../frame/useask";
import { Button } from "../../ui/button";
import { duration, percent } from "../../ui/format";
import { Card, Figure, PageBody } from "../../ui/page";
import { Answer, Empty, Warning } from "../../ui/states";
import { Table } from "../../ui/table";
import { Tabs } from "../../ui/tabs";
import { type Line, TimeChart } from "../../ui/timechart";
import { Change, rate, seconds, useWeek } from "./bits";
import "./ci.css";
import { Choices } from "./choices";
import { CACHES, FAILURES, JOBS, RUNNERS, RUNS } from "./tables";
import type { TrendBin, Workflow } from "./types";

const TABS = ["runs", "jobs", "runners", "caches", "failures"] as const;

function Trend({
  title,
  bins,
  lines,
  format,
  max,
}: {
  title: string;
  bins: readonly TrendBin[];
  lines: readonly Line[];
  format: (value: number) => string;
  max?: number;
}) {
  return (
    <Card title={title}>
      <TimeChart
        times={bins.map((bin) => bin.start_ms)}
        lines={lines}
        height={130}
        label={title}
        format={format}
        min={0}
        max={max}
        sync="ci"
        onZoom={(from, to) => setRange(from, to)}
      />
    </Card>
  );
}

function Trends({ bins }: { bins: readonly TrendBin[] }) {
  // Lines go from run to run; parts of the time without any are left out.
  const told = bins.filter((bin) => bin.runs > 0);
  const of = (pick: (bin: TrendBin) => number | null) => told.map(pick);
  const hasCache = bins.some((bin) => bin.hit_rate !== null);
  return (
    <div class="ci-trends">
      <Trend
        title="Duration: median, p95"
        bins={told}
        format={seconds}
        lines={[
          { label: "median", color: "#3f7fd4", values: of((bin) => bin.median_seconds), points: true },
          {
            label: "p95",
            color: "#c2571a",
            values: of((bin) => bin.p95_seconds),
            dash: [4, 3],
            points: true,
          },
        ]}
      />
      <Trend
        title="Runs and failures"
        bins={told}
        format={(value) => String(Math.round(value))}
        lines={[
          { label: "runs", color: "#5f7f9f", values: of((bin) => bin.runs), bars: true, fill: 0.4 },
          { label: "failed", color: "#d0493b", values: of((bin) => bin.failures), bars: true, fill: 0.9 },
        ]}
      />
      <Trend
        title="Waiting for runners, p95"
        bins={told}
        format={seconds}
        lines={[
          { label: "queue p95", color: "#b8860b", values: of((bin) => bin.queue_p95_seconds), points: true },
        ]}
      />
      {hasCache ? (
        <Trend
          title="Cache hits"
          bins={told}
          max={1}
          format={percent}
          lines={[{ label: "hit rate", color: "#2f8f5b", values: of((bin) => bin.hit_rate), points: true }]}
        />
      ) : (
        <Trend
          title="Runner minutes"
          bins={told}
          format={(value) => duration(value * 60e9)}
          lines={[
            {
              label: "runner minutes",
              color: "#9a5fc9",
              values: of((bin) => bin.runner_minutes),
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
  const pipeline = data.pipelines[0];
  if (!pipeline) return null;
  const minutes = data.runners.reduce((sum, row) => sum + row.runner_minutes, 0);
  return (
    <div class="ci-figures">
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

function Lists({ data }: { data: Workflow }) {
  const view = param("view") ?? "runs";
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
          onOpen={(run) => navigate(`/ci/run/${run.trace_id}`)}
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
            onOpen={(row) => navigate(`/ci/run/${row.trace_id}`)}
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
    [from, to, workflow, repository, branch],
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
  const repositories = (asked.data?.pipelines ?? []).map((row) => row.repository ?? "").filter(Boolean);
  return (
    <PageBody
      title={workflow || "Workflow"}
      actions={<Choices repositories={repositories} branches={branches} />}
    >
      <Answer of={asked}>
        {(data) =>
          data.runs.length === 0 ? (
            <Empty title="This workflow did not run in this time" />
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
