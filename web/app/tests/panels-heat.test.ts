/** Heat maps: their rows, their squares, their colours, and what is drawn. */
import { describe, expect, it } from "vitest";
import "./panels-browser";
import { heatCells } from "../src/panels/heatcells";
import { heatPaint } from "../src/panels/heatcolors";
import { drawCells, heatRoom } from "../src/panels/heatdraw";
import { made, timed } from "./panels-made";

const frame = (...names: string[]) =>
  timed(
    [0, 10],
    names.map((name, at) => made(name, "number", [at + 1, 5 - at])),
  );

describe("rows of a heat map", () => {
  const bounds = (of: ReturnType<typeof frame>, options = {}) =>
    heatCells([of], options)!.rows.map(({ from, to }) => [from, to]);

  it("are named by the bound that the panel says", () => {
    const rows = frame("10", "0");
    const layout = (name: string) => ({ rowsFrame: { layout: name } });
    expect(bounds(rows, layout("le"))).toEqual([
      [undefined, 0],
      [0, 10],
    ]);
    expect(bounds(rows, layout("ge"))).toEqual([
      [0, 10],
      [10, Number.POSITIVE_INFINITY],
    ]);
    expect(bounds(rows, layout("unknown"))).toEqual([
      [undefined, undefined],
      [undefined, undefined],
    ]);
  });

  it("are named by their lower bound where their labels or their lowest say so", () => {
    expect(heatCells([frame("-Inf", "0")], {})!.layout).toBe("ge");
    const labelled = timed([0], [{ ...made("a", "number", [1]), labels: { ge: "5" } }]);
    expect(heatCells([labelled], {})!.layout).toBe("ge");
    expect(heatCells([frame("0", "+Inf")], {})!.layout).toBe("le");
  });

  it("lie within the ends of the axis", () => {
    const cells = heatCells([frame("1", "5", "10", "+Inf")], { yAxis: { min: 1, max: 7 } })!;
    expect(cells.rows.map(({ to }) => to)).toEqual([5, 10]);
    expect(cells.values).toHaveLength(2);
  });
});

describe("squares of a heat map", () => {
  const values = timed([0, 65_000, 130_000], [made("v", "number", [1, 12, 25])]);
  const counted = (xBuckets: object, yBuckets: object) =>
    heatCells([values], { calculate: true, calculation: { xBuckets, yBuckets } })!;

  it("are of the size that the panel says", () => {
    const cells = counted({ mode: "size", value: "1m" }, { mode: "size", value: "10" });
    expect([cells.times, cells.stepMillis]).toEqual([[0, 60_000, 120_000], 60_000]);
    expect(cells.rows.map(({ from, to }) => [from, to])).toEqual([
      [0, 10],
      [10, 20],
      [20, 30],
    ]);
    expect(cells.values.map((row) => row.map(Number))).toEqual([
      [1, 0, 0],
      [0, 1, 0],
      [0, 0, 1],
    ]);
  });

  it("are as many as the panel says", () => {
    const cells = counted({ mode: "count", value: "2" }, { mode: "count", value: 4 });
    expect([cells.times.length, cells.rows.length]).toEqual([2, 4]);
    expect(cells.values.flat().reduce<number>((sum, value) => sum + (value ?? 0), 0)).toBe(3);
  });

  it("are parts of powers on a logarithmic axis", () => {
    const cells = counted({}, { value: "1", scale: { type: "log", log: 2 } });
    expect(cells.rows.map(({ from, to }) => [from, to])).toEqual([
      [1, 2],
      [2, 4],
      [4, 8],
      [8, 16],
      [16, 32],
    ]);
  });

  it("are not more than memory holds, whatever size is written", () => {
    expect(counted({ value: "1ms" }, { value: "0.000001" }).values.length).toBeLessThan(1000);
  });
});

