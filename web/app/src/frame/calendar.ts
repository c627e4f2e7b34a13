/**
 * Days, weeks, months and years as a clock counts them: that of the browser, or of the zone that the rules
 * name. A moment is moved to the clock, as if that were UTC's, counted there, and moved back: days of 23 and
 * 25 hours come out right in every zone.
 */
import type { TimeRules } from "./timerules";
import { offsetAt as offsetOfZone } from "./zoneoffset";

const DAY_MILLIS = 86_400_000;
const MINUTE_MILLIS = 60_000;

/** Milliseconds of units that are moved by without a calendar, or told as durations. */
export const UNITS: Record<string, number> = {
  ms: 1,
  s: 1000,
  m: MINUTE_MILLIS,
  h: 3_600_000,
  d: DAY_MILLIS,
  w: 7 * DAY_MILLIS,
  M: 30 * DAY_MILLIS,
  y: 365 * DAY_MILLIS,
};

/** The months of units that are made of such; a year has twelve whichever it begins with. */
const MONTHS: Record<string, number> = { M: 1, Q: 3, fQ: 3, y: 12, fy: 12 };

/** What a clock shows at a moment, as if it were UTC's. */
export function onClock(millis: number, zone: string | undefined): number {
  return millis + offsetAt(millis, zone);
}

/**
 * The moment at which a clock shows something: the first, where it shows it twice. What it leaves out is as
 * much later as the clock is put forward.
 */
export function momentOf(clock: number, zone: string | undefined): number {
  const [before, after] = [offsetAt(clock - DAY_MILLIS, zone), offsetAt(clock + DAY_MILLIS, zone)];
  const found = [before, after].find((offset) => offsetAt(clock - offset, zone) === offset);
  return clock - (found ?? before);
}

/** A time so many units later: by the calendar, as days of 23 hours and months of 28 days want it. */
export function moved(millis: number, amount: number, unit: string, { zone }: TimeRules): number {
  const months = MONTHS[unit];
  if (months === undefined && unit !== "d" && unit !== "w") return millis + amount * UNITS[unit]!;
  const date = new Date(onClock(millis, zone));
  if (months === undefined) date.setUTCDate(date.getUTCDate() + amount * (unit === "w" ? 7 : 1));
  else {
    const day = date.getUTCDate();
    date.setUTCDate(1);
    date.setUTCMonth(date.getUTCMonth() + amount * months);
    const days = new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 0)).getUTCDate();
    date.setUTCDate(Math.min(day, days));
  }
  return momentOf(date.getTime(), zone);
}

/** The beginning of the hour, day, quarter… that a time is in. */
export function startOf(millis: number, unit: string, rules: TimeRules): number {
  const { weekStart = 1, fiscalMonth = 0, zone } = rules;
  const clock = onClock(millis, zone);
  // Within an hour that a clock shows twice, its beginning is that of the same one.
  if (unit === "s" || unit === "m" || unit === "h") return millis - modulo(clock, UNITS[unit]!);
  const date = new Date(clock - modulo(clock, DAY_MILLIS));
  if (unit === "w") date.setUTCDate(date.getUTCDate() - modulo(date.getUTCDay() - weekStart, 7));
  const months = MONTHS[unit];
  if (months !== undefined) {
    const first = unit.startsWith("f") ? fiscalMonth : 0;
    date.setUTCDate(1);
    date.setUTCMonth(date.getUTCMonth() - modulo(date.getUTCMonth() - first, months));
  }
  return momentOf(date.getTime(), zone);
}

function modulo(value: number, by: number): number {
  return ((value % by) + by) % by;
}

/** How far a clock is before UTC, in milliseconds; the browser's, unless a zone is named. */
function offsetAt(millis: number, zone: string | undefined): number {
  const at = new Date(millis);
  if (zone === undefined || Number.isNaN(at.getTime())) return -at.getTimezoneOffset() * MINUTE_MILLIS;
  return offsetOfZone(millis, zone);
}
