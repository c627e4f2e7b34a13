/** How large texts and boxes are, so that values fill the room that they have. */
import { option } from "./frame";

let context: CanvasRenderingContext2D | null | undefined;

/** The width of a text of one pixel's height. */
function unitWidth(text: string): number {
  context ??= document.createElement("canvas").getContext("2d");
  if (!context) return text.length * 0.6;
  context.font = "600 100px system-ui, sans-serif";
  return context.measureText(text).width / 100;
}

/** The largest size at which a text fits, between a least and a greatest. */
export function fitting(text: string, width: number, height: number, least = 10, most = 96): number {
  const byWidth = width / Math.max(0.1, unitWidth(text));
  return Math.max(least, Math.min(most, byWidth, height / 1.2));
}

/** How many columns fill an area best with boxes that are about `ratio` times as wide as high. */
export function columnsFor(count: number, width: number, height: number, ratio = 2): number {
  let best = { columns: 1, size: 0 };
  for (let columns = 1; columns <= count; columns += 1) {
    const rows = Math.ceil(count / columns);
    const size = Math.min(width / columns / ratio, height / rows);
    if (size > best.size) best = { columns, size };
  }
  return best.columns;
}

/** How many columns the values of a panel stand in, by its orientation. */
export function columnsOf(
  options: Record<string, unknown>,
  count: number,
  room: { width: number; height: number },
  ratio: number,
): number {
  switch (option(options, "orientation", "auto")) {
    case "horizontal":
      return 1;
    // Those of a vertical panel stand beside each other.
    case "vertical":
      return count;
    default:
      return columnsFor(count, room.width, room.height, ratio);
  }
}

export interface GivenSizes {
  minWidth: number;
  minHeight: number;
  maxHeight: number;
}

/** The sizes that a dashboard gives gauges itself; `undefined` where the room says them. */
export function givenSizes(options: Record<string, unknown>, usual: GivenSizes): GivenSizes | undefined {
  if (option(options, "sizing", "auto") !== "manual") return undefined;
  const minHeight = Math.max(0, option(options, "minVizHeight", usual.minHeight));
  return {
    minWidth: Math.max(0, option(options, "minVizWidth", usual.minWidth)),
    minHeight,
    maxHeight: Math.max(minHeight, option(options, "maxVizHeight", usual.maxHeight)),
  };
}
