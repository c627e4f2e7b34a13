/** Where the focus goes: keyboards and screen readers are never left at a place that is gone. */

/** Puts the focus on what the page has to say; behind a login, that is what is before it. */
export function focusMain(): void {
  const all = [...document.querySelectorAll("main")];
  all.find((main) => main.getClientRects().length > 0)?.focus({ preventScroll: true });
}

/** Whether nothing has the focus, such as after the link that was followed is gone with its page. */
export function isFocusLost(): boolean {
  const { activeElement } = document;
  return activeElement === null || activeElement === document.body;
}

const FOCUSABLE = "a[href], button:not(:disabled), input, select, textarea, summary, [tabindex='0']";

/** Keeps Tab within a window over the page: behind its last place comes its first. */
export function keepWithin(event: KeyboardEvent, box: HTMLElement): void {
  if (event.key !== "Tab") return;
  const all = [...box.querySelectorAll<HTMLElement>(FOCUSABLE)];
  const [first, last] = [all[0], all.at(-1)];
  if (!first || !last) return;
  const at = document.activeElement;
  const isAtEnd = at === (event.shiftKey ? first : last) || at === box || !box.contains(at);
  if (!isAtEnd || (at === box && !event.shiftKey)) return;
  event.preventDefault();
  (event.shiftKey ? last : first).focus();
}
