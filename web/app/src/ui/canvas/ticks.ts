/**
 * Marks of an axis of nanoseconds: at round numbers, with labels that are exact. Two neighbours never have
 * the same label, however far in one looks.
 */

const SECOND = 1e9;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const YEAR = 365 * DAY;

/** Steps above a second that people count in. */
const LARGE: readonly number[] = [
  ...[1, 2, 5, 10, 15, 30].map((step) => step * SECOND),
  ...[1, 2, 5, 10, 15, 30].map((step) => step * MINUTE),
  ...[1, 2, 3, 6, 12].map((step) => step * HOUR),
  ...[1, 2, 7, 14, 30, 90, 180].map((step) => step * DAY),
];

/** The smallest round step of at least so many nanoseconds. */
export function roundStep(nanos: number): number {
  if (nanos <= 1) return 1;
  if (nanos < SECOND) {
    const power = 10 ** Math.floor(Math.log10(nanos));
    return power * ([1, 2, 5, 10].find((times) => times * power >= nanos * (1 - 1e-12)) ?? 10);
  }
  const large = LARGE.find((step) => step >= nanos);
  if (large !== undefined) return large;
  const years = nanos / YEAR;
  const power = 10 ** Math.floor(Math.log10(years));
  return YEAR * Math.max(1, power * ([1, 2, 5, 10].find((times) => times * power >= years) ?? 10));
}

export interface Tick {
  at: number;
  label: string;
}

/** Marks between two points, about so many. */
export function ticks(from: number, to: number, most: number): Tick[] {
  const step = roundStep((to - from) / Math.max(1, most));
  const list: Tick[] = [];
  const last = Math.floor(to / step);
  for (let number = Math.ceil(from / step); number <= last && list.length <= most + 2; number += 1) {
    const at = number * step;
    list.push({ at, label: offset(at, step) });
  }
  return list;
}

function decimals(unit: number, step: number): number {
  return Math.max(0, Math.ceil(Math.log10(unit / step) - 1e-9));
}

/** Nanoseconds since the beginning, with as many digits as tell steps apart: `1.25 s`, `41m 07.5s`. */
export function offset(nanos: number, step = 1): string {
  if (nanos < 0) return `-${offset(-nanos, step)}`;
  if (nanos === 0) return "0";
  for (const [unit, name] of [
    [1, "ns"],
    [1e3, "µs"],
    [1e6, "ms"],
    [SECOND, "s"],
  ] as const) {
    const limit = unit === SECOND ? MINUTE : unit * 1000;
    if (nanos < limit) return `${(nanos / unit).toFixed(decimals(unit, step))} ${name}`;
  }
  return long(nanos, step);
}

/** Above a minute: the two or three largest units, and seconds with their digits if the steps need them. */
function long(nanos: number, step: number): string {
  const digits = decimals(SECOND, step);
  const [years, afterYears] = divide(nanos, YEAR);
  const [days, afterDays] = divide(afterYears, DAY);
  const [hours, afterHours] = divide(afterDays, HOUR);
  const [minutes, rest] = divide(afterHours, MINUTE);
  const seconds = (rest / SECOND).toFixed(digits);
  const parts = [years > 0 ? `${years}y` : "", days > 0 ? `${days}d` : ""];
  if (step < DAY) parts.push(hours > 0 ? `${hours}h` : "");
  if (step < HOUR) parts.push(minutes > 0 || hours > 0 ? `${minutes}m` : "");
  if (step < MINUTE) parts.push(`${rest < 10 * SECOND ? "0" : ""}${seconds}s`);
  return parts.filter(Boolean).join(" ") || "0";
}

function divide(value: number, by: number): [number, number] {
  const times = Math.floor(value / by);
  return [times, value - times * by];
}
