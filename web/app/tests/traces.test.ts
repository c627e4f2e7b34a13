/** The builder's TraceQL, and the ranking of differences. */
import { describe, expect, it } from "vitest";
import { byField, certainty, compared, literal, type TempoSeries } from "../src/pages/traces/difference";
import { foundTrace, valueIn, valuesIn } from "../src/pages/traces/found";
import { heatOf, stepSeconds, totalOf } from "../src/pages/traces/overtime";
import {
  durationText,
  filterOf,
  isMetrics,
  parse,
  withCondition,
  write,
  writtenValue,
} from "../src/pages/traces/query";
import { boxAt } from "../src/ui/heatgeometry";

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
  it("adds a condition to any query", () => {
    const region = { field: "span.region", operator: "=", value: '"eu"' };
    expect(withCondition("{}", region)).toBe('{ span.region = "eu" }');
    expect(withCondition('{ span.region != "eu" } | select(span.x)', region)).toBe(
      '{ span.region = "eu" } | select(span.x)',
    );
    expect(withCondition("{ .a = 1 || .b = 2 } | count() > 2", region)).toBe(
      '({ .a = 1 || .b = 2 }) && { span.region = "eu" } | count() > 2',
    );
  });
  it("knows the filter of a query, and queries for numbers", () => {
    expect(filterOf('{ name = "a|b" } >> {} | rate()')).toBe('{ name = "a|b" } >> {}');
    expect(isMetrics("{} | rate() by (status)")).toBe(true);
    expect(isMetrics("{} | select(span.rate)")).toBe(false);
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
          attributes: [{ key: "region", type: "string", value }],
        })),
      },
    ],
  });
  it("tell the different values of a field, by its name with or without scope", () => {
    expect(valuesIn(trace, "span.region")).toEqual(["eu", "us"]);
    expect(valuesIn(trace, "region")).toEqual(["eu", "us"]);
    expect(valueIn(trace.spans[0]!, 'span."region"')).toBe("eu");
    expect(trace.service).toBe("");
  });
});
