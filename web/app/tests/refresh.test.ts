/** What is asked again, and when: at a refresh, while somebody looks, and not before what was asked is answered. */
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import "./panels-browser";
import { ask, eachLine } from "../src/frame/api";
import { navigate, setParams } from "../src/frame/router";
import { everySeen, whenSeen } from "../src/frame/seen";
import { range, rangeText, refresh, setRange } from "../src/frame/time";
import { setTimeRules } from "../src/frame/timerules";
import { isAsking, underWay } from "../src/frame/underway";

const go = (_: unknown, __: string, to: string) => {
  location.href = new URL(to, location.href).href;
};

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal("history", { pushState: go, replaceState: go });
});

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

describe("the range", () => {
  it("that is fixed is another one after a refresh, with the same numbers", () => {
    setParams({ from: "1000000000000", to: "1000003600000" });
    const before = range.value;
    setParams({ view: "table" });
    expect(range.value).toBe(before);
    refresh();
    expect(range.value).not.toBe(before);
    expect(range.value).toEqual(before);
  });
  it("up to now stays with whatever else of the address changes, until its own text or the rules do", () => {
    setParams({ from: "now-1h", to: "now" });
    const [before, text] = [range.value, rangeText.value];
    vi.advanceTimersByTime(5000);
    setParams({ compare: true, folded: ["a"] });
    expect(range.value).toBe(before);
    expect(rangeText.value).toBe(text);
    setTimeRules({ nowDelayMillis: 1000 });
    expect(range.value.to - before.to).toBe(4000);
    setTimeRules({});
    setParams({ from: "now-2h" });
    expect(range.value.from).toBe(before.from + 5000 - 3_600_000);
  });
  it("up to now is a later one on another page, for another query, and where it is chosen again", () => {
    setParams({ from: "now-1h", to: "now" });
    const before = range.value;
    vi.advanceTimersByTime(5000);
    navigate("/other?from=now-1h&to=now");
    expect(range.value.to - before.to).toBe(5000);
    vi.advanceTimersByTime(5000);
    setRange("now-1h", "now");
    expect(range.value.to - before.to).toBe(10_000);
    vi.advanceTimersByTime(5000);
    setParams({ q: "{}" });
    expect(range.value.to - before.to).toBe(15_000);
    vi.advanceTimersByTime(5000);
    setParams({ q: "{}" });
    expect(range.value.to - before.to).toBe(20_000);
  });
  it("up to now is another one as time goes on", () => {
    setParams({ from: "now-1h", to: "now" });
    refresh();
    const before = range.value;
    vi.advanceTimersByTime(5000);
    refresh();
    expect(range.value.to - before.to).toBe(5000);
  });
});

describe("a question", () => {
  it("whose answer streams is under way until its end", async () => {
    let stream: ReadableStreamDefaultController<Uint8Array> | undefined;
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        stream = controller;
      },
    });
    vi.stubGlobal("fetch", async () => new Response(body));
    expect(isAsking()).toBe(false);
    const heard: unknown[] = [];
    const asked = eachLine("/api/x", {}, (line) => heard.push(line));
    stream?.enqueue(new TextEncoder().encode('{"a":1}\n'));
    await vi.waitFor(() => expect(heard).toEqual([{ a: 1 }]));
    expect(isAsking()).toBe(true);
    stream?.close();
    await asked;
    expect(isAsking()).toBe(false);
  });
  it("that fails is under way no more", async () => {
    vi.stubGlobal("fetch", async () => new Response("no", { status: 400 }));
    await expect(eachLine("/api/x", {}, () => {})).rejects.toThrow("no");
    expect(isAsking()).toBe(false);
    await expect(ask("/api/x")).rejects.toThrow("no");
    expect(isAsking()).toBe(false);
  });
  it("ends once, however often that is said", () => {
    const [one, other] = [underWay(), underWay()];
    one();
    one();
    expect(isAsking()).toBe(true);
    other();
    expect(isAsking()).toBe(false);
  });
});

describe("what is done while somebody looks", () => {
  const page = { hidden: false, listeners: new Set<() => void>() };
  const show = (isShown: boolean) => {
    page.hidden = !isShown;
    for (const told of [...page.listeners]) told();
  };
  beforeEach(() => {
    page.hidden = false;
    page.listeners.clear();
    vi.stubGlobal("document", {
      get hidden() {
        return page.hidden;
      },
      addEventListener: (_: string, told: () => void) => page.listeners.add(told),
      removeEventListener: (_: string, told: () => void) => page.listeners.delete(told),
    });
  });

  it("rests behind other tabs, and is done once and at once when it is shown again", () => {
    const act = vi.fn();
    const stop = everySeen(1000, act);
    vi.advanceTimersByTime(2000);
    expect(act).toHaveBeenCalledTimes(2);
    show(false);
    vi.advanceTimersByTime(60_500);
    expect(act).toHaveBeenCalledTimes(2);
    show(true);
    expect(act).toHaveBeenCalledTimes(3);
    vi.advanceTimersByTime(500);
    expect(act).toHaveBeenCalledTimes(4);
    stop();
    expect(page.listeners.size).toBe(0);
  });
  it("is not done when it is shown again before it is due", () => {
    const act = vi.fn();
    const stop = everySeen(1000, act);
    show(false);
    vi.advanceTimersByTime(500);
    show(true);
    expect(act).not.toHaveBeenCalled();
    stop();
  });
  it("is called off", () => {
    const act = vi.fn();
    show(false);
    whenSeen(act)();
    show(true);
    expect(act).not.toHaveBeenCalled();
    whenSeen(act);
    expect(act).toHaveBeenCalledTimes(1);
  });
});
