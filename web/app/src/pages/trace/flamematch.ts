/**
 * Which boxes of a left-heavy flame the spans of a trace are in. The server merged spans with the same
 * service and name below the same box; the same walk down the tree finds the box of each row.
 */
import type { FlameNode } from "../../ui/canvas/flamenodes";
import type { Trace } from "./columns";

/** The box of each row; one that has none of its own counts for the box above, and -1 is none. */
export function boxesOfRows(nodes: readonly FlameNode[], trace: Trace): Int32Array {
  const { names, services } = trace.header;
  const name = places(names);
  const service = places(services.map((one) => one.name));
  const key = (nameAt: number, serviceAt: number) => nameAt * services.length + serviceAt;
  // Numbers instead of texts: a trace may have a million spans.
  const below: Map<number, number>[] = [new Map(), ...nodes.map(() => new Map<number, number>())];
  nodes.forEach((node, box) => {
    const nameAt = name.get(node.name) ?? -1;
    const serviceAt = service.get(node.service) ?? -1;
    if (nameAt >= 0 && serviceAt >= 0) below[node.parent + 1]!.set(key(nameAt, serviceAt), box);
  });
  const nameOf = names.map((text) => name.get(text)!);
  const serviceOf = services.map((one) => service.get(one.name)!);
  const boxes = new Int32Array(trace.spans);
  for (let row = 0; row < trace.spans; row += 1) {
    const parent = trace.parent[row]!;
    const above = parent < 0 ? -1 : boxes[parent]!;
    const wanted = key(nameOf[trace.name[row]!] ?? -1, serviceOf[trace.service[row]!] ?? 0);
    boxes[row] = below[above + 1]!.get(wanted) ?? above;
  }
  return boxes;
}

/** Where each text stands first. */
function places(texts: readonly string[]): Map<string, number> {
  const found = new Map<string, number>();
  texts.forEach((text, at) => {
    if (!found.has(text)) found.set(text, at);
  });
  return found;
}

/** Boxes with a span among these rows. */
export function boxesWith(rows: readonly number[], boxes: Int32Array): Set<number> {
  return new Set(rows.map((row) => boxes[row] ?? -1).filter((box) => box >= 0));
}
