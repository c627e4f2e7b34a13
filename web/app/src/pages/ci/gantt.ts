/**
 * The rows of a run's chart: jobs of a matrix are one row until it is unfolded, or those on runners of the same
 * labels, or those of the same place in a matrix; below a job are its steps, below a step its targets and
 * tests, which are fetched then. What is unfolded is in the address.
 */
import type { Below, Job, Leaf, RunDocument, Step } from "./types";

/** A part of a bar. */
export interface Segment {
  kind: "queue" | "dispatch" | "run";
  from: number;
  to: number;
  /** Which of several lines of the row, and how its job ended: where a row stands for several. */
  line?: number;
  conclusion?: string | null;
  /** Whether it goes on beyond its end. */
  isOpen?: boolean;
}

/** A row. */
export interface Row {
  /** What unfolds it, and tells it from others. */
  key: string;
  depth: number;
  kind: "group" | "job" | "step" | "leaf";
  name: string;
  /** How it ended; `null` while it goes on. */
  conclusion: string | null;
  segments: Segment[];
  seconds: number;
  isOnPath: boolean;
  isOpen: boolean;
  canOpen: boolean;
  /** How many jobs it stands for, and how many of those failed. */
  count?: number;
  failed?: number;
  job?: Job;
  spanId?: string;
  /** What is told beside its name. */
  hint?: string;
}

/** Whether something ended badly, in GitHub's words. */
export function hasFailed(conclusion: string | null): boolean {
  return conclusion === "failure" || conclusion === "timed_out" || conclusion === "startup_failure";
}

/** How several things ended together: the worst of them. */
export function together(ends: readonly (string | null)[]): string | null {
  const failed = ends.find(hasFailed);
  if (failed !== undefined) return failed;
  if (ends.includes(null)) return null;
  return ends.includes("success") ? "success" : (ends[0] ?? null);
}

/** The parts of a job's time. What goes on is there from its first moment. */
export function segmentsOf(job: Job): Segment[] {
  if (job.taken_ms === null) return [{ kind: "queue", from: job.created_ms, to: job.end_ms }];
  const ready = job.ready_ms ?? job.taken_ms;
  const parts: Segment[] = [
    { kind: "queue", from: job.created_ms, to: job.taken_ms },
    { kind: "dispatch", from: job.taken_ms, to: ready },
    { kind: "run", from: ready, to: job.end_ms, ...(job.is_running && { isOpen: true }) },
  ];
  return parts.filter((part) => part.to > part.from || part.isOpen);
}

/** Several jobs in one row: each has a line of its own, as thin as need be. */
function segmentsOfGroup(jobs: readonly Job[]): Segment[] {
  return jobs.flatMap((job, line) =>
    segmentsOf(job).map((segment) => ({ ...segment, line, conclusion: job.conclusion })),
  );
}

function countOf(below: Below): number {
  return Object.values(below).reduce((sum, count) => sum + count, 0);
}

function belowText(below: Below): string {
  return Object.entries(below)
    .map(([kind, count]) => `${count} ${kind}${count === 1 ? "" : "s"}`)
    .join(", ");
}

/** What jobs are put together by. */
export const GROUPINGS = ["job", "runner", "matrix"] as const;
export type Grouping = (typeof GROUPINGS)[number];

interface Group {
  key: string;
  name: string;
  /** Each with its name in the group. */
  jobs: { job: Job; name: string }[];
  /** Whether it is a row of its own even if it has one job only. */
  isRow: boolean;
}

/** The jobs of a run in groups, each where its first job is. */
function groupsOf(document: RunDocument, by: Grouping): Group[] {
  const named = document.groups.map(({ name, jobs }) => ({
    name,
    jobs: jobs.map((nth) => document.jobs[nth]!),
  }));
  if (by === "job") {
    return named.map(({ name, jobs }) => ({
      key: `g:${name}`,
      name,
      jobs: jobs.map((job) => ({ job, name: jobs.length === 1 ? job.name : variantOf(job.name, name) })),
      isRow: jobs.length > 1,
    }));
  }
  const groups = new Map<string, Group>();
  for (const { name, jobs } of named) {
    for (const job of jobs) {
      const variant = jobs.length === 1 ? undefined : variantOf(job.name, name);
      const of = by === "runner" ? (job.labels ?? "without labels") : variant;
      // What is of no matrix stays by itself.
      const key = of === undefined ? `g:job:${job.span_id}` : `g:${by}:${of}`;
      const inGroup = by === "runner" || variant === undefined ? job.name : name;
      const group = groups.get(key) ?? { key, name: of ?? job.name, jobs: [], isRow: of !== undefined };
      group.jobs.push({ job, name: inGroup });
      groups.set(key, group);
    }
  }
  return [...groups.values()];
}

