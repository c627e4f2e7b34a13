/**
 * What is shown of a trace, and what of it is in the address: the span that is looked at, the window, the
 * stretch that is marked, folds, filters. It outlives answers: when a trace that still runs is read again, folds, selection and window stay.
 */
import { batch, computed, signal } from "@preact/signals";
import { param, paramAll, path, setParams } from "../../frame/router";
import { refresh } from "../../frame/time";
import { clamp, isWhole, narrowest, readWindow, type Window, writeWindow } from "../../ui/canvas/window";
import { endOf, FLAG, has, rowOfSpan, serviceOf, spanId, type Trace } from "./columns";
import { readFolds, writeFolds } from "./folds";
import { carryFolds, Rows } from "./rows";

/** Browsers take only so many addresses: none for every frame of a drag, nor for every row that a key walks over. */
const ADDRESS_AFTER_MILLIS = 300;

/** Writes into the address of this page a moment later; another's is not touched. */
function later(write: () => void): ReturnType<typeof setTimeout> {
  const here = path.peek();
  return setTimeout(() => path.peek() === here && write(), ADDRESS_AFTER_MILLIS);
}

/** Which spans a search found: ascending rows, and how many there are in all. */
export interface Matches {
  text: string;
  rows: readonly number[];
  total: number;
}

const shifted = ({ from, to }: Window, by: number): Window => ({ from: from + by, to: to + by });

export class TraceState {
  readonly trace;
  readonly rows;
  /** What part of the time is looked at, in nanoseconds since the first start. */
  readonly window;
  /** The row that is looked at, or -1. */
  readonly selected = signal(-1);
  /** Counts what changed the rows shown. */
  readonly changes = signal(0);
  readonly matches = signal<Matches | undefined>(undefined);
  /** The row below the pointer, or -1. */
  readonly hovered = signal(-1);
  /** A stretch that was marked with the pointer. */
  readonly area = signal<Window | undefined>(undefined);
  /** Counts windows that were chosen by hand, so that what is in them can be shown. */
  readonly chosen = signal(0);
  readonly showsCritical = computed(() => param("critical") !== "0");
  /** Rows that a search found, for drawing. */
  readonly matchSet = computed(() => new Set(this.matches.value?.rows ?? []));
  private timer: ReturnType<typeof setTimeout> | undefined;
  private areaTimer: ReturnType<typeof setTimeout> | undefined;
  private spanTimer: ReturnType<typeof setTimeout> | undefined;
  /** What the address had last of the window, the area, the folds and the span, read from it or written. */
  private written: string | undefined;
  private writtenArea: string | undefined;
  private writtenFolds: string | undefined;
  private writtenSpan: string | undefined;
  /** The revision of an answer for which the trace was read again. */
  private met: string | undefined;

  constructor(trace: Trace) {
    this.trace = signal(trace);
    this.rows = signal(new Rows(trace));
    this.window = signal(this.whole);
    this.readAddress();
    this.applyFilters();
  }

  /** How long the axis is. */
  get length(): number {
    const { durationNanos } = this.trace.peek().header;
    return Math.max(durationNanos, narrowest(durationNanos));
  }

  get whole(): Window {
    return { from: 0, to: this.length };
  }

  /** A newer version of the same trace. */
  take(trace: Trace): void {
    const before = this.rows.peek();
    // The span in the address may have come only now.
    const span = this.selected.peek() >= 0 ? spanId(before.trace, this.selected.peek()) : param("span");
    const wasWhole = isWhole(this.window.peek(), this.length);
    // A span that began earlier than all known moves the zero of the axis, but not what is looked at.
    const moved = Number(BigInt(before.trace.header.t0) - BigInt(trace.header.t0));
    const rows = new Rows(trace);
    carryFolds(before, rows);
    batch(() => {
      this.trace.value = trace;
      this.rows.value = rows;
      if (wasWhole) this.window.value = this.whole;
      else if (moved === 0) this.window.value = clamp(this.window.peek(), this.length);
      else this.look(shifted(this.window.peek(), moved));
      const area = this.area.peek();
      if (area && moved !== 0) this.mark(shifted(area, moved));
      this.selected.value = span === undefined ? -1 : rowOfSpan(trace, span);
      this.applyFilters();
    });
  }

  /** Takes window, area, folds and span from the address. */
  readAddress(): void {
    const zoom = param("zoom");
    if (zoom !== this.written) {
      this.window.value = readWindow(zoom, this.length) ?? this.whole;
      this.written = zoom;
    }
    const area = param("area");
    if (area !== this.writtenArea) {
      this.area.value = readWindow(area, this.length);
      this.writtenArea = area;
    }
    const folded = param("folded");
    if (folded !== this.writtenFolds) {
      readFolds(this.rows.peek(), folded);
      this.writtenFolds = folded;
      this.changed();
    }
    const span = param("span");
    if (span === this.writtenSpan) return;
    this.writtenSpan = span;
    this.selected.value = span === undefined ? -1 : rowOfSpan(this.trace.peek(), span);
    if (this.selected.peek() >= 0 && this.rows.peek().reveal(this.selected.peek())) this.changed();
  }

