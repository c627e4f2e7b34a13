/** Colours and patterns for canvases, kept between frames; made anew with the theme. */
import { theme, token } from "../../frame/theme";

/** The colours of the style sheet that canvases use. */
export interface Paint {
  text: string;
  muted: string;
  grid: string;
  border: string;
  surface: string;
  surface2: string;
  accent: string;
  accentSoft: string;
  bad: string;
  warn: string;
  critical: string;
  hover: string;
  onAccent: string;
  font: string;
}

let kept: { theme: string; paint: Paint } | undefined;

/** The colours of the theme that is shown. */
export function paint(): Paint {
  const now = theme.peek();
  // The attribute that chooses the colours is set by an effect; until then they are the other theme's.
  if (kept?.theme === now && document.documentElement.dataset.theme === now) return kept.paint;
  const made: Paint = {
    text: token("--text"),
    muted: token("--text-muted"),
    grid: token("--grid"),
    border: token("--border"),
    surface: token("--surface"),
    surface2: token("--surface-2"),
    accent: token("--accent"),
    accentSoft: token("--accent-soft"),
    bad: token("--bad"),
    warn: token("--warn"),
    critical: token("--critical"),
    hover: token("--hover"),
    onAccent: token("--on-accent"),
    font: `11px ${token("--font")}`,
  };
  kept = { theme: now, paint: made };
  return made;
}

const hatches = new Map<string, CanvasPattern | null>();

/** Slanted lines of a colour, for what is not to be told by colour alone. */
export function hatch(context: CanvasRenderingContext2D, color: string): CanvasPattern | string {
  if (!hatches.has(color)) {
    const tile = document.createElement("canvas");
    tile.width = 6;
    tile.height = 6;
    const lines = tile.getContext("2d")!;
    lines.strokeStyle = color;
    lines.lineWidth = 1.6;
    for (const from of [-6, 0, 6]) {
      lines.moveTo(from - 1, 7);
      lines.lineTo(from + 7, -1);
    }
    lines.stroke();
    if (hatches.size > 200) hatches.clear();
    hatches.set(color, context.createPattern(tile, "repeat"));
  }
  return hatches.get(color) ?? color;
}

const widths = new Map<string, number>();

/** How wide a text is in the font of canvases. */
export function textWidth(context: CanvasRenderingContext2D, text: string): number {
  let width = widths.get(text);
  if (width === undefined) {
    width = context.measureText(text).width;
    if (widths.size > 5000) widths.clear();
    widths.set(text, width);
  }
  return width;
}

/** A text cut to a width, with an ellipsis; empty if not even a letter has room. */
export function cutTo(context: CanvasRenderingContext2D, text: string, room: number): string {
  if (room < 14) return "";
  // Ten thousand letters are not measured to show twenty.
  const most = text.length > 400 ? text.slice(0, 400) : text;
  if (most === text && textWidth(context, text) <= room) return text;
  let [low, high] = [0, most.length];
  while (low < high) {
    const middle = (low + high + 1) >>> 1;
    if (context.measureText(`${most.slice(0, middle)}…`).width <= room) low = middle;
    else high = middle - 1;
  }
  return low === 0 ? "" : `${most.slice(0, low)}…`;
}
