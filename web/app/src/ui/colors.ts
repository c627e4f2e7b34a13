/** Colours of services and series: the same text has the same colour, on every page and in both themes. */

/** Distinct in both themes, with a contrast of 3 to 1 or more against either background. */
export const PALETTE: readonly string[] = [
  "#3f7fd4",
  "#c2571a",
  "#2f8f5b",
  "#9a5fc9",
  "#b8860b",
  "#c9486c",
  "#1f8f9f",
  "#7a6fd0",
  "#8a7a2a",
  "#d0493b",
  "#4b8b2b",
  "#a8539c",
  "#2d86b8",
  "#a6683a",
  "#5f7f9f",
  "#b0568a",
];

const known = new Map<string, string>();

/** The colour of a text. */
export function colorOf(text: string): string {
  let color = known.get(text);
  if (color === undefined) {
    let hash = 2166136261;
    for (let at = 0; at < text.length; at += 1) {
      hash = Math.imul(hash ^ text.charCodeAt(at), 16777619);
    }
    color = PALETTE[(hash >>> 0) % PALETTE.length]!;
    if (known.size > 10_000) known.clear();
    known.set(text, color);
  }
  return color;
}

/** The colour of the nth of several. */
export function colorAt(index: number): string {
  return PALETTE[index % PALETTE.length]!;
}
