/**
 * A run as a chart: a row for each job with its waiting, its runner getting ready, and its running, on one
 * axis of time. Rows are elements of the page, so that they can be walked, read and linked.
 */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { getJson } from "../../frame/api";
import { href } from "../../frame/base";
import { useKeys } from "../../frame/keys";
import { link, param, paramAll, setParams } from "../../frame/router";
import { ticks } from "../../ui/canvas/ticks";
import { count, fullTime } from "../../ui/format";
import { Icon } from "../../ui/icon";
import { ErrorBox, Warning } from "../../ui/states";
import { Delta, Ended, look, seconds } from "./bits";
import { belowOf, GROUPINGS, hasFailed, hasLeaves, onPath, type Row, rowsOf, type Segment } from "./gantt";
import type { Leaf, RunDocument } from "./types";

const NAMES = { queue: "waited for a runner", dispatch: "runner got ready", run: "ran" } as const;

function verb(segment: Segment): string {
  return segment.isOpen ? "runs for" : NAMES[segment.kind];
}

interface Leaves {
  found: ReadonlyMap<string, readonly Leaf[]>;
  /** Spans that have more below them than is told at once. */
  cut: ReadonlySet<string>;
  error?: Error;
  again: () => void;
}

/** What lies below spans that are unfolded: fetched once, and again where it could not be. */
function useLeaves(document: RunDocument, open: readonly string[]): Leaves {
  const [found, setFound] = useState<ReadonlyMap<string, readonly Leaf[]>>(new Map());
  const [cut, setCut] = useState<ReadonlySet<string>>(new Set());
  const [error, setError] = useState<Error>();
  const [turn, setTurn] = useState(0);
  const asked = useRef(new Set<string>());
  const left = useRef(new AbortController());
  useEffect(() => () => left.current.abort(), []);
  useEffect(() => {
    setError(undefined);
    for (const span of open) {
      if (asked.current.has(span) || !hasLeaves(document, span)) continue;
      asked.current.add(span);
      const path = `/api/ci/runs/${document.run.trace_id}/below`;
      getJson<{ spans: Leaf[]; is_truncated: boolean }>(path, { span }, left.current.signal).then(
        ({ spans, is_truncated }) => {
          setFound((before) => new Map(before).set(span, spans));
          if (is_truncated) setCut((before) => new Set(before).add(span));
        },
        (failure: Error) => {
          asked.current.delete(span);
          if (failure.name !== "AbortError") setError(failure);
        },
      );
    }
  }, [document, open.join(), turn]);
  return { found, cut, error, again: () => setTurn((before) => before + 1) };
}

function Bar({ row, run }: { row: Row; run: RunDocument["run"] }) {
  const length = Math.max(1, run.end_ms - run.start_ms);
  const lines = row.count ?? 1;
  const place = (segment: Segment) => ({
    left: `${((segment.from - run.start_ms) / length) * 100}%`,
    width: `${Math.max(0.12, ((segment.to - segment.from) / length) * 100)}%`,
    ...(segment.line === undefined
      ? {}
      : { top: `${8 + (segment.line / lines) * 84}%`, bottom: "auto", height: `${76 / lines}%` }),
  });
  const tone = (segment: Segment) =>
    look(segment.conclusion === undefined ? row.conclusion : segment.conclusion).tone;
  return (
    <>
      {row.segments.map((segment) => (
        <span
          key={`${segment.kind}${segment.line ?? ""}`}
          class={`gantt-part gantt-${segment.kind} ${segment.kind === "run" ? `gantt-${tone(segment)}` : ""} gantt-of-${row.kind}${
            row.isOnPath && row.kind !== "group" && segment.kind === "run" ? " gantt-critical" : ""
          }${segment.isOpen ? " gantt-open" : ""}`}
          style={place(segment)}
          title={`${row.name}: ${verb(segment)} ${seconds((segment.to - segment.from) / 1000)}, from ${fullTime(segment.from)}`}
        />
      ))}
    </>
  );
}

function Facts({ row }: { row: Row }) {
  const job = row.job;
  return (
    <>
      <span class="gantt-number">{seconds(row.seconds)}</span>
      <span class="gantt-number">{job ? <Delta value={job.delta_seconds} /> : null}</span>
      <span class="gantt-number muted">
        {job && job.slack_seconds !== null ? seconds(job.slack_seconds) : ""}
      </span>
    </>
  );
}

interface LineProps {
  row: Row;
  at: number;
  run: RunDocument["run"];
  isFocused: boolean;
  toggle: (row: Row) => void;
  focus: (at: number) => void;
}

