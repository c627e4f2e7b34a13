/**
 * A flame: boxes by depth from the top down, as wide as what they stand for. A click looks at one closely,
 * Escape at all again. Neighbours that are too narrow to be drawn are one strip, which says how many they are.
 */
import { effect, useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { theme } from "../../frame/theme";
import { count } from "../format";
import type { Looking } from "./addresswindow";
import { drawFlame, type FlameLook, LINE } from "./flamedraw";
import { hitAt, type Strip } from "./flamegeometry";
import { Scroller } from "./scroller";
import { Frames, Surface } from "./surface";
import { clamp, narrowest, pan, type Window, zoom } from "./window";
import "./canvas.css";

interface FlameProps extends FlameLook {
  label: string;
  tip: (box: number) => ComponentChildren;
  /** What boxes are, where several are told of: spans, unless it says otherwise. */
  unit?: string;
  onSelect?: (box: number) => void;
  /** What part is looked at, if somebody else keeps that, such as the address. */
  looking?: Looking;
}

const ZOOM_STEP = 1.0015;
/** How much closer a click on a strip goes that is nearly as wide as the window. */
const STRIP_ZOOM = 0.1;

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
  // The place alone: what is there is another box when the boxes change, or the window.
  const [pointer, setPointer] = useState<{ x: number; y: number }>();
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
  const at = (x: number, y: number) => {
    if (!parts.current) return undefined;
    const { surface, scroller } = parts.current;
    const level = Math.floor((y + scroller.top) / LINE);
    return hitAt(newest.current.boxes, window.peek(), surface.width, x, level);
  };
  const hit = pointer && at(pointer.x, pointer.y);
  const click = (event: MouseEvent) => {
    const { offsetX: x, offsetY: y } = event;
    const found = at(x, y);
    if (!found) return;
    const { from, to, length } = props.boxes;
    if (found.strip) return look(closer(found.strip, window.peek(), x, parts.current!.surface.width, length));
    look(clamp({ from: from[found.box]!, to: to[found.box]! }, length));
    props.onSelect?.(found.box);
  };
  const reset = () => look({ from: 0, to: props.boxes.length });
  const isZoomed = window.value.from > 0 || window.value.to < props.boxes.length;
  const isClosest = window.value.to - window.value.from <= narrowest(props.boxes.length) * 1.01;
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
            onPointerMove={({ offsetX: x, offsetY: y }) => setPointer({ x, y })}
            onPointerLeave={() => setPointer(undefined)}
            onClick={click}
            onWheel={(event) => {
              if (!event.ctrlKey && !event.metaKey) return;
              event.preventDefault();
              const anchor = event.offsetX / Math.max(1, parts.current!.surface.width);
              look(zoom(window.peek(), ZOOM_STEP ** event.deltaY, anchor, props.boxes.length));
            }}
          />
          {hit && (
            <div
              class="canvas-tip"
              style={{
                transform: `translate(${pointer.x > 500 ? pointer.x - 340 : pointer.x + 14}px, ${pointer.y + 20}px)`,
              }}
            >
              {hit.strip ? (
                <StripTip strip={hit.strip} unit={props.unit ?? "spans"} isClosest={isClosest} />
              ) : (
                props.tip(hit.box)
              )}
            </div>
          )}
        </div>
      </div>
    </div>
  );
}

/** What is looked at after a click on a strip: its stretch, or where it was clicked if that is nearly all. */
function closer({ left, right }: Strip, window: Window, x: number, width: number, length: number): Window {
  if (right - left > width / 4) return zoom(window, STRIP_ZOOM, x / width, length);
  const place = (pixels: number) => window.from + (pixels / width) * (window.to - window.from);
  return clamp({ from: place(left), to: place(right) }, length);
}

function StripTip({ strip, unit, isClosest }: { strip: Strip; unit: string; isClosest: boolean }) {
  return (
    <>
      <b>
        {count(strip.boxes)} {unit}
      </b>
      , too short to draw{isClosest ? "" : ": zoom in"}
      {strip.below > 0 && <div>and {count(strip.below)} below them</div>}
    </>
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
