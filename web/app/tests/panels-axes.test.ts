/** Scales that series share, and round numbers and times along them. */
import { afterEach, describe, expect, it } from "vitest";
import "./panels-browser";
import { plotScale, scalesOf, timeAxes } from "../src/panels/axes";
import { display, whole } from "../src/panels/display";
import { joinSeries } from "../src/panels/series";
import { ticks } from "../src/panels/ticks";
import { timeTicks } from "../src/panels/timescale";
import { clockOf, ownZones, zone, zonedFull } from "../src/panels/zone";
import { tickTime } from "../src/ui/ticktime";
import { made, timed } from "./panels-made";

const DAY = 86_400_000;

afterEach(() => {
  zone.value = undefined;
});

describe("series", () => {
  const shared = (...configs: object[]) => {
    const fields = configs.map((config, at) => made(`s${at}`, "number", [1], { unit: "bytes", ...config }));
    return scalesOf(joinSeries([timed([1], fields)]).series).scales;
  };

  it("share a scale only if it is drawn alike for both", () => {
    const log = (base: number) => ({ custom: { scaleDistribution: { type: "log", log: base } } });
    expect(shared({}, {})).toHaveLength(1);
    expect(shared({}, { max: 1 })).toHaveLength(2);
    expect(shared({}, { min: 0 })).toHaveLength(2);
    expect(shared({}, { custom: { axisSoftMin: 0 } }, { custom: { axisSoftMax: 0 } })).toHaveLength(3);
    expect(shared({}, { custom: { axisLabel: "in" } })).toHaveLength(2);
    expect(shared({}, { custom: { axisPlacement: "right" } }).map(({ side }) => side)).toEqual([
      "left",
      "right",
    ]);
    expect(shared(log(2), log(10))).toHaveLength(2);
  });

  it("have the ends that are set on their own scale", () => {
    const ends = shared({ min: 0, max: 100 }, { max: 5 }).map((scale) =>
      (plotScale(scale).range as unknown as (plot: never, low: number, high: number) => number[])(
        undefined as never,
        1,
        3,
      ),
    );
    expect(ends).toEqual([
      [0, 100],
      [0.88, 5],
    ]);
  });
});

describe("round numbers", () => {
  it("come to an end where several steps are one number", () => {
    const low = 1.7e18;
    const found = ticks(low, low + 256, 5);
    expect(found.length).toBeGreaterThan(0);
    expect(found.length).toBeLessThan(8);
    expect(found.every((at) => at >= low && at <= low + 512)).toBe(true);
  });

  it("have all their digits", () => {
    expect(ticks(1_700_000_000_000, 1_700_000_000_010, 2)).toEqual([
      1_700_000_000_000, 1_700_000_000_005, 1_700_000_000_010,
    ]);
    expect(ticks(0, 0.6, 3)).toEqual([0, 0.2, 0.4, 0.6]);
    expect(ticks(1e15, 1e15 + 4, 4)).toEqual([0, 1, 2, 3, 4].map((more) => 1e15 + more));
    expect(ticks(0, 1, 4)).toEqual([0, 0.25, 0.5, 0.75, 1]);
  });
});

describe("round times", () => {
  it("are midnights on both sides of a change of clocks", () => {
    zone.value = "Europe/Berlin";
    const [from, to] = [Date.UTC(2026, 9, 19, 22), Date.UTC(2026, 10, 2, 23)];
    const found = timeTicks(from, to, 1600);
    const labels = found.map((at) => tickTime(at, to - from, clockOf()));
    expect(labels.slice(0, 2)).toEqual(["10-20", "10-21"]);
    expect(labels.at(-1)).toBe("11-03");
    expect(new Set(labels).size).toBe(15);
    expect(found.every((at) => zonedFull(at).endsWith(" 00:00:00.000"))).toBe(true);
  });

  it("within a day have labels that tell them apart", () => {
    zone.value = "UTC";
    const labels = timeTicks(0, 5 * DAY, 1600).map((at) => tickTime(at, 5 * DAY, clockOf()));
    expect(labels.slice(0, 5)).toEqual(["01-01", "06:00", "12:00", "18:00", "01-02"]);
  });

  it("of hours go on through the change", () => {
    const from = Date.UTC(2026, 9, 25, 0);
    const found = timeTicks(from, from + 4 * 3_600_000, 400, "Europe/Berlin");
    expect(found.map((at) => tickTime(at, 1, clockOf("Europe/Berlin")).slice(0, 5))).toEqual([
      "02:00",
      "02:00",
      "03:00",
      "04:00",
      "05:00",
    ]);
  });

  it("are those of a panel's own zones", () => {
    expect(ownZones({})).toEqual([undefined]);
    expect(ownZones({ timezone: ["utc", "Asia/Kathmandu"] })).toEqual(["UTC", "Asia/Kathmandu"]);
    expect(tickTime(3_600_000, DAY / 2, clockOf("Asia/Kathmandu"))).toBe("06:30");
    expect(zonedFull(0, "Asia/Kathmandu")).toBe("1970-01-01 05:30:00.000");
    const axes = timeAxes(["UTC", "Asia/Kathmandu"]);
    expect(axes.map(({ side, grid }) => [side, grid?.show])).toEqual([
      [2, true],
      [2, false],
    ]);
  });
});

describe("times of a zone", () => {
  const field = (unit: string) => made("t", "time", [], { unit });
  const text = (unit: string, millis: number) => whole(display(field(unit))(millis));

  it("have the hour that the browser's zone leaves out in spring", () => {
    const own = process.env.TZ;
    process.env.TZ = "Europe/Berlin";
    zone.value = "UTC";
    const skipped = Date.UTC(2026, 2, 29, 2, 30);
    // Else the browser of this test has no such hour.
    expect(new Date(2026, 2, 29, 2, 30).getHours()).toBe(3);
    const found = [text("time:HH:mm", skipped), zonedFull(skipped), tickTime(skipped, DAY, clockOf())];
    if (own === undefined) delete process.env.TZ;
    else process.env.TZ = own;
    expect(found).toEqual(["02:30", "2026-03-29 02:30:00.000", "02:30"]);
  });

  it("are the same moment, however they are written", () => {
    zone.value = "Asia/Kathmandu";
    expect(text("time:X", 5000)).toBe("5");
    expect(text("time:x", 5000)).toBe("5000");
    expect(text("time:HH:mm Z", 0)).toBe("05:30 +05:30");
  });

  it("have milliseconds where all lie within a minute, as the server writes them", () => {
    zone.value = "UTC";
    const near = made("t", "time", [1_700_000_005_123, 1_700_000_000_000]);
    expect(whole(display(near)(1_700_000_005_123))).toBe("2023-11-14 22:13:25.123");
  });
});
