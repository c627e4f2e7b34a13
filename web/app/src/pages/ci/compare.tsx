/** Two runs beside each other: jobs, steps, caches, and what they were told; or two branches of a workflow. */
import { useState } from "preact/hooks";
import { getJson } from "../../frame/api";
import { param, setParams } from "../../frame/router";
import { refreshes } from "../../frame/time";
import { useAsk } from "../../frame/useask";
import { Button } from "../../ui/button";
import { TextField } from "../../ui/field";
import { fullTime } from "../../ui/format";
import { Card, Figure, PageBody } from "../../ui/page";
import { addressSorting } from "../../ui/sorting";
import { Answer, Empty, Warning } from "../../ui/states";
import { type Column, Table } from "../../ui/table";
import { Change, Cut, Delta, Ended, rate, runLink, seconds } from "./bits";
import { Branches } from "./branches";
import "./ci.css";
import { figure, pairColumns, words } from "./columns";
import type { ComparedSide, Comparison, Run } from "./types";

type JobPair = Comparison["jobs"][number];
type CachePair = Comparison["caches"][number];
type AttributePair = Comparison["attributes"][number];

const JOBS: Column<JobPair>[] = [
  ...pairColumns<ComparedSide, JobPair>(
    { a: "A", b: "B" },
    (side) => (side.is_carried_over ? null : side.run_seconds),
    (side) =>
      side.is_carried_over ? (
        <span class="muted" title="An earlier attempt ran it">
          carried over <Ended conclusion={side.conclusion} short />
        </span>
      ) : (
        <span title={`waited ${seconds(side.queue_seconds)}`}>
          {seconds(side.run_seconds)} <Ended conclusion={side.conclusion} short />
        </span>
      ),
  ),
  {
    id: "step",
    title: "Most by the step",
    width: "minmax(180px, 2fr)",
    render: (pair) => {
      const step = pair.steps[0];
      return step ? (
        <span class="ellipsis">
          {step.step} <Delta value={step.delta_seconds} />
        </span>
      ) : null;
    },
  },
];

const CACHES: Column<CachePair>[] = [
  words("job", "Job", "minmax(180px, 2fr)", (row) => row.job),
  words("name", "Cache", "minmax(120px, 1fr)", (row) => row.name),
  figure("a", "A", (row) => row.a_hit_rate, rate, "90px"),
  figure("b", "B", (row) => row.b_hit_rate, rate, "90px"),
  {
    id: "change",
    title: "Change",
    width: "90px",
    align: "right",
    render: (row) => (
      <Change
        worse="down"
        value={row.a_hit_rate === null || row.b_hit_rate === null ? null : row.b_hit_rate - row.a_hit_rate}
      />
    ),
  },
];

function shown(value: unknown): string {
  return value === null || value === undefined
    ? "–"
    : typeof value === "string"
      ? value
      : JSON.stringify(value);
}

const ATTRIBUTES: Column<AttributePair>[] = [
  {
    id: "name",
    title: "Attribute",
    width: "minmax(180px, 1fr)",
    value: (row) => row.name,
    render: (row) => <code>{row.name}</code>,
  },
  { id: "a", title: "A", render: (row) => <span class="ellipsis">{shown(row.a)}</span> },
  { id: "b", title: "B", render: (row) => <span class="ellipsis">{shown(row.b)}</span> },
];

function Which({ run, name }: { run: Run; name: string }) {
  return (
    <Figure
      label={name}
      value={seconds(run.seconds)}
      hint={
        <>
          <a class="told-link" href={runLink(run.trace_id)}>
            {run.workflow ?? "Run"} {run.run_id && `#${run.run_id}`}
          </a>{" "}
          {run.branch} {fullTime(run.start_ms)} <Ended conclusion={run.conclusion} />
        </>
      }
    />
  );
}

/** Which runs, if the address does not say. */
function Choose() {
  const [a, setA] = useState(param("a") ?? "");
  const [b, setB] = useState(param("b") ?? "");
  const go = () => setParams({ a: a.trim(), b: b.trim() });
  return (
    <Empty title="Which runs?">
      <p>Mark a run in the list of its workflow and choose another, or give the ids of their traces.</p>
      <div class="row">
        <TextField label="A" value={a} onChange={setA} onEnter={go} width="290px" />
        <TextField label="B" value={b} onChange={setB} onEnter={go} width="290px" />
        <Button kind="primary" onClick={go} disabled={!a || !b}>
          Compare
        </Button>
      </div>
    </Empty>
  );
}

/** Of a workflow that the address names, branches are compared; otherwise two runs. */
export default function Page() {
  const workflow = param("workflow");
  return workflow ? <Branches workflow={workflow} /> : <Runs />;
}

function Runs() {
  const [a, b] = [param("a"), param("b")];
  const isChosen = Boolean(a && b);
  const asked = useAsk(
    isChosen ? (signal) => getJson<Comparison>("/api/ci/compare", { a, b }, signal) : undefined,
    [a, b, refreshes.value],
  );
  return (
    <PageBody
      title="Compare runs"
      actions={
        isChosen && (
          <Button icon="compare" onClick={() => setParams({ a: b, b: a })}>
            Swap
          </Button>
        )
      }
    >
      {!isChosen ? (
        <Choose />
      ) : (
        <Answer of={asked}>
          {(told) => (
            <div class="stack">
              {told.is_truncated && (
                <Warning>The runs have more jobs, steps or attributes than are compared.</Warning>
              )}
              <div class="figures">
                <Which run={told.a} name="A" />
                <Which run={told.b} name="B" />
                <Figure
                  label="B longer by"
                  value={<Delta value={told.delta_seconds} />}
                  hint={<Change value={told.change} />}
                />
              </div>
              <Card title="Jobs">
                <Table
                  columns={JOBS}
                  rows={told.jobs}
                  label="Jobs of both runs"
                  rowKey={(pair) => pair.job}
                  {...addressSorting()}
                />
              </Card>
              {told.caches.length > 0 && (
                <Card title="Caches">
                  <Table
                    columns={CACHES}
                    rows={told.caches}
                    label="Caches"
                    rowKey={(row) => `${row.job} ${row.name}`}
                    {...addressSorting(undefined, "sort.caches")}
                  />
                </Card>
              )}
              {told.attributes.length > 0 && (
                <Card title="What was told differently">
                  <Cut
                    listed={told.attributes.length}
                    total={told.attributes_total}
                    what="attributes that differ"
                    which="the first by name"
                  />
                  <Table
                    columns={ATTRIBUTES}
                    rows={told.attributes}
                    label="Attributes"
                    rowKey={(row) => row.name}
                    {...addressSorting(undefined, "sort.attributes")}
                  />
                </Card>
              )}
            </div>
          )}
        </Answer>
      )}
    </PageBody>
  );
}
