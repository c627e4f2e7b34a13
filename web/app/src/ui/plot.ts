/** What charts over time have in common: lines of what is said below the cursor, diamonds, a time that is dragged. */
import type uPlot from "uplot";
import { token } from "../frame/theme";

/** A line of a tooltip. It is a plain element, because it changes with every movement. */
export function tooltipRow(name: string, label: string, value: string, color?: string): HTMLElement {
  const element = document.createElement("div");
  element.className = `chart-tooltip-row ${name}`;
  const swatch = document.createElement("span");
  if (color) {
    swatch.className = "swatch";
    swatch.style.background = color;
  }
  const [words, figure] = [document.createElement("span"), document.createElement("b")];
  words.textContent = label;
  figure.textContent = value;
  element.append(swatch, words, figure);
  return element;
}

const DIAMOND_PIXELS = 4;
/** So far from its middle a diamond is still pointed at. */
export const REACH_PIXELS = 8;

/** Draws diamonds, as exemplars have them, at places of the canvas. */
export function drawDiamonds(plot: uPlot, places: readonly (readonly [x: number, y: number])[]): void {
  const { ctx } = plot;
  const size = DIAMOND_PIXELS * devicePixelRatio;
  ctx.save();
  ctx.fillStyle = token("--accent");
  for (const [x, y] of places) {
    ctx.beginPath();
    ctx.moveTo(x, y - size);
    ctx.lineTo(x + size, y);
    ctx.lineTo(x, y + size);
    ctx.lineTo(x - size, y);
    ctx.fill();
  }
  ctx.restore();
}

/** Takes a time that was chosen by dragging; what was dragged over is plain again. */
export function takeDragged(plot: uPlot, onZoom?: (from: number, to: number) => void): void {
  const { left, width } = plot.select;
  const millis = (x: number) => plot.posToVal(x, "x") * 1000;
  if (width > 3) onZoom?.(millis(left), millis(left + width));
  plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
}
