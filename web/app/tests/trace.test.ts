/** What the trace page computes: reading columns, rows shown, windows, marks of the axis, the overview. */
import { describe, expect, it } from "vitest";
import { nameOf, readColumns, rowOfSpan, rowsOfSpans, spanId } from "../src/pages/trace/columns";
import { overview } from "../src/pages/trace/overview";
import { carryFolds, Rows } from "../src/pages/trace/rows";
import { offset, roundStep, ticks } from "../src/ui/canvas/ticks";
import { around, clamp, isWhole, pan, readWindow, writeWindow, zoom } from "../src/ui/canvas/window";
import { columnsFile, made } from "./trace-made";

const TREE = [
  { start: 0, duration: 100 },
  { start: 0, duration: 40, parent: 0 },
  { start: 10, duration: 10, parent: 1, flags: 1 },
  { start: 50, duration: 40, parent: 0, service: 1, name: 1 },
  { start: 60, duration: 10, parent: 3 },
];

const shown = (rows: Rows) => Array.from({ length: rows.count }, (_, at) => rows.at(at));

describe("columns", () => {
  it("are read as they were written", () => {
    const trace = made(TREE);
    expect(trace.spans).toBe(5);
    expect([...trace.subtree]).toEqual([5, 2, 1, 2, 1]);
    expect(nameOf(trace, 3)).toBe("two");
  });

  it("find a span by its id", () => {
    const trace = made(TREE);
    expect(rowOfSpan(trace, spanId(trace, 4))).toBe(4);
    expect(rowOfSpan(trace, "ffffffffffffffff")).toBe(-1);
    expect(rowOfSpan(trace, "not an id")).toBe(-1);
  });

  it("fill columns that have one value", () => {
    const trace = made(TREE, { kind: 3, slack: 2.5, message: 0 });
    expect([...trace.kind]).toEqual([3, 3, 3, 3, 3]);
    expect([...trace.slack]).toEqual([2.5, 2.5, 2.5, 2.5, 2.5]);
    expect([...trace.message]).toEqual([0, 0, 0, 0, 0]);
    expect([...trace.duration]).toEqual([100, 40, 10, 40, 10]);
  });

  it("that are missing are refused", () => {
    expect(() => readColumns(columnsFile({ spans: 3 }, []))).toThrow("no column");
  });

  it("find many spans in one pass, among many", () => {
    const trace = made(Array.from({ length: 200_000 }, (_, at) => ({ start: at, duration: 1 })));
    const wanted = Array.from({ length: 5000 }, (_, at) => spanId(trace, at * 40));
    const began = performance.now();
    const rows = rowsOfSpans(trace, [...wanted, "ffffffffffffffff", "not an id", ""]);
    expect(rows.size).toBe(5000);
    expect(rows.get(wanted[4999]!)).toBe(4999 * 40);
    expect(performance.now() - began).toBeLessThan(2000);
  });

  it("of another version or kind are refused", () => {
    expect(() => readColumns(new ArrayBuffer(4))).toThrow("ends before");
    expect(() => readColumns(new ArrayBuffer(64))).toThrow("not a trace");
    expect(() => readColumns(columnsFile({}, [], 2))).toThrow("version 1");
  });

  it("that end early are refused", () => {
    const values = new Float64Array(4);
    const file = columnsFile({ spans: 4 }, [{ name: "start", type: "f64", values, length: 4 }]);
    expect(() => readColumns(file.slice(0, file.byteLength - 8))).toThrow("inside its column start");
  });
});

describe("rows", () => {
  it("are all shown at first", () => {
    expect(shown(new Rows(made(TREE)))).toEqual([0, 1, 2, 3, 4]);
  });

  it("hide what is below a folded one", () => {
    const rows = new Rows(made(TREE));
    rows.fold(1, true);
    expect(shown(rows)).toEqual([0, 1, 3, 4]);
    expect(rows.indexOf(2)).toBe(-1);
    expect(rows.indexOf(3)).toBe(2);
    rows.toggle(1);
    expect(rows.count).toBe(5);
  });

  it("without children cannot be folded", () => {
    const rows = new Rows(made(TREE));
    rows.fold(2, true);
    expect(rows.folded[2]).toBe(0);
  });

  it("fold level by level", () => {
    const rows = new Rows(made(TREE));
    rows.foldLevel(true);
    expect(shown(rows)).toEqual([0, 1, 3]);
    rows.foldLevel(true);
    expect(shown(rows)).toEqual([0]);
    rows.foldLevel(false);
    expect(shown(rows)).toEqual([0, 1, 3]);
  });

  it("that match stand below those above them", () => {
    const rows = new Rows(made(TREE));
    rows.filter((row) => row === 2);
    expect(shown(rows)).toEqual([0, 1, 2]);
    expect(rows.isContext(1)).toBe(true);
    expect(rows.isContext(2)).toBe(false);
    rows.filter(undefined);
    expect(rows.count).toBe(5);
  });

  it("of one subtree are shown alone", () => {
    const rows = new Rows(made(TREE));
    rows.isolate(3);
    expect(shown(rows)).toEqual([3, 4]);
    rows.isolate(-1);
    expect(rows.count).toBe(5);
  });

  it("are revealed by opening what hides them", () => {
    const rows = new Rows(made(TREE));
    rows.foldAll(true);
    expect(shown(rows)).toEqual([0]);
    expect(rows.reveal(2)).toBe(true);
    expect(shown(rows)).toEqual([0, 1, 2, 3]);
  });

  it("stay folded when the trace grows", () => {
    const before = new Rows(made(TREE));
    before.fold(1, true);
    const after = new Rows(made([...TREE, { start: 95, duration: 5, parent: 0 }]));
    carryFolds(before, after);
    expect(shown(after)).toEqual([0, 1, 3, 4, 5]);
  });

  it("are found quickly among 50,000 children of one span", () => {
    const children = Array.from({ length: 50_000 }, (_, at) => ({ start: at, duration: 1, parent: 0 }));
    const rows = new Rows(made([{ start: 0, duration: 50_001 }, ...children]));
    expect(rows.indexOf(40_000)).toBe(40_000);
    rows.fold(0, true);
    expect(rows.count).toBe(1);
  });
});

