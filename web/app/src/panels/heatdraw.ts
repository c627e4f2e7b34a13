/** How the cells of a heat map are drawn, with what stands in and beside them. */
import { token } from "../frame/theme";
import { textOn } from "./colors";
import { option, part } from "./frame";
import type { HeatCells } from "./heatcells";
import type { HeatPaint } from "./heatcolors";
import { drawTimes } from "./timescale";

export interface HeatDrawing {
  cells: HeatCells;
  area: { left: number; top: number; width: number; height: number };
  range: { from: number; to: number };
  /** What stands beside each row. */
  names: readonly string[];
  paint: HeatPaint;
  /** Whether the least is above. */
  isReversed: boolean;
  /** Whether values stand in their cells: `always`, where there is room (`auto`), or `never`. */
  showValue: string;
  say: (value: number) => string;
}

/** Whether the colours are explained below, and the height that this leaves. */
export function heatRoom(
  options: Record<string, unknown>,
  height: number,
): { showsLegend: boolean; canvasHeight: number } {
  const showsLegend = option(part(options, "legend"), "show", true);
  return { showsLegend, canvasHeight: height - (showsLegend ? 20 : 0) };
}

/** The room that a character takes, and a line of them. */
const CHARACTER_PIXELS = 6.2;
const LINE_PIXELS = 13;

export function drawCells(context: CanvasRenderingContext2D, drawing: HeatDrawing): void {
  const { cells, area, range, paint } = drawing;
  const span = range.to - range.from;
  const height = area.height / cells.rows.length;
  const width = (cells.stepMillis / span) * area.width;
  drawTimes(context, area, range.from, range.to, { text: token("--text-muted"), grid: token("--grid") });
  context.save();
  context.beginPath();
  context.rect(area.left, area.top, area.width, area.height);
  context.clip();
  context.textAlign = "center";
  context.textBaseline = "middle";
  for (const [row, values] of cells.values.entries()) {
    const y = rowTop(drawing, row);
    for (const [column, value] of values.entries()) {
      if (typeof value !== "number" || !paint.isShown(value)) continue;
      const x = area.left + ((cells.times[column]! - range.from) / span) * area.width;
      const fill = paint.of(value);
      context.fillStyle = fill;
      context.fillRect(x, y, Math.max(1, width - 0.6), Math.max(1, height - 0.6));
      if (drawing.showValue === "never") continue;
      const text = drawing.say(value);
      const hasRoom = height >= LINE_PIXELS && width >= text.length * CHARACTER_PIXELS + 4;
      if (drawing.showValue !== "always" && !hasRoom) continue;
      context.fillStyle = isSeenThrough(fill) ? token("--text") : textOn(fill);
      context.fillText(text, x + width / 2, y + height / 2);
    }
  }
  context.restore();
  drawNames(context, drawing, height);
}

function rowTop({ cells, area, isReversed }: HeatDrawing, row: number): number {
  const count = cells.rows.length;
  return area.top + (isReversed ? row : count - 1 - row) * (area.height / count);
}

/** A colour that says little of what is behind a text: half of it or more is the panel's. */
function isSeenThrough(css: string): boolean {
  const share = /\/ ([\d.]+)%\)$/.exec(css)?.[1];
  return share !== undefined && Number(share) < 50;
}

function drawNames(context: CanvasRenderingContext2D, drawing: HeatDrawing, height: number): void {
  const { names, area, cells, isReversed } = drawing;
  context.fillStyle = token("--text-muted");
  context.textAlign = "right";
  context.textBaseline = "middle";
  const every = Math.max(1, Math.ceil(14 / height));
  // Bounds stand at the edge that they are, names in the middle of their row.
  const isAtTop = (cells.layout === "le") !== isReversed;
  const below = cells.layout === "unknown" ? height / 2 : isAtTop ? 0 : height;
  for (const [row, name] of names.entries()) {
    if (row % every !== 0) continue;
    context.fillText(name, area.left - 6, Math.max(8, rowTop(drawing, row) + below));
  }
}
