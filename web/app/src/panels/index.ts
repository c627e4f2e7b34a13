/** The kinds of panels, by the names that dashboards give them. */
import { BarChart } from "./barchart";
import { BarGauge } from "./bargauge";
import { DashList } from "./dashlist";
import { Fallback } from "./fallback";
import { Gauge } from "./gauge";
import { Heatmap } from "./heatmap";
import { Histogram } from "./histogram";
import type { PanelView } from "./kinds";
import { Logs } from "./logs";
import { PieChart } from "./piechart";
import { Stat } from "./stat";
import { StateTimeline, StatusHistory } from "./statetimeline";
import { TablePanel } from "./table";
import { TextPanel } from "./text";
import { TimeSeries } from "./timeseries";
import { Traces } from "./traces";
import { XyChart } from "./xychart";
import "./panels.css";
import "./legend.css";
import "./single.css";
import "./table.css";
import "./drawn.css";
import "./text.css";

const VIEWS: Record<string, PanelView> = {
  timeseries: TimeSeries,
  stat: Stat,
  gauge: Gauge,
  bargauge: BarGauge,
  table: TablePanel,
  barchart: BarChart,
  piechart: PieChart,
  heatmap: Heatmap,
  histogram: Histogram,
  "state-timeline": StateTimeline,
  "status-history": StatusHistory,
  text: TextPanel,
  logs: Logs,
  traces: Traces,
  xychart: XyChart,
  dashlist: DashList,
  trend: XyChart,
};

/** What draws a kind of panel. */
export function viewOf(type: string): PanelView {
  return VIEWS[type] ?? Fallback;
}

/** Kinds that ask for no data. */
export function needsData(type: string): boolean {
  return type !== "text" && type !== "dashlist" && type !== "row";
}

/** The kinds that can be chosen for a panel, and what people call them. */
export const KINDS: readonly (readonly [string, string])[] = [
  ["timeseries", "Time series"],
  ["stat", "Stat"],
  ["gauge", "Gauge"],
  ["bargauge", "Bar gauge"],
  ["table", "Table"],
  ["barchart", "Bar chart"],
  ["piechart", "Pie chart"],
  ["heatmap", "Heat map"],
  ["histogram", "Histogram"],
  ["state-timeline", "State timeline"],
  ["status-history", "Status history"],
  ["text", "Text"],
  ["logs", "Logs"],
  ["traces", "Traces"],
  ["xychart", "XY chart"],
  ["trend", "Trend"],
  ["dashlist", "Dashboards"],
];
