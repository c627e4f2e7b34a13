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

/** What a table takes to be sorted as the parameter `sort` says. */
export function addressSorting(usual?: Sorting): {
  sorting: Sorting | undefined;
  onSort: (to: Sorting) => void;
} {
  return {
    sorting: readSorting(param("sort")) ?? usual,
    onSort: (to) => setParams({ sort: writeSorting(to) }, { replace: true }),
  };
}
