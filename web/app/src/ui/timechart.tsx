/**
 * Lines over time, drawn by uPlot. Dragging chooses a time; charts with the same `sync` share their cursor.
 * Values are drawn as they are: what is to be stacked or summed comes so.
 */
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { theme, token } from "../frame/theme";
import { count, fullTime } from "./format";
import { drawDiamonds, REACH_PIXELS, takeDragged, tooltipRow } from "./plot";
import { tickTime } from "./ticktime";

export interface Line {
  label: string;
  color: string;
  values: readonly (number | null | undefined)[];
  /** What is told of it, where values are drawn otherwise, such as stacked. */
  told?: readonly (number | null | undefined)[];
  width?: number;
  /** How much of the area below is filled, 0 to 1. */
  fill?: number;
  dash?: number[];
  points?: boolean;
  steps?: boolean;
  bars?: boolean;
  hidden?: boolean;
}

/** A mark at a time and a value, such as an exemplar. */
export interface Mark {
  /** Milliseconds. */
  time: number;
  value: number;
  label: string;
  onOpen?: () => void;
}

interface TimeChartProps {
  /** Milliseconds, ascending; or numbers, if the axis has those. */
  times: readonly number[];
  /** What the axis at the bottom has: without it, time. */
  axis?: "time" | "number";
  lines: readonly Line[];
  height: number;
  /** What it shows, for those who cannot see it. */
  label: string;
  format?: (value: number) => string;
  /** The time shown; without it, that of the values. */
  range?: { from: number; to: number };
  /** A fixed range of values. */
  min?: number;
  max?: number;
  onZoom?: (from: number, to: number) => void;
  sync?: string;
  marks?: readonly Mark[];
  /** Lines across at values: thresholds. */
  levels?: readonly { value: number; color: string }[];
}

export function TimeChart(props: TimeChartProps) {
  const root = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | undefined>(undefined);
  const newest = useRef(props);
  newest.current = props;
  const shape = props.lines
    .map((line) => [line.label, line.color, line.bars, line.hidden].join("\u0001"))
    .join("\u0002");
  const colors = theme.value;
  useEffect(() => {
    const made = new uPlot(options(root.current!, newest), data(newest.current), root.current!);
    plot.current = made;
    const observer = new ResizeObserver(() => {
      const width = root.current?.clientWidth ?? 0;
      if (width > 0 && width !== made.width) made.setSize({ width, height: newest.current.height });
    });
    observer.observe(root.current!);
    return () => {
      observer.disconnect();
      made.destroy();
    };
  }, [shape, colors, props.sync, props.height, props.min, props.max]);
  useEffect(() => {
    plot.current?.setData(data(props));
  }, [props.times, props.lines, props.range?.from, props.range?.to, props.marks]);
  return (
    <div class="chart" ref={root} role="img" aria-label={summary(props)} style={{ height: props.height }} />
  );
}

function data({ times, lines, axis }: TimeChartProps): uPlot.AlignedData {
  return [
    axis === "number" ? times : times.map((time) => time / 1000),
    ...lines.map(({ values }) => values),
  ] as uPlot.AlignedData;
}

/** What a chart shows, in words. */
function summary({ label, lines, times, format = count }: TimeChartProps): string {
  const shown = lines.slice(0, 5).map((line) => {
    const last = (line.told ?? line.values).findLast((value) => value !== null && value !== undefined);
    return `${line.label}: ${last === undefined || last === null ? "no value" : format(last)}`;
  });
  const more = lines.length > 5 ? `, and ${lines.length - 5} more` : "";
  return `${label}. ${lines.length} series, ${times.length} points. Last: ${shown.join(", ")}${more}`;
}

function options(root: HTMLElement, newest: { current: TimeChartProps }): uPlot.Options {
  const props = newest.current;
  const [text, grid] = [token("--text-muted"), token("--grid")];
  const axis = {
    stroke: text,
    grid: { stroke: grid, width: 1 },
    ticks: { stroke: grid, width: 1, size: 4 },
    font: "11px system-ui",
  };
  return {
    width: Math.max(50, root.clientWidth),
    height: props.height,
    legend: { show: false },
    padding: [8, 8, 0, 0],
    cursor: {
      y: false,
      points: { size: 6 },
      drag: { x: true, y: false, setScale: false },
      focus: { prox: 24 },
      sync: props.sync ? { key: props.sync, scales: ["x", null] } : undefined,
    },
    focus: { alpha: 0.35 },
    scales: {
      x: { time: props.axis !== "number", range: (_, min, max) => span(newest.current, min, max) },
      y: { range: (_, min, max) => bounds(newest.current, min, max) },
    },
    axes: [
      { ...axis, size: 26, space: 70, ...(props.axis === "number" ? {} : { values: tickTimes }) },
      {
        ...axis,
        size: (_, values) => 14 + 6.2 * Math.max(3, ...(values ?? []).map(({ length }) => length)),
        values: (_, splits) => splits.map((value) => (newest.current.format ?? count)(value)),
      },
    ],
    series: [{}, ...props.lines.map(series)],
    hooks: {
      setSelect: [(plot) => takeDragged(plot, newest.current.onZoom)],
      draw: [(plot) => drawLevels(plot, newest.current), (plot) => drawMarks(plot, newest.current)],
      ready: [(plot) => tooltip(plot, newest)],
    },
  };
}

