/**
 * Hearing of a session while it runs: what it tells by server-sent events makes the board be asked for
 * again, not more often than every so often.
 */
import { useEffect, useRef } from "preact/hooks";
import { events } from "../../frame/events";
import type { Asked } from "../../frame/useask";

/** How often a board is asked for while much happens, and while only time goes on. */
const BUSY_MILLIS = 1500;
const CALM_MILLIS = 10_000;

const HEARD = [
  "TaskCreated",
  "TaskSubmitted",
  "TaskQueued",
  "TaskStarted",
  "TaskCompleted",
  "TaskFailed",
  "TaskCanceled",
  "ResourceUpdate",
  "SessionEnded",
  "span",
  "lagged",
  "end",
];

/**
 * Asks for the board again when something happened to a session, as long as it is `listening`. What is on its
 * way is waited for: asking again would end it, and a board that takes long would never be shown.
 */
export function useLive(id: string, listening: boolean, board: Asked<unknown>): void {
  const newest = useRef(board);
  newest.current = board;
  useEffect(() => {
    if (!listening) return;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const soon = () => {
      timer ??= setTimeout(() => {
        timer = undefined;
        if (newest.current.loading) soon();
        else newest.current.again();
      }, BUSY_MILLIS);
    };
    const heard = Object.fromEntries(HEARD.map((name) => [name, soon]));
    const stop = events(`/api/sessions/${encodeURIComponent(id)}/events`, {}, heard);
    const calm = setInterval(soon, CALM_MILLIS);
    return () => {
      stop();
      clearInterval(calm);
      clearTimeout(timer);
    };
  }, [id, listening]);
}
