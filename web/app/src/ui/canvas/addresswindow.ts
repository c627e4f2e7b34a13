/** A window that is in the address, as a part of its whole: whoever opens that sees the same. */
import { type ReadonlySignal, useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { param, setParams } from "../../frame/router";
import { clamp, isWhole, readPart, type Window, writePart } from "./window";

/** A window that somebody keeps. */
export interface Looking {
  readonly window: ReadonlySignal<Window>;
  look: (window: Window) => void;
}

/** Writing the address for every turn of a wheel would be more than browsers take. */
const ADDRESS_AFTER_MILLIS = 300;

/** The window of a parameter into a whole of that length. */
export function useAddressWindow(name: string, length: number): Looking {
  const text = param(name);
  const window = useSignal<Window>(readPart(text, length));
  const known = useRef({ text, length });
  // Another whole may have come before what is looked at is written.
  const newest = useRef(length);
  newest.current = length;
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  useEffect(() => {
    const isKnown = known.current.text === text && known.current.length === length;
    known.current = { text, length };
    if (!isKnown) window.value = readPart(text, length);
  }, [text, length]);
  useEffect(() => () => clearTimeout(timer.current), []);
  const look = (next: Window) => {
    window.value = clamp(next, newest.current);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => {
      const [shown, whole] = [window.peek(), newest.current];
      const written = isWhole(shown, whole) ? undefined : writePart(shown, whole);
      known.current = { text: written, length: whole };
      setParams({ [name]: written }, { replace: true });
    }, ADDRESS_AFTER_MILLIS);
  };
  return { window, look };
}
