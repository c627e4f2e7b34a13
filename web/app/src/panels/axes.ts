/** Scales and axes of charts over time: what has the same unit, bounds, label, place and kind of scale shares one. */
import type uPlot from "uplot";
import { token } from "../frame/theme";
import { tickTime } from "../ui/ticktime";
import { findUnit, formatWith, units } from "../ui/units";
import { customOf, type Field, option, part } from "./frame";
import { isPercentStacked, type Series } from "./series";
import { timeTicks } from "./timescale";
import { clockOf } from "./zone";

/** A scale, and the fields that are drawn on it. */
export interface Scale {
  key: string;
  fields: Field[];
  side: "left" | "right" | "hidden";
  isPercent: boolean;
}

/** Which scale each series is drawn on. */
export function scalesOf(series: readonly Series[]): { scales: Scale[]; keyOf: (series: Series) => string } {
  const scales = new Map<string, Scale>();
  const keys = new Map<Series, string>();
  for (const one of series) {
    const custom = customOf(one.field);
    const placement = option(custom, "axisPlacement", "auto");
    const isPercent = isPercentStacked([one]);
    const key = scaleKey(one.field, isPercent);
    keys.set(one, key);
    const known = scales.get(key);
    if (known) {
      known.fields.push(one.field);
      continue;
    }
    const isFirst = ![...scales.values()].some(({ side }) => side === "left");
    const side = placement === "auto" ? (isFirst ? "left" : "right") : placement;
    scales.set(key, {
      key,
      fields: [one.field],
      side: side === "right" || side === "hidden" ? side : "left",
      isPercent,
    });
  }
  return { scales: [...scales.values()], keyOf: (one) => keys.get(one)! };
}

/** What a scale is told by from others: whatever of a field changes how it is drawn or what is beside it. */
function scaleKey({ config, type }: Field, isPercent: boolean): string {
  const custom = config?.custom;
  const distribution = part(custom, "scaleDistribution");
  const kind = option(distribution, "type", "linear");
  return [
    isPercent ? "percentunit" : config?.unit || type,
    config?.min ?? "",
    config?.max ?? "",
    custom?.axisSoftMin ?? "",
    custom?.axisSoftMax ?? "",
    option(custom, "axisPlacement", "auto"),
    option(custom, "axisLabel", ""),
    kind,
    kind === "linear" ? "" : option(distribution, "log", 10),
    kind === "symlog" ? option(distribution, "linearThreshold", 1) : "",
  ].join("|");
}

/** The ends of a scale that are set; they are alike for all that share it. */
function boundsOf(of: { min?: unknown; max?: unknown } | undefined): { min?: number; max?: number } {
  const bound = (value: unknown) => (typeof value === "number" ? value : undefined);
  return { min: bound(of?.min), max: bound(of?.max) };
}

/** The scale of uPlot: fixed, soft and found bounds, linear or logarithmic. */
export function plotScale(scale: Scale): uPlot.Scale {
  const first = customOf(scale.fields[0]);
  const distribution = part(first, "scaleDistribution");
  const type = option(distribution, "type", "linear");
  const { min: fixedMin, max: fixedMax } = boundsOf(scale.fields[0]?.config);
  const { min: softMin, max: softMax } = boundsOf({ min: first.axisSoftMin, max: first.axisSoftMax });
  const isCentered = option(first, "axisCenteredZero", false);
  const isBars = scale.fields.some((field) => customOf(field).drawStyle === "bars");
  const base = option(distribution, "log", 10) === 2 ? 2 : 10;
  return {
    distr: type === "log" ? 3 : type === "symlog" ? 4 : 1,
    log: base,
    asinh: option(distribution, "linearThreshold", 1),
    range: (_, low, high) => {
      if (scale.isPercent) return [low !== null && low < 0 ? -1 : 0, 1];
      let [bottom, top] = padded(low, high, type);
      if (isBars && type === "linear") [bottom, top] = [Math.min(0, bottom), Math.max(0, top)];
      bottom = fixedMin ?? (softMin === undefined ? bottom : Math.min(softMin, bottom));
      top = fixedMax ?? (softMax === undefined ? top : Math.max(softMax, top));
      // It has no zero that could be in the middle.
      if (type === "log") return logarithmic(base, bottom, top);
      if (isCentered) {
        const far = Math.max(Math.abs(bottom), Math.abs(top)) || 1;
        return [-far, far];
      }
      return top > bottom ? [bottom, top] : [bottom, bottom + 1];
    },
  };
}

