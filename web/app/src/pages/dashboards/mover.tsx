/**
 * What moves a panel on the grid and changes its size: by the pointer, or by arrows (with shift: the size)
 * while its handle has the focus.
 */
import { useRef, useState } from "preact/hooks";
import { Icon } from "../../ui/icon";
import type { GridPos, Placed } from "./model";

const ROW_PIXELS = 38;
const COLUMNS = 24;

interface Drag {
  kind: "move" | "size";
  x: number;
  y: number;
  columnPixels: number;
}

export function Mover({ panel, onMove }: { panel: Placed; onMove: (place: GridPos) => void }) {
  const root = useRef<HTMLDivElement>(null);
  const drag = useRef<Drag | undefined>(undefined);
  const [shift, setShift] = useState<{ x: number; y: number; kind: Drag["kind"] } | undefined>(undefined);
  const begin = (kind: Drag["kind"]) => (event: PointerEvent) => {
    const grid = root.current?.closest(".board-grid");
    if (!grid) return;
    event.preventDefault();
    (event.currentTarget as HTMLElement).setPointerCapture(event.pointerId);
    drag.current = { kind, x: event.clientX, y: event.clientY, columnPixels: grid.clientWidth / COLUMNS };
  };
  const track = (event: PointerEvent) => {
    if (drag.current)
      setShift({
        x: event.clientX - drag.current.x,
        y: event.clientY - drag.current.y,
        kind: drag.current.kind,
      });
  };
  const end = (event: PointerEvent) => {
    const from = drag.current;
    drag.current = undefined;
    setShift(undefined);
    if (!from) return;
    const columns = Math.round((event.clientX - from.x) / from.columnPixels);
    const rows = Math.round((event.clientY - from.y) / ROW_PIXELS);
    if (columns !== 0 || rows !== 0) onMove(placed(panel.gridPos, from.kind, columns, rows));
  };
  const press = (event: KeyboardEvent) => {
    const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    if (!step) return;
    event.preventDefault();
    event.stopPropagation();
    onMove(placed(panel.gridPos, event.shiftKey ? "size" : "move", step[0]!, step[1]!));
  };
  const cancel = () => {
    drag.current = undefined;
    setShift(undefined);
  };
  const name = panel.title || panel.type;
  return (
    <div ref={root} class={shift ? "mover mover-dragged" : "mover"} style={ghost(shift)}>
      <button
        type="button"
        class="mover-move"
        aria-label={`Move ${name}: arrows move, with shift they change the size`}
        title="Drag to move; arrows move, shift and arrows change the size"
        onPointerDown={begin("move")}
        onPointerMove={track}
        onPointerUp={end}
        onPointerCancel={cancel}
        onKeyDown={press}
      >
        <Icon name="menu" size={12} />
      </button>
      <span
        class="mover-size"
        aria-hidden="true"
        onPointerDown={begin("size")}
        onPointerMove={track}
        onPointerUp={end}
        onPointerCancel={cancel}
      />
    </div>
  );
}

function ghost(
  shift: { x: number; y: number; kind: string } | undefined,
): Record<string, string> | undefined {
  if (!shift) return undefined;
  if (shift.kind === "move") return { transform: `translate(${shift.x}px, ${shift.y}px)` };
  return { right: `${-shift.x}px`, bottom: `${-shift.y}px` };
}

/** The place after a movement by columns and rows. */
export function placed(place: GridPos, kind: "move" | "size", columns: number, rows: number): GridPos {
  if (kind === "size") {
    return {
      ...place,
      w: Math.max(1, Math.min(COLUMNS - place.x, place.w + columns)),
      h: Math.max(1, place.h + rows),
    };
  }
  return {
    ...place,
    x: Math.max(0, Math.min(COLUMNS - place.w, place.x + columns)),
    y: Math.max(0, place.y + rows),
  };
}
