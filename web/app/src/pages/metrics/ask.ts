/** Questions to Prometheus' API. */
import { getJson } from "../../frame/api";
import type { Range } from "../../frame/time";
import type { MetricType } from "./promql";
import type { Labels, NativeHistogram, PromSeries } from "./series";

/** Series that are asked for at most: beyond, nothing can be told apart. */
export const MOST_SERIES = 500;

interface Answered<T> {
  data: T;
  warnings?: readonly string[];
}

/**
 * A query with the intervals that it names put in. How long that of rates has to be, the server knows: it
 * depends on how often the metrics of the query come.
 */
export async function filled(
  query: string,
  { from, to }: Range,
  step: number,
  signal?: AbortSignal,
): Promise<string> {
  if (!query.includes("$")) return query;
  const params = { query, start: Math.round(from), end: Math.round(to), step_millis: step * 1000 };
  return (await getJson<{ query: string }>("/api/metrics/filled", params, signal)).query;
}

export interface RangeAnswer {
  series: readonly PromSeries[];
  /** Whether there are more than were asked for. */
  isCut: boolean;
  warnings: readonly string[];
  /** Milliseconds of the first and the last step. */
  from: number;
  to: number;
}

/** A query over the time shown; steps are at whole numbers of their length. */
export async function askRange(
  query: string,
  { from, to }: Range,
  step: number,
  signal?: AbortSignal,
): Promise<RangeAnswer> {
  const [start, end] = [Math.floor(from / 1000 / step) * step, Math.ceil(to / 1000 / step) * step];
  const params = { query, start, end, step, limit: MOST_SERIES + 1 };
  const answer = await getJson<Answered<{ resultType: string; result: PromSeries[] }>>(
    "/prometheus/api/v1/query_range",
    params,
    signal,
  );
  const all = answer.data.result;
  return {
    series: all.slice(0, MOST_SERIES),
    isCut: all.length > MOST_SERIES,
    warnings: (answer.warnings ?? []).filter((words) => !/truncated due to limit/.test(words)),
    from: start * 1000,
    to: end * 1000,
  };
}

export interface Sample {
  metric: Labels;
  value?: readonly [number, string];
  histogram?: readonly [number, NativeHistogram];
}

/** Samples that a table gets at most: more than anybody reads. */
export const MOST_SAMPLES = 5000;

export interface NowAnswer {
  samples: readonly Sample[];
  /** Whether there are more. */
  isCut: boolean;
}

/** A query at the end of the time shown. */
export async function askNow(query: string, { to }: Range, signal?: AbortSignal): Promise<NowAnswer> {
  const params = { query, time: to / 1000, limit: MOST_SAMPLES + 1 };
  const { data } = await getJson<Answered<{ resultType: string; result: unknown }>>(
    "/prometheus/api/v1/query",
    params,
    signal,
  );
  const all = samplesOf(data);
  return { samples: all.slice(0, MOST_SAMPLES), isCut: all.length > MOST_SAMPLES };
}

function samplesOf({ resultType, result }: { resultType: string; result: unknown }): readonly Sample[] {
  if (resultType === "vector") return result as Sample[];
  if (resultType === "scalar" || resultType === "string") {
    return [{ metric: {}, value: result as [number, string] }];
  }
  return (result as PromSeries[]).map(({ metric, values }) => ({ metric, value: values?.at(-1) }));
}

export interface Exemplar {
  /** Those of its series. */
  series: Labels;
  labels: Labels;
  value: string;
  timestamp: number;
}

/** Exemplars of a query, with traces to open. */
export async function askExemplars(
  query: string,
  { from, to }: Range,
  signal?: AbortSignal,
): Promise<Exemplar[]> {
  const params = { query, start: from / 1000, end: to / 1000 };
  const { data } = await getJson<Answered<{ seriesLabels: Labels; exemplars: Omit<Exemplar, "series">[] }[]>>(
    "/prometheus/api/v1/query_exemplars",
    params,
    signal,
  );
  return data.flatMap(({ seriesLabels: series, exemplars }) => exemplars.map((one) => ({ ...one, series })));
}

export interface MetricInfo {
  name: string;
  type: MetricType;
  help: string;
  unit: string;
  /** How many series there are, where the server told. */
  series?: number;
  hasBuckets: boolean;
}

const PARTS = /_(?:bucket|count|sum)$/;

/** All metrics, with what is known of them. */
export async function askMetrics(signal?: AbortSignal): Promise<MetricInfo[]> {
  const [metadata, names, counts] = await Promise.all([
    getJson<Answered<Record<string, { type: MetricType; help: string; unit: string }[]>>>(
      "/prometheus/api/v1/metadata",
      {},
      signal,
    ),
    getJson<Answered<string[]>>("/prometheus/api/v1/label/__name__/values", {}, signal),
    // Metrics can be found also by who may not see how many series they have.
    getJson<Answered<{ seriesCountByMetricName?: { name: string; value: number }[] }>>(
      "/prometheus/api/v1/status/tsdb",
      { limit: 10_000 },
      signal,
    ).catch(() => undefined),
  ]);
  const series = new Map(
    (counts?.data.seriesCountByMetricName ?? []).map(({ name, value }) => [name, value]),
  );
  const known = new Set(names.data);
  const infos = new Map<string, MetricInfo>();
  for (const [name, [first]] of Object.entries(metadata.data)) {
    const hasBuckets = known.has(`${name}_bucket`);
    const told = series.get(name) ?? (hasBuckets ? series.get(`${name}_bucket`) : undefined);
    infos.set(name, {
      name,
      type: first?.type ?? "unknown",
      help: first?.help ?? "",
      unit: first?.unit ?? "",
      series: told,
      hasBuckets,
    });
  }
  for (const name of names.data) {
    const whole = name.replace(PARTS, "");
    if (infos.has(name) || (PARTS.test(name) && infos.has(whole))) continue;
    infos.set(name, {
      name,
      type: "unknown",
      help: "",
      unit: "",
      series: series.get(name),
      hasBuckets: false,
    });
  }
  return [...infos.values()].sort((a, b) => a.name.localeCompare(b.name));
}
