/** Round numbers along a scale, for what uPlot does not draw. */

/** About `count` round numbers between two values. */
export function ticks(low: number, high: number, count: number): number[] {
  const spread = high - low;
  if (!(spread > 0) || !Number.isFinite(spread)) return [low];
  const raw = spread / Math.max(1, count);
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = ([1, 2, 2.5, 5, 10].find((factor) => factor * power >= raw) ?? 10) * power;
  const found: number[] = [];
  for (let at = Math.ceil(low / step); at * step <= high + step * 1e-9; at += 1) {
    found.push(Number((at * step).toPrecision(12)));
  }
  return found;
}
