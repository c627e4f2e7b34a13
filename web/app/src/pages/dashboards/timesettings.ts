/** What a dashboard says of times: its clock, when its weeks and years begin, what it is opened with. */
import { useEffect } from "preact/hooks";
import { param, setParams } from "../../frame/router";
import { durationMillis } from "../../frame/time";
import { type QuickRange, setTimeRules, type TimeRules } from "../../frame/timerules";
import { zoneOf } from "../../panels/zone";
import { member } from "./change";
import type { Json } from "./model";

const DAYS = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"];

/** The rules of a dashboard; what it does not say is as everywhere. */
export function timeRulesOf(dashboard: Json): TimeRules {
  const day = DAYS.indexOf(String(dashboard.weekStart ?? "").toLowerCase());
  const month = dashboard.fiscalYearStartMonth;
  const quick = listOf(member(dashboard, ["timepicker", "quick_ranges"])).flatMap(quickRange);
  const refreshes = listOf(member(dashboard, ["timepicker", "refresh_intervals"])).filter(isDuration);
  const zone = zoneOf(dashboard.timezone);
  const { refresh } = dashboard;
  const delay = durationMillis(String(member(dashboard, ["timepicker", "nowDelay"]) ?? ""));
  return {
    ...(zone !== undefined && { zone }),
    ...(typeof refresh === "string" && refresh !== "" && { refresh }),
    ...(day >= 0 && { weekStart: day }),
    ...(typeof month === "number" && month >= 0 && month < 12 && { fiscalMonth: Math.floor(month) }),
    ...(delay !== undefined && { nowDelayMillis: delay }),
    ...(quick.length > 0 && { quick }),
    ...(refreshes.length > 0 && { refreshes }),
    ...(member(dashboard, ["timepicker", "hidden"]) === true && { isHidden: true }),
  };
}

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

function isDuration(one: unknown): one is string {
  return typeof one === "string" && durationMillis(one) !== undefined;
}

function quickRange(one: unknown): QuickRange[] {
  const { from, to, display } = (one ?? {}) as Record<string, unknown>;
  if (typeof from !== "string" || typeof to !== "string") return [];
  return [{ from, to, label: typeof display === "string" && display !== "" ? display : `${from} to ${to}` }];
}

/**
 * Has a dashboard that is opened without a time begin with its own; which times are meant, it says before it
 * is asked. That it asks by itself is of its opening: who has switched that off does not have it again when
 * the dashboard is loaded again.
 */
export function beginTimes(dashboard: Json, isOpening: boolean): void {
  const rules = timeRulesOf(dashboard);
  setTimeRules(rules);
  const time = (dashboard.time ?? {}) as { from?: string; to?: string };
  const set: Record<string, string> = {};
  if (param("from") === undefined && time.from) Object.assign(set, { from: time.from, to: time.to || "now" });
  if (isOpening && param("refresh") === undefined && rules.refresh) set.refresh = rules.refresh;
  if (Object.keys(set).length > 0) setParams(set, { replace: true });
}

/** Lets the rules of a dashboard hold while it is shown, also as it is edited. */
export function useTimeRules(dashboard: Json): void {
  const rules = timeRulesOf(dashboard);
  useEffect(() => setTimeRules(rules), [JSON.stringify(rules)]);
}

/** Has what holds everywhere hold again, when no dashboard is shown any more. */
export function useUsualTimes(): void {
  useEffect(() => () => setTimeRules({}), []);
}
