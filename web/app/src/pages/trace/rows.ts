/**
 * Which rows of a trace are shown: what is folded, what is filtered, which subtree is looked at. The rows
 * shown are an ascending list of numbers, made again in one pass when something changes; the place of a
 * row is found by halving. Nothing here is per frame.
 */
import type { Trace } from "./columns";

export class Rows {
  /** One where the children of a row are hidden. */
  readonly folded: Uint8Array;
  /** The rows shown, in order; only the first `count` count. */
  private readonly list: Uint32Array;
  count = 0;
  /** One for rows that match a filter, two for those above them; `undefined` without a filter. */
  private mask: Uint8Array | undefined;
  /** The row whose subtree is shown alone; -1 for all. */
  private top = -1;

  constructor(readonly trace: Trace) {
    this.folded = new Uint8Array(trace.spans);
    this.list = new Uint32Array(trace.spans);
    this.rebuild();
  }

  /** The row at a place among those shown. */
  at(index: number): number {
    return index >= 0 && index < this.count ? this.list[index]! : -1;
  }

  /** The place of a row among those shown, or -1. */
  indexOf(row: number): number {
    const index = this.lowerBound(row);
    return index < this.count && this.list[index] === row ? index : -1;
  }

  /** The place of the first row shown that is not before this one. */
  lowerBound(row: number): number {
    let [low, high] = [0, this.count];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.list[middle]! < row) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Whether a row is shown only because one below it matches the filter. */
  isContext(row: number): boolean {
    return this.mask?.[row] === 2;
  }

  /** Whether neither the filter nor the subtree that is shown alone hides a row; it may be folded away. */
  letsThrough(row: number): boolean {
    const isWithin = this.top < 0 || (row >= this.top && row < this.top + this.trace.subtree[this.top]!);
    return isWithin && this.mask?.[row] !== 0;
  }

  get isFiltered(): boolean {
    return this.mask !== undefined;
  }

  get isolated(): number {
    return this.top;
  }

  /** Shows only the rows that fit, and those above them; `undefined` shows all. */
  filter(fits: ((row: number) => boolean) | undefined): void {
    this.mask = fits ? maskOf(this.trace, fits) : undefined;
    this.rebuild();
  }

  /** Shows one subtree; -1 shows all. */
  isolate(row: number): void {
    this.top = row;
    if (row >= 0) this.folded[row] = 0;
    this.rebuild();
  }

  hasChildren(row: number): boolean {
    return this.trace.subtree[row]! > 1;
  }

  fold(row: number, isFolded: boolean): void {
    if (!this.hasChildren(row)) return;
    this.folded[row] = isFolded ? 1 : 0;
    this.rebuild();
  }

  toggle(row: number): void {
    this.fold(row, this.folded[row] === 0);
  }

  foldAll(isFolded: boolean): void {
    if (isFolded)
      for (let row = 0; row < this.trace.spans; row += 1) this.folded[row] = this.hasChildren(row) ? 1 : 0;
    else this.folded.fill(0);
    this.rebuild();
  }

  /** Folds these rows, and opens all others. */
  foldOnly(rows: Iterable<number>): void {
    this.folded.fill(0);
    for (const row of rows) if (this.hasChildren(row)) this.folded[row] = 1;
    this.rebuild();
  }

  /** Opens the folded rows shown that are least deep, or folds the open ones that are deepest. */
  foldLevel(isFolded: boolean): void {
    const { depth } = this.trace;
    let level = isFolded ? -1 : Number.POSITIVE_INFINITY;
    for (let index = 0; index < this.count; index += 1) {
      const row = this.list[index]!;
      if (!this.hasChildren(row) || (this.folded[row] === 1) === isFolded) continue;
      level = isFolded ? Math.max(level, depth[row]!) : Math.min(level, depth[row]!);
    }
    for (let index = 0; index < this.count; index += 1) {
      const row = this.list[index]!;
      if (depth[row] === level && this.hasChildren(row)) this.folded[row] = isFolded ? 1 : 0;
    }
    this.rebuild();
  }

  /** Opens whatever hides a row. Whether it is shown now. */
  reveal(row: number): boolean {
    let changed = false;
    for (let above = this.trace.parent[row]!; above >= 0; above = this.trace.parent[above]!) {
      if (this.folded[above] === 0) continue;
      this.folded[above] = 0;
      changed = true;
    }
    if (changed) this.rebuild();
    return this.indexOf(row) >= 0;
  }

  private rebuild(): void {
    const { folded, list, mask, top } = this;
    const { subtree, spans } = this.trace;
    const end = top >= 0 ? top + subtree[top]! : spans;
    let count = 0;
    let row = Math.max(0, top);
    while (row < end) {
      if (mask !== undefined && mask[row] === 0) {
        // Nothing below matches either, or the row would be context.
        row += subtree[row]!;
        continue;
      }
      list[count] = row;
      count += 1;
      row += folded[row] === 1 ? subtree[row]! : 1;
    }
    this.count = count;
  }
}

function maskOf({ spans, parent }: Trace, fits: (row: number) => boolean): Uint8Array {
  const mask = new Uint8Array(spans);
  for (let row = 0; row < spans; row += 1) {
    if (!fits(row)) continue;
    mask[row] = 1;
    for (let above = parent[row]!; above >= 0 && mask[above] === 0; above = parent[above]!) mask[above] = 2;
  }
  return mask;
}

/** The folds of one trace as they were, in a newer version of it: spans are known by their ids. */
export function carryFolds(before: Rows, after: Rows): void {
  const folded = new Set<bigint>();
  const old = new DataView(before.trace.id.buffer, before.trace.id.byteOffset, before.trace.id.byteLength);
  for (let row = 0; row < before.trace.spans; row += 1) {
    if (before.folded[row] === 1) folded.add(old.getBigUint64(row * 8));
  }
  if (folded.size === 0) return;
  const { id, spans } = after.trace;
  const view = new DataView(id.buffer, id.byteOffset, id.byteLength);
  for (let row = 0; row < spans; row += 1) {
    if (after.trace.subtree[row]! > 1 && folded.has(view.getBigUint64(row * 8))) after.folded[row] = 1;
  }
  after.filter(undefined);
}
