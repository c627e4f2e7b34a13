/**
 * The rows of a run's chart: jobs of a matrix are one row until it is unfolded, below a job are its steps,
 * below a step its targets and tests, which are fetched then. What is unfolded is in the address.
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

const FAILURES = new Set(["failure", "timed_out", "startup_failure"]);

/** How several things ended together: the worst of them. */
export function together(ends: readonly (string | null)[]): string | null {
  const failed = ends.find((end) => end !== null && FAILURES.has(end));
  if (failed !== undefined) return failed;
  if (ends.includes(null)) return null;
  return ends.includes("success") ? "success" : (ends[0] ?? null);
}

/** The parts of a job's time. */
export function segmentsOf(job: Job): Segment[] {
  if (job.taken_ms === null) return [{ kind: "queue", from: job.created_ms, to: job.end_ms }];
  const ready = job.ready_ms ?? job.taken_ms;
  const parts: Segment[] = [
    { kind: "queue", from: job.created_ms, to: job.taken_ms },
    { kind: "dispatch", from: job.taken_ms, to: ready },
    { kind: "run", from: ready, to: job.end_ms },
  ];
  return parts.filter((part) => part.to > part.from);
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

/** All rows that are shown, from what is unfolded and what was fetched. */
export function rowsOf(
  document: RunDocument,
  open: ReadonlySet<string>,
  leaves: ReadonlyMap<string, readonly Leaf[]>,
  unfoldAll: boolean,
): Row[] {
  const rows: Row[] = [];
  for (const group of document.groups) {
    const jobs = group.jobs.map((nth) => document.jobs[nth]!);
    if (jobs.length === 1) {
      pushJob(rows, jobs[0]!, jobs[0]!.name, 0, open, leaves);
      continue;
    }
    const key = `g:${group.name}`;
    const isOpen = unfoldAll !== open.has(key);
    rows.push({
      key,
      depth: 0,
      kind: "group",
      name: group.name,
      conclusion: together(jobs.map((job) => job.conclusion)),
      segments: segmentsOfGroup(jobs),
      seconds: Math.max(...jobs.map((job) => job.run_seconds)),
      isOnPath: jobs.some((job) => job.is_on_path),
      isOpen,
      canOpen: true,
      count: jobs.length,
      failed: jobs.filter((job) => FAILURES.has(job.conclusion ?? "")).length,
    });
    if (isOpen) for (const job of jobs) pushJob(rows, job, variantOf(job.name, group.name), 1, open, leaves);
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

/** Whether something lies below a job or a step that has to be fetched when it is unfolded. */
export function hasLeaves(document: RunDocument, spanId: string): boolean {
  return document.jobs.some(
    (job) =>
      (job.span_id === spanId && countOf(job.below) > 0) ||
      job.steps.some((step) => step.span_id === spanId && countOf(step.below) > 0),
  );
}
