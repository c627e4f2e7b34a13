/** The builder's TraceQL, and the ranking of differences. */
import { describe, expect, it, vi } from "vitest";
import "./panels-browser";
import { ApiError } from "../src/frame/api";
import { navigate } from "../src/frame/router";
import { boxOf } from "../src/pages/traces/charts";
import { cutOf } from "../src/pages/traces/cutspans";
import { byField, certainty, compared, literal, type TempoSeries } from "../src/pages/traces/difference";
import { comparison } from "../src/pages/traces/explorer";
import { wrongOf } from "../src/pages/traces/flame";
import {
  type FoundTrace,
  foundTrace,
  orderIn,
  tracePath,
  valueIn,
  valuesIn,
} from "../src/pages/traces/found";
import { heatOf, stepSeconds, totalOf } from "../src/pages/traces/overtime";
import { byOwnTime } from "../src/pages/traces/owntime";
import {
  comparedIn,
  durationText,
  fieldsOf,
  filterOf,
  metricsFunction,
  parse,
  typedOf,
  withCondition,
  write,
  writtenField,
  writtenValue,
} from "../src/pages/traces/query";
import { cellsOf } from "../src/pages/traces/scatter";
import { brokenOff, heard, lookedInto, moreSpans, soFar, spansOf } from "../src/pages/traces/search";
import { cellsText, movedCells } from "../src/ui/boxkeys";
import { boxesOf } from "../src/ui/canvas/flamenodes";
import { readPart, writePart } from "../src/ui/canvas/window";
import { bytes, duration } from "../src/ui/format";
import { boxAt, boxOfCells } from "../src/ui/heatgeometry";
import { readSorting, writeSorting } from "../src/ui/sorting";

const go = (_: unknown, __: string, to: string) => {
  location.href = new URL(to, location.href).href;
};

