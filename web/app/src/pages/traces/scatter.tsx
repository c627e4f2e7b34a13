/**
 * Few traces as points: when they began, and how long they took. A point opens its trace; around some of them
 * a box can be chosen, by dragging beside the points or by keyboard.
 */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { href } from "../../frame/base";
import { navigate } from "../../frame/router";
import type { Range } from "../../frame/time";
import { cellsText, useBoxKeys } from "../../ui/boxkeys";
import { colorOf } from "../../ui/colors";
import { endsOf } from "../../ui/ends";
import { duration, millisOf, time } from "../../ui/format";
import {
  boxAt,
  boxOfCells,
  boxPixels,
  type HeatBox,
  type HeatData,
  type HeatLook,
} from "../../ui/heatgeometry";
import { type FoundTrace, tracePath } from "./found";

interface ScatterProps {
  traces: readonly FoundTrace[];
  height: number;
  range: Range;
  selection?: HeatBox;
  onSelect: (box: HeatBox) => void;
  /** Takes back what was selected. */
  onClear: () => void;
}

interface Drag {
  x: number;
  y: number;
  toX: number;
  toY: number;
}

const LEFT = 58;
const RIGHT = 10;
const TOP = 6;
const BOTTOM = 18;
/** Boxes are made of so many cells: fine enough to go around a point, and not long to walk across. */
const [COLUMNS, ROWS] = [48, 12];
/** Movements below this are clicks. */
const DRAG_PIXELS = 4;

/** Cells over the traces, between two logarithms of durations. */
export function cellsOf(
  traces: readonly FoundTrace[],
  { from, to }: Range,
  low: number,
  high: number,
): HeatData {
  const stepMillis = (to - from) / COLUMNS;
  const counts = Array.from({ length: ROWS }, () => Array.from({ length: COLUMNS }, () => 0));
  const within = (part: number, all: number) => Math.max(0, Math.min(all - 1, Math.floor(part * all)));
  for (const { start, durationNanos } of traces) {
    const column = within((millisOf(start) - from) / (to - from), COLUMNS);
    const row = within((Math.log(Math.max(1, durationNanos)) - low) / (high - low), ROWS);
    counts[row]![column]! += 1;
  }
  return {
    times: Array.from({ length: COLUMNS }, (_, at) => from + at * stepMillis),
    stepMillis,
    bounds: Array.from({ length: ROWS }, (_, at) => Math.exp(low + ((at + 1) / ROWS) * (high - low))),
    lowest: Math.exp(low),
    counts,
  };
}

