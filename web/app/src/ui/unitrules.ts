/** Digits of numbers, and the units that no table can describe: durations in words, clocks, hexadecimal. */
import type { Formatted } from "./units";

const MOST_DECIMALS = 20;

/** A number with so many digits behind the point, or with two that say something. */
export function fixed(value: number, decimals?: number): string {
  if (value === Number.POSITIVE_INFINITY) return "∞";
  if (value === Number.NEGATIVE_INFINITY) return "-∞";
  if (Number.isNaN(value)) return "NaN";
  const digits = Math.max(0, Math.min(MOST_DECIMALS, Math.round(decimals ?? significant(value))));
  const factor = 10 ** digits;
  const rounded = Math.abs(value * factor) >= 4.5e15 ? value : Math.round(value * factor) / factor;
  const text = String(rounded === 0 ? 0 : rounded);
  if (digits === 0 || text.includes("e")) return text;
  const behind = text.split(".")[1]?.length ?? 0;
  return text + (behind === 0 ? "." : "") + "0".repeat(Math.max(0, digits - behind));
}

/** How many digits behind the point show about two that differ from zero. */
function significant(value: number): number {
  if (Number.isInteger(value)) return 0;
  const size = Math.abs(value);
  const decimals = 1 - Math.floor(Math.log(size) / Math.LN10);
  const leading = size / 10 ** -decimals;
  return Math.max(0, decimals + (leading > 2.25 ? 1 : 0));
}

function plain(text: string, suffix = ""): Formatted {
  return { prefix: "", text, suffix };
}

/** A number by rules of its own; the names are the server's. */
export function special(rules: string, value: number, decimals?: number): Formatted {
  switch (rules) {
    case "hex":
      return plain(hexadecimal(value, decimals, ""));
    case "hex0x":
      return plain(hexadecimal(value, decimals, "0x"));
    case "scientific":
      return plain(Number.isFinite(value) ? value.toExponential(decimals) : String(value));
    case "thousands":
      return plain(thousands(value, decimals));
    case "durationMillis":
      return words(value, decimals, 1, "milliseconds");
    case "durationSeconds":
      return words(value, decimals, 1000, "seconds");
    case "clock":
      return clock(value, false);
    case "daysClock":
      return clock(value, true);
    case "watchMillis":
      return plain(watch(value, decimals));
    case "watchSeconds":
      return plain(watch(value * 1000, decimals));
    case "fromNow":
      return plain(fromNow(value, Date.now()));
    default:
      return plain(String(value));
  }
}

function hexadecimal(value: number, decimals: number | undefined, prefix: string): string {
  const rounded = Number(fixed(value, decimals));
  if (!Number.isFinite(rounded)) return fixed(value, decimals);
  return `${rounded < 0 ? "-" : ""}${prefix}${Math.abs(rounded).toString(16).toUpperCase()}`;
}

function thousands(value: number, decimals?: number): string {
  if (!Number.isFinite(value)) return fixed(value);
  return value.toLocaleString("en-US", { maximumFractionDigits: Math.min(MOST_DECIMALS, decimals ?? 3) });
}

const UNITS: readonly (readonly [string, number])[] = [
  ["year", 31_536_000e3],
  ["month", 2_592_000e3],
  ["week", 604_800e3],
  ["day", 86_400e3],
  ["hour", 3_600e3],
  ["minute", 60e3],
  ["second", 1e3],
  ["millisecond", 1],
];

/** A length as `1 hour, 5 minutes`: the largest unit, and as many more as decimals are asked for. */
function words(value: number, decimals: number | undefined, millis: number, unit: string): Formatted {
  if (!Number.isFinite(value)) return plain(fixed(value));
  if (value === 0) return plain("0", ` ${unit}`);
  let rest = Math.abs(value) * millis;
  let left = (decimals ?? 0) + 1;
  const parts: string[] = [];
  for (const [name, size] of UNITS) {
    if (left === 0) break;
    const count = Math.floor(rest / size);
    if (count < 1 && parts.length === 0) continue;
    parts.push(`${count} ${name}${count === 1 ? "" : "s"}`);
    rest %= size;
    left -= 1;
  }
  return plain(parts.join(", "), value < 0 ? " ago" : "");
}

function two(value: number): string {
  return String(value).padStart(2, "0");
}

/** Seconds as `01:05:00`, with days before it if asked for. */
function clock(value: number, hasDays: boolean): Formatted {
  const seconds = Math.abs(value);
  if (!Number.isFinite(seconds)) return plain(fixed(value));
  const days = hasDays ? Math.floor(seconds / 86_400) : 0;
  const rest = seconds - days * 86_400;
  const text = [Math.floor(rest / 3600), Math.floor((rest % 3600) / 60), Math.floor(rest % 60)]
    .map(two)
    .join(":");
  return plain((days > 0 ? `${days} d ` : "") + text, value < 0 ? " ago" : "");
}

/** Milliseconds as `01h:05m:00s:000ms`; decimals say how many parts follow the first. */
function watch(value: number, decimals?: number): string {
  if (!Number.isFinite(value)) return fixed(value);
  const millis = Math.floor(Math.max(0, value));
  const part = (size: number, of: number) => Math.floor(millis / size) % of;
  const rest = `${String(part(1, 1000)).padStart(3, "0")}ms`;
  if (millis < 1000) return rest;
  const parts = [`${two(part(1000, 60))}s`, rest];
  if (millis >= 60_000) parts.unshift(`${two(part(60_000, 60))}m`);
  if (millis >= 3_600_000) parts.unshift(`${Math.floor(millis / 3_600_000)}h`);
  // A length of seconds has no middle part to stop at.
  const kept = decimals !== undefined && (parts.length > 2 || decimals === 0) ? decimals + 1 : parts.length;
  return parts.slice(0, kept).join(":");
}

/** How long ago, or in how long: `5 minutes ago`. */
export function fromNow(millis: number, nowMillis: number): string {
  const distance = millis - nowMillis;
  if (!Number.isFinite(distance)) return "Invalid date";
  const seconds = Math.round(Math.abs(distance) / 1000);
  const minutes = Math.round(seconds / 60);
  const hours = Math.round(minutes / 60);
  const days = Math.round(hours / 24);
  const months = Math.round(days / 30.4369);
  const years = Math.round(days / 365.25);
  const text = (() => {
    if (seconds < 45) return "a few seconds";
    if (minutes <= 1) return "a minute";
    if (minutes < 45) return `${minutes} minutes`;
    if (hours <= 1) return "an hour";
    if (hours < 22) return `${hours} hours`;
    if (days <= 1) return "a day";
    if (days < 26) return `${days} days`;
    if (months <= 1) return "a month";
    if (months < 11) return `${months} months`;
    return years <= 1 ? "a year" : `${years} years`;
  })();
  return distance > 0 ? `in ${text}` : `${text} ago`;
}
