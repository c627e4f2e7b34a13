/**
 * The trace as a flame: in the order of time, or left heavy, where spans of the same path are one box and
 * the widest stand first.
 */
import { useMemo } from "preact/hooks";
import { param, setParams } from "../../frame/router";
import { useAsk } from "../../frame/useask";
import { useAddressWindow } from "../../ui/canvas/addresswindow";
import { Flame } from "../../ui/canvas/flame";
import type { FlameBoxes } from "../../ui/canvas/flamegeometry";
import { boxesOf, type FlameAnswer } from "../../ui/canvas/flamenodes";
import { colorOf } from "../../ui/colors";
import { count, duration, percent } from "../../ui/format";
import { Answer, Warning } from "../../ui/states";
import { Tabs } from "../../ui/tabs";
import { askFlame } from "./asked";
import { endOf, FLAG, has, nameOf, serviceOf, type Trace } from "./columns";
import { boxesOfRows, boxesWith } from "./flamematch";
import type { TraceState } from "./state";

export function FlameView({ state, id }: { state: TraceState; id: string }) {
  const order = param("order") === "heavy" ? "heavy" : "time";
  return (
    <div class="flame-view">
      <div class="flame-bar">
        <Tabs
          label="Order"
          tabs={[
            { id: "time", label: "Time order" },
            { id: "heavy", label: "Left heavy" },
          ]}
          current={order}
          onChange={(next) => setParams({ order: next === "heavy" ? next : null }, { replace: true })}
        />
        <span class="muted">
          {order === "time"
            ? "Each span where it ran. Click to look closely."
            : "Spans with the same path are one box; its width is the time that its spans worked by themselves."}
        </span>
      </div>
      {order === "time" ? <TimeFlame state={state} /> : <HeavyFlame state={state} id={id} />}
    </div>
  );
}

function timeBoxes(trace: Trace): FlameBoxes {
  const to = new Float64Array(trace.spans);
  for (let row = 0; row < trace.spans; row += 1) to[row] = endOf(trace, row);
  return {
    count: trace.spans,
    from: trace.start,
    to,
    depth: trace.depth,
    subtree: trace.subtree,
    length: Math.max(1, trace.header.durationNanos),
    depths: trace.header.totals.maxDepth + 1,
  };
}

function TimeFlame({ state }: { state: TraceState }) {
  const trace = state.trace.value;
  const boxes = useMemo(() => timeBoxes(trace), [trace]);
  const matches = state.matches.value ? state.matchSet.value : undefined;
  return (
    <Flame
      boxes={boxes}
      looking={state}
      label="Flame in the order of time"
      text={(row) => nameOf(trace, row)}
      color={(row) => colorOf(serviceOf(trace, row))}
      isMatch={matches ? (row) => matches.has(row) : undefined}
      isMarked={(row) => has(trace, row, FLAG.error)}
      selected={state.selected.value}
      onSelect={(row) => state.select(row)}
      tip={(row) => (
        <>
          <b>{nameOf(trace, row).slice(0, 200)}</b>
          <div>{serviceOf(trace, row)}</div>
          <div>
            {duration(trace.duration[row]!)}, self {duration(trace.self[row]!)}
          </div>
          {has(trace, row, FLAG.error) && <div class="bad">✖ error</div>}
        </>
      )}
    />
  );
}

function HeavyFlame({ state, id }: { state: TraceState; id: string }) {
  const { revision } = state.trace.value.header;
  const asked = useAsk((signal) => askFlame(id, signal), [id, revision]);
  return <Answer of={asked}>{(flame) => <Merged flame={flame} state={state} />}</Answer>;
}

function Merged({ flame, state }: { flame: FlameAnswer; state: TraceState }) {
  const boxes = useMemo(() => boxesOf(flame.nodes), [flame]);
  const looking = useAddressWindow("close", boxes.length);
  const { nodes } = flame;
  const trace = state.trace.value;
  const matches = state.matches.value;
  const isSearched = matches !== undefined;
  const ofRows = useMemo(
    () => (isSearched ? boxesOfRows(nodes, trace) : undefined),
    [nodes, trace, isSearched],
  );
  const found = useMemo(
    () => (matches && ofRows ? boxesWith(matches.rows, ofRows) : undefined),
    [matches, ofRows],
  );
  return (
    <div class="flame-view">
      {flame.truncated && (
        <Warning>There are more paths than are shown; their time is that of the box above.</Warning>
      )}
      <Flame
        boxes={boxes}
        looking={looking}
        label="Flame, left heavy"
        unit="paths"
        text={(box) => {
          const { name, a } = nodes[box]!;
          return a.count > 1 ? `${name} ×${count(a.count)}` : name;
        }}
        color={(box) => colorOf(nodes[box]!.service)}
        isMatch={found ? (box) => found.has(box) : undefined}
        isMarked={(box) => nodes[box]!.a.errors > 0}
        tip={(box) => {
          const { name, service, a } = nodes[box]!;
          return (
            <>
              <b>{name.slice(0, 200)}</b>
              <div>{service}</div>
              <div>
                {count(a.count)} spans, {duration(a.weightNanos)} ({percent(a.weightNanos / boxes.length)}),
                self {duration(a.selfNanos)}
              </div>
              {a.errors > 0 && <div class="bad">✖ {count(a.errors)} errors</div>}
            </>
          );
        }}
      />
    </div>
  );
}
