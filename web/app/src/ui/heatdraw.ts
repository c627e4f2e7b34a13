/** How a heat map is drawn, and what its pixels mean. Measures are CSS pixels. */
import type { Paint } from "./canvas/paint";
import type { Surface } from "./canvas/surface";
import { BROWSER_CLOCK, datePattern } from "./datepattern";
import { boxPixels, type HeatBox, type HeatData, type HeatLook } from "./heatgeometry";
import { faded } from "./shades";
import { tickTime } from "./ticktime";

const AXIS_BOTTOM = 18;
const AXIS_TOP = 4;
const LABEL_SPACE = 22;
/** Fewer shades than this and rare cells would vanish. */
const FAINTEST = 0.14;

/** Draws all; answers where. */
export function drawHeat(
  surface: Surface,
  paint: Paint,
  data: HeatData,
  format: (bound: number) => string,
  selection?: HeatBox,
  drag?: { x: number; y: number; toX: number; toY: number },
  cursor?: HeatBox,
): HeatLook {
  const context = surface.clear();
  context.font = paint.font;
  const labels = data.bounds.map((bound) => (Number.isFinite(bound) ? format(bound) : "∞"));
  const left = 10 + Math.max(24, ...labels.map((label) => context.measureText(label).width));
  const look: HeatLook = {
    left,
    top: AXIS_TOP,
    width: surface.width,
    cellWidth: Math.max(0.1, (surface.width - left - 6) / Math.max(1, data.times.length)),
    cellHeight: Math.max(0.1, (surface.height - AXIS_BOTTOM - AXIS_TOP) / Math.max(1, data.bounds.length)),
  };
  drawCells(context, paint, data, look);
  drawAxes(context, paint, data, look, labels, surface.height);
  if (selection) outline(context, paint, boxPixels(data, look, selection));
  if (cursor) outline(context, paint, boxPixels(data, look, cursor));
  if (drag) outline(context, paint, [drag.x, drag.y, drag.toX, drag.toY]);
  return look;
}

function drawCells(context: CanvasRenderingContext2D, paint: Paint, data: HeatData, look: HeatLook): void {
  const most = Math.log1p(data.counts.reduce((high, row) => Math.max(high, ...row), 0));
  const gap = look.cellWidth > 5 ? 1 : 0;
  for (const [row, values] of data.counts.entries()) {
    const y = look.top + (data.bounds.length - 1 - row) * look.cellHeight;
    for (const [column, value] of values.entries()) {
      if (!(value > 0)) continue;
      const shade = FAINTEST + (1 - FAINTEST) * (Math.log1p(value) / most);
      context.fillStyle = faded(paint.accent, Math.round(shade * 24) / 24);
      const x = look.left + column * look.cellWidth;
      context.fillRect(x, y, Math.max(1, look.cellWidth - gap), Math.max(1, look.cellHeight - gap));
    }
  }
}

function drawAxes(
  context: CanvasRenderingContext2D,
  paint: Paint,
  data: HeatData,
  look: HeatLook,
  labels: readonly string[],
  height: number,
): void {
  context.fillStyle = paint.muted;
  context.textAlign = "right";
  context.textBaseline = "middle";
  const every = Math.max(1, Math.ceil(LABEL_SPACE / look.cellHeight));
  for (let row = data.bounds.length - 1; row >= 0; row -= every) {
    const y = look.top + (data.bounds.length - 1 - row) * look.cellHeight;
    context.fillText(labels[row]!, look.left - 6, Math.max(y, 7));
  }
  context.textBaseline = "alphabetic";
  context.textAlign = "center";
  const wide = 90;
  const steps = Math.max(1, Math.ceil(wide / look.cellWidth));
  for (let column = Math.floor(steps / 2); column < data.times.length; column += steps) {
    const x = look.left + column * look.cellWidth;
    if (x + 30 > look.width) break;
    context.fillText(columnTime(data.times, column), x, height - 4);
  }
  context.strokeStyle = paint.grid;
  context.strokeRect(
    look.left - 0.5,
    look.top - 0.5,
    look.width - look.left - 5,
    look.cellHeight * data.bounds.length + 1,
  );
}

function outline(context: CanvasRenderingContext2D, paint: Paint, box: readonly number[]): void {
  const [x, y, toX, toY] = box as [number, number, number, number];
  context.strokeStyle = paint.critical;
  context.fillStyle = faded(paint.critical, 0.14);
  context.lineWidth = 1.5;
  context.fillRect(x, y, toX - x, toY - y);
  context.strokeRect(x, y, toX - x, toY - y);
  context.lineWidth = 1;
}

const DAY_MILLIS = 86_400_000;

/** When a column begins. Columns begin at any time, so that of several days each is told. */
function columnTime(times: readonly number[], column: number): string {
  const [at, spanMillis] = [times[column]!, times.at(-1)! - times[0]!];
  return spanMillis > DAY_MILLIS ? datePattern(at, "MM-DD HH:mm", BROWSER_CLOCK) : tickTime(at, spanMillis);
}
