/** The events of all spans: listed by the log view, and marked on the bars. */
import { useMemo } from "preact/hooks";
import { getJson } from "../../frame/api";
import { useAsk } from "../../frame/useask";
import { count } from "../../ui/format";
import type { Attribute } from "./asked";
import type { EventTimes } from "./bars";
import { byRow } from "./byrow";
import { type OfTrace, useOfTrace } from "./oftrace";
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

/** Events that are read: each is an object here, and more marks than these are one smear. */
const MOST_EVENTS = 100_000;

/** The first events by time; the server tells some at once. */
export async function askEvents(id: string, signal: AbortSignal): Promise<TraceEvents> {
  const path = `/api/trace/${encodeURIComponent(id)}/events`;
  const ask = (offset: number) => getJson<TraceEvents>(path, { offset }, signal);
  const first = await ask(0);
  const events = [...first.events];
  let { next } = first;
  while (next !== null && events.length < MOST_EVENTS) {
    const more = await ask(next);
    // Its rows are other spans. Who has the trace asks again when he has its newer version.
    if (more.revision !== first.revision) break;
    for (const event of more.events) events.push(event);
    next = more.next;
  }
  return { ...first, events, next };
}

/** The events, if there are any. */
export function useEvents(state: TraceState, id: string): OfTrace<TraceEvents> {
  const { totals, revision } = state.trace.value.header;
  const question = (signal: AbortSignal) => askEvents(id, signal);
  return useOfTrace(
    state,
    useAsk(totals.events > 0 ? question : undefined, [id, revision, totals.events > 0]),
  );
}

/** When events happened, by row, for drawing; and how many there are if these are not all. */
export function useEventTimes(state: TraceState, id: string): { times?: EventTimes; cut?: string } {
  const { data, isOfTrace } = useEvents(state, id);
  const trace = state.trace.value;
  return useMemo(() => {
    if (!data || !isOfTrace) return {};
    const times = eventTimes(data.events, BigInt(trace.header.t0), trace.spans);
    return { times, cut: cutText(data) };
  }, [data, trace]);
}

/** What is said where there are more events than were read. */
export function cutText({ events, total, next }: TraceEvents): string | undefined {
  return next === null ? undefined : `the first ${count(events.length)} of ${count(total)} events`;
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
