/** The list that a page is below: a trace's is that of traces. The link to it stands at the top. */
import { RAIL, routeOf } from "../pages";
import { href } from "./base";
import { pageLink, path } from "./router";

/** Paths of pages that belong to a list without being below its path. */
const BELOW: Record<string, readonly string[]> = {
  "/live": ["/session/", "/sessions/"],
  "/traces": ["/trace/", "/compare"],
  "/hosts": ["/host/", "/gpu"],
  "/dashboards": ["/d/"],
};

/** Whether a page is a list of the rail or below it. */
export function isAt(to: string, at: string): boolean {
  if (to === "/") return at === "/";
  return at === to || at.startsWith(`${to}/`) || (BELOW[to] ?? []).some((prefix) => at.startsWith(prefix));
}

/** The list that a page is below; none of what is a list itself, or another part of it. */
export function listAbove(at: string): { path: string; label: string } | undefined {
  const route = routeOf(at)?.route;
  if (!route || route.key !== undefined) return undefined;
  return RAIL.find(({ path }) => path !== at && isAt(path, at));
}

export function Crumb() {
  const list = listAbove(path.value);
  if (!list) return null;
  return (
    <nav class="top-crumb" aria-label="The list that this is of">
      <a href={href(pageLink(list.path))}>{list.label}</a> <span aria-hidden="true">›</span>
    </nav>
  );
}
