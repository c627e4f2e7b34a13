/** Server-sent events of a tab that is shown, hidden, and shown again. */
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import "./panels-browser";
import { events } from "../src/frame/events";

/** A connection as the server has it. */
interface Connection {
  lastId: string | null;
  isOpen: () => boolean;
  send: (text: string) => void;
}

const page = { hidden: false, listeners: new Set<() => void>() };
const show = (isShown: boolean) => {
  page.hidden = !isShown;
  for (const told of [...page.listeners]) told();
};
const turns = () => vi.advanceTimersByTimeAsync(0);
let connections: Connection[] = [];
let status = 200;

async function answer(_: string, init: RequestInit): Promise<Response> {
  if (status !== 200) return new Response(null, { status });
  let stream: ReadableStreamDefaultController<Uint8Array> | undefined;
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      stream = controller;
    },
  });
  init.signal!.addEventListener("abort", () => stream?.error(new DOMException("over", "AbortError")));
  connections.push({
    lastId: new Headers(init.headers).get("Last-Event-ID"),
    isOpen: () => !init.signal!.aborted,
    send: (text) => stream?.enqueue(new TextEncoder().encode(text)),
  });
  return new Response(body);
}

beforeEach(() => {
  vi.useFakeTimers();
  Object.assign(page, { hidden: false });
  page.listeners.clear();
  [connections, status] = [[], 200];
  vi.stubGlobal("fetch", answer);
  vi.stubGlobal("document", {
    get hidden() {
      return page.hidden;
    },
    addEventListener: (_: string, told: () => void) => page.listeners.add(told),
    removeEventListener: (_: string, told: () => void) => page.listeners.delete(told),
  });
});

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

it("a hidden tab lets go of its connection, and goes on where it was when it is shown", async () => {
  const heard = vi.fn();
  const stop = events("/api/x", {}, { message: heard });
  await turns();
  connections[0]!.send('id: 7\ndata: "a"\n\n');
  await turns();
  expect(heard).toHaveBeenLastCalledWith("a");
  show(false);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(connections.map(({ isOpen }) => isOpen())).toEqual([false]);
  show(true);
  await turns();
  expect(connections.map(({ lastId }) => lastId)).toEqual([null, "7"]);
  connections[1]!.send('data: "b"\n\n');
  await turns();
  expect(heard).toHaveBeenLastCalledWith("b");
  stop();
  await turns();
  expect(connections[1]!.isOpen()).toBe(false);
  expect(page.listeners.size).toBe(0);
});

it("a tab that is hidden for a moment keeps its connection", async () => {
  const stop = events("/api/x", {}, {});
  await turns();
  show(false);
  await vi.advanceTimersByTimeAsync(3000);
  show(true);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(connections.map(({ isOpen }) => isOpen())).toEqual([true]);
  stop();
  await turns();
});

it("a tab that was never shown asks for nothing, and listens no more once that is called off", async () => {
  show(false);
  const stop = events("/api/x", {}, {});
  await vi.advanceTimersByTimeAsync(60_000);
  expect(connections).toEqual([]);
  stop();
  await turns();
  expect(page.listeners.size).toBe(0);
});

it("what is over for good is not taken up again when the tab is shown", async () => {
  status = 204;
  events("/api/x", {}, {});
  await turns();
  status = 200;
  show(false);
  await vi.advanceTimersByTimeAsync(60_000);
  show(true);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(connections).toEqual([]);
  expect(page.listeners.size).toBe(0);
});
