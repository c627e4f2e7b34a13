import { expect, test } from "vitest";
import { bounds, nearest, overlaid, peak, smoothed } from "../src/pages/runs/overlay";

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
        times: [0, 2000],
      },
      { run: "b", points: [[1, 9]] as [number, number][], times: [1000] },
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

test("a click finds the point of the line that is nearest, and the time from the one before to the one after", () => {
  const line = (run: string, values: number[], first: number) => ({
    run,
    points: values.map((value, at): [number, number] => [at * 10, value]),
    times: values.map((_, at) => first + at * 60_000),
  });
  const metric = {
    name: "step.duration",
    series: [line("a", [1, 1, 7, 1], 0), line("b", [2, 2, 2, 2], 5e6)],
  };
  const drawn = overlaid(metric, ["a", "b"], 0.9);
  // Lines are drawn smoothed, and are found where they are drawn; what is told is the value itself.
  const found = nearest(metric, drawn, 19, drawn.lines[0]!.values[2]!);
  expect(found).toEqual({ run: "a", x: 20, value: 7, from: 59_000, to: 181_000 });
  expect(nearest(metric, drawn, -5, 2)).toMatchObject({ run: "b", x: 0, from: 5e6 - 1000 });
  expect(nearest({ name: "none", series: [] }, { places: [], lines: [] }, 1, 1)).toBeUndefined();
  expect(peak(metric)).toMatchObject({ run: "a", x: 20, value: 7 });
  expect(peak({ name: "none", series: [] })).toBeUndefined();
});

test("a chart has room above its highest value, and begins at zero at the least where nothing is below", () => {
  const of = (values: (number | null)[]) => bounds([{ label: "", color: "", values }]);
  expect(of([1, null, 101])).toEqual({ min: 0, max: 106 });
  expect(of([-100, 0])).toEqual({ min: -105, max: 5 });
  expect(of([])).toEqual({ min: 0, max: 1 });
});
