/**
 * Traces of a query merged by path into one flame; with a second query, or another time, the two are
 * compared: red where B takes longer, blue where it takes less.
 */
import { useEffect, useMemo, useState } from "preact/hooks";
import { type ApiError, getJson } from "../../frame/api";
import { href } from "../../frame/base";
import { ran } from "../../frame/recents";
import { pageLink, param, setParams } from "../../frame/router";
import { theme } from "../../frame/theme";
import { durationMillis, range } from "../../frame/time";
import { useAsk } from "../../frame/useask";
import { Button } from "../../ui/button";
import { useAddressWindow } from "../../ui/canvas/addresswindow";
import { Flame } from "../../ui/canvas/flame";
import { boxesOf, change, type FlameAnswer, type FlameNode, pathIds } from "../../ui/canvas/flamenodes";
import { colorOf } from "../../ui/colors";
import { Editor } from "../../ui/editor";
import { type QueryError, queryError } from "../../ui/editor/errors";
import { SelectField } from "../../ui/field";
import { count } from "../../ui/format";
import { Card, PageBody } from "../../ui/page";
import { Answer, Empty, ErrorBox, Warning } from "../../ui/states";
import { changeColor } from "../compare/delta";
import { FlamePaths } from "./flamepaths";
import { FlameTip, type Weight } from "./flametip";
import { byOwnTime } from "./owntime";
import "./traces.css";

/** Traces that are merged at most. */
const MOST_TRACES = 2000;

interface Side {
  matched: number;
  merged: number;
  truncated: boolean;
}

/** How much earlier B may be. */
const EARLIER = [
  ["1d", "a day earlier"],
  ["7d", "a week earlier"],
] as const;

/** What is wrong with either query, as its editor shows it. */
interface Wrong {
  a?: QueryError;
  b?: QueryError;
}

/** The server says which query it is that is wrong. */
export function wrongOf(query: string, other: string | undefined, error: Error | undefined): Wrong {
  const isOfB = other !== undefined && (error as ApiError | undefined)?.parameter === "qb";
  return isOfB ? { b: queryError(other, error) } : { a: queryError(query, error) };
}

interface Answered {
  flame: FlameAnswer;
  a: Side;
  b?: Side;
}

export default function FlamePage() {
  const query = param("q") ?? "{}";
  const other = param("qb");
  const earlier = EARLIER.find(([text]) => text === param("earlier"))?.[0] ?? "";
  const limit = Number(param("limit")) || 100;
  const shown = range.value;
  const asked = useAsk(
    (signal) => {
      const [start, end, by] = [Math.floor(shown.from), Math.ceil(shown.to), durationMillis(earlier)];
      const then = by === undefined ? {} : { startb: start - by, endb: end - by };
      return getJson<Answered>(
        "/api/traces/flame",
        { q: query, qb: other, start, end, limit, ...then },
        signal,
      );
    },
    [query, other, earlier, shown, limit],
  );
  const wrong = wrongOf(query, other, asked.error);
  return (
    <PageBody
      title="Flame of many traces"
      actions={
        <a class="button button-plain" href={href(pageLink("/traces", { q: query }))}>
          Search
        </a>
      }
    >
      <Queries query={query} other={other} earlier={earlier} wrong={wrong} />
      {asked.error && !wrong.a && !wrong.b && <ErrorBox error={asked.error} again={asked.again} />}
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

function Queries(props: { query: string; other?: string; earlier: string; wrong: Wrong }) {
  const { query, other, earlier, wrong } = props;
  const [a, setA] = useState(query);
  const [b, setB] = useState(other ?? "");
  useEffect(() => setA(query), [query]);
  useEffect(() => setB(other ?? ""), [other]);
  const run = () => {
    ran("traceql", a);
    // What was looked at closely is in the flame of other traces.
    setParams({ q: a.trim() || "{}", qb: other === undefined ? undefined : b.trim(), close: undefined });
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
          error={wrong.a}
        />
        <Button kind="primary" onClick={run} title="Run (Ctrl Enter)">
          Run
        </Button>
      </div>
      {wrong.a && <p class="bad">A: {wrong.a.message}</p>}
      {other !== undefined && (
        <div class="flame-query">
          <b>B</b>
          <Editor
            language="traceql"
            label="TraceQL of B"
            value={b}
            onChange={setB}
            onRun={run}
            error={wrong.b}
          />
          <Button
            icon="close"
            label="Without query B"
            onClick={() => setParams({ qb: undefined, close: undefined })}
          />
        </div>
      )}
      {wrong.b && <p class="bad">B: {wrong.b.message}</p>}
      <div class="row">
        {other === undefined && (
          <Button icon="compare" onClick={() => setParams({ qb: query, close: undefined })}>
            Compare with another query
          </Button>
        )}
        <SelectField
          label="Compare with"
          value={earlier}
          options={[["", other === undefined ? "no other time" : "the same time"], ...EARLIER]}
          onChange={(text) => setParams({ earlier: text || undefined, close: undefined })}
        />
      </div>
    </section>
  );
}

/** The node that a parameter names by its path: its number is another one in the next answer. */
function useChosenNode(
  name: string,
  nodes: readonly FlameNode[],
): [node: number | undefined, choose: (node: number) => void] {
  const ids = useMemo(() => pathIds(nodes), [nodes]);
  const wanted = param(name);
  const at = wanted === undefined ? -1 : ids.indexOf(wanted);
  return [at < 0 ? undefined : at, (node) => setParams({ [name]: ids[node] }, { replace: true })];
}

function Merged({ data, limit, weight }: { data: Answered; limit: number; weight: Weight }) {
  const { nodes, traces, truncated } = data.flame;
  const isOwn = weight === "self";
  const shown = useMemo(() => (isOwn ? byOwnTime(nodes) : nodes), [nodes, isOwn]);
  const boxes = useMemo(() => boxesOf(shown), [shown]);
  const looking = useAddressWindow("close", boxes.length);
  const [selected, selectPath] = useChosenNode("path", nodes);
  const [operation, selectOperation] = useChosenNode("operation", shown);
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
            const all = { close: undefined, operation: undefined };
            setParams({ by: by === "self" ? by : undefined, ...all }, { replace: true });
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
          looking={looking}
          label={isOwn ? "Own time by service and operation" : "Flame of the traces"}
          text={(box) => shown[box]!.name}
          color={color}
          unit={isOwn ? "operations" : "paths"}
          selected={isOwn ? operation : selected}
          onSelect={isOwn ? selectOperation : selectPath}
          isMarked={(box) => shown[box]!.a.errors + (shown[box]!.b?.errors ?? 0) > 0}
          tip={(box) => <FlameTip node={shown[box]!} traces={traces} hasOther={hasOther} weight={weight} />}
        />
      </Card>
      <FlamePaths
        nodes={nodes}
        traces={traces}
        hasOther={hasOther}
        selected={selected}
        onSelect={selectPath}
      />
    </div>
  );
}
