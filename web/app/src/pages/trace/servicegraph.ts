/** Which service called which in a trace, and where each stands in a picture of it. */
import { FLAG, type Trace } from "./columns";

export interface GraphEdge {
  from: number;
  to: number;
  calls: number;
  errors: number;
  nanos: number;
}

export interface GraphNode {
  service: number;
  /** Steps from where the trace begins. */
  layer: number;
  /** Place in its layer. */
  place: number;
}

export interface ServiceGraph {
  nodes: GraphNode[];
  edges: GraphEdge[];
  layers: number;
}

/** Calls between services: a span whose parent is another service's. */
export function serviceGraph(trace: Trace): ServiceGraph {
  const services = trace.header.services.length;
  const edges = new Map<number, GraphEdge>();
  const isFirst = new Set<number>();
  for (let row = 0; row < trace.spans; row += 1) {
    const parent = trace.parent[row]!;
    const to = trace.service[row]!;
    if (parent < 0) isFirst.add(to);
    const from = parent < 0 ? to : trace.service[parent]!;
    if (from === to) continue;
    const key = from * services + to;
    let edge = edges.get(key);
    if (!edge) {
      edge = { from, to, calls: 0, errors: 0, nanos: 0 };
      edges.set(key, edge);
    }
    edge.calls += 1;
    edge.nanos += Math.max(0, trace.duration[row]!);
    if ((trace.flags[row]! & FLAG.error) !== 0) edge.errors += 1;
  }
  return layered(services, [...edges.values()], isFirst);
}

/** Layers by the fewest steps from the beginning; services that nothing leads to begin, too. */
function layered(services: number, edges: GraphEdge[], isFirst: ReadonlySet<number>): ServiceGraph {
  const layer = new Int32Array(services).fill(-1);
  let current = [...isFirst];
  for (const service of current) layer[service] = 0;
  const next = new Map<number, number[]>();
  for (const { from, to } of edges) {
    const known = next.get(from);
    if (known) known.push(to);
    else next.set(from, [to]);
  }
  let depth = 0;
  while (current.length > 0) {
    depth += 1;
    const found: number[] = [];
    for (const service of current) {
      for (const to of next.get(service) ?? []) {
        if (layer[to] !== -1) continue;
        layer[to] = depth;
        found.push(to);
      }
    }
    current = found;
  }
  const filled: number[] = [];
  const nodes: GraphNode[] = [];
  for (let service = 0; service < services; service += 1) {
    const at = Math.max(0, layer[service]!);
    filled[at] = (filled[at] ?? 0) + 1;
    nodes.push({ service, layer: at, place: filled[at]! - 1 });
  }
  return { nodes, edges, layers: filled.length };
}
