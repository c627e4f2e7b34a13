/**
 * Lines as they come. They are taken up again when they break off, where they broke; a pause keeps what is
 * shown, and what came meanwhile is shown after it.
 */
import { useEffect, useRef, useState } from "preact/hooks";
import { param } from "../../frame/router";
import { token } from "../../frame/token";
import { follow } from "./follow";
import { joined, type LogLine } from "./lines";

export interface Tail {
  lines: readonly LogLine[];
  state: "connecting" | "open" | "broken";
  /** Lines that came and wait while it is paused. */
  waiting: number;
  /** Lines that the server left out, because they were too many. */
  dropped: number;
  /** Whether more lines came than are told at once, as after a break. */
  isCut: boolean;
  /** Why it broke off, if that is known. */
  reason?: string;
  /** Why nothing comes. */
  error?: Error;
}

/** Lines that are kept; older ones are forgotten. */
export const MOST_LINES = 3000;
/** Lines are drawn so often, however fast they come. */
const DRAW_EVERY_MILLIS = 250;

const NOTHING: Tail = { lines: [], state: "connecting", waiting: 0, dropped: 0, isCut: false };

export function useTail(query: string | undefined, isPaused: boolean): Tail {
  const [tail, setTail] = useState<Tail>(NOTHING);
  const paused = useRef(isPaused);
  paused.current = isPaused;
  useEffect(() => {
    setTail(NOTHING);
    if (query === undefined) return;
    let arrived: LogLine[] = [];
    let dropped = 0;
    let isCut = false;
    const stop = follow(query, {
      opened: () => setTail((before) => (before.state === "open" ? before : { ...before, state: "open" })),
      broke: (reason) => setTail((before) => ({ ...before, state: "broken", reason })),
      failed: (error) => setTail((before) => ({ ...before, error })),
      came: (lines, left, isMore) => {
        arrived = joined(lines, arrived, MOST_LINES);
        dropped += left;
        isCut ||= isMore;
      },
    });
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
        isCut,
      }));
    };
    const timer = setInterval(show, DRAW_EVERY_MILLIS);
    return () => {
      clearInterval(timer);
      stop();
    };
  }, [query, token.value, param("tenant")]);
  return tail;
}

/**
 * Keys that stay different where lines of the same time came in several messages. Lines that are there keep
 * theirs, since what is unfolded is known by it: they stand behind those that are new.
 */
export function renumbered(lines: readonly LogLine[]): LogLine[] {
  const seen = new Set<string>();
  const numbered = lines.toReversed().map((line) => {
    let key = line.key;
    for (let number = 1; seen.has(key); number += 1) key = `${line.nanos}/again${number}`;
    seen.add(key);
    return key === line.key ? line : { ...line, key };
  });
  return numbered.reverse();
}