describe("the builder", () => {
  it("reads conditions and writes the same query again", () => {
    const text = '{ resource.service.name = "shop" && duration > 10s && status = error } | select(span.a)';
    const built = parse(text)!;
    expect(built.conditions).toHaveLength(3);
    expect(built.conditions[0]).toEqual({ field: "resource.service.name", operator: "=", value: '"shop"' });
    expect(write(built)).toBe(text);
    expect(write(parse("")!)).toBe("{}");
    expect(write(parse("{}")!)).toBe("{}");
  });
  it("leaves what is more than conditions to the editor", () => {
    for (const text of [
      "{ a = 1 || b = 2 }",
      "{} >> { status = error }",
      "{ (.a = 1) }",
      "{ span.a = span.b }",
      "{ .a = 1 && }",
      "{ .a = 1",
      "{ .a }",
      "({}) | rate()",
    ]) {
      expect(parse(text), text).toBeUndefined();
    }
  });
  const region = { field: "span.region", operator: "=", value: '"eu"' };
  it("adds a condition to any query", () => {
    expect(withCondition("{}", region)).toBe('{ span.region = "eu" }');
    expect(withCondition('{ span.region != "eu" } | select(span.x)', region)).toBe(
      '{ span.region = "eu" } | select(span.x)',
    );
    expect(withCondition("{ .a = 1 || .b = 2 } | count() > 2", region)).toBe(
      '{ (.a = 1 || .b = 2) && span.region = "eu" } | count() > 2',
    );
    expect(withCondition("{ (.a = 1 || .b = 2) && .c = 3 }", region)).toBe(
      '{ (.a = 1 || .b = 2) && .c = 3 && span.region = "eu" }',
    );
    expect(withCondition("{ .a = .b }", region)).toBe('{ .a = .b && span.region = "eu" }');
    expect(withCondition("{ } | by(.a)", region)).toBe('{ span.region = "eu" } | by(.a)');
  });
  it("keeps one of the spans that it had, not of their traces, where it adds one to several filters", () => {
    const once = withCondition("{ .a = 1 } || { .b = 2 } | count() > 2", region);
    expect(once).toBe('({ .a = 1 } || { .b = 2 } | { span.region = "eu" }) | count() > 2');
    // What is made of it, such as a chart of its spans, is of these.
    expect(filterOf(once)).toBe('({ .a = 1 } || { .b = 2 } | { span.region = "eu" })');
  });
  it("keeps both ends of a range, also of one that is a point", () => {
    const low = withCondition("{}", { field: "duration", operator: ">=", value: "5ms" });
    expect(withCondition(low, { field: "duration", operator: "<=", value: "5ms" })).toBe(
      "{ duration >= 5ms && duration <= 5ms }",
    );
  });
  it("shows values so that taking them back writes the same", () => {
    for (const value of [
      '"eu"',
      '"12.9"',
      "12.9",
      '"nil"',
      "nil",
      '"true"',
      '"5s"',
      '"say \\"hi\\""',
      "`a`",
      '""',
    ]) {
      const condition = { field: "span.x", operator: "=", value };
      expect(writtenValue("span.x", typedOf(condition)), value).toBe(value);
    }
    expect(typedOf({ field: "span.x", operator: "=", value: '"12.9"' })).toBe('"12.9"');
    expect(typedOf({ field: "name", operator: "=", value: '"404"' })).toBe("404");
  });
  it("takes expressions as texts, and quotes as such only where they are of the whole", () => {
    expect(writtenValue("span.code", "404", "=~")).toBe('"404"');
    expect(writtenValue("span.code", "4..", "!~")).toBe('"4.."');
    expect(writtenValue("span.x", '"a" || "b"')).toBe('"\\"a\\" || \\"b\\""');
    expect(writtenValue("span.x", '"a\\"')).toBe('"\\"a\\\\\\""');
  });
  it("reads names of columns, also of those with commas in them", () => {
    expect(fieldsOf('name,span."a,b",.c')).toEqual(["name", 'span."a,b"', ".c"]);
    expect(fieldsOf("")).toEqual([]);
  });
  it("leaves spaces in quoted names of fields, and nowhere else", () => {
    expect(writtenField(' span."a b" ')).toBe('span."a b"');
    expect(writtenField("span. http .code ")).toBe("span.http.code");
  });
  it("knows the filter of a query, and queries for numbers", () => {
    expect(filterOf('{ name = "a|b" } >> {} | rate()')).toBe('{ name = "a|b" } >> {}');
    expect(metricsFunction("{} | rate() by (status)")).toBe("rate");
    expect(metricsFunction("{} | quantile_over_time(duration, .9)")).toBe("quantile_over_time");
    expect(metricsFunction("{} | select(span.rate)")).toBeUndefined();
    expect(metricsFunction('{ name = "a | rate()" }')).toBeUndefined();
  });
  it("knows what a query compares with the rest", () => {
    expect(comparedIn("{} | compare({ status = error })")).toBe("{ status = error }");
    expect(comparedIn('{ .a = 1 } | compare( { name = "}" && .b = 2 }, 20 )')).toBe(
      '{ name = "}" && .b = 2 }',
    );
    expect(comparedIn("{} | compare(")).toBe("");
    expect(comparedIn("{} | rate()")).toBeUndefined();
    expect(comparedIn("{ .compare = 1 }")).toBeUndefined();
  });
  it("writes values as the field wants them", () => {
    expect(writtenValue("status", "error")).toBe("error");
    expect(writtenValue("span.status", "error")).toBe('"error"');
    expect(writtenValue("duration", "1.5s")).toBe("1.5s");
    expect(writtenValue("name", "404")).toBe('"404"');
    expect(writtenValue("span.code", "404")).toBe("404");
    expect(writtenValue("span.x", 'say "hi"')).toBe('"say \\"hi\\""');
    expect(durationText(1_500_000)).toBe("1.5ms");
    expect(durationText(90e9)).toBe("90s");
  });
});

