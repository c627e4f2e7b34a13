/**
 * Hearing of a session while it runs: what it tells by server-sent events makes the board be asked for
 * again, not more often than every so often, and only while somebody looks.
 */
import { useEffect, useRef } from "preact/hooks";
import { events } from "../../frame/events";
import { everySeen, whenSeen } from "../../frame/seen";
import type { Asked } from "../../frame/useask";

/** How often a board is asked for while much happens, and while only time goes on. */
const BUSY_MILLIS = 1500;
const CALM_MILLIS = 10_000;

/** What tells that something is new; a snapshot, that something may have come before it unheard. */
const HEARD = [
  "snapshot",
  "SessionStarted",
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
 * Asks for the board again when something happened to a session, as long as it is `listening`, and now and then
 * where time `goesOn` for it. What is on its way is waited for: asking again would end it, and a board that takes
 * long would never be shown.
 */
export function useLive(id: string, listening: boolean, board: Asked<unknown>, goesOn: boolean): void {
  const newest = useRef(board);
  newest.current = board;
  useEffect(() => {
    if (!listening) return;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let callOff = () => {};
    const ask = () => {
      timer = undefined;
      if (newest.current.loading) soon();
      else newest.current.again();
    };
    // What is due waits for somebody who looks, and what is heard until then changes nothing.
    const soon = () => {
      timer ??= setTimeout(() => {
        callOff = whenSeen(ask);
      }, BUSY_MILLIS);
    };
    const heard = Object.fromEntries(HEARD.map((name) => [name, soon]));
    const stop = events(`/api/sessions/${encodeURIComponent(id)}/events`, {}, heard);
    const endCalm = goesOn ? everySeen(CALM_MILLIS, () => timer === undefined && ask()) : undefined;
    return () => {
      stop();
      endCalm?.();
      clearTimeout(timer);
      callOff();
    };
  }, [id, listening, goesOn]);
}
