/** Two branches of a workflow beside each other: the median of each job over the last runs of either. */
import { getJson } from "../../frame/api";
import { link, param, setParams } from "../../frame/router";
import { range } from "../../frame/time";
import { useAsk } from "../../frame/useask";
import { Button } from "../../ui/button";
import { fullTime } from "../../ui/format";
import { Card, Figure, PageBody } from "../../ui/page";
import { addressSorting } from "../../ui/sorting";
import { Answer, Empty } from "../../ui/states";
import { Suggest } from "../../ui/suggest";
import { type Column, Table } from "../../ui/table";
import { Change, Delta, runLink, seconds } from "./bits";
import "./ci.css";
import { pairColumns } from "./columns";
import type { BranchSide, ComparedBranch, ComparedBranches, Pipelines } from "./types";

type Pair = ComparedBranches["jobs"][number];

const JOBS: Column<Pair>[] = [
  ...pairColumns<BranchSide, Pair>(
    { a: "A, median", b: "B, median" },
    (side) => side.median_seconds,
    (side) => (
      <span title={`${side.runs} runs, waited ${seconds(side.queue_median_seconds)} in the middle`}>
        {seconds(side.median_seconds)}
        {side.failures > 0 && <span class="bad"> {side.failures} failed</span>}
      </span>
    ),
  ),
  {
    id: "change",
    title: "Change",
    width: "90px",
    align: "right",
    value: (pair) => pair.change ?? undefined,
    render: (pair) => <Change value={pair.change} />,
  },
];

function Which({ name, of }: { name: string; of: ComparedBranch }) {
  return (
    <Figure
      label={`${name}: ${of.branch}`}
      value={seconds(of.median_seconds)}
      hint={
        of.runs === 0 ? (
          "no runs in the 90 days before"
        ) : (
          <>
            median of {of.runs} runs, {of.failures} failed, from {fullTime(of.first_ms ?? 0)} to{" "}
            <a class="told-link" href={runLink(of.last_trace_id ?? "")}>
              {fullTime(of.last_ms ?? 0)}
            </a>
          </>
        )
      }
    />
  );
}

/** Where two branches of a workflow are compared; which, can be chosen there. */
export function branchesPath(workflow: string, repository?: string, a?: string, b?: string): string {
  const { from, to } = { from: param("from"), to: param("to") };
  return link("/ci/compare", { workflow, repository, a, b, from, to });
}

export function Branches({ workflow }: { workflow: string }) {
  const [a, b, repository] = [param("a") ?? "", param("b") ?? "", param("repository")];
  const { from, to } = range.value;
  const isChosen = a !== "" && b !== "";
  const asked = useAsk(
    isChosen
      ? (signal) =>
          getJson<ComparedBranches>(
            `/api/ci/pipelines/${encodeURIComponent(workflow)}/branches`,
            { a, b, repository, end: Math.round(to) },
            signal,
          )
      : undefined,
    [workflow, a, b, repository, range.value],
  );
  const known = async () => {
    const times = { start: Math.round(from), end: Math.round(to) };
    return (await getJson<Pipelines>("/api/ci/pipelines", { ...times, repository })).branches;
  };
  const choose = (name: "a" | "b", value: string) => (
    <Suggest
      label={name.toUpperCase()}
      value={value}
      suggestions={known}
      onChange={(branch) => setParams({ [name]: branch.trim() || undefined })}
      placeholder="branch"
      width="190px"
    />
  );
  return (
    <PageBody
      title={`Branches of ${workflow}`}
      actions={
        <>
          {choose("a", a)}
          {choose("b", b)}
          {isChosen && (
            <Button icon="compare" onClick={() => setParams({ a: b, b: a })}>
              Swap
            </Button>
          )}
        </>
      }
    >
      {!isChosen ? (
        <Empty title="Which branches?">
          <p>Each is told by the median of its last 20 runs that ended in success or failure.</p>
        </Empty>
      ) : (
        <Answer of={asked}>
          {(told) => (
            <div class="stack">
              <div class="figures">
                <Which name="A" of={told.a} />
                <Which name="B" of={told.b} />
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
                  label="Jobs of both branches"
                  rowKey={(pair) => pair.job}
                  {...addressSorting()}
                />
              </Card>
            </div>
          )}
        </Answer>
      )}
    </PageBody>
  );
}
