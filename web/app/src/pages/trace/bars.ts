/**
 * Draws the bars of the rows in sight. A bar is light where its children ran and solid where it worked by
 * itself; what is special about a span is told by shape as well as by colour: errors are hatched with a
 * mark, running spans have an open end, orphans a broken beginning. The work depends on the rows in sight.
 */
import { hatch, type Paint, textWidth } from "../../ui/canvas/paint";
import { type Tick, ticks } from "../../ui/canvas/ticks";
import type { Window } from "../../ui/canvas/window";
import { colorOf } from "../../ui/colors";
import { duration } from "../../ui/format";
import { faded } from "../../ui/shades";
import type { ByRow } from "./byrow";
import { FLAG, serviceOf, type Trace } from "./columns";
import type { Rows } from "./rows";

export const ROW_HEIGHT = 24;
const BAR_TOP = 6;
const BAR_HEIGHT = 11;
/** Children whose gaps are drawn in one frame; past it bars stay light. */
const CHILDREN_IN_FRAME = 60_000;

/** When events happened, and of which rows they are. */
export interface EventTimes {
  time: Float64Array;
  isException: Uint8Array;
  byRow: ByRow;
}

/** What is drawn. */
export interface Scene {
  trace: Trace;
  rows: Rows;
  window: Window;
  /** Pixels that the rows are scrolled by. */
  top: number;
  width: number;
  height: number;
  selected: number;
  hovered: number;
  matches: ReadonlySet<number>;
  /** The critical path by row; `undefined` if it is not shown. */
  path?: ByRow;
  events?: EventTimes;
  area?: Window;
}

/** The places of marks on the axis, for the ruler and the lines below it. */
function axisTicks(window: Window, width: number): Tick[] {
  return ticks(window.from, window.to, Math.max(2, Math.floor(width / 120)));
}

/** Draws all rows in sight. */
export function drawBars(context: CanvasRenderingContext2D, scene: Scene, paint: Paint): void {
  const { rows, top, width, height, window } = scene;
  context.font = paint.font;
  context.textBaseline = "middle";
  drawArea(context, scene, paint);
  context.fillStyle = paint.grid;
  for (const { at } of axisTicks(window, width)) {
    context.fillRect(Math.round(((at - window.from) / (window.to - window.from)) * width), 0, 1, height);
  }
  const budget = { children: CHILDREN_IN_FRAME };
  const last = Math.min(rows.count, Math.ceil((top + height) / ROW_HEIGHT));
  for (let index = Math.max(0, Math.floor(top / ROW_HEIGHT)); index < last; index += 1) {
    const row = rows.at(index);
    const y = index * ROW_HEIGHT - top;
    drawGround(context, scene, row, y, paint);
    drawRow(context, scene, row, y, paint, budget);
  }
}

function drawArea(context: CanvasRenderingContext2D, { area, window, width, height }: Scene, paint: Paint) {
  if (!area) return;
  const scale = width / (window.to - window.from);
  const x = (area.from - window.from) * scale;
  context.fillStyle = paint.accentSoft;
  context.fillRect(x, 0, (area.to - area.from) * scale, height);
}

function drawGround(
  context: CanvasRenderingContext2D,
  { selected, hovered, matches, width }: Scene,
  row: number,
  y: number,
  paint: Paint,
): void {
  if (row === selected) context.fillStyle = paint.accentSoft;
  else if (row === hovered) context.fillStyle = paint.hover;
  else if (matches.has(row)) context.fillStyle = faded(paint.warn, 0.16);
  else return;
  context.fillRect(0, y, width, ROW_HEIGHT);
}

