/** Round numbers along a scale, for what uPlot does not draw. */

/** About `count` round numbers between two values, and never many more. */
export function ticks(low: number, high: number, count: number): number[] {
  const spread = high - low;
  if (!(spread > 0) || !Number.isFinite(spread)) return [low];
  const raw = spread / Math.max(1, count);
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = ([1, 2, 2.5, 5, 10].find((factor) => factor * power >= raw) ?? 10) * power;
  const first = Math.ceil(low / step) * step;
  // Digits that a step cannot have are left by binary fractions.
  const decimals = Math.max(0, Math.min(100, 1 - Math.floor(Math.log10(step))));
  const found: number[] = [];
  for (let index = 0; index < count + 2; index += 1) {
    const at = first + index * step;
    if (at > high + step * 1e-9) break;
    const tick = Number(at.toFixed(decimals));
    // Of large numbers several steps may be one.
    if (tick !== found.at(-1)) found.push(tick);
  }
  return found;
}
