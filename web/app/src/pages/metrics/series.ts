/** Series of Prometheus' API as charts, tables and heat maps take them. */
import type { HeatData } from "../../ui/heatgeometry";

export type Labels = Readonly<Record<string, string>>;

/** A native histogram of an answer: each bucket is its rule for bounds, from, to, count. */
export interface NativeHistogram {
  count: string;
  sum: string;
  buckets?: readonly (readonly [number, string, string, string])[];
}

export interface PromSeries {
  metric: Labels;
  values?: readonly (readonly [number, string])[];
  histograms?: readonly (readonly [number, NativeHistogram])[];
}

/** How a series is called: by a format such as `{{instance}}`, or by its labels. */
export function nameOf(metric: Labels, format: string, fallback: string): string {
  if (format.trim() !== "")
    return format.replace(/\{\{\s*([\w.:]+)\s*\}\}/g, (_, label: string) => metric[label] ?? "");
  const { __name__: name = "", ...labels } = metric;
  const inside = Object.entries(labels).map(([label, value]) => `${label}="${value}"`);
  if (inside.length === 0) return name || fallback;
  return `${name}{${inside.join(", ")}}`;
}

export interface Aligned {
  /** Milliseconds, ascending, one for each step. */
  times: number[];
  values: (number | null)[][];
}

/** Values of all series at the same times; what a series lacks is a gap. */
export function aligned(
  series: readonly PromSeries[],
  from: number,
  to: number,
  stepMillis: number,
): Aligned {
  const size = Math.max(1, Math.floor((to - from) / stepMillis) + 1);
  const times = Array.from({ length: size }, (_, at) => from + at * stepMillis);
  const values = series.map((one) => {
    const row: (number | null)[] = new Array(size).fill(null);
    const put = (seconds: number, value: number) => {
      const at = Math.round((seconds * 1000 - from) / stepMillis);
      if (at >= 0 && at < size && Number.isFinite(value)) row[at] = value;
    };
    for (const [seconds, text] of one.values ?? []) put(seconds, numberOf(text));
    // Of a histogram a line can show the mean alone.
    for (const [seconds, { sum, count }] of one.histograms ?? [])
      put(seconds, numberOf(sum) / numberOf(count));
    return row;
  });
  return { times, values };
}

/** A number as Prometheus writes it. */
export function numberOf(text: string): number {
  if (text === "+Inf") return Number.POSITIVE_INFINITY;
  if (text === "-Inf") return Number.NEGATIVE_INFINITY;
  return Number(text);
}

export interface Statistics {
  min?: number;
  mean?: number;
  max?: number;
  last?: number;
}

/** What a row of values comes to. */
export function statistics(values: readonly (number | null)[]): Statistics {
  let [sum, known] = [0, 0];
  const found: Statistics = {};
  for (const value of values) {
    if (value === null) continue;
    sum += value;
    known += 1;
    found.last = value;
    if (found.min === undefined || value < found.min) found.min = value;
    if (found.max === undefined || value > found.max) found.max = value;
  }
  if (known > 0) found.mean = sum / known;
  return found;
}

/** Each row on top of those before it; a gap counts as nothing. */
export function stacked(rows: readonly (readonly (number | null)[])[]): (number | null)[][] {
  let below: (number | null)[] = [];
  return rows.map((row) => {
    below = row.map((value, at) => (value === null ? (below[at] ?? null) : value + (below[at] ?? 0)));
    return below;
  });
}

/** A heat map of buckets: classic ones by their label `le`, or those of native histograms. */
export function heatOf(
  series: readonly PromSeries[],
  from: number,
  to: number,
  stepMillis: number,
): HeatData | undefined {
  if (series.some(({ histograms }) => histograms?.length)) return nativeHeat(series, from, to, stepMillis);
  const classic = series.filter(({ metric }) => metric.le !== undefined);
  return classic.length === 0 ? undefined : classicHeat(classic, from, to, stepMillis);
}

function classicHeat(series: readonly PromSeries[], from: number, to: number, stepMillis: number): HeatData {
  const { times, values } = aligned(series, from, to, stepMillis);
  const sums = new Map<number, number[]>();
  series.forEach(({ metric }, index) => {
    const bound = numberOf(metric.le!);
    const row = sums.get(bound) ?? times.map(() => 0);
    values[index]!.forEach((value, at) => {
      row[at]! += value ?? 0;
    });
    sums.set(bound, row);
  });
  const bounds = [...sums.keys()].sort((a, b) => a - b);
  // A bucket counts what those below it count too.
  const counts = bounds.map((bound, row) =>
    sums
      .get(bound)!
      .map((value, at) => Math.max(0, value - (row === 0 ? 0 : sums.get(bounds[row - 1]!)![at]!))),
  );
  return finite({ times, stepMillis, bounds, lowest: Math.min(0, bounds[0] ?? 0), counts });
}

function nativeHeat(series: readonly PromSeries[], from: number, to: number, stepMillis: number): HeatData {
  const { times } = aligned([], from, to, stepMillis);
  const rows = new Map<number, { low: number; row: number[] }>();
  for (const { histograms = [] } of series) {
    for (const [seconds, { buckets = [] }] of histograms) {
      const at = Math.round((seconds * 1000 - from) / stepMillis);
      if (at < 0 || at >= times.length) continue;
      for (const [, low, high, count] of buckets) {
        const entry = rows.get(numberOf(high)) ?? { low: numberOf(low), row: times.map(() => 0) };
        entry.row[at]! += numberOf(count);
        rows.set(numberOf(high), entry);
      }
    }
  }
  const bounds = [...rows.keys()].sort((a, b) => a - b);
  const lowest = rows.get(bounds[0] ?? 0)?.low ?? 0;
  return finite({ times, stepMillis, bounds, lowest, counts: bounds.map((bound) => rows.get(bound)!.row) });
}

/** The last bucket may have no bound; it is drawn as one that is twice as large as the one below it. */
function finite(data: HeatData): HeatData {
  const last = data.bounds.at(-1);
  if (last === undefined || Number.isFinite(last)) return data;
  const below = data.bounds.at(-2) ?? 1;
  return { ...data, bounds: [...data.bounds.slice(0, -1), below > 0 ? below * 2 : below + 1] };
}
