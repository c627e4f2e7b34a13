/** One trace as a query of it answers: its spans in the order of their tree, with what a bar of each needs. */
import { endsOf } from "../ui/ends";
import { type Cell, type Frame, numberOf, textOf } from "./frame";

export interface TreeSpan {
  id: string;
  name: string;
  service: string;
  isError: boolean;
  /** How many spans it is within. */
  depth: number;
  /** Milliseconds since the trace began. */
  start: number;
  nanos: number;
}

export interface SpanTree {
  traceId: string;
  spans: TreeSpan[];
  /** From the first beginning to the last end. */
  nanos: number;
  services: number;
  errors: number;
}

const NANOS_PER_MILLI = 1e6;

/** The trace that a frame is of; `undefined` if it is none. */
function traceIdOf({ meta }: Frame): string | undefined {
  return typeof meta?.traceId === "string" ? meta.traceId : undefined;
}

/** The tree of a trace's spans; `undefined` of other frames, and where there are no spans. */
export function spanTree(frame: Frame): SpanTree | undefined {
  const traceId = traceIdOf(frame);
  const column = (name: string): Cell[] => frame.fields.find((field) => field.name === name)?.values ?? [];
  const [ids, parents, names] = [column("spanID"), column("parentSpanID"), column("operationName")];
  const [services, statuses] = [column("serviceName"), column("statusCode")];
  const starts = column("startTime").map((cell) => numberOf(cell) ?? 0);
  const lengths = column("duration").map((cell) => numberOf(cell) ?? 0);
  if (traceId === undefined || ids.length === 0) return undefined;
  const began = endsOf(starts)?.[0] ?? 0;
  const spans = treeOrder(ids.map(textOf), parents.map(textOf)).map(([row, depth]) => ({
    id: textOf(ids[row]),
    name: textOf(names[row]),
    service: textOf(services[row]),
    isError: textOf(statuses[row]) === "error",
    depth,
    start: (starts[row] ?? 0) - began,
    nanos: lengths[row] ?? 0,
  }));
  const ended = endsOf(spans.map(({ start, nanos }) => start * NANOS_PER_MILLI + nanos));
  return {
    traceId,
    spans,
    nanos: ended?.[1] ?? 0,
    services: new Set(spans.map(({ service }) => service)).size,
    errors: spans.filter(({ isError }) => isError).length,
  };
}

/**
 * Rows in the order of their tree, with their depths. Those whose parents are not there are roots; those
 * whose parents lead in a circle come last, so that each row is there once.
 */
function treeOrder(ids: readonly string[], parents: readonly string[]): [row: number, depth: number][] {
  const rows = new Map<string, number>();
  for (const [row, id] of ids.entries()) if (!rows.has(id)) rows.set(id, row);
  const children = new Map<number, number[]>();
  const roots: number[] = [];
  for (const row of ids.keys()) {
    const parent = rows.get(parents[row] ?? "");
    if (parent === undefined || parent === row) roots.push(row);
    else if (children.has(parent)) children.get(parent)!.push(row);
    else children.set(parent, [row]);
  }
  const done = new Set<number>();
  const order: [number, number][] = [];
  for (const root of [...roots, ...ids.keys()]) {
    const waiting: [number, number][] = [[root, 0]];
    for (let next = waiting.pop(); next; next = waiting.pop()) {
      const [row, depth] = next;
      if (done.has(row)) continue;
      done.add(row);
      order.push([row, depth]);
      for (const child of (children.get(row) ?? []).toReversed()) waiting.push([child, depth + 1]);
    }
  }
  return order;
}

/** Where a span's bar is, in parts of the whole trace. */
export function placeOf({ start, nanos }: TreeSpan, whole: number): { from: number; length: number } {
  const total = Math.max(1, whole);
  const from = Math.min(1, (start * NANOS_PER_MILLI) / total);
  return { from, length: Math.min(1 - from, nanos / total) };
}
