/** The colours of a heat map's cells, and which of them are drawn. */
import { between, faded } from "../ui/shades";
import { color, scaleOf } from "./colors";
import { option, part } from "./frame";
import type { HeatCells } from "./heatcells";

export interface HeatPaint {
  /** What the ends of the colours stand for. */
  low: number;
  high: number;
  of: (value: number) => string;
  /** Whether a value is drawn: those that a filter hides are not. */
  isShown: (value: number) => boolean;
}

/** The faintest cell of a scheme is still told from the panel behind it. */
const FAINTEST = 0.12;

export function heatPaint({ values }: HeatCells, options: Record<string, unknown>): HeatPaint {
  const [colors, filter] = [part(options, "color"), part(options, "filterValues")];
  const above = option(filter, "le", 1e-9);
  const below = option(filter, "ge", Number.POSITIVE_INFINITY);
  const isShown = (value: number) => value > above && value < below;
  const low = option(colors, "min", 0);
  const high = option(colors, "max", greatest(values, isShown));
  const shade = shadeOf(colors);
  return { low, high, isShown, of: (value) => shade((value - low) / (high - low || 1)) };
}

/** The colour at a part of the scale. */
function shadeOf(colors: Record<string, unknown>): (share: number) => string {
  const steps = Math.max(2, Math.min(128, Math.round(option(colors, "steps", 128))));
  const isReversed = option(colors, "reverse", false);
  const isOpacity = option(colors, "mode", "scheme") === "opacity";
  const fill = color(option(colors, "fill", "dark-orange"));
  const stops = scaleOf(option(colors, "scheme", "Oranges"));
  const power = powerOf(colors);
  return (share) => {
    const within = Math.max(0, Math.min(1, Number.isFinite(share) ? share : 1));
    const step = Math.min(steps - 1, Math.floor(within * steps)) / (steps - 1);
    // In few steps each is a colour of its own, in many they are a flow.
    const at = (steps < 128 ? step : within) ** power;
    const place = isReversed ? 1 - at : at;
    return isOpacity ? faded(fill, place) : between(stops, FAINTEST + (1 - FAINTEST) * place);
  };
}

function powerOf(colors: Record<string, unknown>): number {
  switch (option(colors, "scale", "exponential")) {
    case "linear":
      return 1;
    case "sqrt":
      return 0.5;
    default:
      return option(colors, "exponent", 0.5);
  }
}

function greatest(rows: HeatCells["values"], isShown: (value: number) => boolean): number {
  let most = 0;
  for (const row of rows)
    for (const value of row) if (typeof value === "number" && value > most && isShown(value)) most = value;
  return most;
}
