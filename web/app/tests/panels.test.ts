/** Panels: joining and stacking of series, values as they are shown, links, lanes, bars. */
import { describe, expect, it } from "vitest";
import "./panels-browser";
import { href } from "../src/frame/base";
import { plotScale, scalesOf } from "../src/panels/axes";
import { colorsAlong } from "../src/panels/bargauge";
import { barsOf } from "../src/panels/bars";
import { color } from "../src/panels/colors";
import { display, mappingOf, whole } from "../src/panels/display";
import { exemplarsOf, linkTraces } from "../src/panels/exemplars";
import type { Field, Frame } from "../src/panels/frame";
import { heatCells } from "../src/panels/heatcells";
import { histogram } from "../src/panels/histogram";
import { lanesOf } from "../src/panels/lanes";
import { pick } from "../src/panels/legend";
import { safeAddress } from "../src/panels/links";
import { compareKeys, sortKey } from "../src/panels/order";
import { resultTexts } from "../src/panels/results";
import { joinSeries } from "../src/panels/series";
import { lonelyRows } from "../src/panels/strokes";
import { footerOf } from "../src/panels/tableparts";
import { timeTicks } from "../src/panels/timescale";
import { cloudsOf } from "../src/panels/xychart";
import { clockOf, zone, zoneOf } from "../src/panels/zone";
import { sparkPlaces } from "../src/ui/spark";
import { tickTime } from "../src/ui/ticktime";

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

  it("leave a gap in a stack where none of them has anything", () => {
    const stacking = { stacking: { mode: "normal" } };
    const joined = joinSeries([
      frame([1, 2, 3], number("a", [1, null, 2], stacking), number("b", [null, null, 4], stacking)),
    ]);
    expect(joined.series.map(({ drawn }) => drawn)).toEqual([
      [1, null, 2],
      [1, null, 6],
    ]);
  });

  it("take no room in a stack while they are hidden, and are the whole without those that are", () => {
    const of = (mode: string) =>
      joinSeries(
        [frame([1], ...["a", "b", "c"].map((name) => number(name, [4], { stacking: { mode } })))],
        new Set(["a"]),
      ).series;
    expect(of("normal").map(({ drawn }) => drawn[0])).toEqual([4, 4, 8]);
    expect(of("normal").map(({ below }) => below)).toEqual([undefined, undefined, 1]);
    expect(of("percent").map(({ drawn }) => drawn[0])).toEqual([4, 0.5, 1]);
  });

  it("have keys that stay when others go, and differ where names do not", () => {
    const keys = (...names: string[]) =>
      joinSeries([frame([1], ...names.map((name) => number(name, [1])))]).series.map(({ key }) => key);
    expect(keys("a", "b")[1]).toBe(keys("b")[0]);
    expect(new Set(keys("a", "a")).size).toBe(2);
  });

  it("show points where a line would show nothing", () => {
    expect(lonelyRows([1, 2, null, 3, undefined, null, 4], false)).toEqual([3, 6]);
    expect(lonelyRows([1, undefined, 2, null], false)).toBeNull();
    expect(lonelyRows([1, null, 2], true)).toBeNull();
    expect(lonelyRows([null, 2, null], true)).toEqual([1]);
  });

  it("are in order of time, whatever order they came in", () => {
    expect(joinSeries([frame([3, 1, 2], number("a", [30, 10, 20]))]).series[0]!.values).toEqual([10, 20, 30]);
  });
});

describe("scales", () => {
  const rangeOf = (custom: Record<string, unknown>, low: number, high: number) => {
    const { scales } = scalesOf(joinSeries([frame([1], number("a", [1], custom))]).series);
    const range = plotScale(scales[0]!).range as unknown as (
      plot: never,
      low: number,
      high: number,
    ) => [number, number];
    return range(undefined as never, low, high);
  };

  it("that are logarithmic end at powers of their base, also if they are to be centred", () => {
    const log = (base: number) => ({ scaleDistribution: { type: "log", log: base }, axisCenteredZero: true });
    expect(rangeOf(log(10), 3, 250)).toEqual([1, 1000]);
    expect(rangeOf(log(2), 3, 250)).toEqual([2, 256]);
    expect(rangeOf(log(10), 100, 100)).toEqual([100, 1000]);
    expect(rangeOf({ axisCenteredZero: true }, 0, 0)[0]).toBeLessThan(0);
  });
});