function series(type: string, key: string, value: string, ...counts: number[]): TempoSeries {
  return {
    labels: [
      { key: "__meta_type", value: { stringValue: type } },
      { key, value: { stringValue: value } },
    ],
    samples: counts.map((value) => ({ timestampMs: "0", value })),
  };
}

describe("differences", () => {
  const answer = [
    series("selection", "span.version", "1.5", 60, 30),
    series("selection", "span.version", "1.4", 10),
    series("baseline", "span.version", "1.5", 100),
    series("baseline", "span.version", "1.4", 900),
    series("selection", "kind", "server", 50),
    series("baseline", "kind", "server", 500),
    series("selection_total", "span.version", "nil", 70, 30),
    series("baseline_total", "span.version", "nil", 1000),
  ];
  it("ranks what the selection has more or less of", () => {
    const { differences, selectedTotal, restTotal } = compared(answer);
    expect([selectedTotal, restTotal]).toEqual([100, 1000]);
    expect(differences[0]).toMatchObject({ field: "span.version", selectedPart: 0.9, restPart: 0.1 });
    expect(Math.abs(differences[0]!.score)).toBeGreaterThan(15);
    expect(differences.at(-1)).toMatchObject({ field: "kind", score: 0 });
    expect(byField(differences).map(({ field }) => field)).toEqual(["span.version", "kind"]);
  });
  it("says when there may be no difference, and copes with none", () => {
    expect(certainty(0.4)).toBe("may be chance");
    expect(certainty(-9)).toBe("clear");
    expect(compared([])).toEqual({ selectedTotal: 0, restTotal: 0, differences: [], cut: [] });
  });
  it("writes values as literals of the language", () => {
    expect(literal({ field: "status", value: "error", isText: true })).toBe("error");
    expect(literal({ field: "span.code", value: "500", isText: false })).toBe("500");
    expect(literal({ field: "span.code", value: "500", isText: true })).toBe('"500"');
    expect(literal({ field: "span.x", value: 'a\n"b"\\', isText: true })).toBe('"a\\n\\"b\\"\\\\"');
  });
});

