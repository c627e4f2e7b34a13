/** Something that opens below a button, and closes by Escape, a choice, or when somebody goes elsewhere. */
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";

interface PopoverProps {
  /** What is on the button. */
  button: ComponentChildren;
  label: string;
  /** What opens; gets what closes it. */
  children: (close: () => void) => ComponentChildren;
  align?: "left" | "right";
  kind?: "plain" | "quiet";
}

export function Popover({ button, label, children, align = "left", kind = "plain" }: PopoverProps) {
  const [isOpen, setOpen] = useState(false);
  const root = useRef<HTMLDivElement>(null);
  const trigger = useRef<HTMLButtonElement>(null);
  // At once: a key may follow the click that opened it.
  useLayoutEffect(() => {
    if (!isOpen) return;
    const outside = (event: Event) => {
      if (!event.composedPath().includes(root.current!)) setOpen(false);
    };
    const onEscape = (event: KeyboardEvent) => {
      if (event.key !== "Escape") return;
      event.preventDefault();
      setOpen(false);
      trigger.current?.focus();
    };
    // A press on text inside gives the focus to what is around it all, which is no leaving.
    const left = ({ relatedTarget }: FocusEvent) => {
      const to = relatedTarget as Node | null;
      if (to && !element.contains(to) && !to.contains(element)) setOpen(false);
    };
    const element = root.current!;
    element.addEventListener("focusout", left);
    document.addEventListener("pointerdown", outside);
    document.addEventListener("keydown", onEscape, true);
    root.current?.querySelector<HTMLElement>(".popover input, .popover button, .popover [tabindex]")?.focus();
    return () => {
      element.removeEventListener("focusout", left);
      document.removeEventListener("pointerdown", outside);
      document.removeEventListener("keydown", onEscape, true);
    };
  }, [isOpen]);
  const close = () => {
    // What was chosen is gone with its focus, unless that was taken elsewhere.
    if (root.current?.contains(document.activeElement)) trigger.current?.focus();
    setOpen(false);
  };
  return (
    <div class="popover-root" ref={root}>
      <button
        ref={trigger}
        type="button"
        class={`button button-${kind}`}
        aria-haspopup="dialog"
        aria-expanded={isOpen}
        title={label}
        onClick={() => setOpen(!isOpen)}
      >
        <span class="hidden">{label} </span>
        {button}
      </button>
      {isOpen && (
        <div class={`popover popover-${align}`} role="dialog" aria-label={label}>
          {children(close)}
        </div>
      )}
    </div>
  );
}
