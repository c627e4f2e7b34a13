/** Whether elements are in sight of the window that scrolls, by one observer for all of them. */

type Seen = (isSeen: boolean) => void;

const listeners = new WeakMap<Element, Seen>();
let observer: IntersectionObserver | undefined;

/** How far outside the window counts as in sight, so that data is there when one scrolls. */
const MARGIN = "240px 0px";

/** Tells when an element comes into sight and when it goes. Returns what ends that. */
export function watch(element: Element, seen: Seen): () => void {
  // Within a window that is not in the document any more, nothing would ever come into sight.
  if (observer?.root instanceof Element && !observer.root.isConnected) {
    observer.disconnect();
    observer = undefined;
  }
  observer ??= new IntersectionObserver(
    (entries) => {
      for (const entry of entries) listeners.get(entry.target)?.(entry.isIntersecting);
    },
    { root: document.querySelector(".outlet"), rootMargin: MARGIN },
  );
  listeners.set(element, seen);
  observer.observe(element);
  return () => {
    listeners.delete(element);
    observer?.unobserve(element);
  };
}
