/** Which rows of a trace are folded, as it stands in the address: a few by their spans' ids, or all. */
import { rowsOfSpans, spanId } from "./columns";
import type { Rows } from "./rows";

/** Ids that an address has: each is 17 letters, and some programs cut addresses of more than 2,000. */
const MOST_FOLDED = 40;
const ALL = "all";

/** For the address; `undefined` if nothing is folded, or more than can be said there. */
export function writeFolds(rows: Rows): string | undefined {
  const { folded, trace } = rows;
  const few: number[] = [];
  let [count, all] = [0, 0];
  for (let row = 0; row < trace.spans; row += 1) {
    if (!rows.hasChildren(row)) continue;
    all += 1;
    if (folded[row] === 0) continue;
    count += 1;
    if (count <= MOST_FOLDED) few.push(row);
  }
  if (count === 0) return undefined;
  if (count <= MOST_FOLDED) return few.map((row) => spanId(trace, row)).join(",");
  return count === all ? ALL : undefined;
}

/** Folds what the address says, and nothing else. */
export function readFolds(rows: Rows, text: string | undefined): void {
  if (text === ALL) rows.foldAll(true);
  else rows.foldOnly(rowsOfSpans(rows.trace, (text ?? "").split(",")).values());
}
