/** What needs attention, of what all pages know: a sentence each, the worst first, with where to look. */
import { link } from "../../frame/router";
import { count, duration, percent } from "../../ui/format";
import type { Pipeline } from "../ci/types";
import type { Fleet } from "../hosts/fleet";
import type { ListedSession } from "../sessions/types";
import type { Rates } from "./start";

export interface Concern {
  tone: "bad" | "warn";
  text: string;
  path: string;
}

const HOT_CELSIUS = 85;
const FULL_PART = 0.9;
const CACHE_LOST = -0.1;
const SLOWER_PART = 0.2;
const FAILING_PART = 0.3;

/** Runs of all workflows, and how many of them failed. */
export function runsOf(pipelines: readonly Pipeline[]): { runs: number; failures: number } {
  const sum = (of: (pipeline: Pipeline) => number) => pipelines.reduce((all, one) => all + of(one), 0);
  return { runs: sum(({ runs }) => runs), failures: sum(({ failures }) => failures) };
}

export function ofPipelines(pipelines: readonly Pipeline[]): Concern[] {
  return pipelines.flatMap((pipeline) => {
    const { workflow, repository, hit_rate, hit_rate_change, median_change, failure_rate } = pipeline;
    const path = link("/ci/pipeline", { workflow, repository });
    const name = repository ? `${workflow} of ${repository}` : workflow;
    const found: Concern[] = [];
    if (failure_rate !== null && failure_rate >= FAILING_PART && pipeline.runs >= 3)
      found.push({ tone: "bad", text: `${name}: ${percent(failure_rate)} of runs fail`, path });
    if (hit_rate !== null && hit_rate_change !== null && hit_rate_change <= CACHE_LOST) {
      const before = percent(hit_rate - hit_rate_change);
      found.push({ tone: "warn", text: `${name}: cache hits ${before} → ${percent(hit_rate)}`, path });
    }
    if (median_change !== null && median_change >= SLOWER_PART)
      found.push({ tone: "warn", text: `${name}: ${percent(median_change)} slower than before`, path });
    return found;
  });
}

export function ofFleet({ hosts }: Fleet): Concern[] {
  return hosts.flatMap((host) => {
    const path = link(`/host/${encodeURIComponent(host.name)}`);
    const found: Concern[] = [];
    for (const { gpu, figures } of host.gpus) {
      if ((figures.temperature ?? 0) >= HOT_CELSIUS)
        found.push({
          tone: "bad",
          text: `${host.name} GPU ${gpu}: ${Math.round(figures.temperature!)} °C`,
          path,
        });
      if (figures.xid) found.push({ tone: "bad", text: `${host.name} GPU ${gpu}: XID ${figures.xid}`, path });
    }
    const full = host.figures.filesystem;
    if (full !== undefined && full >= FULL_PART)
      found.push({ tone: "warn", text: `${host.name}: a file system is ${percent(full)} full`, path });
    return found;
  });
}

/** Of the newest session of each name: earlier ones are over, and were so. */
export function ofSessions(sessions: readonly ListedSession[]): Concern[] {
  const newest = new Map<string, ListedSession>();
  for (const session of sessions) if (!newest.has(session.name)) newest.set(session.name, session);
  return [...newest.values()].flatMap(({ id, name, state, tasks, duration_seconds }) => {
    const path = link(`/session/${encodeURIComponent(id)}`);
    if (state === "lost") {
      const after = duration_seconds === null ? "" : ` after ${duration(duration_seconds * 1e9)}`;
      return [{ tone: "bad" as const, text: `${name}: not heard of any more${after}`, path }];
    }
    const ended = tasks.completed + tasks.failed;
    if (tasks.failed === 0 || ended === 0) return [];
    const tone = tasks.failed / ended > 0.1 ? ("bad" as const) : ("warn" as const);
    return [{ tone, text: `${name}: ${tasks.failed} of ${ended} tasks failed`, path }];
  });
}

export function ofIngest(rates: Rates | undefined): Concern[] {
  if (!rates || rates.refused_per_second === 0) return [];
  const text = `${count(rates.refused_per_second)} records or requests a second are refused`;
  return [{ tone: "bad", text, path: "/admin/ingest" }];
}

/** The worst first; in the order in which they came otherwise. */
export function ordered(concerns: readonly Concern[]): Concern[] {
  return [...concerns].sort((a, b) => (a.tone === b.tone ? 0 : a.tone === "bad" ? -1 : 1));
}
