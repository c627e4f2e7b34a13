/**
 * The time of a panel that has its own (`timeFrom`: `2h`, `now/d`, `now-5d/d`, `+1h`) or shows an earlier one
 * (`timeShift`: `1d`, `1w/w`): as the server computes it, and in words.
 */
import { durationMillis, parseTime, type Range, rangeLabel } from "../../frame/time";
import type { Placed } from "./model";

type Timed = Pick<Placed, "timeFrom" | "timeShift">;

/** What is not a time is left out, as by the server, which says so. */
export function ownRange({ timeFrom, timeShift }: Timed, range: Range): Range {
  const own = (timeFrom && ofItsOwn(timeFrom, range)) || range;
  return (timeShift && shifted(timeShift, own)) || own;
}

/** A time before the end of the dashboard's, or after it. */
function ofItsOwn(text: string, { to }: Range): Range | undefined {
  const written = text.trim().replace(/^now/, "");
  if (written.startsWith("+")) return ordered(to, parseTime(`now${written}`, to, true));
  if (/^[-/]/.test(written)) return ordered(parseTime(`now${written}`, to), to);
  return ordered(before(written, to, false), to);
}

function shifted(text: string, { from, to }: Range): Range | undefined {
  const length = text.trim().replace(/^now-/, "");
  return ordered(before(length, from, false), before(length, to, true));
}

/** So long before a moment, by the calendar; what has several units, as `1h30m`, is a plain duration. */
function before(length: string, at: number, isEnd: boolean): number | undefined {
  const parts = length.match(/\d+(?:\.\d+)?[a-zA-Z]+/g) ?? [];
  const plain = parts.map(durationMillis);
  const isPlain = length !== "" && parts.join("") === length && !plain.includes(undefined);
  const sum = plain.reduce<number>((total, one) => total + (one ?? 0), 0);
  return parseTime(`now-${length}`, at, isEnd) ?? (isPlain ? at - sum : undefined);
}

function ordered(from: number | undefined, to: number | undefined): Range | undefined {
  return from !== undefined && to !== undefined && from < to ? { from, to } : undefined;
}

/** A moment at which times are tried out: not the beginning of a day, a month or a year. */
const TRIED: Range = { from: Date.UTC(2026, 6, 15, 11, 30, 30), to: Date.UTC(2026, 6, 15, 12, 30, 30, 500) };

/** What the head of a panel says about its time; nothing if it has that of the dashboard. */
export function timeWords({ timeFrom, timeShift }: Timed): string {
  const said: string[] = [];
  if (timeFrom) said.push(ofItsOwn(timeFrom, TRIED) ? named(timeFrom.trim()) : wrong(timeFrom));
  if (timeShift) said.push(shifted(timeShift, TRIED) ? `${timeShift.trim()} earlier` : wrong(timeShift));
  return said.join(", ");
}

function named(from: string): string {
  const written = from.replace(/^now/, "");
  if (written.startsWith("+")) return `Next ${written.slice(1)}`;
  return rangeLabel({ from: /^[-/]/.test(written) ? `now${written}` : `now-${written}`, to: "now" });
}

function wrong(text: string): string {
  return `“${text}” is not a time`;
}
