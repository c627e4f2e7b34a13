/** Colours made of others. */
import { expect, test } from "vitest";
import "./panels-browser";
import { changeColor } from "../src/pages/compare/delta";
import { between, channels, faded } from "../src/ui/shades";

test("colours are read however they are written", () => {
  for (const red of ["#f00", "#ff0000", "#ff0000cc", "rgb(255, 0, 0)", "hsl(0 100% 50%)"])
    expect(channels(red)).toEqual([255, 0, 0]);
});

test("with less of it a colour stays the same, and asking again gives the same", () => {
  expect(faded("#3f7fd4", 0.25)).toBe("rgb(63 127 212 / 25%)");
  expect(faded("#3f7fd4", 0.25)).toBe("rgb(63 127 212 / 25%)");
  expect(faded("#3f7fd4", 0.5)).toBe("rgb(63 127 212 / 50%)");
  expect(faded("transparent", 0.5)).toBe("transparent");
});

test("between colours are those of both, and beyond the ends the ends", () => {
  expect(between(["#000000", "#ffffff", "#0000ff"], 0.25)).toBe("rgb(128 128 128)");
  expect(between(["#000000", "#0000ff"], 2)).toBe("rgb(0 0 255)");
  expect(between(["#123456"], 0.5)).toBe("#123456");
});

test("a change that is small has the colour of none", () => {
  expect(changeColor(0.01)).toBe(changeColor(0));
});
