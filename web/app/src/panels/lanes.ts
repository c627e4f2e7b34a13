/**
 * The lanes of states over time: pieces that last until the next sample, unless that is late or the answer
 * says when they ended. Where nothing was heard there is nothing.
 */
import { colorOf } from "../ui/colors";
import { color, stepOf } from "./colors";
import { display, mappingOf, whole } from "./display";
import { isExemplars } from "./exemplars";
import { type Cell, customOf, type Field, type Frame, isHiddenFrom, nameOf, timeOf } from "./frame";
import { gapMillis, sortedRows } from "./series";

export interface Piece {
  from: number;
  to: number;
  text: string;
  color: string;
  /** The row that it begins with. */
  row: number;
}

export interface Lane {
  name: string;
  field: Field;
  pieces: Piece[];
}

const MOST_LANES = 200;

/** A column that has a lane, and the times of its samples. */
interface Source {
  field: Field;
  time: Field;
  /** When each state ended, where the answer says it. */
  ends?: Cell[];
}

/** What has a lane: each column beside the times that holds what can be shown. */
function sourcesOf(frames: readonly Frame[]): Source[] {
  return frames.flatMap((frame) => {
    const time = timeOf(frame);
    if (!time || isExemplars(frame)) return [];
    const ends = frame.fields.find((field) => field.type === "time" && field !== time)?.values;
    return frame.fields.filter(hasLane).map((field) => ({ field, time, ends }));
  });
}

function hasLane(field: Field): boolean {
  return !["time", "other", "frame"].includes(field.type) && !isHiddenFrom(field, "viz");
}

/** How many lanes frames have, also those that are not drawn. */
export function laneCount(frames: readonly Frame[]): number {
  return sourcesOf(frames).length;
}

/** The lanes of frames, as many as are drawn. */
export function lanesOf(frames: readonly Frame[], end: number, isMerged: boolean): Lane[] {
  return sourcesOf(frames)
    .slice(0, MOST_LANES)
    .map((source) => ({
      name: nameOf(source.field),
      field: source.field,
      pieces: piecesOf(source, end, isMerged),
    }));
}

function piecesOf(source: Source, end: number, isMerged: boolean): Piece[] {
  const { field } = source;
  const state = stateOf(field, isMerged);
  const pieces: Piece[] = [];
  let before: Cell;
  for (const { row, from, to } of spansOf(source, end)) {
    if (to <= from) continue;
    const cell = field.values[row];
    const { same, text, color } = state(cell);
    const last = pieces.at(-1);
    // What was silent in between may have been anything.
    if (isMerged && last && last.to >= from && before === same) {
      last.to = to;
      continue;
    }
    before = same;
    pieces.push({ from, to, text, color, row });
  }
  return pieces;
}

/** From when to when the samples that are there hold. */
function spansOf({ field, time, ends }: Source, end: number): { row: number; from: number; to: number }[] {
  const times = time.values as number[];
  const lasts = lastingOf(time, field);
  const order = sortedRows(times);
  const spanned = customOf(field).spanNulls;
  const found: { row: number; from: number; to: number }[] = [];
  // The sample after the one that is looked at, and the next that has a value.
  let next: number | undefined;
  let filled: number | undefined;
  for (const row of order.toReversed()) {
    const from = times[row]!;
    const cell = field.values[row];
    if (cell !== null && cell !== undefined) {
      let to = lasts(from, next);
      const isBridged =
        filled !== undefined &&
        (spanned === true || (typeof spanned === "number" && filled - from <= spanned));
      if (isBridged) to = filled!;
      const ended = ends?.[row];
      if (ends) to = Math.min(typeof ended === "number" ? ended : end, next ?? end);
      found.push({ row, from, to: Math.min(to, end) });
      filled = from;
    }
    next = from;
  }
  return found.reverse();
}

/** Until when a sample holds that was taken at a time, by when the next one came. */
function lastingOf(time: Field, field: Field): (from: number, next: number | undefined) => number {
  const limit = gapMillis(time, [field]);
  if (limit === undefined) return (_, next) => next ?? Number.POSITIVE_INFINITY;
  const interval = time.config?.interval ?? limit;
  return (from, next) => (next !== undefined && next - from <= limit ? next : from + interval);
}

interface State {
  /** What is one piece where it follows itself. */
  same: Cell;
  text: string;
  color: string;
}

function stateOf(field: Field, isMerged: boolean): (cell: Cell) => State {
  const show = display(field);
  const bands = isMerged ? bandsOf(field) : undefined;
  return (cell) => {
    const isMapped = mappingOf(field.config?.mappings, cell)?.text !== undefined;
    if (bands && typeof cell === "number" && !Number.isNaN(cell) && !isMapped) {
      return bands[stepOf(field, cell).index]!;
    }
    const shown = show(cell);
    const text = whole(shown);
    // States that nobody gave a colour have that of their text.
    const isColored = shown.isJudged && (field.type !== "string" || field.config?.mappings?.length);
    return { same: cell, text, color: isColored ? shown.color : colorOf(text) };
  };
}

/** The ranges between thresholds, where the panel itself says that those are what colours the numbers of a field: `< 80`, `80+`. */
function bandsOf(field: Field): State[] | undefined {
  const { config = {} } = field;
  const steps = config.thresholds?.steps ?? [];
  if (field.type !== "number" || config.color?.mode !== "thresholds" || steps.length < 2) return undefined;
  const isPercent = config.thresholds?.mode === "percentage";
  const show = display({
    ...field,
    config: { ...config, mappings: [], unit: isPercent ? "percent" : config.unit },
  });
  const bound = (at: number) => whole(show(steps[at]!.value));
  return steps.map((step, at) => {
    const text = at === 0 ? `< ${bound(1)}` : `${bound(at)}+`;
    return { same: text, text, color: color(step.color) };
  });
}
