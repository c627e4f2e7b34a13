/** Rows of a run's chart: what is folded, what is unfolded, and how several ends are one. */
import { describe, expect, it } from "vitest";
import "./panels-browser";
import { pairColumns } from "../src/pages/ci/columns";
import { FAILED, searchFor, slowest } from "../src/pages/ci/differences";
import { belowOf, hasLeaves, onPath, rowsOf, segmentsOf, together } from "../src/pages/ci/gantt";
import { named } from "../src/pages/ci/parts";
import { timeOf, told } from "../src/pages/ci/trends";
import type { Job, RunDocument, TrendBin } from "../src/pages/ci/types";

function job(name: string, created: number, more: Partial<Job> = {}): Job {
  return {
    span_id: `span of ${name}`,
    name,
    created_ms: created,
    taken_ms: created + 10,
    ready_ms: created + 15,
    end_ms: created + 100,
    queue_seconds: 0.01,
    dispatch_seconds: 0.005,
    run_seconds: 0.09,
    conclusion: "success",
    is_running: false,
    is_carried_over: false,
    labels: null,
    runner: null,
    url: null,
    is_on_path: false,
    slack_seconds: 0,
    usual_seconds: null,
    delta_seconds: null,
    steps: [],
    below: {},
    ...more,
  };
}

function run(): RunDocument {
  const step = {
    name: "Build",
    number: 2,
    start_ms: 20,
    seconds: 0.05,
    conclusion: "failure",
    span_id: "step",
  };
  const jobs = [
    job("build (a)", 0, { steps: [{ ...step, below: { target: 2 } }], conclusion: "failure" }),
    job("build (b)", 5, { is_on_path: true }),
    job("test", 110),
  ];
  return {
    run: { trace_id: "t", start_ms: 0, end_ms: 210 } as RunDocument["run"],
    groups: [
      { name: "build", jobs: [0, 1] },
      { name: "test", jobs: [2] },
    ],
    jobs,
    jobs_total: jobs.length,
    path: [],
    runners: [],
    caches: [],
    failures: [],
    failures_total: 0,
    earlier: {
      runs: 0,
      median_seconds: null,
      change: null,
      new_jobs: [],
      new_jobs_total: 0,
      missing_jobs: [],
      missing_jobs_total: 0,
    },
    has_more_spans: false,
  };
}

describe("rows of a run", () => {
  it("are one for a matrix, with the worst of its ends and the time of all", () => {
    const rows = rowsOf(run(), new Set(), new Map(), false);
    expect(rows.map((row) => [row.name, row.count])).toEqual([
      ["build", 2],
      ["test", undefined],
    ]);
    expect(rows[0]!.conclusion).toBe("failure");
    expect(rows[0]!.isOnPath).toBe(true);
    expect(rows[0]!.failed).toBe(1);
    // Each job has a line of its own, and says how it ended.
    const runs = rows[0]!.segments.filter((segment) => segment.kind === "run");
    expect(runs).toEqual([
      { kind: "run", from: 15, to: 100, line: 0, conclusion: "failure" },
      { kind: "run", from: 20, to: 105, line: 1, conclusion: "success" },
    ]);
  });

  it("unfold to variants, steps and what was fetched below them", () => {
    const open = new Set(["g:build", "span of build (a)", "step"]);
    const leaf = {
      span_id: "l",
      kind: "target",
      name: "x.o",
      start_ms: 20,
      seconds: 1,
      is_error: true,
      message: "no",
    };
    const rows = rowsOf(run(), open, new Map([["step", [leaf]]]), false);
    expect(rows.map((row) => `${row.depth} ${row.name}`)).toEqual([
      "0 build",
      "1 a",
      "2 Build",
      "3 x.o",
      "1 b",
      "0 test",
    ]);
    expect(rows[3]!.conclusion).toBe("failure");
    // Once all are unfolded, one that is named is folded.
    expect(rowsOf(run(), new Set(["g:build"]), new Map(), true)).toHaveLength(2);
  });

  it("are by runner or by place in a matrix, if that is asked for", () => {
    const told = run();
    told.jobs.push(job("package (a)", 200), job("package (b)", 200));
    told.groups.push({ name: "package", jobs: [3, 4] });
    told.jobs[0]!.labels = "gpu";
    told.jobs[3]!.labels = "gpu";
    const rows = (by: "runner" | "matrix", open: string[] = []) =>
      rowsOf(told, new Set(open), new Map(), false, by).map(
        (row) => `${row.depth} ${row.name} ${row.count ?? ""}`,
      );
    expect(rows("runner", ["g:runner:gpu"])).toEqual([
      "0 gpu 2",
      "1 build (a) ",
      "1 package (a) ",
      "0 without labels 3",
    ]);
    // What is of no matrix is a row of its own, as it is by job.
    expect(rows("matrix", ["g:matrix:b"])).toEqual(["0 a 2", "0 b 2", "1 build ", "1 package ", "0 test "]);
  });

  it("of the critical path are without what is unfolded below other jobs", () => {
    const open = new Set(["g:build", "span of build (a)"]);
    const rows = onPath(rowsOf(run(), open, new Map(), false));
    expect(rows.map((row) => row.name)).toEqual(["build", "b"]);
  });

  it("know what has to be fetched", () => {
    expect(hasLeaves(run(), "step")).toBe(true);
    expect(hasLeaves(run(), "span of test")).toBe(false);
  });

  it("know how much there is below what is fetched in part", () => {
    expect(belowOf(run(), "step")).toEqual({ name: "Build", count: 2 });
    expect(belowOf(run(), "span of test")).toEqual({ name: "test", count: 0 });
    expect(belowOf(run(), "of no run")).toBeUndefined();
  });
});

