/**
 * The values that stat, gauge, bar gauge and pie chart show, as the server found them, with the series that
 * they stand for.
 */
import { color, colorOfValue } from "./colors";
import type { Shown } from "./display";
import { isExemplars } from "./exemplars";
import { type Field, type Frame, numberOf, type ShownValue, timeOf } from "./frame";
import { type Link, linkOf } from "./links";

export interface Reduced {
  key: string;
  name: string;
  field: Field;
  shown: Shown;
  /** The series it stands for, over time. */
  trend?: { times: readonly number[]; values: readonly (number | null)[] };
  percentChange?: number;
  links: Link[];
}

/** The values of a panel; exemplars are none. */
export function reduced(values: readonly ShownValue[], frames: readonly Frame[]): Reduced[] {
  const ofSeries = values.filter(({ frame }) => !frames[frame] || !isExemplars(frames[frame]));
  return ofSeries.map((value, at) => one(value, at, frames));
}

function one(value: ShownValue, at: number, frames: readonly Frame[]): Reduced {
  const frame = frames[value.frame];
  const source = frame?.fields[value.field];
  const field: Field = {
    name: value.title,
    type: source?.type ?? "number",
    config: value.config,
    state: { displayName: value.title, seriesIndex: value.seriesIndex, range: value.range },
    values: [],
  };
  const times =
    value.row === undefined && frame ? (timeOf(frame)?.values as number[] | undefined) : undefined;
  return {
    key: `${at} ${value.title}`,
    name: value.title,
    field,
    shown: shownOf(value, field),
    trend: times && source?.type === "number" ? { times, values: source.values.map(numberOf) } : undefined,
    percentChange: value.percentChange,
    links: (value.links ?? []).flatMap((link) => linkOf(link) ?? []),
  };
}

function shownOf(value: ShownValue, field: Field): Shown {
  const number = value.numeric === null ? null : Number(value.numeric);
  const mode = field.config?.color?.mode ?? "thresholds";
  const share = Number(value.percent ?? 0);
  return {
    prefix: value.prefix ?? "",
    text: value.text,
    suffix: value.suffix ?? "",
    number,
    share: Number.isFinite(share) ? Math.max(0, Math.min(1, share)) : 0,
    color: value.color ? color(value.color) : colorOfValue(field, number),
    isJudged:
      mode === "thresholds" ||
      mode.startsWith("continuous-") ||
      (value.color !== undefined && mode !== "fixed"),
  };
}
