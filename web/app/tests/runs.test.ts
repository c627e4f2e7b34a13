import { expect, test } from "vitest";
import { overlaid, smoothed } from "../src/pages/runs/overlay";

test("lines of runs share their places, and what lies between known values is on the line", () => {
  const metric = {
    name: "loss",
    series: [
      {
        run: "a",
        points: [
          [0, 4],
          [2, 2],
        ] as [number, number][],
      },
      { run: "b", points: [[1, 9]] as [number, number][] },
    ],
  };
  const { places, lines } = overlaid(metric, ["b", "a"], 0);
  expect(places).toEqual([0, 1, 2]);
  expect(lines.map(({ values }) => values)).toEqual([
    [4, 3, 2],
    [null, 9, null],
  ]);
});

test("smoothing does not draw the first values towards zero", () => {
  expect(smoothed([5, 5, 5], 0.9).map((value) => value.toFixed(6))).toEqual([
    "5.000000",
    "5.000000",
    "5.000000",
  ]);
  expect(smoothed([1, 2], 0)).toEqual([1, 2]);
});
