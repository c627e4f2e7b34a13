/** Points of one number against another. */
import { useMemo } from "preact/hooks";
import { token } from "../frame/theme";
import { colorAt } from "../ui/colors";
import { Canvas } from "./canvas";
import { color, faded } from "./colors";
import { display, whole } from "./display";
import { customOf, type Field, type Frame, nameOf, numberOf, option, part } from "./frame";
import { HoverBox, useHover } from "./hover";
import type { PanelProps } from "./kinds";
import { NoData } from "./nodata";
import { ticks } from "./ticks";

interface Cloud {
  name: string;
  x: Field;
  y: Field;
  color: string;
  points: { x: number; y: number; row: number }[];
}

export function XyChart({ panel, frames, width, height }: PanelProps) {
  const clouds = useMemo(() => cloudsOf(frames, panel.options), [frames, panel.options]);
  const [hovered, enter, leave] = useHover();
  const all = clouds.flatMap(({ points }) => points);
  if (all.length === 0) return <NoData frames={frames} why="It needs two columns of numbers." />;
  const [x0, x1] = spread(all.map(({ x }) => x));
  const [y0, y1] = spread(all.map(({ y }) => y));
  const yText = (value: number) => whole(display(clouds[0]!.y)(value));
  const xText = (value: number) => whole(display(clouds[0]!.x)(value));
  const yTicks = ticks(y0, y1, height / 50);
  const left = Math.max(...yTicks.map((value) => yText(value).length)) * 6.6 + 12;
  const area = { left, top: 6, width: width - left - 12, height: height - 58 };
  const placed = (cloud: Cloud) =>
    cloud.points.map((point) => ({
      point,
      x: area.left + ((point.x - x0) / (x1 - x0)) * area.width,
      y: area.top + (1 - (point.y - y0) / (y1 - y0)) * area.height,
    }));
  return (
    <div>
      <Canvas
        width={width}
        height={height - 24}
        label={`${panel.title}. ${all.length} points of ${clouds.map(({ name }) => name).join(", ")}`}
        about={[clouds]}
        draw={(context) => {
          axes(
            context,
            area,
            { values: ticks(x0, x1, width / 100), text: xText, low: x0, high: x1 },
            { values: yTicks, text: yText, low: y0, high: y1 },
          );
          for (const cloud of clouds) {
            const size = option(part(customOf(cloud.y), "pointSize"), "fixed", 5) / 2;
            context.fillStyle = faded(cloud.color, 0.7);
            for (const { x, y } of placed(cloud)) {
              context.beginPath();
              context.arc(x, y, size, 0, 2 * Math.PI);
              context.fill();
            }
          }
        }}
        onLeave={leave}
        onMove={(event, px, py) => {
          let best: { cloud: Cloud; point: { x: number; y: number }; distance: number } | undefined;
          for (const cloud of clouds) {
            for (const { point, x, y } of placed(cloud)) {
              const distance = Math.hypot(x - px, y - py);
              if (distance < 16 && distance < (best?.distance ?? Number.POSITIVE_INFINITY))
                best = { cloud, point, distance };
            }
          }
          if (!best) return leave();
          enter(event, best.cloud.name, [
            { label: nameOf(best.cloud.x), value: xText(best.point.x) },
            { label: nameOf(best.cloud.y), value: yText(best.point.y), color: best.cloud.color },
          ]);
        }}
      />
      <ul class="legend-list">
        {clouds.map((cloud) => (
          <li key={cloud.name} class="legend-plain">
            <span class="legend-mark legend-mark-points" style={{ background: cloud.color }} /> {cloud.name}{" "}
            by {nameOf(cloud.x)}
          </li>
        ))}
      </ul>
      <HoverBox of={hovered} />
    </div>
  );
}

function spread(values: readonly number[]): [number, number] {
  const low = values.reduce((least, value) => Math.min(least, value));
  const high = values.reduce((most, value) => Math.max(most, value));
  const room = (high - low) * 0.05 || Math.abs(high) * 0.1 || 1;
  return [low >= 0 && low < room * 4 ? 0 : low - room, high + room];
}

function cloudsOf(frames: readonly Frame[], options: Record<string, unknown>): Cloud[] {
  const wanted = option(part(options, "dims"), "x", "");
  const given = Array.isArray(options.series) ? (options.series as Record<string, unknown>[]) : [];
  return frames.flatMap((frame, at) => {
    const series =
      given.find(
        (one) => (one.frame as { matcher?: { options?: number } } | undefined)?.matcher?.options === at,
      ) ?? given[0];
    const xName = matcherName(series?.x) ?? (typeof series?.x === "string" ? series.x : wanted);
    const numbers = frame.fields.filter(({ type }) => type === "number" || type === "time");
    const x = numbers.find((field) => nameOf(field) === xName || field.name === xName) ?? numbers[0];
    const yName = matcherName(series?.y) ?? (typeof series?.y === "string" ? series.y : "");
    const all = numbers.filter((field) => field !== x && field.type === "number");
    const named = all.filter((field) => nameOf(field) === yName || field.name === yName);
    if (!x) return [];
    return (named.length > 0 ? named : all).map((y, index) => cloudOf(x, y, at + index));
  });
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
