/** The comparison of two traces, as the server makes it. */
import { getJson } from "../../frame/api";
import type { FlameAnswer, FlameNode } from "../../ui/canvas/flamenodes";

export interface Summary {
  traceId: string;
  name: string | null;
  service: string | null;
  start: string;
  durationNanos: number;
  spans: number;
  errors: number;
}

export interface OperationNumbers {
  count: number;
  errors: number;
  totalNanos: number;
  selfNanos: number;
}

export interface OperationDelta {
  service: string;
  name: string;
  a: OperationNumbers;
  b: OperationNumbers;
  deltaTotalNanos: number;
  deltaSelfNanos: number;
}

export interface SpanDelta {
  aRow: number;
  bRow: number;
  aId: string;
  bId: string;
  service: string;
  name: string;
  aNanos: number;
  bNanos: number;
  deltaNanos: number;
}

export interface OneSided {
  total: number;
  /** The longest of them. */
  ids: string[];
}

export interface AttributeDelta {
  key: string;
  a: unknown;
  b: unknown;
}

export interface Comparison {
  a: Summary;
  b: Summary;
  flame: FlameAnswer;
  operations: OperationDelta[];
  paired: number;
  spans: SpanDelta[];
  onlyInA: OneSided;
  onlyInB: OneSided;
  attributes: AttributeDelta[];
}

/** A comparison with the ids that were asked for: others may be in the address while it is still shown. */
export interface Compared {
  a: string;
  b: string;
  comparison: Comparison;
}

export async function askComparison(a: string, b: string, signal?: AbortSignal): Promise<Compared> {
  const path = `/api/trace/${encodeURIComponent(a)}/compare`;
  return { a, b, comparison: await getJson<Comparison>(path, { with: b }, signal) };
}

/** Which nodes of a tree are shown: those whose parents are all open. */
export function openNodes(nodes: readonly FlameNode[], folded: ReadonlySet<number>): number[] {
  const isHidden = new Uint8Array(nodes.length);
  const shown: number[] = [];
  nodes.forEach(({ parent }, at) => {
    if (parent >= 0 && (isHidden[parent] === 1 || folded.has(parent))) isHidden[at] = 1;
    else shown.push(at);
  });
  return shown;
}

/** Nodes to fold at first: those below which nothing differs by a part of the whole that matters. */
export function quietNodes(nodes: readonly FlameNode[], least: number): Set<number> {
  const loudest = new Float64Array(nodes.length);
  for (let at = nodes.length - 1; at >= 0; at -= 1) {
    const { a, b, parent } = nodes[at]!;
    const own = Math.abs((b?.selfNanos ?? 0) - a.selfNanos);
    if (parent < 0) continue;
    loudest[parent] = Math.max(loudest[parent]!, loudest[at]!, own);
  }
  const quiet = new Set<number>();
  nodes.forEach((_, at) => {
    if (loudest[at]! < least) quiet.add(at);
  });
  return quiet;
}