/** Some room above and below; zero is the bottom where it is near. */
function padded(low: number | null, high: number | null, type: string): [number, number] {
  if (low === null || high === null || !Number.isFinite(low) || !Number.isFinite(high)) return [0, 100];
  if (type === "log") return [low, high];
  const spread = high - low;
  const room = spread * 0.06 || Math.abs(high) * 0.1 || 1;
  const bottom = low >= 0 && low - room < spread * 0.4 ? 0 : low - room;
  const top = high <= 0 && high + room > -spread * 0.4 ? 0 : high + room;
  return [low === 0 && high === 0 ? 0 : bottom, top];
}

/** Whole powers of the base around both ends; what is not above zero has no place. */
function logarithmic(base: 2 | 10, bottom: number, top: number): [number, number] {
  const power = base === 2 ? Math.log2 : Math.log10;
  const from = bottom > 0 ? bottom : top > 0 ? top / 1e4 : 1;
  const least = Math.floor(power(from));
  return [base ** least, base ** Math.max(least + 1, Math.ceil(power(Math.max(top, from))))];
}

const FONT = "11px system-ui, sans-serif";

/** The axis of a scale. */
export function plotAxis(scale: Scale, isFirst: boolean): uPlot.Axis {
  const field = scale.fields[0]!;
  const custom = customOf(field);
  const label = option(custom, "axisLabel", "");
  const format = formatWith(units.value, {
    unit: scale.isPercent ? "percentunit" : field.config?.unit,
    decimals: typeof field.config?.decimals === "number" ? field.config.decimals : undefined,
    kind: "number",
    isTick: true,
    clock: clockOf(),
  });
  const showsGrid = custom.axisGridShow === undefined ? isFirst : custom.axisGridShow === true;
  const fixedWidth = option(custom, "axisWidth", 0);
  const increments = incrementsOf(scale);
  return {
    scale: scale.key,
    side: scale.side === "right" ? 1 : 3,
    show: scale.side !== "hidden",
    stroke: token("--text-muted"),
    font: FONT,
    label: label === "" ? undefined : label,
    labelFont: FONT,
    labelSize: label === "" ? 0 : 16,
    labelGap: 0,
    gap: 4,
    space: 32,
    ...(increments ? { incrs: increments } : {}),
    grid: { show: showsGrid, stroke: token("--grid"), width: 1 },
    ticks: { show: false },
    border: { show: option(custom, "axisBorderShow", false), stroke: token("--border"), width: 1 },
    size: (_, values) =>
      fixedWidth > 0
        ? fixedWidth
        : 10 + 6.1 * Math.max(2, ...(values ?? []).map((text) => text?.length ?? 0)),
    values: (_, splits) =>
      splits.map((value) => {
        if (value === null) return "";
        const { prefix, text, suffix } = format(value);
        return prefix + text + suffix;
      }),
  };
}

const BINARY = Array.from({ length: 80 }, (_, power) => 2 ** (power - 10));
const SECONDS = [
  ...[-9, -8, -7, -6, -5, -4, -3, -2, -1].flatMap((power) => [1, 2, 5].map((factor) => factor * 10 ** power)),
  ...[
    1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 21_600, 43_200, 86_400, 172_800, 604_800,
  ],
  ...[1, 2, 5, 10, 20, 50, 100].map((factor) => factor * 2_592_000),
];

const PER_SECOND: Readonly<Record<string, number>> = { s: 1, ms: 1e3, µs: 1e6, ns: 1e9 };

/** Distances of ticks that are round in the unit, where that is not decimal. */
function incrementsOf({ fields, isPercent }: Scale): number[] | undefined {
  const id = fields[0]?.config?.unit;
  if (isPercent || !id) return undefined;
  const unit = findUnit(units.value, id);
  if (unit.kind === "scaled" && unit.base === 1024) return BINARY;
  const perSecond = PER_SECOND[id];
  if (perSecond === undefined) return undefined;
  return SECONDS.map((seconds) => Number((seconds * perSecond).toPrecision(12)));
}

/** The axes of time below: one for each zone that the panel asks for. */
export function timeAxes(zones: readonly (string | undefined)[]): uPlot.Axis[] {
  return zones.map((name, at) => timeAxis(name, at === 0));
}

function timeAxis(name: string | undefined, isFirst: boolean): uPlot.Axis {
  return {
    scale: "x",
    // uPlot takes all but the first for axes of values.
    side: 2,
    stroke: token("--text-muted"),
    font: FONT,
    size: 22,
    gap: 3,
    space: 68,
    grid: { show: isFirst, stroke: token("--grid"), width: 1 },
    ticks: { show: false },
    // uPlot's own are round on the browser's clock.
    splits: (plot, _, min, max) =>
      timeTicks(min * 1000, max * 1000, plot.bbox.width / devicePixelRatio, name).map((at) => at / 1000),
    values: (plot, splits) => {
      const span = ((plot.scales.x?.max ?? 0) - (plot.scales.x?.min ?? 0)) * 1000;
      return splits.map((at) => tickTime(at * 1000, span, clockOf(name)));
    },
  };
}
