/**
 * Tables within the cells of a table: rows that fold out below the row that they are of. All are rows of one
 * table, so that however many there are, only those in sight are in the document.
 */
import { Icon } from "../ui/icon";
import { cellKind } from "./cell";
import {
  type Cell,
  type Field,
  type Frame,
  framesIn,
  isFrame,
  isTrend,
  nameOf,
  part,
  rowsOf,
  textOf,
} from "./frame";
import { distinct } from "./series";
import { isTraceId, withLinks } from "./tracelinks";

/** A row as the table has it: one of its own, or one of a table within. */
export interface Item {
  /** The row of the outer frame. */
  row: number;
  /** The table within that it is of; none for the outer row itself. */
  inner?: Frame;
  /** Its row in that; `HEADING` for the names of the columns. */
  at: number;
}

export const HEADING = -1;

/** The width of the column with the buttons. */
export const FOLD_PIXELS = 32;

/** Whether a column's cells hold tables; a series in a cell is drawn in it. */
export function holdsTables(field: Field): boolean {
  if (field.type !== "frame" || cellKind(field).type === "sparkline") return false;
  return field.values.some((cell) => tablesIn(cell).length > 0);
}

function tablesIn(cell: Cell): Frame[] {
  const found = framesIn(cell);
  return isFrame(cell) ? found.filter((frame) => !isTrend(frame)) : found;
}

/** The tables within a row. */
export function tablesOf(fields: readonly Field[], row: number): Frame[] {
  return fields.flatMap((field) =>
    tablesIn(field.values[row])
      .filter((inner) => rowsOf(inner) > 0)
      .map((inner) => withLinks(ownNames(inner, field))),
  );
}

/** A name that was given to the column of the tables is not that of a column within them. */
function ownNames(inner: Frame, outer: Field): Frame {
  const given = outer.config?.displayNameFromDS;
  if (given === undefined) return inner;
  const fields = inner.fields.map((field) =>
    field.config?.displayNameFromDS === given
      ? { ...field, state: { ...field.state, displayName: field.name } }
      : field,
  );
  return { ...inner, fields };
}

/**
 * What each row is known by when a refresh has brought others: its trace, or the texts in it, or all of it
 * where it has none.
 */
export function rowKeys(frame: Frame): string[] {
  const plain = frame.fields.filter(({ type }) => type !== "frame");
  const ids = plain.filter(isTraceId);
  const named = plain.filter(({ type }) => type === "string");
  const by = ids.length > 0 ? ids : named.length > 0 ? named : plain;
  const keyOf = distinct();
  return Array.from({ length: rowsOf(frame) }, (_, row) =>
    keyOf(by.map(({ values }) => textOf(values[row])).join("\u0002")),
  );
}

/** Whether the dashboard wants all rows folded out. */
export function expandsAll(frame: Frame): boolean {
  return part(frame.meta, "custom").expandAllRows === true;
}

/** The rows of a table in their order, each with those that are folded out below it. */
export function itemsOf(
  rows: readonly number[],
  isOpen: (row: number) => boolean,
  tables: (row: number) => readonly Frame[],
): Item[] {
  const items: Item[] = [];
  for (const row of rows) {
    items.push({ row, at: 0 });
    if (!isOpen(row)) continue;
    for (const inner of tables(row)) {
      if (part(inner.meta, "custom").noHeader !== true) items.push({ row, inner, at: HEADING });
      for (let at = 0; at < rowsOf(inner); at += 1) items.push({ row, inner, at });
    }
  }
  return items;
}

interface FoldProps {
  /** The outer row's first cell. */
  of: Field | undefined;
  row: number;
  isOpen: boolean;
  onToggle: () => void;
}

/** What folds the rows of a row out, and in again. */
export function Fold({ of, row, isOpen, onToggle }: FoldProps) {
  const name = of === undefined ? String(row + 1) : `${nameOf(of)} ${textOf(of.values[row])}`;
  return (
    <button
      type="button"
      class="nested-fold"
      aria-expanded={isOpen}
      aria-label={`Rows of ${name}`}
      onClick={onToggle}
    >
      <Icon name={isOpen ? "down" : "right"} size={12} />
    </button>
  );
}
