/**
 * What distinguishes some runs of a workflow, or jobs of them, from the rest: a search for all of them, with
 * those that failed or were slow selected, which the page of traces holds against the others.
 */
import { quote } from "../../ui/quote";
import { durationText } from "../traces/query";

/** Of all that are listed, this part of them at most is called slow. */
const SLOW_PART = 0.2;

/** The search for runs or jobs. */
export function searchFor(
  kind: "run" | "job",
  workflow: string,
  repository: string | undefined,
  branch: string | undefined,
): string {
  const named: [string, string | undefined][] = [
    ["kind", kind],
    ["workflow", workflow],
    ["repository", repository],
    ["branch", branch],
  ];
  const conditions = named.flatMap(([name, value]) => (value ? [`span.ci.${name} = ${quote(value)}`] : []));
  return `{ ${conditions.join(" && ")} }`;
}

/** The selection of what failed. */
export const FAILED = "{ status = error }";

/** The selection of the slowest of some runs, by how long those took; none if they took the same. */
export function slowest(seconds: readonly number[]): string | undefined {
  const sorted = [...seconds].sort((a, b) => a - b);
  const limit = sorted[Math.ceil(sorted.length * (1 - SLOW_PART)) - 1];
  if (limit === undefined || limit >= sorted.at(-1)!) return undefined;
  return `{ duration > ${durationText(limit * 1e9)} }`;
}
