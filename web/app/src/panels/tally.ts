/**
 * The few reducers that the page needs itself, over rows that a filter of the page has left. All others
 * are the server's.
 */
import { endsOf } from "../ui/ends";
import type { Cell } from "./frame";

export function tally(values: readonly Cell[], id: string): number | null {
  const numbers = values.filter(
    (value): value is number => typeof value === "number" && !Number.isNaN(value),
  );
  if (id === "count") return numbers.length;
  if (id === "countAll") return values.length;
  if (numbers.length === 0) return null;
  const sum = numbers.reduce((total, value) => total + value, 0);
  const [low, high] = endsOf(numbers)!;
  switch (id) {
    case "sum":
      return sum;
    case "mean":
      return sum / numbers.length;
    case "min":
      return low;
    case "max":
      return high;
    case "range":
      return high - low;
    case "first":
    case "firstNotNull":
      return numbers[0]!;
    case "last":
    case "lastNotNull":
      return numbers.at(-1)!;
    case "median": {
      const sorted = numbers.toSorted((a, b) => a - b);
      const middle = sorted.length >> 1;
      return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
    }
    default:
      return null;
  }
}
