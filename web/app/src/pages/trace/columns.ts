/**
 * A trace as columns: what `/api/trace/{id}` answers, read without a copy and without an object for each
 * span (docs/formats/trace-columns.md). Rows are spans in tree order.
 */

/** Numbers of a column; the header says how wide they are. */
export type Numbers = Uint8Array | Uint16Array | Uint32Array | Int32Array | Float64Array;

/** What the flags of a span say. */
export const FLAG = {
  error: 1,
  errorBelow: 2,
  root: 4,
  orphan: 8,
  running: 16,
  critical: 32,
  skewed: 64,
  cycle: 128,
  duplicate: 256,
  events: 512,
  links: 1024,
  exception: 2048,
  untimed: 4096,
  nameCut: 8192,
  outlasts: 16384,
} as const;

export const KINDS: readonly string[] = [
  "unspecified",
  "internal",
  "server",
  "client",
  "producer",
  "consumer",
];

/** What kind of span a number means. */
export function kindName(kind: number): string {
  return KINDS[kind] ?? `kind ${kind}`;
}

export interface ServiceTotals {
  name: string;
  namespace?: string;
  spans: number;
  errors: number;
  selfNanos: number;
  criticalNanos: number;
}

export interface TraceWarning {
  code: string;
  count: number;
  row: number | null;
  text: string;
}

interface ColumnEntry {
  name: string;
  type: string;
  length: number;
  offset?: number;
  fill?: number;
}

export interface Header {
  trace: string;
  traceId: string;
  revision: string;
  /** Nanoseconds since 1970, as text. */
  t0: string;
  durationNanos: number;
  spans: number;
  main: { row: number; name: string; service: string } | null;
  roots: number[];
  names: string[];
  messages: string[];
  hosts: string[];
  services: ServiceTotals[];
  scopes: { name: string; version: string }[];
  resources: { service: number; host: number | null; instance: string | null; spans: number }[];
  totals: Record<
    | "spans"
    | "errors"
    | "roots"
    | "orphans"
    | "running"
    | "skewed"
    | "cycles"
    | "duplicates"
    | "untimed"
    | "events"
    | "links"
    | "services"
    | "hosts"
    | "resources"
    | "maxDepth",
    number
  >;
  criticalPath: {
    durationNanos: number;
    idleNanos: number;
    spans: number;
    stretches: number;
    truncated: boolean;
  };
  warnings: TraceWarning[];
  columns: ColumnEntry[];
}

/** A trace that can be drawn. */
export interface Trace {
  header: Header;
  spans: number;
  start: Float64Array;
  duration: Float64Array;
  self: Float64Array;
  critical: Float64Array;
  slack: Float64Array;
  saving: Float64Array;
  parent: Numbers;
  subtree: Numbers;
  depth: Numbers;
  name: Numbers;
  service: Numbers;
  resource: Numbers;
  scope: Numbers;
  kind: Numbers;
  status: Numbers;
  message: Numbers;
  events: Numbers;
  links: Numbers;
  flags: Numbers;
  /** Eight bytes for each row. */
  id: Uint8Array;
  pathRow: Numbers;
  pathStart: Float64Array;
  pathDuration: Float64Array;
}

const TYPES = {
  f64: { make: Float64Array, size: 8 },
  u8: { make: Uint8Array, size: 1 },
  u16: { make: Uint16Array, size: 2 },
  u32: { make: Uint32Array, size: 4 },
  i32: { make: Int32Array, size: 4 },
  bytes8: { make: Uint8Array, size: 8 },
} as const;

const MAGIC = 0x43_54_59_4b; // "KYTC", little-endian
const VERSION = 1;
const HEADER_AT = 16;

