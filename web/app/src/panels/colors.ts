/**
 * Colours by the names that dashboards give them (`dark-red`, `semi-dark-blue`), colours of thresholds,
 * and scales from one colour to another. The shades are ours: legible on both backgrounds.
 */
import { theme, token } from "../frame/theme";
import { colorAt, colorOf } from "../ui/colors";
import { between, channels } from "../ui/shades";
import type { Cell, Field, ThresholdStep } from "./frame";

const HUES: Record<string, readonly [hue: number, saturation: number]> = {
  red: [4, 78],
  orange: [26, 85],
  yellow: [45, 85],
  green: [140, 48],
  blue: [214, 68],
  purple: [272, 50],
  gray: [215, 8],
};

const SHADES: readonly (readonly [prefix: string, lightness: number])[] = [
  ["super-light-", 22],
  ["semi-dark-", -8],
  ["light-", 11],
  ["dark-", -16],
  ["", 0],
];

/** The whole of it, so that nothing else of CSS, such as a picture from elsewhere, comes along. */
const COLOR = /^(#[0-9a-f]{3,8}|(rgb|hsl)a?\([\w\s.,%/-]*\)|[a-z]+)$/i;

/** A colour of CSS for a name or a colour as a dashboard has it. */
export function color(name: string | undefined): string {
  if (!name) return token("--text-muted");
  if (name === "text") return token("--text");
  if (name === "panel-bg" || name === "background") return token("--surface");
  if (name === "transparent") return "transparent";
  for (const [prefix, lighter] of SHADES) {
    const hue = name.startsWith(prefix) ? HUES[name.slice(prefix.length)] : undefined;
    if (hue) return shade(hue, lighter);
  }
  return COLOR.test(name) ? name : token("--text-muted");
}

function shade([hue, saturation]: readonly [number, number], lighter: number): string {
  const middle = theme.value === "dark" ? 58 : 42;
  // Yellow is bright by itself.
  const lightness = middle + lighter - (hue === 45 && theme.value === "light" ? 6 : 0);
  return `hsl(${hue} ${saturation}% ${Math.max(14, Math.min(90, lightness))}%)`;
}

/** How bright a colour is to the eye, 0 to 1. */
function luminance(css: string): number {
  const [red, green, blue] = channels(css).map((channel) => {
    const part = channel / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  }) as [number, number, number];
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

/** Black or white: what is read better on a colour. */
export function textOn(css: string): string {
  return luminance(css) > 0.179 ? "#000000" : "#ffffff";
}

/** The contrast that small text needs. */
const LEAST_CONTRAST = 4.6;

/** A colour for small text on a panel: like the one given, and as bright or dark as it must be. */
export function legible(css: string): string {
  if (css === "transparent") return token("--text");
  const [surface, text] = [token("--surface"), token("--text")];
  for (let share = 0; share < 1; share += 0.1) {
    const mixed = between([css, text], share);
    const [low, high] = [luminance(mixed), luminance(surface)].sort((a, b) => a - b) as [number, number];
    if ((high + 0.05) / (low + 0.05) >= LEAST_CONTRAST) return mixed;
  }
  return text;
}

const NAMED: Record<string, readonly string[]> = {
  Gr: ["green"],
  Rd: ["red"],
  Yl: ["yellow"],
  Bl: ["blue"],
  Pu: ["purple"],
};

const SCALES: Record<string, readonly string[]> = {
  viridis: ["#440154", "#3b528b", "#21918c", "#5ec962", "#fde725"],
  magma: ["#000004", "#51127c", "#b73779", "#fc8961", "#fcfdbf"],
  plasma: ["#0d0887", "#7e03a8", "#cc4778", "#f89540", "#f0f921"],
  inferno: ["#000004", "#57106e", "#bc3754", "#f98e09", "#fcffa4"],
  cividis: ["#00224e", "#434e6c", "#7d7c78", "#bcae6c", "#fee838"],
  turbo: ["#30123b", "#4686fb", "#1ae4b6", "#a4fc3c", "#fb7e21", "#7a0403"],
  spectral: ["#9e0142", "#f46d43", "#fee08b", "#e6f598", "#66c2a5", "#5e4fa2"],
};

/** The colours of a scale by its name: `continuous-GrYlRd`, `Oranges`, `Spectral`. */
export function scaleOf(name: string): readonly string[] {
  const short = name.replace(/^continuous-/, "");
  const known = SCALES[short.toLowerCase()];
  if (known) return known;
  const words = short.match(/[A-Z][a-z](?![a-z])/g)?.flatMap((word) => NAMED[word] ?? []) ?? [];
  if (words.length > 1) return words.map(color);
  const single = short.toLowerCase().replace(/s$/, "");
  const hue = single in HUES ? single : "orange";
  return theme.value === "dark"
    ? [token("--surface-2"), color(hue), color(`super-light-${hue}`)]
    : [token("--surface-2"), color(hue), color(`dark-${hue}`)];
}

/** The step of thresholds that a value is in. */
export function stepOf(
  field: Field | undefined,
  value: number,
): { step: ThresholdStep | undefined; index: number } {
  const { steps = [], mode } = field?.config?.thresholds ?? {};
  const [low, high] = field?.state?.range ?? [0, 100];
  const compared = mode === "percentage" ? ((value - low) / (high - low || 1)) * 100 : value;
  let index = 0;
  for (let at = 1; at < steps.length; at += 1) {
    const from = steps[at]!.value;
    if (typeof from === "number" && compared >= from) index = at;
  }
  return { step: steps[index], index };
}

/** The colour of one value of a field, by the mode that the field has. */
export function colorOfValue(field: Field, value: number | null): string {
  const mode = field.config?.color?.mode ?? "thresholds";
  if (mode.startsWith("continuous-")) {
    const [low, high] = field.state?.range ?? [0, 100];
    return between(scaleOf(mode), ((value ?? low) - low) / (high - low || 1));
  }
  if (mode === "thresholds" || mode === "") {
    const { step } = stepOf(field, value ?? Number.NEGATIVE_INFINITY);
    return color(step?.color ?? "green");
  }
  return seriesColor(field);
}

/** The colour of a field as a series. */
export function seriesColor(field: Field, index = field.state?.seriesIndex ?? 0): string {
  const { mode = "palette-classic", fixedColor, seriesBy } = field.config?.color ?? {};
  if (mode === "fixed") return color(fixedColor);
  if (mode === "shades") {
    const base = channels(color(fixedColor));
    const factor = 1 - ((index % 5) - 2) * 0.16;
    return `rgb(${base.map((channel) => Math.round(Math.min(255, channel * factor))).join(" ")})`;
  }
  if (mode === "palette-classic-by-name") return colorOf(field.state?.displayName ?? field.name);
  if (mode === "thresholds" || mode.startsWith("continuous-")) {
    return colorOfValue(field, representative(field.values, seriesBy));
  }
  return colorAt(index);
}

/** The value that stands for a series. */
function representative(values: readonly Cell[], by: "last" | "min" | "max" = "last"): number | null {
  let found: number | null = null;
  for (const value of values) {
    if (typeof value !== "number" || Number.isNaN(value)) continue;
    if (found === null || by === "last") found = value;
    else found = by === "min" ? Math.min(found, value) : Math.max(found, value);
  }
  return found;
}
