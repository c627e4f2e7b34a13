/**
 * The zone that panels show times in: the dashboard's, where it names one, else the browser's. What writes
 * times there reads the clock of the zone itself: the browser's leaves an hour out in spring, others do not.
 */
import { signal } from "@preact/signals";
import { offsetAt } from "../frame/zoneoffset";
import { BROWSER_CLOCK, type Clock, datePattern } from "../ui/datepattern";
import { texts } from "./frame";

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

/** The clock of a zone, which is the dashboard's unless another is named. */
export function clockOf(name = zone.value): Clock {
  return name === undefined
    ? BROWSER_CLOCK
    : { offsetAt: (millis) => (Number.isFinite(millis) ? offsetAt(millis, name) : 0), zone: name };
}

/** A time by a pattern, on the dashboard's clock unless another zone is named. */
function zoned(millis: number, pattern: string, name?: string): string {
  return Number.isNaN(new Date(millis).getTime()) ? "–" : datePattern(millis, pattern, clockOf(name));
}

/** Date and time to the millisecond. */
export function zonedFull(millis: number, name?: string): string {
  return zoned(millis, "YYYY-MM-DD HH:mm:ss.SSS", name);
}

/** The time of the day, with its date if that is not today. */
export function zonedTime(millis: number): string {
  const isToday = zoned(millis, DAY) === zoned(Date.now(), DAY);
  return zoned(millis, isToday ? "HH:mm:ss" : `${DAY} HH:mm:ss`);
}

const DAY = "YYYY-MM-DD";

/** The zones that a panel asks for itself; none for the dashboard's. */
export function ownZones(options: Record<string, unknown>): (string | undefined)[] {
  const given = typeof options.timezone === "string" ? [options.timezone] : texts(options, "timezone");
  // An empty one is the dashboard's, among others of its own.
  const zones = given.map((name) =>
    name === "browser" ? ownZone() : name === "" ? undefined : zoneOf(name),
  );
  return zones.length > 0 ? zones : [undefined];
}
