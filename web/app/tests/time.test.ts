/** Times as they are written in addresses, by the calendar of a place whose days are not all of one length. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import "./panels-browser";

process.env.TZ = "Europe/Berlin";

const { pageLink, param, setParams } = await import("../src/frame/router");
const { setTimeRules } = await import("../src/frame/timerules");
const { beginTimes, timeRulesOf } = await import("../src/pages/dashboards/timesettings");
const { ownRange } = await import("../src/pages/dashboards/owntime");
const {
  addressTime,
  liveMillis,
  parseTime,
  range,
  rangeLabel,
  rangeText,
  setLive,
  toggleLive,
  typedTime,
  widenRange,
} = await import("../src/frame/time");

const at = (text: string) => new Date(text).getTime();
const iso = (text: string, now: string, end = false) => {
  const millis = parseTime(text, at(now), end);
  return millis === undefined ? undefined : new Date(millis).toISOString();
};

beforeEach(() => {
  Object.assign(globalThis, {
    history: {
      replaceState: (_: unknown, __: string, to: string) => {
        location.href = new URL(to, location.href).href;
      },
    },
  });
  history.pushState = history.replaceState;
  setParams({ from: undefined, to: undefined, refresh: undefined });
});

describe("a time", () => {
  it("of whole days follows the calendar where clocks are changed", () => {
    // The day of 25 hours: 2026-10-25, which ends at 23:00 UTC.
    expect(iso("now/d", "2026-10-25T12:00:00Z")).toBe("2026-10-24T22:00:00.000Z");
    expect(iso("now/d", "2026-10-25T12:00:00Z", true)).toBe("2026-10-25T22:59:59.999Z");
    // 24 hours before 23:30 of that day is that day still.
    expect(iso("now-1d/d", "2026-10-25T22:30:00Z")).toBe("2026-10-23T22:00:00.000Z");
    expect(iso("now-24h", "2026-10-25T22:30:00Z")).toBe("2026-10-24T22:30:00.000Z");
    // The day of 23 hours.
    expect(iso("now/d", "2026-03-29T12:00:00Z", true)).toBe("2026-03-29T21:59:59.999Z");
  });
  it("of months and years does, too", () => {
    expect(iso("now-1M/M", "2026-03-31T12:00:00Z")).toBe("2026-01-31T23:00:00.000Z");
    expect(iso("now-1M", "2026-03-31T12:00:00Z")).toBe("2026-02-28T13:00:00.000Z");
    expect(iso("now-1y", "2024-02-29T12:00:00Z")).toBe("2023-02-28T12:00:00.000Z");
    expect(iso("now/y", "2026-07-01T12:00:00Z", true)).toBe("2026-12-31T22:59:59.999Z");
    expect(iso("now/w", "2026-11-18T12:00:00Z")).toBe("2026-11-15T23:00:00.000Z");
  });
  it("may be moved after it was rounded", () => {
    expect(iso("now/d+8h", "2026-11-18T12:00:00Z")).toBe("2026-11-18T07:00:00.000Z");
    expect(iso("now-1d/d+8h+30m", "2026-11-18T12:00:00Z")).toBe("2026-11-17T07:30:00.000Z");
  });
  it("may be a date, by the clock of who looks unless it says which", () => {
    const now = "2026-11-18T12:00:00Z";
    expect(iso("2026-01-31", now)).toBe("2026-01-30T23:00:00.000Z");
    expect(iso("2026-01-31 12:00", now)).toBe("2026-01-31T11:00:00.000Z");
    expect(iso("2026-01-31T12:00:00.123456789Z", now)).toBe("2026-01-31T12:00:00.123Z");
    expect(iso("2026-01-31 12:00:00+0530", now)).toBe("2026-01-31T06:30:00.000Z");
    expect(iso("1790000000", now)).toBe(iso("1790000000000", now));
  });
  it("that cannot be read is none, and breaks nothing", () => {
    for (const text of ["", "hello 5", "now-", "now/x", "2026-13-01", "99999999999999999", "now-999999999y"])
      expect(parseTime(text, 0), text).toBeUndefined();
    setParams({ from: "99999999999999999", to: "now" });
    expect(rangeLabel(rangeText.value)).toBe("99999999999999999 to now");
    expect(range.value.to - range.value.from).toBe(3_600_000);
  });
  it("that was typed is the same moment in the address, wherever that is opened", () => {
    expect(addressTime("2026-01-31 12:00")).toBe(String(at("2026-01-31T11:00:00Z")));
    expect(addressTime(" now-6h ")).toBe("now-6h");
    for (const text of ["1790000000123", "1790000000000"]) expect(addressTime(typedTime(text))).toBe(text);
    expect(typedTime("now/d")).toBe("now/d");
  });
});

describe("more time", () => {
  it("never takes away what is shown of times to come", () => {
    setParams({ from: "now", to: "now+2h" });
    const before = range.value;
    widenRange();
    expect(range.value.to).toBeGreaterThanOrEqual(Math.floor(before.to));
    expect(range.value.from).toBeLessThan(before.from);
  });
});

describe("live mode", () => {
  it("is off where the address has no length of time, as Grafana's links do", () => {
    for (const [refresh, millis] of [
      ["", 0],
      ["auto", 0],
      ["5s", 5000],
      ["10ms", 1000],
      // Timers would count that as nothing.
      ["60d", 86_400_000],
    ] as const) {
      setParams({ refresh });
      expect(liveMillis.value, refresh).toBe(millis);
    }
  });
  it("goes on as before after a pause", () => {
    setParams({ refresh: "1m" });
    toggleLive();
    expect(liveMillis.value).toBe(0);
    toggleLive();
    expect(liveMillis.value).toBe(60_000);
  });
});

describe("the refresh of a dashboard", () => {
  const BOARD = { refresh: "30s" };
  it("is that of its opening, and stays off once it was switched off", () => {
    beginTimes(BOARD, true);
    expect(param("refresh")).toBe("30s");
    toggleLive();
    expect(param("refresh")).toBe("");
    expect(liveMillis.value).toBe(0);
    // As after saving, or when the page is loaded again from its address.
    beginTimes(BOARD, false);
    beginTimes(BOARD, true);
    expect(liveMillis.value).toBe(0);
    expect(pageLink("/hosts")).not.toContain("refresh");
    toggleLive();
    expect(param("refresh")).toBe("30s");
    setParams({ refresh: undefined });
    beginTimes(BOARD, false);
    expect(param("refresh")).toBeUndefined();
    setTimeRules({});
  });
  it("is none where it has none, and nothing says so in the address", () => {
    beginTimes({ refresh: "" }, true);
    setLive("5s");
    setLive(undefined);
    expect(param("refresh")).toBeUndefined();
    setTimeRules({});
  });
});

describe("a dashboard's own clock", () => {
  const by = (timezone: string) => setTimeRules(timeRulesOf({ timezone }));
  afterEach(() => setTimeRules({}));
  it("says when days, weeks and months begin", () => {
    by("utc");
    expect(iso("now/d", "2026-11-18T23:30:00Z")).toBe("2026-11-18T00:00:00.000Z");
    expect(iso("now/w", "2026-11-18T12:00:00Z")).toBe("2026-11-16T00:00:00.000Z");
    expect(iso("now-1M/M", "2026-03-31T12:00:00Z")).toBe("2026-02-01T00:00:00.000Z");
    by("America/New_York");
    // The day of 25 hours.
    expect(iso("now/d", "2026-11-01T12:00:00Z")).toBe("2026-11-01T04:00:00.000Z");
    expect(iso("now/d", "2026-11-01T12:00:00Z", true)).toBe("2026-11-02T04:59:59.999Z");
    expect(iso("now-1d", "2026-11-02T12:00:00Z")).toBe("2026-11-01T12:00:00.000Z");
    by("America/Sao_Paulo");
    // On that day one o'clock followed 23:59.
    expect(iso("now/d", "2018-11-04T14:00:00Z")).toBe("2018-11-04T03:00:00.000Z");
    by("Asia/Kolkata");
    expect(iso("now/h", "2026-11-18T12:45:00Z")).toBe("2026-11-18T12:30:00.000Z");
  });
  it("is the one that dates are typed and shown by", () => {
    by("utc");
    const noon = String(at("2026-01-31T12:00:00Z"));
    expect(addressTime("2026-01-31 12:00")).toBe(noon);
    expect(typedTime(noon)).toBe("2026-01-31 12:00:00");
    expect(addressTime("2026-01-31 12:00+01:00")).toBe(String(at("2026-01-31T11:00:00Z")));
    by("Asia/Tokyo");
    expect(addressTime(typedTime("1790000000123"))).toBe("1790000000123");
  });
  it("says which day a panel of its own time shows", () => {
    by("utc");
    const range = { from: at("2026-11-18T22:00:00Z"), to: at("2026-11-18T23:30:00Z") };
    expect(ownRange({ timeFrom: "now/d" }, range).from).toBe(at("2026-11-18T00:00:00Z"));
    expect(ownRange({ timeShift: "1d/d" }, range).to).toBe(at("2026-11-18T00:00:00Z") - 1);
  });
  it("leaves an hour that is shown twice where it is", () => {
    expect(iso("now/h", "2026-10-25T01:30:00Z")).toBe("2026-10-25T01:00:00.000Z");
  });
});

describe("what a dashboard says of times", () => {
  const DASHBOARD = {
    weekStart: "sunday",
    fiscalYearStartMonth: 1,
    timepicker: {
      hidden: true,
      nowDelay: "1m",
      refresh_intervals: ["10s", "auto", 5, "2h"],
      quick_ranges: [{ from: "now-1fQ/fQ", to: "now-1fQ/fQ", display: "Last fiscal quarter" }, { from: 1 }],
    },
  };
  it("is read, without what is none", () => {
    expect(timeRulesOf(DASHBOARD)).toEqual({
      weekStart: 0,
      fiscalMonth: 1,
      nowDelayMillis: 60_000,
      isHidden: true,
      refreshes: ["10s", "2h"],
      quick: [{ from: "now-1fQ/fQ", to: "now-1fQ/fQ", label: "Last fiscal quarter" }],
    });
    expect(timeRulesOf({ weekStart: "browser", timepicker: { quick_ranges: {} } })).toEqual({});
  });
  it("holds of weeks, quarters and years", () => {
    const now = "2020-07-13T20:19:09Z";
    expect(iso("now/Q", now)).toBe("2020-06-30T22:00:00.000Z");
    expect(iso("now/fQ", now)).toBe("2020-06-30T22:00:00.000Z");
    setTimeRules(timeRulesOf(DASHBOARD));
    expect(iso("now/w", now)).toBe("2020-07-11T22:00:00.000Z");
    expect(iso("now/fQ", now)).toBe("2020-04-30T22:00:00.000Z");
    expect(iso("now/fQ", now, true)).toBe("2020-07-31T21:59:59.999Z");
    expect(iso("now-1fQ/fQ", now)).toBe("2020-01-31T23:00:00.000Z");
    expect(iso("now/fy", now)).toBe("2020-01-31T23:00:00.000Z");
    expect(iso("now/fy", now, true)).toBe("2021-01-31T22:59:59.999Z");
    expect(iso("now/y", now)).toBe("2019-12-31T23:00:00.000Z");
    setTimeRules(timeRulesOf({ fiscalYearStartMonth: 9 }));
    expect(iso("now/fy", now)).toBe("2019-09-30T22:00:00.000Z");
    expect(iso("now/fd", now)).toBeUndefined();
    setTimeRules({});
  });
  it("holds of the range and its name", () => {
    setTimeRules(timeRulesOf(DASHBOARD));
    setParams({ from: "now-1h", to: "now" });
    expect(Date.now() - range.value.to).toBeGreaterThanOrEqual(60_000);
    expect(rangeLabel({ from: "now-1fQ/fQ", to: "now-1fQ/fQ" })).toBe("Last fiscal quarter");
    setTimeRules({});
    expect(Date.now() - range.value.to).toBeLessThan(60_000);
  });
});
