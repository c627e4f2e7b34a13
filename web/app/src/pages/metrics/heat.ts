/** Buckets over time as heat maps take them: classic ones by their label `le`, or those of native histograms. */
import type { HeatData } from "../../ui/heatgeometry";
import { aligned, numberOf, type PromSeries } from "./series";

/**
 * A heat map of what buckets counted in the step that ends at each moment of the answer, from the first of
 * them to the last: a window of PromQL ends where it is asked for. So the first begins no column.
 */
export function heatOf(
  series: readonly PromSeries[],
  from: number,
  to: number,
  stepMillis: number,
): HeatData | undefined {
  const columns = { ends: aligned([], from + stepMillis, to, stepMillis).times, stepMillis };
  if (series.some(({ histograms }) => histograms?.length)) return nativeHeat(series, columns);
  const classic = series.filter(({ metric }) => metric.le !== undefined);
  return classic.length === 0 ? undefined : classicHeat(classic, columns);
}

/** Where the columns end, in milliseconds. */
interface Columns {
  ends: readonly number[];
  stepMillis: number;
}

const starts = ({ ends, stepMillis }: Columns) => ends.map((end) => end - stepMillis);

function classicHeat(series: readonly PromSeries[], columns: Columns): HeatData {
  const { ends, stepMillis } = columns;
  const { values } = aligned(series, ends[0]!, ends.at(-1)!, stepMillis);
  const sums = new Map<number, number[]>();
  series.forEach(({ metric }, index) => {
    const bound = numberOf(metric.le!);
    const row = sums.get(bound) ?? ends.map(() => 0);
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
  const lowest = bounds[0]! > 0 ? 0 : Number.NEGATIVE_INFINITY;
  return { times: starts(columns), stepMillis, bounds, lowest, counts };
}

interface Row {
  low: number;
  high: number;
  counts: number[];
}

function nativeHeat(series: readonly PromSeries[], columns: Columns): HeatData {
  const { ends, stepMillis } = columns;
  const found = new Map<string, Row>();
  for (const { histograms = [] } of series) {
    for (const [seconds, { buckets = [] }] of histograms) {
      const at = Math.round((seconds * 1000 - ends[0]!) / stepMillis);
      if (at < 0 || at >= ends.length) continue;
      for (const [, low, high, count] of buckets) {
        const row = found.get(`${low} ${high}`) ?? {
          low: numberOf(low),
          high: numberOf(high),
          counts: ends.map(() => 0),
        };
        row.counts[at]! += numberOf(count);
        found.set(`${low} ${high}`, row);
      }
    }
  }
  const rows = withoutGaps([...found.values()]);
  return {
    times: starts(columns),
    stepMillis,
    bounds: rows.map(({ high }) => high),
    lowest: rows[0]?.low ?? 0,
    counts: rows.map(({ counts }) => counts),
  };
}

/** Bounds that are the same, but for how they were computed. */
const NEARLY = 1e-9;
const isBelow = (a: number, b: number) => a < b - Math.abs(b) * NEARLY;
/** Rows that a gap gets at most: beyond, the rows that have something could not be seen. */
const MOST_BETWEEN = 60;

/**
 * Rows that follow each other: buckets that nothing was counted in are not told, and get rows of their own;
 * those that overlap, as where a histogram became coarser, become one.
 */
function withoutGaps(rows: Row[]): Row[] {
  rows.sort((a, b) => a.low - b.low || a.high - b.high);
  const all: Row[] = [];
  for (const row of rows) {
    const below = all.at(-1);
    if (below && isBelow(row.low, below.high)) {
      below.high = Math.max(below.high, row.high);
      below.counts = below.counts.map((count, at) => count + row.counts[at]!);
      continue;
    }
    if (below && isBelow(below.high, row.low)) all.push(...between(below, row));
    all.push(row);
  }
  return all;
}

/** Empty rows between two buckets, each so many times as large as the one below it as the buckets are. */
function between(below: Row, above: Row): Row[] {
  const growth = above.high / above.low;
  const parts = above.low > 0 && below.high > 0 ? Math.log(above.low / below.high) / Math.log(growth) : 1;
  const whole = Math.round(parts);
  const isRegular = Math.abs(parts - whole) < 1e-3 && whole >= 1 && whole <= MOST_BETWEEN;
  const size = isRegular ? whole : 1;
  const bounds = Array.from({ length: size - 1 }, (_, at) => below.high * growth ** (at + 1));
  const [lows, highs] = [
    [below.high, ...bounds],
    [...bounds, above.low],
  ];
  return lows.map((low, at) => ({ low, high: highs[at]!, counts: above.counts.map(() => 0) }));
}
