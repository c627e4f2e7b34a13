/** The events of all spans: listed by the log view, and marked on the bars. */
import { useMemo } from "preact/hooks";
import { getJson } from "../../frame/api";
import { type Asked, useAsk } from "../../frame/useask";
import type { Attribute } from "./asked";
import type { EventTimes } from "./bars";
import { byRow } from "./byrow";
import type { TraceState } from "./state";

export interface TraceEvent {
  row: number;
  /** Nanoseconds since 1970, as text. */
  time: string;
  name: string;
  attributes: Attribute[];
}

export interface TraceEvents {
  revision: string;
  events: TraceEvent[];
  total: number;
  /** Where to go on, if there are more. */
  next: number | null;
}

/** The events, if there are any. */
export function useEvents(state: TraceState, id: string): Asked<TraceEvents> {
  const { totals, revision } = state.trace.value.header;
  const question = (signal: AbortSignal) =>
    getJson<TraceEvents>(`/api/trace/${encodeURIComponent(id)}/events`, {}, signal);
  return useAsk(totals.events > 0 ? question : undefined, [id, revision, totals.events > 0]);
}

/** When events happened, by row, for drawing. */
export function useEventTimes(state: TraceState, id: string): EventTimes | undefined {
  const { data } = useEvents(state, id);
  const trace = state.trace.value;
  return useMemo(() => {
    if (!data || data.revision !== trace.header.revision) return undefined;
    return eventTimes(data.events, BigInt(trace.header.t0), trace.spans);
  }, [data, trace]);
}

/** Sorts events by row, as offsets from the first start. */
export function eventTimes(events: readonly TraceEvent[], t0: bigint, spans: number): EventTimes {
  const time = new Float64Array(events.length);
  const isException = new Uint8Array(events.length);
  const rows = new Int32Array(events.length);
  events.forEach((event, at) => {
    time[at] = Number(BigInt(event.time) - t0);
    isException[at] = event.name === "exception" ? 1 : 0;
    rows[at] = event.row;
  });
  return { time, isException, byRow: byRow(rows, spans) };
}
