/** Traces as a search finds them. */
import { pageLink } from "../../frame/router";
import { duration } from "../../ui/format";

/** A value of an attribute: how it is shown, and what it is sorted by. */
export interface FoundValue {
  text: string;
  order: number | string;
}

export interface FoundSpan {
  id: string;
  name: string;
  /** Nanoseconds since 1970, as text. */
  start: string;
  durationNanos: number;
  /** What was asked for, by the names that it was asked for by: scopes are kept apart. */
  attributes: ReadonlyMap<string, FoundValue>;
}

export interface FoundTrace {
  id: string;
  service: string;
  name: string;
  /** Nanoseconds since 1970, as text. */
  start: string;
  durationNanos: number;
  spanCount: number;
  errorCount: number;
  /** How many spans match; those that came may be fewer. */
  matched: number;
  spans: readonly FoundSpan[];
}

/** A trace as the server writes it. */
export interface SearchedTrace {
  id: string;
  rootService: string | null;
  rootName: string | null;
  start: string;
  durationNanos: number;
  spanCount: number;
  errorCount: number;
  matched: number;
  spanSets: readonly {
    spans: readonly {
      id: string;
      name: string | null;
      start: string;
      durationNanos: number;
      attributes: readonly { key: string; type: string; value: unknown }[];
    }[];
  }[];
}

/** The path of a found trace: with the time that is looked at, for the way back; it is not live by itself. */
export function tracePath(id: string, span?: string): string {
  return pageLink(`/trace/${id}`, { span, refresh: undefined });
}

/** A trace of the answer of a search. */
export function foundTrace(trace: SearchedTrace): FoundTrace {
  const spans = trace.spanSets
    .flatMap((set) => set.spans)
    .map(({ id, name, start, durationNanos, attributes }) => {
      const known = new Map(attributes.map(({ key, type, value }) => [key, foundValue(type, value)]));
      return { id, name: name ?? "", start, durationNanos, attributes: known };
    });
  const { id, start, durationNanos, spanCount, errorCount, matched } = trace;
  const [service, name] = [trace.rootService ?? "", trace.rootName ?? ""];
  return { id, service, name, start, durationNanos, spanCount, errorCount, matched, spans };
}

function foundValue(type: string, value: unknown): FoundValue {
  if (value === null || value === undefined) return { text: "nil", order: "nil" };
  if (type === "duration") return { text: duration(Number(value)), order: Number(value) };
  const text = typeof value === "object" ? JSON.stringify(value) : String(value);
  // Texts of digits, as some clients send numbers, are sorted as numbers too.
  return { text, order: text.trim() !== "" && Number.isFinite(Number(text)) ? Number(text) : text };
}

/** The value of a field that a span answered. */
export function valueIn(span: FoundSpan, field: string): string | undefined {
  return span.attributes.get(field)?.text;
}

/** The values of a field in a trace: the different ones, in the order of its spans. */
export function valuesIn(trace: FoundTrace, field: string): string[] {
  const found = new Set<string>();
  for (const span of trace.spans) {
    const value = valueIn(span, field);
    if (value !== undefined && value !== "nil") found.add(value);
  }
  return [...found];
}

/** What spans, or a trace of several, are sorted by in the column of a field; those without it are last. */
export function orderIn(spans: readonly FoundSpan[], field: string): number | string | undefined {
  const values = spans.flatMap(({ attributes }) => attributes.get(field) ?? []);
  return values.find(({ text }) => text !== "nil" && text !== "")?.order;
}
