/** The edge between two parts of a page, which moves with the pointer and with arrows. Its place is kept. */
import { useRef } from "preact/hooks";
import { keep, kept } from "../frame/kept";
import "./separator.css";

interface SeparatorProps {
  /** What it changes: `Width of the names`. */
  label: string;
  /** Where it is, in the style sheet of the page. */
  class: string;
  /** What the browser keeps the width as. */
  name: string;
  /** How wide the part is that it changes. */
  width: number;
  least: number;
  /** What part of the window that takes at most. */
  most: number;
  /** Whether that part is to the right of it: then it is wider when the edge moves to the left. */
  isRight?: boolean;
  onChange: (width: number) => void;
}

const KEY_STEP = 20;

/** The width that was kept under a name. */
export function keptWidth(name: string, otherwise: number): number {
  return Number(kept(name)) || otherwise;
}

/** A width between the least and a part of the window. */
export function widthWithin(wanted: number, least: number, most: number, windowWidth: number): number {
  return Math.round(Math.max(least, Math.min(windowWidth * most, wanted)));
}

export function Separator({
  label,
  class: place,
  name,
  width,
  least,
  most,
  isRight,
  onChange,
}: SeparatorProps) {
  const drag = useRef<{ x: number; width: number } | undefined>(undefined);
  const within = (wanted: number) => widthWithin(wanted, least, most, window.innerWidth);
  const set = (wanted: number) => {
    const next = within(wanted);
    keep(name, String(next));
    onChange(next);
  };
  const sign = isRight ? -1 : 1;
  return (
    <div
      class={`separator ${place}`}
      role="separator"
      aria-orientation="vertical"
      aria-label={label}
      aria-valuenow={width}
      aria-valuemin={least}
      aria-valuemax={within(Number.MAX_SAFE_INTEGER)}
      tabIndex={0}
      onKeyDown={(event) => {
        const step = event.key === "ArrowLeft" ? -KEY_STEP : event.key === "ArrowRight" ? KEY_STEP : 0;
        if (step === 0) return;
        event.preventDefault();
        set(width + sign * step);
      }}
      onPointerDown={(event) => {
        event.currentTarget.setPointerCapture(event.pointerId);
        drag.current = { x: event.clientX, width };
      }}
      onPointerMove={(event) =>
        drag.current && set(drag.current.width + sign * (event.clientX - drag.current.x))
      }
      onPointerUp={() => {
        drag.current = undefined;
      }}
      onPointerCancel={() => {
        drag.current = undefined;
      }}
    />
  );
}
