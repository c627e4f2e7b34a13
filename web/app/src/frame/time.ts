/**
 * The time that is looked at: `from` and `to` in the address, as Grafana writes them (`now-6h`, `now/d`,
 * milliseconds since 1970, or ISO 8601). One range for all pages; a page that owns its window ignores it.
 */
import { computed, signal } from "@preact/signals";
import { fullTime } from "../ui/format";
import { momentOf, moved, onClock, startOf, UNITS } from "./calendar";
import { param, path, returnsHere, setParams } from "./router";
import { type QuickRange, type TimeRules, timeRules } from "./timerules";

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

const DEFAULT: RangeText = { from: "now-1h", to: "now" };

const QUICK: readonly (readonly [string, string])[] = [
  ["now-5m", "Last 5 minutes"],
  ["now-15m", "Last 15 minutes"],
  ["now-1h", "Last hour"],
  ["now-6h", "Last 6 hours"],
  ["now-24h", "Last 24 hours"],
  ["now/d", "Today"],
  ["now-2d", "Last 2 days"],
  ["now-7d", "Last 7 days"],
  ["now-30d", "Last 30 days"],
  ["now-90d", "Last 90 days"],
];

/** Ranges that can be picked: those of the page that is shown, or the usual ones. */
export const quickRanges = computed<readonly QuickRange[]>(
  () => timeRules.value.quick ?? QUICK.map(([from, label]) => ({ from, to: "now", label })),
);

/** The milliseconds of a duration such as `90s`, `6h`; `undefined` if it is none. */
export function durationMillis(text: string): number | undefined {
  const match = /^(\d+(?:\.\d+)?)(ms|s|m|h|d|w|M|y)$/.exec(text.trim());
  return match ? Number(match[1]) * UNITS[match[2]!]! : undefined;
}

/** So far from 1970, either way, go the dates of browsers. */
const LAST_MILLIS = 8.64e15;

const RELATIVE = /^now((?:[+-]\d*(?:ms|s|m|h|d|w|M|f?Q|f?y)|\/(?:s|m|h|d|w|M|f?Q|f?y))*)$/;
const STEPS = /([+-])(\d*)(ms|s|m|h|d|w|M|f?Q|f?y)|\/(s|m|h|d|w|M|f?Q|f?y)/g;
const DATE =
  /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?)\d*\s*(Z|[+-]\d{2}:?\d{2})?)?$/i;

/** Milliseconds since 1970 of a time as it is written; `undefined` if it cannot be read. */
export function parseTime(
  text: string,
  now: number,
  end = false,
  rules = timeRules.value,
): number | undefined {
  const millis = read(text.trim(), now, end, rules);
  return Math.abs(millis) <= LAST_MILLIS ? millis : undefined;
}

function read(text: string, now: number, end: boolean, rules: TimeRules): number {
  if (/^-?\d+(\.\d+)?$/.test(text)) {
    const value = Number(text);
    // Seconds, as others write them, are ten digits.
    return Math.abs(value) < 1e11 ? value * 1000 : value;
  }
  const relative = RELATIVE.exec(text);
  if (relative) {
    let at = now;
    for (const [, sign, amount, unit, rounded] of relative[1]!.matchAll(STEPS)) {
      if (unit) at = moved(at, (sign === "-" ? -1 : 1) * Number(amount || 1), unit, rules);
      else {
        const start = startOf(at, rounded!, rules);
        at = end ? moved(start, 1, rounded!, rules) - 1 : start;
      }
    }
    return at;
  }
  const [, day, clock = "00:00", zone = ""] = DATE.exec(text) ?? [];
  if (day === undefined) return Number.NaN;
  const zoned = zone.toUpperCase().replace(/(\d{2}):?(\d{2})$/, "$1:$2");
  if (zoned !== "") return Date.parse(`${day}T${clock}${zoned}`);
  // Without a zone it is by the clock that times are shown by, a day alone as one with its time.
  return momentOf(Date.parse(`${day}T${clock}Z`), rules.zone);
}