function drawRow(
  context: CanvasRenderingContext2D,
  scene: Scene,
  row: number,
  y: number,
  paint: Paint,
  budget: { children: number },
): void {
  const { trace, window, width, rows } = scene;
  const scale = width / (window.to - window.from);
  const nanos = trace.duration[row]!;
  const left = (trace.start[row]! - window.from) * scale;
  const right = left + Math.max(0, nanos) * scale;
  if (right < 0 || left > width) {
    drawElsewhere(context, left > width, width, y, paint);
    return;
  }
  const flags = trace.flags[row]!;
  const x = Math.max(left, -4);
  const barWidth = Math.max(2, Math.min(right, width + 4) - x);
  const color = colorOf(serviceOf(trace, row));
  context.globalAlpha = rows.isContext(row) ? 0.45 : 1;
  const barTop = y + BAR_TOP;
  context.fillStyle = faded(color, 0.42);
  context.fillRect(x, barTop, barWidth, BAR_HEIGHT);
  context.fillStyle = color;
  drawSelf(context, scene, row, x, barWidth, barTop, scale, budget);
  if ((flags & FLAG.error) !== 0) {
    context.fillStyle = hatch(context, paint.bad);
    context.fillRect(x, barTop, barWidth, BAR_HEIGHT);
    context.strokeStyle = paint.bad;
    context.lineWidth = 1;
    context.strokeRect(x + 0.5, barTop + 0.5, Math.max(1, barWidth - 1), BAR_HEIGHT - 1);
  }
  let end = x + barWidth;
  if ((flags & FLAG.running) !== 0) {
    // What reaches the edge is open there, too.
    end = drawOpenEnd(context, Math.max(x, Math.min(end, width - OPEN_END - 6)), barTop, color, paint);
  }
  if ((flags & (FLAG.orphan | FLAG.cycle)) !== 0) drawBroken(context, x, barTop, paint);
  if (scene.path) drawPath(context, scene, row, scene.path, y, scale, paint);
  if (scene.events) drawEvents(context, scene, row, scene.events, y, scale, paint);
  drawLabel(context, scene, row, x, end, y, paint);
  context.globalAlpha = 1;
}

/** A small arrow towards a bar that is out of sight. */
function drawElsewhere(
  context: CanvasRenderingContext2D,
  isRight: boolean,
  width: number,
  y: number,
  paint: Paint,
): void {
  context.fillStyle = paint.muted;
  context.textAlign = isRight ? "right" : "left";
  context.fillText(isRight ? "›" : "‹", isRight ? width - 4 : 4, y + ROW_HEIGHT / 2);
}

/** The stretches in which no child ran. */
function drawSelf(
  context: CanvasRenderingContext2D,
  { trace, window }: Scene,
  row: number,
  x: number,
  width: number,
  top: number,
  scale: number,
  budget: { children: number },
): void {
  const end = row + trace.subtree[row]!;
  let free = trace.start[row]!;
  let drawn = x;
  for (let child = row + 1; child < end; child += trace.subtree[child]!) {
    budget.children -= 1;
    // Whether it worked by itself is not known: the rest stays light.
    if (budget.children < 0) return;
    const start = trace.start[child]!;
    if (start > free) {
      const from = Math.max(drawn, (free - window.from) * scale);
      const to = Math.min(x + width, (start - window.from) * scale);
      // What is narrower than a part of a pixel is the next stretch's.
      if (to - from >= 0.4) {
        context.fillRect(from, top, to - from, BAR_HEIGHT);
        drawn = to;
      }
    }
    free = Math.max(free, start + Math.max(0, trace.duration[child]!));
    if (start > window.to) break;
  }
  const from = Math.max(x, (free - window.from) * scale);
  if (x + width - from >= 0.4) context.fillRect(from, top, x + width - from, BAR_HEIGHT);
}

const OPEN_END = 26;

function drawOpenEnd(
  context: CanvasRenderingContext2D,
  x: number,
  top: number,
  color: string,
  paint: Paint,
): number {
  context.fillStyle = paint.surface;
  context.fillRect(x, top, OPEN_END + 6, BAR_HEIGHT);
  context.fillStyle = hatch(context, color);
  context.fillRect(x, top, OPEN_END, BAR_HEIGHT);
  context.strokeStyle = color;
  context.setLineDash([3, 3]);
  context.beginPath();
  context.moveTo(x, top + 0.5);
  context.lineTo(x + OPEN_END + 6, top + 0.5);
  context.moveTo(x, top + BAR_HEIGHT - 0.5);
  context.lineTo(x + OPEN_END + 6, top + BAR_HEIGHT - 0.5);
  context.stroke();
  context.setLineDash([]);
  return x + OPEN_END + 6;
}

