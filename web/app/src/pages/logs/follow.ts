/**
 * Where lines come from as they come: a WebSocket, which browsers open without the headers that name a token
 * or a tenant. Who needs those asks again every second, for a little more than what is new, since lines do
 * not come in the order of their times.
 */
import { getJson, needsHeaders, question } from "../../frame/api";
import { href } from "../../frame/base";
import { millisOf } from "../../ui/format";
import { identity, type LogLine, type LokiStream, linesOf } from "./lines";

/** Who is told. */
export interface Follower {
  opened: () => void;
  broke: () => void;
  /** Lines, the newest first; how many were left out before them, as far as that is known. */
  came: (lines: LogLine[], dropped: number, isCut: boolean) => void;
}

const LOOK_BACK_MILLIS = 60_000;
const FIRST_PAUSE_MILLIS = 500;
const LONGEST_PAUSE_MILLIS = 15_000;
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

function listen(query: string, { opened, broke, came }: Follower): () => void {
  let newest = `${Date.now() - LOOK_BACK_MILLIS}000000`;
  let pause = FIRST_PAUSE_MILLIS;
  let isOver = false;
  let retry: ReturnType<typeof setTimeout> | undefined;
  let socket: WebSocket | undefined;
  const connect = () => {
    const path = question("/loki/api/v1/tail", { query, start: newest, limit: MOST_AT_FIRST });
    const address = new URL(href(path), window.location.href);
    address.protocol = address.protocol === "https:" ? "wss:" : "ws:";
    socket = new WebSocket(address);
    socket.addEventListener("open", () => {
      pause = FIRST_PAUSE_MILLIS;
      opened();
    });
    socket.addEventListener("message", (event: MessageEvent<string>) => {
      const message = JSON.parse(event.data) as Message;
      const lines = linesOf(message.streams ?? []);
      if (lines[0]) newest = lines[0].nanos;
      came(lines, message.dropped_entries?.length ?? 0, false);
    });
    socket.addEventListener("close", () => {
      if (isOver) return;
      broke();
      retry = setTimeout(connect, pause);
      pause = Math.min(pause * 2, LONGEST_PAUSE_MILLIS);
    });
  };
  connect();
  return () => {
    isOver = true;
    clearTimeout(retry);
    socket?.close();
  };
}

function askAgain(query: string, { opened, broke, came }: Follower): () => void {
  const controller = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  let pause = FIRST_PAUSE_MILLIS;
  let newestMillis = Date.now() - LOOK_BACK_MILLIS + LATE_MILLIS;
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
      () => {
        if (controller.signal.aborted) return;
        broke();
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
