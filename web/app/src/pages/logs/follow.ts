/**
 * Where lines come from as they come: a WebSocket, which browsers open without the headers that name a token
 * or a tenant, and which some proxies let nobody open. Who needs those headers, or has such a proxy, asks
 * again every second, for a little more than what is new, since lines do not come in the order of their times.
 */
import { ApiError, getJson, needsHeaders, question } from "../../frame/api";
import { href } from "../../frame/base";
import { millisOf } from "../../ui/format";
import { identity, type LogLine, type LokiStream, linesOf } from "./lines";

/** Who is told. */
export interface Follower {
  opened: () => void;
  /** It is tried again; why it broke off, if the server said so. */
  broke: (why?: string) => void;
  /** The query is wrong, or not allowed: nothing will come. */
  failed: (error: Error) => void;
  /** Lines, the newest first; how many were left out before them, as far as that is known. */
  came: (lines: LogLine[], dropped: number, isCut: boolean) => void;
}

/** Whether asking again would be answered the same. Who has to log in is asked by the frame. */
function isFinal(error: unknown): error is ApiError {
  return error instanceof ApiError && [400, 403, 422].includes(error.status);
}

/** So often in a row a WebSocket may not open, though the server answers, until it is asked without. */
const MOST_UNOPENED = 2;
const LOOK_BACK_MILLIS = 60_000;
const FIRST_PAUSE_MILLIS = 500;
const LONGEST_PAUSE_MILLIS = 15_000;
/** The code by which the server closes a tail that it cannot answer: it says why. */
const REFUSED = 1011;
const ASK_EVERY_MILLIS = 1000;
/** How much later than others a line may come and still be found. */
const LATE_MILLIS = 10_000;
const MOST_AT_FIRST = 500;
const MOST_AT_ONCE = 1000;

interface Message {
  streams?: readonly LokiStream[];
  dropped_entries?: readonly unknown[] | null;
}

/** Follows a query. Returns what ends it. */
export function follow(query: string, follower: Follower): () => void {
  return needsHeaders() ? askAgain(query, follower) : listen(query, follower);
}

/**
 * Where a tail is taken up again: a little before the newest line, or before it was last heard of if that line
 * is of a clock that is ahead. What is told twice by that is kept once.
 */
export function resumedAt(newestNanos: bigint, heardMillis: number): string {
  const heard = BigInt(Math.floor(heardMillis)) * 1_000_000n;
  const known = newestNanos < heard ? newestNanos : heard;
  return String(known - BigInt(LATE_MILLIS) * 1_000_000n);
}

function listen(query: string, follower: Follower): () => void {
  const { opened, broke, failed, came } = follower;
  const controller = new AbortController();
  let newest = BigInt(Date.now() - LOOK_BACK_MILLIS) * 1_000_000n;
  let heardMillis = Date.now();
  let pause = FIRST_PAUSE_MILLIS;
  let isOver = false;
  let isFirst = true;
  let retry: ReturnType<typeof setTimeout> | undefined;
  let socket: WebSocket | undefined;
  let unopened = 0;
  let stopAsking: (() => void) | undefined;
  const again = () => {
    if (isOver) return;
    retry = setTimeout(connect, pause);
    pause = Math.min(pause * 2, LONGEST_PAUSE_MILLIS);
  };
  // The server answers, and yet no socket opens: something between does not let it.
  const answered = () => {
    unopened += 1;
    if (isOver || unopened < MOST_UNOPENED) return again();
    stopAsking = askAgain(query, follower, millisOf(String(newest)));
  };
  const connect = () => {
    let wasOpen = false;
    // After a break only so many of the lines that were missed are told.
    let mayBeCut = !isFirst;
    const known = newest;
    const start = resumedAt(newest, heardMillis);
    const path = question("/loki/api/v1/tail", { query, start, limit: MOST_AT_FIRST });
    const address = new URL(href(path), window.location.href);
    address.protocol = address.protocol === "https:" ? "wss:" : "ws:";
    socket = new WebSocket(address);
    socket.addEventListener("open", () => {
      wasOpen = true;
      isFirst = false;
      unopened = 0;
      heardMillis = Date.now();
      opened();
    });
    socket.addEventListener("message", (event: MessageEvent<string>) => {
      // Only now: one that the server refuses is open for a moment, too.
      pause = FIRST_PAUSE_MILLIS;
      heardMillis = Date.now();
      const message = JSON.parse(event.data) as Message;
      const lines = linesOf(message.streams ?? []);
      // Lines do not come in the order of their times.
      if (lines[0] && BigInt(lines[0].nanos) > newest) newest = BigInt(lines[0].nanos);
      const isCut = mayBeCut && lines.length >= MOST_AT_FIRST && BigInt(lines.at(-1)!.nanos) > known;
      came(lines, message.dropped_entries?.length ?? 0, isCut);
      mayBeCut = false;
    });
    socket.addEventListener("close", (event) => {
      if (isOver) return;
      broke(wasOpen && event.code === REFUSED ? event.reason : undefined);
      // One on which nothing came for long was no refusal.
      if (wasOpen && Date.now() - heardMillis > LONGEST_PAUSE_MILLIS) pause = FIRST_PAUSE_MILLIS;
      if (wasOpen) return again();
      // A socket that was not opened does not say why; a question for one line does.
      getJson("/loki/api/v1/query_range", { query, limit: 1 }, controller.signal).then(answered, (error) => {
        if (isFinal(error)) failed(error);
        else again();
      });
    });
  };
  connect();
  return () => {
    isOver = true;
    controller.abort();
    clearTimeout(retry);
    socket?.close();
    stopAsking?.();
  };
}

function askAgain(
  query: string,
  { opened, broke, failed, came }: Follower,
  fromMillis = Date.now() - LOOK_BACK_MILLIS,
): () => void {
  const controller = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  let pause = FIRST_PAUSE_MILLIS;
  let newestMillis = fromMillis + LATE_MILLIS;
  let known: ReadonlySet<string> | undefined;
  const turn = async () => {
    const limit = known ? MOST_AT_ONCE : MOST_AT_FIRST;
    // A line may be of a clock that is ahead: the next is looked for from now on all the same.
    const start = Math.floor(Math.min(newestMillis, Date.now()) - LATE_MILLIS);
    const params = { query, start: `${start}000000`, limit, direction: "backward" };
    const { data } = await getJson<{ data: { result: LokiStream[] } }>(
      "/loki/api/v1/query_range",
      params,
      controller.signal,
    );
    const lines = linesOf(data.result);
    const before = known;
    const fresh = before ? lines.filter((line) => !before.has(identity(line))) : lines;
    known = new Set(lines.map(identity));
    if (lines[0]) newestMillis = millisOf(lines[0].nanos);
    opened();
    came(fresh, 0, before !== undefined && fresh.length >= limit);
  };
  const go = () => {
    turn().then(
      () => {
        pause = FIRST_PAUSE_MILLIS;
        timer = setTimeout(go, ASK_EVERY_MILLIS);
      },
      (error) => {
        if (controller.signal.aborted) return;
        broke();
        if (isFinal(error)) return failed(error);
        timer = setTimeout(go, pause);
        pause = Math.min(pause * 2, LONGEST_PAUSE_MILLIS);
      },
    );
  };
  go();
  return () => {
    controller.abort();
    clearTimeout(timer);
  };
}