/** Times as they stand on all axes: uPlot's own have twelve hours. */
function tickTimes({ scales }: uPlot, splits: number[]): string[] {
  const spanMillis = ((scales.x?.max ?? 0) - (scales.x?.min ?? 0)) * 1000;
  return splits.map((at) => tickTime(at * 1000, spanMillis));
}

function series(line: Line): uPlot.Series {
  const paths = line.bars
    ? uPlot.paths.bars?.({ size: [0.8, 40] })
    : line.steps
      ? uPlot.paths.stepped?.({ align: 1 })
      : undefined;
  const alpha = Math.round((line.fill ?? 0) * 255)
    .toString(16)
    .padStart(2, "0");
  return {
    label: line.label,
    show: !line.hidden,
    stroke: line.color,
    width: line.width ?? 1.3,
    fill: line.fill ? line.color + alpha : undefined,
    dash: line.dash,
    paths,
    points: { show: line.points ? true : undefined, size: 4 },
    spanGaps: false,
  };
}

function span({ range }: TimeChartProps, min: number, max: number): [number, number] {
  return range ? [range.from / 1000, range.to / 1000] : [min ?? 0, max ?? 1];
}

function bounds({ min, max }: TimeChartProps, low: number | null, high: number | null): [number, number] {
  if (low === null || high === null) return [min ?? 0, max ?? 1];
  const room = (high - low) * 0.05 || Math.abs(high) * 0.1 || 1;
  const bottom = low >= 0 ? Math.max(0, low - (low - room <= 0.3 * (high - low) ? low : room)) : low - room;
  return [min ?? bottom, max ?? high + room];
}

function drawLevels(plot: uPlot, { levels = [] }: TimeChartProps): void {
  const { ctx, bbox } = plot;
  ctx.save();
  ctx.setLineDash([4, 4]);
  for (const { value, color } of levels) {
    const y = plot.valToPos(value, "y", true);
    if (y < bbox.top || y > bbox.top + bbox.height) continue;
    ctx.strokeStyle = color;
    ctx.beginPath();
    ctx.moveTo(bbox.left, y);
    ctx.lineTo(bbox.left + bbox.width, y);
    ctx.stroke();
  }
  ctx.restore();
}

function drawMarks(plot: uPlot, { marks = [] }: TimeChartProps): void {
  const place = ({ time, value }: Mark) =>
    [plot.valToPos(time / 1000, "x", true), plot.valToPos(value, "y", true)] as const;
  drawDiamonds(plot, marks.map(place));
}

const TOOLTIP_LINES = 14;

/** Values below the cursor, and marks that can be opened. */
function tooltip(plot: uPlot, newest: { current: TimeChartProps }): void {
  const box = document.createElement("div");
  box.className = "chart-tooltip";
  box.hidden = true;
  plot.over.append(box);
  const near = () => {
    const { left = -1, top = -1 } = plot.cursor;
    return newest.current.marks?.find((mark) => {
      const [x, y] = [plot.valToPos(mark.time / 1000, "x"), plot.valToPos(mark.value, "y")];
      return Math.abs(x - left) < REACH_PIXELS && Math.abs(y - top) < REACH_PIXELS;
    });
  };
  plot.over.addEventListener("click", () => near()?.onOpen?.());
  plot.over.addEventListener("mouseleave", () => {
    box.hidden = true;
  });
  plot.over.addEventListener("mousemove", () => {
    const { idx, left = 0, top = 0 } = plot.cursor;
    const { lines, times, axis, format = count } = newest.current;
    if (idx === null || idx === undefined || times[idx] === undefined) {
      box.hidden = true;
      return;
    }
    const mark = near();
    plot.over.style.cursor = mark?.onOpen ? "pointer" : "";
    const values = lines
      .map((line) => ({ line, value: (line.told ?? line.values)[idx] }))
      .filter(
        (one): one is { line: Line; value: number } => typeof one.value === "number" && !one.line.hidden,
      )
      .sort(
        (a, b) => Math.abs(plot.valToPos(a.value, "y") - top) - Math.abs(plot.valToPos(b.value, "y") - top),
      );
    const shown = values.slice(0, TOOLTIP_LINES).sort((a, b) => b.value - a.value);
    box.replaceChildren(
      tooltipRow("chart-tooltip-time", axis === "number" ? count(times[idx]!) : fullTime(times[idx]!), ""),
      ...(mark ? [tooltipRow("chart-tooltip-mark", mark.label, "click to open")] : []),
      ...shown.map(({ line, value }) => tooltipRow("", line.label, format(value), line.color)),
      ...(values.length > shown.length ? [tooltipRow("", `${values.length - shown.length} more`, "")] : []),
    );
    box.hidden = false;
    const isRight = left > plot.over.clientWidth / 2;
    box.style.left = isRight ? "" : `${left + 14}px`;
    box.style.right = isRight ? `${plot.over.clientWidth - left + 14}px` : "";
    box.style.top = `${Math.min(top, Math.max(0, plot.over.clientHeight - box.clientHeight))}px`;
  });
}
