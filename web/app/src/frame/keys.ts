/**
 * The keyboard: keys and sequences of keys (`g t`) that do something, of the frame and of the page that is
 * shown; those of the page go first. `?` lists them all.
 */
import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";

/** Keys that do something. */
export interface Binding {
  /** As pressed: `j`, `Enter`, `shift+ArrowLeft`, `ctrl+k`, `g t`. `ctrl` is also the Mac's command key. */
  keys: string;
  label: string;
  run: (event: KeyboardEvent) => void;
  /** Also while somebody types. */
  whileTyping?: boolean;
}

/** What is bound, by whom: the page last. */
export const bindings = signal<readonly { scope: string; list: readonly Binding[] }[]>([]);

/** Binds keys while a component is shown. */
export function useKeys(scope: string, list: readonly Binding[], about: readonly unknown[] = []): void {
  useEffect(() => {
    const entry = { scope, list };
    bindings.value = [...bindings.peek(), entry];
    return () => {
      bindings.value = bindings.peek().filter((one) => one !== entry);
    };
  }, about);
}

function pressed(event: KeyboardEvent): string {
  const parts: string[] = [];
  // Keyboards of many countries have brackets and the like behind AltGr, which is told as Ctrl and Alt.
  const isAltGr = event.getModifierState("AltGraph");
  if ((event.ctrlKey || event.metaKey) && !isAltGr) parts.push("ctrl");
  if (event.altKey && !isAltGr) parts.push("alt");
  const isLetter = event.key.length === 1;
  // Shift is part of the character where there is one.
  if (event.shiftKey && !isLetter) parts.push("shift");
  parts.push(isLetter && parts.length > 0 ? event.key.toLowerCase() : event.key);
  return parts.join("+");
}

/** Whether the keyboard is somebody's who types. */
export function isTyping(event: Event): boolean {
  const target = event.composedPath()[0] as HTMLElement | undefined;
  if (!target?.tagName) return false;
  return /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName) || target.isContentEditable;
}

const SEQUENCE_MILLIS = 900;
let before = "";
let beforeAt = 0;

/** Whether a key belongs to what has the focus: Enter and space press buttons and follow links. */
function isPress(event: KeyboardEvent): boolean {
  if (event.key !== "Enter" && event.key !== " ") return false;
  const target = event.composedPath()[0] as Element | undefined;
  return Boolean(target?.closest?.("a, button, summary, [role=tab], [role=menuitem]"));
}

/** Whether a window is over the page, whose keys would do things that nobody sees. */
function isCovered(event: KeyboardEvent): boolean {
  const isPlain = !event.ctrlKey && !event.metaKey && event.key !== "?";
  return isPlain && document.querySelector("[aria-modal=true]") !== null;
}

function handle(event: KeyboardEvent): void {
  if (event.defaultPrevented || event.isComposing || isPress(event) || isCovered(event)) return;
  const typing = isTyping(event);
  const key = pressed(event);
  const sequence = event.timeStamp - beforeAt < SEQUENCE_MILLIS ? `${before} ${key}` : key;
  const all = bindings
    .peek()
    .flatMap(({ list }) => list)
    .reverse();
  const usable = all.filter((binding) => !typing || binding.whileTyping);
  const found = usable.find(({ keys }) => keys === sequence) ?? usable.find(({ keys }) => keys === key);
  const begins = usable.some(({ keys }) => keys.startsWith(`${key} `));
  before = found || !begins ? "" : key;
  beforeAt = event.timeStamp;
  if (!found) return;
  event.preventDefault();
  found.run(event);
}

/** Begins to listen. */
export function listenToKeys(): void {
  document.addEventListener("keydown", handle);
}
