/**
 * What the charts of a workflow are drawn of. Lines go from point to point; parts of the time of which nothing
 * is known are left out, by each chart those that have nothing of its own: runs are counted where they begin,
 * jobs where those do, which may be later.
 */
import type { TrendBin } from "./types";

/** Whether a part of the time has something for a chart. */
export const HAS = {
  runs: (bin: TrendBin) => bin.runs > 0,
  duration: (bin: TrendBin) => bin.median_seconds !== null,
  queue: (bin: TrendBin) => bin.queue_p95_seconds !== null,
  cache: (bin: TrendBin) => bin.hit_rate !== null,
  minutes: (bin: TrendBin) => bin.runner_minutes > 0,
} as const;

/** The parts of the time that a chart is drawn of. */
export function told(bins: readonly TrendBin[], has: keyof typeof HAS): TrendBin[] {
  return bins.filter(HAS[has]);
}

/** The time that all charts show, so that they stand one below the other; none of nothing. */
export function timeOf(bins: readonly TrendBin[]): { from: number; to: number } | undefined {
  const some = bins.filter((bin) => Object.values(HAS).some((has) => has(bin)));
  const [first, last] = [some[0], some.at(-1)];
  return first && last && first !== last ? { from: first.start_ms, to: last.start_ms } : undefined;
}
