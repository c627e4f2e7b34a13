/** What options of panels make of them. */
import { describe, expect, it } from "vitest";
import "./panels-browser";
import { namedGroups } from "../src/panels/bars";
import { columnsOf, givenSizes } from "../src/panels/measure";
import { bandsOf, joinSeries } from "../src/panels/series";
import { statLayout } from "../src/panels/stat";
import { plotSeries } from "../src/panels/strokes";
import { made, timed } from "./panels-made";

describe("series over time", () => {
  it("are filled down to the one that they name", () => {
    const upper = made("high", "number", [3], { custom: { fillBelowTo: "low" } });
    const { series } = joinSeries([timed([1], [made("low", "number", [1]), upper])]);
    expect(bandsOf(series)).toEqual([{ from: 1, to: 0, isUpwards: false }]);
    expect(plotSeries(series[1]!, "y", true).fill).toBeDefined();
    expect(plotSeries(series[0]!, "y", true).fill).toBeUndefined();
    expect(bandsOf([series[1]!])).toEqual([]);
  });

  it("are filled from zero in both directions where they are stacked", () => {
    const of = (values: number[], transform?: string) =>
      made("x", "number", values, { custom: { stacking: { mode: "normal" }, transform } });
    const turned = "negative-Y";
    const fields = [of([1, 2]), of([0, 0], turned), of([3, 0]), of([4, 5], turned), of([-6, 0], turned)];
    const { series } = joinSeries([timed([1, 2], fields)]);
    expect(series.map(({ isDown }) => isDown)).toEqual([false, true, false, true, false]);
    expect(bandsOf(series)).toEqual([
      { from: 2, to: 0, isUpwards: false },
      { from: 3, to: 1, isUpwards: true },
      { from: 4, to: 2, isUpwards: false },
    ]);
    expect(joinSeries([timed([1], [of([-1]), of([-2])])]).series.map(({ drawn }) => drawn[0])).toEqual([
      -1, -3,
    ]);
  });

  it("are their first value everywhere, or below zero, if they are to be", () => {
    const of = (transform: string) => made(transform, "number", [null, 2, 3], { custom: { transform } });
    const { series } = joinSeries([timed([1, 2, 3], [of("constant"), of("negative-Y")])]);
    expect(series.map(({ drawn }) => drawn)).toEqual([
      [2, 2, 2],
      [null, -2, -3],
    ]);
  });
});

describe("names of bars", () => {
  const named = (spacing: number, room = 10) => [0, 1, 2, 3, 4, 5].filter(namedGroups(6, 50, room, spacing));

  it("are as far apart as the panel says, from either end", () => {
    expect(named(0)).toEqual([0, 1, 2, 3, 4, 5]);
    expect(named(100)).toEqual([0, 2, 4]);
    expect(named(-100)).toEqual([1, 3, 5]);
    expect(named(100, 140)).toEqual([0, 3]);
  });
});

describe("single values", () => {
  it("have their name beside them where there is room, unless the panel says otherwise", () => {
    const [wide, high] = [
      { width: 300, height: 60 },
      { width: 100, height: 60 },
    ];
    expect(statLayout({}, 2, wide).isWide).toBe(true);
    expect(statLayout({}, 2, high).isWide).toBe(false);
    expect(statLayout({}, 1, wide).isWide).toBe(false);
    expect(statLayout({ wideLayout: false }, 2, wide).isWide).toBe(false);
    expect(statLayout({ textMode: "name" }, 2, wide).isWide).toBe(false);
  });

  it("stand beside or below each other, as stats and gauges alike say", () => {
    const room = { width: 400, height: 100 };
    const columns = (orientation: string) => columnsOf({ orientation }, 4, room, 1);
    expect(["horizontal", "vertical", "auto"].map(columns)).toEqual([1, 4, 4]);
  });

  it("have the sizes of the panel, if those are to count", () => {
    const usual = { minWidth: 8, minHeight: 16, maxHeight: 300 };
    expect(givenSizes({ minVizWidth: 75 }, usual)).toBeUndefined();
    expect(givenSizes({ sizing: "manual", minVizHeight: 40 }, usual)).toEqual({ ...usual, minHeight: 40 });
    expect(givenSizes({ sizing: "manual", minVizHeight: 400 }, usual)?.maxHeight).toBe(400);
  });
});
