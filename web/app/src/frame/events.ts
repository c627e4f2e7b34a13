/**
 * Server-sent events, asked for as everything else is, so that they carry the token and the tenant. They are
 * taken up again after a pause when they break off, where they broke; the pause grows while nothing comes.
 */
import { effect } from "@preact/signals";
import { ApiError, ask, question } from "./api";
import { connection } from "./connection";
import type { Params } from "./router";
import { EventReader } from "./sse";
import { isRefused } from "./token";

const FIRST_PAUSE_MILLIS = 1000;
const LONGEST_PAUSE_MILLIS = 15_000;
const NO_CONTENT = 204;

/** Listens to events by their names; their data is JSON. Returns what ends it. */
export function events(
  path: string,
  params: Params,
  heard: Record<string, (data: unknown) => void>,
): () => void {
  const controller = new AbortController();
  void listen(question(path, params), heard, controller.signal);
  return () => controller.abort();
}

type Heard = Record<string, (data: unknown) => void>;

async function listen(path: string, heard: Heard, signal: AbortSignal): Promise<void> {
  const reader = new EventReader();
  let pause = FIRST_PAUSE_MILLIS;
  while (!signal.aborted) {
    try {
      const headers = new Headers({ Accept: "text/event-stream" });
      // Text of ours goes into headers as bytes of UTF-8, which fetch wants one by one.
      if (reader.lastId) headers.set("Last-Event-ID", bytesOf(reader.lastId));
      const response = await ask(path, { headers, signal, cache: "no-store" });
      if (response.status === NO_CONTENT) return;
      reader.begin();
      await each(response, reader, (name, data) => {
        pause = FIRST_PAUSE_MILLIS;
        // Who is told something may want to hear no more of the same piece.
        if (!signal.aborted) tell(heard[name], data);
      });
    } catch (error) {
      if (signal.aborted || isFinal(error)) return;
    }
    await sleep(Math.max(pause, reader.retryMillis ?? 0), signal);
    pause = Math.min(pause * 2, LONGEST_PAUSE_MILLIS);
    // A server that is gone is looked for elsewhere, and so is a login.
    await until(() => !connection.value.lost && !isRefused(), signal);
  }
}

async function each(
  response: Response,
  reader: EventReader,
  take: (name: string, data: string) => void,
): Promise<void> {
  const pieces = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  for (;;) {
    const { value, done } = await pieces.read();
    if (done) return;
    for (const { name, data } of reader.take(value)) take(name, data);
  }
}

/** One message that cannot be used does not end the others. */
function tell(take: ((data: unknown) => void) | undefined, data: string): void {
  try {
    take?.(JSON.parse(data));
  } catch (error) {
    reportError(error);
  }
}

/** Whether asking again would be answered the same: it is wrong, or not allowed. */
function isFinal(error: unknown): boolean {
  if (!(error instanceof ApiError)) return false;
  const { status } = error;
  return status >= 400 && status < 500 && ![401, 408, 429].includes(status);
}

function bytesOf(text: string): string {
  return String.fromCharCode(...new TextEncoder().encode(text));
}

function sleep(millis: number, signal: AbortSignal): Promise<void> {
  return new Promise((done) => {
    const timer = setTimeout(end, millis);
    signal.addEventListener("abort", end, { once: true });
    function end(): void {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
      done();
    }
  });
}

/** Waits until something is so, of what signals say. */
function until(test: () => boolean, signal: AbortSignal): Promise<void> {
  return new Promise((done) => {
    const isOver = () => signal.aborted || test();
    const stop = effect(() => {
      if (isOver()) queueMicrotask(end);
    });
    signal.addEventListener("abort", end, { once: true });
    function end(): void {
      stop();
      signal.removeEventListener("abort", end);
      done();
    }
  });
}
