/**
 * Scrolling through a list that may be higher than browsers let an element be: up to `TALLEST` it is the
 * browser's own scrolling; above, the bar stands for the whole and the wheel moves by its pixels still.
 */

/** Firefox stops near 17 million pixels, Chromium near 33. */
const TALLEST = 8_000_000;

export class Scroller {
  private total = 0;
  private position = 0;
  private expected = 0;
  private readonly observer: ResizeObserver;

  constructor(
    private readonly element: HTMLElement,
    private readonly space: HTMLElement,
    private readonly moved: () => void,
  ) {
    element.addEventListener("scroll", this.scrolled, { passive: true });
    element.addEventListener("wheel", this.wheeled, { passive: false });
    this.observer = new ResizeObserver(() => this.measure());
    // It reports at once, before anything is painted.
    this.observer.observe(element);
  }

  /** Tells the style sheet how high the part in sight is, and how wide the bar beside it. */
  private measure(): void {
    const { element } = this;
    element.style.setProperty("--view-height", `${element.clientHeight}px`);
    element.parentElement?.style.setProperty("--scrollbar", `${element.offsetWidth - element.clientWidth}px`);
    this.scrollTo(this.position);
  }

  /** How far the list is scrolled, in its pixels. */
  get top(): number {
    return this.position;
  }

  get height(): number {
    return this.element.clientHeight;
  }

  /** How high the list is. */
  setTotal(pixels: number): void {
    if (pixels === this.total) return;
    this.total = pixels;
    this.space.style.height = `${Math.min(pixels, TALLEST)}px`;
    this.scrollTo(this.position);
  }

  scrollTo(pixels: number): void {
    const most = Math.max(0, this.total - this.height);
    this.position = Math.max(0, Math.min(most, pixels));
    this.expected = Math.round(this.position / this.scale());
    this.element.scrollTop = this.expected;
    this.moved();
  }

  /** Scrolls as little as shows a stretch of the list. */
  show(from: number, to: number): void {
    if (from < this.position) this.scrollTo(from);
    else if (to > this.position + this.height) this.scrollTo(to - this.height);
  }

  private scale(): number {
    if (this.total <= TALLEST) return 1;
    return (this.total - this.height) / (TALLEST - this.height);
  }

  private readonly scrolled = (): void => {
    const { scrollTop } = this.element;
    if (this.total <= TALLEST) this.position = scrollTop;
    else if (Math.abs(scrollTop - this.expected) >= 1) this.position = scrollTop * this.scale();
    else return;
    this.expected = scrollTop;
    this.moved();
  };

  private readonly wheeled = (event: WheelEvent): void => {
    if (this.total <= TALLEST || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    this.scrollTo(this.position + event.deltaY * (event.deltaMode === 1 ? 16 : 1));
  };

  close(): void {
    this.observer.disconnect();
    this.element.removeEventListener("scroll", this.scrolled);
    this.element.removeEventListener("wheel", this.wheeled);
  }
}
