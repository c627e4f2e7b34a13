/** Columns that tables of runs and sessions have in common: names, and numbers that may be missing. */
import type { Column } from "../../ui/table";

/** A column of numbers; a dash where there is none. */
export function figure<Row>(
  id: string,
  title: string,
  value: (row: Row) => number | null,
  show: (value: number) => string,
  width = "96px",
): Column<Row> {
  return {
    id,
    title,
    width,
    align: "right",
    value: (row) => value(row) ?? undefined,
    render: (row) => {
      const known = value(row);
      return known === null ? <span class="muted">–</span> : show(known);
    },
  };
}

/** A column of texts, as much of them as there is room for. */
export function words<Row>(
  id: string,
  title: string,
  width: string,
  text: (row: Row) => string | null,
): Column<Row> {
  return {
    id,
    title,
    width,
    value: (row) => text(row) ?? "",
    render: (row) => <span class="ellipsis">{text(row)}</span>,
  };
}
