/** Lines of logs: how an answer of Loki's API becomes a list, how bad a line is, what is not shown of it. */

export type Level = "critical" | "error" | "warn" | "info" | "debug" | "trace" | "unknown";

/** From bad to worse, as they are stacked and listed. */
export const LEVELS: readonly Level[] = ["unknown", "trace", "debug", "info", "warn", "error", "critical"];

export interface LogLine {
  /** Nanoseconds since 1970, as text. */
  nanos: string;
  text: string;
  labels: Readonly<Record<string, string>>;
  level: Level;
  /** Different for every line of a list. */
  key: string;
}

export interface LokiStream {
  stream: Readonly<Record<string, string>>;
  values: readonly (readonly [string, string, ...unknown[]])[];
}

/** Labels that say how bad a line is, the surest first. */
export const LEVEL_LABELS: readonly string[] = [
  "detected_level",
  "level",
  "severity_text",
  "severity",
  "lvl",
];

const NAMES: readonly (readonly [RegExp, Level])[] = [
  [/^(?:crit|fatal|emerg|alert|panic)/, "critical"],
  [/^err/, "error"],
  [/^warn/, "warn"],
  [/^(?:info|notice)/, "info"],
  [/^debug/, "debug"],
  [/^trace/, "trace"],
];

/** The level of a name such as `WARNING` or `Err`. */
export function levelNamed(name: string): Level {
  const lower = name.trim().toLowerCase();
  return NAMES.find(([pattern]) => pattern.test(lower))?.[1] ?? "unknown";
}

/** How bad a line is, by its labels. */
export function levelOf(labels: Readonly<Record<string, string>>): Level {
  for (const label of LEVEL_LABELS) {
    const found = labels[label] === undefined ? "unknown" : levelNamed(labels[label]);
    if (found !== "unknown") return found;
  }
  const number = Number(labels.severity_number);
  if (!(number >= 1)) return "unknown";
  return (["trace", "debug", "info", "warn", "error", "critical"] as const)[
    Math.min(5, Math.floor((number - 1) / 4))
  ]!;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is taken away.
const ESCAPES = /\u001b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\u0007]*(?:\u0007|\u001b\\)|[@-Z\\-_])/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is taken away.
const CONTROLS = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/g;

/** A line without what only terminals understand. */
export function plain(text: string): string {
  return text.replace(ESCAPES, "").replace(CONTROLS, "");
}

function compare(a: string, b: string): number {
  return a.length - b.length || (a < b ? -1 : a > b ? 1 : 0);
}

/** The lines of all streams, the newest first. */
export function linesOf(streams: readonly LokiStream[]): LogLine[] {
  const lines: LogLine[] = [];
  for (const { stream, values } of streams) {
    const level = levelOf(stream);
    for (const [nanos, text] of values)
      lines.push({ nanos, text: plain(text), labels: stream, level, key: "" });
  }
  lines.sort((a, b) => compare(b.nanos, a.nanos));
  const seen = new Map<string, number>();
  for (const line of lines) {
    const number = seen.get(line.nanos) ?? 0;
    seen.set(line.nanos, number + 1);
    line.key = `${line.nanos}/${number}`;
  }
  return lines;
}

/** Newer lines before older ones, at most so many; what is there twice is kept once. */
export function joined(newer: readonly LogLine[], older: readonly LogLine[], most: number): LogLine[] {
  const known = new Set(older.slice(0, newer.length + 500).map(identity));
  const fresh = newer.filter((line) => !known.has(identity(line)));
  return [...fresh, ...older].slice(0, most);
}

/** What makes a line the same as another. */
export function identity({ nanos, text, labels }: LogLine): string {
  return `${nanos}\u0000${text}\u0000${labels.span_id ?? ""}${labels.service_name ?? ""}`;
}

/** Counts by level over time, from series that have labels of levels. */
export function volumes(
  series: readonly {
    metric: Readonly<Record<string, string>>;
    values: readonly (readonly [number, string])[];
  }[],
): { times: number[]; byLevel: Map<Level, number[]> } {
  const all = new Set<number>();
  for (const { values } of series) for (const [seconds] of values) all.add(seconds);
  const seconds = [...all].sort((a, b) => a - b);
  const places = new Map(seconds.map((second, at) => [second, at]));
  const byLevel = new Map<Level, number[]>();
  for (const { metric, values } of series) {
    const level = levelOf(metric);
    let row = byLevel.get(level);
    if (!row) {
      row = seconds.map(() => 0);
      byLevel.set(level, row);
    }
    for (const [second, value] of values) row[places.get(second)!]! += Number(value);
  }
  return { times: seconds.map((second) => second * 1000), byLevel };
}
