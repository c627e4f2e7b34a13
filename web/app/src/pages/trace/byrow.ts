/** Things that belong to rows (stretches of the critical path, events), found by row without a search. */

/** For each row the places of its things in their list: those from `from[row]` to `from[row + 1]`. */
export interface ByRow {
  from: Uint32Array;
  places: Uint32Array;
}

/** Sorts things by the row each belongs to; those of no row (-1) are left out. The order among them stays. */
export function byRow(rowOf: ArrayLike<number>, rows: number): ByRow {
  const from = new Uint32Array(rows + 1);
  for (let at = 0; at < rowOf.length; at += 1) {
    const row = rowOf[at]!;
    if (row >= 0 && row < rows) from[row + 1]! += 1;
  }
  for (let row = 0; row < rows; row += 1) from[row + 1]! += from[row]!;
  const places = new Uint32Array(from[rows]!);
  const next = from.slice(0, rows);
  for (let at = 0; at < rowOf.length; at += 1) {
    const row = rowOf[at]!;
    if (row < 0 || row >= rows) continue;
    places[next[row]!] = at;
    next[row]! += 1;
  }
  return { from, places };
}
