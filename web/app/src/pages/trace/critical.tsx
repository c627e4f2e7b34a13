/** The critical path: what the trace waited for, ranked, and what would be gained if it were quicker. */
import { useMemo } from "preact/hooks";
import { param, setParams } from "../../frame/router";
import { colorOf } from "../../ui/colors";
import { SelectField } from "../../ui/field";
import { count, duration, percent } from "../../ui/format";
import { Figure } from "../../ui/page";
import { Empty, Warning } from "../../ui/states";
import { type Column, Table } from "../../ui/table";
import { nameOf, serviceOf, type Trace } from "./columns";
import { sortingBy } from "./sorting";
import type { TraceState } from "./state";

/** Spans that are listed: those with the largest part. */
const MOST = 1000;

/** Rows on the critical path with a part of their own, the largest first. */
export function criticalRows({ critical, saving, spans }: Trace): number[] {
  const rows: number[] = [];
  for (let row = 0; row < spans; row += 1) if (critical[row]! > 0 || saving[row]! > 0) rows.push(row);
  rows.sort((a, b) => critical[b]! - critical[a]! || a - b);
  return rows;
}

/** What a trace gains if a span takes a part less: never more than its saving. */
export function gain({ duration: nanos, saving }: Trace, row: number, part: number): number {
  return Math.min(Math.max(0, nanos[row]!) * part, saving[row]!);
}

const HALF = "0.5";
const FASTER: readonly (readonly [string, string])[] = [
  ["0.1", "10 % faster"],
  ["0.25", "25 % faster"],
  [HALF, "twice as fast"],
  ["1", "not there at all"],
];

export function CriticalView({ state }: { state: TraceState }) {
  const trace = state.trace.value;
  const asked = param("faster");
  const part = FASTER.find(([value]) => value === asked)?.[0] ?? HALF;
  const all = useMemo(() => criticalRows(trace), [trace]);
  const rows = useMemo(() => all.slice(0, MOST), [all]);
  const { criticalPath, durationNanos } = trace.header;
  const uncounted = durationNanos - criticalPath.durationNanos;
  const columns = useMemo(() => columnsFor(trace, Number(part)), [trace, part]);
  if (rows.length === 0) return <Empty title="No span is waited for: there is no critical path" />;
  return (
    <div class="view-scroll stack">
      <div class="figures">
        <Figure label="Critical path" value={duration(criticalPath.durationNanos)} />
        <Figure label="Spans on it" value={count(criticalPath.spans)} hint={`of ${count(trace.spans)}`} />
        <Figure
          label="Nothing ran"
          value={duration(criticalPath.idleNanos)}
          hint={percent(criticalPath.idleNanos / (criticalPath.durationNanos || 1))}
          tone={criticalPath.idleNanos > criticalPath.durationNanos / 10 ? "warn" : undefined}
        />
      </div>
      <div class="row">
        <SelectField
          label="What if a span were"
          value={part}
          options={FASTER}
          onChange={(next) => setParams({ faster: next === HALF ? null : next }, { replace: true })}
        />
        <span class="muted">The others stay as they are; something else may be waited for then.</span>
      </div>
      {uncounted > 0 && (
        <Warning>
          Work went on outside the spans at the top: {duration(uncounted)} of the trace, which the path leaves
          out.
        </Warning>
      )}
      {criticalPath.truncated && (
        <Warning>The path has more stretches than are drawn; the figures of spans count all of them.</Warning>
      )}
      {all.length > rows.length && (
        <p class="muted" role="status">
          {count(rows.length)} of {count(all.length)} spans are listed: those with the largest part.
        </p>
      )}
      <Table
        label="Spans of the critical path"
        columns={columns}
        rows={rows}
        rowKey={(row) => row}
        {...sortingBy("criticalSort", { column: "critical", descending: true })}
        onOpen={(row) => state.select(row)}
        isSelected={(row) => row === state.selected.value}
      />
    </div>
  );
}

function columnsFor(trace: Trace, part: number): Column<number>[] {
  const whole = trace.header.criticalPath.durationNanos || 1;
  return [
    {
      id: "name",
      title: "Span",
      width: "minmax(240px, 1fr)",
      value: (row) => nameOf(trace, row),
      render: (row) => (
        <span class="row stats-name">
          <span class="swatch" style={{ background: colorOf(serviceOf(trace, row)) }} />
          <span class="muted ellipsis">{serviceOf(trace, row)}</span>
          <span class="ellipsis">{nameOf(trace, row) || "(no name)"}</span>
        </span>
      ),
    },
    {
      id: "critical",
      title: "On the path by itself",
      width: "210px",
      value: (row) => trace.critical[row]!,
      render: (row) => (
        <span class="share">
          <span class="share-bar">
            <span
              class="share-fill share-critical"
              style={{ width: `${Math.min(100, (trace.critical[row]! / whole) * 100)}%` }}
            />
          </span>
          {duration(trace.critical[row]!)} <span class="muted">{percent(trace.critical[row]! / whole)}</span>
        </span>
      ),
    },
    {
      id: "duration",
      title: "Duration",
      width: "110px",
      align: "right",
      value: (row) => trace.duration[row]!,
      render: (row) => duration(trace.duration[row]!),
    },
    {
      id: "gain",
      title: "The trace is shorter by",
      width: "190px",
      align: "right",
      value: (row) => gain(trace, row, part),
      render: (row) => (
        <>
          <b>{duration(gain(trace, row, part))}</b>{" "}
          <span class="muted">{percent(gain(trace, row, part) / whole)}</span>
        </>
      ),
    },
    {
      id: "saving",
      title: "At most",
      width: "110px",
      align: "right",
      value: (row) => trace.saving[row]!,
      render: (row) => duration(trace.saving[row]!),
    },
  ];
}
