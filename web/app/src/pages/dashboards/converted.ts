/**
 * What becomes of a dashboard of others when it is saved: it is edited as it would be written today. The
 * version that came stays in its history.
 */
import type { Json } from "./model";

/** Members that only files have which are passed on. */
const OF_FILES = ["__inputs", "__requires", "__elements"];

/** The member that the dashboard is in, if the form that it came in has something around it. */
function wrapperOf(dashboard: Json): "dashboard" | "spec" | undefined {
  if ("panels" in dashboard || "rows" in dashboard) return undefined;
  return (["dashboard", "spec"] as const).find((name) => {
    const within = dashboard[name];
    return within !== null && typeof within === "object" && !Array.isArray(within);
  });
}

/** The dashboard itself, whatever the form that it came in has around it. */
export function unwrapped(dashboard: Json): Json {
  const wrapper = wrapperOf(dashboard);
  return wrapper ? (dashboard[wrapper] as Json) : dashboard;
}

/** Whether its panels are where they are today: not in old rows, not around it, not elements with a layout. */
export function isClassic(dashboard: Json): boolean {
  return !wrapperOf(dashboard) && !Array.isArray(dashboard.rows) && dashboard.elements === undefined;
}

/** What is different between a dashboard as it is stored and as it would be saved, besides what was edited. */
export function conversions(stored: Json, next: Json): string[] {
  const [before, after] = [unwrapped(stored), unwrapped(next)];
  const said: string[] = [];
  const isOtherForm = before.elements !== undefined && after.elements === undefined;
  if (isOtherForm) {
    const form = typeof stored.apiVersion === "string" ? stored.apiVersion : "elements and layouts";
    said.push(`It came as ${form} and is saved in the classic form.`);
  }
  const [from, to] = [before.schemaVersion, after.schemaVersion];
  if (!isOtherForm && Number(from ?? 0) < Number(to ?? 0)) {
    const version = from === undefined ? "without a schema version" : `with schema version ${from}`;
    said.push(`It came ${version} and is saved with ${to}: panels of older kinds become those of today.`);
  }
  const lost = OF_FILES.filter((name) => before[name] !== undefined && after[name] === undefined);
  if (lost.length > 0) said.push(`${lost.join(", ")} ${lost.length === 1 ? "is" : "are"} left out.`);
  return said;
}

/** What a dashboard is called. */
export function titleOf(dashboard: Json): string {
  return String(unwrapped(dashboard).title ?? "Dashboard");
}

/** A dashboard that is called otherwise; one that is not is left as it is. */
export function withTitle(dashboard: Json, title: string): Json {
  if (titleOf(dashboard) === title) return dashboard;
  const wrapper = wrapperOf(dashboard);
  if (!wrapper) return { ...dashboard, title };
  return { ...dashboard, [wrapper]: { ...(dashboard[wrapper] as Json), title } };
}

/** A dashboard of its own, under another title: what is around one says which it is, and is left out. */
export function copyOf(dashboard: Json, title: string): Json {
  const { id: _, uid: __, ...rest } = unwrapped(dashboard);
  return { ...rest, title };
}
