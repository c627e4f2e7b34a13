/** What is drawn over charts beside their series: thresholds, exemplars, and things that happened. */
import type uPlot from "uplot";
import { drawDiamonds } from "../ui/plot";
import { faded } from "../ui/shades";
import { color } from "./colors";
import { type Placed, placeOf } from "./exemplars";
import { customOf, type Field, option, part } from "./frame";
import type { Annotation } from "./kinds";

function thresholdsStyle(field: Field): string {
  return option(part(customOf(field), "thresholdsStyle"), "mode", "off");
}

/** Lines or areas of the thresholds of the first field of a scale that asks for them. */
export function drawThresholds(plot: uPlot, fields: readonly Field[], scale: string): void {
  const field = fields.find((one) => thresholdsStyle(one) !== "off");
  const steps = field?.config?.thresholds?.steps ?? [];
  if (!field || steps.length === 0) return;
  const mode = thresholdsStyle(field);
  const { ctx, bbox } = plot;
  const limits = plot.scales[scale];
  if (typeof limits?.min !== "number" || typeof limits.max !== "number") return;
  const isPercentage = field.config?.thresholds?.mode === "percentage";
  const [low, high] = field.state?.range ?? [limits.min, limits.max];
  const levelOf = (value: number | null) =>
    value === null ? limits.min! : isPercentage ? low + ((high - low) * value) / 100 : value;
  const clamp = (y: number) => Math.max(bbox.top, Math.min(bbox.top + bbox.height, y));
  ctx.save();
  if (mode.includes("dashed")) ctx.setLineDash([8 * devicePixelRatio, 6 * devicePixelRatio]);
  ctx.lineWidth = 1.5 * devicePixelRatio;
  for (const [index, step] of steps.entries()) {
    const y = plot.valToPos(levelOf(step.value), scale, true);
    if (mode.includes("area") || mode === "series") {
      const next = steps[index + 1];
      const top = next ? clamp(plot.valToPos(levelOf(next.value), scale, true)) : bbox.top;
      ctx.fillStyle = faded(color(step.color), 0.12);
      ctx.fillRect(bbox.left, top, bbox.width, clamp(index === 0 ? bbox.top + bbox.height : y) - top);
    }
    const isLine = mode.includes("line") || mode.includes("dashed");
    if (isLine && step.value !== null && y === clamp(y)) {
      ctx.strokeStyle = faded(color(step.color), 0.8);
      ctx.beginPath();
      ctx.moveTo(bbox.left, y);
      ctx.lineTo(bbox.left + bbox.width, y);
      ctx.stroke();
    }
  }
  ctx.restore();
}

/** Exemplars as diamonds, within the time that is shown. */
export function drawExemplars(plot: uPlot, placed: readonly Placed[]): void {
  const { left, width } = plot.bbox;
  const places = placed.map((one) => placeOf(plot, one, true));
  drawDiamonds(
    plot,
    places.filter(([x]) => x >= left && x <= left + width),
  );
}

/** Marks and areas of what happened. */
export function drawAnnotations(plot: uPlot, annotations: readonly Annotation[]): void {
  const { ctx, bbox } = plot;
  ctx.save();
  for (const one of annotations) {
    const paint = color(one.color || "blue");
    const from = plot.valToPos(one.time / 1000, "x", true);
    const to = plot.valToPos((one.timeEnd ?? one.time) / 1000, "x", true);
    if (to < bbox.left || from > bbox.left + bbox.width) continue;
    if (to > from) {
      ctx.fillStyle = faded(paint, 0.15);
      ctx.fillRect(
        Math.max(bbox.left, from),
        bbox.top,
        Math.min(bbox.left + bbox.width, to) - Math.max(bbox.left, from),
        bbox.height,
      );
    }
    // Of what began before, the area is all that there is to see.
    if (from < bbox.left) continue;
    ctx.strokeStyle = paint;
    ctx.setLineDash([3 * devicePixelRatio, 3 * devicePixelRatio]);
    ctx.beginPath();
    ctx.moveTo(from, bbox.top);
    ctx.lineTo(from, bbox.top + bbox.height);
    ctx.stroke();
    ctx.fillStyle = paint;
    ctx.beginPath();
    ctx.moveTo(from - 4 * devicePixelRatio, bbox.top + bbox.height);
    ctx.lineTo(from + 4 * devicePixelRatio, bbox.top + bbox.height);
    ctx.lineTo(from, bbox.top + bbox.height - 6 * devicePixelRatio);
    ctx.fill();
  }
  ctx.restore();
}
