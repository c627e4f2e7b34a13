/** Values over time counted in squares: how many of which size, as `calculation` of the panel asks for. */
import { durationMillis } from "../frame/time";
import { endsOf } from "../ui/ends";
import { numberOf, option, part } from "./frame";
import type { HeatCells, Timed } from "./heatcells";

const ROWS = 20;
const COLUMNS = 80;
/** More would be smaller than a pixel, and a size that was mistyped would take all memory. */
const MOST_ROWS = 500;
const MOST_COLUMNS = 2000;

/** Where squares begin along an axis, and how many of one size there are. */
interface Grid {
  begin: number;
  size: number;
  count: number;
}

/** Counts values in squares of time and value. */
export function counted(series: readonly Timed[], options: Record<string, unknown>): HeatCells | undefined {
  const points = series.flatMap(({ field, time }) =>
    field.values.flatMap((value, index) => {
      const number = numberOf(value);
      return number === null || !Number.isFinite(number)
        ? []
        : [[time.values[index] as number, number] as const];
    }),
  );
  const calculation = part(options, "calculation");
  const [xBuckets, yBuckets] = [part(calculation, "xBuckets"), part(calculation, "yBuckets")];
  const scale = part(yBuckets, "scale");
  const isLog = option(scale, "type", "linear") === "log";
  const base = option(scale, "log", 10) === 2 ? 2 : 10;
  const power = base === 2 ? Math.log2 : Math.log10;
  const scaled = (value: number) => (isLog ? power(Math.max(value, 1e-12)) : value);
  const values = endsOf(points.map(([, value]) => scaled(value)));
  const times = endsOf(points.map(([time]) => time));
  if (!values || !times) return undefined;
  const rows = isLog
    ? splitGrid(values, amount(yBuckets))
    : gridOf(values, yBuckets, amount, ROWS, MOST_ROWS);
  const columns = gridOf(times, xBuckets, spanMillis, COLUMNS, MOST_COLUMNS);
  const counts = Array.from({ length: rows.count }, () => new Array<number | null>(columns.count).fill(null));
  for (const [time, value] of points) {
    const row = placeIn(rows, scaled(value));
    const column = placeIn(columns, time);
    counts[row]![column] = (counts[row]![column] ?? 0) + 1;
  }
  const unscaled = (value: number) => (isLog ? base ** value : value);
  const edge = (at: number) => unscaled(rows.begin + at * rows.size);
  return {
    times: Array.from({ length: columns.count }, (_, column) => columns.begin + column * columns.size),
    stepMillis: columns.size,
    rows: Array.from({ length: rows.count }, (_, row) => ({ name: "", from: edge(row), to: edge(row + 1) })),
    layout: "le",
    values: counts,
    field: series[0]!.field,
  };
}

function placeIn({ begin, size, count }: Grid, value: number): number {
  return Math.max(0, Math.min(count - 1, Math.floor((value - begin) / size)));
}

type Buckets = Record<string, unknown>;

/** The number that buckets are given. */
function amount({ value }: Buckets): number | undefined {
  const number = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
  return typeof number === "number" && number > 0 && Number.isFinite(number) ? number : undefined;
}

/** The length of time that buckets are given: `1m`, or milliseconds. */
function spanMillis(buckets: Buckets): number | undefined {
  return amount(buckets) ?? durationMillis(String(buckets.value ?? "").trim());
}

/** Squares of a size that begin at its multiples, or so many as are asked for. */
function gridOf(
  [low, high]: readonly [number, number],
  buckets: Buckets,
  sizeOf: (buckets: Buckets) => number | undefined,
  usual: number,
  most: number,
): Grid {
  const size = option(buckets, "mode", "size") === "size" ? sizeOf(buckets) : undefined;
  if (size !== undefined && (high - low) / size < most) {
    const begin = Math.floor(low / size) * size;
    return { begin, size, count: Math.floor((high - begin) / size) + 1 };
  }
  const asked = option(buckets, "mode", "size") === "count" ? amount(buckets) : undefined;
  const count = Math.max(1, Math.min(most, Math.round(asked ?? usual)));
  return { begin: low, size: (high - low || 1) / count, count };
}

/** Powers of the base, each in so many parts; without that as many rows as usual. */
function splitGrid(ends: readonly [number, number], splits: number | undefined): Grid {
  const buckets = splits === undefined ? {} : { mode: "size", value: 1 / splits };
  return gridOf(ends, buckets, amount, ROWS, MOST_ROWS);
}
