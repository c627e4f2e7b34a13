/** How one series of a chart over time is drawn: line, bars or points, its fill and its colours. */
import uPlot from "uplot";
import { between, faded } from "../ui/shades";
import { color, scaleOf, seriesColor } from "./colors";
import { customOf, type Field, nameOf, option, part } from "./frame";
import type { Series } from "./series";

/** The series of uPlot. */
export function plotSeries(one: Series, scale: string, isShown: boolean): uPlot.Series {
  const custom = customOf(one.field);
  const style = option(custom, "drawStyle", "line");
  const width = style === "points" ? 0 : option(custom, "lineWidth", 1);
  const base = seriesColor(one.field);
  const isBand = option(custom, "fillBelowTo", "") !== "";
  // What is filled down to another series is seen also where nobody said how much.
  const opacity = (option(custom, "fillOpacity", 0) || (isBand ? 35 : 0)) / 100;
  const points = option(custom, "showPoints", "auto");
  return {
    label: nameOf(one.field),
    scale,
    show: isShown,
    stroke: strokeOf(one.field, base),
    width,
    fill: opacity > 0 || style === "bars" ? fillOf(one.field, base, opacity) : undefined,
    dash: dashOf(custom),
    spanGaps: custom.spanNulls === true,
    // uPlot takes a member that is there and undefined for a function.
    ...(typeof custom.spanNulls === "number" ? { gaps: shortGapsFilled(custom.spanNulls) } : {}),
    paths: pathsOf(style, option(custom, "lineInterpolation", "linear"), custom),
    points: {
      // Without the member, uPlot shows points where there is room for them.
      ...(style === "points" || points === "always"
        ? { show: true }
        : points === "never" || style === "bars"
          ? { show: false }
          : {}),
      filter: (plot, at, isShown) =>
        isShown || style === "bars" ? null : lonelyRows(plot.data[at]!, custom.spanNulls === true),
      size: option(custom, "pointSize", 5),
      fill: base,
      stroke: base,
    },
  };
}

/** The rows of points without a neighbour, of which a line shows nothing; `null` if there are none. */
export function lonelyRows(
  values: ArrayLike<number | null | undefined>,
  isOverGaps: boolean,
): number[] | null {
  const found: number[] = [];
  let [last, isJoined] = [-1, false];
  const settle = () => {
    if (last >= 0 && !isJoined) found.push(last);
  };
  for (let row = 0; row < values.length; row += 1) {
    const value = values[row];
    if (typeof value === "number") {
      if (last >= 0) isJoined = true;
      last = row;
    } else if (value === null && !isOverGaps) {
      settle();
      [last, isJoined] = [-1, false];
    }
  }
  settle();
  return found.length > 0 ? found : null;
}

function dashOf(custom: Record<string, unknown>): number[] | undefined {
  const style = part(custom, "lineStyle");
  const fill = option(style, "fill", "solid");
  if (fill === "solid") return undefined;
  const given = Array.isArray(style.dash)
    ? style.dash.filter((one): one is number => typeof one === "number")
    : [];
  return given.length > 0 ? given : fill === "dot" ? [1, 4] : [10, 6];
}

function pathsOf(
  style: string,
  interpolation: string,
  custom: Record<string, unknown>,
): uPlot.Series.PathBuilder | undefined {
  if (style === "points") return () => null;
  if (style === "bars") {
    const factor = option(custom, "barWidthFactor", 0.6);
    const most = option(custom, "barMaxWidth", 200);
    const align = option(custom, "barAlignment", 0);
    return uPlot.paths.bars?.({ size: [factor, most], align: align === 1 ? 1 : align === -1 ? -1 : 0 });
  }
  if (interpolation === "smooth") return uPlot.paths.spline?.();
  if (interpolation === "stepBefore") return uPlot.paths.stepped?.({ align: -1 });
  if (interpolation === "stepAfter") return uPlot.paths.stepped?.({ align: 1 });
  return uPlot.paths.linear?.();
}

/** Gaps that are shorter than so many milliseconds are drawn over. */
function shortGapsFilled(limitMillis: number): uPlot.Series.GapsRefiner {
  return (plot, _series, _from, _to, gaps) =>
    gaps.filter(([left, right]) => {
      const from = plot.posToVal(left, "x", true);
      return (plot.posToVal(right, "x", true) - from) * 1000 > limitMillis;
    });
}

type Paint = uPlot.Series.Stroke;

function strokeOf(field: Field, base: string): Paint {
  if (customOf(field).gradientMode !== "scheme") return base;
  return (plot, at) => byScale(plot, at, field, 1) ?? base;
}

function fillOf(field: Field, base: string, opacity: number): Paint {
  const mode = option(customOf(field), "gradientMode", "none");
  if (mode === "scheme") return (plot, at) => byScale(plot, at, field, opacity) ?? faded(base, opacity);
  if (mode !== "opacity" && mode !== "hue") return faded(base, opacity);
  return (plot) => {
    const { top, height } = plot.bbox;
    const gradient = plot.ctx.createLinearGradient(0, top, 0, top + height);
    gradient.addColorStop(0, faded(base, opacity));
    gradient.addColorStop(1, faded(base, mode === "hue" ? opacity * 0.4 : 0.02));
    return gradient;
  };
}

/** Colours by value, from the bottom of the chart to its top. */
function byScale(plot: uPlot, at: number, field: Field, opacity: number): CanvasGradient | undefined {
  const { top, height } = plot.bbox;
  const key = plot.series[at]?.scale;
  const scale = key ? plot.scales[key] : undefined;
  if (!key || !scale || typeof scale.min !== "number" || typeof scale.max !== "number" || height <= 0)
    return undefined;
  const gradient = plot.ctx.createLinearGradient(0, top + height, 0, top);
  const place = (value: number) => {
    const y = plot.valToPos(value, key, true);
    return Math.max(0, Math.min(1, (top + height - y) / height));
  };
  const mode = field.config?.color?.mode ?? "thresholds";
  if (mode.startsWith("continuous-")) {
    const stops = scaleOf(mode);
    const [low, high] = field.state?.range ?? [scale.min, scale.max];
    for (let step = 0; step <= 10; step += 1) {
      const share = step / 10;
      gradient.addColorStop(place(low + (high - low) * share), faded(between(stops, share), opacity));
    }
    return gradient;
  }
  const steps = field.config?.thresholds?.steps ?? [];
  for (const [index, step] of steps.entries()) {
    const from = index === 0 ? 0 : place(step.value ?? scale.min);
    const next = steps[index + 1];
    const to = next ? place(next.value ?? scale.max) : 1;
    gradient.addColorStop(from, faded(color(step.color), opacity));
    gradient.addColorStop(Math.max(from, to), faded(color(step.color), opacity));
  }
  return gradient;
}
