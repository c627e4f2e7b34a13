/** What is said beside the pointer, for drawings that are no charts over time. */
import { useState } from "preact/hooks";

export interface HoverRow {
  label: string;
  value: string;
  color?: string;
}

export interface Hovered {
  title: string;
  rows: readonly HoverRow[];
  x: number;
  y: number;
}

/** What is below the pointer, and what sets it. */
export function useHover(): [
  Hovered | undefined,
  (event: PointerEvent, title: string, rows: readonly HoverRow[]) => void,
  () => void,
] {
  const [hovered, setHovered] = useState<Hovered | undefined>(undefined);
  const enter = (event: PointerEvent, title: string, rows: readonly HoverRow[]) =>
    setHovered({ title, rows, x: event.clientX, y: event.clientY });
  return [hovered, enter, () => setHovered(undefined)];
}

export function HoverBox({ of }: { of: Hovered | undefined }) {
  if (!of) return null;
  const isRight = of.x > window.innerWidth * 0.65;
  const isLow = of.y > window.innerHeight * 0.7;
  return (
    <div
      class="chart-tooltip panel-tooltip"
      style={{
        left: isRight ? undefined : of.x + 14,
        right: isRight ? window.innerWidth - of.x + 14 : undefined,
        top: isLow ? undefined : of.y + 10,
        bottom: isLow ? window.innerHeight - of.y + 10 : undefined,
      }}
    >
      {of.title !== "" && <div class="chart-tooltip-row chart-tooltip-time">{of.title}</div>}
      {of.rows.map((row) => (
        <div key={row.label} class="chart-tooltip-row">
          <span class={row.color ? "swatch" : ""} style={{ background: row.color }} />
          <span>{row.label}</span>
          <b>{row.value}</b>
        </div>
      ))}
    </div>
  );
}