/** Reads a trace. What is not one is an error that says why. */
export function readColumns(buffer: ArrayBuffer): Trace {
  if (buffer.byteLength < HEADER_AT) throw new Error("the answer ends before its header");
  const view = new DataView(buffer);
  if (view.getUint32(0, true) !== MAGIC) throw new Error("the answer is not a trace in columns");
  const version = view.getUint32(4, true);
  if (version !== VERSION) throw new Error(`the page knows version ${VERSION} of traces, not ${version}`);
  const headerLength = view.getUint32(8, true);
  if (HEADER_AT + headerLength > buffer.byteLength) throw new Error("the answer ends inside its header");
  const text = new TextDecoder().decode(new Uint8Array(buffer, HEADER_AT, headerLength));
  const header = JSON.parse(text) as Header;
  const base = Math.ceil((HEADER_AT + headerLength) / 8) * 8;
  const columns = new Map(header.columns.map((entry) => [entry.name, column(buffer, base, entry)]));
  const get = (name: string): Numbers => {
    const found = columns.get(name);
    if (!found) throw new Error(`the answer has no column ${name}`);
    return found;
  };
  const floats = (name: string): Float64Array => {
    const found = get(name);
    return found instanceof Float64Array ? found : Float64Array.from(found);
  };
  const id = get("id");
  return {
    header,
    spans: header.spans,
    start: floats("start"),
    duration: floats("duration"),
    self: floats("self"),
    critical: floats("critical"),
    slack: floats("slack"),
    saving: floats("saving"),
    parent: get("parent"),
    subtree: get("subtree"),
    depth: get("depth"),
    name: get("name"),
    service: get("service"),
    resource: get("resource"),
    scope: get("scope"),
    kind: get("kind"),
    status: get("status"),
    message: get("message"),
    events: get("events"),
    links: get("links"),
    flags: get("flags"),
    id: id instanceof Uint8Array ? id : new Uint8Array(header.spans * 8),
    pathRow: get("pathRow"),
    pathStart: floats("pathStart"),
    pathDuration: floats("pathDuration"),
  };
}

function column(buffer: ArrayBuffer, base: number, entry: ColumnEntry): Numbers {
  const type = TYPES[entry.type as keyof typeof TYPES];
  // A type that is not known belongs to a column that is not known.
  if (!type) return new Uint8Array(0);
  const values = entry.type === "bytes8" ? entry.length * 8 : entry.length;
  if (entry.offset === undefined) {
    const filled = new type.make(values);
    if (entry.fill) filled.fill(entry.fill);
    return filled;
  }
  if (base + entry.offset + entry.length * type.size > buffer.byteLength) {
    throw new Error(`the answer ends inside its column ${entry.name}`);
  }
  return new type.make(buffer, base + entry.offset, values);
}

/** The id of a row's span: 16 hexadecimal digits. */
export function spanId({ id }: Trace, row: number): string {
  let text = "";
  for (let at = row * 8; at < row * 8 + 8; at += 1) text += id[at]!.toString(16).padStart(2, "0");
  return text;
}

/** The row of a span; -1 if it is not there. */
export function rowOfSpan({ id, spans }: Trace, span: string): number {
  if (!/^[0-9a-f]{16}$/i.test(span)) return -1;
  const wanted = Array.from({ length: 8 }, (_, at) => Number.parseInt(span.slice(at * 2, at * 2 + 2), 16));
  for (let row = 0; row < spans; row += 1) {
    const at = row * 8;
    // The last bytes differ most often.
    if (id[at + 7] !== wanted[7]) continue;
    let same = 0;
    while (same < 7 && id[at + same] === wanted[same]) same += 1;
    if (same === 7) return row;
  }
  return -1;
}

/** The rows of many spans, in one pass over the trace; of several with the same id the first. */
export function rowsOfSpans({ id, spans }: Trace, wanted: Iterable<string>): Map<string, number> {
  const texts = new Map<bigint, string>();
  for (const span of wanted) if (/^[0-9a-f]{16}$/i.test(span)) texts.set(BigInt(`0x${span}`), span);
  const rows = new Map<string, number>();
  if (texts.size === 0) return rows;
  const view = new DataView(id.buffer, id.byteOffset, id.byteLength);
  for (let row = 0; row < spans; row += 1) {
    const text = texts.get(view.getBigUint64(row * 8));
    if (text !== undefined && !rows.has(text)) rows.set(text, row);
  }
  return rows;
}

/** The name of a row's span. */
export function nameOf(trace: Trace, row: number): string {
  return trace.header.names[trace.name[row]!] ?? "";
}

/** The service of a row's span. */
export function serviceOf(trace: Trace, row: number): string {
  return trace.header.services[trace.service[row]!]?.name ?? "";
}

/** The host of a row's span, if it is known. */
export function hostOf(trace: Trace, row: number): string | undefined {
  const host = trace.header.resources[trace.resource[row]!]?.host;
  return host === null || host === undefined ? undefined : trace.header.hosts[host];
}

/** Whether a flag is set. */
export function has(trace: Trace, row: number, flag: number): boolean {
  return (trace.flags[row]! & flag) !== 0;
}

/** When a row's span ends, in nanoseconds since the first start; one that ended too early ends at its start. */
export function endOf(trace: Trace, row: number): number {
  return trace.start[row]! + Math.max(0, trace.duration[row]!);
}

/** Nanoseconds since 1970 of an offset in a trace. */
export function absolute(trace: Trace, nanos: number): bigint {
  return BigInt(trace.header.t0) + BigInt(Math.round(nanos));
}
