/** How a flame is drawn: boxes with their names, and strips of those that are too narrow. */

import { faded } from "../shades";
import { eachSeen, type FlameBoxes, type Strip } from "./flamegeometry";
import { cutTo, type Paint, paint } from "./paint";
import type { Window } from "./window";

/** How high a level is. */
export const LINE = 18;

/** What boxes look like. */
export interface FlameLook {
  boxes: FlameBoxes;
  text: (box: number) => string;
  color: (box: number) => string;
  /** Whether a box is to stand out; `undefined` if none is. */
  isMatch?: (box: number) => boolean;
  selected?: number;
  /** Whether a box has an error, which is told by a line below it. */
  isMarked?: (box: number) => boolean;
}

/** Draws what is in the window, scrolled down by `top` pixels. */
export function drawFlame(
  context: CanvasRenderingContext2D,
  look: FlameLook,
  window: Window,
  top: number,
  width: number,
  height: number,
): void {
  const { boxes, isMatch } = look;
  const colors = paint();
  context.font = colors.font;
  context.textBaseline = "middle";
  context.textAlign = "left";
  const muted = faded(colors.muted, isMatch ? 0.18 : 0.5);
  const lineOf = (depth: number) => depth * LINE - top;
  eachSeen(
    boxes,
    window,
    width,
    (top + height) / LINE,
    (box, left, right) => {
      const y = lineOf(boxes.depth[box]!);
      if (y > -LINE) drawBox(context, look, box, Math.max(left, -2), Math.min(right, width + 2), y, colors);
    },
    (strip) => {
      const y = lineOf(strip.depth);
      if (y > -LINE) drawStrip(context, strip, y, muted);
    },
  );
}

/** Flatter than a box, and of no service's colour: it may be of several. */
function drawStrip(
  context: CanvasRenderingContext2D,
  { left, right }: Strip,
  y: number,
  color: string,
): void {
  context.fillStyle = color;
  context.fillRect(left, y + 4, Math.max(1, right - left), LINE - 8);
}

function drawBox(
  context: CanvasRenderingContext2D,
  { text, color, isMatch, selected, isMarked }: FlameLook,
  box: number,
  left: number,
  right: number,
  y: number,
  colors: Paint,
): void {
  const isOther = isMatch !== undefined && !isMatch(box);
  const fill = color(box);
  context.fillStyle = faded(fill, isOther ? 0.18 : 0.85);
  context.fillRect(left, y + 1, Math.max(0.6, right - left - 0.6), LINE - 2);
  if (isMarked?.(box)) {
    context.fillStyle = colors.bad;
    context.fillRect(left, y + LINE - 4, Math.max(0.6, right - left - 0.6), 3);
  }
  if (box === selected) {
    context.strokeStyle = colors.text;
    context.lineWidth = 2;
    context.strokeRect(left + 1, y + 2, Math.max(1, right - left - 2), LINE - 4);
  }
  const from = Math.max(left, 0) + 4;
  const words = cutTo(context, text(box), right - from - 3);
  if (words === "") return;
  context.fillStyle = isOther ? colors.muted : colors.onAccent;
  context.fillText(words, from, y + LINE / 2 + 0.5);
}
