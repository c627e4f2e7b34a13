/** Where everything of the lanes is, in pixels: pure numbers, so that drawing and pointing agree. */
import { clamp, type Window } from "../../ui/canvas/window";
import type { LaneNode, Lanes } from "./types";

export const HEAD = 20;
export const LANE = 11;
/** The height of a strip: of the processors of a node, or of one of its GPUs. */
export const STRIP = 13;
export const GAP = 8;
/** Room for names, on the left. */
export const GUTTER = 150;

/** How much of something of a node was in use over time, in percent. */
export interface Strip {
  label: string;
  isGpu: boolean;
  series: readonly (number | null)[];
  mean: number | null;
}

/** A node with its place. */
export interface Placed {
  node: LaneNode;
  strips: readonly Strip[];
  top: number;
  /** Where lanes begin, and strips. */
  lanesTop: number;
  stripsTop: number;
  height: number;
}

/** The strips of a node: its processors, if they are known, and its GPUs. */
export function stripsOf(node: LaneNode): Strip[] {
  const { cpu_percent: cpu, gpus } = node;
  const known = (cpu ?? []).filter((value) => value !== null);
  const mean = known.length > 0 ? known.reduce((sum, value) => sum + value, 0) / known.length : null;
  return [
    ...(cpu ? [{ label: "CPU", isGpu: false, series: cpu, mean }] : []),
    ...gpus.map(({ gpu, series, mean_percent }) => ({
      label: `GPU ${gpu}`,
      isGpu: true,
      series,
      mean: mean_percent,
    })),
  ];
}

/** Nodes one below the other, and how high they are together. */
export function placed(lanes: Lanes): { nodes: Placed[]; height: number } {
  let top = HEAD;
  const nodes = lanes.nodes.map((node) => {
    const lanesHeight = Math.max(1, node.lanes) * LANE;
    const strips = stripsOf(node);
    const place: Placed = {
      node,
      strips,
      top,
      lanesTop: top,
      stripsTop: top + lanesHeight + 2,
      height: lanesHeight + 2 + strips.length * STRIP + GAP,
    };
    top += place.height;
    return place;
  });
  return { nodes, height: top };
}

/** What is below a point: a bar of a node, or a strip. */
export type Pointed = { node: LaneNode; bar: number } | { node: LaneNode; strip: Strip } | undefined;

/** What is below a point of the drawing, whose times are given. */
export function pointed(
  nodes: readonly Placed[],
  x: number,
  y: number,
  time: number,
  slackMillis: number,
): Pointed {
  const place = nodes.find(({ top, height }) => y >= top && y < top + height);
  if (!place || x < 0) return undefined;
  const { node } = place;
  if (y >= place.stripsTop) {
    const strip = place.strips[Math.floor((y - place.stripsTop) / STRIP)];
    return strip && { node, strip };
  }
  const lane = Math.floor((y - place.lanesTop) / LANE);
  for (let bar = node.lane.length - 1; bar >= 0; bar -= 1) {
    if (node.lane[bar] !== lane) continue;
    if (time >= node.start_ms[bar]! - slackMillis && time <= node.end_ms[bar]! + slackMillis)
      return { node, bar };
  }
  return undefined;
}

/** The value of a series at a time; `null` where nothing is known. */
export function valueAt(series: readonly (number | null)[], lanes: Lanes, time: number): number | null {
  const part = (time - lanes.series_start_ms) / Math.max(1, lanes.series_end_ms - lanes.series_start_ms);
  if (part < 0 || part > 1) return null;
  return series[Math.min(series.length - 1, Math.floor(part * series.length))] ?? null;
}

/** The part of the lanes that an address names, in milliseconds from their beginning: `from,to`. */
export function partOf(text: string | undefined, length: number): Window | undefined {
  const [from = Number.NaN, to = Number.NaN] = (text ?? "").split(",").map(Number);
  return from >= 0 && from < to ? clamp({ from, to }, length) : undefined;
}
