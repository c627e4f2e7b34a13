/** Who asks: what is sent, what is done when that is refused, and events that carry it too. */
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import "./panels-browser";
import { ApiError, ask, tryToken } from "../src/frame/api";
import { events } from "../src/frame/events";
import {
  enter,
  isSendable,
  isTaken,
  login,
  logOut,
  refused,
  sitting,
  token,
  typedToken,
} from "../src/frame/token";

/** What was asked: paths with their headers. */
let asked: { path: string; headers: Headers }[] = [];
let answer: (headers: Headers) => Response | Promise<Response>;

const BEARER = { "WWW-Authenticate": 'Bearer realm="kymo"' };
const no = (headers: Record<string, string> = BEARER) => new Response("no", { status: 401, headers });

beforeEach(() => {
  logOut();
  asked = [];
  answer = (headers) => (headers.get("Authorization") === "Bearer right" ? new Response("{}") : no());
  vi.stubGlobal("fetch", async (path: string, init: RequestInit) => {
    init.signal?.throwIfAborted();
    const headers = new Headers(init.headers);
    asked.push({ path, headers });
    return answer(headers);
  });
});

afterEach(() => {
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

describe("a question that is refused", () => {
  it("makes the frame ask for a login, and keeps the next ones back", async () => {
    await expect(ask("/api/x")).rejects.toMatchObject({ status: 401 });
    expect(login.value).toEqual({ why: "needed", takesTokens: true, takesPasswords: false });
    await expect(ask("/api/y")).rejects.toBeInstanceOf(ApiError);
    expect(asked).toHaveLength(1);
  });
  it("is not followed by those of the frame, which waits until somebody is taken", async () => {
    await ask("/api/x").catch(() => {});
    expect(isTaken.value).toBe(false);
    enter("right");
    expect(isTaken.value).toBe(false);
    await ask("/api/x");
    expect(isTaken.value).toBe(true);
    logOut();
    expect(isTaken.value).toBe(false);
  });
  it("goes through after a token was entered, and what is shown is made anew", async () => {
    await ask("/api/x").catch(() => {});
    const before = sitting.value;
    enter("right");
    expect(login.value).toBeUndefined();
    expect(sitting.value).toBe(before + 1);
    expect((await ask("/api/x")).ok).toBe(true);
  });
  it("goes on with what is shown where a token that was good is followed by another", async () => {
    enter("right");
    await ask("/api/x");
    const before = sitting.value;
    refused(BEARER["WWW-Authenticate"]);
    expect(login.value?.why).toBe("refused");
    enter("newer");
    expect(sitting.value).toBe(before);
  });
  it("says nothing of whoever logged in meanwhile", async () => {
    let late = (_: Response) => {};
    answer = () => new Promise((done) => (late = done));
    const question = ask("/api/x");
    enter("right");
    late(no());
    await expect(question).rejects.toMatchObject({ status: 401 });
    expect(login.value).toBeUndefined();
  });
  it("offers what the server takes", () => {
    refused('Basic realm="kymo", charset="UTF-8", Bearer realm="kymo"');
    expect(login.value).toMatchObject({ takesTokens: true, takesPasswords: true });
    refused('Basic realm="kymo", charset="UTF-8"');
    expect(login.value).toMatchObject({ takesTokens: false, takesPasswords: true });
    refused(null);
    expect(login.value).toMatchObject({ takesTokens: true, takesPasswords: false });
  });
});

describe("a token", () => {
  it("is tried by itself, and is not in use before it is entered", async () => {
    await expect(tryToken("wrong")).rejects.toMatchObject({ status: 401 });
    await tryToken("right");
    expect(token.value).toBe("");
    expect(login.value).toBeUndefined();
  });
  it("that may not see everything is right all the same; a busy server is no answer", async () => {
    answer = () => new Response("no role", { status: 403 });
    await tryToken("writer");
    answer = () => new Response("too many", { status: 429 });
    await expect(tryToken("writer")).rejects.toMatchObject({ status: 429 });
  });
  it("is found in what people copy", () => {
    expect(typedToken("  Bearer kymo_a_b\n")).toBe("kymo_a_b");
    expect(isSendable("kymo_a_b")).toBe(true);
    expect(isSendable("kymo a")).toBe(false);
    expect(isSendable("Schlüssel")).toBe(false);
  });
});

describe("events", () => {
  const stream = (text: string) => new Response(text, { headers: { "Content-Type": "text/event-stream" } });

  it("carry the token, and are taken up again where they broke", async () => {
    vi.useFakeTimers();
    enter("right");
    const texts = ['event: rates\nid: 7\ndata: {"a":1}\n\n', 'event: rates\ndata: {"a":2}\n\n'];
    answer = () => stream(texts[asked.length - 1] ?? "");
    const heard: unknown[] = [];
    const stop = events("/api/live", {}, { rates: (data) => heard.push(data) });
    await vi.waitFor(() => expect(heard).toEqual([{ a: 1 }]));
    await vi.advanceTimersByTimeAsync(1000);
    await vi.waitFor(() => expect(heard).toEqual([{ a: 1 }, { a: 2 }]));
    expect(asked.map(({ headers }) => headers.get("Authorization"))).toEqual([
      "Bearer right",
      "Bearer right",
    ]);
    expect(asked.map(({ headers }) => headers.get("Last-Event-ID"))).toEqual([null, "7"]);
    stop();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(asked).toHaveLength(2);
  });
  it("come ever more seldom while nothing is told", async () => {
    vi.useFakeTimers();
    answer = () => stream("");
    const stop = events("/api/live", {}, {});
    await vi.advanceTimersByTimeAsync(60_000);
    // After 1, 2, 4, 8 and then every 15 seconds.
    expect(asked).toHaveLength(8);
    stop();
  });
  it("wait for a login, and come with it", async () => {
    vi.useFakeTimers();
    const heard: unknown[] = [];
    const stop = events("/api/live", {}, { rates: (data) => heard.push(data) });
    await vi.advanceTimersByTimeAsync(60_000);
    expect(asked).toHaveLength(1);
    answer = () => stream("event: rates\ndata: 1\n\n");
    enter("right");
    await vi.waitFor(() => expect(heard).toEqual([1]));
    stop();
  });
  it("end where they are not allowed", async () => {
    vi.useFakeTimers();
    answer = () => new Response("no role", { status: 403 });
    events("/api/live", {}, {});
    await vi.advanceTimersByTimeAsync(60_000);
    expect(asked).toHaveLength(1);
  });
});
