/** A variable after a change of its form: what it has stored of before would otherwise hold on against it. */
import type { Json } from "./model";

/** What a query variable's stored options depend on. */
const ASKED = ["query", "regex", "datasource", "sort"];

/** When a query is asked again: 0 never, 1 when opened, 2 with the time. Old dashboards say only whether. */
export function refreshOf({ refresh }: Json): string {
  return String(Math.max(0, Math.min(2, Math.trunc(Number(refresh)) || 0)));
}

export function withChange(variable: Json, change: Json): Json {
  const next = { ...variable, ...change };
  if (change.type !== undefined && change.type !== variable.type) return ofNewKind(next);
  if (next.type === "textbox" && "query" in change && next.current !== undefined) {
    const current = typeof next.current === "object" ? next.current : {};
    return { ...next, current: { ...current, text: change.query, value: change.query } };
  }
  const isStale = ASKED.some((name) => name in change);
  return next.type === "query" && refreshOf(next) === "0" && isStale && hasOptions(next)
    ? { ...next, options: [] }
    : next;
}

/** What another kind offered, and what of it was chosen, is no value of this. */
function ofNewKind({ options: _, current: __, ...variable }: Json): Json {
  return variable;
}

function hasOptions({ options }: Json): boolean {
  return Array.isArray(options) && options.length > 0;
}