export function Scatter({ traces, height, range, selection, onSelect, onClear }: ScatterProps) {
  const root = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(400);
  useEffect(() => {
    const observer = new ResizeObserver(() => setWidth(root.current?.clientWidth ?? 400));
    observer.observe(root.current!);
    return () => observer.disconnect();
  }, []);
  const sizes = traces.map(({ durationNanos }) => Math.max(1, durationNanos));
  const [shortest, longest] = endsOf(sizes) ?? [1, 1];
  const [low, high] = [Math.log(shortest) - 0.2, Math.log(longest) + 0.2];
  const x = (millis: number) =>
    LEFT + ((millis - range.from) / (range.to - range.from)) * (width - LEFT - RIGHT);
  const y = (nanos: number) =>
    TOP + (1 - (Math.log(Math.max(1, nanos)) - low) / (high - low)) * (height - BOTTOM - 2 * TOP);
  const levels = [0, 0.33, 0.67, 1].map((part) => Math.exp(low + part * (high - low)));
  const data = useMemo(() => cellsOf(traces, range, low, high), [traces, range.from, range.to, low, high]);
  const look: HeatLook = {
    left: LEFT,
    top: TOP,
    width,
    cellWidth: (width - LEFT - RIGHT) / COLUMNS,
    cellHeight: (height - BOTTOM - 2 * TOP) / ROWS,
  };
  const { cells, onKeyDown, onBlur } = useBoxKeys(data, onSelect, selection && onClear);
  const cursorText = cells && cellsText(data, cells, duration, "traces");
  const [drag, setDrag] = useState<Drag>();
  const at = (event: PointerEvent) => {
    const bounds = root.current!.getBoundingClientRect();
    return { toX: event.clientX - bounds.left, toY: event.clientY - bounds.top };
  };
  const down = (event: PointerEvent) => {
    if (event.button !== 0) return;
    (event.currentTarget as Element).setPointerCapture(event.pointerId);
    const { toX, toY } = at(event);
    setDrag({ x: toX, y: toY, toX, toY });
  };
  const up = (event: PointerEvent) => {
    setDrag(undefined);
    if (!drag) return;
    const made = { ...drag, ...at(event) };
    const box = boxAt(data, look, made);
    if (box && Math.hypot(made.toX - made.x, made.toY - made.y) >= DRAG_PIXELS) onSelect(box);
  };
  const boxes = [
    selection && boxPixels(data, look, selection),
    cells && boxPixels(data, look, boxOfCells(data, cells.cursor, cells.anchor)),
    drag && ([drag.x, drag.y, drag.toX, drag.toY] as const),
  ];
  return (
    <div ref={root} class="scatter">
      <svg
        width={width}
        height={height}
        role="group"
        aria-label={`${traces.length} traces by start and duration`}
      >
        <rect
          class="scatter-area"
          x={LEFT}
          y={TOP}
          width={Math.max(0, width - LEFT - RIGHT)}
          height={height - BOTTOM - 2 * TOP}
          tabindex={0}
          role="button"
          aria-label={
            cursorText ? `Box. ${cursorText}.` : "Box of traces. Arrows make one, Enter chooses it."
          }
          onKeyDown={onKeyDown}
          onBlur={onBlur}
          onPointerDown={down}
          onPointerMove={(event) => drag && setDrag({ ...drag, ...at(event) })}
          onPointerUp={up}
          onPointerCancel={() => setDrag(undefined)}
        />
        {boxes.map(
          (box, index) =>
            box && (
              <rect
                key={index}
                class="scatter-box"
                x={Math.min(box[0], box[2])}
                y={Math.min(box[1], box[3])}
                width={Math.abs(box[2] - box[0])}
                height={Math.abs(box[3] - box[1])}
              />
            ),
        )}
        {levels.map((level) => (
          <g key={level}>
            <line class="scatter-grid" x1={LEFT} x2={width - RIGHT} y1={y(level)} y2={y(level)} />
            <text class="scatter-label" x={LEFT - 6} y={y(level) + 4} text-anchor="end">
              {duration(level)}
            </text>
          </g>
        ))}
        {[0, 0.5, 1].map((part) => (
          <text
            key={part}
            class="scatter-label"
            x={LEFT + part * (width - LEFT - RIGHT)}
            y={height - 4}
            text-anchor={part === 0 ? "start" : part === 1 ? "end" : "middle"}
          >
            {time(range.from + part * (range.to - range.from))}
          </text>
        ))}
        {traces.map((trace) => (
          <a
            key={trace.id}
            href={href(tracePath(trace.id))}
            onClick={(event) => {
              // Links of drawings are not taken by the frame: their addresses are no texts.
              if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
              event.preventDefault();
              navigate(tracePath(trace.id));
            }}
            aria-label={`${trace.service} ${trace.name}, ${duration(trace.durationNanos)}`}
          >
            <circle
              class={trace.errorCount > 0 ? "scatter-dot scatter-bad" : "scatter-dot"}
              cx={x(millisOf(trace.start))}
              cy={y(trace.durationNanos)}
              r={5}
              fill={colorOf(trace.service)}
            >
              <title>
                {`${trace.service} ${trace.name}\n${duration(trace.durationNanos)}${trace.errorCount > 0 ? `, ${trace.errorCount} errors` : ""}`}
              </title>
            </circle>
          </a>
        ))}
      </svg>
      {cursorText && (
        <div class="chart-tooltip heatmap-cursor" role="status">
          {cursorText}
        </div>
      )}
    </div>
  );
}
