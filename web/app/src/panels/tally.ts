/**
 * Reducers, for the rows of a table that a filter of the page has left. All others are the server's; these are
 * the same, with the same results (`crates/dash/src/reduce`).
 */
import { endsOf } from "../ui/ends";
import { type Cell, textOf } from "./frame";

/** What a reducer makes of cells; `null` where there is nothing to say. */
export function tally(values: readonly Cell[], id: string): Cell {
  const given = values.filter((value) => value !== null && value !== undefined);
  const there = given.filter((value) => !Number.isNaN(value));
  switch (id) {
    case "count":
      return given.length;
    case "countAll":
      return values.length;
    case "last":
      return values.at(-1) ?? null;
    case "first":
      return values[0] ?? null;
    case "lastNotNull":
    case "current":
      return there.at(-1) ?? null;
    case "firstNotNull":
      return there[0] ?? null;
    case "changeCount":
      return given.filter((value, at) => at > 0 && keyOf(value) !== keyOf(given[at - 1])).length;
    case "distinctCount":
      return unique(given).length;
    case "allIsNull":
      return there.length === 0;
    case "allIsZero":
      return there.length > 0 && there.every((value) => value === 0);
    case "allValues":
      return [...values];
    case "uniqueValues":
      return unique(values);
    default:
      return ofNumbers(
        given.filter((value): value is number => typeof value === "number"),
        values.length === 0,
        id,
      );
  }
}

function ofNumbers(given: readonly number[], isEmpty: boolean, id: string): number | null {
  const numbers = given.filter((value) => !Number.isNaN(value));
  switch (id) {
    case "sum":
    case "total":
      return sumOf(numbers);
    case "variance":
      // One that is no number makes it none, as on the server.
      return isEmpty ? null : variance(given);
    case "stdDev":
      return isEmpty ? null : Math.sqrt(variance(given));
    case "delta":
      return isEmpty ? null : delta(numbers);
    case "diffperc":
      if (isEmpty) return null;
      return numbers.length === 0 ? 0 : ((numbers.at(-1)! - numbers[0]!) / numbers[0]!) * 100;
  }
  if (numbers.length === 0) return null;
  const [low, high] = endsOf(numbers)!;
  switch (id) {
    case "mean":
    case "avg":
      return sumOf(numbers) / numbers.length;
    case "min":
      return low;
    case "max":
      return high;
    case "range":
      return high - low;
    case "diff":
      return numbers.at(-1)! - numbers[0]!;
    case "step":
      return endsOf(numbers.slice(1).map((value, at) => value - numbers[at]!))?.[0] ?? null;
    case "logmin":
      return endsOf(numbers.filter((value) => value > 0))?.[0] ?? null;
    default:
      return ofSorted(
        numbers.toSorted((a, b) => a - b),
        id,
      );
  }
}

/** What needs the numbers in order: the median, and percentiles from `p1` to `p99`. */
function ofSorted(sorted: readonly number[], id: string): number | null {
  if (id === "median") {
    const middle = sorted.length >> 1;
    return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
  }
  const percentile = /^p([1-9]\d?)$/.exec(id)?.[1];
  if (percentile === undefined) return null;
  return sorted[Math.floor((sorted.length - 1) * (Number(percentile) / 100) + 0.5)]!;
}

function sumOf(numbers: readonly number[]): number {
  return numbers.reduce((total, value) => total + value, 0);
}

/** By Welford's method, which is exact for values that are large and close. */
function variance(numbers: readonly number[]): number {
  let [mean, squares] = [0, 0];
  for (const [at, number] of numbers.entries()) {
    const distance = number - mean;
    mean += distance / (at + 1);
    squares += distance * (number - mean);
  }
  return numbers.length > 0 ? squares / numbers.length : 0;
}

/** The sum of increases. What follows a decrease is measured from there, as a counter that began anew. */
function delta(numbers: readonly number[]): number {
  let [sum, isIncreasing] = [0, true];
  for (let at = 1; at < numbers.length; at += 1) {
    const step = numbers[at]! - numbers[at - 1]!;
    if (step >= 0 && isIncreasing) sum += step;
    isIncreasing = step >= 0;
  }
  return sum;
}

function unique(values: readonly Cell[]): Cell[] {
  const found = new Map<string, Cell>();
  for (const value of values) if (!found.has(keyOf(value))) found.set(keyOf(value), value ?? null);
  return [...found.values()];
}

function keyOf(value: Cell): string {
  return `${typeof value} ${textOf(value)}`;
}

const WITHOUT_UNIT = new Set([
  "count",
  "countAll",
  "allIsNull",
  "allIsZero",
  "changeCount",
  "distinctCount",
  "diffperc",
  "allValues",
  "uniqueValues",
]);

/** Whether a result is written in the unit of the values. */
export function keepsUnit(id: string): boolean {
  return !WITHOUT_UNIT.has(id);
}
