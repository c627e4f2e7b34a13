/**
 * The cells of a heat map: from buckets that came as series (`le`, `ge` or names as bounds), or counted here
 * from values over time.
 */
import { type Field, type Frame, nameOf, numberOf, option, part, timeOf } from "./frame";
import { counted } from "./heatcount";

export interface HeatRow {
  name: string;
  from?: number;
  to?: number;
  /** The series that the row is, where it is one. */
  source?: { field: Field; time: Field };
}

/** What names a row: its upper bound, its lower one, or no bound. */
export type HeatLayout = "le" | "ge" | "unknown";

export interface HeatCells {
  /** Milliseconds where columns begin. */
  times: number[];
  stepMillis: number;
  /** Names and bounds of rows, from the least. */
  rows: HeatRow[];
  layout: HeatLayout;
  /** Values by row, then by column. */
  values: (number | null)[][];
  field: Field;
}

/** What a heat map draws, within the bounds that its axis has; `undefined` if there is nothing. */
export function heatCells(frames: readonly Frame[], options: Record<string, unknown>): HeatCells | undefined {
  const cells = allCells(frames, options);
  return cells && withinAxis(cells, part(options, "yAxis"));
}

function allCells(frames: readonly Frame[], options: Record<string, unknown>): HeatCells | undefined {
  const series = frames.flatMap((frame) => {
    const time = timeOf(frame);
    return time ? frame.fields.filter(({ type }) => type === "number").map((field) => ({ field, time })) : [];
  });
  if (series.length === 0) return undefined;
  const cells = frames.find(({ meta }) => meta?.type === "heatmap-cells");
  if (cells) return ready(cells);
  // The server has taken what is below each bound away already.
  if (frames.some(({ meta }) => meta?.type === "heatmap-rows")) return fromBuckets(series, options, false);
  return option(options, "calculate", false) ? counted(series, options) : fromBuckets(series, options, true);
}

/** Without the rows that lie beyond the ends of the axis. */
function withinAxis(cells: HeatCells, axis: Record<string, unknown>): HeatCells {
  const low = option(axis, "min", Number.NEGATIVE_INFINITY);
  const high = option(axis, "max", Number.POSITIVE_INFINITY);
  const isWithin = ({ from, to }: HeatRow) =>
    cells.layout === "unknown" ||
    ((to ?? Number.POSITIVE_INFINITY) > low && (from ?? Number.NEGATIVE_INFINITY) < high);
  return {
    ...cells,
    rows: cells.rows.filter(isWithin),
    values: cells.values.filter((_, row) => isWithin(cells.rows[row]!)),
  };
}

export type Timed = { field: Field; time: Field };

/** The bound that a bucket has from its label or its name. */
function boundOf(field: Field): number | undefined {
  const text = field.labels?.le ?? field.labels?.ge ?? nameOf(field);
  if (/^[+-]?Inf(inity)?$/.test(text))
    return text.startsWith("-") ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
  const number = Number(text);
  return text.trim() !== "" && !Number.isNaN(number) ? number : undefined;
}

/** Which bound of a bucket names it: what the panel says, or what the buckets themselves do. */
function layoutOf(
  bounded: readonly { field: Field; bound: number | undefined }[],
  options: Record<string, unknown>,
): HeatLayout {
  const asked = option(part(options, "rowsFrame"), "layout", "auto");
  if (asked === "unknown" || bounded.some(({ bound }) => bound === undefined)) return "unknown";
  if (asked === "le" || asked === "ge") return asked;
  const isLabelled = bounded.every(({ field }) => field.labels?.le === undefined && field.labels?.ge);
  // Only what has no end below begins there.
  return isLabelled || bounded.some(({ bound }) => bound === Number.NEGATIVE_INFINITY) ? "ge" : "le";
}

function fromBuckets(
  series: readonly Timed[],
  options: Record<string, unknown>,
  mayBeCumulative: boolean,
): HeatCells {
  const bounded = series.map((one) => ({ ...one, bound: boundOf(one.field) }));
  const layout = layoutOf(bounded, options);
  if (layout !== "unknown") bounded.sort((a, b) => (a.bound! < b.bound! ? -1 : Number(a.bound! > b.bound!)));
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
      ...boundsAt(bound, bounded[index - 1]?.bound, bounded[index + 1]?.bound, layout),
    })),
    layout,
    values: mayBeCumulative && layout === "le" && isCumulative(values) ? differences(values) : values,
    field: series[0]!.field,
  };
}

function boundsAt(
  bound: number | undefined,
  below: number | undefined,
  above: number | undefined,
  layout: HeatLayout,
): { from?: number; to?: number } {
  if (layout === "unknown") return {};
  return layout === "le"
    ? { from: below, to: bound }
    : { from: bound, to: above ?? Number.POSITIVE_INFINITY };
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
    layout: "le",
    values,
    field: y,
  };
}
