/** Traces as a search finds them. */
import type { TempoLabel } from "./difference";
import { labelText } from "./difference";

export interface FoundSpan {
  id: string;
  /** Nanoseconds since 1970, as text. */
  start: string;
  durationNanos: number;
  /** What the query named, by its name. */
  attributes: Readonly<Record<string, string>>;
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

/** A trace in the JSON of Tempo's search. */
export interface TempoTrace {
  traceID: string;
  rootServiceName?: string;
  rootTraceName?: string;
  startTimeUnixNano?: string;
  durationMs?: number;
  durationNanos?: string | number;
  spanSets?: readonly {
    matched?: number;
    spans?: readonly {
      spanID: string;
      name?: string;
      startTimeUnixNano: string;
      durationNanos: string;
      attributes?: readonly TempoLabel[];
    }[];
  }[];
  serviceStats?: Readonly<Record<string, { spanCount?: number; errorCount?: number }>>;
}

/** A trace of Tempo's JSON. */
export function foundTrace(trace: TempoTrace): FoundTrace {
  const sets = trace.spanSets ?? [];
  const stats = Object.values(trace.serviceStats ?? {});
  const spans = sets
    .flatMap((set) => set.spans ?? [])
    .map((span) => {
      const attributes: Record<string, string> = {};
      for (const { key, value } of span.attributes ?? []) attributes[key] = labelText(value);
      if (span.name) attributes.name = span.name;
      return {
        id: span.spanID,
        start: span.startTimeUnixNano,
        durationNanos: Number(span.durationNanos),
        attributes,
      };
    });
  return {
    id: trace.traceID,
    service: trace.rootServiceName ?? "",
    name: trace.rootTraceName ?? "",
    start: trace.startTimeUnixNano ?? "0",
    durationNanos:
      trace.durationNanos === undefined ? (trace.durationMs ?? 0) * 1e6 : Number(trace.durationNanos),
    spanCount: stats.reduce((sum, { spanCount = 0 }) => sum + spanCount, 0),
    errorCount: stats.reduce((sum, { errorCount = 0 }) => sum + errorCount, 0),
    matched: sets.reduce((sum, { matched = 0 }) => sum + matched, 0),
    spans,
  };
}

/** The value of a field that a span answered. Answers name fields without their scope. */
export function valueIn(span: FoundSpan, field: string): string | undefined {
  const bare = field.replace(/^(?:resource|span|event|link|instrumentation|parent)?\.(?:"(.*)"$)?/, "$1");
  return span.attributes[field] ?? span.attributes[bare];
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
