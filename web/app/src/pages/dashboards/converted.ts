/**
 * What becomes of a dashboard of others when it is saved: it is edited as it would be written today. The
 * version that came stays in its history.
 */
import { member } from "./change";
import type { Json } from "./model";

/** Members that only files have which are passed on. */
const OF_FILES = ["__inputs", "__requires", "__elements"];

/** The dashboard itself, whatever the form that it came in has around it. */
function inner(dashboard: Json): Json {
  for (const name of ["dashboard", "spec"]) {
    const within = dashboard[name];
    if (within !== null && typeof within === "object" && !Array.isArray(within)) return within as Json;
  }
  return dashboard;
}

/** What is different between a dashboard as it is stored and as it would be saved, besides what was edited. */
export function conversions(stored: Json, next: Json): string[] {
  const [before, after] = [inner(stored), inner(next)];
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
  return String(member(inner(dashboard), ["title"]) ?? "Dashboard");
}

/** A dashboard that is called otherwise; one that is not is left as it is. */
export function withTitle(dashboard: Json, title: string): Json {
  if (titleOf(dashboard) === title) return dashboard;
  const within = inner(dashboard);
  if (within === dashboard) return { ...dashboard, title };
  const name = dashboard.dashboard === within ? "dashboard" : "spec";
  return { ...dashboard, [name]: { ...within, title } };
}
