/** Lines of logs: how an answer of Loki's API becomes a list, what is not shown of it. */

import { type Level, levelOf } from "../../ui/level";

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

/** What makes a line the same as another: lines of one stream have one object for their labels. */
export function identity({ nanos, text, labels }: LogLine): string {
  return `${nanos}\u0000${text}\u0000${labelText(labels)}`;
}

const labelTexts = new WeakMap<LogLine["labels"], string>();

/** All labels as one text, whatever their order. */
function labelText(labels: LogLine["labels"]): string {
  let known = labelTexts.get(labels);
  if (known === undefined) {
    known = JSON.stringify(Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1)));
    labelTexts.set(labels, known);
  }
  return known;
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