function Line({ row, at, run, isFocused, toggle, focus }: LineProps) {
  return (
    <div
      class={`gantt-row gantt-row-${row.kind}${isFocused ? " gantt-focused" : ""}`}
      role="row"
      aria-level={row.depth + 1}
      aria-expanded={row.canOpen ? row.isOpen : undefined}
      tabIndex={isFocused ? 0 : -1}
      data-row={at}
      style={{ minHeight: row.count === undefined ? undefined : Math.min(72, Math.max(26, row.count * 5)) }}
      onClick={() => focus(at)}
      onFocusIn={() => focus(at)}
    >
      <div class="gantt-name" role="gridcell" style={{ paddingLeft: 6 + row.depth * 16 }}>
        {row.canOpen ? (
          <button
            type="button"
            class="gantt-fold"
            aria-label={`${row.isOpen ? "Fold" : "Unfold"} ${row.name}`}
            onClick={() => toggle(row)}
          >
            <Icon name={row.isOpen ? "down" : "right"} size={12} />
          </button>
        ) : (
          <span class="gantt-fold" />
        )}
        <Ended conclusion={row.conclusion} short />
        <span class="ellipsis" title={row.hint ? `${row.name}: ${row.hint}` : row.name}>
          {row.spanId ? (
            <a href={href(link(`/trace/${run.trace_id}`, { span: row.spanId }))}>{row.name}</a>
          ) : (
            row.name
          )}
          {row.count !== undefined && <span class="muted"> ×{row.count}</span>}
          {row.failed ? <span class="bad"> {row.failed} failed</span> : null}
          {row.hint && <span class="muted"> {row.hint}</span>}
        </span>
        {row.isOnPath && (
          <span class="gantt-flag" title="On the critical path">
            <Icon name="flag" size={12} />
            <span class="hidden">on the critical path</span>
          </span>
        )}
      </div>
      <div class="gantt-track" role="gridcell">
        <Bar row={row} run={run} />
      </div>
      <div class="gantt-facts" role="gridcell">
        <Facts row={row} />
      </div>
    </div>
  );
}

/** The chart of a run. */
export function Chart({ document: told }: { document: RunDocument }) {
  const opened = paramAll("open");
  const unfoldAll = param("unfold") === "1";
  const onlyPath = param("path") === "1";
  const by = GROUPINGS.find((grouping) => grouping === param("by")) ?? "job";
  const leaves = useLeaves(told, opened);
  const rows = useMemo(() => {
    const all = rowsOf(told, new Set(opened), leaves.found, unfoldAll, by);
    return onlyPath ? onPath(all) : all;
  }, [told, opened.join(), leaves.found, unfoldAll, onlyPath, by]);
  const [focused, setFocused] = useState(0);
  const root = useRef<HTMLDivElement>(null);
  const toggle = (row: Row) => {
    const isHere = opened.includes(row.key);
    const open = isHere ? opened.filter((key) => key !== row.key) : [...opened, row.key];
    setParams({ open }, { replace: true });
  };
  const move = (by: number) => {
    const next = Math.max(0, Math.min(rows.length - 1, focused + by));
    setFocused(next);
    const row = root.current?.querySelector<HTMLElement>(`[data-row="${next}"]`);
    row?.focus({ preventScroll: true });
    row?.scrollIntoView({ block: "nearest" });
  };
  const nextFailure = () => {
    const order = [...rows.keys()].map((step) => (focused + 1 + step) % rows.length);
    const at = order.find((nth) => hasFailed(rows[nth]!.conclusion));
    if (at !== undefined) move(at - focused);
  };
  useKeys(
    "Run",
    [
      { keys: "j", label: "Next row", run: () => move(1) },
      { keys: "k", label: "Row before", run: () => move(-1) },
      { keys: "Enter", label: "Unfold or fold", run: () => rows[focused]?.canOpen && toggle(rows[focused]!) },
      { keys: "e", label: "Next failure", run: nextFailure },
      {
        keys: "c",
        label: "Critical path alone",
        run: () => setParams({ path: onlyPath ? undefined : "1" }, { replace: true }),
      },
      {
        keys: "m",
        label: "Unfold what is together",
        run: () => setParams({ unfold: unfoldAll ? undefined : "1", open: undefined }, { replace: true }),
      },
    ],
    [rows, focused, opened.join(), onlyPath, unfoldAll],
  );
  const lengthNanos = Math.max(1, told.run.end_ms - told.run.start_ms) * 1e6;
  return (
    <>
      {leaves.error && <ErrorBox error={leaves.error} again={leaves.again} />}
      {opened
        .filter((span) => leaves.cut.has(span))
        .map((span) => (
          <Warning key={span}>
            {count(leaves.found.get(span)?.length ?? 0)} of {count(belowOf(told, span)?.count ?? 0)} spans
            below “{belowOf(told, span)?.name}” are shown: failures first, then the longest.
          </Warning>
        ))}
      <div class="gantt" ref={root} role="treegrid" aria-label="Jobs of the run over time">
        <div class="gantt-row gantt-head" role="row">
          <div class="gantt-name" role="columnheader">
            Job
          </div>
          <div class="gantt-track gantt-axis" role="columnheader" aria-label="Time from the beginning">
            {ticks(0, lengthNanos, 8).map((tick) => (
              <span key={tick.at} style={{ left: `${(tick.at / lengthNanos) * 100}%` }}>
                {tick.label}
              </span>
            ))}
          </div>
          <div class="gantt-facts" role="columnheader">
            <span class="gantt-number">took</span>
            <span class="gantt-number" title="How much longer it ran than in earlier runs, in the middle">
              over usual
            </span>
            <span
              class="gantt-number"
              title="How much later it might have ended without making the run longer"
            >
              slack
            </span>
          </div>
        </div>
        {rows.map((row, at) => (
          <Line
            key={row.key}
            row={row}
            at={at}
            run={told.run}
            isFocused={at === focused}
            toggle={toggle}
            focus={setFocused}
          />
        ))}
      </div>
    </>
  );
}
