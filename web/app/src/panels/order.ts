/** Which of two cells stands before the other, for tables and legends. */
import { type Cell, textOf } from "./frame";

/** Made once: texts that are compared with options of their own take twenty times as long. */
const collator = new Intl.Collator(undefined, { numeric: true });

/** Texts in the order of the reader's language, numbers within them by their size. */
export function compareTexts(left: string, right: string): number {
  return collator.compare(left, right);
}

/** A cell as it is compared: a number, a text, or nothing. */
type Key = number | string | undefined;

/** Cells of one column as they are compared; made once for each, not for each comparison. */
export function sortKey(cell: Cell): Key {
  if (cell === null || cell === undefined || Number.isNaN(cell)) return undefined;
  return typeof cell === "number" ? cell : textOf(cell);
}

/** What has no value is last in either order. */
export function compareKeys(left: Key, right: Key, sign: number): number {
  if (left === undefined || right === undefined)
    return Number(right !== undefined) - Number(left !== undefined);
  if (typeof left === "number" && typeof right === "number") return sign * (left - right || 0);
  return sign * compareTexts(String(left), String(right));
}
