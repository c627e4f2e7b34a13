/** Traces as a search finds them. */

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
      name: string;
      start: string;
      durationNanos: number;
      attributes: readonly { key: string; type: string; value: unknown }[];
    }[];
  }[];
}

/** A trace of the answer of a search. */
export function foundTrace(trace: SearchedTrace): FoundTrace {
  const spans = trace.spanSets
    .flatMap((set) => set.spans)
    .map(({ id, name, start, durationNanos, attributes }) => {
      const known: Record<string, string> = { name };
      for (const { key, value } of attributes) known[key] = valueText(value);
      return { id, start, durationNanos, attributes: known };
    });
  const { id, start, durationNanos, spanCount, errorCount, matched } = trace;
  const [service, name] = [trace.rootService ?? "", trace.rootName ?? ""];
  return { id, service, name, start, durationNanos, spanCount, errorCount, matched, spans };
}

function valueText(value: unknown): string {
  if (value === null || value === undefined) return "nil";
  return typeof value === "object" ? JSON.stringify(value) : String(value);
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
