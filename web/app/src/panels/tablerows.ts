/** Which rows of a table are shown, and in which order: those that pass the filters, by one or more columns. */
import { display, whole } from "./display";
import { type Field, type Frame, nameOf, rowsOf } from "./frame";
import { compareKeys, sortKey } from "./order";

export interface Sorting {
  name: string;
  isDescending: boolean;
}

/** The order that a dashboard gives a table: what is equal by a column is in the order of the next. */
export function givenSorting(options: Record<string, unknown>): Sorting[] {
  const list = Array.isArray(options.sortBy) ? options.sortBy : [];
  return list.flatMap((one: { displayName?: unknown; desc?: unknown } | null) =>
    typeof one?.displayName === "string" && one.displayName !== ""
      ? [{ name: one.displayName, isDescending: one.desc === true }]
      : [],
  );
}

/** What the cells of columns say, in small letters; written once for each row. */
export function rowTexts(): (field: Field, row: number) => string {
  const known = new Map<Field, { show: ReturnType<typeof display>; texts: (string | undefined)[] }>();
  return (field, row) => {
    let column = known.get(field);
    if (!column) {
      column = { show: display(field), texts: [] };
      known.set(field, column);
    }
    column.texts[row] ??= whole(column.show(field.values[row])).toLowerCase();
    return column.texts[row];
  };
}

/** Rows that pass the filters, in order. */
export function arrange(
  frame: Frame,
  fields: readonly Field[],
  sorting: readonly Sorting[],
  filters: Record<string, string>,
  textAt: (field: Field, row: number) => string,
): number[] {
  const wanted = fields.flatMap((field) => {
    const text = filters[nameOf(field)]?.toLowerCase();
    return text ? [{ field, text }] : [];
  });
  const rows = Array.from({ length: rowsOf(frame) }, (_, row) => row).filter((row) =>
    wanted.every(({ field, text }) => textAt(field, row).includes(text)),
  );
  const by = sorting.flatMap(({ name, isDescending }) => {
    const field = fields.find((one) => nameOf(one) === name);
    return field ? [{ keys: field.values.map(sortKey), sign: isDescending ? -1 : 1 }] : [];
  });
  if (by.length === 0) return rows;
  return rows.sort((a, b) => {
    for (const { keys, sign } of by) {
      const order = compareKeys(keys[a], keys[b], sign);
      if (order !== 0) return order;
    }
    return 0;
  });
}
