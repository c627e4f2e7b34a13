/** Traces for tests: written as columns are, from a short list of spans. */
import { type Header, readColumns, type Trace } from "../src/pages/trace/columns";

export interface MadeSpan {
  start: number;
  duration: number;
  /** Row of the parent; -1 at the top. */
  parent?: number;
  service?: number;
  name?: number;
  flags?: number;
}

interface Part {
  name: string;
  type: string;
  values: ArrayLike<number> & { buffer: ArrayBufferLike };
  length: number;
  /** The value of all rows, instead of values. */
  fill?: number;
}

/** The bytes of an answer with these columns and some members of its header. */
export function columnsFile(members: Partial<Header>, parts: readonly Part[], version = 1): ArrayBuffer {
  let offset = 0;
  const columns = parts.map(({ name, type, values, length, fill }) => {
    if (fill !== undefined) return { name, type, length, fill, offset: undefined };
    const entry = { name, type, length, offset };
    offset += Math.ceil((values.buffer as ArrayBuffer).byteLength / 8) * 8;
    return entry;
  });
  const header = new TextEncoder().encode(JSON.stringify({ ...members, columns }));
  const base = Math.ceil((16 + header.length) / 8) * 8;
  const file = new ArrayBuffer(base + offset);
  const view = new DataView(file);
  new Uint8Array(file).set(new TextEncoder().encode("KYTC"));
  view.setUint32(4, version, true);
  view.setUint32(8, header.length, true);
  new Uint8Array(file).set(header, 16);
  parts.forEach(({ values }, index) => {
    const at = columns[index]!.offset;
    if (at !== undefined) new Uint8Array(file).set(new Uint8Array(values.buffer as ArrayBuffer), base + at);
  });
  return file;
}

/** A trace of these spans, which are in tree order; some columns may have one value for all rows. */
export function made(spans: readonly MadeSpan[], fills: Readonly<Record<string, number>> = {}): Trace {
  const count = spans.length;
  const subtree = new Uint32Array(count).fill(1);
  const depth = new Uint16Array(count);
  for (let row = count - 1; row >= 0; row -= 1) {
    const above = spans[row]!.parent ?? -1;
    if (above >= 0) subtree[above]! += subtree[row]!;
  }
  spans.forEach(({ parent = -1 }, row) => {
    if (parent >= 0) depth[row] = depth[parent]! + 1;
  });
  const id = new Uint8Array(count * 8);
  for (let row = 0; row < count; row += 1) new DataView(id.buffer).setUint32(row * 8 + 4, row + 1);
  const floats = (pick: (span: MadeSpan) => number) => Float64Array.from(spans, pick);
  const whole = (pick: (span: MadeSpan) => number) => Int32Array.from(spans, pick);
  const zero = new Uint8Array(count);
  const parts: [string, string, Part["values"]][] = [
    ["start", "f64", floats(({ start }) => start)],
    ["duration", "f64", floats(({ duration }) => duration)],
    ["self", "f64", floats(({ duration }) => duration)],
    ["critical", "f64", floats(() => 0)],
    ["slack", "f64", floats(() => 0)],
    ["saving", "f64", floats(() => 0)],
    ["parent", "i32", whole(({ parent = -1 }) => parent)],
    ["subtree", "u32", subtree],
    ["depth", "u16", depth],
    ["name", "i32", whole(({ name = 0 }) => name)],
    ["service", "i32", whole(({ service = 0 }) => service)],
    ["flags", "i32", whole(({ flags = 0 }) => flags)],
    ...["resource", "scope", "kind", "status", "message", "events", "links"].map(
      (name): [string, string, Part["values"]] => [name, "u8", zero],
    ),
    ["id", "bytes8", id],
    ["pathRow", "i32", new Int32Array(0)],
    ["pathStart", "f64", new Float64Array(0)],
    ["pathDuration", "f64", new Float64Array(0)],
  ];
  const durationNanos = spans.reduce((end, { start, duration }) => Math.max(end, start + duration), 0);
  const header = {
    spans: count,
    durationNanos,
    t0: "1794771223254644904",
    names: ["one", "two"],
    services: [],
    hosts: [],
    resources: [],
  };
  const list = parts.map(([name, type, values]) => ({
    name,
    type,
    values,
    length: type === "bytes8" ? count : values.length,
    fill: fills[name],
  }));
  return readColumns(columnsFile(header, list));
}
