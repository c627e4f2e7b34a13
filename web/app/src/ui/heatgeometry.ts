/** What a heat map is made of, and what its pixels mean. Measures are CSS pixels. */

export interface HeatData {
  /** Where steps begin, in milliseconds, ascending. */
  times: readonly number[];
  stepMillis: number;
  /** Upper bounds of buckets, ascending; the last may be infinite. */
  bounds: readonly number[];
  /** Where the lowest bucket begins, which may be nowhere. */
  lowest: number;
  /** By bucket, then by step. */
  counts: readonly (readonly number[])[];
}

/** What was chosen: times in milliseconds, sizes in the unit of the buckets. */
export interface HeatBox {
  from: number;
  to: number;
  low: number;
  high: number;
}

/** A cell, by its place from the left and from the bottom. */
export interface HeatCell {
  column: number;
  row: number;
}

/** Where things were drawn. */
export interface HeatLook {
  left: number;
  top: number;
  width: number;
  cellWidth: number;
  cellHeight: number;
}

/** The sizes that a bucket holds. */
export function rowSpan({ bounds, lowest }: HeatData, row: number): [number, number] {
  return [row === 0 ? lowest : bounds[row - 1]!, bounds[row]!];
}

/** The sizes that a bucket holds, in words. */
export function spanWords([low, high]: readonly [number, number], format: (bound: number) => string): string {
  if (high === Number.POSITIVE_INFINITY) return `more than ${format(low)}`;
  if (low === Number.NEGATIVE_INFINITY) return `at most ${format(high)}`;
  return `${format(low)} to ${format(high)}`;
}

/** Corners of a box in pixels. */
export function boxPixels(data: HeatData, look: HeatLook, box: HeatBox): [number, number, number, number] {
  const start = data.times[0] ?? 0;
  const x = (millis: number) => look.left + ((millis - start) / data.stepMillis) * look.cellWidth;
  const end = look.left + data.times.length * look.cellWidth;
  const edge = (size: number) => {
    const row = data.bounds.findIndex((bound) => bound >= size * (1 - 1e-9));
    return row < 0 ? data.bounds.length : size <= data.lowest ? 0 : row + 1;
  };
  const y = (rows: number) => look.top + (data.bounds.length - rows) * look.cellHeight;
  return [
    Math.max(look.left, Math.min(end, x(box.from))),
    y(edge(box.high)),
    Math.max(look.left, Math.min(end, x(box.to))),
    y(edge(box.low)),
  ];
}

/** The box of times and sizes below two corners, grown to whole cells; `undefined` outside of all cells. */
export function boxAt(
  data: HeatData,
  look: HeatLook,
  corners: { x: number; y: number; toX: number; toY: number },
): HeatBox | undefined {
  const [columns, rows] = [data.times.length, data.bounds.length];
  if (columns === 0 || rows === 0) return undefined;
  const within = (value: number, most: number) => Math.max(0, Math.min(most - 1, Math.floor(value)));
  const column = (x: number) => within((x - look.left) / look.cellWidth, columns);
  const row = (y: number) => rows - 1 - within((y - look.top) / look.cellHeight, rows);
  const cell = (x: number, y: number) => ({ column: column(x), row: row(y) });
  return boxOfCells(data, cell(corners.x, corners.y), cell(corners.toX, corners.toY));
}

/** The box that has two cells in its corners. There may be fewer cells by now. */
export function boxOfCells(data: HeatData, one: HeatCell, other: HeatCell): HeatBox {
  const column = (at: number) => Math.min(at, data.times.length - 1);
  const row = (at: number) => Math.min(at, data.bounds.length - 1);
  return {
    from: data.times[column(Math.min(one.column, other.column))]!,
    to: data.times[column(Math.max(one.column, other.column))]! + data.stepMillis,
    low: rowSpan(data, row(Math.min(one.row, other.row)))[0],
    high: rowSpan(data, row(Math.max(one.row, other.row)))[1],
  };
}
