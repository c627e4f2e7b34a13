/** A canvas that is drawn anew when its size, its theme or what it is about changes. */
import { useEffect, useRef } from "preact/hooks";
import { theme } from "../frame/theme";

interface CanvasProps {
  width: number;
  height: number;
  label: string;
  draw: (context: CanvasRenderingContext2D) => void;
  about: readonly unknown[];
  onMove?: (event: PointerEvent, x: number, y: number) => void;
  onLeave?: () => void;
  onClick?: (event: MouseEvent, x: number, y: number) => void;
}

export function Canvas({ width, height, label, draw, about, onMove, onLeave, onClick }: CanvasProps) {
  const element = useRef<HTMLCanvasElement>(null);
  useEffect(() => {
    const canvas = element.current!;
    const context = canvas.getContext("2d");
    if (!context || width <= 0 || height <= 0) return;
    canvas.width = Math.round(width * devicePixelRatio);
    canvas.height = Math.round(height * devicePixelRatio);
    context.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
    context.clearRect(0, 0, width, height);
    draw(context);
  }, [width, height, theme.value, ...about]);
  return (
    <canvas
      ref={element}
      role="img"
      aria-label={label}
      style={{ width, height, display: "block" }}
      onPointerMove={(event) => onMove?.(event, event.offsetX, event.offsetY)}
      onPointerLeave={onLeave}
      onClick={(event) => onClick?.(event, event.offsetX, event.offsetY)}
    />
  );
}
