/** Both traces in one flame: red is slower in B, blue is faster; the width is the time of both. */
import { useMemo } from "preact/hooks";
import { theme } from "../../frame/theme";
import { useAddressWindow } from "../../ui/canvas/addresswindow";
import { Flame } from "../../ui/canvas/flame";
import { boxesOf, change, type FlameAnswer } from "../../ui/canvas/flamenodes";
import { count, duration } from "../../ui/format";
import { Empty, Warning } from "../../ui/states";
import { changeColor, Delta } from "./delta";

export function DeltaFlame({ flame }: { flame: FlameAnswer }) {
  const { nodes, traces } = flame;
  const boxes = useMemo(() => boxesOf(nodes), [nodes]);
  const looking = useAddressWindow("close", boxes.length);
  const colors = useMemo(
    () => nodes.map((node) => changeColor(change(node, traces))),
    [nodes, traces, theme.value],
  );
  if (nodes.length === 0) return <Empty title="Neither trace has spans" />;
  return (
    <div class="compare-flame">
      <p class="muted row">
        <span class="swatch" style={{ background: changeColor(1) }} /> ▲ slower in B
        <span class="swatch" style={{ background: changeColor(-1) }} /> ▼ faster in B
        <span class="swatch" style={{ background: changeColor(0) }} /> the same
      </p>
      {flame.truncated && <Warning>There are more paths than are shown.</Warning>}
      <Flame
        boxes={boxes}
        looking={looking}
        label="Both traces"
        unit="paths"
        text={(box) => {
          const { name, a, b } = nodes[box]!;
          const delta = (b?.weightNanos ?? 0) - a.weightNanos;
          return `${name} ${delta > 0 ? "▲" : delta < 0 ? "▼" : "="} ${duration(Math.abs(delta))}`;
        }}
        color={(box) => colors[box]!}
        tip={(box) => {
          const { name, service, a, b } = nodes[box]!;
          return (
            <>
              <b>{name.slice(0, 200)}</b>
              <div>{service}</div>
              <div>
                A {duration(a.weightNanos)} ({count(a.count)}) → B {duration(b?.weightNanos ?? 0)} (
                {count(b?.count ?? 0)})
              </div>
              <Delta nanos={(b?.weightNanos ?? 0) - a.weightNanos} of={a.weightNanos} />
            </>
          );
        }}
      />
    </div>
  );
}
