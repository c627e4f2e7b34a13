/**
 * What the page that is shown says of times: which clock counts, when weeks and fiscal years begin, and what
 * the pickers at the top offer. Most pages say nothing; dashboards do.
 */
import { signal } from "@preact/signals";

/** A range that can be picked. */
export interface QuickRange {
  from: string;
  to: string;
  label: string;
}

export interface TimeRules {
  /** The zone that days begin in and that times are typed and shown in; the browser's, if nothing is said. */
  zone?: string;
  /** The day that weeks begin with: 0 is Sunday. Monday, if nothing is said. */
  weekStart?: number;
  /** The month that fiscal years begin with: 0 is January. */
  fiscalMonth?: number;
  /** So much earlier than now do ranges end that end now: newer data is still on its way. */
  nowDelayMillis?: number;
  quick?: readonly QuickRange[];
  /** How often live mode can be told to ask, as `5s`. */
  refreshes?: readonly string[];
  /** How often the page asks by itself when it is opened. */
  refresh?: string;
  /** Whether the pickers are not shown. */
  isHidden?: boolean;
}

export const timeRules = signal<TimeRules>({});

/** What holds from now on. The same again changes nothing: what is asked depends on it. */
export function setTimeRules(next: TimeRules): void {
  if (JSON.stringify(next) !== JSON.stringify(timeRules.peek())) timeRules.value = next;
}
