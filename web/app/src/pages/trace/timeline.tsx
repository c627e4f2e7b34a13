/** The waterfall: overview, names and bars on one scale of time, and below them what machines did. */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { duration, fullTime, millisOf } from "../../ui/format";
import { keptWidth, Separator } from "../../ui/separator";
import { AreaSummary } from "./area";
import { ColumnHeads, useColumns } from "./attributecolumns";
import { absolute, endOf, kindName, nameOf, serviceOf } from "./columns";
import { treeKey } from "./keys";
import { Minimap } from "./minimap";
import type { TraceState } from "./state";
import { Strips } from "./strips";
import { TimelineView } from "./timelineview";
import { useEventTimes } from "./traceevents";
import "../../ui/canvas/canvas.css";
import "./timeline.css";

const NAME_WIDTH = "kymo.trace.names";
const NAMES_USUAL = 380;
const COLUMN_WIDTH = 120;
const NAMES_LEAST = 140;
/** The part of the width that names leave to bars, whatever was chosen on a wider screen. */
const NAMES_MOST = 0.5;

/** How wide an element is, and again when that changes. */
function useWidth(element: { current: HTMLElement | null }): number {
  const [width, setWidth] = useState(0);
  useEffect(() => {
    const observer = new ResizeObserver(() => setWidth(Math.round(element.current?.clientWidth ?? 0)));
    observer.observe(element.current!);
    return () => observer.disconnect();
  }, []);
  return width;
}

/** The view, for keys. */
export interface TimelineHandle {
  current: TimelineView | undefined;
}

function tipOf(state: TraceState, row: number): string[] {
  const trace = state.trace.peek();
  const start = trace.start[row]!;
  const lines = [
    nameOf(trace, row) || "(no name)",
    `${serviceOf(trace, row) || "(no service)"} · ${kindName(trace.kind[row]!)}`,
    `${duration(trace.duration[row]!)} from ${duration(start)} to ${duration(endOf(trace, row))}`,
    `self ${duration(trace.self[row]!)} · began ${fullTime(millisOf(absolute(trace, start)))}`,
  ];
  if (trace.saving[row]! > 0)
    lines.push(`critical: without it the trace is ${duration(trace.saving[row]!)} shorter`);
  else if (trace.slack[row]! > 0) lines.push(`slack ${duration(trace.slack[row]!)}`);
  const message = trace.header.messages[trace.message[row]!];
  if (trace.message[row]! >= 0 && message) lines.push(`status: ${message.slice(0, 160)}`);
  return lines;
}

export function Timeline({ state, handle, id }: { state: TraceState; handle: TimelineHandle; id: string }) {
  const root = useRef<HTMLDivElement>(null);
  const [wanted, setWanted] = useState(() => keptWidth(NAME_WIDTH, NAMES_USUAL));
  const most = useWidth(root) * NAMES_MOST;
  const nameWidth = most > 0 ? Math.min(wanted, Math.max(NAMES_LEAST, most)) : wanted;
  const columns = useColumns(state, id);
  const events = useEventTimes(state, id);
  const extras = useMemo(
    () => ({
      nameWidth,
      columns: columns.shown,
      events: events.times,
      tipOf: (row: number) => tipOf(state, row),
    }),
    [nameWidth, columns.shown, events.times, state],
  );
  const refs = {
    scroll: useRef<HTMLDivElement>(null),
    space: useRef<HTMLDivElement>(null),
    names: useRef<HTMLDivElement>(null),
    bars: useRef<HTMLCanvasElement>(null),
    ruler: useRef<HTMLCanvasElement>(null),
    cursor: useRef<HTMLDivElement>(null),
    tip: useRef<HTMLDivElement>(null),
  };
  useEffect(() => {
    const elements = {
      scroll: refs.scroll.current!,
      space: refs.space.current!,
      names: refs.names.current!,
      bars: refs.bars.current!,
      ruler: refs.ruler.current!,
      cursor: refs.cursor.current!,
      tip: refs.tip.current!,
    };
    const view = new TimelineView(state, elements, extras);
    handle.current = view;
    return () => {
      handle.current = undefined;
      view.close();
    };
  }, [state]);
  useEffect(() => handle.current?.setExtras(extras), [extras]);
  const left = nameWidth + columns.keys.length * COLUMN_WIDTH;
  return (
    <div class="timeline" ref={root} style={{ "--names": `${left}px` }}>
      <Minimap state={state} />
      <div class="timeline-head">
        <ColumnHeads columns={columns} state={state} width={nameWidth} />
        <Separator
          label="Width of the names"
          class="timeline-split"
          name={NAME_WIDTH}
          width={nameWidth}
          least={NAMES_LEAST}
          most={NAMES_MOST}
          onChange={setWanted}
        />
        <canvas
          ref={refs.ruler}
          class="timeline-ruler"
          role="img"
          aria-label="Time"
          title="Drag to look at a part"
        />
      </div>
      <div class="timeline-scroll" ref={refs.scroll} tabIndex={-1}>
        <div class="timeline-space" ref={refs.space}>
          <div class="timeline-view">
            <div
              class="timeline-names"
              ref={refs.names}
              role="treegrid"
              tabIndex={0}
              aria-label="Spans, by parent"
              // A click leaves the focus where it is: with it, arrows would walk rows instead of time.
              onPointerDown={(event) => event.preventDefault()}
              onMouseDown={(event) => event.preventDefault()}
              onKeyDown={(event) => treeKey(event, state)}
            />
            <canvas
              ref={refs.bars}
              class="timeline-bars"
              role="img"
              aria-label="When each span ran; the same is told in rows beside it and in the table view"
            />
            <div class="timeline-cursor" ref={refs.cursor} hidden />
            <div class="canvas-tip timeline-tip" ref={refs.tip} hidden />
          </div>
        </div>
      </div>
      {events.cut && (
        <p class="strips-none muted" role="status">
          Bars have marks of {events.cut}, by time.
        </p>
      )}
      <AreaSummary state={state} />
      <Strips state={state} id={id} />
    </div>
  );
}
