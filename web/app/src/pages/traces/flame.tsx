/**
 * Traces of a query merged by path into one flame; with a second query, or another time, the two are
 * compared: red where B takes longer, blue where it takes less.
 */
import { useEffect, useMemo, useState } from "preact/hooks";
import { getJson } from "../../frame/api";
import { href } from "../../frame/base";
import { ran } from "../../frame/recents";
import { link, param, setParams } from "../../frame/router";
import { theme } from "../../frame/theme";
import { range } from "../../frame/time";
import { useAsk } from "../../frame/useask";
import { Button } from "../../ui/button";
import { Flame } from "../../ui/canvas/flame";
import { boxesOf, change, type FlameAnswer, type FlameNode } from "../../ui/canvas/flamenodes";
import { colorOf } from "../../ui/colors";
import { Editor } from "../../ui/editor";
import { queryError } from "../../ui/editor/errors";
import { SelectField } from "../../ui/field";
import { count, duration, percent } from "../../ui/format";
import { Card, PageBody } from "../../ui/page";
import { Answer, Empty, ErrorBox, Warning } from "../../ui/states";
import { changeColor } from "../compare/delta";
import { FlamePaths } from "./flamepaths";
import "./traces.css";

interface Side {
  matched: number;
  merged: number;
  truncated: boolean;
}

interface Answered {
  flame: FlameAnswer;
  a: Side;
  b?: Side;
}

export default function FlamePage() {
  const query = param("q") ?? "{}";
  const other = param("qb");
  const limit = Number(param("limit")) || 100;
  const shown = range.value;
  const asked = useAsk(
    (signal) =>
      getJson<Answered>(
        "/api/traces/flame",
        { q: query, qb: other, start: Math.floor(shown.from), end: Math.ceil(shown.to), limit },
        signal,
      ),
    [query, other, shown.from, shown.to, limit],
  );
  const isWrong = asked.error && queryError(query, asked.error);
  return (
    <PageBody
      title="Flame of many traces"
      actions={
        <a
          class="button button-plain"
          href={href(link("/traces", { q: query, from: param("from"), to: param("to") }))}
        >
          Search
        </a>
      }
    >
      <Queries query={query} other={other} error={asked.error} />
      {asked.error && !isWrong && <ErrorBox error={asked.error} again={asked.again} />}
      {!asked.error && (
        <Answer of={asked}>
          {(data) =>
            data.flame.nodes.length === 0 ? (
              <Empty title="No trace matches" />
            ) : (
              <Merged data={data} limit={limit} weight={param("by") === "self" ? "self" : "total"} />
            )
          }
        </Answer>
      )}
    </PageBody>
  );
}

function Queries({ query, other, error }: { query: string; other?: string; error?: Error }) {
  const [a, setA] = useState(query);
  const [b, setB] = useState(other ?? "");
  useEffect(() => setA(query), [query]);
  useEffect(() => setB(other ?? ""), [other]);
  const run = () => {
    ran("traceql", a);
    setParams({ q: a.trim() || "{}", qb: other === undefined ? undefined : b.trim() });
  };
  return (
    <section class="card query-card" aria-label="Queries">
      <div class="flame-query">
        <b>A</b>
        <Editor
          language="traceql"
          label="TraceQL of A"
          value={a}
          onChange={setA}
          onRun={run}
          error={queryError(query, error)}
        />
        <Button kind="primary" onClick={run} title="Run (Ctrl Enter)">
          Run
        </Button>
      </div>
      {other === undefined ? (
        <div>
          <Button icon="compare" onClick={() => setParams({ qb: query })}>
            Compare with another query
          </Button>
        </div>
      ) : (
        <div class="flame-query">
          <b>B</b>
          <Editor language="traceql" label="TraceQL of B" value={b} onChange={setB} onRun={run} />
          <Button icon="close" label="Without B" onClick={() => setParams({ qb: undefined })} />
        </div>
      )}
      {error && queryError(query, error) && <p class="bad">{error.message}</p>}
    </section>
  );
}

function Merged({ data, limit, weight }: { data: Answered; limit: number; weight: "total" | "self" }) {
  const { nodes, traces, truncated } = data.flame;
  const boxes = useMemo(() => boxesOf(nodes), [nodes]);
  const [selected, setSelected] = useState<number>();
  const hasOther = data.b !== undefined;
  theme.value;
  const most = useMemo(
    () => Math.max(1, ...nodes.map((node) => node.a.selfNanos + (node.b?.selfNanos ?? 0))),
    [nodes],
  );
  const color = (box: number) => {
    const node = nodes[box]!;
    if (hasOther) return changeColor(change(node, traces));
    if (weight === "total") return colorOf(node.service);
    // By own time: from grey to red.
    return changeColor(Math.sqrt(node.a.selfNanos / most));
  };
  return (
    <div class="stack">
      <div class="row" role="status">
        <span>
          {hasOther ? "A: " : ""}
          {count(data.a.merged)} of {count(data.a.matched)} traces
          {data.b ? ` · B: ${count(data.b.merged)} of ${count(data.b.matched)} traces` : ""}
        </span>
        {hasOther && (
          <span class="muted">
            <span class="swatch" style={{ background: changeColor(1) }} /> ▲ B takes longer{" "}
            <span class="swatch" style={{ background: changeColor(-1) }} /> ▼ B takes less
          </span>
        )}
        {!hasOther && (
          <SelectField
            label="Colours by"
            value={weight}
            options={[
              ["total", "service"],
              ["self", "own time"],
            ]}
            onChange={(by) => setParams({ by: by === "self" ? by : undefined }, { replace: true })}
          />
        )}
      </div>
      {(truncated || data.a.truncated || data.b?.truncated) && (
        <Warning>
          More traces match than are merged.{" "}
          <Button onClick={() => setParams({ limit: Math.min(2000, limit * 4) }, { replace: true })}>
            Up to {count(Math.min(2000, limit * 4))}
          </Button>
        </Warning>
      )}
      <Card>
        <Flame
          boxes={boxes}
          label="Flame of the traces"
          text={(box) => nodes[box]!.name}
          color={color}
          selected={selected}
          onSelect={setSelected}
          isMarked={(box) => nodes[box]!.a.errors + (nodes[box]!.b?.errors ?? 0) > 0}
          tip={(box) => <Tip node={nodes[box]!} traces={traces} hasOther={hasOther} />}
        />
      </Card>
      <FlamePaths
        nodes={nodes}
        traces={traces}
        hasOther={hasOther}
        selected={selected}
        onSelect={setSelected}
      />
    </div>
  );
}

function Tip({ node, traces, hasOther }: { node: FlameNode; traces: readonly number[]; hasOther: boolean }) {
  const perTrace = (nanos: number, side: number) => duration(nanos / Math.max(1, traces[side] ?? 1));
  return (
    <>
      <b>{node.name}</b>
      <div class="muted">{node.service}</div>
      <div>
        {hasOther ? "A " : ""}
        {count(node.a.count)} spans, {perTrace(node.a.totalNanos, 0)} for each trace, own{" "}
        {perTrace(node.a.selfNanos, 0)}
        {node.a.errors > 0 ? `, ${count(node.a.errors)} errors` : ""}
      </div>
      {node.b && (
        <div>
          B {count(node.b.count)} spans, {perTrace(node.b.totalNanos, 1)} for each trace, own{" "}
          {perTrace(node.b.selfNanos, 1)}
          {node.b.errors > 0 ? `, ${count(node.b.errors)} errors` : ""}
        </div>
      )}
      {hasOther && <div>{percent(change(node, traces))} of the longer</div>}
    </>
  );
}
