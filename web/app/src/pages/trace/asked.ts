/** What the page asks about a trace besides its columns, and the shapes of the answers. */
import { ask, getJson, question } from "../../frame/api";
import type { FlameAnswer } from "../../ui/canvas/flamenodes";
import { readColumns, spanId, type Trace } from "./columns";

/** Whether a trace is one that was opened from a file: it is kept for a while, and not stored. */
export const isUpload = (id: string) => id.startsWith("upload-");

/** A value of an attribute, with its type as OpenTelemetry has it. */
export interface Attribute {
  key: string;
  type: string;
  value: unknown;
}

export interface SpanEvent {
  time: string;
  name: string;
  attributes: Attribute[];
  droppedAttributes: number;
}

export interface SpanLink {
  traceId: string;
  spanId: string;
  traceState: string;
  attributes: Attribute[];
  droppedAttributes: number;
}

export interface SpanDetails {
  row: number;
  id: string;
  parentId: string | null;
  name: string;
  kind: string;
  start: string;
  durationNanos: number;
  selfNanos: number;
  criticalNanos: number;
  slackNanos: number;
  savingNanos: number;
  status: { code: string; message: string };
  traceState: string;
  flags: number;
  attributes: Attribute[];
  droppedAttributes: number;
  events: SpanEvent[];
  droppedEvents: number;
  links: SpanLink[];
  droppedLinks: number;
  resource: number;
  scope: number;
}

/** A resource or a scope. */
export interface Owner {
  name?: string;
  version?: string;
  attributes: Attribute[];
  droppedAttributes: number;
}

export interface Details {
  revision: string;
  t0: string;
  spans: SpanDetails[];
  resources: Owner[];
  scopes: Owner[];
}

export interface AttributeColumn {
  revision: string;
  type: string;
  values: unknown[];
  /** For each row a place in `values`, or -1. */
  rows: number[];
  truncated: boolean;
}

export interface FoundKey {
  key: string;
  type: string;
  spans: number;
}

export interface Group {
  service?: string;
  name: string | null;
  count: number;
  errors: number;
  totalNanos: number;
  selfNanos: number;
  criticalNanos: number;
  minNanos: number;
  maxNanos: number;
  meanNanos: number;
  p50Nanos: number;
  p95Nanos: number;
  p99Nanos: number;
  longestRow: number;
}

export interface Statistics {
  revision: string;
  groups: Group[];
  total: number;
  truncated: boolean;
}

export interface FoundRows {
  revision: string;
  rows: number[];
  total: number;
  truncated: boolean;
}

const path = (id: string, part = "") => `/api/trace/${encodeURIComponent(id)}${part}`;

/** The trace; says when its answer has come, for tests of how quick the page is. */
export async function askTrace(id: string, signal: AbortSignal): Promise<Trace> {
  const response = await ask(path(id), { signal });
  const bytes = await response.arrayBuffer();
  performance.mark("kymo:trace-answer");
  return readColumns(bytes);
}

/** Details of spans, by their rows or their ids. */
export function askDetails(
  id: string,
  { rows, ids }: { rows?: readonly number[]; ids?: readonly string[] },
  signal?: AbortSignal,
): Promise<Details> {
  return getJson(path(id, "/spans"), { rows: rows?.join(","), ids: ids?.join(",") }, signal);
}

/**
 * Details of the span of a row. The server may have read the trace again since the page did, and a row is
 * another span then: that one is asked for by its id.
 */
export async function askSpan(id: string, trace: Trace, row: number, signal: AbortSignal): Promise<Details> {
  const details = await askDetails(id, { rows: [row] }, signal);
  const span = spanId(trace, row);
  if (details.spans[0]?.id === span) return details;
  return askDetails(id, { ids: [span] }, signal);
}

export function askColumn(id: string, key: string, signal?: AbortSignal): Promise<AttributeColumn> {
  return getJson(path(id, "/column"), { key }, signal);
}

export function askKeys(id: string, signal?: AbortSignal): Promise<{ keys: FoundKey[] }> {
  return getJson(path(id, "/keys"), {}, signal);
}

export function askFind(id: string, q: string, signal?: AbortSignal): Promise<FoundRows> {
  return getJson(path(id, "/find"), { q }, signal);
}

export function askStatistics(id: string, by: string, signal?: AbortSignal): Promise<Statistics> {
  return getJson(path(id, "/stats"), { by }, signal);
}

export function askFlame(id: string, signal?: AbortSignal): Promise<FlameAnswer> {
  return getJson(path(id, "/flame"), {}, signal);
}

/** Where a trace can be downloaded from. */
export function exportPath(id: string, format: "otlp" | "perfetto"): string {
  return question(path(id, "/export"), { format });
}

/** A value as text: what is a list or a map, as JSON. */
export function valueText(value: unknown): string {
  if (typeof value === "string") return value;
  return value === null || value === undefined
    ? ""
    : typeof value === "object"
      ? JSON.stringify(value)
      : String(value);
}
