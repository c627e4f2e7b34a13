/** Numbers with units, as the server's table describes them. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import "./panels-browser";
import { clockOf } from "../src/panels/zone";
import { datePattern } from "../src/ui/datepattern";
import { fixed, fromNow } from "../src/ui/unitrules";
import { formatWith, type Unit, type UnitTable } from "../src/ui/units";

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

/** Units whose rules are the page's own; what the server's table says of others is tested there. */
const WRITTEN_HERE: UnitTable = Object.fromEntries([
  ...Object.entries({
    string: "text",
    hex: "hex",
    hex0x: "hex0x",
    sci: "scientific",
    locale: "thousands",
    dtdurationms: "durationMillis",
    dtdurations: "durationSeconds",
    dthms: "clock",
    dtdhms: "daysClock",
    clockms: "watchMillis",
    clocks: "watchSeconds",
  }).map(([id, rules]): [string, Unit] => [id, { kind: "special", rules }]),
  ...Object.entries({
    dateTimeAsIso: ["YYYY-MM-DD HH:mm:ss", null],
    dateTimeAsIsoNoDateIfToday: ["YYYY-MM-DD HH:mm:ss", "HH:mm:ss"],
    dateTimeAsUS: ["MM/DD/YYYY h:mm:ss a", null],
    dateTimeAsUSNoDateIfToday: ["MM/DD/YYYY h:mm:ss a", "h:mm:ss a"],
    dateTimeAsSystem: ["YYYY-MM-DD HH:mm:ss", null],
  } as const).map(([id, [pattern, today]]): [string, Unit] => [id, { kind: "date", pattern, today }]),
  ["none", { kind: "fixed", multiply: 1, prefix: "", suffix: "" }],
  ["percent", { kind: "fixed", multiply: 1, prefix: "", suffix: "%" }],
  ["percentunit", { kind: "fixed", multiply: 100, prefix: "", suffix: "%" }],
]);

describe("the server's golden file", () => {
  const lines = readFileSync(new URL("../../../crates/dash/tests/units.test", import.meta.url), "utf8")
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"))
    .map((line) => line.split("|") as [string, string, string, string, string, string])
    .filter(([id]) => id in WRITTEN_HERE || /^(bool|count|currency|prefix|si|suffix|time):/.test(id));

  it("says how the page writes numbers too", () => {
    const found = lines.map(([id, value, decimals]) => {
      const options = { unit: id, decimals: decimals === "-" ? undefined : Number(decimals) };
      const { prefix, text, suffix } = formatWith(WRITTEN_HERE, { ...options, clock: clockOf("UTC") })(
        Number(value),
      );
      return [id, value, decimals, prefix + text + suffix].join("|");
    });
    const expected = lines.map(([id, value, decimals, ...parts]) =>
      [id, value, decimals, parts.join("")].join("|"),
    );
    expect(lines.length).toBeGreaterThan(60);
    expect(found).toEqual(expected);
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

  it("have the tokens of the server", () => {
    const time = 1_700_000_005_123;
    const written = (pattern: string, zone = "UTC") => datePattern(time, pattern, clockOf(zone));
    expect(written("DDD W Q X x Z")).toBe("318 46 4 1700000005 1700000005123 +00:00");
    expect(written("Qo Mo DDDo Wo do DDDD")).toBe("4th 11th 318th 46th 2nd 318");
    expect(written("w ww WW E e kk k GGGG gggg YYYYYY")).toBe("46 46 46 2 2 22 22 2023 2023 +002023");
    expect(written("z [z] zz")).toBe("UTC z UTC");
    expect(written("ss\\s:SSS\\m\\s")).toBe("25s:123ms");
    expect(written("HH:mm ZZ z X", "Europe/Berlin")).toBe("23:13 +0100 CET 1700000005");
    expect(written("HH:mm Z z", "Asia/Kathmandu")).toBe("03:58 +05:45 +0545");
    // A year ends with the week of the next, or begins with one of the last.
    expect(datePattern(Date.UTC(2024, 11, 30), "GGGG-[W]WW", clockOf("UTC"))).toBe("2025-W01");
    expect(datePattern(Date.UTC(2027, 0, 1), "GGGG-[W]WW", clockOf("UTC"))).toBe("2026-W53");
  });

  it("are said by their distance", () => {
    expect(fromNow(0, 300_000)).toBe("5 minutes ago");
    expect(fromNow(7_200_000, 0)).toBe("in 2 hours");
  });
});
