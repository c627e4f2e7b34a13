/**
 * The trace as a flame: in the order of time, or left heavy, where spans of the same path are one box and
 * the widest stand first.
 */
import { useMemo } from "preact/hooks";
import { param, setParams } from "../../frame/router";
import { Flame, type FlameBoxes } from "../../ui/canvas/flame";
import { colorOf } from "../../ui/colors";
import { count, duration, percent } from "../../ui/format";
import { Tabs } from "../../ui/tabs";
import { endOf, FLAG, has, nameOf, serviceOf, type Trace } from "./columns";
import { type Merged, mergePaths } from "./merged";
import type { TraceState } from "./state";

export function FlameView({ state }: { state: TraceState; id: string }) {
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
      {order === "time" ? <TimeFlame state={state} /> : <HeavyFlame state={state} />}
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

function HeavyFlame({ state }: { state: TraceState }) {
  const trace = state.trace.value;
  const merged: Merged = useMemo(() => mergePaths(trace), [trace]);
  const found = state.matches.value?.text.toLowerCase();
  return (
    <Flame
      boxes={merged}
      label="Flame, left heavy"
      text={(box) => {
        const number = merged.spans[box]!;
        return number > 1
          ? `${nameOf(trace, merged.example[box]!)} ×${count(number)}`
          : nameOf(trace, merged.example[box]!);
      }}
      color={(box) => colorOf(serviceOf(trace, merged.example[box]!))}
      isMatch={found ? (box) => nameOf(trace, merged.example[box]!).toLowerCase().includes(found) : undefined}
      isMarked={(box) => merged.errors[box]! > 0}
      onSelect={(box) => state.select(merged.example[box]!)}
      tip={(box) => (
        <>
          <b>{nameOf(trace, merged.example[box]!).slice(0, 200)}</b>
          <div>{serviceOf(trace, merged.example[box]!)}</div>
          <div>
            {count(merged.spans[box]!)} spans, {duration(merged.to[box]! - merged.from[box]!)} (
            {percent((merged.to[box]! - merged.from[box]!) / merged.length)}), self{" "}
            {duration(merged.own[box]!)}
          </div>
          {merged.errors[box]! > 0 && <div class="bad">✖ {count(merged.errors[box]!)} errors</div>}
        </>
      )}
    />
  );
}
