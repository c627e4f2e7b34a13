/**
 * Lines as they come, over a WebSocket. It is taken up again when it breaks, where it broke; a pause keeps
 * what is shown, and what came meanwhile is shown after it.
 */
import { useEffect, useRef, useState } from "preact/hooks";
import { question } from "../../frame/api";
import { href } from "../../frame/base";
import { param } from "../../frame/router";
import { joined, type LogLine, type LokiStream, linesOf } from "./lines";

export interface Tail {
  lines: readonly LogLine[];
  state: "connecting" | "open" | "broken";
  /** Lines that came and wait while it is paused. */
  waiting: number;
  /** Lines that the server left out, because they were too many. */
  dropped: number;
}

/** Lines that are kept; older ones are forgotten. */
export const MOST_LINES = 3000;
const LOOK_BACK_MILLIS = 60_000;
const FIRST_PAUSE_MILLIS = 500;
const LONGEST_PAUSE_MILLIS = 15_000;
/** Lines are drawn so often, however fast they come. */
const DRAW_EVERY_MILLIS = 250;

interface Message {
  streams?: readonly LokiStream[];
  dropped_entries?: readonly unknown[] | null;
}

const NOTHING: Tail = { lines: [], state: "connecting", waiting: 0, dropped: 0 };

export function useTail(query: string | undefined, isPaused: boolean): Tail {
  const [tail, setTail] = useState<Tail>(NOTHING);
  const paused = useRef(isPaused);
  paused.current = isPaused;
  useEffect(() => {
    setTail(NOTHING);
    if (query === undefined) return;
    let arrived: LogLine[] = [];
    let dropped = 0;
    let newest = `${Date.now() - LOOK_BACK_MILLIS}000000`;
    let pause = FIRST_PAUSE_MILLIS;
    let isOver = false;
    let retry: ReturnType<typeof setTimeout> | undefined;
    let socket: WebSocket | undefined;
    const connect = () => {
      const path = question("/loki/api/v1/tail", {
        query,
        start: newest,
        limit: 500,
        tenant: param("tenant"),
      });
      const address = new URL(href(path), window.location.href);
      address.protocol = address.protocol === "https:" ? "wss:" : "ws:";
      socket = new WebSocket(address);
      socket.addEventListener("open", () => {
        pause = FIRST_PAUSE_MILLIS;
        setTail((before) => ({ ...before, state: "open" }));
      });
      socket.addEventListener("message", (event: MessageEvent<string>) => {
        const message = JSON.parse(event.data) as Message;
        const lines = linesOf(message.streams ?? []);
        if (lines[0]) newest = lines[0].nanos;
        arrived = joined(lines, arrived, MOST_LINES);
        dropped += message.dropped_entries?.length ?? 0;
      });
      socket.addEventListener("close", () => {
        if (isOver) return;
        setTail((before) => ({ ...before, state: "broken" }));
        retry = setTimeout(connect, pause);
        pause = Math.min(pause * 2, LONGEST_PAUSE_MILLIS);
      });
    };
    const show = () => {
      if (arrived.length === 0) return;
      if (paused.current) {
        const waiting = arrived.length;
        setTail((before) => (before.waiting === waiting ? before : { ...before, waiting }));
        return;
      }
      const lines = arrived;
      arrived = [];
      setTail((before) => ({
        ...before,
        lines: renumbered(joined(lines, before.lines, MOST_LINES)),
        waiting: 0,
        dropped,
      }));
    };
    connect();
    const timer = setInterval(show, DRAW_EVERY_MILLIS);
    return () => {
      isOver = true;
      clearInterval(timer);
      clearTimeout(retry);
      socket?.close();
    };
  }, [query]);
  return tail;
}

/** Keys that stay different where lines of the same time came in several messages. */
function renumbered(lines: LogLine[]): LogLine[] {
  const seen = new Set<string>();
  return lines.map((line) => {
    let key = line.key;
    for (let number = 1; seen.has(key); number += 1) key = `${line.nanos}/again${number}`;
    seen.add(key);
    return key === line.key ? line : { ...line, key };
  });
}
