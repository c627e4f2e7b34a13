/** An axis of time for drawings of our own: where a time lies, and round times along it. */
import { day } from "../ui/format";
import { inZone, zoneOffset } from "./zone";

const STEPS_SECONDS = [
  1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400, 172_800,
  604_800, 2_592_000, 7_776_000, 31_536_000,
];

/** Round times between two, about one for `pixels`. */
export function timeTicks(from: number, to: number, width: number, pixels = 80): number[] {
  const wanted = (to - from) / Math.max(1, width / pixels) / 1000;
  const step = (STEPS_SECONDS.find((seconds) => seconds >= wanted) ?? STEPS_SECONDS.at(-1)!) * 1000;
  const shift = -zoneOffset(from);
  const found: number[] = [];
  for (let at = Math.ceil((from - shift) / step) * step + shift; at <= to; at += step) found.push(at);
  return found;
}

/** A time on an axis: the clock, or the day where one begins. */
export function tickTime(millis: number, spanMillis: number): string {
  const shown = inZone(millis);
  const date = new Date(shown);
  const two = (value: number) => String(value).padStart(2, "0");
  if (spanMillis > 3 * 86_400_000 || (date.getHours() === 0 && date.getMinutes() === 0))
    return day(shown).slice(5);
  const clock = `${two(date.getHours())}:${two(date.getMinutes())}`;
  return spanMillis < 10 * 60_000 ? `${clock}:${two(date.getSeconds())}` : clock;
}

/** Draws times below an area. */
export function drawTimes(
  context: CanvasRenderingContext2D,
  area: { left: number; top: number; width: number; height: number },
  from: number,
  to: number,
  colors: { text: string; grid: string },
): void {
  context.font = "11px system-ui, sans-serif";
  context.textAlign = "center";
  context.textBaseline = "top";
  for (const at of timeTicks(from, to, area.width)) {
    const x = area.left + ((at - from) / (to - from)) * area.width;
    context.strokeStyle = colors.grid;
    context.beginPath();
    context.moveTo(x, area.top);
    context.lineTo(x, area.top + area.height);
    context.stroke();
    context.fillStyle = colors.text;
    context.fillText(tickTime(at, to - from), x, area.top + area.height + 5);
  }
}
