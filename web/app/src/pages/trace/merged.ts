/**
 * Spans of the same path (service and name of each on the way down) as one box, the widest first. A box is
 * as wide as the time that its spans and all below them worked by themselves, so that boxes fit their parent
 * even where children ran at once.
 */
import type { FlameBoxes } from "../../ui/canvas/flame";
import { FLAG, type Trace } from "./columns";

export interface Merged extends FlameBoxes {
  /** How many spans a box stands for, how many of them have an error, and the row of the first. */
  spans: Uint32Array;
  errors: Uint32Array;
  example: Uint32Array;
  /** Nanoseconds of the box alone. */
  own: Float64Array;
}

/** The tree of paths, in the order its nodes were found. */
interface Nodes {
  parent: number[];
  spans: number[];
  errors: number[];
  example: number[];
  own: number[];
}

function nodesOf(trace: Trace): Nodes {
  const nodes: Nodes = { parent: [], spans: [], errors: [], example: [], own: [] };
  const names = trace.header.names.length + 1;
  const operations = names * (trace.header.services.length + 1);
  const known = new Map<number, number>();
  const nodeOf = new Int32Array(trace.spans);
  for (let row = 0; row < trace.spans; row += 1) {
    const above = trace.parent[row]!;
    const parent = above < 0 ? -1 : nodeOf[above]!;
    const operation = trace.service[row]! * names + trace.name[row]!;
    const key = (parent + 1) * operations + operation;
    let node = known.get(key);
    if (node === undefined) {
      node = nodes.parent.length;
      known.set(key, node);
      nodes.parent.push(parent);
      nodes.spans.push(0);
      nodes.errors.push(0);
      nodes.example.push(row);
      nodes.own.push(0);
    }
    nodeOf[row] = node;
    nodes.spans[node]! += 1;
    nodes.own[node]! += Math.max(0, trace.self[row]!);
    if ((trace.flags[row]! & FLAG.error) !== 0) nodes.errors[node]! += 1;
  }
  return nodes;
}

/** Merges the paths of a trace, and lays them out. */
export function mergePaths(trace: Trace): Merged {
  const nodes = nodesOf(trace);
  const size = nodes.parent.length;
  const total = Float64Array.from(nodes.own);
  const below = new Uint32Array(size).fill(1);
  // Parents come before their children: from the end, each is complete when it is added.
  for (let node = size - 1; node >= 0; node -= 1) {
    const parent = nodes.parent[node]!;
    if (parent < 0) continue;
    total[parent]! += total[node]!;
    below[parent]! += below[node]!;
  }
  const children: number[][] = Array.from({ length: size + 1 }, () => []);
  for (let node = 0; node < size; node += 1) children[nodes.parent[node]! + 1]!.push(node);
  for (const list of children) list.sort((a, b) => total[b]! - total[a]!);
  const merged: Merged = {
    count: size,
    from: new Float64Array(size),
    to: new Float64Array(size),
    depth: new Uint32Array(size),
    subtree: new Uint32Array(size),
    spans: new Uint32Array(size),
    errors: new Uint32Array(size),
    example: new Uint32Array(size),
    own: new Float64Array(size),
    length: 1,
    depths: 0,
  };
  place(nodes, children, total, below, merged);
  return merged;
}

/** Writes nodes in tree order, each beside its sibling, without recursion. */
function place(
  nodes: Nodes,
  children: readonly number[][],
  total: Float64Array,
  below: Uint32Array,
  merged: Merged,
): void {
  const stack: { node: number; from: number; depth: number }[] = [];
  const push = (list: readonly number[], start: number, depth: number) => {
    let from = start;
    const placed = list.map((node) => {
      const at = { node, from, depth };
      from += total[node]!;
      return at;
    });
    for (let at = placed.length - 1; at >= 0; at -= 1) stack.push(placed[at]!);
    return from;
  };
  merged.length = push(children[0]!, 0, 0) || 1;
  for (let box = 0; stack.length > 0; box += 1) {
    const { node, from, depth } = stack.pop()!;
    (merged.from as Float64Array)[box] = from;
    (merged.to as Float64Array)[box] = from + total[node]!;
    (merged.depth as Uint32Array)[box] = depth;
    (merged.subtree as Uint32Array)[box] = below[node]!;
    merged.spans[box] = nodes.spans[node]!;
    merged.errors[box] = nodes.errors[node]!;
    merged.example[box] = nodes.example[node]!;
    merged.own[box] = nodes.own[node]!;
    merged.depths = Math.max(merged.depths, depth + 1);
    push(children[node + 1]!, from, depth + 1);
  }
}
