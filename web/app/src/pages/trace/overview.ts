/**
 * The whole trace in a small picture: every row goes to a line of it by its place, every span to the pixels
 * it covers. Spans that share pixels coalesce, so the work is one step for each span and one for each pixel,
 * however long spans are; it is done in slices, so that no frame waits for a million of them.
 */
import { FLAG, type Trace } from "./columns";

/** What the small picture shows, a value for each pixel. */
export interface Overview {
  width: number;
  height: number;
  /** Place of the service in the header, plus one; 0 where nothing ran. */
  service: Uint16Array;
  /** One where a span with an error is. */
  error: Uint8Array;
}

/** The work on an overview, so many spans at a time; the end is the overview. */
export function* overviewSlices(
  trace: Trace,
  width: number,
  height: number,
  slice = 50_000,
): Generator<undefined, Overview> {
  const lines = Math.min(height, Math.max(1, trace.spans));
  const service = new Uint16Array(width * lines);
  const error = new Uint8Array(width * lines);
  // The next pixel of a line that is still free: painted pixels point past themselves.
  const free = new Uint32Array((width + 1) * lines);
  for (let at = 0; at < free.length; at += 1) free[at] = at % (width + 1);
  const length = Math.max(1, trace.header.durationNanos);
  for (let row = 0; row < trace.spans; row += 1) {
    if (row % slice === slice - 1) yield undefined;
    const line = Math.floor((row / trace.spans) * lines);
    const from = Math.max(0, Math.min(width - 1, Math.floor((trace.start[row]! / length) * width)));
    const end = ((trace.start[row]! + Math.max(0, trace.duration[row]!)) / length) * width;
    const to = Math.max(from + 1, Math.min(width, Math.ceil(end)));
    if ((trace.flags[row]! & FLAG.error) !== 0) error.fill(1, line * width + from, line * width + to);
    const color = Math.min(trace.service[row]! + 1, 65_535);
    cover(service, free, line, from, to, width, color);
  }
  return { width, height: lines, service, error };
}

function cover(
  pixels: Uint16Array,
  free: Uint32Array,
  line: number,
  from: number,
  to: number,
  width: number,
  value: number,
): void {
  const base = line * (width + 1);
  let at = next(free, base, from);
  while (at < to) {
    pixels[line * width + at] = value;
    free[base + at] = at + 1;
    at = next(free, base, at + 1);
  }
}

/** The next free pixel, with the way to it shortened for who comes after. */
function next(free: Uint32Array, base: number, from: number): number {
  let end = from;
  while (free[base + end] !== end) end = free[base + end]!;
  let at = from;
  while (free[base + at] !== at) {
    const after = free[base + at]!;
    free[base + at] = end;
    at = after;
  }
  return end;
}

/** The overview at once. */
export function overview(trace: Trace, width: number, height: number): Overview {
  const work = overviewSlices(trace, width, height);
  for (;;) {
    const step = work.next();
    if (step.done) return step.value;
  }
}
