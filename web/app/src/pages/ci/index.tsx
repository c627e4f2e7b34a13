/** How workflows fare: how often they run and fail, how long they take, against the time before. */
import { getJson } from "../../frame/api";
import { href } from "../../frame/base";
import { useKeys } from "../../frame/keys";
import { navigate, pageLink, param, setParams } from "../../frame/router";
import { range } from "../../frame/time";
import { useAsk } from "../../frame/useask";
import { Button } from "../../ui/button";
import { TextField } from "../../ui/field";
import { Card, Figure, PageBody } from "../../ui/page";
import { addressSorting } from "../../ui/sorting";
import { Answer, Empty, Warning } from "../../ui/states";
import { type Column, Table } from "../../ui/table";
import { Change, pipelineLink, pipelinePath, RunBars, rate, seconds, useWeek } from "./bits";
import "./ci.css";
import { Choices } from "./choices";
import { figure } from "./columns";
import type { Pipeline, Pipelines } from "./types";

const COLUMNS: Column<Pipeline>[] = [
  {
    id: "workflow",
    title: "Workflow",
    width: "minmax(180px, 2fr)",
    value: (row) => row.workflow,
    render: (row) => (
      <span class="ellipsis">
        {row.workflow ? (
          <a class="told-link" href={pipelineLink(row.workflow, row.repository)}>
            {row.workflow}
          </a>
        ) : (
          "without a name"
        )}{" "}
        <span class="muted">{row.repository}</span>
      </span>
    ),
  },
  {
    id: "runs",
    title: "Runs",
    width: "84px",
    align: "right",
    value: (row) => row.runs,
    render: (row) => (
      <>
        {row.running > 0 && <span class="warn">{row.running} on · </span>}
        {row.runs}
      </>
    ),
  },
  {
    id: "fail",
    title: "Failed",
    width: "78px",
    align: "right",
    value: (row) => row.failure_rate ?? undefined,
    render: (row) => <span class={(row.failure_rate ?? 0) > 0.2 ? "bad" : ""}>{rate(row.failure_rate)}</span>,
  },
  figure("median", "Median", (row) => row.median_seconds, seconds, "92px"),
  {
    id: "change",
    title: "Change",
    width: "78px",
    align: "right",
    value: (row) => row.median_change ?? undefined,
    render: (row) => <Change value={row.median_change} />,
  },
  figure("p95", "p95", (row) => row.p95_seconds, seconds, "92px"),
  figure("queue", "Queue p95", (row) => row.queue_p95_seconds, seconds, "92px"),
  {
    id: "cache",
    title: "Cache hits",
    width: "136px",
    align: "right",
    value: (row) => row.hit_rate ?? undefined,
    render: (row) => (
      <>
        {rate(row.hit_rate)}{" "}
        {row.hit_rate_change !== null && <Change value={row.hit_rate_change} worse="down" />}
      </>
    ),
  },
  {
    id: "last",
    title: "Last 30 runs",
    width: "226px",
    render: (row) => <RunBars runs={row.last_runs} />,
  },
];

/** Workflows whose name or repository has what was typed. */
function found(pipelines: readonly Pipeline[], wanted: string): readonly Pipeline[] {
  const text = wanted.toLowerCase();
  return pipelines.filter((row) => `${row.repository ?? ""} ${row.workflow}`.toLowerCase().includes(text));
}

function Figures({ rows }: { rows: readonly Pipeline[] }) {
  const sum = (of: (row: Pipeline) => number) => rows.reduce((total, row) => total + of(row), 0);
  const slower = rows.filter((row) => (row.median_change ?? 0) > 0.1);
  const colder = rows.filter((row) => (row.hit_rate_change ?? 0) <= -0.1);
  return (
    <div class="figures">
      <Figure label="Runs" value={sum((row) => row.runs)} hint={`${sum((row) => row.running)} go on`} />
      <Figure
        label="Failed"
        value={sum((row) => row.failures)}
        tone={sum((row) => row.failures) > 0 ? "bad" : "good"}
      />
      <Figure
        label="Slower by a tenth"
        value={slower.length}
        hint={slower.map((row) => row.workflow).join(", ")}
        tone={slower.length > 0 ? "warn" : undefined}
      />
      <Figure
        label="Colder caches"
        value={colder.length}
        hint={colder.map((row) => row.workflow).join(", ")}
        tone={colder.length > 0 ? "warn" : undefined}
      />
    </div>
  );
}

export default function Page() {
  useWeek();
  const { from, to } = range.value;
  const [repository, branch] = [param("repository"), param("branch")];
  const asked = useAsk(
    (signal) =>
      getJson<Pipelines>(
        "/api/ci/pipelines",
        { start: Math.round(from), end: Math.round(to), repository, branch },
        signal,
      ),
    [range.value, repository, branch],
  );
  const wanted = param("find") ?? "";
  useKeys("CI", [
    {
      keys: "f",
      label: "Find a workflow",
      run: () => document.querySelector<HTMLElement>(".ci-find input")?.focus(),
    },
  ]);
  return (
    <PageBody
      title="CI"
      actions={
        <>
          <span class="ci-find">
            <TextField
              label="Find"
              hideLabel
              type="search"
              placeholder="Find a workflow"
              value={wanted}
              onChange={(find) => setParams({ find: find || undefined }, { replace: true })}
            />
          </span>
          <Choices repositories={asked.data?.repositories ?? []} branches={asked.data?.branches ?? []} />
        </>
      }
    >
      <Answer of={asked}>
        {(data) => {
          const rows = found(data.pipelines, wanted);
          if (data.pipelines.length === 0 && (repository || branch))
            return (
              <Empty title={`No runs of ${[repository, branch].filter(Boolean).join(", ")} in this time`}>
                <Button onClick={() => setParams({ repository: undefined, branch: undefined })}>
                  All repositories and branches
                </Button>
              </Empty>
            );
          if (data.pipelines.length === 0)
            return (
              <Empty title="No runs in this time">
                <p>
                  Runs come from <code>kymo ci summarize</code> in a workflow, or from a webhook at{" "}
                  <code>/api/ci/github</code>. Choose a longer time, or begin by{" "}
                  <a
                    href="https://github.com/kymograph/kymograph/blob/main/docs/ci.md"
                    target="_blank"
                    rel="noreferrer"
                  >
                    the guide for CI
                  </a>
                  . What other programs send of CI is among the <a href={href(pageLink("/traces"))}>traces</a>
                  .
                </p>
              </Empty>
            );
          if (rows.length === 0) return <Empty title={`No workflow of this time is called “${wanted}”`} />;
          return (
            <div class="stack">
              {data.is_truncated && (
                <Warning>Only the newest 50,000 runs are counted: choose less time.</Warning>
              )}
              <Figures rows={rows} />
              <Card>
                <Table
                  columns={COLUMNS}
                  rows={rows}
                  label="Workflows"
                  rowKey={(row) => `${row.repository}\u0000${row.workflow}`}
                  rowHeight={34}
                  {...addressSorting()}
                  onOpen={(row) => row.workflow && navigate(pipelinePath(row.workflow, row.repository))}
                />
              </Card>
            </div>
          );
        }}
      </Answer>
    </PageBody>
  );
}
