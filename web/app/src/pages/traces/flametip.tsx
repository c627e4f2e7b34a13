/** What a box of the flame of many traces says of itself. */
import { change, type FlameNode, type FlameNumbers } from "../../ui/canvas/flamenodes";
import { count, duration, percent } from "../../ui/format";

/** What boxes are as wide as. */
export type Weight = "total" | "self";

export function FlameTip({
  node,
  traces,
  hasOther,
  weight,
}: {
  node: FlameNode;
  traces: readonly number[];
  hasOther: boolean;
  weight: Weight;
}) {
  const perTrace = (nanos: number, side: number) => duration(nanos / Math.max(1, traces[side] ?? 1));
  const times = (of: FlameNumbers, side: number) =>
    weight === "self"
      ? `${perTrace(of.selfNanos, side)} of their own for each trace`
      : `${perTrace(of.totalNanos, side)} for each trace, own ${perTrace(of.selfNanos, side)}`;
  return (
    <>
      <b>{node.name}</b>
      <div class="muted">{node.service}</div>
      <div>
        {hasOther ? "A " : ""}
        {count(node.a.count)} spans, {times(node.a, 0)}
        {node.a.errors > 0 ? `, ${count(node.a.errors)} errors` : ""}
      </div>
      {node.b && (
        <div>
          B {count(node.b.count)} spans, {times(node.b, 1)}
          {node.b.errors > 0 ? `, ${count(node.b.errors)} errors` : ""}
        </div>
      )}
      {hasOther && <div>{percent(change(node, traces))} of the longer</div>}
    </>
  );
}
