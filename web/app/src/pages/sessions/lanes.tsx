/**
 * Where tasks ran, on a canvas: lanes of every node over time, and below them a strip for its processors and
 * for each of its GPUs. A GPU that is idle is hatched, what failed too; the wheel with Ctrl zooms, a drag moves, a click finds the task.
 */
import { effect, useSignal } from "@preact/signals";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { param, setParams } from "../../frame/router";
import { theme, token } from "../../frame/theme";
import { cutTo, hatch, type Paint, paint } from "../../ui/canvas/paint";
import { Frames, Surface } from "../../ui/canvas/surface";
import { ticks } from "../../ui/canvas/ticks";
import { pan, type Window, zoom } from "../../ui/canvas/window";
import { colorOf, PALETTE } from "../../ui/colors";
import { duration } from "../../ui/format";
import { faded } from "../../ui/shades";
import {
  GUTTER,
  HEAD,
  LANE,
  type Placed,
  type Pointed,
  partOf,
  placed,
  pointed,
  STRIP,
  valueAt,
} from "./lanesview";
import type { Lanes as Told } from "./types";

const IDLE_PERCENT = 5;
const TALLEST = 580;
/** The part that is looked at, in the address; told when it has come to rest, since browsers count changes. */
const LANES = "lanes";
const LATE_MILLIS = 300;

/** Colours of tasks: without reds, which are for failures. */
const REDS = ["#c2571a", "#c9486c", "#d0493b", "#b0568a"];
const CALM = PALETTE.filter((color) => !REDS.includes(color));

function taskColor(name: string): string {
  return CALM[PALETTE.indexOf(colorOf(name)) % CALM.length]!;
}

interface Scene {
  lanes: Told;
  nodes: readonly Placed[];
  /** Milliseconds from the beginning that are shown. */
  window: Window;
  begin: number;
  top: number;
  width: number;
  height: number;
}

function drawGrid(context: CanvasRenderingContext2D, { window, width, height }: Scene, colors: Paint): void {
  const scale = (width - GUTTER) / (window.to - window.from);
  context.fillStyle = colors.grid;
  for (const tick of marks(window, width)) {
    context.fillRect(Math.round(GUTTER + (tick.at / 1e6 - window.from) * scale), 0, 1, height);
  }
}

function marks(window: Window, width: number) {
  return ticks(window.from * 1e6, window.to * 1e6, Math.max(2, Math.floor((width - GUTTER) / 110)));
}

function drawAxis(context: CanvasRenderingContext2D, { window, width }: Scene, colors: Paint): void {
  const scale = (width - GUTTER) / (window.to - window.from);
  context.fillStyle = colors.surface;
  context.fillRect(0, 0, width, HEAD);
  context.fillStyle = colors.muted;
  for (const tick of marks(window, width)) {
    context.fillText(tick.label, GUTTER + (tick.at / 1e6 - window.from) * scale + 4, HEAD / 2);
  }
}

function drawBars(context: CanvasRenderingContext2D, scene: Scene, place: Placed, colors: Paint): void {
  const { window, begin, top, width } = scene;
  const scale = (width - GUTTER) / (window.to - window.from);
  const { node } = place;
  for (let bar = 0; bar < node.lane.length; bar += 1) {
    const from = (node.start_ms[bar]! - begin - window.from) * scale;
    const to = (node.end_ms[bar]! - begin - window.from) * scale;
    if (to < 0 || from > width - GUTTER) continue;
    const x = GUTTER + Math.max(0, from);
    const wide = Math.max(1, Math.min(to, width - GUTTER) - Math.max(0, from) - 0.5);
    const y = place.lanesTop - top + node.lane[bar]! * LANE;
    const name = scene.lanes.names[node.name[bar]!] ?? "";
    const status = node.status[bar];
    context.fillStyle =
      status === "failed" ? colors.bad : faded(taskColor(name), status === "running" ? 1 : 0.72);
    context.fillRect(x, y, wide, LANE - 2);
    if (status === "failed" && wide > 4) {
      context.fillStyle = hatch(context, colors.surface);
      context.fillRect(x, y, wide, LANE - 2);
    }
    if (status === "running") {
      context.fillStyle = colors.text;
      context.fillRect(x + wide - 2, y, 2, LANE - 2);
    }
  }
}

