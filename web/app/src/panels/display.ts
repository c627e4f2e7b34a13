/**
 * How a value of a field is shown: its text with unit and decimals, after mappings, and its colour, by
 * thresholds or scale.
 */
import { type Formatted, formatWith, units } from "../ui/units";
import { color, colorOfValue } from "./colors";
import { type Cell, type Field, framesIn, type Mapping, type MappingResult, rowsOf, textOf } from "./frame";
import { clockOf } from "./zone";

export interface Shown extends Formatted {
  color: string;
  /** Whether thresholds, a mapping or a scale gave the colour, not the place among series. */
  isJudged: boolean;
  /** Where it lies between the least and the greatest of its scale, 0 to 1. */
  share: number;
  number: number | null;
}

/** What shows the values of a field. Made once for a field, called for each value. */
export function display(field: Field): (cell: Cell) => Shown {
  const { config = {} } = field;
  const unit = unitOf(field);
  const format = formatWith(units.value, {
    unit,
    decimals: typeof config.decimals === "number" ? config.decimals : undefined,
    kind: field.type,
    clock: clockOf(),
  });
  const [low, high] = field.state?.range ?? [config.min ?? 0, config.max ?? 100];
  const mode = config.color?.mode ?? "thresholds";
  const isJudgedByMode = mode === "thresholds" || mode.startsWith("continuous-");
  return (cell) => {
    const number = toNumber(field, cell);
    const mapped = mappingOf(config.mappings, cell);
    const share = number === null ? 0 : Math.max(0, Math.min(1, (number - low) / (high - low || 1)));
    const formatted = written(field, cell, number, mapped, format);
    const own = mapped?.color ?? enumColor(field, cell);
    return {
      ...formatted,
      number,
      share,
      color: own ? color(own) : colorOfValue(field, number),
      isJudged: own !== undefined || isJudgedByMode,
    };
  };
}

/** Times are dates, whatever unit the panel has for its numbers. */
function unitOf({ type, config, values }: Field): string | undefined {
  if (type !== "time" || /^(dateTime|time:)/.test(config?.unit ?? "")) return config?.unit;
  const [first, last] = [values[0], values.at(-1)];
  const isWithinMinute =
    values.length > 1 &&
    typeof first === "number" &&
    typeof last === "number" &&
    Math.abs(last - first) < 60_000;
  return isWithinMinute ? "time:YYYY-MM-DD HH:mm:ss.SSS" : "time:YYYY-MM-DD HH:mm:ss";
}

function toNumber(field: Field, cell: Cell): number | null {
  if (typeof cell === "number") return field.type === "string" ? null : cell;
  if (typeof cell === "boolean") return cell ? 1 : 0;
  return null;
}

function written(
  field: Field,
  cell: Cell,
  number: number | null,
  mapped: MappingResult | undefined,
  format: (value: number) => Formatted,
): Formatted {
  if (mapped?.text !== undefined && mapped.text !== "") return plain(mapped.text);
  if (field.type === "enum" && typeof cell === "number") {
    return plain(field.config?.type?.enum?.text?.[cell] ?? String(cell));
  }
  if (cell === null || cell === undefined || cell === "") return plain(field.config?.noValue ?? "");
  if (typeof cell === "boolean" && !field.config?.unit) return plain(String(cell));
  if (number !== null) return Number.isNaN(number) ? plain(field.config?.noValue ?? "NaN") : format(number);
  const within = framesIn(cell);
  if (within.length > 0) return plain(countOf(within.reduce((sum, frame) => sum + rowsOf(frame), 0)));
  const text = Array.isArray(cell) ? cell.map(textOf).join(", ") : textOf(cell);
  const unit = field.config?.unit ?? "";
  // A text has no scale, but may have something before or behind it.
  if (unit.startsWith("suffix:")) return { ...plain(text), suffix: unit.slice(7) };
  if (unit.startsWith("prefix:")) return { ...plain(text), prefix: unit.slice(7) };
  return plain(text);
}

function countOf(rows: number): string {
  return rows === 1 ? "1 row" : `${rows} rows`;
}

function plain(text: string): Formatted {
  return { prefix: "", text, suffix: "" };
}

function enumColor(field: Field, cell: Cell): string | undefined {
  return field.type === "enum" && typeof cell === "number"
    ? field.config?.type?.enum?.color?.[cell]
    : undefined;
}

/** All that is shown, as one text. */
export function whole({ prefix, text, suffix }: Formatted): string {
  return `${prefix}${text}${suffix}`;
}

/** What the mappings of a field make of a value; `undefined` if none fits. */
export function mappingOf(mappings: Mapping[] | undefined, cell: Cell): MappingResult | undefined {
  for (const mapping of mappings ?? []) {
    const found = fits(mapping, cell);
    if (found) return found;
  }
  return undefined;
}

function fits({ type, options }: Mapping, cell: Cell): MappingResult | undefined {
  const result = options?.result as MappingResult | undefined;
  switch (type) {
    case "value":
      return cell === null || cell === undefined
        ? undefined
        : Object.hasOwn(options, String(cell))
          ? (options as Record<string, MappingResult>)[String(cell)]
          : undefined;
    case "range": {
      const number =
        typeof cell === "number" ? cell : Number(cell === "" || cell === null ? Number.NaN : cell);
      if (Number.isNaN(number)) return undefined;
      const { from, to } = options as { from?: number | null; to?: number | null };
      const isWithin =
        (from === null || from === undefined || number >= from) &&
        (to === null || to === undefined || number <= to);
      return isWithin ? (result ?? {}) : undefined;
    }
    case "regex":
      return byPattern(String(options.pattern ?? ""), result, cell);
    case "special":
      return isSpecial(String(options.match), cell) ? (result ?? {}) : undefined;
    default:
      return undefined;
  }
}

function byPattern(
  pattern: string,
  result: MappingResult | undefined,
  cell: Cell,
): MappingResult | undefined {
  if (typeof cell !== "string") return undefined;
  const expression = patternOf(pattern);
  if (!expression?.test(cell)) return undefined;
  const isGlobal = /^\/.*\/[a-z]*g[a-z]*$/s.test(pattern);
  const replaced = isGlobal ? new RegExp(expression, `${expression.flags}g`) : expression;
  const text = result?.text === undefined ? undefined : cell.replace(replaced, result.text);
  return { ...result, text };
}

/** A pattern as dashboards write it, with or without slashes; `undefined` if it is none. */
export function patternOf(text: string): RegExp | undefined {
  const slashed = /^\/(.*)\/([a-z]*)$/s.exec(text);
  try {
    return slashed ? new RegExp(slashed[1]!, slashed[2]!.replace("g", "")) : new RegExp(`^(?:${text})$`);
  } catch {
    return undefined;
  }
}

function isSpecial(match: string, cell: Cell): boolean {
  const isNull = cell === null || cell === undefined;
  const isNotNumber = typeof cell === "number" && Number.isNaN(cell);
  switch (match) {
    case "null":
      return isNull;
    case "nan":
      return isNotNumber;
    case "null+nan":
      return isNull || isNotNumber;
    case "true":
      return cell === true || cell === "true";
    case "false":
      return cell === false || cell === "false";
    case "empty":
      return cell === "";
    default:
      return false;
  }
}
