/**
 * The pages, and the paths they are at. Each is loaded when it is first shown. A path is written with its
 * parameters: `/trace/:id`. Paths that are not here belong to the server.
 */
import type { ComponentType } from "preact";
import type { IconName } from "../ui/icon";

export interface PageRoute {
  path: string;
  /** Routes with one key are one page, which stays as it is from one to the other. */
  key?: string;
  load: () => Promise<{ default: ComponentType<PageProps> }>;
}

/** What a page gets: the parameters of its path. */
export interface PageProps {
  params: Readonly<Record<string, string>>;
}

export const ROUTES: readonly PageRoute[] = [
  { path: "/", load: () => import("./home") },
  { path: "/live", load: () => import("./sessions/list") },
  { path: "/session/:id", load: () => import("./sessions") },
  { path: "/sessions/compare", load: () => import("./sessions/compare") },
  { path: "/traces", load: () => import("./traces") },
  { path: "/traces/flame", load: () => import("./traces/flame") },
  { path: "/trace/:id", load: () => import("./trace") },
  { path: "/compare", load: () => import("./compare") },
  { path: "/ci", load: () => import("./ci") },
  { path: "/ci/pipeline", load: () => import("./ci/pipeline") },
  { path: "/ci/run/:id", load: () => import("./ci/run") },
  { path: "/ci/compare", load: () => import("./ci/compare") },
  { path: "/runs", key: "runs", load: () => import("./runs") },
  { path: "/runs/compare", key: "runs", load: () => import("./runs") },
  { path: "/explore/metrics", load: () => import("./metrics") },
  { path: "/explore/logs", load: () => import("./logs") },
  { path: "/explore/sql", load: () => import("./sql") },
  { path: "/hosts", load: () => import("./hosts") },
  { path: "/gpu", load: () => import("./hosts/gpu") },
  { path: "/host/:name", load: () => import("./hosts/host") },
  { path: "/alerts", load: () => import("./alerts") },
  { path: "/targets", load: () => import("./alerts/targets") },
  { path: "/dashboards", load: () => import("./dashboards") },
  { path: "/dashboards/import", load: () => import("./dashboards/import") },
  { path: "/d/:uid", load: () => import("./dashboards/show") },
  { path: "/d/:uid/:slug", load: () => import("./dashboards/show") },
  { path: "/s/:code", load: () => import("./short") },
  { path: "/admin", key: "admin", load: () => import("./admin") },
  { path: "/admin/:part", key: "admin", load: () => import("./admin") },
];

/** What the rail shows. */
export const RAIL: readonly { path: string; label: string; icon: IconName; key: string }[] = [
  { path: "/", label: "Home", icon: "home", key: "h" },
  { path: "/live", label: "Sessions", icon: "live", key: "l" },
  { path: "/traces", label: "Traces", icon: "traces", key: "t" },
  { path: "/explore/metrics", label: "Metrics", icon: "metrics", key: "m" },
  { path: "/explore/logs", label: "Logs", icon: "logs", key: "o" },
  { path: "/ci", label: "CI", icon: "ci", key: "c" },
  { path: "/runs", label: "Training", icon: "star", key: "r" },
  { path: "/hosts", label: "Hosts, GPUs", icon: "hosts", key: "g" },
  { path: "/dashboards", label: "Dashboards", icon: "dashboards", key: "d" },
  { path: "/admin", label: "Admin", icon: "admin", key: "a" },
];

/** The route of a path, with the parameters in it. */
export function routeOf(path: string): { route: PageRoute; params: Record<string, string> } | undefined {
  const parts = path.split("/");
  for (const route of ROUTES) {
    const wanted = route.path.split("/");
    if (wanted.length !== parts.length) continue;
    const params: Record<string, string> = {};
    const fits = wanted.every((want, at) => {
      const part = parts[at]!;
      if (!want.startsWith(":")) return want === part;
      if (part === "") return false;
      params[want.slice(1)] = decoded(part);
      return true;
    });
    if (fits) return { route, params };
  }
  return undefined;
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
