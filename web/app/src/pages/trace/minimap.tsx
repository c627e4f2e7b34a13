/**
 * The whole trace in a strip, with the window that is looked at: drag inside moves it, its edges change it,
 * elsewhere a new one is drawn. The picture is made once for a trace and a width.
 */
import { effect, useComputed } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { theme } from "../../frame/theme";
import { paint } from "../../ui/canvas/paint";
import { Surface } from "../../ui/canvas/surface";
import { offset } from "../../ui/canvas/ticks";
import { isWhole, pan } from "../../ui/canvas/window";
import { colorOf } from "../../ui/colors";
import { duration } from "../../ui/format";
import { channels } from "../../ui/shades";
import type { Trace } from "./columns";
import { type Overview, overviewSlices } from "./overview";
import type { TraceState } from "./state";

const HEIGHT = 52;
const SLICE_MILLIS = 8;
const EDGE = 6;

export function Minimap({ state }: { state: TraceState }) {
  const root = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const before = useRef<HTMLDivElement>(null);
  const after = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const surface = new Surface(canvas.current!, () => begin());
    let made: { trace: Trace; picture: Overview } | undefined;
    let turn = 0;
    const draw = () => made && drawOverview(surface, made.trace, made.picture);
    const begin = () => {
      const trace = state.trace.peek();
      const width = Math.max(1, Math.round(surface.width));
      if (made?.trace === trace && made.picture.width === width) return draw();
      const work = overviewSlices(trace, width, HEIGHT);
      turn += 1;
      const mine = turn;
      const step = () => {
        const until = performance.now() + SLICE_MILLIS;
        while (mine === turn && performance.now() < until) {
          const { done, value } = work.next();
          if (!done) continue;
          made = { trace, picture: value };
          draw();
          return;
        }
        if (mine === turn) requestAnimationFrame(step);
      };
      // The waterfall is painted first.
      requestAnimationFrame(step);
    };
    const ends = [
      effect(() => {
        state.trace.value;
        begin();
      }),
      effect(() => {
        theme.value;
        queueMicrotask(draw);
      }),
      effect(() => {
        const { from, to } = state.window.value;
        before.current!.style.width = `${(from / state.length) * 100}%`;
        after.current!.style.width = `${(1 - to / state.length) * 100}%`;
        const text = isWhole(state.window.value, state.length)
          ? `All ${duration(state.length)} are looked at`
          : `Looked at: ${offset(Math.round(from))} to ${offset(Math.round(to))} of ${duration(state.length)}`;
        root.current!.setAttribute("aria-label", text);
      }),
    ];
    return () => {
      turn += 1;
      for (const end of ends) end();
      surface.close();
    };
  }, [state]);
  const drag = useDrag(state, root);
  const isZoomed = useComputed(() => !isWhole(state.window.value, state.length));
  return (
    <div class="minimap-place">
      <div class="minimap" ref={root} role="img" {...drag}>
        <canvas ref={canvas} />
        <div class="minimap-shade minimap-before" ref={before} />
        <div class="minimap-shade minimap-after" ref={after} />
      </div>
      {isZoomed.value && (
        <button type="button" class="button minimap-all" onClick={() => state.look(state.whole)}>
          Show all
        </button>
      )}
    </div>
  );
}

type DragKind = "from" | "to" | "move" | "new";

/** What the pointer does to the window. */
function useDrag(state: TraceState, root: { current: HTMLDivElement | null }) {
  const drag = useRef<{ kind: DragKind; at: number; x: number } | undefined>(undefined);
  const place = (event: PointerEvent) => {
    const box = root.current!.getBoundingClientRect();
    return Math.max(0, Math.min(1, (event.clientX - box.left) / Math.max(1, box.width)));
  };
  const kindAt = (part: number): DragKind => {
    const { from, to } = state.window.peek();
    const edge = EDGE / Math.max(1, root.current!.clientWidth);
    const [left, right] = [from / state.length, to / state.length];
    if (isWhole(state.window.peek(), state.length)) return "new";
    if (Math.abs(part - left) < edge) return "from";
    if (Math.abs(part - right) < edge) return "to";
    return part > left && part < right ? "move" : "new";
  };
  return {
    onPointerDown: (event: PointerEvent) => {
      if (event.button !== 0) return;
      root.current!.setPointerCapture(event.pointerId);
      const at = place(event);
      drag.current = { kind: kindAt(at), at, x: event.clientX };
    },
    onPointerMove: (event: PointerEvent) => {
      const part = place(event);
      const now = drag.current;
      if (!now) {
        const cursors = { from: "ew-resize", to: "ew-resize", move: "grab", new: "crosshair" };
        root.current!.style.cursor = cursors[kindAt(part)];
        return;
      }
      const window = state.window.peek();
      const time = part * state.length;
      if (now.kind === "from") state.look({ from: Math.min(time, window.to), to: window.to });
      else if (now.kind === "to") state.look({ from: window.from, to: Math.max(time, window.from) });
      else if (now.kind === "move") {
        const width = window.to - window.from;
        state.look(pan(window, ((part - now.at) * state.length) / width, state.length));
        now.at = part;
      } else if (Math.abs(event.clientX - now.x) > 3) {
        const start = now.at * state.length;
        state.look({ from: Math.min(start, time), to: Math.max(start, time) });
      }
    },
    onPointerUp: (event: PointerEvent) => {
      if (drag.current && Math.abs(event.clientX - drag.current.x) > 3) state.chosen.value += 1;
      drag.current = undefined;
    },
    onPointerCancel: () => {
      drag.current = undefined;
    },
    onDblClick: () => state.look(state.whole),
  };
}

function drawOverview(surface: Surface, trace: Trace, picture: Overview): void {
  const { width, height } = picture;
  const image = new ImageData(width, height);
  const colors = trace.header.services.map(({ name }) => channels(colorOf(name)));
  const bad = channels(paint().bad);
  for (let at = 0; at < picture.service.length; at += 1) {
    const service = picture.service[at]!;
    const color = picture.error[at] === 1 ? bad : service > 0 ? colors[service - 1] : undefined;
    if (!color) continue;
    image.data.set(color, at * 4);
    image.data[at * 4 + 3] = 235;
  }
  const small = document.createElement("canvas");
  small.width = width;
  small.height = height;
  small.getContext("2d")!.putImageData(image, 0, 0);
  const context = surface.clear();
  context.imageSmoothingEnabled = false;
  // A trace of few spans does not become a strip of thick bars.
  const drawn = Math.min(surface.height - 6, height * 6);
  context.drawImage(small, 0, 3, surface.width, drawn);
}
