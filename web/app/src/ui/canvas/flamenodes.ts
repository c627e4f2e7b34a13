/**
 * Flames that the server merged (of a trace, of many, of two sides) as boxes: each node beside its sibling,
 * as wide as its weight. Of two sides the width is that of both together.
 */
import type { FlameBoxes } from "./flamegeometry";

/** Numbers of the spans of a node. */
export interface FlameNumbers {
  count: number;
  errors: number;
  totalNanos: number;
  selfNanos: number;
  /** Own time of them and of all below: what nodes are drawn by. */
  weightNanos: number;
  criticalNanos: number;
}

export interface FlameNode {
  /** The node above; -1 at the top. */
  parent: number;
  depth: number;
  name: string;
  service: string;
  a: FlameNumbers;
  b?: FlameNumbers;
}

export interface FlameAnswer {
  /** Traces, and spans, of side A and of side B if there is one. */
  traces: number[];
  spans: number[];
  nodes: FlameNode[];
  truncated: boolean;
}

/** What a node weighs, on both sides. */
function weightOf({ a, b }: FlameNode): number {
  return a.weightNanos + (b?.weightNanos ?? 0);
}

/** For each node, its path as eight digits: the same in another answer, where the node has another number. */
export function pathIds(nodes: readonly FlameNode[]): string[] {
  const hashes = new Uint32Array(nodes.length);
  nodes.forEach(({ parent, service, name }, at) => {
    let hash = parent < 0 ? 2166136261 : hashes[parent]!;
    for (const text of [service, name]) {
      for (let letter = 0; letter < text.length; letter += 1) {
        hash = Math.imul(hash ^ text.charCodeAt(letter), 16777619);
      }
      // Where one text ends and the next begins.
      hash = Math.imul(hash ^ 0xffff, 16777619);
    }
    hashes[at] = hash;
  });
  return Array.from(hashes, (hash) => hash.toString(16).padStart(8, "0"));
}

/** Boxes of nodes in tree order. */
export function boxesOf(nodes: readonly FlameNode[]): FlameBoxes {
  const size = nodes.length;
  const from = new Float64Array(size);
  const to = new Float64Array(size);
  const depth = new Uint32Array(size);
  const subtree = new Uint32Array(size).fill(1);
  // Where the next child of each node begins.
  const next = new Float64Array(size);
  let [end, depths] = [0, 0];
  nodes.forEach((node, at) => {
    const { parent } = node;
    const start = parent < 0 ? end : next[parent]!;
    from[at] = start;
    to[at] = start + weightOf(node);
    next[at] = start;
    if (parent < 0) end = to[at]!;
    else next[parent] = to[at]!;
    depth[at] = node.depth;
    depths = Math.max(depths, node.depth + 1);
  });
  for (let at = size - 1; at >= 0; at -= 1) {
    const { parent } = nodes[at]!;
    if (parent >= 0) subtree[parent]! += subtree[at]!;
  }
  return { count: size, from, to, depth, subtree, length: end || 1, depths };
}

/** How much longer B took than A for one trace of each side, as a part of the longer: -1 to 1. */
export function change({ a, b }: FlameNode, traces: readonly number[]): number {
  const before = a.weightNanos / Math.max(1, traces[0] ?? 1);
  const after = (b?.weightNanos ?? 0) / Math.max(1, traces[1] ?? 1);
  const longer = Math.max(before, after);
  return longer === 0 ? 0 : (after - before) / longer;
}
