/** Points of one number against another, or lines from one to the next. */
import { useMemo } from "preact/hooks";
import { theme, token } from "../frame/theme";
import { colorAt } from "../ui/colors";
import { endsOf } from "../ui/ends";
import { faded } from "../ui/shades";
import { Canvas } from "./canvas";
import { color } from "./colors";
import { display, whole } from "./display";
import { isExemplars } from "./exemplars";
import { type Field, type Frame, nameOf, numberOf, option, part } from "./frame";
import { HoverBox, placeOf, useHover } from "./hover";
import type { PanelProps } from "./kinds";
import { legendOptions } from "./legend";
import { linksOf } from "./links";
import { NoData } from "./nodata";
import { ticks } from "./ticks";

interface Cloud {
  name: string;
  x: Field;
  y: Field;
  color: string;
  points: { x: number; y: number; row: number }[];
}

interface Found {
  cloud: Cloud;
  point: Cloud["points"][number];
}

export function XyChart({ panel, frames, width, height }: PanelProps) {
  const clouds = useMemo(() => cloudsOf(frames, panel.options), [frames, panel.options, theme.value]);
  const { hovered, enter, leave, keep } = useHover();
  const all = clouds.flatMap(({ points }) => points);
  if (all.length === 0) return <NoData frames={frames} why="It needs two columns of numbers." />;
  const [x0, x1] = spread(
    all.map(({ x }) => x),
    clouds.map(({ x }) => x),
  );
  const [y0, y1] = spread(
    all.map(({ y }) => y),
    clouds.map(({ y }) => y),
  );
  const yText = (value: number) => whole(display(clouds[0]!.y)(value));
  const xText = (value: number) => whole(display(clouds[0]!.x)(value));
  const yTicks = ticks(y0, y1, height / 50);
  const xTicks = ticks(x0, x1, width / 100);
  const isTrend = panel.type === "trend";
  const showsLegend = legendOptions(panel.options).isShown;
  const left = Math.max(...yTicks.map((value) => yText(value).length)) * 6.6 + 12;
  const area = { left, top: 6, width: width - left - 12, height: height - (showsLegend ? 58 : 34) };
  const placed = (cloud: Cloud) =>
    cloud.points.map((point) => ({
      point,
      x: area.left + ((point.x - x0) / (x1 - x0)) * area.width,
      y: area.top + (1 - (point.y - y0) / (y1 - y0)) * area.height,
    }));
  const pointAt = (px: number, py: number): Found | undefined => {
    let best: (Found & { distance: number }) | undefined;
    for (const cloud of clouds) {
      for (const { point, x, y } of placed(cloud)) {
        const distance = Math.hypot(x - px, y - py);
        if (distance < 16 && distance < (best?.distance ?? Number.POSITIVE_INFINITY))
          best = { cloud, point, distance };
      }
    }
    return best;
  };
  const said = ({ cloud, point }: Found) =>
    [
      cloud.name,
      [
        { label: nameOf(cloud.x), value: xText(point.x) },
        { label: nameOf(cloud.y), value: yText(point.y), color: cloud.color },
      ],
    ] as const;
  return (
    <div>
      <Canvas
        width={width}
        height={height - (showsLegend ? 24 : 0)}
        label={`${panel.title}. ${all.length} points of ${clouds.map(({ name }) => name).join(", ")}`}
        about={[clouds, isTrend, xTicks.map(xText).join("\u0001"), yTicks.map(yText).join("\u0001")]}
        draw={(context) => {
          axes(
            context,
            area,
            { values: xTicks, text: xText, low: x0, high: x1 },
            { values: yTicks, text: yText, low: y0, high: y1 },
          );
          context.save();
          context.beginPath();
          context.rect(area.left, area.top, area.width, area.height);
          context.clip();
          for (const cloud of clouds) drawCloud(context, cloud, placed(cloud), isTrend);
          context.restore();
        }}
        onLeave={leave}
        onMove={(event, px, py) => {
          const found = pointAt(px, py);
          if (!found) return leave();
          enter(event, ...said(found));
        }}
        onClick={(event, px, py) => {
          const found = pointAt(px, py);
          if (found) keep(placeOf(event), ...said(found), linksOf(found.cloud.y, found.point.row));
        }}
      />
      {showsLegend && (
        <ul class="legend-list">
          {clouds.map((cloud, at) => (
            <li key={at} class="legend-plain">
              <span class="legend-mark legend-mark-points" style={{ background: cloud.color }} /> {cloud.name}{" "}
              by {nameOf(cloud.x)}
            </li>
          ))}
        </ul>
      )}
      <HoverBox of={hovered} />
    </div>
  );
}