describe("durations over time", () => {
  const bucket = (bound: number, ...values: (number | undefined)[]): TempoSeries => ({
    labels: [{ key: "__bucket", value: { doubleValue: bound } }],
    samples: values.map((value, at) => ({ timestampMs: String((at + 1) * 10_000), value })),
  });
  const heat = heatOf([bucket(8, 5, undefined), bucket(1, 1, 2)], 10);
  it("have a row for each power of two, also for those without spans", () => {
    expect(heat.bounds.map((bound) => bound / 1e9)).toEqual([1, 2, 4, 8]);
    expect(heat.counts).toEqual([
      [1, 2],
      [0, 0],
      [0, 0],
      [5, 0],
    ]);
    expect(heat.lowest).toBe(0.5e9);
  });
  it("stand where their steps begin", () => {
    expect(heat.times).toEqual([0, 10_000]);
    expect(totalOf(heat)).toBe(8);
  });
  it("are chosen by boxes of whole cells", () => {
    const look = { left: 50, top: 0, width: 250, cellWidth: 100, cellHeight: 10 };
    expect(boxAt(heat, look, { x: 60, y: 5, toX: 70, toY: 12 })).toEqual({
      from: 0,
      to: 10_000,
      low: 2e9,
      high: 8e9,
    });
    expect(boxAt(heat, look, { x: 900, y: 900, toX: -5, toY: -5 })).toEqual({
      from: 0,
      to: 20_000,
      low: 0.5e9,
      high: 8e9,
    });
  });
  it("are chosen by keys: arrows go to a cell, Shift leaves a corner behind", () => {
    const first = movedCells(heat, undefined, "ArrowUp", false)!;
    expect(first.cursor, "begins where most is").toEqual({ column: 0, row: 3 });
    const down = movedCells(heat, first, "ArrowDown", false)!;
    expect(down).toEqual({ cursor: { column: 0, row: 2 }, anchor: { column: 0, row: 2 } });
    const right = movedCells(heat, down, "ArrowRight", true)!;
    expect(right).toEqual({ cursor: { column: 1, row: 2 }, anchor: { column: 0, row: 2 } });
    const corner = movedCells(heat, right, "PageDown", true)!;
    expect(boxOfCells(heat, corner.cursor, corner.anchor)).toEqual({
      from: 0,
      to: 20_000,
      low: 0.5e9,
      high: 4e9,
    });
    expect(cellsText(heat, corner, duration, "spans")).toMatch(/, 500 ms to 4 s: 3 spans$/);
    expect(movedCells(heat, corner, "ArrowRight", true)).toEqual(corner);
    expect(movedCells(heat, corner, "Tab", false)).toBeUndefined();
    expect(movedCells({ ...heat, times: [] }, undefined, "ArrowUp", false)).toBeUndefined();
  });
  it("of few traces lie in cells too, and a box of those is of traces", () => {
    const traces = [1e6, 1e9].map((durationNanos, at) => ({
      ...{ id: String(at), service: "", name: "", spanCount: 1, errorCount: 0, matched: 1, spans: [] },
      start: `${at * 500}000000`,
      durationNanos,
    }));
    const cells = cellsOf(traces, { from: 0, to: 1000 }, Math.log(1e6), Math.log(1e9));
    expect(cells.counts[0]![0]).toBe(1);
    expect(cells.counts.at(-1)![24]).toBe(1);
    expect(cells.bounds.at(-1)).toBeCloseTo(1e9, 0);
    expect(comparison(boxOf("0,1000,1000000,2000000,traces"), undefined)).toBe(
      "compare({ traceDuration >= 1ms && traceDuration <= 2ms }, 12, 0000000, 1002000000)",
    );
    expect(comparison(boxOf("0,1000,1000000,2000000"), undefined)).toContain("{ duration >= 1ms");
    const [within, after, longer] = [
      { id: "a", start: "1000000000", durationNanos: 1.5e6 },
      { id: "b", start: "1002000000", durationNanos: 1.5e6 },
      { id: "c", start: "500000000", durationNanos: 1e9 },
    ] as FoundTrace[];
    const box = boxOf("0,1000,1000000,2000000,traces");
    expect(comparison(box, undefined, [within!, after!, longer!])).toBe('compare({ trace:id = "a" }, 12)');
    expect(comparison(box, undefined, [within!, { ...within!, id: "d" }])).toBe(
      'compare({ trace:id = "a" || trace:id = "d" }, 12)',
    );
    const many = Array.from({ length: 101 }, (_, at) => ({ ...within!, id: String(at) }));
    expect(comparison(box, undefined, many)).toContain("traceDuration");
    expect(boxOf("0,1000,1000000,2000000,spans")).toBeUndefined();
  });
  it("have as many steps as can be seen", () => {
    expect(stepSeconds({ from: 0, to: 3_600_000 }, 90)).toBe(60);
    expect(stepSeconds({ from: 0, to: 1000 }, 90)).toBe(1);
  });
});

