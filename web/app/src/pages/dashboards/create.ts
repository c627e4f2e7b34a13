/** New dashboards and panels. */
import type { Json, Loaded } from "./model";

/** The schema that we write. */
export const SCHEMA = 42;

export function emptyDashboard(): Loaded {
  const dashboard: Json = {
    title: "New dashboard",
    tags: [],
    schemaVersion: SCHEMA,
    time: { from: "now-1h", to: "now" },
    timezone: "browser",
    graphTooltip: 1,
    templating: { list: [] },
    annotations: { list: [] },
    panels: [],
  };
  return {
    meta: { uid: "", kind: "own", version: 0 },
    dashboard,
    model: dashboard,
  };
}

/** The data sources that there are, with the language that each speaks. */
export const SOURCES = [
  {
    uid: "kymo-prometheus",
    type: "prometheus",
    name: "Metrics (PromQL)",
    language: "promql",
    member: "expr",
  },
  { uid: "kymo-tempo", type: "tempo", name: "Traces (TraceQL)", language: "traceql", member: "query" },
  { uid: "kymo-loki", type: "loki", name: "Logs (LogQL)", language: "logql", member: "expr" },
  { uid: "kymo-sql", type: "postgres", name: "SQL", language: "sql", member: "rawSql" },
] as const;

export type Source = (typeof SOURCES)[number];

/** A query of a data source, before anything is written in it. */
export function emptyTarget(source: Source, refId: string): Json {
  const datasource = { type: source.type, uid: source.uid };
  const base: Json = { refId, datasource, [source.member]: "" };
  if (source.type === "tempo")
    return { ...base, queryType: "traceql", tableType: "spans", limit: 500, spss: 100 };
  if (source.type === "postgres") return { ...base, format: "table", rawQuery: true, editorMode: "code" };
  return {
    ...base,
    editorMode: "code",
    ...(source.type === "prometheus" ? { range: true, legendFormat: "__auto" } : {}),
  };
}

/** A panel over metrics. */
export function emptyPanel(): Json {
  const source = SOURCES[0];
  return {
    type: "timeseries",
    title: "New panel",
    datasource: { type: source.type, uid: source.uid },
    gridPos: { x: 0, y: 0, w: 12, h: 9 },
    targets: [emptyTarget(source, "A")],
    fieldConfig: {
      defaults: {
        unit: "short",
        color: { mode: "palette-classic" },
        thresholds: { mode: "absolute", steps: [{ value: null, color: "green" }] },
        custom: { drawStyle: "line", lineWidth: 1, fillOpacity: 10 },
      },
      overrides: [],
    },
    options: {
      legend: { displayMode: "list", placement: "bottom", showLegend: true, calcs: [] },
      tooltip: { mode: "multi", sort: "desc" },
    },
  };
}
