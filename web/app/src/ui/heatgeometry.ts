/** What a heat map is made of, and what its pixels mean. Measures are CSS pixels. */

export interface HeatData {
  /** Where steps begin, in milliseconds, ascending. */
  times: readonly number[];
  stepMillis: number;
  /** Upper bounds of buckets, ascending. */
  bounds: readonly number[];
  /** Where the lowest bucket begins. */
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
  const [first, last] = [column(Math.min(corners.x, corners.toX)), column(Math.max(corners.x, corners.toX))];
  const [bottom, top] = [row(Math.max(corners.y, corners.toY)), row(Math.min(corners.y, corners.toY))];
  return {
    from: data.times[first]!,
    to: data.times[last]! + data.stepMillis,
    low: rowSpan(data, bottom)[0],
    high: rowSpan(data, top)[1],
  };
}
