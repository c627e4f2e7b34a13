/** Lines of several runs on one axis, which need common places; and smoothing. */
import { colorAt } from "../../ui/colors";
import type { Line } from "../../ui/timechart";

export interface Metric {
  name: string;
  series: { run: string; points: [number, number][] }[];
}

/** The places of all lines in order, and each line with a value or none at each. */
export function overlaid(
  metric: Metric,
  runs: readonly string[],
  smoothing: number,
): { places: number[]; lines: Line[] } {
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