/** A time as the address has it: what somebody typed by the clock that he sees is the same moment elsewhere. */
export function addressTime(text: string): string {
  const millis = text.trim().startsWith("now") ? undefined : parseTime(text, 0);
  return millis === undefined ? text.trim() : String(Math.round(millis));
}

/** A time as people type it. */
export function typedTime(text: string): string {
  const millis = text.startsWith("now") ? undefined : parseTime(text, 0);
  return millis === undefined ? text : localTime(millis);
}

// Texts of their own, so that a change of other parameters is none of the range.
const fromText = computed(() => param("from") ?? DEFAULT.from);
const toText = computed(() => param("to") ?? DEFAULT.to);
/** What pages ask in words. */
const queryText = computed(() => param("q"));

/** The range as the address has it: the same object for as long as that is the same. */
export const rangeText = computed<RangeText>(() => ({ from: fromText.value, to: toText.value }));

/** Counts what asked for new data: the refresh button, live mode. */
export const refreshes = signal(0);

/** The range that was last told, and the refreshes until then. */
let told: { range: Range; turn: number } | undefined;

/**
 * The range now. It changes with `from` and `to` of the address and with every refresh, and not by itself nor
 * with other parameters: "now" stays the moment at which it was asked for. Another page has its own, and so has
 * another query, or the same that is run again. After a refresh it is another object, also where it is fixed
 * and its numbers are the same: what asks about a range depends on the object, and so asks again.
 */
export const range = computed<Range>(() => {
  const turn = refreshes.value + returnsHere.value;
  void path.value;
  void queryText.value;
  const now = Date.now();
  const { from, to } = rangeText.value;
  const delay = to === "now" ? (timeRules.value.nowDelayMillis ?? 0) : 0;
  const end = (parseTime(to, now, true) ?? now) - delay;
  const start = parseTime(from, now) ?? end - 3_600_000;
  const next = start < end ? { from: start, to: end } : { from: end - 1, to: end };
  const isSame = told?.turn === turn && told.range.from === next.from && told.range.to === next.to;
  if (!told || !isSame) told = { range: next, turn };
  return told.range;
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

/** Twice as much time, around the middle; less where that is yet to come. */
export function widenRange(): void {
  const { from, to } = range.value;
  const half = (to - from) / 2;
  setRange(from - half, Math.max(to, Math.min(to + half, Date.now())));
}

/** How a range is named. */
export function rangeLabel({ from, to }: RangeText): string {
  const quick = quickRanges.value.find((one) => one.from === from && one.to === to);
  if (quick) return quick.label;
  if (to === "now") {
    if (/^now-\d+\w+$/.test(from)) return `Last ${from.slice(4)}`;
  }
  return `${typedTime(from)} to ${typedTime(to)}`;
}

/** A moment by the clock that times are shown by. */
function localTime(millis: number): string {
  const { zone } = timeRules.value;
  const text = zone ? isoText(onClock(millis, zone)) : fullTime(millis);
  return text.endsWith(".000") ? text.slice(0, -4) : text;
}

function isoText(clock: number): string {
  return new Date(clock).toISOString().replace("T", " ").replace("Z", "");
}

/** Timers of browsers count no further. */
const SELDOMEST_MILLIS = 86_400_000;

/** How often live mode asks: `refresh=5s` in the address; 0 is off, and so is what is no length of time. */
export const liveMillis = computed(() => {
  const millis = durationMillis(param("refresh") ?? "") ?? 0;
  return millis === 0 ? 0 : Math.min(SELDOMEST_MILLIS, Math.max(1000, millis));
});

/** What `refresh` is where live mode is off: nothing, but on a page that would be live by itself. */
export function liveOff(): "" | undefined {
  return timeRules.peek().refresh === undefined ? undefined : "";
}

/** Switches live mode. */
export function setLive(every: string | undefined): void {
  setParams({ refresh: every ?? liveOff() }, { replace: true });
}

let resumed = "5s";

/** Pauses live mode, or goes on as before. */
export function toggleLive(): void {
  const isLive = liveMillis.peek() > 0;
  if (isLive) resumed = param("refresh") || resumed;
  setLive(isLive ? undefined : resumed);
}
