/**
 * Numbers with units. Which units there are is said by the server's table, so that ticks drawn here and
 * texts made there are alike; this file applies it. Until the table has come, numbers are written plainly.
 */
import { signal } from "@preact/signals";
import { getJson } from "../frame/api";
import { BROWSER_CLOCK, type Clock, datePattern } from "./datepattern";
import { fixed, special } from "./unitrules";

export interface Formatted {
  prefix: string;
  text: string;
  suffix: string;
}

/** How numbers of one unit are written; the server's words. */
export type Unit =
  | { kind: "fixed"; multiply: number; prefix: string; suffix: string }
  | { kind: "scaled"; base: number; offset: number; suffixes: readonly string[]; prefix: string }
  | { kind: "steps"; steps: readonly Step[] }
  | { kind: "boolean"; yes: string; no: string }
  | { kind: "date"; pattern: string; today?: string | null }
  | { kind: "special"; rules: string };

export interface Step {
  below: number | null;
  multiply: number;
  divide: number;
  suffix: string;
  plural: boolean;
}

export type UnitTable = Readonly<Record<string, Unit>>;

export interface FormatOptions {
  unit?: string;
  decimals?: number;
  kind?: string;
  /** On an axis no zeros are kept at the end. */
  isTick?: boolean;
  /** What dates are read from; the browser's clock if nothing else is said. */
  clock?: Clock;
}

/** The units that are known. What draws numbers draws again when they come. */
export const units = signal<UnitTable>({});

let loading: Promise<void> | undefined;

/** Gets the table, once. */
export function loadUnits(): Promise<void> {
  loading ??= getJson<UnitTable>("/api/dashboards/units").then(
    (answer) => {
      units.value = answer;
    },
    () => {
      // The next page that needs it asks again.
      loading = undefined;
    },
  );
  return loading;
}

/** The ids of units that can be chosen. */
export function unitChoices(): readonly (readonly [string, string])[] {
  const ids = Object.keys(units.value).sort((a, b) => a.localeCompare(b));
  const first = COMMON.filter(([id]) => ids.length === 0 || ids.includes(id));
  const others = ids.filter((id) => !COMMON.some(([known]) => known === id));
  return [...first, ...others.map((id) => [id, id] as const)];
}

const COMMON: readonly (readonly [string, string])[] = [
  ["none", "Number"],
  ["short", "Short (K, Mil)"],
  ["percent", "Percent (0-100)"],
  ["percentunit", "Percent (0.0-1.0)"],
  ["bytes", "Bytes (1024)"],
  ["decbytes", "Bytes (1000)"],
  ["Bps", "Bytes per second"],
  ["bps", "Bits per second"],
  ["s", "Seconds"],
  ["ms", "Milliseconds"],
  ["ns", "Nanoseconds"],
  ["reqps", "Requests per second"],
  ["ops", "Operations per second"],
  ["celsius", "Celsius"],
  ["watt", "Watt"],
  ["hertz", "Hertz"],
  ["dateTimeAsIso", "Date and time"],
  ["bool_yes_no", "Yes or no"],
];

const PLAIN: Unit = { kind: "fixed", multiply: 1, prefix: "", suffix: "" };
const SI = ["f", "p", "n", "µ", "m", "", "k", "M", "G", "T", "P", "E", "Z", "Y"];
const COUNTS = ["", "K", "M", "B", "T"];

function scaled(prefixes: readonly string[], offset: number, after: string, prefix = ""): Unit {
  return { kind: "scaled", base: 1000, offset, suffixes: prefixes.map((one) => one + after), prefix };
}

/** The unit of an id: of the table, or one that the id itself describes, such as `suffix:x`. */
export function findUnit(table: UnitTable, id: string | undefined): Unit {
  if (!id) return PLAIN;
  if (Object.hasOwn(table, id)) return table[id]!;
  const colon = id.indexOf(":");
  const [name, text] = colon < 0 ? ["", id] : [id.slice(0, colon), id.slice(colon + 1)];
  switch (name) {
    case "prefix":
      return { ...PLAIN, prefix: text } as Unit;
    case "suffix":
      return { ...PLAIN, suffix: text === "" ? "" : ` ${text}` } as Unit;
    case "time":
      return { kind: "date", pattern: text };
    case "count":
      return scaled(COUNTS, 0, ` ${text}`);
    case "si": {
      const first = text.startsWith("μ") ? "µ" : text.slice(0, 1);
      const place = first === "" ? -1 : SI.indexOf(first);
      const unit = place < 0 ? text : text.slice(1);
      return {
        ...scaled(SI, place < 0 ? 5 : place, ""),
        suffixes: SI.map((one) => ` ${one}${unit}`),
      } as Unit;
    }
    case "currency":
      return currency(text);
    case "bool": {
      const [yes, no = "-"] = text.split("/", 2);
      return { kind: "boolean", yes: yes!, no };
    }
    default:
      return { ...PLAIN, suffix: ` ${id}` } as Unit;
  }
}

