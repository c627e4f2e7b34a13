/**
 * The cells of a heat map: from buckets that came as series (`le` or names as bounds), or counted here from
 * values over time.
 */
import { endsOf } from "../ui/ends";
import { type Field, type Frame, nameOf, numberOf, option, part, timeOf } from "./frame";

export interface HeatRow {
  name: string;
  from?: number;
  to?: number;
  /** The series that the row is, where it is one. */
  source?: { field: Field; time: Field };
}

export interface HeatCells {
  /** Milliseconds where columns begin. */
  times: number[];
  stepMillis: number;
  /** Names and bounds of rows, from the bottom. */
  rows: HeatRow[];
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
  const cells = frames.find(({ meta }) => meta?.type === "heatmap-cells");
  if (cells) return ready(cells);
  // The server has taken what is below each bound away already.
  if (frames.some(({ meta }) => meta?.type === "heatmap-rows")) return fromBuckets(series, false);
  return option(options, "calculate", false) ? counted(series, options) : fromBuckets(series, true);
}

type Timed = { field: Field; time: Field };

/** The upper bound of a bucket, from its label or its name. */
export function boundOf(field: Field): number | undefined {
  const text = field.labels?.le ?? nameOf(field);
  if (/^\+?Inf(inity)?$/.test(text)) return Number.POSITIVE_INFINITY;
  const number = Number(text);
  return text.trim() !== "" && !Number.isNaN(number) ? number : undefined;
}

function fromBuckets(series: Timed[], mayBeCumulative: boolean): HeatCells {
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
    rows: bounded.map(({ field, time, bound }, index) => ({
      source: { field, time },
      name: nameOf(field),
      from: index > 0 ? bounded[index - 1]!.bound : undefined,
      to: bound,
    })),
    values: mayBeCumulative && areBounds && isCumulative(values) ? differences(values) : values,
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

/** Cells that the server has counted, a row of the frame for each: where it begins, and how many it holds. */
function ready({ fields, meta }: Frame): HeatCells | undefined {
  const column = (name: string) => fields.find((field) => field.name === name);
  const [x, y, count] = [column("xMin"), column("yMin"), column("Count")];
  if (!x || !y || !count || x.values.length === 0) return undefined;
  const sizes = part(meta, "custom");
  const starts = (of: Field) => [...new Set(of.values as number[])].sort((a, b) => a - b);
  const [times, bottoms] = [starts(x), starts(y)];
  const height = option(sizes, "yBucketSize", 1);
  const values = bottoms.map(() => new Array<number | null>(times.length).fill(null));
  const [columns, rows] = [times, bottoms].map((of) => new Map(of.map((start, at) => [start, at])));
  for (const [at, start] of x.values.entries()) {
    const row = rows!.get(y.values[at] as number)!;
    values[row]![columns!.get(start as number)!] = numberOf(count.values[at]);
  }
  return {
    times,
    stepMillis: option(sizes, "xBucketSize", stepOf(times)),
    rows: bottoms.map((from) => ({ name: "", from, to: from + height })),
    values,
    field: y,
  };
}

const ROWS = 20;
const COLUMNS = 80;

/** Counts values in squares of time and value. */
function counted(series: Timed[], options: Record<string, unknown>): HeatCells | undefined {
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
  const values = endsOf(points.map(([, value]) => scaled(value)));
  const times = endsOf(points.map(([time]) => time));
  if (!values || !times) return undefined;
  const [[low, high], [from, to]] = [values, times];
  const rowSize = (high - low || 1) / ROWS;
  const step = Math.max(1, (to - from || 1) / COLUMNS);
  const counts = Array.from({ length: ROWS }, () => new Array<number | null>(COLUMNS + 1).fill(null));
  for (const [time, value] of points) {
    const row = Math.min(ROWS - 1, Math.floor((scaled(value) - low) / rowSize));
    const column = Math.floor((time - from) / step);
    counts[row]![column] = (counts[row]![column] ?? 0) + 1;
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
    values: counts,
    field: first,
  };
}