describe("what is told in part", () => {
  it("says how much more there is", () => {
    expect(named(["a", "b"], 2)).toBe("a, b");
    expect(named(["a", "b"], 34)).toBe("a, b and 32 more");
  });
});

describe("two sides of a job", () => {
  interface Side {
    ran: number | null;
  }
  const pair = (a: Side | null, b: Side | null) => ({ job: "build", a, b, delta_seconds: null });
  const columns = pairColumns<Side, ReturnType<typeof pair>>(
    { a: "A, median", b: "B, median" },
    ({ ran }) => ran,
    ({ ran }) => `ran ${ran}`,
  );
  it("are sorted by what they took, and say where one is missing", () => {
    expect(columns.map(({ title }) => title)).toEqual(["Job", "A, median", "B, median", "B longer by"]);
    const [, a, b, delta] = columns;
    const row = pair({ ran: 7 }, null);
    expect([a!.value!(row), b!.value!(row), delta!.value!(row)]).toEqual([7, undefined, undefined]);
    expect(a!.value!(pair({ ran: null }, null))).toBeUndefined();
    expect(a!.render(row, 0)).toBe("ran 7");
    expect(b!.render(row, 0)).toMatchObject({ props: { children: "not there" } });
  });
});

describe("a job", () => {
  it("that no runner took only waited", () => {
    const parts = segmentsOf(job("x", 0, { taken_ms: null, ready_ms: null }));
    expect(parts).toEqual([{ kind: "queue", from: 0, to: 100 }]);
  });

  it("that runs has an open end, and is there from its first moment", () => {
    const runs = { is_running: true, conclusion: null, ready_ms: 10 };
    expect(segmentsOf(job("x", 0, runs))).toEqual([
      { kind: "queue", from: 0, to: 10 },
      { kind: "run", from: 10, to: 100, isOpen: true },
    ]);
    const now = segmentsOf(job("x", 0, { ...runs, end_ms: 10 }));
    expect(now.at(-1)).toEqual({ kind: "run", from: 10, to: 10, isOpen: true });
    expect(segmentsOf(job("x", 0)).some((part) => part.isOpen)).toBe(false);
  });

  it("with others goes on if one does, and failed if one did", () => {
    expect(together(["success", null])).toBe(null);
    expect(together(["success", null, "timed_out"])).toBe("timed_out");
    expect(together(["skipped", "success"])).toBe("success");
    expect(together(["skipped"])).toBe("skipped");
  });
});

describe("trends of a workflow", () => {
  const bin = (start_ms: number, more: Partial<TrendBin> = {}): TrendBin => ({
    start_ms,
    runs: 0,
    failures: 0,
    median_seconds: null,
    p95_seconds: null,
    queue_p95_seconds: null,
    hit_rate: null,
    runner_minutes: 0,
    ...more,
  });
  const bins = [
    bin(0, { runs: 1, median_seconds: 60, queue_p95_seconds: 5 }),
    // Jobs of that run began here, though no run did.
    bin(10, { queue_p95_seconds: 9, hit_rate: 0, runner_minutes: 3 }),
    bin(20),
    bin(30, { runs: 1 }),
    bin(40),
  ];
  const starts = (has: Parameters<typeof told>[1]) => told(bins, has).map((one) => one.start_ms);

  it("have jobs also where no run begins", () => {
    expect(starts("runs")).toEqual([0, 30]);
    expect(starts("duration")).toEqual([0]);
    expect(starts("queue")).toEqual([0, 10]);
    expect(starts("cache")).toEqual([10]);
    expect(starts("minutes")).toEqual([10]);
  });
  it("all show the same time", () => {
    expect(timeOf(bins)).toEqual({ from: 0, to: 30 });
    expect(timeOf([bin(0, { runs: 1 })])).toBeUndefined();
    expect(timeOf([])).toBeUndefined();
  });
});

describe("what distinguishes runs", () => {
  it("is asked of all runs of what is looked at", () => {
    expect(searchFor("run", "pr", undefined, "")).toBe('{ span.ci.kind = "run" && span.ci.workflow = "pr" }');
    expect(searchFor("job", 'a "b"', "o/r", "main")).toBe(
      '{ span.ci.kind = "job" && span.ci.workflow = "a \\"b\\"" && span.ci.repository = "o/r" && span.ci.branch = "main" }',
    );
    expect(FAILED).toBe("{ status = error }");
  });
  it("selects the slowest fifth, if some are slower than others", () => {
    expect(slowest([10, 50, 20, 30, 40])).toBe("{ duration > 40s }");
    expect(slowest([60, 60, 60])).toBeUndefined();
    expect(slowest([5])).toBeUndefined();
    expect(slowest([])).toBeUndefined();
  });
});
