/** Why a query answers nothing: whether there are series that it names, and when there were if not now. */
import { ApiError, getJson } from "../../frame/api";
import type { Range } from "../../frame/time";
import { quote } from "../../ui/quote";
import type { Labels } from "./series";

/** How far back series are looked for. */
export const LOOKBACK_DAYS = 30;
const DAY_SECONDS = 86_400;
/** Selectors that are looked for: queries with more of them are rare. */
const MOST_SELECTORS = 5;
/** Series whose newest sample is looked up: those of a metric mostly come together. */
const MOST_SERIES = 5;

export type Where =
  /** There are such series in the time shown. */
  | { kind: "here" }
  /** There were at another time: when, in milliseconds, if that could be told. */
  | { kind: "elsewhere"; millis?: number }
  | { kind: "nowhere" };

/** The selectors of a query, each once. */
export async function selectorsIn(query: string): Promise<string[]> {
  const { parser } = await import("@prometheus-io/lezer-promql");
  const found = new Set<string>();
  parser.parse(query).iterate({
    enter: ({ name, from, to }) => {
      if (name === "VectorSelector") found.add(query.slice(from, to));
    },
  });
  return [...found];
}

/** The selector of one series. */
export function exactly(labels: Labels): string {
  const name = (label: string) => (/^[A-Za-z_]\w*$/.test(label) ? label : quote(label));
  const matchers = Object.entries(labels).map(([label, value]) => `${name(label)}=${quote(value)}`);
  return `{${matchers.join(", ")}}`;
}

/** Where the series of a query are; `undefined` for one that names none. */
export async function whereIs(
  query: string,
  { from, to }: Range,
  signal: AbortSignal,
): Promise<Where | undefined> {
  const selectors = (await selectorsIn(query)).slice(0, MOST_SELECTORS);
  if (selectors.length === 0) return undefined;
  const series = async (start: number, end: number, limit: number) => {
    const params = { "match[]": selectors, start, end, limit };
    return (await getJson<{ data: Labels[] }>("/prometheus/api/v1/series", params, signal)).data;
  };
  if ((await series(from / 1000, to / 1000, 1)).length > 0) return { kind: "here" };
  const now = Date.now() / 1000;
  const some = await series(now - LOOKBACK_DAYS * DAY_SECONDS, now, MOST_SERIES);
  if (some.length === 0) return { kind: "nowhere" };
  return { kind: "elsewhere", millis: await newest(some, now, signal) };
}

/** When the newest sample of some series was. */
async function newest(
  series: readonly Labels[],
  now: number,
  signal: AbortSignal,
): Promise<number | undefined> {
  const times = series.map((labels) => `ts_of_last_over_time(${exactly(labels)}[${LOOKBACK_DAYS}d])`);
  try {
    const { data } = await getJson<{ data: { result: { value: [number, string] }[] } }>(
      "/prometheus/api/v1/query",
      { query: `max(${times.join(" or ")})`, time: now },
      signal,
    );
    const seconds = Number(data.result[0]?.value[1]);
    return seconds > 0 ? seconds * 1000 : undefined;
  } catch (error) {
    // A server may be told not to know such functions.
    if (error instanceof ApiError && error.status === 400) return undefined;
    throw error;
  }
}
