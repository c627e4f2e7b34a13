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

/** Copies a text, and says that it did. */
export function CopyButton({
  text,
  label = "Copy",
  children,
}: {
  text: string | (() => string);
  label?: string;
  children?: ComponentChildren;
}) {
  const [isDone, setDone] = useState(false);
  const copy = async () => {
    await copyText(typeof text === "string" ? text : text());
    setDone(true);
    setTimeout(() => setDone(false), 1500);
  };
  return (
    <Button kind="quiet" icon={isDone ? "check" : "copy"} label={isDone ? "Copied" : label} onClick={copy}>
      {children}
    </Button>
  );
}

/** Puts a text on the clipboard, also where the page has no secure origin. */
export async function copyText(text: string): Promise<void> {
  if (navigator.clipboard) {
    await navigator.clipboard.writeText(text);
    return;
  }
  const area = document.createElement("textarea");
  area.value = text;
  document.body.append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
}
