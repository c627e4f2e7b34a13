/**
 * Exemplars: spans that stand for points of a series. They come beside the series as frames of their own,
 * and are no series: charts over time draw them as diamonds, others leave them out.
 */
import type uPlot from "uplot";
import { href } from "../frame/base";
import { REACH_PIXELS } from "../ui/plot";
import { type Cell, type Field, type Frame, part, textOf, timeOf } from "./frame";
import type { Link } from "./links";
import { addressOf } from "./tracelinks";

export interface Exemplar {
  /** Milliseconds. */
  time: number;
  value: number;
  /** What shows its value. */
  field: Field;
  /** The query that it came with. */
  refId?: string;
  trace: string;
  /** Where it leads. */
  link: Link;
}

export function isExemplars({ name, meta }: Frame): boolean {
  return name === "exemplar" || part(meta, "custom").resultType === "exemplar";
}

/** The frames of series. */
export function withoutExemplars(frames: readonly Frame[]): Frame[] {
  return frames.filter((frame) => !isExemplars(frame));
}

/** The exemplars of frames that name their trace. */
export function exemplarsOf(frames: readonly Frame[]): Exemplar[] {
  return frames.filter(isExemplars).flatMap((frame) => {
    const field = frame.fields.find(({ type }) => type === "number");
    const [times, traces] = [timeOf(frame)?.values ?? [], column(frame, "traceID")];
    const spans = column(frame, "spanID");
    return (field?.values ?? []).flatMap((value, row) => {
      const [time, trace] = [times[row], textOf(traces[row])];
      if (typeof value !== "number" || typeof time !== "number" || trace === "") return [];
      const address = href(addressOf(trace, spans[row]));
      const made = { title: `Open trace ${trace.slice(0, 8)}`, href: address, isOutside: false };
      return [{ time, value, field: field!, refId: frame.refId, trace, link: made }];
    });
  });
}

/** Gives the column of traces its links, so that tables of exemplars lead there too. Changes the frames it is given. */
export function linkTraces(frames: Frame[]): Frame[] {
  for (const frame of frames.filter(isExemplars)) {
    const traces = frame.fields.find(({ name }) => name === "traceID");
    if (!traces || traces.state?.links) continue;
    const spans = column(frame, "spanID");
    const links = traces.values.map((trace, row) =>
      textOf(trace) === "" ? [] : [{ title: "Open the trace", url: addressOf(trace, spans[row]) }],
    );
    traces.state = { ...traces.state, links };
  }
  return frames;
}

function column({ fields }: Frame, wanted: string): Cell[] {
  return fields.find(({ name }) => name === wanted)?.values ?? [];
}

/** Exemplars of a chart, with the scale that each is drawn on. */
export interface Placed {
  exemplar: Exemplar;
  scale: string;
}

/** Where an exemplar stands; those above or below the lines stand at the edge. */
export function placeOf(plot: uPlot, { exemplar, scale }: Placed, isOnCanvas: boolean): [number, number] {
  const pixels = isOnCanvas ? 1 : devicePixelRatio;
  const [top, height] = [plot.bbox.top / pixels, plot.bbox.height / pixels];
  // What is not on the canvas is counted from the edge of the area.
  const least = isOnCanvas ? top : 0;
  const y = plot.valToPos(exemplar.value, scale, isOnCanvas);
  const x = plot.valToPos(exemplar.time / 1000, "x", isOnCanvas);
  return [x, Math.max(least, Math.min(least + height, Number.isFinite(y) ? y : least + height))];
}

/** The exemplar that is pointed at. */
export function exemplarAt(plot: uPlot, placed: readonly Placed[]): Exemplar | undefined {
  const { left = -1, top = -1 } = plot.cursor;
  const isNear = (one: Placed) => {
    const [x, y] = placeOf(plot, one, false);
    return Math.abs(x - left) < REACH_PIXELS && Math.abs(y - top) < REACH_PIXELS;
  };
  return placed.find(isNear)?.exemplar;
}