describe("found traces", () => {
  const trace = foundTrace({
    id: "a1",
    rootService: null,
    rootName: "GET /",
    start: "1794989600324359852",
    durationNanos: 5,
    spanCount: 2,
    errorCount: 1,
    matched: 2,
    spanSets: [
      {
        spans: ["eu", "us", "eu", null].map((value, at) => ({
          id: String(at),
          name: "x",
          start: "1",
          durationNanos: 1,
          attributes: [
            { key: "span.region", type: "string", value },
            { key: "resource.region", type: "string", value: "all" },
            { key: "span:duration", type: "duration", value: 1_500_000 },
            { key: "span.code", type: "string", value: "404" },
          ],
        })),
      },
    ],
  });
  it("are opened with the time that is looked at, and not live", () => {
    vi.stubGlobal("history", { replaceState: go });
    navigate("/traces?q=a&tenant=b&from=now-6h&to=now&refresh=5s", { replace: true });
    expect(tracePath("ab", "cd")).toBe("/trace/ab?tenant=b&from=now-6h&to=now&span=cd");
    navigate("/traces?tenant=", { replace: true });
    expect(tracePath("ab")).toBe("/trace/ab");
    vi.unstubAllGlobals();
  });
  it("tell the different values of a field, and keep scopes apart", () => {
    expect(valuesIn(trace, "span.region")).toEqual(["eu", "us"]);
    expect(valuesIn(trace, "resource.region")).toEqual(["all"]);
    expect(valueIn(trace.spans[0]!, "region")).toBeUndefined();
    expect(valueIn(trace.spans[0]!, "span.name")).toBeUndefined();
    expect(trace.spans[0]!.name).toBe("x");
    expect(trace.service).toBe("");
  });
  it("are sorted by numbers where values are such, however they are shown", () => {
    expect(valueIn(trace.spans[0]!, "span:duration")).toBe("1.5 ms");
    expect(orderIn(trace.spans, "span:duration")).toBe(1_500_000);
    expect(orderIn(trace.spans, "span.code")).toBe(404);
    expect(orderIn(trace.spans.slice(3), "span.region")).toBeUndefined();
  });
});

describe("a search that breaks off", () => {
  const trace = { id: "t", rootService: null, rootName: null, start: "1", durationNanos: 1 };
  const more = { spanCount: 1, errorCount: 0, matched: 1, spanSets: [] };
  const state = {
    traces: [],
    inspectedSpans: 0,
    inspectedBytes: 0,
    blocks: 0,
    granules: 0,
    readGranules: 0,
    elapsedMillis: 0,
    isRunning: true,
    isStopped: false,
    isTruncated: false,
    damagedBlocks: 0,
  };
  it("keeps what it found, or else what the one before had found", () => {
    const found = heard(state, { traces: [{ ...trace, ...more }] });
    const why = new Error("gone");
    expect(brokenOff(found, state, why)).toEqual({ ...found, isRunning: false, error: why });
    expect(brokenOff(state, found).traces).toBe(found.traces);
  });
  it("shows what the one before had found, until something is found or all was looked at", () => {
    const found = heard(state, { traces: [{ ...trace, ...more }] });
    const progress = { inspectedSpans: 7, inspectedBytes: 0, blocks: 1, jobs: 9, completedJobs: 2 };
    const known = heard(state, { progress: { ...progress, elapsedMillis: 250 } });
    expect(soFar(found, known)).toEqual({ ...known, traces: found.traces });
    expect(soFar(found, heard(known, { traces: [{ ...trace, ...more, id: "b2" }] })).traces).toHaveLength(1);
    const done = heard(known, { done: { truncated: false, damagedBlocks: 0, elapsedMillis: 300 } });
    expect(soFar(found, done).traces).toEqual([]);
  });
  it("says how far it is", () => {
    const progress = { inspectedSpans: 0, inspectedBytes: 1.2e9, elapsedMillis: 210 };
    const line = { ...progress, blocks: 3, jobs: 38, completedJobs: 12 };
    expect(lookedInto(heard(state, { progress: line }))).toBe(
      `12 of 38 granules of 3 blocks · ${bytes(1.2e9)} · 0.21 s`,
    );
    const over = { ...line, jobs: 5, completedJobs: 5, blocks: 0 };
    expect(lookedInto(heard(state, { progress: over }))).toMatch(/^5 granules · /);
    expect(lookedInto(state)).toBe("");
  });
  it("is told by a line of the answer too", () => {
    expect(() => heard(state, { error: "a block is damaged" })).toThrow("a block is damaged");
  });
});

