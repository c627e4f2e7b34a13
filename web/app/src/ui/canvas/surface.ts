/**
 * A canvas that is as large as its place on the page, in the pixels of the screen, and a clock that draws
 * at most once for each frame and only when something changed.
 */

/** How long drawing took, in milliseconds, of the last frames: read by tests of a browser. */
declare global {
  interface Window {
    kymoFrames?: number[];
  }
}

const FRAMES_KEPT = 2000;

function keepFrame(millis: number): void {
  window.kymoFrames ??= [];
  if (window.kymoFrames.length >= FRAMES_KEPT) window.kymoFrames.splice(0, FRAMES_KEPT / 2);
  window.kymoFrames.push(millis);
}

/** Draws once in the next frame, however often it was asked to. */
export class Frames {
  private asked = 0;
  private isOver = false;

  constructor(private readonly draw: () => void) {}

  /** Something changed. */
  readonly ask = (): void => {
    if (this.asked !== 0 || this.isOver) return;
    this.asked = requestAnimationFrame(() => {
      this.asked = 0;
      const began = performance.now();
      this.draw();
      keepFrame(performance.now() - began);
    });
  };

  stop(): void {
    this.isOver = true;
    cancelAnimationFrame(this.asked);
  }
}

/** A canvas with its measures in CSS pixels. */
export class Surface {
  width = 0;
  height = 0;
  readonly context: CanvasRenderingContext2D;
  private readonly observer: ResizeObserver;

  constructor(
    readonly canvas: HTMLCanvasElement,
    resized: () => void,
  ) {
    this.context = canvas.getContext("2d")!;
    this.observer = new ResizeObserver(() => {
      this.measure();
      resized();
    });
    this.observer.observe(canvas);
    this.measure();
  }

  /** Takes the size that the canvas has on the page. */
  measure(): void {
    this.width = this.canvas.clientWidth;
    this.height = this.canvas.clientHeight;
  }

  /** Empties it, and gives it the pixels of the screen. */
  clear(): CanvasRenderingContext2D {
    const scale = window.devicePixelRatio || 1;
    const [width, height] = [Math.round(this.width * scale), Math.round(this.height * scale)];
    if (this.canvas.width !== width || this.canvas.height !== height) {
      this.canvas.width = width;
      this.canvas.height = height;
    }
    this.context.setTransform(scale, 0, 0, scale, 0, 0);
    this.context.clearRect(0, 0, this.width, this.height);
    return this.context;
  }

  close(): void {
    this.observer.disconnect();
  }
}