describe("windows", () => {
  it("stay inside the whole", () => {
    expect(pan({ from: 0, to: 100 }, -1, 1000)).toEqual({ from: 0, to: 100 });
    expect(pan({ from: 850, to: 950 }, 1, 1000)).toEqual({ from: 900, to: 1000 });
    expect(clamp({ from: -50, to: 2000 }, 1000)).toEqual({ from: 0, to: 1000 });
  });

  it("keep the point below the pointer where it is", () => {
    const after = zoom({ from: 0, to: 1000 }, 0.5, 0.25, 1000);
    expect(after).toEqual({ from: 125, to: 625 });
    expect(after.from + 0.25 * (after.to - after.from)).toBe(250);
  });

  it("become no narrower than can be told apart", () => {
    const after = zoom({ from: 500, to: 510 }, 0.001, 0.5, 1000);
    expect(after.to - after.from).toBe(10);
    const years = zoom({ from: 0, to: 3e17 }, 1e-30, 0.5, 3e17);
    expect(years.to).toBeGreaterThan(years.from);
  });

  it("show a trace without duration", () => {
    const whole = clamp({ from: 0, to: 0 }, 0);
    expect(whole.to).toBeGreaterThan(whole.from);
  });

  it("are read from the address as they were written", () => {
    expect(readWindow(writeWindow({ from: 12, to: 345 }), 1000)).toEqual({ from: 12, to: 345 });
    expect(readWindow("5,1", 1000)).toBeUndefined();
    expect(readWindow("x", 1000)).toBeUndefined();
    expect(isWhole(around(0, 1000, 1000), 1000)).toBe(true);
  });
});

describe("marks of the axis", () => {
  it("are at round numbers", () => {
    expect(roundStep(0.3)).toBe(1);
    expect(roundStep(23)).toBe(50);
    expect(roundStep(1e8)).toBe(1e8);
    expect(roundStep(4e9)).toBe(5e9);
    expect(roundStep(61e9)).toBe(120e9);
    expect(roundStep(1e18)).toBeGreaterThan(1e18);
  });

  it("are exact to the nanosecond far from the beginning", () => {
    const labels = ticks(2_467_123_456_780, 2_467_123_456_790, 5).map(({ label }) => label);
    expect(labels[0]).toBe("41m 07.123456780s");
    expect(new Set(labels).size).toBe(labels.length);
  });

  it("read well", () => {
    expect(offset(0)).toBe("0");
    expect(offset(1500, 500)).toBe("1.5 µs");
    expect(offset(250e6, 50e6)).toBe("250 ms");
    expect(offset(600e9, 60e9)).toBe("10m");
    expect(offset(3_660e9, 60e9)).toBe("1h 1m");
    expect(ticks(0, 315_360_000e9, 8).length).toBeGreaterThan(3);
  });
});

describe("the overview", () => {
  it("has the pixels that spans cover, the first span of a line on top", () => {
    const picture = overview(made(TREE), 10, 5);
    expect(picture.height).toBe(5);
    const line = (at: number) => [...picture.service.slice(at * 10, at * 10 + 10)];
    expect(line(0)).toEqual([1, 1, 1, 1, 1, 1, 1, 1, 1, 1]);
    expect(line(1)).toEqual([1, 1, 1, 1, 0, 0, 0, 0, 0, 0]);
    expect(line(3)).toEqual([0, 0, 0, 0, 0, 2, 2, 2, 2, 0]);
    expect([...picture.error.slice(20, 30)]).toEqual([0, 1, 0, 0, 0, 0, 0, 0, 0, 0]);
  });

  it("takes one step for each span, not for each pixel of it", () => {
    const long = Array.from({ length: 200_000 }, () => ({ start: 0, duration: 1000 }));
    const began = performance.now();
    const picture = overview(made(long), 1200, 60);
    expect(picture.service.every((pixel) => pixel === 1)).toBe(true);
    expect(performance.now() - began).toBeLessThan(3000);
  });
});
