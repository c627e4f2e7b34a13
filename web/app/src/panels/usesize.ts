/** The size of an element, now and when it changes. */
import type { Ref } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

export function useSize(
  width: number,
  height: number,
): [Ref<HTMLDivElement>, { width: number; height: number }] {
  const element = useRef<HTMLDivElement>(null);
  const [size, setSize] = useState({ width, height });
  useEffect(() => {
    const node = element.current;
    if (!node) return;
    const measure = () => {
      const next = { width: node.clientWidth, height: node.clientHeight };
      setSize((before) => (before.width === next.width && before.height === next.height ? before : next));
    };
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(node);
    return () => observer.disconnect();
  }, []);
  return [element, size];
}
