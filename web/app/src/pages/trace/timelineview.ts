/**
 * The waterfall as it lives on the page: names, bars, ruler, cursor. It draws when something it shows has
 * changed, at most once a frame, and takes what the pointer does. Preact has no part in a frame.
 */
import { effect } from "@preact/signals";
import { theme } from "../../frame/theme";
import { paint } from "../../ui/canvas/paint";
import { Scroller } from "../../ui/canvas/scroller";
import { Frames, Surface } from "../../ui/canvas/surface";
import { offset } from "../../ui/canvas/ticks";
import { around, pan, zoom } from "../../ui/canvas/window";
import { drawBars, drawRuler, type EventTimes, ROW_HEIGHT } from "./bars";
import { type ByRow, byRow } from "./byrow";
import { endOf, rowOfSpan, spanId, type Trace } from "./columns";
import { NameRows, type NameScene } from "./namerows";
import type { Rows } from "./rows";
import type { TraceState } from "./state";

/** The elements it lives in. */
export interface TimelineElements {
  scroll: HTMLElement;
  space: HTMLElement;
  names: HTMLElement;
  bars: HTMLCanvasElement;
  ruler: HTMLCanvasElement;
  cursor: HTMLElement;
  tip: HTMLElement;
}

/** What it shows that is not in the state. */
export interface TimelineExtras {
  nameWidth: number;
  columns: NameScene["columns"];
  events?: EventTimes;
  /** What the tip says of a row. */
  tipOf: (row: number) => readonly string[];
}

const ZOOM_STEP = 1.0015;
const DRAG_BEGINS = 4;

export class TimelineView {
  private readonly frames = new Frames(() => this.draw());
  private readonly bars: Surface;
  private readonly ruler: Surface;
  private readonly names: NameRows;
  readonly scroller: Scroller;
  private readonly ends: (() => void)[] = [];
  private extras: TimelineExtras;
  private version = 0;
  private drag: { x: number; y: number; isMoved: boolean; kind: "pan" | "area" } | undefined;
  private path: { trace: Trace; byRow: ByRow } | undefined;
  private shown: Rows | undefined;
  private hasPainted = false;

  constructor(
    private readonly state: TraceState,
    private readonly elements: TimelineElements,
    extras: TimelineExtras,
  ) {
    this.extras = extras;
    this.bars = new Surface(elements.bars, this.frames.ask);
    this.ruler = new Surface(elements.ruler, this.frames.ask);
    this.scroller = new Scroller(elements.scroll, elements.space, this.frames.ask);
    this.names = new NameRows(elements.names, {
      select: (row) => state.select(row),
      toggle: (row) => state.fold((rows) => rows.toggle(row)),
      hover: (row) => {
        state.hovered.value = row;
      },
    });
    this.ends.push(effect(() => this.follow()));
    this.ends.push(
      effect(() => {
        if (state.chosen.value > 0) this.showWindow();
      }),
    );
    this.listen(elements.bars);
    this.listen(elements.ruler);
    const selected = state.selected.peek();
    if (selected >= 0) this.showRow(selected, true);
  }

  /** Reads what a picture depends on, so that a change asks for the next. */
  private follow(): void {
    const { state } = this;
    theme.value;
    state.window.value;
    state.selected.value;
    state.hovered.value;
    state.matchSet.value;
    state.area.value;
    state.showsCritical.value;
    state.changes.value;
    const rows = state.rows.value;
    const before = this.shown;
    this.shown = rows;
    if (before && before !== rows) this.keepPlace(before, rows);
    else this.scroller.setTotal(rows.count * ROW_HEIGHT);
    this.frames.ask();
  }

  /** Of a newer version of the trace, shows the span at the top that was there before. */
  private keepPlace(before: Rows, after: Rows): void {
    this.version += 1;
    const { top } = this.scroller;
    const first = before.at(Math.floor(top / ROW_HEIGHT));
    this.scroller.setTotal(after.count * ROW_HEIGHT);
    const row = first < 0 ? -1 : rowOfSpan(after.trace, spanId(before.trace, first));
    const index = row < 0 ? -1 : after.indexOf(row);
    if (index >= 0) this.scroller.scrollTo(index * ROW_HEIGHT + (top % ROW_HEIGHT));
  }

