/** Lanes of states: how long they last, and what is one state. */
import { describe, expect, it } from "vitest";
import "./panels-browser";
import { laneCount, lanesOf } from "../src/panels/lanes";
import { made, timed } from "./panels-made";

function pieces(of: Parameters<typeof lanesOf>[0], end = 1000, isMerged = true) {
  return lanesOf(of, end, isMerged)[0]!.pieces.map(({ from, to, text }) => [from, to, text]);
}

describe("states", () => {
  const up = (spanNulls?: boolean | number) => {
    const state = made("s", "string", ["up", "up", "up", "down"], { custom: { spanNulls } });
    return [timed([0, 10, 50, 62], [state], 10)];
  };

  it("end an interval after their sample where the next is late, and after the last", () => {
    expect(pieces(up())).toEqual([
      [0, 20, "up"],
      [50, 62, "up"],
      [62, 72, "down"],
    ]);
    expect(pieces(up(), 65).at(-1)).toEqual([62, 65, "down"]);
  });

  it("last over silence where the panel says so", () => {
    expect(pieces(up(true))[0]).toEqual([0, 62, "up"]);
    expect(pieces(up(40))[0]).toEqual([0, 62, "up"]);
    expect(pieces(up(39))[0]).toEqual([0, 20, "up"]);
  });

  it("last over nulls where the panel says so", () => {
    const of = (spanNulls?: boolean) => [
      timed([0, 10, 20], [made("s", "string", ["up", null, "up"], { custom: { spanNulls } })], 10),
    ];
    expect(pieces(of())).toEqual([
      [0, 10, "up"],
      [20, 30, "up"],
    ]);
    expect(pieces(of(true))).toEqual([[0, 30, "up"]]);
  });

  it("end when a second column of times says so, which has no lane of its own", () => {
    const ends = made("end", "time", [5, 40, null]);
    const frame = timed([0, 10, 20], [ends, made("s", "string", ["a", "b", "c"]), made("o", "other", [{}])]);
    expect(laneCount([frame])).toBe(1);
    expect(pieces([frame], 100)).toEqual([
      [0, 5, "a"],
      [10, 20, "b"],
      [20, 100, "c"],
    ]);
  });

  it("of numbers are the ranges between thresholds, if those colour them", () => {
    const steps = [
      { value: null, color: "green" },
      { value: 80, color: "red" },
    ];
    const numbers = (mode?: string) =>
      made("v", "number", [10, 20, 80, 95], { unit: "suffix:h", color: { mode }, thresholds: { steps } });
    const frame = (mode: string | undefined) => [timed([0, 10, 20, 30], [numbers(mode)], 10)];
    expect(pieces(frame("thresholds"))).toEqual([
      [0, 20, "< 80 h"],
      [20, 40, "80 h+"],
    ]);
    expect(lanesOf(frame("thresholds"), 40, true)[0]!.pieces.map(({ color }) => color)).not.toContain(
      undefined,
    );
    expect(pieces(frame("palette-classic"))).toHaveLength(4);
    expect(pieces(frame(undefined))).toHaveLength(4);
    expect(pieces(frame("thresholds"), 1000, false).map(([, , text]) => text)).toEqual([
      "10 h",
      "20 h",
      "80 h",
      "95 h",
    ]);
  });
});
