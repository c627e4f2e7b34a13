/** What the page of a dashboard needs beside it: the table of units, and links that stay with the tenant. */
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import "./panels-browser";
import { returns } from "../src/frame/connection";
import { setParams } from "../src/frame/router";
import { enter, logOut } from "../src/frame/token";
import { withCarried } from "../src/pages/dashboards/links";
import type { Variable } from "../src/pages/dashboards/model";
import { wantUnits } from "../src/pages/dashboards/wantunits";
import { units } from "../src/ui/units";

const go = (_: unknown, __: string, to: string) => {
  location.href = new URL(to, location.href).href;
};

beforeEach(() => vi.stubGlobal("history", { pushState: go, replaceState: go }));
afterEach(() => vi.unstubAllGlobals());

describe("the table of units", () => {
  it("is asked for again when the server is back, and when it takes who asks, until it is there", async () => {
    vi.useFakeTimers();
    const answers = [
      () => Promise.reject(new TypeError("gone")),
      async () => new Response("no", { status: 401 }),
      async () => new Response('{"s":{"kind":"fixed","multiply":1,"prefix":"","suffix":" s"}}'),
    ];
    const fetched = vi.fn(() => answers[fetched.mock.calls.length - 1]!());
    vi.stubGlobal("fetch", fetched);
    const stop = wantUnits();
    await vi.advanceTimersByTimeAsync(0);
    expect(units.value).toEqual({});
    returns.value += 1;
    await vi.advanceTimersByTimeAsync(0);
    expect(units.value).toEqual({});
    enter("secret");
    await vi.advanceTimersByTimeAsync(0);
    expect(Object.keys(units.value)).toEqual(["s"]);
    returns.value += 1;
    expect(fetched).toHaveBeenCalledTimes(3);
    stop();
    logOut();
    vi.useRealTimers();
  });
});

describe("a link of a dashboard", () => {
  it("takes along what it says, and whose data is looked at if it leads to us", () => {
    setParams({ tenant: "b", from: "now-6h", to: "now", "var-a": ["1", "2"], view: "x" });
    expect(withCarried("/d/x", {}, [], false)).toBe("/d/x?tenant=b");
    expect(withCarried("/d/x?tenant=c#y", { keepTime: true }, [], false)).toBe(
      "/d/x?tenant=c&from=now-6h&to=now#y",
    );
    expect(withCarried("https://a/b", { includeVars: true }, [], true)).toBe("https://a/b?var-a=1&var-a=2");
    setParams({ tenant: undefined });
    expect(withCarried("/d/x", {}, [], false)).toBe("/d/x");
  });

  it("takes along what is chosen of variables that the address leaves out", () => {
    const of = (name: string, more: Partial<Variable>): Variable => ({
      name,
      type: "query",
      hide: 0,
      multi: true,
      includeAll: true,
      allowsOther: true,
      options: [],
      chosen: [{ text: "X", value: "x" }],
      isAll: false,
      missing: [],
      filters: [],
      ...more,
    });
    const variables = [
      of("a", {}),
      of("b", { chosen: ["y", "z"].map((value) => ({ text: value, value })) }),
      of("all", { isAll: true, chosen: [{ text: "All", value: "$__all" }] }),
      of("skipped", { skipUrlSync: true }),
      of("fixed", { type: "constant" }),
      of("where", { type: "adhoc", chosen: [], filters: [{ key: "k", operator: "=", value: "v" }] }),
    ];
    setParams({ "var-a": ["1"] });
    expect(decodeURIComponent(withCarried("/d/x", { includeVars: true }, variables, false))).toBe(
      "/d/x?var-a=1&var-b=y&var-b=z&var-all=$__all&var-where=k|=|v",
    );
    expect(withCarried("/d/x", {}, variables, false)).toBe("/d/x");
    expect(withCarried("/d/x?var-a=2", { includeVars: true }, [variables[1]!], false)).toBe(
      "/d/x?var-a=2&var-b=y&var-b=z",
    );
  });
});