function drawStrips(context: CanvasRenderingContext2D, scene: Scene, place: Placed, colors: Paint): void {
  const { lanes, window, begin, top, width } = scene;
  const scale = (width - GUTTER) / (window.to - window.from);
  place.strips.forEach(({ label, isGpu, series }, nth) => {
    const step = (lanes.series_end_ms - lanes.series_start_ms) / Math.max(1, series.length);
    const y = place.stripsTop - top + nth * STRIP;
    context.fillStyle = colors.muted;
    context.textAlign = "right";
    context.fillText(label, GUTTER - 8, y + STRIP / 2);
    context.textAlign = "left";
    series.forEach((percent, at) => {
      if (percent === null) return;
      const from = (lanes.series_start_ms + at * step - begin - window.from) * scale;
      const to = from + step * scale + 0.5;
      if (to < 0 || from > width - GUTTER) return;
      const x = GUTTER + Math.max(0, from);
      const wide = Math.min(to, width - GUTTER) - Math.max(0, from);
      // Processors that rest are no waste: GPUs do the work.
      const isIdle = isGpu && percent < IDLE_PERCENT;
      context.fillStyle = isIdle
        ? hatch(context, colors.warn)
        : faded(isGpu ? colors.accent : colors.muted, 0.15 + Math.min(1, percent / 100) * 0.8);
      context.fillRect(x, y + 1, wide, STRIP - 3);
    });
  });
}

function draw(context: CanvasRenderingContext2D, scene: Scene): void {
  const colors = paint();
  context.font = colors.font;
  context.textBaseline = "middle";
  drawGrid(context, scene, colors);
  for (const place of scene.nodes) {
    if (place.top + place.height < scene.top || place.top > scene.top + scene.height) continue;
    const y = place.top - scene.top;
    context.fillStyle = colors.grid;
    context.fillRect(0, y + place.height - 5, scene.width, 1);
    context.fillStyle = colors.text;
    const name = place.node.node || "without a node";
    context.fillText(cutTo(context, name, GUTTER - 16), 8, place.lanesTop - scene.top + LANE / 2);
    drawBars(context, scene, place, colors);
    drawStrips(context, scene, place, colors);
  }
  drawAxis(context, scene, colors);
  context.fillStyle = token("--border");
  context.fillRect(GUTTER - 1, 0, 1, scene.height);
}

function Tip({ at, lanes, time }: { at: Exclude<Pointed, undefined>; lanes: Told; time: number }) {
  const { node } = at;
  if ("strip" in at) {
    const { label, series, mean } = at.strip;
    const percent = valueAt(series, lanes, time);
    return (
      <>
        <b>
          {node.node} {label}
        </b>
        <div>{percent === null ? "nothing known" : `${Math.round(percent)} % busy`}</div>
        {mean !== null && <div class="muted">{Math.round(mean)} % on the whole</div>}
      </>
    );
  }
  const { bar } = at;
  return (
    <>
      <b>{lanes.names[node.name[bar]!]}</b>
      <div>{node.task[bar]}</div>
      <div class="muted">
        {node.status[bar]} · {duration((node.end_ms[bar]! - node.start_ms[bar]!) * 1e6)} · {node.node}
      </div>
    </>
  );
}

