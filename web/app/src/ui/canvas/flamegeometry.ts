/**
 * Where the boxes of a flame are: which of them can be seen in a window, and what is below the pointer. Boxes
 * come as columns in tree order. One that is narrower than a part of a pixel is not drawn, and what is below it
 * is not looked at if all of it is as narrow, so that a frame costs what can be seen; such neighbours are told of
 * as one strip. What is below a box may run before and after it.
 */
import type { Window } from "./window";

type Numbers = ArrayLike<number>;

export interface FlameBoxes {
  count: number;
  from: Numbers;
  to: Numbers;
  depth: Numbers;
  /** How many boxes a box has with all below it, itself included. */
  subtree: Numbers;
  /** Where the last box ends. */
  length: number;
  depths: number;
}

/** Boxes of a level beside each other that are too narrow to be drawn, from `left` to `right` in pixels. */
export interface Strip {
  depth: number;
  left: number;
  right: number;
  first: number;
  boxes: number;
  /** How many boxes below them are left out with them. */
  below: number;
}

/** What is below the pointer: a box, or a strip of several, of which it is the first. */
export interface Hit {
  box: number;
  strip?: Strip;
}

const NARROWEST = 0.4;
/** Narrow boxes with less room between them are one strip: marks so close are one for the eye. */
const STRIP_GAP = 2;
/** A strip may be narrower than what a pointer hits. */
const HIT_ROOM = 1;

/** From where to where a box reaches together with all that is below it. */
interface Spread {
  from: Float64Array;
  to: Float64Array;
}

const spreads = new WeakMap<FlameBoxes, Spread>();

/** The spread of each box, computed when it is first asked for. */
function spreadOf(boxes: FlameBoxes): Spread {
  const known = spreads.get(boxes);
  if (known) return known;
  const [from, to] = [Float64Array.from(boxes.from), Float64Array.from(boxes.to)];
  // What is below comes later, and is known before.
  for (let box = boxes.count - 1; box >= 0; box -= 1) {
    const end = box + boxes.subtree[box]!;
    for (let child = box + 1; child < end; child += boxes.subtree[child]!) {
      from[box] = Math.min(from[box]!, from[child]!);
      to[box] = Math.max(to[box]!, to[child]!);
    }
  }
  const spread = { from, to };
  spreads.set(boxes, spread);
  return spread;
}

/** The box at a place, or -1. */
export function boxAt(boxes: FlameBoxes, window: Window, part: number, depth: number): number {
  const time = window.from + part * (window.to - window.from);
  const spread = spreadOf(boxes);
  let found = -1;
  for (let box = 0; box < boxes.count; ) {
    const isInside = boxes.from[box]! <= time && time <= boxes.to[box]!;
    if (isInside && boxes.depth[box] === depth) found = box;
    const isBelow = spread.from[box]! <= time && time <= spread.to[box]!;
    box += isBelow && boxes.depth[box]! < depth ? 1 : boxes.subtree[box]!;
  }
  return found;
}

/** Pixels for a unit of the boxes. */
function scaleOf({ from, to }: Window, width: number): number {
  return width / (to - from || 1);
}

/** What is drawn at a place of a picture of that width: a box, a strip, or nothing. */
export function hitAt(
  boxes: FlameBoxes,
  window: Window,
  width: number,
  x: number,
  depth: number,
): Hit | undefined {
  const box = boxAt(boxes, window, x / Math.max(1, width), depth);
  const scale = scaleOf(window, width);
  if (box >= 0 && (boxes.to[box]! - boxes.from[box]!) * scale >= NARROWEST) return { box };
  let found: Strip | undefined;
  const look = (strip: Strip) => {
    const isHit = strip.left - HIT_ROOM <= x && x <= strip.right + HIT_ROOM;
    if (strip.depth === depth && isHit) found = strip;
  };
  eachSeen(boxes, window, width, depth, () => {}, look);
  if (found && found.boxes > 1) return { box: found.first, strip: found };
  const only = found?.first ?? box;
  return only < 0 ? undefined : { box: only };
}

/**
 * Calls `act` for each box that can be seen in a width and down to a depth, with its left and right, and `tell`
 * for each strip of those that are too narrow.
 */
export function eachSeen(
  boxes: FlameBoxes,
  window: Window,
  width: number,
  deepest: number,
  act: (box: number, left: number, right: number) => void,
  tell: (strip: Strip) => void = () => {},
): void {
  const spread = spreadOf(boxes);
  const scale = scaleOf(window, width);
  const isInSight = (left: number, right: number) => right >= 0 && left <= width;
  const place = (time: number) => (time - window.from) * scale;
  // The strip that is being made of each level.
  const open: (Strip | undefined)[] = [];
  const end = (depth: number) => {
    const strip = open[depth];
    open[depth] = undefined;
    if (strip) tell(strip);
  };
  const gather = (box: number, left: number, right: number, below: number) => {
    const depth = boxes.depth[box]!;
    const strip = open[depth];
    if (strip && left >= strip.left && left - strip.right <= STRIP_GAP) {
      strip.right = Math.max(strip.right, right);
      strip.boxes += 1;
      strip.below += below;
      return;
    }
    end(depth);
    open[depth] = { depth, left, right, first: box, boxes: 1, below };
  };
  for (let box = 0; box < boxes.count; ) {
    const [first, last] = [place(spread.from[box]!), place(spread.to[box]!)];
    if (boxes.depth[box]! > deepest || !isInSight(first, last)) {
      box += boxes.subtree[box]!;
      continue;
    }
    const [left, right] = [place(boxes.from[box]!), place(boxes.to[box]!)];
    if (last - first < NARROWEST) {
      gather(box, left, right, boxes.subtree[box]! - 1);
      box += boxes.subtree[box]!;
      continue;
    }
    if (isInSight(left, right)) {
      if (right - left >= NARROWEST) {
        // A strip does not go on behind a box that is drawn.
        end(boxes.depth[box]!);
        act(box, left, right);
      } else gather(box, left, right, 0);
    }
    box += 1;
  }
  for (let depth = 0; depth < open.length; depth += 1) end(depth);
}