  /** Looks at a window; it comes into the address when it stays. */
  look(window: Window): void {
    this.window.value = clamp(window, this.length);
    clearTimeout(this.timer);
    this.timer = later(() => {
      const text = isWhole(this.window.peek(), this.length) ? undefined : writeWindow(this.window.peek());
      this.written = text;
      setParams({ zoom: text }, { replace: true });
    });
  }

  /** Marks a stretch, or none; it comes into the address when it stays. */
  mark(area: Window | undefined): void {
    this.area.value = area;
    clearTimeout(this.areaTimer);
    this.areaTimer = later(() => {
      const marked = this.area.peek();
      const text = marked && writeWindow(marked);
      if (text === this.writtenArea) return;
      this.writtenArea = text;
      setParams({ area: text }, { replace: true });
    });
  }

  /**
   * Looks at a span, and makes sure that its row can be seen; -1 looks at none. It comes into the address when
   * it stays.
   */
  select(row: number): void {
    clearTimeout(this.spanTimer);
    batch(() => {
      this.selected.value = row;
      if (row >= 0) this.reveal(row);
      // A newer trace looks for the span in the address if none is looked at.
      if (row < 0) this.writeSpan();
    });
    if (row >= 0) this.spanTimer = later(() => this.writeSpan());
  }

  private writeSpan(): void {
    const row = this.selected.peek();
    const text = row >= 0 ? spanId(this.trace.peek(), row) : undefined;
    if (text === this.writtenSpan) return;
    this.writtenSpan = text;
    setParams({ span: text }, { replace: true });
  }

  /**
   * An answer has come with rows of this revision. If the server has read the trace again since the page did, as
   * it does after a while or for another page, the page reads it again too, once.
   */
  meet(revision: string): void {
    if (revision === this.trace.peek().header.revision || revision === this.met) return;
    this.met = revision;
    refresh();
  }

  /** Opens what hides a row; a filter that hides it goes. */
  private reveal(row: number): void {
    const rows = this.rows.peek();
    if (rows.indexOf(row) >= 0) return;
    if (!rows.reveal(row)) {
      setParams({ only: undefined, service: undefined, root: undefined }, { replace: true });
      this.applyFilters();
      rows.reveal(row);
    }
    this.writeFolds();
    this.changed();
  }

  /** Changes what is folded or shown. */
  fold(change: (rows: Rows) => void): void {
    change(this.rows.peek());
    this.writeFolds();
    this.changed();
  }

  private writeFolds(): void {
    const text = writeFolds(this.rows.peek());
    if (text === this.writtenFolds) return;
    this.writtenFolds = text;
    setParams({ folded: text }, { replace: true });
  }

  private changed(): void {
    this.changes.value += 1;
  }

  /** Shows what the filters of the address let through. */
  applyFilters(): void {
    const [trace, rows] = [this.trace.peek(), this.rows.peek()];
    const only = param("only");
    const services = new Set(paramAll("service"));
    const root = param("root");
    const top = root === undefined ? -1 : rowOfSpan(trace, root);
    const flag = only === "errors" ? FLAG.error : only === "critical" ? FLAG.critical : 0;
    const found = only === "matches" ? this.matchSet.peek() : undefined;
    const isFiltered = flag !== 0 || services.size > 0 || found !== undefined;
    rows.filter(
      isFiltered
        ? (row) =>
            (flag === 0 || has(trace, row, flag)) &&
            (services.size === 0 || services.has(serviceOf(trace, row))) &&
            (found === undefined || found.has(row))
        : undefined,
    );
    rows.isolate(top);
    this.changed();
  }

  /** Writes a filter into the address, and applies it. */
  filter(change: { only?: string | null; service?: readonly string[] | null; root?: string | null }): void {
    setParams(change);
    this.applyFilters();
  }

  /** The next row shown after this place among those shown, in a direction, whose span runs in the window; or -1. */
  rowInSight(place: number, direction: 1 | -1): number {
    const [rows, { from, to }] = [this.rows.peek(), this.window.peek()];
    for (let index = place + direction; index >= 0 && index < rows.count; index += direction) {
      const row = rows.at(index);
      if (rows.trace.start[row]! <= to && endOf(rows.trace, row) >= from) return row;
    }
    return -1;
  }

  /**
   * The next row after the one looked at, in a direction, that fits, folded or not; around the end if need be. One
   * that filters hide is found only if no other fits.
   */
  findRow(direction: 1 | -1, fits: (row: number) => boolean): number {
    const rows = this.rows.peek();
    const row = this.nextRow(direction, (one) => rows.letsThrough(one) && fits(one));
    return row >= 0 ? row : this.nextRow(direction, fits);
  }

  private nextRow(direction: 1 | -1, fits: (row: number) => boolean): number {
    const { spans } = this.trace.peek();
    const selected = this.selected.peek();
    const from = selected < 0 && direction === -1 ? 0 : selected;
    for (let step = 1; step <= spans; step += 1) {
      const row = (((from + direction * step) % spans) + spans) % spans;
      if (fits(row)) return row;
    }
    return -1;
  }

  close(): void {
    clearTimeout(this.timer);
    clearTimeout(this.areaTimer);
    clearTimeout(this.spanTimer);
  }
}
