/** Bars of a bar chart: groups along one axis, values along the other, stacked if asked for. */
import { color, colorOfValue, seriesColor } from "./colors";
import { display, mappingOf, whole } from "./display";
import { type Cell, type Field, type Frame, isHiddenFrom, nameOf, numberOf, option, rowsOf } from "./frame";

export interface Bar {
  series: number;
  row: number;
  /** Where it begins and ends along the axis of values. */
  from: number;
  to: number;
  value: number;
  text: string;
  color: string;
}

export interface Bars {
  frame: Frame;
  /** The names of the groups. */
  names: string[];
  fields: Field[];
  groups: Bar[][];
  low: number;
  high: number;
  isStacked: boolean;
  isPercent: boolean;
  /** How many groups and series there are, drawn or not. */
  allGroups: number;
  allSeries: number;
}

/** Each bar is an element of its own: more than these are no picture, and keep the browser busy. */
const MOST_GROUPS = 2000;
const MOST_BARS = 5000;

/** What a bar chart draws of frames; `undefined` if there is nothing. */
export function barsOf(frames: readonly Frame[], options: Record<string, unknown>): Bars | undefined {
  const wanted = option(options, "xField", "");
  const frame = joined(frames, wanted);
  if (!frame) return undefined;
  const x = xField(frame, wanted);
  const drawable = frame.fields.filter(
    (field) => field !== x && field.type === "number" && !isHiddenFrom(field, "viz"),
  );
  if (drawable.length === 0) return undefined;
  const fields = drawable.slice(0, MOST_BARS);
  const allGroups = rowsOf(frame);
  const rows = Math.min(allGroups, MOST_GROUPS, Math.max(1, Math.floor(MOST_BARS / fields.length)));
  const show = x ? display(x) : undefined;
  const names = Array.from({ length: rows }, (_, row) =>
    x && show ? whole(show(x.values[row])) : String(row + 1),
  );
  const stacking = option(options, "stacking", "none");
  const isStacked = stacking === "normal" || stacking === "percent";
  const byField = frame.fields.find(
    (field) => nameOf(field) === options.colorByField || field.name === options.colorByField,
  );
  const paint = (field: Field, row: number, value: number) => {
    if (byField) return colorOfCell(byField, byField.values[row]);
    const mapped = mappingOf(field.config?.mappings, field.values[row])?.color;
    if (mapped) return color(mapped);
    return fields.length === 1 && isJudged(field) ? colorOfValue(field, value) : seriesColor(field);
  };
  const said = fields.map((field) => {
    const show = display(field);
    return (value: number) => whole(show(value));
  });
  const groups = names.map((_, row) => groupOf(fields, row, isStacked, stacking === "percent", said, paint));
  return {
    frame,
    names,
    fields,
    groups,
    ...bounds(fields, groups, stacking === "percent"),
    isStacked,
    isPercent: stacking === "percent",
    allGroups,
    allSeries: drawable.length,
  };
}

/**
 * Which groups have their name beside them: as many as have room, and no nearer than the panel says, counted
 * from the last where it says less than nothing.
 */
export function namedGroups(
  count: number,
  band: number,
  room: number,
  spacing: number,
): (row: number) => boolean {
  const every = Math.max(1, Math.ceil(Math.max(room, Math.abs(spacing)) / band));
  return (row) => (spacing < 0 ? count - 1 - row : row) % every === 0;
}

/** What is not drawn of bars, if anything is not. */
export function cutOf({ names, fields, allGroups, allSeries }: Bars): string | undefined {
  const cut = [
    ...(names.length < allGroups ? [`the first ${names.length} groups of ${allGroups}`] : []),
    ...(fields.length < allSeries ? [`the first ${fields.length} series of ${allSeries}`] : []),
  ];
  return cut.length === 0 ? undefined : `Shown are ${cut.join(" and ")}.`;
}

/** One table of all frames that have numbers: rows are joined by the field that names their groups. */
function joined(frames: readonly Frame[], wanted: string): Frame | undefined {
  const usable = frames.filter((one) => one.fields.some(({ type }) => type === "number"));
  const [first, ...others] = usable;
  const x = first && xField(first, wanted);
  if (!first || !x || others.length === 0) return first ?? frames[0];
  const names = [...new Set(usable.flatMap((one) => xField(one, wanted)?.values ?? []))];
  if (x.type === "time") names.sort((a, b) => Number(a) - Number(b));
  const groups = new Map(names.map((name, row) => [name, row]));
  const placed = (one: Frame, field: Field): Field => {
    const values: Cell[] = new Array(names.length).fill(null);
    for (const [row, value] of (xField(one, wanted)?.values ?? []).entries())
      values[groups.get(value)!] = field.values[row]!;
    return { ...field, values };
  };
  const fields = usable.flatMap((one) => {
    const own = xField(one, wanted);
    return one.fields.filter((field) => field !== own).map((field) => placed(one, field));
  });
  return { ...first, fields: [{ ...x, values: names }, ...fields] };
}

function isJudged(field: Field): boolean {
  const mode = field.config?.color?.mode ?? "";
  return mode === "thresholds" || mode.startsWith("continuous-");
}

function colorOfCell(field: Field, cell: Cell): string {
  const shown = display(field)(cell);
  return shown.isJudged
    ? shown.color
    : field.type === "number"
      ? colorOfValue(field, numberOf(cell))
      : color(shown.color);
}

function xField(frame: Frame, wanted: string): Field | undefined {
  return (
    frame.fields.find((field) => wanted !== "" && (nameOf(field) === wanted || field.name === wanted)) ??
    frame.fields.find(({ type }) => type === "string" || type === "enum") ??
    frame.fields.find(({ type }) => type === "time")
  );
}

function groupOf(
  fields: readonly Field[],
  row: number,
  isStacked: boolean,
  isPercent: boolean,
  said: readonly ((value: number) => string)[],
  paint: (field: Field, row: number, value: number) => string,
): Bar[] {
  const values = fields.map((field) => numberOf(field.values[row]));
  const total = values.reduce<number>((sum, value) => sum + Math.abs(value ?? 0), 0);
  let [above, below] = [0, 0];
  return fields.flatMap((field, series) => {
    const value = values[series];
    if (value === null || value === undefined || !Number.isFinite(value)) return [];
    const length = isPercent ? (total > 0 ? value / total : 0) : value;
    const from = isStacked ? (length >= 0 ? above : below) : 0;
    if (length >= 0) above += length;
    else below += length;
    return [
      {
        series,
        row,
        from,
        to: from + length,
        value,
        text: said[series]!(value),
        color: paint(field, row, value),
      },
    ];
  });
}

function bounds(
  fields: readonly Field[],
  groups: readonly Bar[][],
  isPercent: boolean,
): { low: number; high: number } {
  let [low, high] = [0, 0];
  for (const group of groups) {
    for (const bar of group) {
      low = Math.min(low, bar.to);
      high = Math.max(high, bar.to);
    }
  }
  if (isPercent) return { low: low < 0 ? -1 : 0, high: 1 };
  const min = fields.map(({ config }) => config?.min).find((one) => typeof one === "number");
  const max = fields.map(({ config }) => config?.max).find((one) => typeof one === "number");
  const top = max ?? high + (high - low) * 0.06;
  return { low: min ?? low, high: top > (min ?? low) ? top : (min ?? low) + 1 };
}
