/** Questions about spans over time. */
import { getJson } from "../../frame/api";
import type { Range } from "../../frame/time";
import type { TempoSeries } from "./difference";

/** Asks for a metrics query over the time shown. */
export async function askOverTime(
  query: string,
  { from, to }: Range,
  step: number,
  signal?: AbortSignal,
): Promise<readonly TempoSeries[]> {
  const params = {
    q: query,
    start: Math.floor(from / 1000),
    end: Math.ceil(to / 1000),
    step: `${step}s`,
  };
  const answer = await getJson<{ series?: readonly TempoSeries[] }>(
    "/tempo/api/metrics/query_range",
    params,
    signal,
  );
  return answer.series ?? [];
}

/** Asks for a metrics query over the time shown as a whole: each series has one value. */
export async function askTotals(
  query: string,
  { from, to }: Range,
  signal?: AbortSignal,
): Promise<readonly TempoSeries[]> {
  const params = { q: query, start: Math.floor(from / 1000), end: Math.ceil(to / 1000) };
  const answer = await getJson<{ series?: readonly { labels: TempoSeries["labels"]; value?: number }[] }>(
    "/tempo/api/metrics/query",
    params,
    signal,
  );
  return (answer.series ?? []).map(({ labels, value }) => ({
    labels,
    samples: value === undefined ? [] : [{ timestampMs: String(to), value }],
  }));
}
