/**
 * Counts over time and size, as shades: one column for each step of time, one row for each bucket. Dragging
 * chooses a box, as keys do (`boxkeys`). What is below the pointer is told beside it; what the whole shows, in
 * words for those who cannot see it. Keys are those of an application around the picture: of a picture itself,
 * programs that read pages aloud take the arrows for themselves.
 */
import { useEffect, useRef, useState } from "preact/hooks";
import { theme } from "../frame/theme";
import { cellsText, useBoxKeys } from "./boxkeys";
import { paint } from "./canvas/paint";
import { Surface } from "./canvas/surface";
import { count, time } from "./format";
import { drawHeat } from "./heatdraw";
import {
  boxAt,
  boxOfCells,
  type HeatBox,
  type HeatData,
  type HeatLook,
  rowSpan,
  spanWords,
} from "./heatgeometry";
import { useUniqueId } from "./id";

export type { HeatBox, HeatData } from "./heatgeometry";

interface HeatmapProps {
  data: HeatData;
  height: number;
  label: string;
  /** How a bound of a bucket is said. */
  format: (bound: number) => string;
  /** What is counted, such as `spans`. */
  unit?: string;
  selection?: HeatBox;
  onSelect?: (box: HeatBox) => void;
  /** Takes back what was selected. */
  onClear?: () => void;
}

interface Drag {
  x: number;
  y: number;
  toX: number;
  toY: number;
}

const HINT = "Arrows go to a cell, with Shift they make a box of it, Enter chooses.";
/** Movements below this are clicks. */
const DRAG_PIXELS = 4;

export function Heatmap(props: HeatmapProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const picture = useUniqueId();
  const newest = useRef(props);
  newest.current = props;
  const drag = useRef<Drag | undefined>(undefined);
  const look = useRef<HeatLook | undefined>(undefined);
  const redraw = useRef(() => {});
  const [hover, setHover] = useState<{ x: number; y: number; text: string }>();
  const colors = theme.value;
  const { cells, onKeyDown, onBlur } = useBoxKeys(
    props.data,
    props.onSelect,
    props.selection && props.onClear,
  );
  const marked = useRef(cells);
  marked.current = cells;
  const cursorText = cells && cellsText(props.data, cells, props.format, props.unit ?? "");
  useEffect(() => {
    const draw = () => {
      const { data, selection, format } = newest.current;
      const cursor = marked.current && boxOfCells(data, marked.current.cursor, marked.current.anchor);
      look.current = drawHeat(surface, paint(), data, format, selection, drag.current, cursor);
    };
    const surface = new Surface(canvas.current!, draw);
    redraw.current = draw;
    draw();
    return () => surface.close();
  }, []);
  useEffect(() => redraw.current(), [props.data, props.selection, props.height, colors, cells]);
  const at = (event: PointerEvent) => {
    const bounds = canvas.current!.getBoundingClientRect();
    return { x: event.clientX - bounds.left, y: event.clientY - bounds.top };
  };
  const down = (event: PointerEvent) => {
    if (!props.onSelect || event.button !== 0) return;
    const { x, y } = at(event);
    canvas.current!.setPointerCapture(event.pointerId);
    drag.current = { x, y, toX: x, toY: y };
  };
  const move = (event: PointerEvent) => {
    const { x, y } = at(event);
    if (drag.current) {
      drag.current.toX = x;
      drag.current.toY = y;
      redraw.current();
    }
    const text = look.current && cellText(newest.current, look.current, x, y);
    setHover(text ? { x, y, text } : undefined);
  };
  const drop = () => {
    const made = drag.current;
    drag.current = undefined;
    redraw.current();
    return made;
  };
  const up = () => {
    const made = drop();
    if (!made || !look.current) return;
    if (Math.hypot(made.toX - made.x, made.toY - made.y) < DRAG_PIXELS) return;
    const box = boxAt(newest.current.data, look.current, made);
    if (box) props.onSelect?.(box);
  };
  const keys = props.onSelect && {
    role: "application" as const,
    tabIndex: 0,
    "aria-label": `${props.label}. ${cursorText ? `${cursorText}.` : HINT}`,
    "aria-describedby": picture,
    onKeyDown,
    onBlur,
  };
  return (
    <div class="heatmap" style={{ height: props.height }} {...keys}>
      <canvas
        ref={canvas}
        id={picture}
        role="img"
        aria-label={summary(props)}
        class={props.onSelect ? "heatmap-canvas heatmap-choosing" : "heatmap-canvas"}
        onPointerDown={down}
        onPointerMove={move}
        onPointerUp={up}
        onPointerCancel={drop}
        onPointerLeave={() => setHover(undefined)}
      />
      {cursorText && (
        <div class="chart-tooltip heatmap-cursor" role="status">
          {cursorText}
        </div>
      )}
      {hover && (
        <div
          class="chart-tooltip"
          style={{
            left: hover.x < (look.current?.width ?? 0) / 2 ? hover.x + 14 : undefined,
            right:
              hover.x < (look.current?.width ?? 0) / 2
                ? undefined
                : (look.current?.width ?? 0) - hover.x + 14,
            top: Math.max(0, hover.y - 30),
          }}
        >
          {hover.text}
        </div>
      )}
    </div>
  );
}

function cellText(
  { data, format, unit = "" }: HeatmapProps,
  look: HeatLook,
  x: number,
  y: number,
): string | undefined {
  const column = Math.floor((x - look.left) / look.cellWidth);
  const row = data.bounds.length - 1 - Math.floor((y - look.top) / look.cellHeight);
  const start = data.times[column];
  const value = data.counts[row]?.[column];
  if (start === undefined || value === undefined || x < look.left) return undefined;
  return `${time(start)}, ${spanWords(rowSpan(data, row), format)}: ${count(value)} ${unit}`;
}

function summary({ data, label, format, unit = "" }: HeatmapProps): string {
  const sums = data.counts.map((row) => row.reduce((sum, value) => sum + value, 0));
  const total = sums.reduce((sum, value) => sum + value, 0);
  const most = sums.indexOf(Math.max(...sums, 0));
  if (total === 0) return `${label}. Nothing.`;
  const span = spanWords(rowSpan(data, Math.max(0, most)), format);
  return `${label}. ${count(total)} ${unit} in ${data.times.length} steps of time; most are of ${span}.`;
}
