/** What stands at a tick of an axis of time. */
import { BROWSER_CLOCK, type Clock, datePattern } from "./datepattern";

const DAY_MILLIS = 86_400_000;

/** A time on an axis that spans so much: the clock, or the day where one begins. */
export function tickTime(millis: number, spanMillis: number, clock: Clock = BROWSER_CLOCK): string {
  const isMidnight = (millis + clock.offsetAt(millis)) % DAY_MILLIS === 0;
  // Of months, days are what is looked for; where a day has several ticks, the clock tells them apart.
  if (isMidnight || spanMillis > 31 * DAY_MILLIS) return datePattern(millis, "MM-DD", clock);
  return datePattern(millis, spanMillis < 10 * 60_000 ? "HH:mm:ss" : "HH:mm", clock);
}
