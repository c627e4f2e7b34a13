/** Data of panels: asked for once, newest answers only, and forgotten with what was shown. */
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import "./panels-browser";
import { Loader } from "../src/pages/dashboards/loader";
import type { Context, Placed } from "../src/pages/dashboards/model";

interface Question {
  panels: { key: string; maxDataPoints: number }[];
  signal: AbortSignal;
  answer: (...lines: object[]) => void;
  end: () => void;
}

const CONTEXT: Context = { variables: {}, from: 0, to: 1, rawFrom: "0", rawTo: "1", timezone: "UTC" };
const panel = (key: string) => ({ key, scope: {} }) as Placed;
const line = (key: string, value: number) => ({
  panel: key,
  frames: [{ fields: [{ name: "v", type: "number", values: [value] }] }],
});

let asked: Question[];

/** A server that answers when it is told to. */
function serve(_path: string, init: RequestInit): Promise<Response> {
  const encoder = new TextEncoder();
  const { panels } = JSON.parse(String(init.body)) as Pick<Question, "panels">;
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      init.signal!.addEventListener("abort", () =>
        controller.error(new DOMException("aborted", "AbortError")),
      );
      asked.push({
        panels,
        signal: init.signal!,
        answer: (...lines) => {
          for (const one of lines) controller.enqueue(encoder.encode(`${JSON.stringify(one)}\n`));
        },
        end: () => controller.close(),
      });
    },
  });
  return Promise.resolve(new Response(body));
}

const settled = () => new Promise((done) => setTimeout(done, 40));
const shownOf = (loader: Loader, key: string) => loader.state(key).peek().frames?.[0]?.fields[0]?.values[0];

/** A loader that was told of one panel. */
async function shownOne(): Promise<Loader> {
  const loader = new Loader();
  loader.begin({ uid: "x" }, CONTEXT, new Set(["a"]));
  loader.want(panel("a"), 400);
  await settled();
  asked[0]!.answer(line("a", 1));
  asked[0]!.end();
  await settled();
  return loader;
}

beforeEach(() => {
  asked = [];
  vi.stubGlobal("fetch", serve);
});
afterEach(() => vi.unstubAllGlobals());

describe("panels", () => {
  it("that come into sight together are asked for together, and not again when they come back", async () => {
    const loader = new Loader();
    loader.begin({ uid: "x" }, CONTEXT, new Set(["a", "b"]));
    loader.want(panel("a"), 400);
    loader.want(panel("b"), 400);
    await settled();
    expect(asked.map(({ panels }) => panels.map(({ key }) => key))).toEqual([["a", "b"]]);
    expect(loader.isBusy.peek()).toBe(true);
    asked[0]!.answer(line("a", 1), line("b", 2));
    asked[0]!.end();
    await settled();
    expect([shownOf(loader, "a"), shownOf(loader, "b"), loader.isBusy.peek()]).toEqual([1, 2, false]);
    loader.leave("a");
    loader.want(panel("a"), 400);
    await settled();
    expect(asked).toHaveLength(1);
  });

  it("that have become much wider are asked for with more points", async () => {
    const loader = await shownOne();
    loader.leave("a");
    loader.want(panel("a"), 1600);
    await settled();
    expect(asked[1]!.panels).toMatchObject([{ key: "a", maxDataPoints: 1600 }]);
  });

  it("that are asked for again do not take the older answer", async () => {
    const loader = new Loader();
    loader.begin({ uid: "x" }, CONTEXT, new Set(["a", "b"]));
    loader.want(panel("a"), 400);
    loader.want(panel("b"), 400);
    await settled();
    loader.retry("a");
    await settled();
    asked[1]!.answer(line("a", 2));
    asked[0]!.answer(line("a", 1), line("b", 1));
    await settled();
    expect([shownOf(loader, "a"), shownOf(loader, "b")]).toEqual([2, 1]);
  });

  it("that are copies of other values now show nothing of those before", async () => {
    const loader = new Loader();
    const copy = (value: string) => ({ key: "a", scope: { v: { text: value, value } } }) as unknown as Placed;
    loader.begin({ uid: "x" }, CONTEXT, new Set(["a"]));
    loader.want(copy("one"), 400);
    await settled();
    asked[0]!.answer(line("a", 1));
    asked[0]!.end();
    await settled();
    loader.leave("a");
    loader.want(copy("two"), 400);
    expect(shownOf(loader, "a")).toBeUndefined();
    await settled();
    expect(asked[1]!.panels).toMatchObject([{ key: "a", scope: { v: { value: "two" } } }]);
  });

  it("of which several queries fail say so of each, and keep what they showed", async () => {
    const loader = await shownOne();
    loader.retry("a");
    await settled();
    const wrong = (refId: string) => ({
      refId,
      message: "no",
      query: refId.repeat(3),
      position: 1,
      status: 400,
    });
    asked[1]!.answer({ panel: "a", frames: [], error: wrong("A"), errors: [wrong("A"), wrong("B")] });
    asked[1]!.end();
    await settled();
    const told = ["A", "B"].map((refId) => ({
      message: `${refId}: no`,
      refId,
      query: refId.repeat(3),
      offset: 1,
      status: 400,
    }));
    expect(loader.state("a").peek().errors).toEqual(told);
    expect(shownOf(loader, "a")).toBe(1);
  });

  it("that are refused say with which status, and what the request is called", async () => {
    const refusal = { status: 403, headers: { "X-Request-Id": "r1" } };
    vi.stubGlobal("fetch", async () => new Response("no", refusal));
    const loader = new Loader();
    loader.begin({ uid: "x" }, CONTEXT, new Set(["a"]));
    loader.want(panel("a"), 400);
    await settled();
    expect(loader.state("a").peek().errors).toEqual([{ message: "no", status: 403, requestId: "r1" }]);
  });

  it("out of sight are waited for no more, and those of another choice are forgotten", async () => {
    const loader = new Loader();
    loader.begin({ uid: "x" }, CONTEXT, new Set(["a"]));
    loader.want(panel("a"), 400);
    await settled();
    asked[0]!.answer(line("a", 1));
    await settled();
    loader.leave("a");
    loader.want(panel("b"), 400);
    await settled();
    loader.leave("b");
    expect(asked.at(-1)!.signal.aborted).toBe(true);
    loader.begin({ uid: "x" }, CONTEXT, new Set(["b"]));
    expect(shownOf(loader, "a")).toBeUndefined();
  });
});
