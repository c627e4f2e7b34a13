/**
 * What is said beside the pointer, for drawings that are no charts over time. A click on something that
 * leads somewhere keeps it, with its links.
 */
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { Anchor } from "./linked";
import type { Link } from "./links";

export interface HoverRow {
  label: string;
  value: string;
  color?: string;
}

interface Place {
  x: number;
  y: number;
}

export interface Hovered extends Place {
  title: string;
  rows: readonly HoverRow[];
  /** Where it leads; it stays until it is closed. */
  kept?: { links: readonly Link[]; close: () => void };
}

export interface Hover {
  hovered: Hovered | undefined;
  enter: (event: PointerEvent, title: string, rows: readonly HoverRow[]) => void;
  leave: () => void;
  /** Keeps what is said, with links. Without any it does nothing, and says so. */
  keep: (place: Place, title: string, rows: readonly HoverRow[], links: readonly Link[]) => boolean;
}

/** What is below the pointer, and what sets it. */
export function useHover(): Hover {
  const [hovered, setHovered] = useState<Hovered | undefined>(undefined);
  const close = () => setHovered(undefined);
  return {
    hovered,
    enter: (event, title, rows) =>
      setHovered((now) => (now?.kept ? now : { title, rows, x: event.clientX, y: event.clientY })),
    leave: () => setHovered((now) => (now?.kept ? now : undefined)),
    keep: (place, title, rows, links) => {
      if (links.length === 0) return false;
      setHovered({ ...place, title, rows, kept: { links, close } });
      return true;
    },
  };
}

/** Where a press was: of the pointer, or of a key, then in the middle of what has the focus. */
export function placeOf(event: MouseEvent | KeyboardEvent): Place {
  if (event instanceof MouseEvent) return { x: event.clientX, y: event.clientY };
  const { left, top, width, height } = (event.currentTarget as Element).getBoundingClientRect();
  return { x: left + width / 2, y: top + height / 2 };
}

/** What makes a part of a drawing one that leads somewhere, by the pointer and by keys. */
export function leading(label: string, links: readonly Link[], open: (place: Place) => void) {
  if (links.length === 0) return {};
  return {
    class: "leading",
    // Attributes of SVG are written as they are: `tabIndex` would be none.
    tabindex: 0,
    role: "button" as const,
    "aria-label": `${label}: links`,
    onClick: (event: MouseEvent) => open(placeOf(event)),
    onKeyDown: (event: KeyboardEvent) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      open(placeOf(event));
    },
  };
}

export function HoverBox({ of }: { of: Hovered | undefined }) {
  const box = useRef<HTMLDivElement>(null);
  const kept = of?.kept;
  // At once: a key may follow the one that opened it.
  useLayoutEffect(() => {
    if (!kept) return;
    const before = document.activeElement as HTMLElement | null;
    const outside = (event: Event) => !event.composedPath().includes(box.current!) && kept.close();
    const onEscape = (event: KeyboardEvent) => event.key === "Escape" && kept.close();
    document.addEventListener("pointerdown", outside);
    document.addEventListener("keydown", onEscape);
    box.current?.querySelector("a")?.focus();
    return () => {
      document.removeEventListener("pointerdown", outside);
      document.removeEventListener("keydown", onEscape);
      before?.focus?.();
    };
  }, [kept]);
  if (!of) return null;
  const isRight = of.x > window.innerWidth * 0.65;
  const isLow = of.y > window.innerHeight * 0.7;
  return (
    <div
      ref={box}
      class={kept ? "chart-tooltip panel-tooltip panel-tooltip-kept" : "chart-tooltip panel-tooltip"}
      style={{
        left: isRight ? undefined : of.x + 14,
        right: isRight ? window.innerWidth - of.x + 14 : undefined,
        top: isLow ? undefined : of.y + 10,
        bottom: isLow ? window.innerHeight - of.y + 10 : undefined,
      }}
    >
      {of.title !== "" && <div class="chart-tooltip-row chart-tooltip-time">{of.title}</div>}
      {of.rows.map((row, at) => (
        <div key={at} class="chart-tooltip-row">
          <span class={row.color ? "swatch" : ""} style={{ background: row.color }} />
          <span>{row.label}</span>
          <b>{row.value}</b>
        </div>
      ))}
      {kept && (
        <div class="linked-menu">
          {kept.links.map((link) => (
            <Anchor key={link.title + link.href} link={link} />
          ))}
          <button type="button" class="panel-tooltip-close" onClick={kept.close}>
            Close
          </button>
        </div>
      )}
    </div>
  );
}
