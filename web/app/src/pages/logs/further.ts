/**
 * Lines beyond those that a question answered: the older ones, or the later ones where the oldest come first. They
 * come in pieces, each from the last line that is shown on, and stay until something else is asked for.
 */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Params } from "../../frame/router";
import type { Range } from "../../frame/time";
import { underWay } from "../../frame/underway";
import { millisOf } from "../../ui/format";
import { askRange } from "./ask";
import { identity, type LogLine } from "./lines";

export type Direction = "backward" | "forward";

/** Lines of a piece: a second's work, and a while to scroll through. */
export const PIECE = 1000;
/** Lines that are shown at most, of some hundred bytes each. */
const MOST_SHOWN = 50_000;

/** What was asked first, and its lines in the order in which they are shown. */
export interface First {
  query: string;
  range: Range;
  direction: Direction;
  /** How many were asked for. */
  limit: number;
  lines: readonly LogLine[];
}

/** Asks for lines in the order in which they are shown; `also` has a bound in nanoseconds. */
type Ask = (also: Params) => Promise<readonly LogLine[]>;

/** The lines of an answer that are not shown yet: of the moment of the last one, some are answered again. */
export function unseen(shown: readonly LogLine[], found: readonly LogLine[]): LogLine[] {
  const edge = shown.at(-1)?.nanos;
  const known = new Map<string, number>();
  for (let at = shown.length - 1; at >= 0 && shown[at]!.nanos === edge; at -= 1) {
    const key = identity(shown[at]!);
    known.set(key, (known.get(key) ?? 0) + 1);
  }
  return found.filter((line) => {
    const times = line.nanos === edge ? (known.get(identity(line)) ?? 0) : 0;
    if (times > 0) known.set(identity(line), times - 1);
    return times === 0;
  });
}

/** The next lines after those that are shown, and whether there are no more. */
export async function nextPiece(
  ask: Ask,
  shown: readonly LogLine[],
  direction: Direction,
): Promise<{ lines: LogLine[]; isAtEnd: boolean }> {
  const edge = BigInt(shown.at(-1)!.nanos);
  // A time that is asked for holds its beginning, and not its end.
  const [within, beyond] =
    direction === "backward"
      ? [{ end: `${edge + 1n}` }, { end: `${edge}` }]
      : [{ start: `${edge}` }, { start: `${edge + 1n}` }];
  const found = await ask(within);
  const lines = unseen(shown, found);
  if (lines.length > 0 || found.length < PIECE) return { lines, isAtEnd: found.length < PIECE };
  // Of a moment with more lines than come at once, others cannot be asked for: it goes on beyond it.
  const next = await ask(beyond);
  return { lines: [...next], isAtEnd: next.length < PIECE };
}

/** What is shown behind the first lines, and how that stands. */
export interface State {
  of?: First;
  lines: readonly LogLine[];
  isAsking: boolean;
  isAtEnd: boolean;
  error?: Error;
}

const NOTHING: State = { lines: [], isAsking: false, isAtEnd: false };

/**
 * What stays behind the first lines when these are asked for again, as they are at every refresh: what was shown
 * of the same query and time, unless there is a gap between.
 */
export function carried(before: State, first: First | undefined): State {
  if (before.of === first) return before;
  const { of: old, lines } = before;
  const last = first?.lines.at(-1);
  const isSame = first && old && first.query === old.query && first.direction === old.direction;
  if (!isSame || !last || lines.length === 0 || first.lines.length < first.limit)
    return { ...NOTHING, of: first };
  const edge = BigInt(last.nanos);
  const isBackward = first.direction === "backward";
  const isBefore = (line: LogLine) => (isBackward ? BigInt(line.nanos) > edge : BigInt(line.nanos) < edge);
  const all = [...old.lines, ...lines];
  if (!isBefore(all[0]!) && all[0]!.nanos !== last.nanos) return { ...NOTHING, of: first };
  const { from, to } = first.range;
  const isWithin = ({ nanos }: LogLine) => millisOf(nanos) >= from && millisOf(nanos) <= to;
  const kept = unseen(
    first.lines,
    all.filter((line) => !isBefore(line) && isWithin(line)),
  ).map((line) => (line.nanos === last.nanos ? { ...line, key: `${line.key}/kept` } : line));
  return {
    ...NOTHING,
    of: first,
    lines: kept.slice(0, MOST_SHOWN),
    isAtEnd: before.isAtEnd && (isBackward ? from >= old.range.from : to <= old.range.to),
  };
}

export interface Further extends Omit<State, "of"> {
  /** Whether as many are shown as may be. */
  isFull: boolean;
  more: () => void;
}

/** What is shown behind the first lines. */
export function useFurther(first: First | undefined): Further {
  const [state, setState] = useState<State>(NOTHING);
  const controller = useRef<AbortController | undefined>(undefined);
  const now = useMemo(() => carried(state, first), [state, first]);
  useEffect(() => {
    setState(now);
    return () => controller.current?.abort();
  }, [first]);
  const shown = (first?.lines.length ?? 0) + now.lines.length;
  const more = () => {
    if (!first || now.isAsking) return;
    const own = new AbortController();
    controller.current = own;
    const end = underWay();
    const set = (next: Partial<State>) => setState((before) => ({ ...before, isAsking: false, ...next }));
    set({ isAsking: true, error: undefined });
    const { query, range, direction } = first;
    const ask: Ask = async (also) => {
      const params = { limit: PIECE, direction, ...also };
      const { lines } = await askRange(query, range, params, own.signal);
      return direction === "forward" ? lines.toReversed() : lines;
    };
    nextPiece(ask, [...first.lines, ...now.lines], direction)
      .then(
        ({ lines, isAtEnd }) => {
          // Lines of one moment that came in several answers have one key.
          const fresh = lines.map((line) => ({ ...line, key: `${line.key}/${shown}` }));
          if (!own.signal.aborted) set({ lines: [...now.lines, ...fresh], isAtEnd });
        },
        (error: Error) => {
          if (!own.signal.aborted) set({ error });
        },
      )
      .finally(end);
  };
  return { ...now, isFull: shown >= MOST_SHOWN, more };
}
