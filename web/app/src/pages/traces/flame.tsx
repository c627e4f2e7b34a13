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
import {
  boxesOf,
  change,
  type FlameAnswer,
  type FlameNode,
  type FlameNumbers,
} from "../../ui/canvas/flamenodes";
import { colorOf } from "../../ui/colors";
import { Editor } from "../../ui/editor";
import { queryError } from "../../ui/editor/errors";
import { SelectField } from "../../ui/field";
import { count, duration, percent } from "../../ui/format";
import { Card, PageBody } from "../../ui/page";
import { Answer, Empty, ErrorBox, Warning } from "../../ui/states";
import { changeColor } from "../compare/delta";
import { FlamePaths } from "./flamepaths";
import { byOwnTime } from "./owntime";
import "./traces.css";

/** Traces that are merged at most. */
const MOST_TRACES = 2000;

interface Side {
  matched: number;
  merged: number;
  truncated: boolean;
}

/** What boxes are as wide as. */
type Weight = "total" | "self";

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

function Merged({ data, limit, weight }: { data: Answered; limit: number; weight: Weight }) {
  const { nodes, traces, truncated } = data.flame;
  const shown = useMemo(() => (weight === "self" ? byOwnTime(nodes) : nodes), [nodes, weight]);
  const boxes = useMemo(() => boxesOf(shown), [shown]);
  const [selected, setSelected] = useState<number>();
  const [operation, setOperation] = useState<number>();
  const hasOther = data.b !== undefined;
  const more = Math.min(MOST_TRACES, limit * 4);
  theme.value;
  const color = (box: number) => {
    const node = shown[box]!;
    return hasOther ? changeColor(change(node, traces)) : colorOf(node.service);
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
        <SelectField
          label="Width by"
          value={weight}
          options={[
            ["total", "time, with what is below"],
            ["self", "own time"],
          ]}
          onChange={(by) => {
            setOperation(undefined);
            setParams({ by: by === "self" ? by : undefined }, { replace: true });
          }}
        />
      </div>
      {(truncated || data.a.truncated || data.b?.truncated) && (
        <Warning>
          More traces match than are merged.{" "}
          {more > limit && (
            <Button onClick={() => setParams({ limit: more }, { replace: true })}>Up to {count(more)}</Button>
          )}
        </Warning>
      )}
      <Card>
        <Flame
          // Boxes of the one are not those of the other: what is looked at closely is not either.
          key={weight}
          boxes={boxes}
          label={weight === "self" ? "Own time by service and operation" : "Flame of the traces"}
          text={(box) => shown[box]!.name}
          color={color}
          selected={weight === "self" ? operation : selected}
          onSelect={weight === "self" ? setOperation : setSelected}
          isMarked={(box) => shown[box]!.a.errors + (shown[box]!.b?.errors ?? 0) > 0}
          tip={(box) => <Tip node={shown[box]!} traces={traces} hasOther={hasOther} weight={weight} />}
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

function Tip({
  node,
  traces,
  hasOther,
  weight,
}: {
  node: FlameNode;
  traces: readonly number[];
  hasOther: boolean;
  weight: Weight;
}) {
  const perTrace = (nanos: number, side: number) => duration(nanos / Math.max(1, traces[side] ?? 1));
  const times = (of: FlameNumbers, side: number) =>
    weight === "self"
      ? `${perTrace(of.selfNanos, side)} of their own for each trace`
      : `${perTrace(of.totalNanos, side)} for each trace, own ${perTrace(of.selfNanos, side)}`;
  return (
    <>
      <b>{node.name}</b>
      <div class="muted">{node.service}</div>
      <div>
        {hasOther ? "A " : ""}
        {count(node.a.count)} spans, {times(node.a, 0)}
        {node.a.errors > 0 ? `, ${count(node.a.errors)} errors` : ""}
      </div>
      {node.b && (
        <div>
          B {count(node.b.count)} spans, {times(node.b, 1)}
          {node.b.errors > 0 ? `, ${count(node.b.errors)} errors` : ""}
        </div>
      )}
      {hasOther && <div>{percent(change(node, traces))} of the longer</div>}
    </>
  );
}