function currency(text: string): Unit {
  if (!text.startsWith("financial:")) return scaled(COUNTS, 0, "", text);
  const [symbol = "", place] = text.slice("financial:".length).split(":");
  return place === "suffix" ? ({ ...PLAIN, suffix: symbol } as Unit) : ({ ...PLAIN, prefix: symbol } as Unit);
}

/** What writes numbers of a unit. */
export function formatWith(table: UnitTable, options: FormatOptions): (value: number) => Formatted {
  const unit = findUnit(table, options.unit);
  const { decimals, clock = BROWSER_CLOCK } = options;
  if (unit.kind === "date") return (value) => plain(writeDate(unit, value, clock));
  if (options.isTick && decimals === undefined) {
    return (value) => {
      const made = write(unit, value, undefined);
      return { ...made, text: made.text.replace(/(\.\d*?)0+$/, "$1").replace(/\.$/, "") };
    };
  }
  return (value) => write(unit, value, decimals);
}

function plain(text: string): Formatted {
  return { prefix: "", text, suffix: "" };
}

function write(
  unit: Exclude<Unit, { kind: "date" }>,
  value: number,
  decimals: number | undefined,
): Formatted {
  switch (unit.kind) {
    case "fixed":
      return { prefix: unit.prefix, text: fixed(value * unit.multiply, decimals), suffix: unit.suffix };
    case "scaled":
      return writeScaled(unit, value, decimals);
    case "steps":
      return writeStep(unit.steps, value, decimals);
    case "boolean":
      return plain(value !== 0 && !Number.isNaN(value) ? unit.yes : unit.no);
    case "special":
      return special(unit.rules, value, decimals);
  }
}

function writeDate({ today, pattern }: Extract<Unit, { kind: "date" }>, value: number, clock: Clock): string {
  const day = (millis: number) => datePattern(millis, "YYYY-MM-DD", clock);
  return datePattern(value, today && day(value) === day(Date.now()) ? today : pattern, clock);
}

function writeScaled(
  unit: Extract<Unit, { kind: "scaled" }>,
  value: number,
  decimals: number | undefined,
): Formatted {
  if (!Number.isFinite(value)) return plain(fixed(value, decimals));
  // With a sign before it, a number is written by its size: -$5.
  const isNegative = unit.prefix !== "" && value < 0;
  const size = isNegative ? -value : value;
  const { base, offset, suffixes } = unit;
  const found = size === 0 ? 0 : Math.floor(Math.log10(Math.abs(size)) / Math.log10(base));
  const power = Math.max(-offset, Math.min(suffixes.length - 1 - offset, found));
  return {
    prefix: (isNegative ? "-" : "") + unit.prefix,
    text: fixed(size / base ** power, decimals),
    suffix: suffixes[offset + power] ?? "",
  };
}

const PLURALS = [" min", " hour", " day", " week", " year"];

function writeStep(steps: readonly Step[], value: number, decimals: number | undefined): Formatted {
  const size = Math.abs(value);
  const step = steps.find(({ below }) => below === null || size < below) ?? steps.at(-1);
  if (!step) return plain(fixed(value, decimals));
  const shown = (value * step.multiply) / step.divide;
  const isPlural = step.plural && Math.abs(shown) > 1 && PLURALS.includes(step.suffix);
  // Zero seconds are "0 s", however many digits are asked for.
  const isZero = value === 0 && step.below !== null && step.below < 1e-300;
  return {
    prefix: "",
    text: isZero ? "0" : fixed(shown, decimals),
    suffix: step.suffix + (isPlural ? "s" : ""),
  };
}
