/**
 * The zone that panels show times in: the dashboard's, where it names one, else the browser's. What writes
 * times reads the browser's clock, so a time is moved to where that clock shows what the zone's clock shows.
 */
import { signal } from "@preact/signals";

/** The dashboard's zone, as `Europe/Berlin`; nothing is the browser's. */
export const zone = signal<string | undefined>(undefined);

/** A dashboard's `timezone` as a zone; nothing for the browser's, and for one that browsers do not know. */
export function zoneOf(timezone: unknown): string | undefined {
  if (typeof timezone !== "string" || timezone === "" || timezone === "browser") return undefined;
  const name = timezone === "utc" ? "UTC" : timezone;
  try {
    new Intl.DateTimeFormat("en", { timeZone: name });
    return name;
  } catch {
    return undefined;
  }
}

/** The zone of the browser. */
export function ownZone(): string {
  return Intl.DateTimeFormat().resolvedOptions().timeZone;
}

/** A time at which the browser's clock shows what the zone's clock shows at `millis`. */
export function inZone(millis: number): number {
  if (zone.value === undefined || Number.isNaN(new Date(millis).getTime())) return millis;
  const there = new Date(millis + offsetAt(millis, zone.value));
  // An hour that the browser's zone leaves out in spring is shown as the next.
  return new Date(
    there.getUTCFullYear(),
    there.getUTCMonth(),
    there.getUTCDate(),
    there.getUTCHours(),
    there.getUTCMinutes(),
    there.getUTCSeconds(),
    there.getUTCMilliseconds(),
  ).getTime();
}

/** How far the zone's clock is before UTC, in milliseconds. */
export function zoneOffset(millis: number): number {
  if (zone.value === undefined) return -new Date(millis).getTimezoneOffset() * 60_000;
  return offsetAt(millis, zone.value);
}

/** Zones change their clocks at full quarters of an hour. */
const QUARTER_MILLIS = 900_000;
/** Tables have many times, and asking for an offset is slow. */
const MOST_KEPT = 10_000;
const offsets = new Map<string, number>();

function offsetAt(millis: number, name: string): number {
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
