/**
 * Series over one axis of time: frames are joined, gaps are made where a series has none of its points,
 * values are turned, stacked and summed as their fields ask for.
 */
import uPlot from "uplot";
import { type Exemplar, exemplarsOf, withoutExemplars } from "./exemplars";
import { customOf, type Field, type Frame, isHiddenFrom, nameOf, option, part, timeOf } from "./frame";

export interface Series {
  /** What it is called among the others, also when one of them comes or goes. */
  key: string;
  field: Field;
  frame: Frame;
  /** Values as they are, after `negative-Y` and `constant`. `undefined` where others have a point and this has not. */
  values: (number | null | undefined)[];
  /** Values as they are drawn: stacked. */
  drawn: (number | null | undefined)[];
  /** The series before it in its stack: the one below, or above it in a stack that goes down. */
  below?: number;
  /** Whether its stack goes down from zero. */
  isDown?: boolean;
}

export interface Joined {
  /** Milliseconds. */
  times: number[];
  series: Series[];
  exemplars: Exemplar[];
}

/** Joins the numbers of all frames that have a time. Those that are hidden take no room in a stack. */
export function joinSeries(frames: readonly Frame[], hidden: ReadonlySet<string> = new Set()): Joined {
  const usable = withoutExemplars(frames).filter((frame) => timeOf(frame) && frame.fields.some(isDrawn));
  const tables: uPlot.AlignedData[] = [];
  const series: Series[] = [];
  const keyOf = distinct();
  for (const frame of usable) {
    const fields = frame.fields.filter(isDrawn);
    const { times, columns } = withGaps(frame, fields);
    tables.push([times, ...columns] as uPlot.AlignedData);
    for (const [at, field] of fields.entries()) {
      series.push({ key: keyOf(nameOf(field)), field, frame, values: columns[at]!, drawn: columns[at]! });
    }
  }
  const times = align(tables, series);
  for (const one of series) {
    if (customOf(one.field).transform === "constant") one.values = constant(one.values);
    one.drawn = one.values;
  }
  return { times, series: stacked(times.length, series, hidden), exemplars: exemplarsOf(frames) };
}

/** Gives names back that are different: what is called as one before it gets a number. */
export function distinct(): (name: string) => string {
  const counts = new Map<string, number>();
  return (name) => {
    const count = (counts.get(name) ?? 0) + 1;
    counts.set(name, count);
    return count === 1 ? name : `${name}\u0001${count}`;
  };
}

function isDrawn(field: Field): boolean {
  return (field.type === "number" || field.type === "boolean") && !isHiddenFrom(field, "viz");
}

/** Puts all columns over the same times. */
function align(tables: uPlot.AlignedData[], series: Series[]): number[] {
  const first = tables[0]?.[0] as number[] | undefined;
  if (!first) return [];
  const areSame = tables.every(([times]) => isSame(times as number[], first));
  if (areSame) return first;
  const joined = uPlot.join(tables);
  for (const [at, one] of series.entries()) one.values = joined[at + 1] as (number | null | undefined)[];
  return joined[0] as number[];
}

function isSame(left: readonly number[], right: readonly number[]): boolean {
  return left === right || (left.length === right.length && left.every((time, at) => time === right[at]));
}

type Column = (number | null | undefined)[];

/** Columns of one frame in order of time, with nulls where no point came for too long. */
function withGaps(frame: Frame, fields: readonly Field[]): { times: number[]; columns: Column[] } {
  const time = timeOf(frame)!;
  const given = time.values as number[];
  const order = sortedRows(given);
  const limit = gapMillis(time, fields);
  const times: number[] = [];
  const columns: Column[] = fields.map(() => []);
  let before: number | undefined;
  for (const row of order) {
    const at = given[row]!;
    if (before !== undefined && limit !== undefined && at - before > limit) {
      times.push(before + limit / 2);
      for (const column of columns) column.push(null);
    }
    times.push(at);
    for (const [which, field] of fields.entries()) columns[which]!.push(drawnValue(field, row));
    before = at;
  }
  return { times, columns };
}

/** The rows that have a time, in its order. */
export function sortedRows(times: readonly number[]): number[] {
  const rows = times.flatMap((time, row) => (typeof time === "number" && Number.isFinite(time) ? [row] : []));
  const isSorted = rows.every((row, at) => at === 0 || times[rows[at - 1]!]! <= times[row]!);
  return isSorted ? rows : rows.sort((a, b) => times[a]! - times[b]!);
}

