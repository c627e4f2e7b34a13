/**
 * Two traces beside each other: `/compare?a=&b=`. What took longer or shorter, what only one of them has,
 * and which attributes differ; as a tree of paths, a flame of red and blue, operations and single spans.
 */
import { useState } from "preact/hooks";
import { href } from "../../frame/base";
import { link, navigate, param, setParams } from "../../frame/router";
import { useAsk } from "../../frame/useask";
import { Button } from "../../ui/button";
import { TextField } from "../../ui/field";
import { duration, fullTime, millisOf, percent } from "../../ui/format";
import { Card, PageBody } from "../../ui/page";
import { Answer, Empty } from "../../ui/states";
import { Tabs } from "../../ui/tabs";
import { askComparison, type Compared, type Comparison, type Summary } from "./asked";
import { DeltaFlame } from "./flame";
import { AttributeTable, OneSidedTable, OperationTable, SpanTable } from "./tables";
import { DeltaTree } from "./tree";
import "../trace/trace.css";
import "./compare.css";

const VIEWS = [
  { id: "tree", label: "Tree" },
  { id: "flame", label: "Flame" },
  { id: "operations", label: "Operations" },
  { id: "spans", label: "Spans" },
  { id: "only-a", label: "Only in A" },
  { id: "only-b", label: "Only in B" },
  { id: "attributes", label: "Attributes" },
] as const;

export default function ComparePage() {
  const [a, b] = [param("a"), param("b")];
  const asked = useAsk(a && b ? (signal) => askComparison(a, b, signal) : undefined, [a, b]);
  if (!a || !b) return <ChooseTraces a={a} b={b} />;
  return (
    <PageBody
      title="Two traces compared"
      actions={
        <Button icon="compare" onClick={() => setParams({ a: b, b: a })}>
          Swap A and B
        </Button>
      }
    >
      <Answer of={asked}>{(compared) => <Shown {...compared} />}</Answer>
    </PageBody>
  );
}

function ChooseTraces({ a = "", b = "" }: { a?: string; b?: string }) {
  const [first, setFirst] = useState(a);
  const [second, setSecond] = useState(b);
  const isReady = first.trim() !== "" && second.trim() !== "";
  const go = () => isReady && navigate(link("/compare", { a: first.trim(), b: second.trim() }));
  return (
    <PageBody title="Compare two traces">
      <Empty title="Which two?">
        <p>
          Mark a trace with <kbd>m</kbd>, open another and press <kbd>m</kbd> again; or name both here.
        </p>
        <TextField
          label="A"
          value={first}
          onChange={setFirst}
          onEnter={go}
          width="300px"
          placeholder="Trace id"
        />
        <TextField
          label="B"
          value={second}
          onChange={setSecond}
          onEnter={go}
          width="300px"
          placeholder="Trace id"
        />
        <Button kind="primary" disabled={!isReady} onClick={go}>
          Compare
        </Button>
      </Empty>
    </PageBody>
  );
}

function Shown({ comparison, a, b }: Compared) {
  const view = VIEWS.find(({ id }) => id === param("view"))?.id ?? "tree";
  const counts: Record<string, number> = {
    "only-a": comparison.onlyInA.total,
    "only-b": comparison.onlyInB.total,
    attributes: comparison.attributes.length,
    spans: comparison.paired,
    operations: comparison.operations.length,
  };
  const tabs = VIEWS.map(({ id, label }) => ({
    id,
    label,
    count: counts[id] === undefined ? undefined : String(counts[id]),
  }));
  return (
    <div class="stack compare">
      <div class="compare-sides">
        <Side name="A" summary={comparison.a} id={a} />
        <Side name="B" summary={comparison.b} id={b} />
        <Verdict comparison={comparison} />
      </div>
      <Tabs
        tabs={tabs}
        current={view}
        // The tables of views have columns of their own.
        onChange={(next) => setParams({ view: next === "tree" ? null : next, sort: null })}
        label="Views"
      />
      {view === "tree" && <DeltaTree flame={comparison.flame} />}
      {view === "flame" && <DeltaFlame flame={comparison.flame} />}
      {view === "operations" && <OperationTable operations={comparison.operations} />}
      {view === "spans" && <SpanTable comparison={comparison} a={a} b={b} />}
      {view === "only-a" && <OneSidedTable id={a} side="A" only={comparison.onlyInA} />}
      {view === "only-b" && <OneSidedTable id={b} side="B" only={comparison.onlyInB} />}
      {view === "attributes" && <AttributeTable attributes={comparison.attributes} />}
    </div>
  );
}

function Side({ name, summary, id }: { name: "A" | "B"; summary: Summary; id: string }) {
  const title = [summary.service, summary.name].filter(Boolean).join(" · ") || id;
  return (
    <Card class={`compare-side compare-${name}`}>
      <div class="row">
        <span class="compare-letter">{name}</span>
        <a class="ellipsis grow" href={href(link(`/trace/${encodeURIComponent(id)}`))} title={title}>
          {title}
        </a>
      </div>
      <div class="compare-duration">{duration(summary.durationNanos)}</div>
      <div class="muted">
        {fullTime(millisOf(summary.start))} · {summary.spans} spans ·{" "}
        {summary.errors > 0 ? <span class="bad">✖ {summary.errors} errors</span> : "no errors"}
      </div>
    </Card>
  );
}

/** What differs, in a few sentences. */
function Verdict({ comparison }: { comparison: Comparison }) {
  const { a, b, operations } = comparison;
  const delta = b.durationNanos - a.durationNanos;
  const slower = operations.filter(({ deltaSelfNanos }) => deltaSelfNanos > 0).slice(0, 2);
  const faster = operations.filter(({ deltaSelfNanos }) => deltaSelfNanos < 0).slice(0, 2);
  return (
    <Card class="compare-verdict">
      <div class={`compare-duration ${delta > 0 ? "compare-slower" : delta < 0 ? "compare-faster" : ""}`}>
        {delta === 0
          ? "B takes as long as A"
          : `B is ${duration(Math.abs(delta))} ${delta > 0 ? "▲ slower" : "▼ faster"}`}
        {a.durationNanos > 0 && delta !== 0 && (
          <span class="muted"> {percent(Math.abs(delta) / a.durationNanos)}</span>
        )}
      </div>
      <ul class="compare-list">
        {slower.map(({ service, name, deltaSelfNanos }) => (
          <li key={`${service}${name}`}>
            <span class="compare-slower">▲ +{duration(deltaSelfNanos)}</span> {service} {name.slice(0, 80)}
          </li>
        ))}
        {faster.map(({ service, name, deltaSelfNanos }) => (
          <li key={`${service}${name}`}>
            <span class="compare-faster">▼ −{duration(-deltaSelfNanos)}</span> {service} {name.slice(0, 80)}
          </li>
        ))}
      </ul>
      <div class="muted">
        {comparison.paired} spans in both, {comparison.onlyInA.total} only in A, {comparison.onlyInB.total}{" "}
        only in B, {comparison.attributes.length} attributes differ
      </div>
    </Card>
  );
}
