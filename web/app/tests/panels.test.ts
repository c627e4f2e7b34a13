/** Panels: joining and stacking of series, values as they are shown, links, lanes, bars. */
import { describe, expect, it } from "vitest";
import "./panels-browser";
import { mappingOf } from "../src/panels/display";
import type { Field, Frame } from "../src/panels/frame";
import { heatCells } from "../src/panels/heatcells";
import { histogram } from "../src/panels/histogram";
import { pick } from "../src/panels/legend";
import { safeAddress } from "../src/panels/links";
import { joinSeries } from "../src/panels/series";
import { lanesOf } from "../src/panels/statetimeline";

function number(name: string, values: (number | null)[], custom: Record<string, unknown> = {}): Field {
  return { name, type: "number", config: { custom }, state: { displayName: name }, values };
}

function frame(times: number[], ...fields: Field[]): Frame {
  return { fields: [{ name: "Time", type: "time", values: times }, ...fields] };
}

describe("series", () => {
  it("are joined over all times, with nothing where one has no point", () => {
    const joined = joinSeries([frame([1, 2, 3], number("a", [1, 2, 3])), frame([2, 4], number("b", [5, 6]))]);
    expect(joined.times).toEqual([1, 2, 3, 4]);
    expect(joined.series[1]!.values).toEqual([undefined, 5, undefined, 6]);
  });

  it("break where points are missing for longer than the interval", () => {
    const gap = frame([0, 10, 50, 60], number("a", [1, 2, 3, 4]));
    gap.fields[0]!.config = { interval: 10 };
    expect(joinSeries([gap]).series[0]!.values).toEqual([1, 2, null, 3, 4]);
  });

  it("are stacked by group, those that go down apart, and as parts of the whole", () => {
    const stacking = { stacking: { mode: "normal", group: "A" } };
    const down = { ...stacking, transform: "negative-Y" };
    const joined = joinSeries([
      frame(
        [1, 2],
        number("a", [1, 2], stacking),
        number("b", [10, null], stacking),
        number("c", [3, 4], down),
      ),
    ]);
    expect(joined.series.map(({ drawn }) => drawn)).toEqual([
      [1, 2],
      [11, 2],
      [-3, -4],
    ]);
    expect(joined.series.map(({ below }) => below)).toEqual([undefined, 0, undefined]);
    const percent = { stacking: { mode: "percent" } };
    const parts = joinSeries([frame([1], number("a", [1], percent), number("b", [3], percent))]);
    expect(parts.series.map(({ drawn }) => drawn[0])).toEqual([0.25, 1]);
  });

  it("are in order of time, whatever order they came in", () => {
    expect(joinSeries([frame([3, 1, 2], number("a", [30, 10, 20]))]).series[0]!.values).toEqual([10, 20, 30]);
  });
});

describe("mappings", () => {
  it("by value, range, pattern and what is special", () => {
    const mappings = [
      { type: "value", options: { "1": { text: "one" } } },
      { type: "range", options: { from: 10, to: null, result: { text: "many" } } },
      { type: "regex", options: { pattern: "/^node-(.*)$/", result: { text: "host $1" } } },
      { type: "special", options: { match: "null+nan", result: { text: "N/A" } } },
    ];
    const text = (cell: unknown) => mappingOf(mappings, cell as never)?.text;
    expect([text(1), text(12), text("node-7"), text(null), text(Number.NaN), text(5)]).toEqual([
      "one",
      "many",
      "host 7",
      "N/A",
      "N/A",
      undefined,
    ]);
  });
});

describe("links", () => {
  it("lead to the web and to this server only", () => {
    expect(safeAddress("https://example.org/a")).toBe("https://example.org/a");
    expect(safeAddress("/trace/1")).toBe("/trace/1");
    for (const bad of [
      "javascript:alert(1)",
      " java\nscript:alert(1)",
      "data:text/html,x",
      "//evil",
      "",
      "\\\\evil",
    ]) {
      expect(safeAddress(bad)).toBeUndefined();
    }
  });
});

describe("lanes", () => {
  it("hold a state until the next, and what is the same is one piece", () => {
    const field: Field = { name: "s", type: "string", values: ["up", "up", null, "down"] };
    const [lane] = lanesOf(
      [{ fields: [{ name: "t", type: "time", values: [0, 10, 20, 30] }, field] }],
      40,
      true,
    );
    expect(lane!.pieces.map(({ from, to, text }) => [from, to, text])).toEqual([
      [0, 20, "up"],
      [30, 40, "down"],
    ]);
  });
});

describe("heat maps", () => {
  it("take what is in a bucket, not what is below its bound", () => {
    const bucket = (le: string, values: number[]): Field => ({
      name: le,
      type: "number",
      labels: { le },
      values,
    });
    const cells = heatCells(
      [frame([1, 2], bucket("+Inf", [9, 4]), bucket("1", [2, 0]), bucket("5", [7, 4]))],
      {},
    );
    expect(cells!.rows.map(({ to }) => to)).toEqual([1, 5, Number.POSITIVE_INFINITY]);
    expect(cells!.values).toEqual([
      [2, 0],
      [5, 4],
      [2, 0],
    ]);
  });
});

describe("histograms", () => {
  it("count values in ranges of a round size", () => {
    const made = histogram([{ fields: [number("v", [1, 2, 11, 12, 13, null])] }], { bucketSize: 10 });
    expect(made!.fields[1]!.values).toEqual([2, 3]);
  });
});

describe("legends", () => {
  it("show one series alone, and all again", () => {
    const keys = ["a", "b", "c"];
    const alone = pick(keys, new Set(), "b", false);
    expect([...alone]).toEqual(["a", "c"]);
    expect(pick(keys, alone, "b", false).size).toBe(0);
    expect([...pick(keys, alone, "c", true)]).toEqual(["a"]);
  });
});