function drawCloud(
  context: CanvasRenderingContext2D,
  { y: { config }, color }: Cloud,
  places: readonly { x: number; y: number }[],
  isTrend: boolean,
): void {
  const show = option(config?.custom, "show", isTrend ? "lines" : "points");
  if (show.includes("lines")) {
    context.strokeStyle = color;
    context.lineWidth = option(config?.custom, "lineWidth", 1);
    context.beginPath();
    for (const { x, y } of places) context.lineTo(x, y);
    context.stroke();
    context.lineWidth = 1;
  }
  if (!show.includes("points") && places.length > 1) return;
  const size = option(part(config?.custom, "pointSize"), "fixed", 5) / 2;
  context.fillStyle = faded(color, 0.7);
  for (const { x, y } of places) {
    context.beginPath();
    context.arc(x, y, size, 0, 2 * Math.PI);
    context.fill();
  }
}

/** The ends of an axis: what the fields say, else some room around the values. */
function spread(values: readonly number[], fields: readonly Field[]): [number, number] {
  const [low, high] = endsOf(values)!;
  const room = (high - low) * 0.05 || Math.abs(high) * 0.1 || 1;
  const given = (name: "min" | "max") =>
    fields.map(({ config }) => config?.[name]).find((one) => typeof one === "number");
  const from = given("min") ?? (low >= 0 && low < room * 4 ? 0 : low - room);
  const to = given("max") ?? high + room;
  return [from, to > from ? to : from + 1];
}

export function cloudsOf(frames: readonly Frame[], options: Record<string, unknown>): Cloud[] {
  const wanted = option(part(options, "dims"), "x", "") || option(options, "xField", "");
  const given = Array.isArray(options.series) ? (options.series as Given[]) : [];
  return frames.flatMap((frame, at) => {
    if (isExemplars(frame)) return [];
    const all = givenOf(given, at).map((one) => axesOf(frame, one, wanted));
    const named = all.filter(({ isNamed }) => isNamed);
    const drawn = named.length > 0 ? named : all.slice(0, 1);
    return drawn
      .flatMap(({ x, y }) => (x ? y.map((field) => ({ x, y: field })) : []))
      .map(({ x, y }, index) => cloudOf(x, y, at + index));
  });
}

/** A series as a panel says it: which columns of which frame. */
type Given = Record<string, unknown>;

/** What the panel says of a frame: series of it, else those of any frame, else the first of all. */
function givenOf(given: readonly Given[], at: number): Given[] {
  const frameOf = (one: Given) =>
    (one.frame as { matcher?: { options?: unknown } } | undefined)?.matcher?.options;
  const own = given.filter((one) => frameOf(one) === at);
  if (own.length > 0) return own;
  const ofAny = given.filter((one) => frameOf(one) === undefined);
  return ofAny.length > 0 ? ofAny : [given[0] ?? {}];
}

/** The columns of a series: those that are named, else the first as x and all others as y. */
function axesOf(frame: Frame, one: Given, wanted: string): { x?: Field; y: Field[]; isNamed: boolean } {
  const xName = matcherName(one.x) ?? (typeof one.x === "string" ? one.x : wanted);
  const numbers = frame.fields.filter(({ type }) => type === "number" || type === "time");
  const x = numbers.find((field) => nameOf(field) === xName || field.name === xName) ?? numbers[0];
  const yName = matcherName(one.y) ?? (typeof one.y === "string" ? one.y : "");
  const all = numbers.filter((field) => field !== x && field.type === "number");
  const named = all.filter((field) => nameOf(field) === yName || field.name === yName);
  return { x, y: named.length > 0 ? named : all, isNamed: named.length > 0 };
}

function matcherName(of: unknown): string | undefined {
  const name = (of as { matcher?: { options?: unknown } } | undefined)?.matcher?.options;
  return typeof name === "string" ? name : undefined;
}

function cloudOf(x: Field, y: Field, index: number): Cloud {
  const points = y.values.flatMap((cell, row) => {
    const [across, up] = [numberOf(x.values[row]), numberOf(cell)];
    return across === null || up === null || !Number.isFinite(across) || !Number.isFinite(up)
      ? []
      : [{ x: across, y: up, row }];
  });
  const fixed = y.config?.color?.mode === "fixed" ? color(y.config.color.fixedColor) : undefined;
  return { name: nameOf(y), x, y, color: fixed ?? colorAt(y.state?.seriesIndex ?? index), points };
}

interface Axis {
  values: readonly number[];
  text: (value: number) => string;
  low: number;
  high: number;
}

function axes(
  context: CanvasRenderingContext2D,
  area: { left: number; top: number; width: number; height: number },
  x: Axis,
  y: Axis,
): void {
  context.font = "11px system-ui, sans-serif";
  context.strokeStyle = token("--grid");
  context.fillStyle = token("--text-muted");
  context.textAlign = "right";
  context.textBaseline = "middle";
  for (const value of y.values) {
    const at = area.top + (1 - (value - y.low) / (y.high - y.low)) * area.height;
    context.strokeRect(area.left, at, area.width, 0);
    context.fillText(y.text(value), area.left - 6, at);
  }
  context.textAlign = "center";
  context.textBaseline = "top";
  for (const value of x.values) {
    const at = area.left + ((value - x.low) / (x.high - x.low)) * area.width;
    context.strokeRect(at, area.top, 0, area.height);
    context.fillText(x.text(value), at, area.top + area.height + 6);
  }
}
