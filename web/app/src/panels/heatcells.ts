/**
 * The cells of a heat map: from buckets that came as series (`le` or names as bounds), or counted here from
 * values over time.
 */
import { customOf, type Field, type Frame, nameOf, numberOf, option, part, timeOf } from "./frame";

export interface HeatCells {
  /** Milliseconds where columns begin. */
  times: number[];
  stepMillis: number;
  /** Names and bounds of rows, from the bottom. */
  rows: { name: string; from?: number; to?: number }[];
  /** Values by row, then by column. */
  values: (number | null)[][];
  field: Field;
}

/** What a heat map draws; `undefined` if there is nothing. */
export function heatCells(frames: readonly Frame[], options: Record<string, unknown>): HeatCells | undefined {
  const series = frames.flatMap((frame) => {
    const time = timeOf(frame);
    return time ? frame.fields.filter(({ type }) => type === "number").map((field) => ({ field, time })) : [];
  });
  if (series.length === 0) return undefined;
  return option(options, "calculate", false) ? counted(series, options) : fromBuckets(series);
}

type Timed = { field: Field; time: Field };

/** The upper bound of a bucket, from its label or its name. */
export function boundOf(field: Field): number | undefined {
  const text = field.labels?.le ?? nameOf(field);
  if (/^\+?Inf(inity)?$/.test(text)) return Number.POSITIVE_INFINITY;
  const number = Number(text);
  return text.trim() !== "" && !Number.isNaN(number) ? number : undefined;
}

function fromBuckets(series: Timed[]): HeatCells {
  const bounded = series.map((one) => ({ ...one, bound: boundOf(one.field) }));
  const areBounds = bounded.every(({ bound }) => bound !== undefined);
  if (areBounds) bounded.sort((a, b) => a.bound! - b.bound!);
  const times = [...new Set(series.flatMap(({ time }) => time.values as number[]))].sort((a, b) => a - b);
  const at = new Map(times.map((time, index) => [time, index]));
  const values = bounded.map(({ field, time }) => {
    const row = new Array<number | null>(times.length).fill(null);
    for (const [index, value] of field.values.entries())
      row[at.get(time.values[index] as number)!] = numberOf(value);
    return row;
  });
  return {
    times,
    stepMillis: stepOf(times),
    rows: bounded.map(({ field, bound }, index) => ({
      name: nameOf(field),
      from: index > 0 ? bounded[index - 1]!.bound : undefined,
      to: bound,
    })),
    values: areBounds && isCumulative(values) ? differences(values) : values,
    field: series[0]!.field,
  };
}

/** Whether every bucket holds those below, as Prometheus' do. */
function isCumulative(values: readonly (number | null)[][]): boolean {
  let compared = 0;
  for (let row = 1; row < values.length; row += 1) {
    for (let column = 0; column < values[row]!.length; column += 1) {
      const [below, here] = [values[row - 1]![column], values[row]![column]];
      if (typeof below !== "number" || typeof here !== "number") continue;
      if (here < below * (1 - 1e-9)) return false;
      compared += 1;
    }
  }
  return compared > 0;
}

function differences(values: readonly (number | null)[][]): (number | null)[][] {
  return values.map((row, index) =>
    row.map((value, column) => {
      const below = index === 0 ? 0 : values[index - 1]![column];
      return typeof value === "number" ? Math.max(0, value - (typeof below === "number" ? below : 0)) : null;
    }),
  );
}

function stepOf(times: readonly number[]): number {
  let least = Number.POSITIVE_INFINITY;
  for (let at = 1; at < times.length; at += 1) least = Math.min(least, times[at]! - times[at - 1]!);
  return Number.isFinite(least) ? least : 60_000;
}

const ROWS = 20;
const COLUMNS = 80;

/** Counts values in squares of time and value. */
function counted(series: Timed[], options: Record<string, unknown>): HeatCells {
  const points = series.flatMap(({ field, time }) =>
    field.values.flatMap((value, index) => {
      const number = numberOf(value);
      return number === null || !Number.isFinite(number)
        ? []
        : [[time.values[index] as number, number] as const];
    }),
  );
  const calculation = part(part(options, "calculation"), "yBuckets");
  const isLog = option(part(calculation, "scale"), "type", "linear") === "log";
  const scaled = (value: number) => (isLog ? Math.log10(Math.max(value, 1e-12)) : value);
  const all = points.map(([, value]) => scaled(value));
  const [low, high] = [Math.min(...all), Math.max(...all)];
  const spans = points.map(([time]) => time);
  const [from, to] = [Math.min(...spans), Math.max(...spans)];
  const rowSize = (high - low || 1) / ROWS;
  const step = Math.max(1, (to - from || 1) / COLUMNS);
  const values = Array.from({ length: ROWS }, () => new Array<number | null>(COLUMNS + 1).fill(null));
  for (const [time, value] of points) {
    const row = Math.min(ROWS - 1, Math.floor((scaled(value) - low) / rowSize));
    const column = Math.floor((time - from) / step);
    values[row]![column] = (values[row]![column] ?? 0) + 1;
  }
  const unscaled = (value: number) => (isLog ? 10 ** value : value);
  const first = series[0]!.field;
  return {
    times: Array.from({ length: COLUMNS + 1 }, (_, column) => from + column * step),
    stepMillis: step,
    rows: Array.from({ length: ROWS }, (_, row) => ({
      name: "",
      from: unscaled(low + row * rowSize),
      to: unscaled(low + (row + 1) * rowSize),
    })),
    values,
    field: { ...first, config: { ...first.config, custom: customOf(first) } },
  };
}
