/**
 * The search that a page runs: traces as they are found, until all are, or until somebody stops it. What was
 * found by then stays.
 */
import { useEffect, useRef, useState } from "preact/hooks";
import { ApiError, connection, eachLine, question } from "../../frame/api";
import type { Range } from "../../frame/time";
import { token } from "../../frame/token";
import { bytes, count } from "../../ui/format";
import { type FoundTrace, foundTrace, type SearchedTrace } from "./found";

export interface Search {
  traces: readonly FoundTrace[];
  inspectedSpans: number;
  inspectedBytes: number;
  /** Blocks that the query is about, and granules of them: all that may hold matches, and those read. */
  blocks: number;
  granules: number;
  readGranules: number;
  elapsedMillis: number;
  isRunning: boolean;
  /** Whether somebody stopped it. */
  isStopped: boolean;
  /** Whether more match than were asked for. */
  isTruncated: boolean;
  /** Parts of the store that could not be read. */
  damagedBlocks: number;
  error?: Error;
  stop: () => void;
  again: () => void;
}

interface Asked {
  query: string;
  /** Attributes to be answered of spans, with commas between. */
  select: string;
  /** The time that is looked at: another object asks again, also one of the same numbers. */
  within: Range;
  limit: number;
  /** How many spans are answered of each trace; without it, some. */
  spans?: number;
  /** Which traces are found first, where there are more than are asked for. */
  order: "newest" | "duration" | "spans";
}

/** Spans that are answered of each trace, unless somebody wants more: enough for most columns. */
const USUAL_SPANS = 20;
/** What the server answers at most. */
const MOST_SPANS = 1000;
/** Traces are drawn so often, however fast they are found. */
const DRAW_EVERY_MILLIS = 120;

/** How many spans of each trace a text asks for. */
export function spansOf(text: string | undefined): number {
  return Math.max(1, Math.min(MOST_SPANS, Math.floor(Number(text)) || USUAL_SPANS));
}

/** How many can be asked for where so many were too few; `undefined` if no more can. */
export function moreSpans(spans: number): number | undefined {
  return spans < MOST_SPANS ? Math.min(MOST_SPANS, spans * 5) : undefined;
}

type State = Omit<Search, "stop" | "again">;
const NOTHING: State = {
  traces: [],
  inspectedSpans: 0,
  inspectedBytes: 0,
  blocks: 0,
  granules: 0,
  readGranules: 0,
  elapsedMillis: 0,
  isRunning: true,
  isStopped: false,
  isTruncated: false,
  damagedBlocks: 0,
};

/** A line of the answer. */
export interface SearchLine {
  traces?: readonly SearchedTrace[];
  progress?: {
    inspectedSpans: number;
    inspectedBytes: number;
    blocks: number;
    jobs: number;
    completedJobs: number;
    elapsedMillis: number;
  };
  done?: { truncated: boolean; damagedBlocks: number; elapsedMillis: number };
  error?: string;
}

/** What a search has looked into, in words: how far it is, while it runs and when it is over. */
export function lookedInto(found: Omit<Search, "stop" | "again">): string {
  const { granules, readGranules, blocks } = found;
  const part = readGranules < granules ? `${count(readGranules)} of ${count(granules)}` : count(granules);
  // What came last is in memory, and in no block yet.
  const where = blocks > 0 ? ` of ${count(blocks)} ${blocks === 1 ? "block" : "blocks"}` : "";
  const words = [
    granules > 0 ? `${part} granules${where}` : "",
    found.inspectedSpans > 0 ? `${count(found.inspectedSpans)} spans inspected` : "",
    found.inspectedBytes > 0 ? bytes(found.inspectedBytes) : "",
    found.elapsedMillis > 0 ? `${(found.elapsedMillis / 1000).toFixed(2)} s` : "",
  ];
  return words.filter(Boolean).join(" · ");
}

/** What is known after one more line. */
export function heard(before: State, line: SearchLine): State {
  if (line.error !== undefined) throw new ApiError(line.error, 500);
  if (line.traces) return { ...before, traces: [...before.traces, ...line.traces.map(foundTrace)] };
  if (line.progress) {
    const { inspectedSpans, inspectedBytes, blocks, elapsedMillis } = line.progress;
    const { jobs: granules, completedJobs: readGranules } = line.progress;
    return { ...before, inspectedSpans, inspectedBytes, blocks, granules, readGranules, elapsedMillis };
  }
  if (!line.done) return before;
  const { truncated, damagedBlocks, elapsedMillis } = line.done;
  return { ...before, elapsedMillis, damagedBlocks, isTruncated: truncated, isRunning: false };
}

/** What is shown of a search that runs: what was found last stays until something is found now. */
export function soFar(shown: State, known: State): State {
  return known.isRunning && known.traces.length === 0 ? { ...known, traces: shown.traces } : known;
}

/**
 * What is shown of a search that did not come to its end: what it found, or what the one before had found if
 * that is nothing, since a server that is gone for a moment takes nothing away.
 */
export function brokenOff(shown: State, known: State, error?: Error): State {
  const last = known.traces.length > 0 ? known : shown;
  return { ...last, isRunning: false, error };
}

export function useSearch({ query, select, within, limit, spans = USUAL_SPANS, order }: Asked): Search {
  const [state, setState] = useState<State>(NOTHING);
  const [turn, setTurn] = useState(0);
  const isLost = connection.value.lost;
  const running = useRef<{ stop: () => void } | undefined>(undefined);
  useEffect(() => {
    const controller = new AbortController();
    let isOver = false;
    let known = NOTHING;
    let isDue = false;
    const end = (last: Partial<State>) => {
      if (isOver) return;
      isOver = true;
      clearInterval(timer);
      known = { ...known, isRunning: false, ...last };
      setState(known);
    };
    const timer = setInterval(() => {
      if (isDue) setState((before) => soFar(before, known));
      isDue = false;
    }, DRAW_EVERY_MILLIS);
    running.current = {
      stop: () => {
        controller.abort();
        end({ isStopped: true });
      },
    };
    setState((before) => ({ ...before, isRunning: true, isStopped: false, error: undefined }));
    const asked = {
      q: query,
      select,
      sort: order,
      start: Math.floor(within.from),
      end: Math.ceil(within.to),
      limit,
      spss: spans,
    };
    eachLine<SearchLine>(question("/api/traces/search", asked), { signal: controller.signal }, (line) => {
      known = heard(known, line);
      isDue = true;
    }).then(
      () => end({}),
      (error: Error) => {
        if (error.name === "AbortError") return end({});
        if (isOver) return;
        isOver = true;
        clearInterval(timer);
        // That the server does not answer is said by the frame.
        const isGone = error instanceof ApiError && error.status === 0;
        setState((before) => brokenOff(before, known, isGone ? undefined : error));
      },
    );
    return () => {
      isOver = true;
      clearInterval(timer);
      controller.abort();
    };
    // One that is back is asked again, and one that wanted to know who asks.
  }, [query, select, within, limit, spans, order, turn, isLost, token.value]);
  return { ...state, stop: () => running.current?.stop(), again: () => setTurn(turn + 1) };
}
