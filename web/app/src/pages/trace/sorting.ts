/** How tables of a trace are sorted, in the address: a column, with a hyphen before it if the largest come first. */
import { param, setParams } from "../../frame/router";
import type { Sorting } from "../../ui/table";

/** The sorting of a table that has this parameter, and how a table changes it. */
export function sortingBy(name: string, otherwise?: Sorting) {
  const [, hyphen, column] = /^(-?)(\w+)$/.exec(param(name) ?? "") ?? [];
  const sorting = column ? { column, descending: hyphen === "-" } : otherwise;
  const onSort = (next: Sorting) =>
    setParams({ [name]: `${next.descending ? "-" : ""}${next.column}` }, { replace: true });
  return { sorting, onSort };
}
