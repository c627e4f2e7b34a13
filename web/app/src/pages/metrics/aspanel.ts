/** What a page explores, as a panel of a dashboard, and that panel in a dashboard that is stored. */
import { addPanel, withMember } from "../dashboards/change";
import { emptyDashboard, emptyPanel, emptyTarget, SOURCES } from "../dashboards/create";
import { type Json, loadDashboard, type Saved, saveDashboard } from "../dashboards/model";
import { letter, unitOf } from "./promql";
import type { MetricQuery } from "./state";

const UNITS = {
  seconds: "s",
  bytes: "bytes",
  share: "percentunit",
  percent: "percent",
  number: "short",
} as const;

function source(type: (typeof SOURCES)[number]["type"]) {
  return SOURCES.find((one) => one.type === type)!;
}

/** Queries of metrics as one panel, drawn as the page draws them. */
export function metricsPanel(queries: readonly MetricQuery[], shape: string | undefined): Json {
  const written = queries.filter(({ text }) => text !== "");
  const targets = written.map(({ text, legend, isHidden }, at) => ({
    ...emptyTarget(source("prometheus"), letter(at)),
    expr: text,
    legendFormat: legend || "__auto",
    // One that is off on the page is off in the panel as well.
    ...(isHidden ? { hide: true } : {}),
  }));
  const style = ["fieldConfig", "defaults", "custom"];
  let panel = { ...emptyPanel(), title: written[0]?.text ?? "", targets } as Json;
  panel = withMember(panel, ["fieldConfig", "defaults", "unit"], UNITS[unitOf(written[0]?.text ?? "")]);
  if (shape === "bars") panel = withMember(panel, [...style, "drawStyle"], "bars");
  if (shape === "stacked" || shape === "bars") {
    panel = withMember(panel, [...style, "stacking"], { mode: "normal", group: "A" });
    panel = withMember(panel, [...style, "fillOpacity"], 60);
  }
  return panel;
}

/** A search for traces as a table, or the numbers that it asks for over time. */
export function tracesPanel(query: string, isNumbers: boolean, rows: "traces" | "spans"): Json {
  const from = source("tempo");
  const base = emptyTarget(from, "A");
  const target = isNumbers
    ? { ...base, query, legendFormat: "__auto" }
    : { ...base, query, tableType: rows, limit: 100 };
  const panel = { ...emptyPanel(), title: query, datasource: base.datasource, targets: [target] } as Json;
  if (isNumbers) {
    const unit = /_over_time\s*\(\s*(?:span:|trace:)?duration\b/.test(query) ? "s" : "short";
    return withMember(panel, ["fieldConfig", "defaults", "unit"], unit);
  }
  return {
    ...panel,
    type: "table",
    fieldConfig: { defaults: {}, overrides: [] },
    options: { showHeader: true },
  };
}

/** Puts a panel into a dashboard, above what is there; without one, into a new dashboard of that title. */
export async function keepPanel(panel: Json, where: { uid: string } | { title: string }): Promise<Saved> {
  const what = `Added ${String(panel.title)}`.slice(0, 200);
  if ("title" in where) {
    const { dashboard } = addPanel({ ...emptyDashboard().dashboard, title: where.title }, panel);
    return saveDashboard(dashboard, what);
  }
  const { meta, model } = await loadDashboard(where.uid);
  return saveDashboard(addPanel(model, panel).dashboard, what, meta.version);
}