describe("colours of a heat map", () => {
  const paint = (color: object, more = {}) =>
    heatPaint(heatCells([timed([0], [made("a", "number", [100])])], {})!, { color, ...more });
  const opacity = { mode: "opacity", fill: "#ff0000" };

  it("are one colour that one sees more or less of, by a scale", () => {
    expect(paint({ ...opacity, scale: "linear" }).of(25)).toBe("rgb(255 0 0 / 25%)");
    expect(paint({ ...opacity, scale: "sqrt" }).of(25)).toBe("rgb(255 0 0 / 50%)");
    expect(paint({ ...opacity, scale: "exponential", exponent: 2 }).of(50)).toBe("rgb(255 0 0 / 25%)");
  });

  it("are turned around, have ends, and so many steps", () => {
    const linear = { ...opacity, scale: "linear" };
    expect(paint({ ...linear, reverse: true }).of(25)).toBe("rgb(255 0 0 / 75%)");
    const within = paint({ ...linear, min: 50, max: 150 });
    expect([within.of(0), within.of(100), within.of(900)]).toEqual(
      [0, 50, 100].map((share) => `rgb(255 0 0 / ${share}%)`),
    );
    const steps = paint({ ...linear, steps: 3 });
    expect([0, 30, 40, 60, 70, 100].map(steps.of).map((css) => css.replace(/.*\/ /, ""))).toEqual([
      "0%)",
      "0%)",
      "50%)",
      "50%)",
      "100%)",
      "100%)",
    ]);
  });

  it("are of what the filter leaves", () => {
    const cells = heatCells([timed([0], [made("a", "number", [3]), made("b", "number", [90])])], {})!;
    const made2 = heatPaint(cells, { filterValues: { le: 3, ge: 50 } });
    expect([3, 4, 50].map(made2.isShown)).toEqual([false, true, false]);
    expect(made2.high).toBe(0);
    expect(heatPaint(cells, {}).isShown(0)).toBe(false);
  });
});

describe("the drawing of a heat map", () => {
  const drawn = (more: { isReversed?: boolean; showValue?: string }) => {
    const found: { boxes: number[]; texts: (string | number)[][] } = { boxes: [], texts: [] };
    const context = new Proxy(
      {
        fillRect: (_: number, y: number) => found.boxes.push(y),
        fillText: (text: string, _: number, y: number) => found.texts.push([text, y]),
      } as Record<string, unknown>,
      { get: (of, name) => of[String(name)] ?? (() => {}), set: () => true },
    ) as unknown as CanvasRenderingContext2D;
    const cells = heatCells(
      [timed([0, 50], [made("1", "number", [7, 0]), made("2", "number", [8, 0])])],
      {},
    )!;
    drawCells(context, {
      cells,
      area: { left: 0, top: 0, width: 100, height: 100 },
      range: { from: 0, to: 100 },
      names: ["1", "2"],
      paint: heatPaint(cells, {}),
      isReversed: false,
      showValue: "never",
      say: String,
      ...more,
    });
    return { ...found, texts: found.texts.filter(([text]) => /^\d$/.test(String(text))) };
  };

  it("has the least below, or above where it is turned around", () => {
    expect(drawn({}).boxes).toEqual([50, 0]);
    expect(drawn({}).texts).toEqual([
      ["1", 50],
      ["2", 8],
    ]);
    expect(drawn({ isReversed: true }).boxes).toEqual([0, 50]);
    expect(drawn({ isReversed: true }).texts).toEqual([
      ["1", 50],
      ["2", 100],
    ]);
  });

  it("has the room of its legend where none is shown", () => {
    expect(heatRoom({}, 100)).toEqual({ showsLegend: true, canvasHeight: 80 });
    expect(heatRoom({ legend: { show: false } }, 100)).toEqual({ showsLegend: false, canvasHeight: 100 });
  });

  it("has values in cells that have room", () => {
    expect(
      drawn({ showValue: "auto" })
        .texts.slice(0, 2)
        .map(([text]) => text),
    ).toEqual(["7", "1"]);
  });
});
