/** Numbers over time that TraceQL answers, as charts and heat maps take them. */
import type { Range } from "../../frame/time";
import type { HeatData } from "../../ui/heatgeometry";
import { labelText, type TempoSeries } from "./difference";

/** How long a step is, so that about `columns` of them fill the time shown; whole seconds. */
export function stepSeconds({ from, to }: Range, columns: number): number {
  const wanted = (to - from) / 1000 / columns;
  const round = [
    1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 21_600, 43_200, 86_400,
  ];
  return round.find((step) => step >= wanted) ?? Math.ceil(wanted / 86_400) * 86_400;
}

/** Series on one axis of times. A point at `t` tells of what began in the step before it. */
export function aligned(series: readonly TempoSeries[]): { times: number[]; values: (number | null)[][] } {
  const all = new Set<number>();
  for (const { samples } of series) for (const { timestampMs } of samples) all.add(Number(timestampMs));
  const times = [...all].sort((a, b) => a - b);
  const places = new Map(times.map((time, index) => [time, index]));
  const values = series.map(({ samples }) => {
    const row: (number | null)[] = times.map(() => null);
    for (const { timestampMs, value } of samples) row[places.get(Number(timestampMs))!] = value ?? 0;
    return row;
  });
  return { times, values };
}

/** The text of a label of a series. */
export function labelOf(series: TempoSeries, key: string): string | undefined {
  const label = series.labels.find((one) => one.key === key);
  return label && labelText(label.value);
}

/** Buckets of `histogram_over_time(duration)`: powers of two of seconds, here in nanoseconds. */
export function heatOf(series: readonly TempoSeries[], step: number): HeatData {
  const known = series
    .map((one) => ({ bound: Number(labelOf(one, "__bucket")), one }))
    .filter(({ bound }) => bound > 0)
    .sort((a, b) => a.bound - b.bound);
  const { times, values } = aligned(known.map(({ one }) => one));
  const bounds: number[] = [];
  const counts: number[][] = [];
  for (const [index, { bound }] of known.entries()) {
    // Buckets that nothing fell into are not answered, but are part of the picture.
    for (let empty = (bounds.at(-1) ?? bound) * 2; empty < bound * 0.99 && bounds.length > 0; empty *= 2) {
      bounds.push(empty);
      counts.push(times.map(() => 0));
    }
    bounds.push(bound);
    counts.push(values[index]!.map((value) => value ?? 0));
  }
  const stepMillis = step * 1000;
  return {
    times: times.map((time) => time - stepMillis),
    stepMillis,
    bounds: bounds.map((bound) => bound * 1e9),
    lowest: ((bounds[0] ?? 2) / 2) * 1e9,
    counts,
  };
}

/** All that a heat map counts. */
export function totalOf({ counts }: HeatData): number {
  return counts.reduce((sum, row) => sum + row.reduce((part, value) => part + value, 0), 0);
}
