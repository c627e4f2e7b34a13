/** Offsets of zones, as the browser's tables have them. */

/** Zones change their clocks at full quarters of an hour. */
const QUARTER_MILLIS = 900_000;
/** Tables have many times, and asking for an offset is slow. */
const MOST_KEPT = 10_000;
const offsets = new Map<string, number>();

/** How far the clock of a zone is before UTC at a moment, in milliseconds. */
export function offsetAt(millis: number, name: string): number {
  if (name === "UTC") return 0;
  const begin = Math.floor(millis / QUARTER_MILLIS) * QUARTER_MILLIS;
  const key = `${name} ${begin}`;
  let found = offsets.get(key);
  if (found === undefined) {
    if (offsets.size >= MOST_KEPT) offsets.clear();
    found = readOffset(begin, name);
    offsets.set(key, found);
  }
  return found;
}

const clocks = new Map<string, Intl.DateTimeFormat>();

function readOffset(millis: number, timeZone: string): number {
  let clock = clocks.get(timeZone);
  if (!clock) {
    clock = new Intl.DateTimeFormat("en-US", {
      timeZone,
      hourCycle: "h23",
      year: "numeric",
      month: "numeric",
      day: "numeric",
      hour: "numeric",
      minute: "numeric",
      second: "numeric",
    });
    clocks.set(timeZone, clock);
  }
  const parts = Object.fromEntries(
    clock.formatToParts(millis).map(({ type, value }) => [type, Number(value)]),
  );
  const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = parts;
  return Date.UTC(year, month - 1, day, hour, minute, second) - millis;
}
