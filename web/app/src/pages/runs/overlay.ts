/** Lines of several runs on one axis, which need common places; smoothing; and moments that are looked into. */
import { colorAt } from "../../ui/colors";
import type { Line } from "../../ui/timechart";

export interface Metric {
  name: string;
  /** As dashboards name it, where it is known. */
  unit?: string;
  /** Of each run its points, and when each of them was, in milliseconds. */
  series: { run: string; points: [number, number][]; times: number[] }[];
}

/** A part of a run that somebody wants to look into. */
export interface Moment {
  run: string;
  /** Where it is on the axis, and its value. */
  x: number;
  value: number;
  /** From the point before to the one after it, in milliseconds. */
  from: number;
  to: number;
}

/** A moment lasts at least so long, since spans are longer than the moment at which a value is told. */
const LEAST_MILLIS = 1000;

function momentAt({ run, points, times }: Metric["series"][number], at: number): Moment {
  const [x, value] = points[at]!;
  const from = times[Math.max(0, at - 1)]!;
  const to = times[Math.min(times.length - 1, at + 1)]!;
  return { run, x, value, from: from - LEAST_MILLIS, to: to + LEAST_MILLIS };
}

/** The point of the line that is nearest to a place on the axis and a value, as they are drawn. */
export function nearest(metric: Metric, drawn: Overlaid, x: number, value: number): Moment | undefined {
  const at = closest(drawn.places, x);
  let [best, least] = [-1, Number.POSITIVE_INFINITY];
  drawn.lines.forEach(({ values }, index) => {
    const known = values[at];
    if (typeof known !== "number" || Math.abs(known - value) >= least) return;
    [best, least] = [index, Math.abs(known - value)];
  });
  const series = metric.series[best];
  if (!series || series.points.length === 0) return undefined;
  return momentAt(
    series,
    closest(
      series.points.map(([place]) => place),
      x,
    ),
  );
}

/** Which of some numbers is closest to one. */
function closest(numbers: readonly number[], to: number): number {
  return numbers.reduce(
    (best, one, at) => (Math.abs(one - to) < Math.abs(numbers[best]! - to) ? at : best),
    0,
  );
}

/** The values that a chart of lines goes from and to: said to it, since what is clicked has to be found again. */
export function bounds(lines: readonly Line[]): { min: number; max: number } {
  let [low, high] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const { values } of lines) {
    for (const value of values) {
      if (typeof value !== "number") continue;
      low = Math.min(low, value);
      high = Math.max(high, value);
    }
  }
  if (low > high) return { min: 0, max: 1 };
  const room = (high - low) * 0.05 || Math.abs(high) * 0.1 || 1;
  return { min: low >= 0 ? Math.max(0, low - room) : low - room, max: high + room };
}

/** The greatest value of a metric. */
export function peak(metric: Metric): Moment | undefined {
  let best: Moment | undefined;
  for (const series of metric.series) {
    series.points.forEach(([, value], at) => {
      if (best === undefined || value > best.value) best = momentAt(series, at);
    });
  }
  return best;
}

/** The places of all lines in order, and each line with a value or none at each. */
export interface Overlaid {
  places: number[];
  /** One for each series of the metric. */
  lines: Line[];
}

export function overlaid(metric: Metric, runs: readonly string[], smoothing: number): Overlaid {
  const places = [...new Set(metric.series.flatMap(({ points }) => points.map(([x]) => x)))].sort(
    (a, b) => a - b,
  );
  const index = new Map(places.map((x, at) => [x, at]));
  const lines = metric.series.map(({ run, points }) => {
    const values = new Array<number | null>(places.length).fill(null);
    const smooth = smoothed(
      points.map(([, y]) => y),
      smoothing,
    );
    points.forEach(([x], at) => {
      values[index.get(x)!] = smooth[at]!;
    });
    return { label: run, color: colorAt(Math.max(0, runs.indexOf(run))), values: filled(values) };
  });
  return { places, lines };
}

/** Values between two known ones lie on the line between them, since lines of runs do not share places. */
function filled(values: (number | null)[]): (number | null)[] {
  let before = -1;
  for (let at = 0; at < values.length; at += 1) {
    const value = values[at];
    if (value === null || value === undefined) continue;
    if (before >= 0) {
      const from = values[before]!;
      for (let gap = before + 1; gap < at; gap += 1) {
        values[gap] = from + ((value - from) * (gap - before)) / (at - before);
      }
    }
    before = at;
  }
  return values;
}

/** An exponential mean: 0 is none, up to below 1. The first values are not drawn towards zero. */
export function smoothed(values: readonly number[], by: number): number[] {
  let [sum, weight] = [0, 0];
  return values.map((value) => {
    sum = sum * by + value * (1 - by);
    weight = weight * by + (1 - by);
    return sum / weight;
  });
}
