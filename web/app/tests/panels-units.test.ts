/** Numbers with units, as the server's table describes them. */
import { describe, expect, it } from "vitest";
import "./panels-browser";
import { datePattern } from "../src/ui/datepattern";
import { fixed, fromNow } from "../src/ui/unitrules";
import { formatWith, type UnitTable } from "../src/ui/units";

const TABLE: UnitTable = {
  bytes: { kind: "scaled", base: 1024, offset: 0, suffixes: [" B", " KiB", " MiB", " GiB"], prefix: "" },
  percentunit: { kind: "fixed", multiply: 100, prefix: "", suffix: "%" },
  currencyUSD: { kind: "scaled", base: 1000, offset: 0, suffixes: ["", "K", "M"], prefix: "$" },
  s: {
    kind: "steps",
    steps: [
      { below: 2.2250738585072014e-308, multiply: 1, divide: 1, suffix: " s", plural: false },
      { below: 1, multiply: 1000, divide: 1, suffix: " ms", plural: false },
      { below: 60, multiply: 1, divide: 1, suffix: " s", plural: false },
      { below: null, multiply: 1, divide: 60, suffix: " min", plural: true },
    ],
  },
  dthms: { kind: "special", rules: "clock" },
};

function shown(unit: string, value: number, decimals?: number): string {
  const { prefix, text, suffix } = formatWith(TABLE, { unit, decimals })(value);
  return prefix + text + suffix;
}

describe("units", () => {
  it("scale numbers by their base", () => {
    expect(shown("bytes", 1536)).toBe("1.50 KiB");
    expect(shown("bytes", 0)).toBe("0 B");
    expect(shown("bytes", 5 * 1024 ** 5)).toBe("5242880 GiB");
    expect(shown("currencyUSD", -1500, 1)).toBe("-$1.5K");
  });

  it("have steps, of which zero is the plainest", () => {
    expect([0, 0.25, 30, 60, 150].map((value) => shown("s", value))).toEqual([
      "0 s",
      "250 ms",
      "30 s",
      "1 min",
      "2.50 mins",
    ]);
  });

  it("can be described by their id", () => {
    expect(shown("suffix:req", 3)).toBe("3 req");
    expect(shown("prefix:~", 3)).toBe("~3");
    expect(shown("si:mW", 1500)).toBe("1.50 W");
    expect(shown("bool:up/down", 0)).toBe("down");
    expect(shown("unheard of", 3)).toBe("3 unheard of");
  });

  it("write infinities and what is no number", () => {
    expect([shown("bytes", Number.POSITIVE_INFINITY), shown("percentunit", Number.NaN)]).toEqual([
      "∞",
      "NaN%",
    ]);
    expect(shown("dthms", 3900)).toBe("01:05:00");
  });

  it("have no zeros at the end on axes", () => {
    const format = formatWith(TABLE, { unit: "bytes", isTick: true });
    expect(format(1536).text).toBe("1.5");
    expect(format(2048).text).toBe("2");
    expect(format(10).text).toBe("10");
  });
});

describe("digits", () => {
  it("are three that say something, or as many as asked for", () => {
    expect([0.123456, 1.2345, 23.456, 0.00012345, 1234.5].map((value) => fixed(value))).toEqual([
      "0.123",
      "1.23",
      "23.5",
      "0.000123",
      "1235",
    ]);
    expect(fixed(2, 3)).toBe("2.000");
    expect(fixed(-0.0001, 2)).toBe("0.00");
  });
});

describe("dates", () => {
  it("follow a pattern", () => {
    const date = new Date(2026, 0, 2, 15, 4, 5, 67).getTime();
    expect(datePattern(date, "YYYY-MM-DD HH:mm:ss.SSS")).toBe("2026-01-02 15:04:05.067");
    expect(datePattern(date, "dddd, MMM Do [at] h:mm a")).toBe("Friday, Jan 2nd at 3:04 pm");
    expect(datePattern(Number.NaN, "YYYY")).toBe("Invalid date");
  });

  it("are said by their distance", () => {
    expect(fromNow(0, 300_000)).toBe("5 minutes ago");
    expect(fromNow(7_200_000, 0)).toBe("in 2 hours");
  });
});
