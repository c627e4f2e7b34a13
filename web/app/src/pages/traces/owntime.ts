/**
 * A flame by own time alone: services, and below each the operations that they do, as wide as the time that
 * spans of theirs spent themselves, wherever in a trace they are. What takes long altogether is one box then,
 * which the flame by paths has in many places.
 */
import type { FlameNode, FlameNumbers } from "../../ui/canvas/flamenodes";

function none(): FlameNumbers {
  return { count: 0, errors: 0, totalNanos: 0, selfNanos: 0, weightNanos: 0, criticalNanos: 0 };
}

function add(sum: FlameNumbers, one: FlameNumbers): void {
  sum.count += one.count;
  sum.errors += one.errors;
  sum.criticalNanos += one.criticalNanos;
  sum.selfNanos += one.selfNanos;
  // Nothing is below: what it is drawn by, and what it took, is its own.
  sum.weightNanos += one.selfNanos;
  sum.totalNanos += one.selfNanos;
}

function merge(into: FlameNode, { a, b }: FlameNode): void {
  add(into.a, a);
  if (into.b && b) add(into.b, b);
}

/** Nodes of a flame by paths as services and their operations, in tree order, the most time first. */
export function byOwnTime(nodes: readonly FlameNode[]): FlameNode[] {
  const hasOther = nodes.some(({ b }) => b !== undefined);
  const made = (name: string, service: string, depth: number): FlameNode => ({
    parent: -1,
    depth,
    name,
    service,
    a: none(),
    b: hasOther ? none() : undefined,
  });
  const services = new Map<string, { node: FlameNode; operations: Map<string, FlameNode> }>();
  for (const node of nodes) {
    let service = services.get(node.service);
    if (!service) {
      service = { node: made(node.service || "no service", node.service, 0), operations: new Map() };
      services.set(node.service, service);
    }
    let operation = service.operations.get(node.name);
    if (!operation) {
      operation = made(node.name, node.service, 1);
      service.operations.set(node.name, operation);
    }
    merge(service.node, node);
    merge(operation, node);
  }
  const weight = ({ a, b }: FlameNode) => a.weightNanos + (b?.weightNanos ?? 0);
  const ordered: FlameNode[] = [];
  for (const { node, operations } of [...services.values()].sort((x, y) => weight(y.node) - weight(x.node))) {
    const parent = ordered.push(node) - 1;
    for (const operation of [...operations.values()].sort((x, y) => weight(y) - weight(x)))
      ordered.push({ ...operation, parent });
  }
  return ordered;
}
