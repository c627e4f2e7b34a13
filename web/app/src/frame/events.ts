/**
 * Server-sent events, asked for as everything else is, so that they carry the token and the tenant. They are
 * taken up again after a pause when they break off, where they broke; the pause grows while nothing comes.
 * A tab behind others lets go of its connection, of which a browser has six for a server, and takes them up
 * where they were when it is shown again.
 */
import { effect } from "@preact/signals";
import { ApiError, ask, question } from "./api";
import { connection } from "./connection";
import type { Params } from "./router";
import { whenSeen, whenUnseen } from "./seen";
import { EventReader } from "./sse";
import { isRefused } from "./token";

const FIRST_PAUSE_MILLIS = 1000;
const LONGEST_PAUSE_MILLIS = 15_000;
/** A tab that is behind others for so short keeps its connection. */
const UNSEEN_MILLIS = 10_000;
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
  for (;;) {
    await seen(signal);
    if (signal.aborted) return;
    const connected = whileSeen(signal);
    try {
      const headers = new Headers({ Accept: "text/event-stream" });
      // Text of ours goes into headers as bytes of UTF-8, which fetch wants one by one.
      if (reader.lastId) headers.set("Last-Event-ID", bytesOf(reader.lastId));
      const response = await ask(path, { headers, signal: connected.signal, cache: "no-store" });
      if (response.status === NO_CONTENT) return;
      reader.begin();
      await each(response, reader, (name, data) => {
        pause = FIRST_PAUSE_MILLIS;
        // Who is told something may want to hear no more of the same piece.
        if (!signal.aborted) tell(heard[name], data);
      });
    } catch (error) {
      if (signal.aborted || isFinal(error)) return;
    } finally {
      connected.end();
    }
    // What was let go of did not break: it is taken up at once.
    if (connected.signal.aborted) continue;
    await sleep(Math.max(pause, reader.retryMillis ?? 0), signal);
    pause = Math.min(pause * 2, LONGEST_PAUSE_MILLIS);
    // A server that is gone is looked for elsewhere, and so is a login.
    await until(() => !connection.value.lost && !isRefused(), signal);
  }
}

/** A signal that is aborted with another one, and once nobody has looked for a while; until its `end`. */
function whileSeen(signal: AbortSignal): { signal: AbortSignal; end: () => void } {
  const controller = new AbortController();
  const abort = () => controller.abort();
  const callOff = whenUnseen(UNSEEN_MILLIS, abort);
  signal.addEventListener("abort", abort, { once: true });
  const end = () => {
    callOff();
    signal.removeEventListener("abort", abort);
  };
  return { signal: controller.signal, end };
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

/** Waits until somebody looks. */
function seen(signal: AbortSignal): Promise<void> {
  return new Promise((done) => {
    let callOff = () => {};
    signal.addEventListener("abort", end, { once: true });
    callOff = whenSeen(end);
    function end(): void {
      callOff();
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
