/**
 * Things that the palette finds by name beside its pages: dashboards, and what was heard of lately of sessions,
 * hosts and CI workflows. Each kind is asked for once and by itself: one that fails, or that takes too long, is
 * not found, and everything else is.
 */
import type { IconName } from "../ui/icon";
import { getJson } from "./api";
import type { Params } from "./router";

export interface Thing {
  label: string;
  hint: string;
  icon: IconName;
  path: string;
  params?: Params;
}

/** Who types has found something else by then. */
const WITHIN_MILLIS = 5000;
const HOUR_MILLIS = 3_600_000;
/** As many names of a kind are worth looking through. */
const MOST_SESSIONS = 200;

const KINDS: readonly ((signal: AbortSignal) => Promise<Thing[]>)[] = [
  async (signal) => {
    const { dashboards } = await getJson<{ dashboards: { uid: string; title: string }[] }>(
      "/api/dashboards",
      {},
      signal,
    );
    return dashboards.map(({ uid, title }) => ({
      label: title,
      hint: "dashboard",
      icon: "dashboards",
      path: `/d/${encodeURIComponent(uid)}`,
    }));
  },
  async (signal) => {
    const asked = { since: "24h", limit: MOST_SESSIONS };
    const { sessions } = await getJson<{ sessions: { id: string; name: string }[] }>(
      "/api/sessions",
      asked,
      signal,
    );
    return sessions.map(({ id, name }) => ({
      label: name || id,
      hint: "session",
      icon: "live",
      path: `/session/${encodeURIComponent(id)}`,
    }));
  },
  async (signal) => {
    const { hosts } = await getJson<{ hosts: { name: string }[] }>("/api/fleet", last(1), signal);
    return hosts.map(({ name }) => ({
      label: name,
      hint: "host",
      icon: "hosts",
      path: `/host/${encodeURIComponent(name)}`,
    }));
  },
  async (signal) => {
    const { pipelines } = await getJson<{ pipelines: { workflow: string; repository: string | null }[] }>(
      "/api/ci/pipelines",
      last(24),
      signal,
    );
    return pipelines.map(({ workflow, repository }) => ({
      label: repository ? `${workflow}, ${repository}` : workflow,
      hint: "CI workflow",
      icon: "ci",
      path: "/ci/pipeline",
      params: { workflow, repository },
    }));
  },
];

function last(hours: number): { start: number; end: number } {
  const end = Date.now();
  return { start: end - hours * HOUR_MILLIS, end };
}

/** Asks for all kinds and hands each over as it comes. Returns what calls that off. */
export function findThings(take: (things: readonly Thing[]) => void): () => void {
  const controller = new AbortController();
  const timer = setTimeout(() => controller.abort(), WITHIN_MILLIS);
  const all = KINDS.map(async (ask) => {
    try {
      const things = await ask(controller.signal);
      if (!controller.signal.aborted) take(things);
    } catch {
      // Everything else can be found all the same.
    }
  });
  void Promise.all(all).then(() => clearTimeout(timer));
  return () => {
    clearTimeout(timer);
    controller.abort();
  };
}
