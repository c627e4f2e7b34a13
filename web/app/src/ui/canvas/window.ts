/**
 * The part of a time axis that is looked at, and how it moves: pure numbers, in any unit. A window never
 * leaves the whole, and never becomes narrower than what numbers can tell apart.
 */

export interface Window {
  from: number;
  to: number;
}

/** The narrowest window into a whole of that length: ten units, or what a double can tell apart. */
export function narrowest(length: number): number {
  return Math.max(10, length * 1e-13);
}

/** A window that lies inside `[0, length]`, as wide as it was if that is possible. */
export function clamp({ from, to }: Window, length: number): Window {
  const whole = Math.max(length, narrowest(length));
  const width = Math.min(whole, Math.max(narrowest(length), to - from));
  // One that became wider stays where its middle was.
  const start = to - from < width ? (from + to) / 2 - width / 2 : from;
  const at = Math.min(Math.max(0, start), whole - width);
  return { from: at, to: at + width };
}

/** Moved by a part of its width. */
export function pan(window: Window, part: number, length: number): Window {
  const step = (window.to - window.from) * part;
  return clamp({ from: window.from + step, to: window.to + step }, length);
}

/** Wider (`factor` above 1) or narrower, with the point at `anchor` (0 to 1) staying where it is. */
export function zoom(window: Window, factor: number, anchor: number, length: number): Window {
  const width = window.to - window.from;
  const wanted = Math.max(narrowest(length), width * factor);
  const at = window.from + width * anchor;
  return clamp({ from: at - wanted * anchor, to: at + wanted * (1 - anchor) }, length);
}

/** The window that shows a stretch with some room around it. */
export function around(from: number, to: number, length: number, room = 0.1): Window {
  const width = Math.max(to - from, narrowest(length));
  return clamp({ from: from - width * room, to: from + width * (1 + room) }, length);
}

/** Whether it shows all. */
export function isWhole({ from, to }: Window, length: number): boolean {
  return from <= 0 && to >= length;
}

/** As it is written in the address: `a,b` in whole units. */
export function writeWindow({ from, to }: Window): string {
  return `${Math.floor(from)},${Math.ceil(to)}`;
}

/** From the address; `undefined` if it is none. */
export function readWindow(text: string | undefined, length: number): Window | undefined {
  const match = /^(\d+(?:\.\d+)?),(\d+(?:\.\d+)?)$/.exec(text ?? "");
  if (!match) return undefined;
  const [from, to] = [Number(match[1]), Number(match[2])];
  return from < to ? clamp({ from, to }, length) : undefined;
}

/** Of a part: fewer would make the two ends of a narrow window the same. */
const PART_DIGITS = 15;

/** As it is written in the address where the whole may become another: as parts of it, `0.25,0.5`. */
export function writePart({ from, to }: Window, length: number): string {
  return [from, to].map((at) => Number((at / length).toPrecision(PART_DIGITS))).join(",");
}

/** From the address; all where it says none. */
export function readPart(text: string | undefined, length: number): Window {
  const [from = Number.NaN, to = Number.NaN, ...more] = text?.split(",").map(Number) ?? [];
  const isPart = more.length === 0 && from >= 0 && from < to && to <= 1;
  return isPart ? clamp({ from: from * length, to: to * length }, length) : { from: 0, to: length };
}
