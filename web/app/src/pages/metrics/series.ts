/** Series of Prometheus' API as charts and tables take them. */

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
