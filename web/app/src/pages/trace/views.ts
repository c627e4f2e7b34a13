/** The views of a trace, and which one the address names. */
import { param, setParams } from "../../frame/router";

export const VIEWS = ["timeline", "flame", "graph", "table", "logs", "stats", "critical"] as const;
export type ViewName = (typeof VIEWS)[number];

export const LABELS: Record<ViewName, string> = {
  timeline: "Timeline",
  flame: "Flame",
  graph: "Graph",
  table: "Table",
  logs: "Logs",
  stats: "Statistics",
  critical: "Critical path",
};

/** The view that the address names. */
export function currentView(): ViewName {
  return VIEWS.find((view) => view === param("view")) ?? "timeline";
}

export function setView(view: ViewName): void {
  setParams({ view: view === "timeline" ? null : view });
}
