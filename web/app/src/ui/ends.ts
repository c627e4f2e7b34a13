/** The ends of numbers, however many: as arguments of `Math.max` there may only be so many. */

/** The least and the greatest of numbers; `undefined` of none. */
export function endsOf(values: readonly number[]): [low: number, high: number] | undefined {
  if (values.length === 0) return undefined;
  let [low, high] = [values[0]!, values[0]!];
  for (const value of values) {
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return [low, high];
}

/** The greatest of numbers, and no less than `floor`. */
export function highest(values: Iterable<number>, floor: number): number {
  let high = floor;
  for (const value of values) if (value > high) high = value;
  return high;
}

/** The least of numbers, and no more than `ceiling`. */
export function lowest(values: Iterable<number>, ceiling: number): number {
  let low = ceiling;
  for (const value of values) if (value < low) low = value;
  return low;
}
