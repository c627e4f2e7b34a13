/**
 * The search that a page runs: traces as they are found, until all are, or until somebody stops it. What was
 * found by then stays.
 */
import { useEffect, useRef, useState } from "preact/hooks";
import { getJson } from "../../frame/api";
import { type FoundTrace, foundTrace, type TempoTrace } from "./found";

export interface Search {
  traces: readonly FoundTrace[];
  inspectedSpans: number;
  elapsedMillis: number;
  isRunning: boolean;
  /** Whether somebody stopped it. */
  isStopped: boolean;
  error?: Error;
  stop: () => void;
  again: () => void;
}

interface Asked {
  query: string;
  from: number;
  to: number;
  limit: number;
}

/** Spans that are answered of each trace: enough for columns and for rows of spans. */
const SPANS_PER_TRACE = 20;

type State = Omit<Search, "stop" | "again">;
const NOTHING: State = { traces: [], inspectedSpans: 0, elapsedMillis: 0, isRunning: true, isStopped: false };

interface TempoAnswer {
  traces?: readonly TempoTrace[];
  metrics?: { inspectedSpans?: string };
}

export function useSearch({ query, from, to, limit }: Asked): Search {
  const [state, setState] = useState<State>(NOTHING);
  const [turn, setTurn] = useState(0);
  const running = useRef<AbortController | undefined>(undefined);
  useEffect(() => {
    const controller = new AbortController();
    running.current = controller;
    const began = performance.now();
    setState((before) => ({ ...before, isRunning: true, isStopped: false, error: undefined }));
    const params = {
      q: query,
      start: Math.floor(from / 1000),
      end: Math.ceil(to / 1000),
      limit,
      spss: SPANS_PER_TRACE,
    };
    getJson<TempoAnswer>("/tempo/api/search", params, controller.signal).then(
      (answer) =>
        setState({
          traces: (answer.traces ?? []).map(foundTrace),
          inspectedSpans: Number(answer.metrics?.inspectedSpans ?? 0),
          elapsedMillis: performance.now() - began,
          isRunning: false,
          isStopped: false,
        }),
      (error: Error) => {
        if (error.name !== "AbortError") setState({ ...NOTHING, isRunning: false, error });
      },
    );
    return () => controller.abort();
  }, [query, from, to, limit, turn]);
  const stop = () => {
    running.current?.abort();
    setState((before) => ({ ...before, isRunning: false, isStopped: true }));
  };
  return { ...state, stop, again: () => setTurn(turn + 1) };
}
