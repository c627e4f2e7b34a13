/** The frame: where links lead, what is said when an answer is none, and a server that goes and comes back. */
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import "./panels-browser";
import { ask, eachLine, getJson } from "../src/frame/api";
import { connection, returns } from "../src/frame/connection";
import { keep, kept } from "../src/frame/kept";
import { recents, said } from "../src/frame/recents";
import { link, navigate, pageLink, place, setParams } from "../src/frame/router";
import { logOut } from "../src/frame/token";
import { bytes, count, duration, fullTime } from "../src/ui/format";
import { sortedRows } from "../src/ui/table";

let answer: (path: string) => Response | Promise<Response>;
let pushed: string[] = [];

beforeEach(() => {
  logOut();
  pushed = [];
  const go = (to: string) => {
    location.href = new URL(to, location.href).href;
  };
  vi.stubGlobal("history", {
    pushState: (_: unknown, __: string, to: string) => {
      pushed.push(to);
      go(to);
    },
    replaceState: (_: unknown, __: string, to: string) => go(to),
  });
  vi.stubGlobal("fetch", async (path: string) => answer(path));
});

afterEach(() => {
  navigate("/traces?tenant=", { replace: true });
  setParams({ tenant: undefined }, { replace: true });
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

describe("a link", () => {
  it("stays with the data that is looked at", () => {
    navigate("/traces?q=a&tenant=b&from=now-6h&refresh=5s");
    expect(link("/trace/1")).toBe("/trace/1?tenant=b");
    expect(link("/trace/1", { tenant: "c" })).toBe("/trace/1?tenant=c");
    expect(pageLink("/hosts")).toBe("/hosts?tenant=b&from=now-6h&refresh=5s");
    navigate("/admin?x=1#y");
    expect(place.value.query.get("tenant")).toBe("b");
    expect(location.hash).toBe("#y");
    navigate("/trace/1?tenant=c");
    expect(place.value.query.get("tenant")).toBe("c");
    setParams({ tenant: undefined });
    expect(link("/trace/1")).toBe("/trace/1");
  });
  it("to where one is leaves no step to go back", () => {
    navigate("/traces?q=a");
    navigate("/traces?q=a");
    expect(pushed).toEqual(["/traces?q=a"]);
  });
});

describe("what was looked at lately", () => {
  it("has the title that the page has said, once it stays for a moment", () => {
    vi.useFakeTimers();
    navigate("/trace/1?span=2");
    said("Trace 1")();
    said("GET /cart");
    vi.advanceTimersByTime(5000);
    expect(recents.value).toEqual([{ path: "/trace/1", title: "GET /cart" }]);
    navigate("/traces");
    said("Traces");
    vi.advanceTimersByTime(5000);
    expect(recents.value).toHaveLength(1);
  });
});

describe("what went wrong", () => {
  const of = (text: string, status: number, type = "application/json") => {
    answer = () => new Response(text, { status, headers: { "Content-Type": type } });
    return ask("/api/x").then(
      () => undefined,
      (error: Error) => error,
    );
  };
  it("is said in the server's words, and never as JSON or a page of a proxy", async () => {
    expect(await of('{"error":"no such query","position":3}', 400)).toMatchObject({
      message: "no such query",
      position: 3,
    });
    expect(await of('{"error":{"message":"inner"},"position":{"offset":7}}', 400)).toMatchObject({
      message: "inner",
      position: 7,
    });
    expect(await of("plain words\n", 422, "text/plain")).toMatchObject({ message: "plain words" });
    for (const [text, type] of [
      ['{"code":5}', "application/json"],
      ["null", "application/json"],
      ["<html><h1>Forbidden</h1></html>", "text/html; charset=utf-8"],
    ] as const)
      expect(await of(text, 403, type)).toMatchObject({ message: "the server refused, with status 403" });
  });
  it("has the name that the server's log has for the request", async () => {
    answer = () => new Response("no", { status: 500, headers: { "X-Request-Id": "ab-7" } });
    await expect(getJson("/api/x")).rejects.toMatchObject({ status: 500, requestId: "ab-7" });
  });
  it("is told where something else answers in the server's place", async () => {
    answer = () => new Response("<html>");
    await expect(getJson("/api/x")).rejects.toThrow("the answer cannot be read");
  });
});

describe("a server that is gone", () => {
  it("is looked for ever more seldom, and what was asked is asked again when it is back", async () => {
    vi.useFakeTimers();
    let isBack = false;
    const looked: number[] = [];
    answer = (path) => {
      if (path === "/ready") looked.push(Date.now());
      if (isBack) return new Response("{}");
      // A proxy that stands before it.
      return new Response("<html>502</html>", { status: 502, headers: { "Content-Type": "text/html" } });
    };
    const [began, before] = [Date.now(), returns.value];
    await expect(getJson("/api/x")).rejects.toMatchObject({
      status: 0,
      message: "the server does not answer",
    });
    expect(connection.value).toEqual({ lost: true, retryAt: began + 1000 });
    await vi.advanceTimersByTimeAsync(8000);
    expect(looked.map((at) => at - began)).toEqual([1000, 3000, 7000]);
    isBack = true;
    await vi.advanceTimersByTimeAsync(8000);
    expect(connection.value.lost).toBe(false);
    expect(returns.value).toBe(before + 1);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(looked).toHaveLength(4);
  });
  it("in the middle of its answer is gone all the same", async () => {
    const heard: unknown[] = [];
    answer = () =>
      new Response(
        new ReadableStream({
          start(controller) {
            controller.enqueue(new TextEncoder().encode('{"a":1}\n{"a"'));
          },
          pull(controller) {
            controller.error(new TypeError("network error"));
          },
        }),
      );
    await expect(eachLine("/api/x", {}, (line) => heard.push(line))).rejects.toMatchObject({ status: 0 });
    expect(connection.value.lost).toBe(true);
    answer = () => new Response("{}");
    await getJson("/api/x");
    expect(connection.value.lost).toBe(false);
  });
});

describe("a browser that keeps nothing", () => {
  it("is no reason to fail", () => {
    const refuse = () => {
      throw new Error("The operation is insecure.");
    };
    vi.stubGlobal("localStorage", { getItem: refuse, setItem: refuse });
    vi.stubGlobal("sessionStorage", { getItem: refuse, setItem: refuse, removeItem: refuse });
    for (const where of ["browser", "tab"] as const) {
      expect(kept("x", where)).toBeNull();
      keep("x", "y", where);
      keep("x", null, where);
    }
  });
});

describe("numbers", () => {
  it("that are rounded up to the next unit are written in that", () => {
    expect(duration(999_999)).toBe("1 ms");
    expect(duration(59.96e9)).toBe("1 m");
    expect(duration(59.94e9)).toBe("59.9 s");
    expect(count(999_950)).toBe("1 M");
    expect(count(-123_456)).toBe("-123 k");
    expect(bytes(1024 * 1024 - 1)).toBe("1 MiB");
    expect(bytes(1023)).toBe("1023 B");
    expect(bytes(0.7794517)).toBe("0.78 B");
  });
  it("that are no time are written as none", () => {
    expect(fullTime(Number.NaN)).toBe("–");
  });
});

describe("rows of a table", () => {
  it("without a value are last in either order", () => {
    const columns = [{ id: "n", title: "n", render: () => "", value: (row: { n?: number }) => row.n }];
    const rows = [{ n: Number.NaN }, { n: 1 }, {}, { n: 3 }, { n: 2 }];
    const order = (descending: boolean) =>
      sortedRows(rows, columns, { column: "n", descending }).map(({ n }) => n);
    expect(order(false)).toEqual([1, 2, 3, Number.NaN, undefined]);
    expect(order(true)).toEqual([3, 2, 1, Number.NaN, undefined]);
  });
});