/** From which distance on two points are not connected. */
export function gapMillis(time: Field, fields: readonly Field[]): number | undefined {
  const insert = customOf(fields[0]).insertNulls;
  if (typeof insert === "number" && insert > 0) return insert;
  // A point may be late by a part of the interval it is due in.
  return time.config?.interval ? time.config.interval * 1.5 : undefined;
}

function drawnValue(field: Field, row: number): number | null {
  const cell = field.values[row];
  const value = typeof cell === "boolean" ? Number(cell) : cell;
  if (typeof value !== "number" || !Number.isFinite(value)) return null;
  return customOf(field).transform === "negative-Y" ? -value : value;
}

/** The first value everywhere. */
function constant(values: Series["values"]): Series["values"] {
  const first = values.find((value) => typeof value === "number") ?? null;
  return values.map(() => first);
}

/** Stacks those that ask for it, by group; positive and negative values go opposite ways. */
function stacked(length: number, series: Series[], hidden: ReadonlySet<string>): Series[] {
  const groups = new Map<string, number[]>();
  for (const [at, { field, key }] of series.entries()) {
    if (hidden.has(key)) continue;
    const stacking = part(customOf(field), "stacking");
    const mode = option(stacking, "mode", "none");
    if (mode === "none") continue;
    const style = option(customOf(field), "drawStyle", "line");
    series[at]!.isDown = goesDown(series[at]!);
    const way = series[at]!.isDown ? "down" : "up";
    const group = [mode, String(stacking.group ?? "A"), style, way].join("\u0001");
    groups.set(group, [...(groups.get(group) ?? []), at]);
  }
  for (const [group, members] of groups) stackGroup(length, series, members, group.startsWith("percent"));
  return series;
}

/** One that is turned goes down, unless it has values that this turns up; any other goes the other way. */
function goesDown({ field, values }: Series): boolean {
  const isTurned = customOf(field).transform === "negative-Y";
  const hasOther = values.some((value) => typeof value === "number" && (isTurned ? value > 0 : value < 0));
  return isTurned !== hasOther;
}

function stackGroup(length: number, series: Series[], members: number[], isPercent: boolean): void {
  const totals = new Float64Array(length);
  if (isPercent) {
    for (const at of members) {
      for (let row = 0; row < length; row += 1) totals[row]! += Math.abs(series[at]!.values[row] ?? 0);
    }
  }
  const sums = new Float64Array(length);
  // Where none of them has anything there is a gap, and not a fall to zero.
  const isThere = Array.from({ length }, (_, row) =>
    members.some((at) => typeof series[at]!.values[row] === "number"),
  );
  let below: number | undefined;
  for (const at of members) {
    const one = series[at]!;
    one.drawn = one.values.map((value, row) => {
      if (!isThere[row]) return value;
      // Where this has nothing, the stack goes on without it, so that those above do not break.
      const part = isPercent ? (totals[row]! > 0 ? (value ?? 0) / totals[row]! : 0) : (value ?? 0);
      sums[row]! += part;
      return sums[row]!;
    });
    one.below = below;
    below = at;
  }
}

/** Two series between which is filled, by their places. */
export interface Band {
  from: number;
  to: number;
  /** Whether `to` lies above. */
  isUpwards: boolean;
}

/** Where is filled between series: those of a stack, and those that a field names itself. */
export function bandsOf(series: readonly Series[]): Band[] {
  return series.flatMap(({ field, below, isDown = false }, from): Band[] => {
    const wanted = option(customOf(field), "fillBelowTo", "");
    const named = series.findIndex(
      (one, other) =>
        wanted !== "" &&
        other !== from &&
        [nameOf(one.field), one.field.config?.displayNameFromDS, one.field.name].includes(wanted),
    );
    if (named >= 0) return [{ from, to: named, isUpwards: false }];
    return below === undefined ? [] : [{ from, to: below, isUpwards: isDown }];
  });
}

/** Whether series are shown as parts of a whole. */
export function isPercentStacked(series: readonly Series[]): boolean {
  return series.some(({ field }) => option(part(customOf(field), "stacking"), "mode", "none") === "percent");
}
