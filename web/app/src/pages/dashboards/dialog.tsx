/**
 * A window over the page, closed by Escape, its button or a click beside it. Where something was changed in
 * it, it asks before that is dropped.
 */
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { Button } from "../../ui/button";

interface DialogProps {
  title: string;
  close: () => void;
  children: ComponentChildren;
  isWide?: boolean;
  /** Whether something was changed that would be dropped. */
  isChanged?: boolean;
}

export function Dialog({ title, close, children, isWide, isChanged }: DialogProps) {
  const box = useRef<HTMLDivElement>(null);
  const isTyped = useRef(false);
  const leave = () => {
    // What is typed and cannot be read yet is no change, and yet dropped.
    const isLost = isChanged !== undefined && (isChanged || isTyped.current);
    if (!isLost || window.confirm("Drop what was changed here?")) close();
  };
  const newest = useRef(leave);
  newest.current = leave;
  // At once: a key may follow the click that opened it.
  useLayoutEffect(() => {
    const before = document.activeElement as HTMLElement | null;
    const pressed = (event: KeyboardEvent) => {
      if (event.key === "Tab") keepFocus(event, box.current!);
      // What is open within closes first.
      if (event.key !== "Escape" || box.current?.querySelector(".popover")) return;
      event.preventDefault();
      event.stopPropagation();
      newest.current();
    };
    document.addEventListener("keydown", pressed, true);
    box.current?.focus();
    return () => {
      document.removeEventListener("keydown", pressed, true);
      before?.focus?.();
    };
  }, []);
  return (
    <div class="overlay" onPointerDown={(event) => event.target === event.currentTarget && leave()}>
      <div
        ref={box}
        class={`dialog ${isWide ? "dialog-wide" : ""}`}
        role="dialog"
        aria-modal="true"
        aria-label={title}
        tabIndex={-1}
        onInput={() => {
          isTyped.current = true;
        }}
      >
        <div class="dialog-head">
          <h2 class="grow">{title}</h2>
          <Button kind="quiet" icon="close" label="Close" onClick={leave} />
        </div>
        <div class="dialog-body">{children}</div>
      </div>
    </div>
  );
}

/** The focus goes around within the window. */
function keepFocus(event: KeyboardEvent, box: HTMLElement): void {
  const all = [
    ...box.querySelectorAll<HTMLElement>(
      "a[href], button:not(:disabled), input, select, textarea, [tabindex='0']",
    ),
  ];
  const [first, last] = [all[0], all.at(-1)];
  if (!first || !last) return;
  const isOutside = !box.contains(document.activeElement);
  if (event.shiftKey && (document.activeElement === first || isOutside)) {
    event.preventDefault();
    last.focus();
  } else if (!event.shiftKey && (document.activeElement === last || isOutside)) {
    event.preventDefault();
    first.focus();
  }
}