  /** Other columns, events or widths. */
  setExtras(extras: TimelineExtras): void {
    this.extras = extras;
    this.version += 1;
    this.frames.ask();
  }

  /** Scrolls to a row: as little as needed, or to the middle. */
  showRow(row: number, isMiddle = false): void {
    const index = this.state.rows.peek().indexOf(row);
    if (index < 0) return;
    const from = index * ROW_HEIGHT;
    const { top, height } = this.scroller;
    const isInSight = from >= top && from + ROW_HEIGHT <= top + height;
    if (isInSight) return;
    if (isMiddle) this.scroller.scrollTo(from - height / 2);
    else this.scroller.show(from, from + ROW_HEIGHT);
  }

  /** If nothing in sight begins in the window, scrolls to what does. */
  private showWindow(): void {
    const { from, to } = this.state.window.peek();
    const rows = this.state.rows.peek();
    const { start } = rows.trace;
    const begins = (index: number) => start[rows.at(index)]! >= from && start[rows.at(index)]! <= to;
    const first = Math.floor(this.scroller.top / ROW_HEIGHT);
    const last = Math.min(rows.count, first + this.rowsInSight);
    for (let index = first; index < last; index += 1) if (begins(index)) return;
    for (let index = 0; index < rows.count; index += 1) {
      if (!begins(index)) continue;
      this.scroller.scrollTo((index - 2) * ROW_HEIGHT);
      return;
    }
  }

  /** The first row in sight. */
  get firstRow(): number {
    return this.state.rows.peek().at(Math.ceil(this.scroller.top / ROW_HEIGHT));
  }

  get rowsInSight(): number {
    return Math.max(1, Math.floor(this.scroller.height / ROW_HEIGHT));
  }

  private pathOf(trace: Trace): ByRow {
    if (this.path?.trace !== trace) this.path = { trace, byRow: byRow(trace.pathRow, trace.spans) };
    return this.path.byRow;
  }

  private draw(): void {
    const { state, extras, scroller } = this;
    const colors = paint();
    const [trace, rows, window] = [state.trace.peek(), state.rows.peek(), state.window.peek()];
    const shared = {
      trace,
      rows,
      top: scroller.top,
      height: this.bars.height,
      selected: state.selected.peek(),
      hovered: state.hovered.peek(),
      matches: state.matchSet.peek(),
    };
    drawBars(
      this.bars.clear(),
      {
        ...shared,
        window,
        width: this.bars.width,
        path: state.showsCritical.peek() ? this.pathOf(trace) : undefined,
        events: extras.events,
        area: state.area.peek(),
      },
      colors,
    );
    drawRuler(this.ruler.clear(), window, this.ruler.width, this.ruler.height, colors);
    this.names.update({
      ...shared,
      width: extras.nameWidth,
      showsCritical: state.showsCritical.peek(),
      columns: extras.columns,
      version: this.version,
    });
    if (!this.hasPainted && this.bars.width > 0) {
      this.hasPainted = true;
      // What comes after this frame comes after its pixels.
      setTimeout(() => performance.mark("kymo:trace-painted"));
    }
  }

  private listen(canvas: HTMLCanvasElement): void {
    const on = <K extends keyof HTMLElementEventMap>(
      name: K,
      take: (event: HTMLElementEventMap[K]) => void,
      options?: AddEventListenerOptions,
    ) => {
      canvas.addEventListener(name, take, options);
      this.ends.push(() => canvas.removeEventListener(name, take, options));
    };
    on("wheel", this.wheeled, { passive: false });
    on("pointerdown", this.pressed);
    on("pointermove", this.moved);
    on("pointerup", this.released);
    on("pointercancel", () => {
      this.drag = undefined;
    });
    on("pointerleave", () => this.leave());
    on("dblclick", (event) => {
      const row = this.rowAt(event.offsetY);
      const trace = this.state.trace.peek();
      if (canvas === this.elements.ruler) this.state.look(this.state.whole);
      else if (row >= 0) this.state.look(around(trace.start[row]!, endOf(trace, row), this.state.length));
    });
  }

  private rowAt(y: number): number {
    return this.state.rows.peek().at(Math.floor((y + this.scroller.top) / ROW_HEIGHT));
  }

  private timeAt(x: number): number {
    const { from, to } = this.state.window.peek();
    return from + (x / Math.max(1, this.bars.width)) * (to - from);
  }