/** All rows that are shown, from what is unfolded and what was fetched. */
export function rowsOf(
  document: RunDocument,
  open: ReadonlySet<string>,
  leaves: ReadonlyMap<string, readonly Leaf[]>,
  unfoldAll: boolean,
  by: Grouping = "job",
): Row[] {
  const rows: Row[] = [];
  for (const { key, name, jobs: members, isRow } of groupsOf(document, by)) {
    if (!isRow) {
      for (const member of members) pushJob(rows, member.job, member.name, 0, open, leaves);
      continue;
    }
    const jobs = members.map(({ job }) => job);
    const isOpen = unfoldAll !== open.has(key);
    rows.push({
      key,
      depth: 0,
      kind: "group",
      name,
      conclusion: together(jobs.map((job) => job.conclusion)),
      segments: segmentsOfGroup(jobs),
      seconds: Math.max(...jobs.map((job) => job.run_seconds)),
      isOnPath: jobs.some((job) => job.is_on_path),
      isOpen,
      canOpen: true,
      count: jobs.length,
      failed: jobs.filter((job) => hasFailed(job.conclusion)).length,
    });
    if (isOpen) for (const member of members) pushJob(rows, member.job, member.name, 1, open, leaves);
  }
  return rows;
}

/** What a job of a matrix has of its own in its name. */
function variantOf(name: string, base: string): string {
  if (!name.startsWith(base)) return name;
  const rest = name
    .slice(base.length)
    .replace(/^ \/ /, "")
    .replace(/^ \((.*)\)$/, "$1")
    .trim();
  return rest || name;
}

function pushJob(
  rows: Row[],
  job: Job,
  name: string,
  depth: number,
  open: ReadonlySet<string>,
  leaves: ReadonlyMap<string, readonly Leaf[]>,
): void {
  const isOpen = open.has(job.span_id);
  rows.push({
    key: job.span_id,
    depth,
    kind: "job",
    name,
    conclusion: job.conclusion,
    segments: segmentsOf(job),
    seconds: job.run_seconds,
    isOnPath: job.is_on_path,
    isOpen,
    canOpen: job.steps.length > 0 || countOf(job.below) > 0,
    job,
    spanId: job.span_id,
    hint: job.is_carried_over ? "ran in an earlier attempt" : undefined,
  });
  if (!isOpen) return;
  for (const step of job.steps) pushStep(rows, step, depth + 1, open, leaves);
  // What no step has: commands that the job itself ran.
  pushLeaves(rows, leaves.get(job.span_id) ?? [], depth + 1);
}

function pushStep(
  rows: Row[],
  step: Step,
  depth: number,
  open: ReadonlySet<string>,
  leaves: ReadonlyMap<string, readonly Leaf[]>,
): void {
  const count = countOf(step.below);
  const isOpen = open.has(step.span_id);
  rows.push({
    key: step.span_id,
    depth,
    kind: "step",
    name: step.name,
    conclusion: step.conclusion,
    segments: [{ kind: "run", from: step.start_ms, to: step.start_ms + step.seconds * 1000 }],
    seconds: step.seconds,
    isOnPath: false,
    isOpen,
    canOpen: count > 0,
    spanId: step.span_id,
    hint: count > 0 ? belowText(step.below) : undefined,
  });
  if (isOpen) pushLeaves(rows, leaves.get(step.span_id) ?? [], depth + 1);
}

function pushLeaves(rows: Row[], leaves: readonly Leaf[], depth: number): void {
  for (const leaf of leaves) {
    rows.push({
      key: leaf.span_id,
      depth,
      kind: "leaf",
      name: leaf.name,
      conclusion: leaf.is_error ? "failure" : "success",
      segments: [{ kind: "run", from: leaf.start_ms, to: leaf.start_ms + leaf.seconds * 1000 }],
      seconds: leaf.seconds,
      isOnPath: false,
      isOpen: false,
      canOpen: false,
      spanId: leaf.span_id,
      hint: leaf.message ?? leaf.kind,
    });
  }
}

/** The rows of the critical path, with what is unfolded below its jobs. */
export function onPath(rows: readonly Row[]): Row[] {
  let isBelow = false;
  return rows.filter((row) => {
    if (row.kind === "group" || row.kind === "job") isBelow = row.isOnPath;
    return isBelow;
  });
}

/** The name of a job or a step, and how many spans lie below it that are none of these. */
export function belowOf(document: RunDocument, spanId: string): { name: string; count: number } | undefined {
  for (const job of document.jobs) {
    const found = [job, ...job.steps].find((one) => one.span_id === spanId);
    if (found) return { name: found.name, count: countOf(found.below) };
  }
  return undefined;
}

/** Whether something lies below a job or a step that has to be fetched when it is unfolded. */
export function hasLeaves(document: RunDocument, spanId: string): boolean {
  return (belowOf(document, spanId)?.count ?? 0) > 0;
}
