/** Buttons, and what copies text. */
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { Icon, type IconName } from "./icon";

interface ButtonProps {
  children?: ComponentChildren;
  icon?: IconName;
  /** What it does, where there is no text. */
  label?: string;
  kind?: "plain" | "primary" | "quiet" | "danger";
  pressed?: boolean;
  disabled?: boolean;
  title?: string;
  onClick?: (event: MouseEvent) => void;
}

/** A button; without text it needs a label. */
export function Button({
  children,
  icon,
  label,
  kind = "plain",
  pressed,
  disabled,
  title,
  onClick,
}: ButtonProps) {
  return (
    <button
      type="button"
      class={`button button-${kind}${children ? "" : " button-icon"}`}
      aria-label={label}
      aria-pressed={pressed}
      disabled={disabled}
      title={title ?? label}
      onClick={onClick}
    >
      {icon && <Icon name={icon} />}
      {children}
    </button>
  );
}

const SHOWN_MILLIS = 1500;

/** Copies a text, and says whether it did. */
export function CopyButton({
  text,
  label = "Copy",
  children,
}: {
  text: string | (() => string);
  label?: string;
  children?: ComponentChildren;
}) {
  const [outcome, setOutcome] = useState<"done" | "failed">();
  const copy = async () => {
    const isDone = await copyText(typeof text === "string" ? text : text());
    setOutcome(isDone ? "done" : "failed");
    setTimeout(() => setOutcome(undefined), SHOWN_MILLIS);
  };
  const icon = outcome === "done" ? "check" : outcome === "failed" ? "error" : "copy";
  const told = { done: "Copied", failed: "The browser does not let this page copy" };
  return (
    <Button kind="quiet" icon={icon} label={outcome ? told[outcome] : label} onClick={copy}>
      {children}
    </Button>
  );
}

/** Puts a text on the clipboard, also where the page has no secure origin; answers whether it could. */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyBySelecting(text);
  }
}

function copyBySelecting(text: string): boolean {
  const before = document.activeElement as HTMLElement | null;
  const area = document.createElement("textarea");
  area.value = text;
  document.body.append(area);
  area.select();
  const isDone = document.execCommand("copy");
  area.remove();
  before?.focus();
  return isDone;
}
