/**
 * The time that is looked at: `from` and `to` in the address, as Grafana writes them (`now-6h`, `now/d`,
 * milliseconds since 1970, or ISO 8601). One range for all pages; a page that owns its window ignores it.
 */
import { computed, signal } from "@preact/signals";
import { param, setParams } from "./router";

/** A range as it is written. */
export interface RangeText {
  from: string;
  to: string;
}

/** A range in milliseconds since 1970. */
export interface Range {
  from: number;
  to: number;
}

const UNITS: Record<string, number> = {
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
  M: 2_592_000_000,
  y: 31_536_000_000,
};

const DEFAULT: RangeText = { from: "now-1h", to: "now" };

/** Ranges that can be picked. */
export const QUICK: readonly (readonly [string, string])[] = [
  ["now-5m", "Last 5 minutes"],
  ["now-15m", "Last 15 minutes"],
  ["now-1h", "Last hour"],
  ["now-6h", "Last 6 hours"],
  ["now-24h", "Last 24 hours"],
  ["now-2d", "Last 2 days"],
  ["now-7d", "Last 7 days"],
  ["now-30d", "Last 30 days"],
  ["now-90d", "Last 90 days"],
];

/** The milliseconds of a duration such as `90s`, `6h`; `undefined` if it is none. */
export function durationMillis(text: string): number | undefined {
  const match = /^(\d+(?:\.\d+)?)(ms|s|m|h|d|w|M|y)$/.exec(text.trim());
  return match ? Number(match[1]) * UNITS[match[2]!]! : undefined;
}

function startOf(millis: number, unit: string, end: boolean): number {
  const date = new Date(millis);
  if (unit === "w") date.setDate(date.getDate() - ((date.getDay() + 6) % 7));
  const ranks = ["s", "m", "h", "d", "M", "y"];
  const rank = ranks.indexOf(unit === "w" ? "d" : unit);
  date.setMilliseconds(0);
  if (rank >= 1) date.setSeconds(0);
  if (rank >= 2) date.setMinutes(0);
  if (rank >= 3) date.setHours(0);
  if (rank >= 4) date.setDate(1);
  if (rank >= 5) date.setMonth(0);
  if (!end) return date.getTime();
  if (unit === "M") date.setMonth(date.getMonth() + 1);
  else if (unit === "y") date.setFullYear(date.getFullYear() + 1);
  else return date.getTime() + UNITS[unit]! - 1;
  return date.getTime() - 1;
}

/** Milliseconds since 1970 of a time as it is written; `undefined` if it cannot be read. */
export function parseTime(text: string, now: number, end = false): number | undefined {
  const trimmed = text.trim();
  if (/^-?\d+(\.\d+)?$/.test(trimmed)) {
    const value = Number(trimmed);
    // Seconds, as others write them, are ten digits.
    return Math.abs(value) < 1e11 ? value * 1000 : value;
  }
  const relative = /^now((?:[+-]\d+(?:ms|s|m|h|d|w|M|y))*)(?:\/(s|m|h|d|w|M|y))?$/.exec(trimmed);
  if (relative) {
    let at = now;
    for (const [, sign, amount, unit] of relative[1]!.matchAll(/([+-])(\d+)(ms|s|m|h|d|w|M|y)/g)) {
      at += (sign === "-" ? -1 : 1) * Number(amount) * UNITS[unit!]!;
    }
    return relative[2] ? startOf(at, relative[2], end) : at;
  }
  const millis = Date.parse(trimmed);
  return Number.isNaN(millis) ? undefined : millis;
}

/** The range as the address has it. */
export const rangeText = computed<RangeText>(() => ({
  from: param("from") ?? DEFAULT.from,
  to: param("to") ?? DEFAULT.to,
}));

/** Counts what asked for new data: the refresh button, live mode, a new range. */
export const refreshes = signal(0);

/** The range now. It changes with the address and with every refresh, and not by itself. */
export const range = computed<Range>(() => {
  refreshes.value;
  const now = Date.now();
  const { from, to } = rangeText.value;
  const end = parseTime(to, now, true) ?? now;
  const start = parseTime(from, now) ?? end - 3_600_000;
  return start < end ? { from: start, to: end } : { from: end - 1, to: end };
});

/** Sets the range: as written, or in milliseconds. */
export function setRange(from: string | number, to: string | number): void {
  const text = (at: string | number) => (typeof at === "number" ? String(Math.round(at)) : at);
  setParams({ from: text(from), to: text(to) });
}

/** Asks for new data. */
export function refresh(): void {
  refreshes.value += 1;
}

/** Moves the range by a part of its length, or widens it. */
export function shiftRange(by: number): void {
  const { from, to } = range.value;
  const step = (to - from) * by;
  setRange(from + step, to + step);
}

/** Twice as much time, around the middle. */
export function widenRange(): void {
  const { from, to } = range.value;
  const half = (to - from) / 2;
  setRange(from - half, Math.min(to + half, Date.now()));
}

/** How a range is named. */
export function rangeLabel({ from, to }: RangeText): string {
  if (to === "now") {
    const quick = QUICK.find(([value]) => value === from);
    if (quick) return quick[1];
    if (from.startsWith("now-")) return `Last ${from.slice(4)}`;
  }
  const show = (text: string) => {
    const millis = parseTime(text, Date.now());
    return text.startsWith("now") || millis === undefined ? text : localTime(millis);
  };
  return `${show(from)} to ${show(to)}`;
}

function localTime(millis: number): string {
  const date = new Date(millis - new Date(millis).getTimezoneOffset() * 60_000);
  return date.toISOString().slice(0, 19).replace("T", " ");
}

/** How often live mode asks: `refresh=5s` in the address; 0 is off. */
export const liveMillis = computed(() => {
  const text = param("refresh");
  return text === undefined ? 0 : Math.max(1000, durationMillis(text) ?? 0);
});

/** Switches live mode. */
export function setLive(every: string | undefined): void {
  setParams({ refresh: every }, { replace: true });
}
