/**
 * A flame: boxes by depth from the top down, as wide as what they stand for. A click looks at one closely,
 * Escape at all again. Boxes come as columns in tree order; what is narrower than a part of a pixel together
 * with all that is below it is left out, so that a frame costs what can be seen. What is below a box may run
 * before and after it.
 */
import { effect, useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { theme } from "../../frame/theme";
import type { Looking } from "./addresswindow";
import { cutTo, fade, type Paint, paint } from "./paint";
import { Scroller } from "./scroller";
import { Frames, Surface } from "./surface";
import { clamp, pan, type Window, zoom } from "./window";
import "./canvas.css";

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

interface FlameProps {
  boxes: FlameBoxes;
  label: string;
  text: (box: number) => string;
  color: (box: number) => string;
  tip: (box: number) => ComponentChildren;
  /** Whether a box is to stand out; `undefined` if none is. */
  isMatch?: (box: number) => boolean;
  selected?: number;
  onSelect?: (box: number) => void;
  /** Whether a box has an error, which is told by hatching. */
  isMarked?: (box: number) => boolean;
  /** What part is looked at, if somebody else keeps that, such as the address. */
  looking?: Looking;
}

const LINE = 18;
const NARROWEST = 0.4;
const ZOOM_STEP = 1.0015;

export function Flame(props: FlameProps) {
  const newest = useRef(props);
  newest.current = props;
  const scroll = useRef<HTMLDivElement>(null);
  const space = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const own = useSignal<Window>({ from: 0, to: props.boxes.length });
  const window = props.looking?.window ?? own;
  const look = (next: Window) => {
    if (props.looking) props.looking.look(next);
    else own.value = next;
  };
  const [tip, setTip] = useState<{ box: number; x: number; y: number }>();
  const parts = useRef<{ frames: Frames; surface: Surface; scroller: Scroller } | undefined>(undefined);
  useEffect(() => {
    own.value = { from: 0, to: props.boxes.length };
    const frames = new Frames(() =>
      drawFlame(surface.clear(), newest.current, window.peek(), scroller.top, surface.width, surface.height),
    );
    const surface = new Surface(canvas.current!, frames.ask);
    const scroller = new Scroller(scroll.current!, space.current!, frames.ask);
    scroller.setTotal((props.boxes.depths + 1) * LINE);
    parts.current = { frames, surface, scroller };
    const end = effect(() => {
      window.value;
      theme.value;
      frames.ask();
    });
    return () => {
      end();
      frames.stop();
      surface.close();
      scroller.close();
    };
  }, [props.boxes, window]);
  useEffect(() => parts.current?.frames.ask());
  const at = (event: MouseEvent) => {
    const { surface, scroller } = parts.current!;
    return boxAt(
      newest.current.boxes,
      window.peek(),
      event.offsetX / surface.width,
      Math.floor((event.offsetY + scroller.top) / LINE),
    );
  };
  const reset = () => look({ from: 0, to: props.boxes.length });
  const isZoomed = window.value.from > 0 || window.value.to < props.boxes.length;
  return (
    <div
      class="flame"
      ref={scroll}
      tabIndex={0}
      role="group"
      aria-label={`${props.label}; arrows move, plus and minus zoom`}
      onKeyDown={(event) => flameKey(event, window.value, look, props.boxes.length)}
    >
      {isZoomed && (
        <button type="button" class="button flame-reset" onClick={reset}>
          Show all
        </button>
      )}
      <div class="flame-space" ref={space}>
        <div class="flame-stage">
          <canvas
            ref={canvas}
            class="flame-canvas"
            role="img"
            aria-label={`${props.label}: ${props.boxes.count} boxes, ${props.boxes.depths} levels`}
            onPointerMove={(event) => {
              const box = at(event);
              setTip(box < 0 ? undefined : { box, x: event.offsetX, y: event.offsetY });
            }}
            onPointerLeave={() => setTip(undefined)}
            onClick={(event) => {
              const box = at(event);
              if (box < 0) return;
              const { from, to, length } = props.boxes;
              look(clamp({ from: from[box]!, to: to[box]! }, length));
              props.onSelect?.(box);
            }}
            onWheel={(event) => {
              if (!event.ctrlKey && !event.metaKey) return;
              event.preventDefault();
              const anchor = event.offsetX / Math.max(1, parts.current!.surface.width);
              look(zoom(window.peek(), ZOOM_STEP ** event.deltaY, anchor, props.boxes.length));
            }}
          />
          {tip && (
            <div
              class="flame-tip"
              style={{
                transform: `translate(${tip.x > 500 ? tip.x - 340 : tip.x + 14}px, ${tip.y + 20}px)`,
              }}
            >
              {props.tip(tip.box)}
            </div>
          )}
        </div>
      </div>
    </div>
  );
}

function flameKey(event: KeyboardEvent, window: Window, look: (to: Window) => void, length: number): void {
  const moves: Record<string, () => Window> = {
    ArrowLeft: () => pan(window, -0.1, length),
    ArrowRight: () => pan(window, 0.1, length),
    "+": () => zoom(window, 0.8, 0.5, length),
    "-": () => zoom(window, 1.25, 0.5, length),
    Escape: () => ({ from: 0, to: length }),
  };
  const move = moves[event.key];
  const isAll = window.from <= 0 && window.to >= length;
  if (!move || (event.key === "Escape" && isAll)) return;
  event.preventDefault();
  event.stopPropagation();
  look(move());
}

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

/** Calls `act` for each box that can be seen in a width and down to a depth, with its left and right. */
export function eachSeen(
  boxes: FlameBoxes,
  window: Window,
  width: number,
  deepest: number,
  act: (box: number, left: number, right: number) => void,
): void {
  const spread = spreadOf(boxes);
  const scale = width / (window.to - window.from || 1);
  const isSeen = (left: number, right: number) => right >= 0 && left <= width && right - left >= NARROWEST;
  const place = (time: number) => (time - window.from) * scale;
  for (let box = 0; box < boxes.count; ) {
    if (boxes.depth[box]! > deepest || !isSeen(place(spread.from[box]!), place(spread.to[box]!))) {
      box += boxes.subtree[box]!;
      continue;
    }
    const [left, right] = [place(boxes.from[box]!), place(boxes.to[box]!)];
    if (isSeen(left, right)) act(box, left, right);
    box += 1;
  }
}

function drawFlame(
  context: CanvasRenderingContext2D,
  props: FlameProps,
  window: Window,
  top: number,
  width: number,
  height: number,
): void {
  const { boxes } = props;
  const colors = paint();
  context.font = colors.font;
  context.textBaseline = "middle";
  context.textAlign = "left";
  eachSeen(boxes, window, width, (top + height) / LINE, (box, left, right) => {
    const y = boxes.depth[box]! * LINE - top;
    if (y > -LINE) drawBox(context, props, box, Math.max(left, -2), Math.min(right, width + 2), y, colors);
  });
}

function drawBox(
  context: CanvasRenderingContext2D,
  { text, color, isMatch, selected, isMarked }: FlameProps,
  box: number,
  left: number,
  right: number,
  y: number,
  colors: Paint,
): void {
  const isOther = isMatch !== undefined && !isMatch(box);
  const fill = color(box);
  context.fillStyle = fade(fill, isOther ? 0.18 : 0.85);
  context.fillRect(left, y + 1, Math.max(0.6, right - left - 0.6), LINE - 2);
  if (isMarked?.(box)) {
    context.fillStyle = colors.bad;
    context.fillRect(left, y + LINE - 4, Math.max(0.6, right - left - 0.6), 3);
  }
  if (box === selected) {
    context.strokeStyle = colors.text;
    context.lineWidth = 2;
    context.strokeRect(left + 1, y + 2, Math.max(1, right - left - 2), LINE - 4);
  }
  const from = Math.max(left, 0) + 4;
  const words = cutTo(context, text(box), right - from - 3);
  if (words === "") return;
  context.fillStyle = isOther ? colors.muted : colors.onAccent;
  context.fillText(words, from, y + LINE / 2 + 0.5);
}
