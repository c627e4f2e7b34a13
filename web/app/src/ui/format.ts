/** Numbers, durations, sizes and times as people read them. Durations are exact to the nanosecond. */

/** `1.23 s`, `45.6 ms`, `2 h 5 m`: of nanoseconds. */
export function duration(nanos: number): string {
  if (!Number.isFinite(nanos)) return "–";
  if (nanos < 0) return `-${duration(-nanos)}`;
  // A number that is rounded up to the next unit is written in that: never 1000 ms, or 60 s.
  for (const [size, unit, most] of [
    [1, "ns", 1000],
    [1e3, "µs", 1000],
    [1e6, "ms", 1000],
    [1e9, "s", 60],
  ] as const) {
    const text = trim(nanos / size);
    if (Number(text) < most) return `${text} ${unit}`;
  }
  const seconds = Math.max(60, nanos / 1e9);
  const parts: [number, string][] = [
    [31_536_000, "y"],
    [86_400, "d"],
    [3600, "h"],
    [60, "m"],
    [1, "s"],
  ];
  const at = parts.findIndex(([size]) => seconds >= size);
  const [large, small] = [parts[at]!, parts[at + 1]!];
  const count = Math.floor(seconds / large[0]);
  const rest = Math.floor((seconds - count * large[0]) / small[0]);
  return rest === 0 ? `${count} ${large[1]}` : `${count} ${large[1]} ${rest} ${small[1]}`;
}

function trim(value: number): string {
  const size = Math.abs(value);
  const digits = size < 10 ? 2 : size < 100 ? 1 : 0;
  return String(Number(value.toFixed(digits)));
}

/** `1.2 k`, `3.4 M`. */
export function count(value: number): string {
  if (!Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  if (size < 1e4) return Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(4)));
  for (const [unit, suffix] of [
    [1e3, "k"],
    [1e6, "M"],
    [1e9, "G"],
  ] as const) {
    const text = trim(value / unit);
    if (Math.abs(Number(text)) < 1000) return `${text} ${suffix}`;
  }
  return `${trim(value / 1e12)} T`;
}

/** `1.5 MiB`. */
export function bytes(value: number): string {
  if (!Number.isFinite(value)) return "–";
  const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
  let at = 0;
  let size = value;
  for (; Math.abs(Number(trim(size))) >= 1024 && at < units.length - 1; at += 1) size /= 1024;
  return `${at === 0 && Number.isInteger(size) ? size : trim(size)} ${units[at]}`;
}

/** `12.3 %`, of a part of one. */
export function percent(part: number): string {
  return Number.isFinite(part) ? `${trim(part * 100)} %` : "–";
}

function two(value: number, width = 2): string {
  return String(value).padStart(width, "0");
}

/** `12:01:07`, or with its date if that is not today: of milliseconds, in local time. */
export function time(millis: number, now = Date.now()): string {
  const date = new Date(millis);
  if (Number.isNaN(date.getTime())) return "–";
  const clock = `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
  return date.toDateString() === new Date(now).toDateString() ? clock : `${day(millis)} ${clock}`;
}

/** `2026-11-18`. */
export function day(millis: number): string {
  const date = new Date(millis);
  if (Number.isNaN(date.getTime())) return "–";
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
}

/** Date and time to the millisecond. */
export function fullTime(millis: number): string {
  if (Number.isNaN(new Date(millis).getTime())) return "–";
  return `${day(millis)} ${time(millis, millis)}.${two(new Date(millis).getMilliseconds(), 3)}`;
}

/** `3 m ago`. */
export function ago(millis: number, now = Date.now()): string {
  const seconds = Math.round((now - millis) / 1000);
  return seconds < 5 ? "now" : `${duration(seconds * 1e9)} ago`;
}

/** Milliseconds of nanoseconds since 1970, which come as text because they exceed what numbers hold. */
export function millisOf(nanos: string | number | bigint): number {
  return typeof nanos === "number" ? nanos / 1e6 : Number(BigInt(nanos) / 1000n) / 1000;
}
