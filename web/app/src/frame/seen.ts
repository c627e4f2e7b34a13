/**
 * Doing things again and again while somebody looks. A tab that is behind others rests, and asks at once for
 * what fell due meanwhile when it is shown again.
 */
import { useEffect, useRef } from "preact/hooks";
import { connection } from "./connection";
import { isRefused } from "./token";

/** Does something as soon as somebody looks, which may be now. Returns what calls it off. */
export function whenSeen(act: () => void): () => void {
  if (!document.hidden) {
    act();
    return () => {};
  }
  const shown = () => {
    if (document.hidden) return;
    stop();
    act();
  };
  const stop = () => document.removeEventListener("visibilitychange", shown);
  document.addEventListener("visibilitychange", shown);
  return stop;
}

/** Does something each time that nobody has looked for so many milliseconds. Returns what calls it off. */
export function whenUnseen(millis: number, act: () => void): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const changed = () => {
    clearTimeout(timer);
    if (document.hidden) timer = setTimeout(act, millis);
  };
  changed();
  document.addEventListener("visibilitychange", changed);
  return () => {
    clearTimeout(timer);
    document.removeEventListener("visibilitychange", changed);
  };
}

/** Does something every so many milliseconds while somebody looks. Returns what ends it. */
export function everySeen(millis: number, act: () => void): () => void {
  let callOff = () => {};
  const timer = setInterval(() => {
    // What is due already is not due twice.
    callOff();
    callOff = whenSeen(act);
  }, millis);
  return () => {
    clearInterval(timer);
    callOff();
  };
}

/** Asks every so many milliseconds while somebody looks and somebody answers; 0 is never. */
export function useEverySeen(millis: number, ask: () => void): void {
  const newest = useRef(ask);
  newest.current = ask;
  useEffect(() => {
    if (millis === 0) return;
    return everySeen(millis, () => {
      if (!connection.peek().lost && !isRefused()) newest.current();
    });
  }, [millis]);
}
