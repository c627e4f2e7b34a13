/** Questions to Loki's API. */
import { getJson } from "../../frame/api";
import type { Params } from "../../frame/router";
import type { Range } from "../../frame/time";
import { millisOf } from "../../ui/format";
import { quote } from "../../ui/quote";
import { type LogLine, type LokiStream, linesOf } from "./lines";
import { countBy } from "./query";

export interface LokiSeries {
  metric: Readonly<Record<string, string>>;
  values: readonly (readonly [number, string])[];
}

interface Answered {
  data: { resultType: "streams" | "matrix" | "vector"; result: readonly (LokiStream | LokiSeries)[] };
}

/** Whole steps that hold all of the time: a count stands at the end of its step, and a refresh moves none. */
export function wholeSteps({ from, to }: Range, step: number): Range {
  const end = (millis: number) => Math.ceil(millis / 1000 / step) * step * 1000;
  return { from: end(from), to: end(to) };
}

/** Points of a chart of numbers over the time shown. */
const POINTS = 240;

/** The step of such a chart, in seconds. */
export function numbersStep({ from, to }: Range): number {
  return Math.max(1, Math.ceil((to - from) / 1000 / POINTS));
}

/** Lines or series, whichever a query answers. */
export async function askRange(
  query: string,
  { from, to }: Range,
  also: Params,
  signal?: AbortSignal,
): Promise<{ lines: LogLine[]; series: LokiSeries[] }> {
  const params = { query, start: `${Math.floor(from)}000000`, end: `${Math.ceil(to)}000000`, ...also };
  const { data } = await getJson<Answered>("/loki/api/v1/query_range", params, signal);
  return data.resultType === "streams"
    ? { lines: linesOf(data.result as LokiStream[]), series: [] }
    : { lines: [], series: data.result as LokiSeries[] };
}

interface Counted {
  metric: Readonly<Record<string, string>>;
  value: readonly [number, string];
}

/** Numbers of all of a time, by a query that is made of its length. */
async function askOf(
  { from, to }: Range,
  query: (length: string) => string,
  signal?: AbortSignal,
): Promise<readonly Counted[]> {
  const length = `${Math.max(1, Math.ceil((to - from) / 1000))}s`;
  const params = { query: query(length), time: `${Math.ceil(to)}000000` };
  const { data } = await getJson<{ data: { result: Counted[] } }>("/loki/api/v1/query", params, signal);
  return data.result;
}

export interface ValueCounts {
  values: { value: string; lines: number }[];
  /** Whether there are more values than were asked for. */
  hasMore: boolean;
}

/** Values of a label, field or parsed name with the number of lines that have them, the most frequent first. */
export async function valueCounts(
  query: string,
  name: string,
  most: number,
  shown: Range,
  signal?: AbortSignal,
): Promise<ValueCounts> {
  const counts = (length: string) => `topk(${most + 1}, ${countBy(query, name, length)})`;
  const values = (await askOf(shown, counts, signal))
    .map(({ metric, value }) => ({ value: metric[name] ?? "", lines: Number(value[1]) }))
    .sort((a, b) => b.lines - a.lines);
  return { values: values.slice(0, most), hasMore: values.length > most };
}

/** How many lines a query has in a time. */
export async function countLines(query: string, shown: Range, signal?: AbortSignal): Promise<number> {
  const [all] = await askOf(shown, (length) => `sum(count_over_time(${query} [${length}]))`, signal);
  return Number(all?.value[1] ?? 0);
}

/** When the newest line of a query was, in nanoseconds. */
export async function newestLine(
  query: string,
  within: Range,
  signal?: AbortSignal,
): Promise<string | undefined> {
  const { lines } = await askRange(query, within, { limit: 1, direction: "backward" }, signal);
  return lines[0]?.nanos;
}

/** Labels of streams. */
export async function labelNames({ from, to }: Range, signal?: AbortSignal): Promise<readonly string[]> {
  const params = { start: `${Math.floor(from)}000000`, end: `${Math.ceil(to)}000000` };
  const answer = await getJson<{ data?: readonly string[] }>("/loki/api/v1/labels", params, signal);
  return answer.data ?? [];
}

/**
 * Lines of the same stream before and after one, the newest first. Where no labels of streams are known, as in a
 * tail that began before any line came, they are asked for.
 */
export async function around(
  line: LogLine,
  streamLabels: readonly string[],
  each: number,
  signal?: AbortSignal,
): Promise<LogLine[]> {
  const hour = 3_600_000_000_000n;
  const at = BigInt(line.nanos);
  const millis = millisOf(line.nanos);
  const known =
    streamLabels.length > 0
      ? streamLabels
      : await labelNames({ from: millis - 3_600_000, to: millis + 3_600_000 }, signal);
  const inside = known
    .filter((label) => line.labels[label] !== undefined)
    .map((label) => `${label}=${quote(line.labels[label]!)}`);
  const query = `{${inside.join(", ")}}`;
  const ask = async (params: Params) => {
    const { data } = await getJson<Answered>("/loki/api/v1/query_range", { query, ...params }, signal);
    return linesOf(data.result as LokiStream[]);
  };
  const [before, after] = await Promise.all([
    ask({ start: String(at - hour), end: String(at), limit: each, direction: "backward" }),
    ask({ start: String(at), end: String(at + hour), limit: each + 1, direction: "forward" }),
  ]);
  return [...after, ...before].map((one, index) => ({ ...one, key: `${one.key}/${index}` }));
}