function drawBroken(context: CanvasRenderingContext2D, x: number, top: number, paint: Paint): void {
  context.strokeStyle = paint.warn;
  context.lineWidth = 1.5;
  context.beginPath();
  context.moveTo(x - 3, top - 2);
  context.lineTo(x + 1, top + 3);
  context.lineTo(x - 3, top + 7);
  context.lineTo(x + 1, top + BAR_HEIGHT + 2);
  context.stroke();
  context.lineWidth = 1;
}

function drawPath(
  context: CanvasRenderingContext2D,
  { trace, window, width }: Scene,
  row: number,
  path: ByRow,
  y: number,
  scale: number,
  paint: Paint,
): void {
  context.fillStyle = paint.critical;
  let drawn = Number.NEGATIVE_INFINITY;
  for (let at = path.from[row]!; at < path.from[row + 1]!; at += 1) {
    const place = path.places[at]!;
    const left = (trace.pathStart[place]! - window.from) * scale;
    const right = left + trace.pathDuration[place]! * scale;
    if (right < 0 || left > width || right - drawn < 0.5) continue;
    const from = Math.max(left, 0, drawn);
    context.fillRect(from, y + BAR_TOP + BAR_HEIGHT + 1, Math.max(1.5, Math.min(right, width) - from), 3);
    drawn = right;
  }
}

function drawEvents(
  context: CanvasRenderingContext2D,
  { window, width }: Scene,
  row: number,
  events: EventTimes,
  y: number,
  scale: number,
  paint: Paint,
): void {
  let drawn = Number.NEGATIVE_INFINITY;
  for (let at = events.byRow.from[row]!; at < events.byRow.from[row + 1]!; at += 1) {
    const place = events.byRow.places[at]!;
    const x = Math.round((events.time[place]! - window.from) * scale);
    if (x < 0 || x > width || x - drawn < 2) continue;
    drawn = x;
    const isException = events.isException[place] === 1;
    context.fillStyle = isException ? paint.bad : paint.text;
    context.fillRect(x - 0.75, y + 2, 1.5, BAR_HEIGHT - 2);
    if (isException) context.fillRect(x - 2.5, y + 2, 5, 3);
  }
}

/** How long it took, beside the bar, with a mark for errors. */
function drawLabel(
  context: CanvasRenderingContext2D,
  { trace, width }: Scene,
  row: number,
  x: number,
  end: number,
  y: number,
  paint: Paint,
): void {
  const flags = trace.flags[row]!;
  const nanos = trace.duration[row]!;
  const text = (flags & FLAG.running) !== 0 ? `${duration(nanos)} …` : duration(nanos);
  const mark = (flags & FLAG.error) !== 0 ? "✖ " : "";
  const room = textWidth(context, mark + text) + 12;
  const middle = y + BAR_TOP + BAR_HEIGHT / 2 + 0.5;
  let at = end + 5;
  if (end + room > width) at = x - room + 6;
  const isInside = end + room > width && x < room;
  if (isInside) {
    // Neither side has room: on the bar, on a ground of its own.
    at = Math.min(width, end) - room;
    context.fillStyle = faded(paint.surface, 0.8);
    context.fillRect(at - 3, y + BAR_TOP, room, BAR_HEIGHT);
  }
  context.textAlign = "left";
  if (mark !== "") {
    context.fillStyle = paint.bad;
    context.fillText(mark, at, middle);
    at += textWidth(context, mark);
  }
  context.fillStyle = isInside ? paint.text : paint.muted;
  context.fillText(text, at, middle);
}

/** Draws the ruler: marks with labels, and in which direction there is more. */
export function drawRuler(
  context: CanvasRenderingContext2D,
  window: Window,
  width: number,
  height: number,
  paint: Paint,
): void {
  context.font = paint.font;
  context.textBaseline = "middle";
  context.textAlign = "left";
  for (const { at, label } of axisTicks(window, width)) {
    const x = Math.round(((at - window.from) / (window.to - window.from)) * width);
    context.fillStyle = paint.border;
    context.fillRect(x, 0, 1, height);
    if (x + textWidth(context, label) + 6 > width) continue;
    context.fillStyle = paint.muted;
    context.fillText(label, x + 4, height / 2);
  }
}
