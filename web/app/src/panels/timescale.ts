/** An axis of time for drawings of our own: where a time lies, and round times along it. */
import { tickTime } from "../ui/ticktime";
import { clockOf, zone } from "./zone";

const STEPS_SECONDS = [
  1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400, 172_800,
  604_800, 2_592_000, 7_776_000, 31_536_000,
];

const HOUR_MILLIS = 3_600_000;

/** Round times between two, about one for `pixels`, on the clock of a zone. */
export function timeTicks(
  from: number,
  to: number,
  width: number,
  name: string | undefined = zone.value,
  pixels = 80,
): number[] {
  const wanted = (to - from) / Math.max(1, width / pixels) / 1000;
  const step = (STEPS_SECONDS.find((seconds) => seconds >= wanted) ?? STEPS_SECONDS.at(-1)!) * 1000;
  const { offsetAt } = clockOf(name);
  // Clocks change by full hours, so that what is round within an hour stays round.
  if (step <= HOUR_MILLIS) return rounds(from, to, step, offsetAt(from));
  const found: number[] = [];
  for (const shown of rounds(from + offsetAt(from), to + offsetAt(to), step, 0)) {
    // The clock may have another offset there than at its beginning.
    const guess = shown - offsetAt(shown - offsetAt(from));
    const at = shown - offsetAt(guess);
    if (at >= from && at <= to && at > (found.at(-1) ?? Number.NEGATIVE_INFINITY)) found.push(at);
  }
  return found;
}

/** The times that are multiples of a step once an offset is added. */
function rounds(from: number, to: number, step: number, offset: number): number[] {
  const first = Math.ceil((from + offset) / step) * step - offset;
  return Array.from(
    { length: Math.max(0, Math.floor((to - first) / step) + 1) },
    (_, at) => first + at * step,
  );
}

/** Draws times below an area. */
export function drawTimes(
  context: CanvasRenderingContext2D,
  area: { left: number; top: number; width: number; height: number },
  from: number,
  to: number,
  colors: { text: string; grid: string },
  name: string | undefined = zone.value,
): void {
  context.font = "11px system-ui, sans-serif";
  context.textAlign = "center";
  context.textBaseline = "top";
  for (const at of timeTicks(from, to, area.width, name)) {
    const x = area.left + ((at - from) / (to - from)) * area.width;
    context.strokeStyle = colors.grid;
    context.beginPath();
    context.moveTo(x, area.top);
    context.lineTo(x, area.top + area.height);
    context.stroke();
    context.fillStyle = colors.text;
    context.fillText(tickTime(at, to - from, clockOf(name)), x, area.top + area.height + 5);
  }
}