/** The lanes of a session; a click on a bar tells which task it is. */
export function LanesChart({ lanes, onPick }: { lanes: Told; onPick: (task: string) => void }) {
  const length = Math.max(1, lanes.series_end_ms - lanes.series_start_ms);
  const { nodes, height } = useMemo(() => placed(lanes), [lanes]);
  const part = partOf(param(LANES), length);
  const window = useSignal<Window>(part ?? { from: 0, to: length });
  const isWhole = useRef(part === undefined);
  const late = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  useEffect(() => () => clearTimeout(late.current), []);
  const scroll = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const parts = useRef<{ surface: Surface; frames: Frames } | undefined>(undefined);
  const newest = useRef({ lanes, nodes });
  newest.current = { lanes, nodes };
  const [pointer, setPointer] = useState<{ x: number; y: number }>();
  const drag = useRef<{ x: number; from: Window; hasMoved: boolean } | undefined>(undefined);
  useEffect(() => {
    const frames = new Frames(() => {
      const { lanes: told, nodes: places } = newest.current;
      const { width, height: high } = surface;
      const top = scroll.current!.scrollTop;
      draw(surface.clear(), {
        lanes: told,
        nodes: places,
        window: window.peek(),
        begin: told.series_start_ms,
        top,
        width,
        height: high,
      });
    });
    const surface = new Surface(canvas.current!, frames.ask);
    parts.current = { surface, frames };
    const element = scroll.current!;
    element.addEventListener("scroll", frames.ask, { passive: true });
    const end = effect(() => {
      window.value;
      theme.value;
      frames.ask();
    });
    return () => {
      end();
      element.removeEventListener("scroll", frames.ask);
      frames.stop();
      surface.close();
    };
  }, []);
  // A session that goes on is shown whole, unless somebody looks at a part of it.
  useEffect(() => {
    if (isWhole.current) window.value = { from: 0, to: length };
    parts.current?.frames.ask();
  }, [lanes]);
  const set = (next: Window) => {
    isWhole.current = next.from <= 0 && next.to >= length;
    window.value = next;
    clearTimeout(late.current);
    const told = isWhole.current ? undefined : `${Math.floor(next.from)},${Math.ceil(next.to)}`;
    late.current = setTimeout(() => setParams({ [LANES]: told }, { replace: true }), LATE_MILLIS);
  };
  // What is below the pointer is looked up in what is drawn, which changes while the pointer rests.
  const look = (x: number, y: number) => {
    const { surface } = parts.current!;
    const { from, to } = window.value;
    const perPixel = (to - from) / Math.max(1, surface.width - GUTTER);
    const time = lanes.series_start_ms + from + (x - GUTTER) * perPixel;
    const top = scroll.current!.scrollTop;
    return { at: y < HEAD ? undefined : pointed(nodes, x - GUTTER, y + top, time, perPixel * 2), time };
  };
  const below = pointer && look(pointer.x, pointer.y);
  const key = (event: KeyboardEvent) => {
    const moves: Record<string, () => Window> = {
      a: () => pan(window.peek(), -0.15, length),
      d: () => pan(window.peek(), 0.15, length),
      "+": () => zoom(window.peek(), 0.7, 0.5, length),
      "-": () => zoom(window.peek(), 1.4, 0.5, length),
      "0": () => ({ from: 0, to: length }),
    };
    const next = event.ctrlKey || event.metaKey || event.altKey ? undefined : moves[event.key];
    if (!next) return;
    event.preventDefault();
    event.stopPropagation();
    set(next());
  };
  const running = lanes.nodes.reduce((sum, node) => sum + node.running, 0);
  return (
    <div
      class="lanes"
      ref={scroll}
      tabIndex={0}
      role="group"
      aria-label="Lanes of nodes; a and d move, plus and minus zoom, 0 shows all"
      style={{ height: Math.min(TALLEST, Math.max(90, height + 4)) }}
      onKeyDown={key}
    >
      <div class="lanes-space" style={{ height }}>
        <canvas
          ref={canvas}
          class="lanes-canvas"
          role="img"
          aria-label={`${lanes.nodes.length} nodes, ${running} tasks run`}
          onPointerDown={(event) => {
            drag.current = { x: event.offsetX, from: window.peek(), hasMoved: false };
            event.currentTarget.setPointerCapture(event.pointerId);
          }}
          onPointerMove={(event) => {
            const held = drag.current;
            if (held) {
              const part = (held.x - event.offsetX) / Math.max(1, parts.current!.surface.width - GUTTER);
              held.hasMoved ||= Math.abs(held.x - event.offsetX) > 3;
              if (held.hasMoved) set(pan(held.from, part, length));
              return;
            }
            setPointer({ x: event.offsetX, y: event.offsetY });
          }}
          onPointerUp={(event) => {
            const held = drag.current;
            drag.current = undefined;
            if (held?.hasMoved) return;
            const { at } = look(event.offsetX, event.offsetY);
            if (at && "bar" in at) onPick(at.node.task[at.bar]!);
          }}
          onPointerCancel={() => {
            drag.current = undefined;
          }}
          onPointerLeave={() => setPointer(undefined)}
          onWheel={(event) => {
            if (!event.ctrlKey && !event.metaKey) return;
            event.preventDefault();
            const room = Math.max(1, parts.current!.surface.width - GUTTER);
            set(
              zoom(
                window.peek(),
                1.0015 ** event.deltaY,
                Math.max(0, (event.offsetX - GUTTER) / room),
                length,
              ),
            );
          }}
        />
        {pointer && below?.at && (
          <div
            class="lanes-tip"
            style={{
              transform: `translate(${pointer.x > 500 ? pointer.x - 260 : pointer.x + 14}px, ${pointer.y + 16}px)`,
            }}
          >
            <Tip at={below.at} lanes={lanes} time={below.time} />
          </div>
        )}
      </div>
    </div>
  );
}
