/**
 * Answers with rows. The server may have read the trace again since the page did: rows of another revision are
 * other spans.
 */
import { useEffect } from "preact/hooks";
import type { Asked } from "../../frame/useask";
import type { TraceState } from "./state";

/** How a question stands, and whether rows of its answer are rows of the trace that is shown. */
export interface OfTrace<T> extends Asked<T> {
  isOfTrace: boolean;
}

/** Looks whether an answer is of the trace that is shown; if it is of a newer one, the page reads that. */
export function useOfTrace<T extends { revision: string }>(state: TraceState, asked: Asked<T>): OfTrace<T> {
  const { data } = asked;
  // An answer that is older than the trace is followed by another: only one that has just come tells of a newer.
  useEffect(() => {
    if (data) state.meet(data.revision);
  }, [data]);
  return { ...asked, isOfTrace: data?.revision === state.trace.value.header.revision };
}
