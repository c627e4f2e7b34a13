/** Where everything of the lanes is, in pixels: pure numbers, so that drawing and pointing agree. */
import type { LaneNode, Lanes } from "./types";

export const HEAD = 20;
export const LANE = 11;
export const GPU = 13;
export const GAP = 8;
/** Room for names, on the left. */
export const GUTTER = 150;

/** A node with its place. */
export interface Placed {
  node: LaneNode;
  top: number;
  /** Where lanes begin, and rows of GPUs. */
  lanesTop: number;
  gpusTop: number;
  height: number;
}

/** Nodes one below the other, and how high they are together. */
export function placed(lanes: Lanes): { nodes: Placed[]; height: number } {
  let top = HEAD;
  const nodes = lanes.nodes.map((node) => {
    const lanesHeight = Math.max(1, node.lanes) * LANE;
    const place: Placed = {
      node,
      top,
      lanesTop: top,
      gpusTop: top + lanesHeight + 2,
      height: lanesHeight + 2 + node.gpus.length * GPU + GAP,
    };
    top += place.height;
    return place;
  });
  return { nodes, height: top };
}

/** What is below a point: a bar of a node, or a GPU. */
export type Pointed = { node: LaneNode; bar: number } | { node: LaneNode; gpu: number } | undefined;

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
  if (y >= place.gpusTop) {
    const gpu = Math.floor((y - place.gpusTop) / GPU);
    return gpu < node.gpus.length ? { node, gpu } : undefined;
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
