/** The order of a table in the address: a column, with `-` before it for the greatest first. */
import { param, setParams } from "../frame/router";
import type { Sorting } from "./table";

/** An order as it is written; `undefined` if it is none. */
export function readSorting(text: string | undefined): Sorting | undefined {
  if (!text) return undefined;
  return { column: text.replace(/^-/, ""), descending: text.startsWith("-") };
}

/** How an order is written. */
export function writeSorting({ column, descending }: Sorting): string {
  return `${descending ? "-" : ""}${column}`;
}

/**
 * What a table takes to be sorted as a parameter says: `sort`, or one of its own where several tables are on a
 * page.
 */
export function addressSorting(
  usual?: Sorting,
  name = "sort",
): {
  sorting: Sorting | undefined;
  onSort: (to: Sorting) => void;
} {
  return {
    sorting: readSorting(param(name)) ?? usual,
    onSort: (to) => setParams({ [name]: writeSorting(to) }, { replace: true }),
  };
}
