/** Colours made of others: with less of them, and between them. Any colour of CSS may be given. */

/** Channels of red, green and blue of any colour of CSS. */
export function channels(css: string): [number, number, number] {
  const found = parsed.get(css);
  if (found) return found;
  const made = parse(css);
  if (parsed.size > 2000) parsed.clear();
  parsed.set(css, made);
  return made;
}

const parsed = new Map<string, [number, number, number]>();

function parse(css: string): [number, number, number] {
  const hex = /^#([0-9a-f]{3,8})$/i.exec(css)?.[1];
  if (hex) {
    const full = hex.length < 6 ? [...hex].map((digit) => digit + digit).join("") : hex;
    return [0, 2, 4].map((at) => Number.parseInt(full.slice(at, at + 2), 16)) as [number, number, number];
  }
  const rgb = /^rgba?\(([^)]+)\)/
    .exec(css)?.[1]
    ?.split(/[ ,/]+/)
    .map(Number.parseFloat);
  if (rgb && rgb.length >= 3) return [rgb[0]!, rgb[1]!, rgb[2]!];
  const hsl = /^hsla?\(([^)]+)\)/
    .exec(css)?.[1]
    ?.split(/[ ,/]+/)
    .map(Number.parseFloat);
  if (hsl && hsl.length >= 3) return fromHsl(hsl[0]!, hsl[1]! / 100, hsl[2]! / 100);
  return byCanvas(css);
}

function fromHsl(hue: number, saturation: number, lightness: number): [number, number, number] {
  const spread = saturation * Math.min(lightness, 1 - lightness);
  const channel = (offset: number) => {
    const at = (offset + hue / 30) % 12;
    return Math.round(255 * (lightness - spread * Math.max(-1, Math.min(at - 3, 9 - at, 1))));
  };
  return [channel(0), channel(8), channel(4)];
}

/** Names of CSS, such as `rebeccapurple`: the browser knows them. */
function byCanvas(css: string): [number, number, number] {
  const context = document.createElement("canvas").getContext("2d");
  if (!context) return [128, 128, 128];
  context.fillStyle = "#808080";
  context.fillStyle = css;
  return /^#[0-9a-f]{6}$/i.test(context.fillStyle) ? parse(context.fillStyle) : [128, 128, 128];
}

/** A colour of which one sees `alpha`, 0 to 1. */
export function faded(css: string, alpha: number): string {
  if (css === "transparent") return css;
  const key = `${css} ${alpha}`;
  let made = thinner.get(key);
  if (made === undefined) {
    made = `rgb(${channels(css).join(" ")} / ${Math.round(alpha * 1000) / 10}%)`;
    if (thinner.size > 2000) thinner.clear();
    thinner.set(key, made);
  }
  return made;
}

/** What was asked for before: canvases ask for each box of each frame. */
const thinner = new Map<string, string>();

/** The colour at a part, 0 to 1, of a scale of colours. */
export function between(stops: readonly string[], at: number): string {
  const place = Math.max(0, Math.min(1, Number.isFinite(at) ? at : 0)) * (stops.length - 1);
  const index = Math.min(stops.length - 2, Math.floor(place));
  if (stops.length < 2) return stops[0] ?? "#808080";
  const [low, high] = [channels(stops[index]!), channels(stops[index + 1]!)];
  const mixed = low.map((channel, which) => Math.round(channel + (high[which]! - channel) * (place - index)));
  return `rgb(${mixed.join(" ")})`;
}