describe("colours", () => {
  it("are colours and nothing else of CSS", () => {
    expect(color("#fff url(https://evil/x.png)")).toBe("#808080");
    expect(color("rgb(1, 2, 3), url(//evil)")).toBe("#808080");
    for (const good of ["#a0b1c2", "rgba(1, 2, 3, 0.5)", "rgb(1 2 3 / 50%)", "hsl(120deg 10% 5%)", "tomato"])
      expect(color(good)).toBe(good);
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

  it("are those that are written, and not what every object has", () => {
    expect(mappingOf([{ type: "value", options: {} }], "constructor")).toBeUndefined();
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
      "\\evil.example/x",
    ]) {
      expect(safeAddress(bad)).toBeUndefined();
    }
    expect(href("\\/evil/x")).toBe(href("/evil/x"));
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

describe("lanes of rows that came newest first", () => {
  it("are in order of time", () => {
    const field: Field = { name: "s", type: "string", values: ["down", "up"] };
    const [lane] = lanesOf([{ fields: [{ name: "t", type: "time", values: [10, 0] }, field] }], 30, true);
    expect(lane!.pieces.map(({ from, to, text }) => [from, to, text])).toEqual([
      [0, 10, "up"],
      [10, 30, "down"],
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

describe("heat maps that the server has counted", () => {
  it("are taken as they are, though higher buckets hold more", () => {
    const rows = { ...frame([1], number("1", [2]), number("5", [7])), meta: { type: "heatmap-rows" } };
    expect(heatCells([rows], {})!.values).toEqual([[2], [7]]);
  });

  it("may have a row for each of their cells", () => {
    const cells: Frame = {
      fields: [
        { name: "xMin", type: "time", values: [0, 0, 10, 10] },
        number("yMin", [1, 3, 1, 3]),
        number("Count", [5, 6, 7, 8]),
      ],
      meta: { type: "heatmap-cells", custom: { xBucketSize: 10, yBucketSize: 2 } },
    };
    const made = heatCells([cells], {})!;
    expect([made.times, made.stepMillis]).toEqual([[0, 10], 10]);
    expect(made.rows.map(({ from, to }) => [from, to])).toEqual([
      [1, 3],
      [3, 5],
    ]);
    expect(made.values).toEqual([
      [5, 7],
      [6, 8],
    ]);
  });

  it("are counted here also of more values than a call takes", () => {
    const many = Array.from({ length: 200_000 }, (_, at) => at);
    expect(heatCells([frame(many, number("a", many))], { calculate: true })!.rows.at(-1)!.to).toBe(199_999);
  });
});

describe("bars", () => {
  it("of several frames stand beside each other, by what names their groups", () => {
    const frames = [frame([20, 30], number("a", [1, 2])), frame([10, 20], number("b", [3, 4]))];
    const { fields, groups } = barsOf(frames, {})!;
    expect(fields.map(({ values }) => values)).toEqual([
      [null, 1, 2],
      [3, 4, null],
    ]);
    expect(groups.map((bars) => bars.map(({ value }) => value))).toEqual([[3], [1, 4], [2]]);
  });

  it("have the colours that their values are mapped to", () => {
    const mapped = number("a", [1, 2]);
    mapped.config = { mappings: [{ type: "value", options: { "2": { color: "#123456" } } }] };
    const { groups } = barsOf([frame([10, 20], mapped, number("b", [2, 2]))], {})!;
    const isMapped = groups.map((bars) => bars.map(({ color }) => color === "#123456"));
    expect(isMapped).toEqual([
      [false, false],
      [true, false],
    ]);
  });
});

describe("small lines", () => {
  it("have room for what is below zero, and gaps for what is no number", () => {
    expect(sparkPlaces([1, -1, Number.NaN, null, 0], 22)).toEqual({
      places: [1, 21, null, null, 11],
      zero: 11,
    });
    expect(sparkPlaces([0, 2], 22)).toEqual({ places: [21, 1], zero: 21 });
  });
});

describe("results of reducers", () => {
  it("are in the unit of the values and mapped, unless they count", () => {
    const field = number("a", []);
    const mapping = { type: "value", options: { "2": { text: "two" } } };
    field.config = { unit: "suffix:x", mappings: [mapping] };
    const write = resultTexts(field);
    expect(write(2, "max")).toBe("two");
    expect(write(3, "max")).toBe("3 x");
    expect(write(2, "count")).toBe("2");
    expect(write(false, "allIsZero")).toBe("false");
    expect(write([2, 3], "allValues")).toBe("two, 3 x");
  });
});

describe("bars along a scale", () => {
  const stopsOf = (mode: string) => {
    const steps = [
      { value: null, color: "#000000" },
      { value: 50, color: "#ffffff" },
    ];
    const field = number("a", []);
    field.config = { color: { mode }, min: 0, max: 100, thresholds: { steps } };
    return colorsAlong(field);
  };

  it("have the colours of their mode", () => {
    expect(stopsOf("thresholds").map(({ from, color }) => [from, color])).toEqual([
      [0, "#000000"],
      [0.5, "#ffffff"],
    ]);
    expect(stopsOf("continuous-GrYlRd").map(({ from }) => from)).toEqual([
      0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1,
    ]);
    expect(stopsOf("fixed")).toEqual([]);
  });
});

describe("points of numbers against others", () => {
  const table: Frame = { fields: ["a", "b", "c", "d"].map((name) => number(name, [1])) };
  const drawn = (options: Record<string, unknown>, frames = [table]) =>
    cloudsOf(frames, options).map(({ x, y }) => `${y.name} by ${x.name}`);
  const by = (name: string) => ({ matcher: { id: "byName", options: name } });
  const ofFrame = (at: number) => ({ matcher: { id: "byIndex", options: at } });

  it("are all series that are given, of their own frame or of any", () => {
    expect(drawn({})).toEqual(["b by a", "c by a", "d by a"]);
    const two = [
      { x: by("a"), y: by("b") },
      { x: by("c"), y: by("d") },
    ];
    expect(drawn({ series: two })).toEqual(["b by a", "d by c"]);
    expect(drawn({ series: two.map((one) => ({ ...one, frame: ofFrame(0) })) })).toEqual([
      "b by a",
      "d by c",
    ]);
    expect(drawn({ series: two.map((one, at) => ({ ...one, frame: ofFrame(at) })) }, [table, table])).toEqual(
      ["b by a", "d by c"],
    );
    expect(drawn({ series: [{ x: "a", y: "c" }] })).toEqual(["c by a"]);
    expect(drawn({ series: [{ x: by("b"), y: by("gone") }] })).toEqual(["a by b", "c by b", "d by b"]);
  });
});

describe("tables", () => {
  it("sort what has no value behind the rest, in either order", () => {
    const cells = [Number.NaN, 2, null, 1];
    expect(cells.toSorted((a, b) => compareKeys(sortKey(a), sortKey(b), 1)).slice(0, 2)).toEqual([1, 2]);
    expect(cells.toSorted((a, b) => compareKeys(sortKey(a), sortKey(b), -1)).slice(0, 2)).toEqual([2, 1]);
  });

  it("sum only the columns that ask for it, unless all do", () => {
    const fields = [number("a", [1]), number("b", [1], { footer: { reducers: ["max"] } })];
    expect(footerOf({}, fields)!.reducers).toEqual([]);
    expect(footerOf({ footer: { show: true } }, fields)!.reducers).toEqual(["sum"]);
    expect(footerOf({}, [fields[0]!])).toBeUndefined();
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

describe("exemplars", () => {
  const exemplars = (): Frame => ({
    name: "exemplar",
    refId: "A",
    meta: { custom: { resultType: "exemplar" } },
    fields: [
      { name: "Time", type: "time", values: [2, 3, 4] },
      number("Value", [7, 8, 9]),
      { name: "traceID", type: "string", values: ["0af7651916cd43dd8448eb211c80319c", "ab", null] },
      { name: "spanID", type: "string", values: [null, "b7ad6b7169203331", null] },
    ],
  });

  it("are no series, and lead to their traces", () => {
    const joined = joinSeries([frame([1, 5], number("a", [1, 2])), exemplars()]);
    expect(joined.series.map(({ key }) => key)).toEqual(["a"]);
    expect(joined.times).toEqual([1, 5]);
    expect(joined.exemplars.map(({ time, value, link }) => [time, value, link.href])).toEqual([
      [2, 7, "/trace/0af7651916cd43dd8448eb211c80319c"],
      [3, 8, "/trace/ab?span=b7ad6b7169203331"],
    ]);
    expect(lanesOf([exemplars()], 10, true)).toEqual([]);
  });

  it("have links in tables too, unless the dashboard gave them some", () => {
    const [made] = linkTraces([exemplars()]);
    const links = made!.fields[2]!.state?.links?.map((row) => row.map(({ url }) => url));
    expect(links).toEqual([
      ["/trace/0af7651916cd43dd8448eb211c80319c"],
      ["/trace/ab?span=b7ad6b7169203331"],
      [],
    ]);
    const own = exemplars();
    own.fields[2]!.state = { links: [[], [], []] };
    expect(linkTraces([own])[0]!.fields[2]!.state?.links).toEqual([[], [], []]);
    expect(exemplarsOf([frame([1], number("a", [1]))])).toEqual([]);
  });
});

describe("zones", () => {
  const MARCH = Date.UTC(2026, 2, 1, 23, 30, 5);
  const JULY = Date.UTC(2026, 6, 1, 23, 30, 5);

  it("of a dashboard are its own, or those of the browser", () => {
    expect(["utc", "Europe/Berlin", "", "browser", "Nowhere/At all", undefined].map(zoneOf)).toEqual([
      "UTC",
      "Europe/Berlin",
      undefined,
      undefined,
      undefined,
      undefined,
    ]);
  });

  it("are what times are shown in, with the hour of their summer", () => {
    const date: Field = { name: "t", type: "time", config: { unit: "time:YYYY-MM-DD HH:mm:ss" }, values: [] };
    const shown = (name: string | undefined, millis: number) => {
      zone.value = name;
      const text = whole(display(date)(millis));
      const tick = tickTime(millis, 60_000, clockOf());
      zone.value = undefined;
      return [text, tick];
    };
    expect(shown("UTC", MARCH)).toEqual(["2026-03-01 23:30:05", "23:30:05"]);
    expect(shown("Europe/Berlin", MARCH)).toEqual(["2026-03-02 00:30:05", "00:30:05"]);
    expect(shown("Europe/Berlin", JULY)).toEqual(["2026-07-02 01:30:05", "01:30:05"]);
    expect(shown("Asia/Kathmandu", JULY)).toEqual(["2026-07-02 05:15:05", "05:15:05"]);
  });

  it("are what ticks are round in", () => {
    const day = 86_400_000;
    zone.value = "Asia/Kathmandu";
    const ticks = timeTicks(JULY, JULY + 4 * day, 320).map((at) => tickTime(at, 4 * day, clockOf()));
    zone.value = undefined;
    expect(ticks).toEqual(["07-03", "07-04", "07-05", "07-06"]);
  });
});
