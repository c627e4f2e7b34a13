/**
 * Columns that tables of runs and sessions have in common: names, numbers that may be missing, and what two
 * sides have of a job.
 */
import type { ComponentChildren } from "preact";
import type { Column } from "../../ui/table";
import { Delta } from "./bits";

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

/** A job of two sides, or of one of them. */
interface Pair<Side> {
  job: string;
  a: Side | null;
  b: Side | null;
  delta_seconds: number | null;
}

/** The columns of such jobs: how long either side took, and how much longer the second did. */
export function pairColumns<Side, Row extends Pair<Side>>(
  titles: { a: string; b: string },
  seconds: (side: Side) => number | null,
  show: (side: Side) => ComponentChildren,
): Column<Row>[] {
  const side = (which: "a" | "b"): Column<Row> => ({
    id: which,
    title: titles[which],
    width: "170px",
    align: "right",
    value: ({ [which]: of }) => (of === null ? undefined : (seconds(of) ?? undefined)),
    render: ({ [which]: of }) => (of === null ? <span class="muted">not there</span> : show(of)),
  });
  return [
    words("job", "Job", "minmax(200px, 2fr)", ({ job }) => job),
    side("a"),
    side("b"),
    {
      id: "delta",
      title: "B longer by",
      width: "110px",
      align: "right",
      value: (pair) => pair.delta_seconds ?? undefined,
      render: (pair) => <Delta value={pair.delta_seconds} />,
    },
  ];
}