describe("a flame by own time", () => {
  const numbers = (selfNanos: number, weightNanos = selfNanos) => ({
    count: 1,
    errors: 0,
    totalNanos: weightNanos,
    selfNanos,
    weightNanos,
    criticalNanos: 0,
  });
  const node = (parent: number, depth: number, service: string, name: string, self: number, all: number) => ({
    parent,
    depth,
    service,
    name,
    a: numbers(self, all),
  });
  it("has an operation once, as wide as its own time wherever it is", () => {
    const nodes = [
      node(-1, 0, "web", "GET", 10, 100),
      node(0, 1, "db", "query", 30, 30),
      node(0, 1, "web", "render", 20, 60),
      node(2, 2, "db", "query", 40, 40),
    ];
    const merged = byOwnTime(nodes);
    expect(merged.map(({ name, depth, parent }) => [name, depth, parent])).toEqual([
      ["db", 0, -1],
      ["query", 1, 0],
      ["web", 0, -1],
      ["render", 1, 2],
      ["GET", 1, 2],
    ]);
    expect(merged.map(({ a }) => a.weightNanos)).toEqual([70, 70, 30, 20, 10]);
    expect(boxesOf(merged).length).toBe(100);
  });
  it("keeps both sides apart", () => {
    const both = { ...node(-1, 0, "web", "GET", 10, 10), b: numbers(25) };
    expect(byOwnTime([both])[1]).toMatchObject({ a: { selfNanos: 10 }, b: { selfNanos: 25 } });
    expect(byOwnTime([])).toEqual([]);
  });
});

describe("a flame of two queries", () => {
  const error = (parameter?: string) =>
    new ApiError("expected a value", 400, 4, "/api/traces/flame", parameter);
  it("shows an error in the editor of the query that it is of", () => {
    const wrong = { message: "expected a value", position: 4 };
    expect(wrongOf("{ a }", "{ b }", error("qb"))).toEqual({ b: wrong });
    expect(wrongOf("{ a }", "{ b }", error("q"))).toEqual({ a: wrong });
    // A time may be compared without a query of its own.
    expect(wrongOf("{ a }", undefined, error("qb"))).toEqual({ a: wrong });
    expect(wrongOf("{ a }", "{ b }", undefined)).toEqual({ a: undefined });
  });
});

describe("spans that are answered of a trace", () => {
  it("are as many as the address says, up to what the server answers", () => {
    expect([undefined, "x", "0", "-3", "100", "5000"].map(spansOf)).toEqual([20, 20, 20, 1, 100, 1000]);
    expect([20, 500, 1000].map(moreSpans)).toEqual([100, 1000, undefined]);
  });

  it("are told where more match", () => {
    const trace = (matched: number, spans: number) =>
      ({ matched, spans: Array.from({ length: spans }) }) as unknown as FoundTrace;
    expect(cutOf([trace(3, 3), trace(25, 20), trace(60, 20)])).toEqual({ traces: 2, spans: 45 });
    expect(cutOf([])).toEqual({ traces: 0, spans: 0 });
  });
});

describe("views in the address", () => {
  it("have the part that is looked at of a whole that may become another", () => {
    const text = writePart({ from: 25_000, to: 50_000 }, 100_000);
    expect(text).toBe("0.25,0.5");
    expect(readPart(text, 400_000)).toEqual({ from: 100_000, to: 200_000 });
    for (const none of [undefined, "", "0.5", "0.5,0.25", "-1,0.5", "0,2", "0,0.5,1", "a,b"]) {
      expect(readPart(none, 100), String(none)).toEqual({ from: 0, to: 100 });
    }
  });
  it("have the order of a table", () => {
    for (const text of ["-start", "name"]) expect(writeSorting(readSorting(text)!)).toBe(text);
    expect(readSorting("")).toBeUndefined();
  });
});