  private readonly wheeled = (event: WheelEvent): void => {
    const { state } = this;
    const lines = event.deltaMode === 1 ? 16 : 1;
    if (event.ctrlKey || event.metaKey) {
      event.preventDefault();
      const anchor = event.offsetX / Math.max(1, this.bars.width);
      state.look(zoom(state.window.peek(), ZOOM_STEP ** (event.deltaY * lines), anchor, state.length));
      return;
    }
    const across = event.shiftKey ? event.deltaY || event.deltaX : event.deltaX;
    if (across === 0) return;
    event.preventDefault();
    state.look(pan(state.window.peek(), (across * lines) / Math.max(1, this.bars.width), state.length));
  };

  private readonly pressed = (event: PointerEvent): void => {
    if (event.button !== 0) return;
    const target = event.currentTarget as HTMLElement;
    target.setPointerCapture(event.pointerId);
    const isArea = event.shiftKey || target === this.elements.ruler;
    this.drag = { x: event.offsetX, y: event.clientY, isMoved: false, kind: isArea ? "area" : "pan" };
  };

  private readonly moved = (event: PointerEvent): void => {
    const { drag, state } = this;
    if (!drag) {
      this.point(event);
      return;
    }
    const [across, down] = [event.offsetX - drag.x, event.clientY - drag.y];
    if (!drag.isMoved && Math.abs(across) + Math.abs(down) < DRAG_BEGINS) return;
    drag.isMoved = true;
    this.elements.tip.hidden = true;
    if (drag.kind === "area") {
      const [a, b] = [this.timeAt(drag.x), this.timeAt(event.offsetX)];
      state.mark({ from: Math.max(0, Math.min(a, b)), to: Math.min(state.length, Math.max(a, b)) });
      return;
    }
    state.look(pan(state.window.peek(), -across / Math.max(1, this.bars.width), state.length));
    this.scroller.scrollTo(this.scroller.top - down);
    drag.x = event.offsetX;
    drag.y = event.clientY;
  };

  private readonly released = (event: PointerEvent): void => {
    const { drag, state } = this;
    this.drag = undefined;
    if (!drag) return;
    const isRuler = event.currentTarget === this.elements.ruler;
    if (!drag.isMoved) {
      state.mark(undefined);
      if (!isRuler) state.select(this.rowAt(event.offsetY));
      return;
    }
    // The ruler chooses what to look at; an area among the bars stays, to be asked about.
    const area = state.area.peek();
    if (drag.kind === "area" && isRuler && area) {
      state.mark(undefined);
      state.look(area);
      state.chosen.value += 1;
    }
  };

  /** What is below the pointer: its time, and its span. */
  private point(event: PointerEvent): void {
    const { cursor, tip, ruler } = this.elements;
    const at = this.timeAt(event.offsetX);
    cursor.hidden = false;
    cursor.style.transform = `translateX(${event.offsetX}px)`;
    const { from, to } = this.state.window.peek();
    cursor.dataset.time = offset(Math.round(at), (to - from) / Math.max(1, this.bars.width));
    cursor.classList.toggle("cursor-right", event.offsetX > this.bars.width - 120);
    const row = event.currentTarget === ruler ? -1 : this.rowAt(event.offsetY);
    this.state.hovered.value = row;
    tip.hidden = row < 0;
    if (row < 0) return;
    tip.replaceChildren(
      ...this.extras.tipOf(row).map((line) => {
        const made = document.createElement("div");
        made.className = "ellipsis";
        made.textContent = line;
        return made;
      }),
    );
    const isRight = event.offsetX > this.bars.width / 2;
    const isLow = event.offsetY > this.bars.height - 110;
    const x = isRight ? event.offsetX - tip.offsetWidth - 14 : event.offsetX + 14;
    const y = isLow ? event.offsetY - tip.offsetHeight - 10 : event.offsetY + 18;
    tip.style.transform = `translate(${x}px, ${y}px)`;
  }

  private leave(): void {
    this.elements.cursor.hidden = true;
    this.elements.tip.hidden = true;
    if (!this.drag) this.state.hovered.value = -1;
  }

  close(): void {
    this.frames.stop();
    for (const end of this.ends) end();
    this.names.close();
    this.bars.close();
    this.ruler.close();
    this.scroller.close();
  }
}
