/**
 * The values that stat, gauge, bar gauge and pie chart show: one for each series, reduced by the server, or
 * one for each row of a table.
 */
import { display, patternOf, type Shown, whole } from "./display";
import {
  type Cell,
  type Field,
  type Frame,
  isHiddenFrom,
  nameOf,
  numberOf,
  option,
  part,
  texts,
  timeOf,
} from "./frame";
import { calcOf } from "./legend";
import { type Link, linksOf } from "./links";

export interface Reduced {
  key: string;
  name: string;
  field: Field;
  frame: Frame;
  cell: Cell;
  shown: Shown;
  /** The series it stands for, over time. */
  trend?: { times: readonly number[]; values: readonly (number | null)[] };
  links: Link[];
}

const MOST_VALUES = 500;

/** What the options of a panel choose from its frames. */
export function reduce(frames: readonly Frame[], options: Record<string, unknown>): Reduced[] {
  const reducing = part(options, "reduceOptions");
  const isSelected = selector(option(reducing, "fields", ""));
  const most = typeof reducing.limit === "number" ? Math.min(reducing.limit, MOST_VALUES) : MOST_VALUES;
  const calc = texts(reducing, "calcs")[0] ?? "lastNotNull";
  const isEach = option(reducing, "values", false);
  const found: Reduced[] = [];
  for (const frame of frames) {
    const fields = frame.fields.filter((field) => isSelected(field) && !isHiddenFrom(field, "viz"));
    // Without times a frame is a table, of which every row counts.
    if (isEach || (isTable(frame) && !hasCalcs(fields))) found.push(...eachRow(frame, fields));
    else found.push(...fields.map((field) => one(frame, field, calc)));
  }
  return found.slice(0, most);
}

function hasCalcs(fields: readonly Field[]): boolean {
  return fields.some(({ state }) => state?.calcs !== undefined);
}

function isTable(frame: Frame): boolean {
  return timeOf(frame) === undefined && frame.fields.some(({ type }) => type === "string");
}

function selector(fields: string): (field: Field) => boolean {
  if (fields === "") return ({ type }) => type === "number";
  const pattern = fields.startsWith("/") ? patternOf(fields) : undefined;
  return (field) =>
    pattern
      ? pattern.test(nameOf(field)) || pattern.test(field.name)
      : nameOf(field) === fields || field.name === fields;
}

function one(frame: Frame, field: Field, calc: string): Reduced {
  const known = calcOf(field, calc);
  const cell = known === undefined ? lastOf(field) : known;
  const times = timeOf(frame)?.values as number[] | undefined;
  return {
    key: `${frame.refId ?? ""} ${nameOf(field)} ${JSON.stringify(field.labels ?? {})}`,
    name: nameOf(field),
    field,
    frame,
    cell,
    shown: display(field)(cell),
    trend: times && field.type === "number" ? { times, values: field.values.map(numberOf) } : undefined,
    links: linksOf(frame, field, field.values.length - 1),
  };
}

/** The last value that is one, where the server has not said. */
function lastOf(field: Field): Cell {
  return (
    field.values.findLast((value) => value !== null && value !== undefined && !Number.isNaN(value)) ?? null
  );
}

function eachRow(frame: Frame, fields: readonly Field[]): Reduced[] {
  const names = frame.fields.filter(({ type }) => type === "string");
  const rows = Math.min(frame.fields[0]?.values.length ?? 0, MOST_VALUES);
  const shows = fields.map(display);
  const found: Reduced[] = [];
  for (let row = 0; row < rows; row += 1) {
    for (const [at, field] of fields.entries()) {
      const cell = field.values[row];
      found.push({
        key: `${frame.refId ?? ""} ${row} ${at}`,
        name: rowName(names, field, row, fields.length),
        field,
        frame,
        cell,
        shown: shows[at]!(cell),
        links: linksOf(frame, field, row),
      });
    }
  }
  return found;
}

function rowName(names: readonly Field[], field: Field, row: number, fieldCount: number): string {
  const words = names.filter((name) => name !== field).map((name) => whole(display(name)(name.values[row])));
  if (words.length === 0) return nameOf(field);
  return fieldCount > 1 ? `${words.join(" ")} ${nameOf(field)}` : words.join(" ");
}
